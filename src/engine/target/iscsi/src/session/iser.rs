//! The datamover of RDMA as the session sees it: READ data goes into the initiator's memory and the response
//! follows; WRITE data beyond what came with the command is read out of it (RFC 7145 section 7.3).
//!
//! There are no Data-In and R2T PDUs. What an aborted or failed task is still fetching must land before the
//! task is over: the store's memory, and the initiator's, are not free before that.

use plimsoll_fabric::Close;
use plimsoll_target_scsi::Completion;
use plimsoll_wire::iscsi::negotiate::Wishes;
use plimsoll_wire::iscsi::pdu::Residual;
use plimsoll_wire::iscsi::{Bhs, Digests, Pdu};
use plimsoll_wire::iser::{Header, Message, Tag as Remote};
use plimsoll_wire::scsi::{Additional, Status};

use super::Session;
use super::command::aborted;
use super::tasks::{Sink, Tag, Work};
use crate::Settings;
use crate::iser::{Fetched, Into, RdmaMover};
use crate::mover::{Mover, Transport, Turn};
use crate::stats::RdmaStats;

/// The command has data to move and no buffer of the initiator's to move it from or to.
const NO_BUFFER: Additional = Additional::new(0x0c, 0x0d);

impl Mover for RdmaMover {
    type Tags = Header;
    const TRANSPORT: Transport = Transport::Iser;
    const BHS_AT: usize = plimsoll_wire::iser::HEADER_LEN;

    fn wishes(settings: &Settings) -> Wishes {
        settings.iser.clone()
    }

    #[inline]
    fn split(frame: &[u8], _digests: Digests, data_cap: usize) -> Result<(Pdu<'_>, Header), Close> {
        let message =
            Message::split(frame, data_cap).map_err(|error| Close::Protocol(error.to_string()))?;
        Ok((message.pdu, message.header))
    }

    #[inline]
    fn backlog(&self) -> usize {
        self.out_bytes()
    }

    #[inline]
    fn put(&mut self, bhs: &Bhs, data: &[u8], _digests: Digests) {
        self.message(bhs, data, None);
    }

    /// The tag of the task itself may be invalidated with its response, and only one: the initiator takes care
    /// of the other one of a bidirectional command.
    #[inline]
    fn put_response(&mut self, bhs: &Bhs, data: &[u8], _digests: Digests, tags: Header) {
        let tag = if self.invalidates { tags.read.or(tags.write) } else { None };
        self.message(bhs, data, tag.map(|tag| tag.key));
    }

    #[inline]
    fn put_data(
        session: &mut Session<Self>,
        send: &mut Self,
        itt: u32,
        tags: Header,
        total: u32,
        residual: Residual,
    ) -> bool {
        let none = Residual::None;
        let Some(mut to) = tags.read else {
            session.payloads.clear();
            session.stats.failed += 1;
            let Completion { status, sense, .. } = aborted(NO_BUFFER);
            let residual = Residual::between(total.into(), 0);
            session.send_response(send, itt, tags, status, &sense, residual, none, 0);
            return false;
        };
        let mut left = total as usize;
        for mut payload in session.payloads.drain(..) {
            let part = payload.split_to(left);
            if part.is_empty() {
                continue;
            }
            let len = part.len();
            send.write(part, to);
            to.address = to.address.wrapping_add(len as u64);
            left -= len;
        }
        debug_assert_eq!(left, 0, "the store gave fewer bytes than were asked for");
        session.send_response(send, itt, tags, Status::Good, &[], residual, none, 0);
        true
    }

    fn get_data(session: &mut Session<Self>, send: &mut Self, tag: Tag) {
        let whole_buffer = session.parameters.iser.solicited_tags_only == Some(false);
        let Some(task) = session.tasks.get_mut(tag) else { return };
        let Work::Out(out) = &mut task.work else { return };
        if out.fetching || out.requested >= out.wanted {
            return;
        }
        let Some(write) = task.expected.tags.write else {
            return session.fail(tag, aborted(NO_BUFFER));
        };
        let (start, end) = (out.received, out.wanted);
        let into = match &out.sink {
            Sink::Store { unit, offset, .. } => {
                let len = (end - start) as usize;
                match unit.store().place(*offset + u64::from(start), len) {
                    Ok(Some(placement)) => Into::Store(placement),
                    Ok(None) => Into::Buffers,
                    Err(error) => {
                        let completion = unit.write_failed(&error);
                        return session.fail(tag, completion);
                    }
                }
            }
            _ => Into::Buffers,
        };
        out.requested = end;
        out.fetching = true;
        // The tag begins with the solicited data, unless the initiator has declared otherwise.
        let skipped = if whole_buffer { u64::from(start) } else { 0 };
        let from = Remote { key: write.key, address: write.address.wrapping_add(skipped) };
        send.fetch(tag, from, (start, end), into);
    }

    fn cancel(&mut self, tag: Tag) -> bool {
        self.cancel_fetch(tag)
    }
}

impl Session<RdmaMover> {
    /// An RDMA read has brought data of a task.
    pub(crate) fn fetched(&mut self, id: u64, io: &mut Turn<'_, RdmaMover>) {
        let Some(Fetched { task: tag, offset, len, buffer, last }) = io.send.fetched(id) else {
            return;
        };
        if let Some(buffer) = buffer {
            self.keep(tag, offset, io.send.bytes(&buffer, len));
            io.send.give_back_read(buffer, len);
        }
        let Some(out) = self.out(tag) else { return };
        out.received = out.received.saturating_add(len);
        out.fetching = !last;
        if !out.aborted {
            self.advance(tag, io);
        } else if last {
            self.tasks.remove(tag);
            self.aborted_task_ended(tag, io);
        }
    }

    /// Puts fetched data where it belongs.
    fn keep(&mut self, tag: Tag, at: u32, data: &[u8]) {
        let Some(out) = self.out(tag) else { return };
        if out.aborted {
            return;
        }
        let failure = match &mut out.sink {
            Sink::Store { unit, offset, .. } => {
                let result = unit.store().write(*offset + u64::from(at), data);
                result.err().map(|error| unit.write_failed(&error))
            }
            Sink::Collect { buffer, .. } | Sink::Remote { buffer, .. } => {
                let (start, end) = (at as usize, at as usize + data.len());
                if buffer.len() < end {
                    buffer.resize(end, 0);
                }
                buffer[start..end].copy_from_slice(data);
                None
            }
            Sink::Discard(_) => None,
        };
        if let Some(completion) = failure {
            self.fail(tag, completion);
        }
    }

    /// Tells what the connection has done so far.
    pub(crate) fn publish_rdma(&self, stats: &RdmaStats) {
        self.registered.rdma.publish(stats);
    }
}
