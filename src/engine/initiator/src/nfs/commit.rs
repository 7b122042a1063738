//! Unstable writes on their way to stable storage: COMMITs, flushes, and what a restart makes necessary.
//!
//! One COMMIT is under way at a time. It goes out when a flush waits or enough bytes are there; its reply ends
//! the flushes that were waiting when it went out, unless its verifier tells that data was lost: then that
//! data is written again, new writes wait meanwhile, and another COMMIT follows.

use std::time::Instant;

use plimsoll_fabric::Payload;
use plimsoll_wire::nfs3::{Status, Verifier};

use super::calls::{Call, Kind, Owner};
use super::core::{Arrival, Core};
use super::uncommitted::{Lost, UnderWay};
use crate::{Outcome, Sink};

/// New writes wait while this many times the commit threshold is uncommitted.
const HOLD_FACTOR: u64 = 4;

impl Core {
    /// A COMMIT was answered; whether its verifier tells of a restart not noticed before.
    pub fn commit_done(
        &mut self,
        xid: u32,
        verifier: Verifier,
        arrival: &Arrival<'_>,
        sink: &mut dyn Sink,
    ) -> bool {
        self.calls.remove(xid);
        self.commit_under_way = false;
        let under_way = self.calls.iter().filter(|(_, call)| call.kind == Kind::Write).map(
            |(_, Call { sequence, offset, len, .. })| UnderWay {
                sequence: *sequence,
                offset: *offset,
                len: *len,
            },
        );
        let lost = self.uncommitted.committed(verifier, under_way);
        if lost.is_empty() {
            let outcome = self.deferred.take().unwrap_or(Outcome::Done);
            for operation in std::mem::take(&mut self.committing) {
                self.complete(operation, outcome, arrival.flow, arrival.now, sink);
            }
            self.release();
            return false;
        }
        for Lost { offset, payload } in lost {
            self.rewrite(offset, payload);
        }
        self.flushes.append(&mut self.committing);
        self.noticed.replace(verifier) != Some(verifier)
    }

    fn rewrite(&mut self, mut offset: u64, mut payload: Payload) {
        while !payload.is_empty() {
            let piece = payload.split_to(self.limits.write_bytes as usize);
            #[expect(clippy::cast_possible_truncation, reason = "cut to a u32 in the line above")]
            let len = piece.len() as u32;
            self.sequence += 1;
            let call =
                Call::new(Kind::Write, Owner::Rewrite, offset, len, Some(piece), self.sequence);
            match self.calls.insert(call) {
                Some(xid) => {
                    self.rewrites += 1;
                    self.waiting.push_front(xid);
                }
                None => self.deferred = Some(Outcome::Nfs(Status::IO.0)),
            }
            offset += u64::from(len);
        }
    }

    /// The COMMIT failed: the flushes it was for tell, or the next one.
    pub(super) fn commit_failed(
        &mut self,
        xid: u32,
        outcome: Outcome,
        arrival: &Arrival<'_>,
        sink: &mut dyn Sink,
    ) {
        self.calls.remove(xid);
        self.commit_under_way = false;
        self.uncommitted.commit_failed();
        if self.committing.is_empty() {
            self.deferred = Some(outcome);
        }
        for operation in std::mem::take(&mut self.committing) {
            self.complete(operation, outcome, arrival.flow, arrival.now, sink);
        }
        self.release();
    }

    pub(super) fn holds_writes(&self) -> bool {
        self.rewrites > 0
            || self.uncommitted.bytes() > HOLD_FACTOR * self.limits.commit_bytes
            || !self.held.is_empty()
    }

    /// Held writes may go, if nothing stands against it any more.
    pub(super) fn release(&mut self) {
        let bytes = self.uncommitted.bytes();
        if self.rewrites == 0 && bytes <= HOLD_FACTOR * self.limits.commit_bytes {
            self.waiting.append(&mut self.held);
        }
    }

    /// Sends a COMMIT if one is due, and completes flushes that have nothing to wait for.
    pub fn commit_if_due(&mut self, now: Instant, sink: &mut dyn Sink) {
        if self.commit_under_way || self.rewrites > 0 {
            return;
        }
        if self.uncommitted.is_empty() {
            if !self.flushes.is_empty() {
                let outcome = self.deferred.take().unwrap_or(Outcome::Done);
                for operation in std::mem::take(&mut self.flushes) {
                    self.complete(operation, outcome, 0, now, sink);
                }
            }
            return;
        }
        if self.flushes.is_empty() && self.uncommitted.bytes() < self.limits.commit_bytes {
            return;
        }
        self.sequence += 1;
        let call = Call::new(Kind::Commit, Owner::Client, 0, 0, None, self.sequence);
        if let Some(xid) = self.calls.insert(call) {
            self.commit_under_way = true;
            self.uncommitted.commit_sent();
            self.committing.append(&mut self.flushes);
            self.waiting.push_front(xid);
        }
    }

    /// Whether flushes wait for a decision that needs no reply.
    pub fn wants_commit(&self) -> bool {
        !self.commit_under_way
            && self.rewrites == 0
            && (!self.flushes.is_empty() || self.uncommitted.bytes() >= self.limits.commit_bytes)
    }
}
