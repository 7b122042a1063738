//! Data from the initiator: immediate, unsolicited, and asked for by R2T (RFC 7143 sections 4.2.5.2, 11.7, 11.8).
//!
//! Data is in order here (DataPDUInOrder and DataSequenceInOrder are Yes), so each piece goes to the store as
//! it lies in the receive buffer. Unsolicited data is written even while the limiter holds the command back:
//! it has arrived, and holding it would need memory; what waits is the R2T and the status.
//!
//! A task that fails in the middle takes the data that the initiator still owes and drops it; its status
//! comes after (section 7.8).

use std::cmp::Reverse;
use std::sync::Arc;

use plimsoll_fabric::{Close, Payload};
use plimsoll_storage::{Admission, Direction, RemoteDone, RemoteOperation, StoreError};
use plimsoll_target_scsi::{Completion, LogicalUnit, Plan};
use plimsoll_wire::iscsi::pdu::{DataOut, Residual, ScsiCommand};
use plimsoll_wire::iscsi::{NO_TAG, Pdu};
use plimsoll_wire::scsi::{Additional, Status};

use super::Session;
use super::command::{Place, aborted, gone};
use super::reply::Expected;
use super::tasks::{Out, Sink, Tag, Task, Work};
use crate::connection::Event;
use crate::mover::{Mover, Turn};

/// Section 11.4.7.2: data came that was not asked for.
const UNEXPECTED_UNSOLICITED_DATA: Additional = Additional::new(0x0c, 0x0c);
/// Section 11.4.7.2: more or less data came than was asked for.
const INCORRECT_AMOUNT_OF_DATA: Additional = Additional::new(0x0c, 0x0d);
/// Section 11.4.7.2: a digest was wrong.
const PROTOCOL_SERVICE_CRC_ERROR: Additional = Additional::new(0x47, 0x05);
/// SPC-5: the data phase went wrong otherwise: DataSN or buffer offset.
const DATA_PHASE_ERROR: Additional = Additional::new(0x4b, 0x00);

impl<M: Mover> Session<M> {
    /// Everything that is not a READ.
    #[inline]
    pub(super) fn out_or_done(
        &mut self,
        command: &ScsiCommand,
        mut expected: Expected<M::Tags>,
        plan: Plan,
        data: &[u8],
        io: &mut Turn<'_, M>,
    ) {
        if let Err(additional) = self.check_unsolicited(command, data.len() as u32) {
            let sink = Sink::Discard(aborted(additional));
            return self.start_out(command, expected, sink, true, data, io);
        }
        match plan {
            Plan::Write { offset, len, durable } => {
                expected.wants = len as u32;
                let wanted = expected.wants.min(expected.write);
                let Some(unit) = self.nexus.as_ref().and_then(|nexus| nexus.unit(command.lun))
                else {
                    return self.complete(io.send, command.itt, expected, gone(), 0);
                };
                let admission =
                    unit.volume().admit(self.host, &self.flow, Direction::Write, wanted, io.now);
                let is_remote = unit.is_remote();
                // The fast path: everything is here, and the limiter lets it pass.
                if admission == Admission::Now
                    && !durable
                    && !is_remote
                    && command.is_final
                    && data.len() >= wanted as usize
                {
                    let result = unit.store().write(offset, &data[..wanted as usize]);
                    if let Err(error) = result {
                        let completion = unit.write_failed(&error);
                        return self.complete(io.send, command.itt, expected, completion, 0);
                    }
                    self.stats.writes += 1;
                    self.stats.write_bytes += u64::from(wanted);
                    let residual = Residual::between(expected.write.into(), len as u64);
                    let none = Residual::None;
                    return self.send_response(
                        io.send,
                        command.itt,
                        expected.tags,
                        Status::Good,
                        &[],
                        residual,
                        none,
                        0,
                    );
                }
                let unit = Arc::clone(unit);
                let sink = if !is_remote {
                    Sink::Store { unit, offset, durable }
                } else if let Some(charge) = self.charge(wanted as usize) {
                    Sink::Remote { unit, offset, durable, buffer: Vec::new(), charge }
                } else {
                    Sink::Discard(Completion::status(Status::TaskSetFull))
                };
                let admitted = admission == Admission::Now;
                let tag = self.insert_out(command, expected, sink, admitted, data.len() as u32);
                if let Admission::At(at) = admission {
                    self.parked.push(Reverse((at, tag)));
                }
                self.take(tag, data);
                self.advance(tag, io);
            }
            Plan::Collect { len, blocking, job } => {
                expected.wants = len as u32;
                let wanted = expected.wants.min(expected.write);
                let Some(charge) = self.charge(wanted as usize) else {
                    let sink = Sink::Discard(Completion::status(Status::TaskSetFull));
                    return self.start_out(command, expected, sink, true, data, io);
                };
                if !blocking && command.is_final && data.len() >= wanted as usize {
                    let place = Place { itt: command.itt, expected, r2t_sn: 0, tag: None };
                    let data = data[..wanted as usize].to_vec();
                    return self.run_job(place, job, data, false, None, io);
                }
                let sink = Sink::Collect { buffer: Vec::new(), job, blocking, charge };
                self.start_out(command, expected, sink, true, data, io);
            }
            Plan::Done(completion) if command.is_final => {
                self.complete(io.send, command.itt, expected, completion, 0);
            }
            Plan::Done(completion) => {
                let sink = Sink::Discard(completion);
                self.start_out(command, expected, sink, true, data, io);
            }
            Plan::Read { .. } => {} // taken by the caller
        }
    }

