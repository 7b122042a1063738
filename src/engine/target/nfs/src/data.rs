//! READ, WRITE and COMMIT: the procedures that decide the speed (RFC 1813 sections 3.3.6, 3.3.7, 3.3.21).
//!
//! READ hands the store's memory to the send queue; WRITE goes from the receive buffer into the store. A
//! volume's limits hold back the READ or the answer of the WRITE, never the connection. What must wait for
//! a disk is done in the pool of threads and comes back as an event.

#![expect(
    clippy::result_large_err,
    reason = "results of the wire, written out where they are made"
)]

use std::time::Instant;

use plimsoll_fabric::{Io, Payload, Remote, SendQueue};
use plimsoll_storage::namespace::{Around, FileError, Read, Timestamp};
use plimsoll_storage::{Admission, Direction, Ready};
use plimsoll_wire::nfs3::{
    CommitArgs, CommitOk, CommitResult, Failure, ReadArgs, ReadHead, ReadResult, Stability, Status,
    Verifier, WeakData, WriteHead, WriteOk, WriteResult,
};
use plimsoll_wire::rpc::{self, Accepted, AuthSys, record};
use plimsoll_wire::xdr::{PADDING, Reader, Writer, Xdr, padding};

use crate::connection::{Event, NfsConnection, Pooled};
use crate::link::Target;
use crate::parked::{Answer, PendingRead, Waiting};
use crate::reply::{self, Refused};
use crate::{convert, query};

impl NfsConnection {
    pub(crate) fn read(
        &mut self,
        xid: u32,
        caller: &AuthSys<'_>,
        args: &mut Reader<'_>,
        io: &mut Io<'_>,
    ) -> Result<(), Refused> {
        let args: ReadArgs<'_> = args.value()?;
        let now = self.clock.wall(io.now);
        let target = match self.links.find(args.file, &self.shared.exports) {
            Ok(target) => target,
            Err(status) => {
                reply::send(io.send, xid, &ReadResult::Err(Failure::new(status, None)));
                return Ok(());
            }
        };
        let caller = target.link.rule.squash.apply(caller);
        let count = args.count.min(self.shared.settings.transfer_max_bytes);
        let link = &target.link;
        let volume = link.export.volume();
        match volume.admit(self.peer, &link.flow, Direction::Read, count, io.now) {
            Admission::Now => {
                let pending = ReadCall {
                    target,
                    who: &caller.credential(),
                    xid,
                    offset: args.offset,
                    count: count as usize,
                };
                if pending.answer(now, &mut self.payloads, io.send) == Ready::Blocking {
                    let pending = PendingRead {
                        target: target.clone(),
                        caller,
                        xid,
                        offset: args.offset,
                        count: count as usize,
                    };
                    self.read_cold(pending, io.send);
                }
            }
            Admission::At(due) => {
                let (target, offset, count) = (target.clone(), args.offset, count as usize);
                let pending = PendingRead { target, caller, xid, offset, count };
                self.parked.push(due, Waiting::Read(pending));
            }
        }
        Ok(())
    }

    /// A READ whose time has come.
    pub(crate) fn read_parked(&mut self, pending: PendingRead, io: &mut Io<'_>) {
        let now = self.clock.wall(io.now);
        let call = ReadCall {
            target: &pending.target,
            who: &pending.caller.credential(),
            xid: pending.xid,
            offset: pending.offset,
            count: pending.count,
        };
        if call.answer(now, &mut self.payloads, io.send) == Ready::Blocking {
            self.read_cold(pending, io.send);
        }
    }

    /// A READ that must wait for a disk.
    fn read_cold(&mut self, pending: PendingRead, send: &mut SendQueue) {
        let (xid, bytes) = (pending.xid, pending.count);
        let attributes = query::attributes(&pending.target);
        let namespace = std::sync::Arc::clone(pending.target.link.export.namespace());
        let remote = self.remote.clone();
        let job = move || {
            let answer = read_blocking(&pending);
            remote.post(Event::Answer(Pooled { answer, due: None, bytes }));
        };
        match namespace.blocking().run(job) {
            Ok(()) => {
                self.outstanding.calls += 1;
                self.outstanding.bytes += bytes;
            }
            Err(_) => {
                let busy = ReadResult::Err(Failure::new(Status::JUKEBOX, Some(attributes)));
                reply::send(send, xid, &busy);
            }
        }
    }

