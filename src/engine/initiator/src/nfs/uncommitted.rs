//! Written data that the server may still lose (RFC 1813 sections 3.3.7 and 3.3.21).
//!
//! Every unstable write stays here, data included, until a COMMIT that was sent after its reply brings the
//! verifier that its reply brought. If the verifier differs, the server has restarted in between and the data
//! must be written again: of every byte the newest version, and nothing where a later write went or is under
//! way. For that purpose stable writes are remembered, without data, as long as older unstable ones are here.

use std::collections::{BTreeMap, VecDeque};

use plimsoll_fabric::Payload;
use plimsoll_wire::nfs3::Verifier;

struct Entry {
    sequence: u64,
    offset: u64,
    len: u64,
    verifier: Verifier,
    /// None: stable since its reply.
    payload: Option<Payload>,
}

/// A write that is under way and will supersede what lies below it.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnderWay {
    pub sequence: u64,
    pub offset: u64,
    pub len: u32,
}

/// Data to be written again.
#[derive(Debug)]
pub(super) struct Lost {
    pub offset: u64,
    pub payload: Payload,
}

/// Writes in the order of their replies.
#[derive(Default)]
pub(super) struct Uncommitted {
    entries: VecDeque<Entry>,
    bytes: u64,
    /// How many of the entries, from the front, the COMMIT under way covers.
    covered: usize,
}

impl Uncommitted {
    /// Bytes of data held.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether all that was written is stable.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// A WRITE was answered as unstable.
    pub fn unstable(&mut self, sequence: u64, offset: u64, payload: Payload, verifier: Verifier) {
        let len = payload.len() as u64;
        self.bytes += len;
        let payload = Some(payload);
        self.entries.push_back(Entry { sequence, offset, len, verifier, payload });
    }

    /// A WRITE was answered as stable.
    pub fn stable(&mut self, sequence: u64, offset: u64, len: u32) {
        if !self.entries.is_empty() {
            let len = u64::from(len);
            let verifier = Verifier::default();
            self.entries.push_back(Entry { sequence, offset, len, verifier, payload: None });
        }
    }

    /// A COMMIT is sent: it covers every write answered so far.
    pub fn commit_sent(&mut self) {
        self.covered = self.entries.len();
    }

    /// The COMMIT failed: what it covered is given up.
    pub fn commit_failed(&mut self) {
        for entry in self.entries.drain(..self.covered) {
            self.bytes -= entry.payload.as_ref().map_or(0, |payload| payload.len() as u64);
        }
        self.covered = 0;
    }

    /// The COMMIT was answered with this verifier: gives what must be written again, in pieces that do not
    /// overlap each other nor anything written or being written later.
    pub fn committed(
        &mut self,
        verifier: Verifier,
        under_way: impl Iterator<Item = UnderWay>,
    ) -> Vec<Lost> {
        let safe = |entry: &Entry| entry.payload.is_none() || entry.verifier == verifier;
        let lost = if self.entries.iter().take(self.covered).all(safe) {
            Vec::new()
        } else {
            self.lost(verifier, under_way)
        };
        self.commit_failed();
        lost
    }

    fn lost(&self, verifier: Verifier, under_way: impl Iterator<Item = UnderWay>) -> Vec<Lost> {
        // (order, offset, length, data if it must be written again)
        let mut writes: Vec<(u64, u64, u64, Option<&Payload>)> = under_way
            .map(|write| (write.sequence, write.offset, u64::from(write.len), None))
            .collect();
        for (place, entry) in self.entries.iter().enumerate() {
            let gone = place < self.covered && entry.verifier != verifier;
            let payload = entry.payload.as_ref().filter(|_| gone);
            writes.push((entry.sequence, entry.offset, entry.len, payload));
        }
        writes.sort_by_key(|write| std::cmp::Reverse(write.0));
        let mut newer = Ranges::default();
        let mut lost = Vec::new();
        for (_, offset, len, payload) in writes {
            if let Some(payload) = payload {
                for (start, end) in newer.gaps(offset, offset + len) {
                    let mut piece = payload.clone();
                    piece.advance(bytes(start - offset));
                    let piece = piece.split_to(bytes(end - start));
                    lost.push(Lost { offset: start, payload: piece });
                }
            }
            newer.add(offset, offset + len);
        }
        lost
    }
}

fn bytes(len: u64) -> usize {
    usize::try_from(len).unwrap_or(usize::MAX)
}