    /// What was negotiated about unsolicited data is held (sections 13.10, 13.11 and 13.14).
    #[inline]
    fn check_unsolicited(&self, command: &ScsiCommand, immediate: u32) -> Result<(), Additional> {
        let parameters = &self.parameters;
        if immediate == 0 && command.is_final {
            return Ok(());
        }
        if !command.write
            || (immediate > 0 && !parameters.immediate_data)
            || (!command.is_final && parameters.initial_r2t)
        {
            return Err(UNEXPECTED_UNSOLICITED_DATA);
        }
        if immediate > parameters.first_burst_bytes.min(command.expected_len) {
            return Err(INCORRECT_AMOUNT_OF_DATA);
        }
        Ok(())
    }

    fn start_out(
        &mut self,
        command: &ScsiCommand,
        expected: Expected<M::Tags>,
        sink: Sink,
        admitted: bool,
        data: &[u8],
        io: &mut Turn<'_, M>,
    ) {
        let tag = self.insert_out(command, expected, sink, admitted, data.len() as u32);
        self.take(tag, data);
        self.advance(tag, io);
    }

    fn insert_out(
        &mut self,
        command: &ScsiCommand,
        expected: Expected<M::Tags>,
        sink: Sink,
        admitted: bool,
        immediate: u32,
    ) -> Tag {
        let out = Out {
            sink,
            wanted: expected.wants.min(expected.write),
            received: 0,
            unsolicited: !command.is_final,
            unsolicited_max: self.parameters.first_burst_bytes.min(expected.write),
            data_sn: 0,
            solicited_from: immediate,
            requested: immediate,
            r2t_sn: 0,
            answered: 0,
            admitted,
            fetching: false,
            aborted: false,
        };
        self.insert(command, expected, Work::Out(out))
    }

    #[inline]
    pub(super) fn data_out(
        &mut self,
        frame: &[u8],
        pdu: &Pdu<'_>,
        io: &mut Turn<'_, M>,
    ) -> Result<(), Close> {
        let data = DataOut::parse(pdu.bhs);
        let Some(tag) = self.find_out(&data) else {
            let kept = data.ttt == NO_TAG
                && (self.delayed.keep_data(data.itt, frame, self.unsolicited_bytes_max())
                    || self.keep_early_data(data.itt, frame)?);
            if !kept {
                self.stats.ignored += 1; // its task has ended
            }
            return Ok(());
        };
        if let Err(additional) = self.check_data(tag, &data) {
            self.fail(tag, aborted(additional));
        }
        self.take(tag, pdu.data);
        self.end_of_sequence(tag, data.is_final);
        self.advance(tag, io);
        Ok(())
    }