    pub(crate) fn write(
        &mut self,
        xid: u32,
        caller: &AuthSys<'_>,
        args: &mut Reader<'_>,
        io: &mut Io<'_>,
    ) -> Result<(), Refused> {
        let head: WriteHead<'_> = args.value()?;
        let data = args.rest();
        let count = head.count.min(head.len);
        let Some(data) = data.get(..count as usize).filter(|_| data.len() >= head.len as usize)
        else {
            return Err(Refused::Accepted(Accepted::GarbageArguments));
        };
        let now = self.clock.wall(io.now);
        let fail = |status, file| WriteResult::Err(Failure::new(status, file));
        let target = match self.links.find(head.file, &self.shared.exports) {
            Ok(target) => target,
            Err(status) => {
                reply::send(io.send, xid, &fail(status, WeakData::default()));
                return Ok(());
            }
        };
        let unchanged = || WeakData { before: None, after: Some(query::attributes(target)) };
        if target.link.rule.read_only {
            reply::send(io.send, xid, &fail(Status::READ_ONLY, unchanged()));
            return Ok(());
        }
        let caller = target.link.rule.squash.apply(caller);
        let export = &target.link.export;
        let admission =
            export.volume().admit(self.peer, &target.link.flow, Direction::Write, count, io.now);
        let due = match admission {
            Admission::Now => None,
            Admission::At(due) => Some(due),
        };
        let namespace = export.namespace();
        let written = namespace.write(&caller.credential(), &target.inode, head.offset, data, now);
        let stable = head.stable != Stability::Unstable;
        let ok = |around: &Around| {
            WriteResult::Ok(WriteOk {
                file: convert::around(target.fsid(), around),
                count,
                committed: if stable { Stability::FileSync } else { Stability::Unstable },
                verifier: self.shared.verifier,
            })
        };
        let result = match &written {
            Ok(around) if stable && namespace.is_durable() => {
                let done = reply::build(xid, &ok(around));
                let failed = |status| reply::build(xid, &fail(status, WeakData::default()));
                let later = when_stable(&self.remote, done, failed(Status::IO), due);
                match namespace.make_stable(&target.inode, later) {
                    Ok(()) => {
                        self.outstanding.calls += 1;
                        return Ok(());
                    }
                    Err(error) => fail(convert::status(error), unchanged()),
                }
            }
            Ok(around) => ok(around),
            Err(error) => fail(convert::status(*error), unchanged()),
        };
        match due {
            None => reply::send(io.send, xid, &result),
            Some(due) => {
                let answer = Answer { head: reply::build(xid, &result), data: None };
                self.parked.push(due, Waiting::Answer(answer));
            }
        }
        Ok(())
    }

    pub(crate) fn commit(
        &mut self,
        xid: u32,
        args: &mut Reader<'_>,
        io: &mut Io<'_>,
    ) -> Result<(), Refused> {
        let args: CommitArgs<'_> = args.value()?;
        let fail = |status, file| CommitResult::Err(Failure::new(status, file));
        let target = match self.links.find(args.file, &self.shared.exports) {
            Ok(target) => target,
            Err(status) => {
                reply::send(io.send, xid, &fail(status, WeakData::default()));
                return Ok(());
            }
        };
        let attributes = target.inode.attributes();
        let around = Around { before: attributes.before(), after: attributes };
        let file = convert::around(target.fsid(), &around);
        let ok = CommitResult::Ok(CommitOk { file, verifier: self.shared.verifier });
        let namespace = target.link.export.namespace();
        if !namespace.is_durable() {
            reply::send(io.send, xid, &ok);
            return Ok(());
        }
        let failed = reply::build(xid, &fail(Status::IO, WeakData::default()));
        let later = when_stable(&self.remote, reply::build(xid, &ok), failed, None);
        match namespace.make_stable(&target.inode, later) {
            Ok(()) => self.outstanding.calls += 1,
            Err(error) => reply::send(io.send, xid, &fail(convert::status(error), file)),
        }
        Ok(())
    }
}