/// Disjoint ranges, start to end.
#[derive(Default)]
struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// The parts of `start..end` that are in none of the ranges.
    fn gaps(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        let mut gaps = Vec::new();
        let mut at = start;
        if let Some((_, before)) = self.0.range(..=start).next_back() {
            at = at.max(*before);
        }
        for (next, after) in self.0.range(start..end) {
            if *next > at {
                gaps.push((at, *next));
            }
            at = at.max(*after);
        }
        if at < end {
            gaps.push((at, end));
        }
        gaps
    }

    fn add(&mut self, mut start: u64, mut end: u64) {
        if let Some((before, until)) = self.0.range(..=start).next_back()
            && *until >= start
        {
            (start, end) = (*before, end.max(*until));
        }
        while let Some((next, until)) = self.0.range(start..=end).next() {
            let (next, until) = (*next, *until);
            self.0.remove(&next);
            end = end.max(until);
        }
        self.0.insert(start, end);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const OLD: Verifier = [1; 8];
    const NEW: Verifier = [2; 8];

    fn data(fill: u8, len: usize) -> Payload {
        Payload::from_vec(vec![fill; len])
    }

    fn rewritten(mut lost: Vec<Lost>) -> Vec<(u64, Vec<u8>)> {
        lost.sort_by_key(|lost| lost.offset);
        lost.into_iter()
            .map(|Lost { offset, payload }| {
                let mut bytes = Vec::new();
                payload.copy_to(&mut bytes);
                (offset, bytes)
            })
            .collect()
    }

    #[test]
    fn rfc1813_3_3_21_the_same_verifier_lets_go() {
        let mut log = Uncommitted::default();
        log.unstable(1, 0, data(1, 10), OLD);
        log.commit_sent();
        log.unstable(2, 10, data(2, 10), OLD);
        assert!(log.committed(OLD, std::iter::empty()).is_empty());
        assert_eq!(log.bytes(), 10);
        log.commit_sent();
        assert!(log.committed(OLD, std::iter::empty()).is_empty());
        assert!(log.is_empty());
    }

    #[test]
    fn rfc1813_3_3_21_another_verifier_rewrites_the_newest_of_each_byte() {
        let mut log = Uncommitted::default();
        log.unstable(1, 0, data(1, 10), OLD);
        log.unstable(2, 4, data(2, 4), OLD);
        log.unstable(3, 20, data(3, 5), NEW);
        log.commit_sent();
        let lost = rewritten(log.committed(NEW, std::iter::empty()));
        assert_eq!(lost, [(0, vec![1; 4]), (4, vec![2; 4]), (8, vec![1; 2])]);
        assert!(log.is_empty());
    }

    #[test]
    fn rfc1813_3_3_21_nothing_is_rewritten_over_later_writes() {
        let mut log = Uncommitted::default();
        log.unstable(1, 0, data(1, 12), OLD);
        log.stable(2, 0, 4);
        log.commit_sent();
        log.unstable(3, 8, data(3, 4), NEW);
        let under_way = UnderWay { sequence: 4, offset: 5, len: 1 };
        let lost = rewritten(log.committed(NEW, std::iter::once(under_way)));
        assert_eq!(lost, [(4, vec![1; 1]), (6, vec![1; 2])]);
        assert_eq!(log.bytes(), 4);
    }

    #[test]
    fn an_older_write_still_under_way_does_not_hide_a_newer_one() {
        let mut log = Uncommitted::default();
        log.unstable(5, 0, data(5, 4), OLD);
        log.commit_sent();
        let under_way = UnderWay { sequence: 2, offset: 0, len: 4 };
        let lost = rewritten(log.committed(NEW, std::iter::once(under_way)));
        assert_eq!(lost, [(0, vec![5; 4])]);
    }

    /// Against a plain array of bytes, with many overlapping writes and a restart in the middle.
    #[test]
    fn a_restart_among_random_writes_leaves_the_newest_bytes() {
        let mut seed = 1_u32;
        let mut random = move |below: u32| {
            seed = seed.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            (seed >> 8) % below
        };
        for _ in 0..200 {
            let mut log = Uncommitted::default();
            let (mut wanted, mut server) = ([0_u8; 64], [0_u8; 64]);
            let restart = random(30);
            for sequence in 0..30 {
                let (offset, len) = (random(56) as usize, random(8) as usize + 1);
                let fill = u8::try_from(sequence + 1).unwrap();
                wanted[offset..offset + len].fill(fill);
                let verifier = if sequence < restart { OLD } else { NEW };
                let stable = random(5) == 0;
                if stable || verifier == NEW {
                    server[offset..offset + len].fill(fill);
                }
                if stable {
                    log.stable(u64::from(sequence), offset as u64, u32::try_from(len).unwrap());
                } else {
                    log.unstable(u64::from(sequence), offset as u64, data(fill, len), verifier);
                }
            }
            log.commit_sent();
            for (offset, bytes) in rewritten(log.committed(NEW, std::iter::empty())) {
                let offset = usize::try_from(offset).unwrap();
                server[offset..offset + bytes.len()].copy_from_slice(&bytes);
            }
            assert_eq!(server, wanted);
        }
    }
}