    /// Data whose digest was wrong: the task fails, the sequence goes on.
    pub(super) fn data_out_is_bad(
        &mut self,
        pdu: &Pdu<'_>,
        io: &mut Turn<'_, M>,
    ) -> Result<(), Close> {
        let data = DataOut::parse(pdu.bhs);
        if let Some(tag) = self.find_out(&data) {
            self.fail(tag, aborted(PROTOCOL_SERVICE_CRC_ERROR));
            self.end_of_sequence(tag, data.is_final);
            self.advance(tag, io);
        }
        Ok(())
    }

    /// The task that data belongs to, if it takes data now.
    #[inline]
    fn find_out(&mut self, data: &DataOut) -> Option<Tag> {
        if data.ttt == NO_TAG {
            return self.tasks.find(|task| {
                task.itt == data.itt && matches!(&task.work, Work::Out(out) if out.unsolicited)
            });
        }
        let (tag, _) = Tag::of_transfer_tag(data.ttt);
        let task = self.tasks.get_mut(tag)?;
        (task.itt == data.itt && matches!(task.work, Work::Out(_))).then_some(tag)
    }

    /// Whether the data is what comes next.
    #[inline]
    fn check_data(&mut self, tag: Tag, data: &DataOut) -> Result<(), Additional> {
        let max_burst = self.parameters.max_burst_bytes;
        let Some(out) = self.out(tag) else { return Ok(()) };
        if out.has_failed() {
            return Ok(());
        }
        let number = Tag::of_transfer_tag(data.ttt).1;
        if !out.unsolicited && (out.answered == out.r2t_sn || number != out.answered & 0xff) {
            return Err(DATA_PHASE_ERROR);
        }
        if data.data_sn != out.data_sn || data.buffer_offset != out.received {
            return Err(DATA_PHASE_ERROR);
        }
        let end = out.sequence_end(max_burst);
        let after = u64::from(out.received) + u64::from(data.data_len);
        let complete = after == u64::from(end);
        if after > u64::from(end) || (!out.unsolicited && complete != data.is_final) {
            return Err(INCORRECT_AMOUNT_OF_DATA);
        }
        out.data_sn = out.data_sn.wrapping_add(1);
        Ok(())
    }

    /// Puts data where it belongs.
    #[inline]
    fn take(&mut self, tag: Tag, data: &[u8]) {
        let Some(out) = self.out(tag) else { return };
        // What comes beyond the wanted bytes, which an initiator may announce, is dropped.
        let room = out.wanted.saturating_sub(out.received) as usize;
        let useful = &data[..data.len().min(room)];
        let failure = match &mut out.sink {
            Sink::Store { unit, offset, .. } if !useful.is_empty() => {
                let at = *offset + u64::from(out.received);
                unit.store().write(at, useful).err().map(|error| unit.write_failed(&error))
            }
            Sink::Collect { buffer, .. } | Sink::Remote { buffer, .. } => {
                buffer.extend_from_slice(useful);
                None
            }
            _ => None,
        };
        out.received = out.received.saturating_add(data.len() as u32);
        if let Some(completion) = failure {
            self.fail(tag, completion);
        }
    }

    fn end_of_sequence(&mut self, tag: Tag, is_final: bool) {
        let Some(out) = self.out(tag) else { return };
        if !is_final {
            return;
        }
        out.data_sn = 0;
        if out.unsolicited {
            out.unsolicited = false;
            out.solicited_from = out.received;
            out.requested = out.received;
        } else if out.answered != out.r2t_sn {
            out.answered += 1;
        }
    }

    /// Lets the task fail; what was said first stays.
    pub(super) fn fail(&mut self, tag: Tag, completion: Completion) {
        if let Some(out) = self.out(tag)
            && !out.has_failed()
        {
            out.sink = Sink::Discard(completion);
        }
    }

    pub(super) fn out(&mut self, tag: Tag) -> Option<&mut Out> {
        match &mut self.tasks.get_mut(tag)?.work {
            Work::Out(out) => Some(out),
            _ => None,
        }
    }

    /// The limiter lets the task pass.
    pub(super) fn admitted(&mut self, tag: Tag, io: &mut Turn<'_, M>) {
        match self.out(tag) {
            Some(out) => {
                out.admitted = true;
                self.advance(tag, io);
            }
            None => self.read_admitted(tag, io),
        }
    }