/// Sends one of two answers when the data is durable or cannot become so.
fn when_stable(
    remote: &Remote<Event>,
    done: Vec<u8>,
    failed: Vec<u8>,
    due: Option<Instant>,
) -> Box<dyn FnOnce(Result<(), FileError>) + Send> {
    let remote = remote.clone();
    Box::new(move |result| {
        let head = if result.is_ok() { done } else { failed };
        let answer = Answer { head, data: None };
        remote.post(Event::Answer(Pooled { answer, due, bytes: 0 }));
    })
}

/// A READ in hand.
struct ReadCall<'a> {
    target: &'a Target,
    who: &'a plimsoll_storage::namespace::Credential<'a>,
    xid: u32,
    offset: u64,
    count: usize,
}

impl ReadCall<'_> {
    /// Answers from memory; with [`Ready::Blocking`] nothing was sent.
    fn answer(&self, now: Timestamp, payloads: &mut Vec<Payload>, send: &mut SendQueue) -> Ready {
        let Self { target, who, xid, offset, count } = *self;
        let namespace = target.link.export.namespace();
        let mut out = |payload| payloads.push(payload);
        match namespace.read(who, &target.inode, offset, count, now, &mut out) {
            Ok(Read { ready: Ready::Blocking, .. }) => {
                payloads.clear();
                return Ready::Blocking;
            }
            Ok(read) => {
                send.append(|bytes| put_head(bytes, xid, target, &read));
                for payload in payloads.drain(..) {
                    send.payload(payload);
                }
                send.bytes(&PADDING[..padding(read.count)]);
            }
            Err(error) => {
                payloads.clear();
                send.append(|bytes| bytes.extend_from_slice(&failure(xid, target, error)));
            }
        }
        Ready::Now
    }
}

fn failure(xid: u32, target: &Target, error: FileError) -> Vec<u8> {
    let detail = Some(query::attributes(target));
    reply::build(xid, &ReadResult::Err(Failure::new(convert::status(error), detail)))
}

/// A READ in the pool of threads: its data is one buffer.
fn read_blocking(pending: &PendingRead) -> Answer {
    let PendingRead { target, caller, xid, offset, count } = pending;
    let namespace = target.link.export.namespace();
    let mut buffer = Vec::new();
    let who = &caller.credential();
    let now = Timestamp::now();
    match namespace.read_blocking(who, &target.inode, *offset, *count, now, &mut buffer) {
        Ok(read) => {
            let mut head = Vec::with_capacity(160);
            put_head(&mut head, *xid, target, &read);
            buffer.extend_from_slice(&PADDING[..padding(read.count)]);
            Answer { head, data: Some(Payload::from_vec(buffer)) }
        }
        Err(error) => Answer { head: failure(*xid, target, error), data: None },
    }
}

/// Everything of a successful READ before its data.
fn put_head(bytes: &mut Vec<u8>, xid: u32, target: &Target, read: &Read) {
    let mut out = Writer::new(bytes);
    let at = record::begin(&mut out);
    rpc::accept(&mut out, xid, Accepted::Success);
    Status::OK.put(&mut out);
    let count = read.count as u32;
    let head = ReadHead {
        attributes: Some(convert::attributes(target.fsid(), &read.attributes)),
        count,
        eof: read.end_of_file,
        len: count,
    };
    head.put(&mut out);
    record::end(&mut out, at, read.count + padding(read.count));
}

/// A verifier that no earlier start of this server had.
pub(crate) fn new_verifier() -> Result<Verifier, getrandom::Error> {
    let mut verifier = [0; 8];
    getrandom::fill(&mut verifier)?;
    Ok(verifier)
}