    /// Asks for more data, or ends the task, as far as it can go now.
    #[inline]
    pub(super) fn advance(&mut self, tag: Tag, io: &mut Turn<'_, M>) {
        let Some(out) = self.out(tag) else { return };
        if out.has_failed() {
            out.fetching = out.fetching && io.send.cancel(tag);
            if !out.is_owed() {
                self.end_failed(tag, io);
            }
        } else if out.admitted && !out.unsolicited {
            if out.received >= out.wanted {
                self.end_received(tag, io);
            } else {
                M::get_data(self, io.send, tag);
                if self.out(tag).is_some_and(|out| out.has_failed() && !out.is_owed()) {
                    self.end_failed(tag, io);
                }
            }
        }
    }

    fn end_failed(&mut self, tag: Tag, io: &mut Turn<'_, M>) {
        let Some(Task { itt, expected, work: Work::Out(out), .. }) = self.tasks.remove(tag) else {
            return;
        };
        if let Sink::Discard(completion) = out.sink {
            self.complete(io.send, itt, expected, completion, out.r2t_sn);
        }
    }

    /// Hands the data to the target that has the unit's bytes; what it says comes as an event.
    fn write_remote(
        &self,
        tag: Tag,
        unit: &Arc<LogicalUnit>,
        offset: u64,
        durable: bool,
        data: Vec<u8>,
    ) {
        let Some(store) = unit.store().remote() else { return };
        let (session, registered) = (self.remote.clone(), Arc::clone(&self.registered));
        let unit = Arc::clone(unit);
        let end = move |result: Result<Vec<u8>, StoreError>| {
            let completion = match result {
                Ok(_) => Completion::good(),
                Err(StoreError::Busy) => Completion::status(Status::Busy),
                Err(error) => unit.write_failed(&error),
            };
            session.post(Event::Completed(tag, completion));
            drop(registered);
        };
        let then = Arc::clone(store);
        let done: RemoteDone = if durable {
            Box::new(move |result| match result {
                Ok(_) => then.submit(RemoteOperation::Flush, Box::new(end)),
                failed => end(failed),
            })
        } else {
            Box::new(end)
        };
        if data.is_empty() {
            return done(Ok(data)); // no adapter of the remote target moves nothing
        }
        store.submit(RemoteOperation::Write { offset, data: Payload::from_vec(data) }, done);
    }

    /// All data is here.
    fn end_received(&mut self, tag: Tag, io: &mut Turn<'_, M>) {
        let Some(task) = self.tasks.get_mut(tag) else { return };
        let (itt, expected) = (task.itt, task.expected);
        // A placeholder until it is known where the task goes.
        let running = Work::Running { aborted: false, r2t_sn: 0, _charge: None };
        let Work::Out(out) = std::mem::replace(&mut task.work, running) else { return };
        let r2t_sn = out.r2t_sn;
        match out.sink {
            Sink::Store { unit, durable, .. } => {
                self.stats.writes += 1;
                self.stats.write_bytes += u64::from(out.wanted);
                if !durable {
                    self.tasks.remove(tag);
                    return self.complete(io.send, itt, expected, Completion::good(), r2t_sn);
                }
                let queued = self.run_in_pool(tag, move || unit.flush());
                self.running_or_busy(tag, queued, r2t_sn, None, io);
            }
            Sink::Remote { unit, offset, durable, buffer, charge } => {
                self.stats.writes += 1;
                self.stats.write_bytes += u64::from(out.wanted);
                if let Some(task) = self.tasks.get_mut(tag) {
                    task.work = Work::Running { aborted: false, r2t_sn, _charge: Some(charge) };
                }
                self.write_remote(tag, &unit, offset, durable, buffer);
            }
            Sink::Collect { buffer, job, blocking, charge } => {
                let place = Place { itt, expected, r2t_sn, tag: Some(tag) };
                self.run_job(place, job, buffer, blocking, Some(charge), io);
            }
            Sink::Discard(completion) => {
                self.tasks.remove(tag);
                self.complete(io.send, itt, expected, completion, r2t_sn);
            }
        }
    }
}
