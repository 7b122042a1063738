//! One iSCSI session in full feature phase (RFC 7143 sections 4 and 11), without its socket.
//!
//! Commands become PDUs in a send queue; PDUs from the target become data and endings. The numbers are held to:
//! StatSN in order, DataSN and buffer offset in order, R2T in order and inside the task, tags by generation.
//! Whatever breaks them ends the connection (error recovery level 0), and the tasks are reissued by the owner.

use std::time::Instant;

use plimsoll_fabric::{Close, Frame, Payload, SendQueue};
use plimsoll_wire::iscsi::pdu::{
    self, Async, AsyncEvent, Attribute, DataIn, DataOut, LogoutReason, LogoutRequest,
    LogoutResponse, NopIn, NopOut, Opcode, R2t, Reject, Residual, ScsiCommand, ScsiResponse,
    Sequence, TaskFunction, TaskRequest, TaskResponse, TaskResult, TextRequest, TextResponse,
};
use plimsoll_wire::iscsi::{BHS_LEN, Bhs, Digests, NO_TAG, Pdu, digest, frame_length, serial};
use plimsoll_wire::scsi::LunField;

use super::tasks::Tasks;

/// What this end declares as MaxRecvDataSegmentLength: a Data-In of any common I/O size is one PDU.
pub(super) const MAX_RECV_DATA: usize = 256 << 10;
/// Pings of the target answered before a flush; more is a flood.
const MAX_PINGS: u32 = 1024;

/// What a login agreed on (section 13), as far as full feature phase needs it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Agreed {
    pub digests: Digests,
    /// MaxRecvDataSegmentLength of the target.
    pub max_send_data: u32,
    pub max_burst: u32,
    pub first_burst: u32,
    pub initial_r2t: bool,
    pub immediate_data: bool,
}

/// A piece of an operation that is one SCSI command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// Slot of the operation.
    pub op: u32,
    /// First byte of the piece, counted from the start of the operation.
    pub at: u32,
    /// Bytes.
    pub len: u32,
    /// Answers of BUSY, TASK SET FULL, unit attention and the like so far.
    pub attempts: u8,
    /// Connections lost under it so far.
    pub lost: u8,
}

/// Whose task it is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Owner {
    Part(Part),
    /// A command of the set-up or of a device helper; data is collected.
    Raw(u32),
    Ping,
    /// ABORT TASK of the task with this tag.
    Abort(u32),
    Text,
    Logout,
}

struct Task {
    owner: Owner,
    lun: LunField,
    cmd_sn: u32,
    /// Bytes that the command is expected to move.
    len: u32,
    /// Data-In: bytes received. Data-Out: bytes sent or queued.
    moved: u32,
    /// Next DataSN (read) or R2TSN (write).
    next_sn: u32,
    is_read: bool,
    data: Option<Payload>,
    collected: Vec<u8>,
    issued: Instant,
    aborting: bool,
}

/// A SCSI command to be sent.
pub(super) struct Command {
    pub owner: Owner,
    pub lun: LunField,
    pub cdb: [u8; 16],
    /// Bytes to be read; a command either reads or writes.
    pub read: u32,
    /// Bytes to be written.
    pub write: Option<Payload>,
    pub issued: Instant,
}

/// How a SCSI command ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reply<'a> {
    /// iSCSI response code: 0 = the status is the target's answer.
    pub response: u8,
    pub status: u8,
    /// Raw sense data.
    pub sense: &'a [u8],
    pub residual: Residual,
    /// Data-In bytes received in order.
    pub received: u32,
    pub issued: Instant,
}

/// Takes the data and endings of operations, at once.
pub(super) trait Upper {
    fn data(&mut self, part: Part, at: u32, bytes: &[u8]);
    fn ended(&mut self, part: Part, reply: &Reply<'_>);
    /// The target confirmed the abort of a task that took too long.
    fn aborted(&mut self, part: Part);
}

/// Everything else that a target says, for the flow to act upon after the receive.
#[derive(Debug)]
pub(super) enum Event {
    Raw {
        token: u32,
        response: u8,
        status: u8,
        sense: Vec<u8>,
        data: Vec<u8>,
    },
    Text {
        data: Vec<u8>,
        more: bool,
        is_final: bool,
        ttt: u32,
    },
    /// The target asks for a logout, or for a new login to negotiate anew.
    LogoutRequested,
    /// The target says that it drops the connection or the session.
    Dropped {
        time2wait: u16,
    },
    LoggedOut,
    /// A SCSI event outside of any command.
    Scsi,
}

pub(super) struct Session {
    agreed: Agreed,
    tasks: Tasks<Task>,
    cmd_sn: u32,
    max_cmd_sn: u32,
    exp_stat_sn: u32,
    depth: usize,
    /// Bytes that the answers to all tasks will have at least.
    due_bytes: u64,
    pings: u32,
    ping_outstanding: bool,
    events: Vec<Event>,
}

fn broken(what: impl Into<String>) -> Close {
    Close::Protocol(what.into())
}

/// Bytes of the answer to a command that reads so much.
#[inline]
fn due(read: u32) -> u64 {
    u64::from(read) + BHS_LEN as u64
}

impl Session {
    /// Starts with the numbers of the final login response.
    pub fn new(agreed: Agreed, cmd_sn: u32, sequence: Sequence, depth: u16) -> Self {
        Self {
            agreed,
            tasks: Tasks::new(),
            cmd_sn,
            max_cmd_sn: sequence.max_cmd_sn,
            exp_stat_sn: sequence.stat_sn.wrapping_add(1),
            depth: usize::from(depth.max(1)),
            due_bytes: 0,
            pings: 0,
            ping_outstanding: false,
            events: Vec::new(),
        }
    }

    /// Whether the command window and the local depth let another command go.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.tasks.len() < self.depth && self.has_window()
    }

    /// Whether the target takes another command now (section 4.2.2.1).
    #[inline]
    pub fn has_window(&self) -> bool {
        serial::less_or_equal(self.cmd_sn, self.max_cmd_sn)
    }

    /// Number of tasks, and the bytes that their answers will have at least.
    #[inline]
    pub fn due(&self) -> (usize, u64) {
        (self.tasks.len(), self.due_bytes)
    }

    /// TASK SET FULL: no more than is under way now.
    pub fn shrink_depth(&mut self) {
        self.depth = self.tasks.len().clamp(1, self.depth);
    }

    /// Some more again, up to what was configured.
    pub fn grow_depth(&mut self, configured: u16) {
        self.depth = (self.depth + 8).min(usize::from(configured.max(1)));
    }

    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    #[inline]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// All parts without an answer; whether each was being aborted.
    pub fn into_parts(self) -> impl Iterator<Item = (Part, bool)> {
        self.tasks.drain().filter_map(|task| match task.owner {
            Owner::Part(part) => Some((part, task.aborting)),
            _ => None,
        })
    }

    // ---- sending ----

    /// Puts a header on the queue, with its digest.
    #[inline]
    fn put(&self, send: &mut SendQueue, bhs: &Bhs) {
        send.bytes(bhs);
        if self.agreed.digests.header {
            send.bytes(&digest::header(bhs));
        }
    }

    /// Puts a data segment on the queue, padded, with its digest. With a digest the bytes are copied, so that
    /// it covers what is sent.
    fn put_data(&self, send: &mut SendQueue, data: Payload) {
        let padding = data.len().wrapping_neg() & 3;
        if self.agreed.digests.data {
            send.append(|out| {
                let start = out.len();
                data.copy_to(out);
                out.resize(out.len() + padding, 0);
                let crc = digest::crc32c(&out[start..]);
                out.extend_from_slice(&crc);
            });
        } else {
            send.payload(data);
            send.bytes(&[0; 3][..padding]);
        }
    }

    fn put_small(&self, send: &mut SendQueue, bhs: &Bhs, data: &[u8]) {
        send.append(|out| {
            plimsoll_wire::iscsi::frame::append(out, bhs, &[], data, self.agreed.digests);
        });
    }

    /// Sends a SCSI command with what data may go unasked (section 4.2.5.2). The caller has looked at
    /// [`Self::has_room`]; false when the tag space is used up.
    #[inline]
    pub fn command(&mut self, send: &mut SendQueue, command: Command) -> bool {
        let Command { owner, lun, cdb, read, write, issued } = command;
        let write_len = write.as_ref().map_or(0, |data| data.len() as u32);
        let is_read = write.is_none();
        let task = Task {
            owner,
            lun,
            cmd_sn: self.cmd_sn,
            len: if is_read { read } else { write_len },
            moved: 0,
            next_sn: 0,
            is_read,
            data: write,
            collected: Vec::new(),
            issued,
            aborting: false,
        };
        let Ok(itt) = self.tasks.insert(task) else { return false };
        let mut header = ScsiCommand {
            immediate: false,
            is_final: true,
            read: read > 0,
            write: write_len > 0,
            attribute: Attribute::Simple,
            ahs_len: 0,
            data_len: 0,
            lun,
            itt,
            expected_len: if is_read { read } else { write_len },
            cmd_sn: self.cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
            cdb,
        };
        self.cmd_sn = self.cmd_sn.wrapping_add(1);
        self.due_bytes += due(read);
        if write_len == 0 {
            self.put(send, &header.build());
        } else {
            self.send_write(send, &mut header, write_len);
        }
        true
    }

    /// The command PDU of a write, its immediate data and its unsolicited Data-Out PDUs.
    fn send_write(&mut self, send: &mut SendQueue, header: &mut ScsiCommand, len: u32) {
        let Agreed { first_burst, max_send_data, immediate_data, initial_r2t, .. } = self.agreed;
        let burst = first_burst.min(len);
        let immediate = if immediate_data { burst.min(max_send_data) } else { 0 };
        let unsolicited = if initial_r2t { immediate } else { burst };
        header.data_len = immediate;
        header.is_final = unsolicited == immediate;
        self.put(send, &header.build());
        let Some(task) = self.tasks.get_mut(header.itt) else { return };
        task.moved = unsolicited;
        let Some(mut rest) = task.data.clone() else { return };
        if immediate > 0 {
            let segment = rest.split_to(immediate as usize);
            self.put_data(send, segment);
        }
        if unsolicited > immediate {
            let burst = rest.split_to((unsolicited - immediate) as usize);
            self.send_burst(send, header.lun, header.itt, NO_TAG, immediate, burst);
        }
    }

    /// Data-Out PDUs of one sequence (section 11.7).
    fn send_burst(
        &self,
        send: &mut SendQueue,
        lun: LunField,
        itt: u32,
        ttt: u32,
        mut offset: u32,
        mut data: Payload,
    ) {
        let mut data_sn = 0;
        while !data.is_empty() {
            let segment = data.split_to(self.agreed.max_send_data as usize);
            let data_len = segment.len() as u32;
            let header = DataOut {
                is_final: data.is_empty(),
                data_len,
                lun,
                itt,
                ttt,
                exp_stat_sn: self.exp_stat_sn,
                data_sn,
                buffer_offset: offset,
            };
            self.put(send, &header.build());
            self.put_data(send, segment);
            data_sn += 1;
            offset += data_len;
        }
    }

    fn control(&mut self, owner: Owner, issued: Instant) -> Option<u32> {
        let task = Task {
            owner,
            lun: LunField::unit(0),
            cmd_sn: self.cmd_sn,
            len: 0,
            moved: 0,
            next_sn: 0,
            is_read: false,
            data: None,
            collected: Vec::new(),
            issued,
            aborting: false,
        };
        self.tasks.insert(task).ok()
    }

    /// Asks for a sign of life (section 11.18); one at a time.
    pub fn ping(&mut self, send: &mut SendQueue, now: Instant) {
        if self.ping_outstanding {
            return;
        }
        let Some(itt) = self.control(Owner::Ping, now) else { return };
        self.ping_outstanding = true;
        let header = NopOut {
            immediate: true,
            data_len: 0,
            lun: LunField::unit(0),
            itt,
            ttt: NO_TAG,
            cmd_sn: self.cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
        };
        self.put(send, &header.build());
    }

    /// Sends ABORT TASK for every part issued before `limit` that is not being aborted yet. True when one of
    /// the aborts was itself sent before `abort_limit`: the target does not react any more.
    pub fn abort_older(
        &mut self,
        send: &mut SendQueue,
        limit: Instant,
        abort_limit: Instant,
        now: Instant,
    ) -> bool {
        let mut late = Vec::new();
        for (itt, task) in self.tasks.iter_mut() {
            match task.owner {
                Owner::Part(_) if !task.aborting && task.issued < limit => {
                    task.aborting = true;
                    late.push((itt, task.lun, task.cmd_sn));
                }
                Owner::Abort(_) if task.issued < abort_limit => return true,
                _ => {}
            }
        }
        for (referenced_itt, lun, ref_cmd_sn) in late {
            let Some(itt) = self.control(Owner::Abort(referenced_itt), now) else { return true };
            let header = TaskRequest {
                immediate: true,
                function: TaskFunction::AbortTask,
                lun,
                itt,
                referenced_itt,
                cmd_sn: self.cmd_sn,
                exp_stat_sn: self.exp_stat_sn,
                ref_cmd_sn,
                exp_data_sn: 0,
            };
            self.put(send, &header.build());
        }
        false
    }

    /// Sends a text request; `ttt` continues an exchange.
    pub fn text(&mut self, send: &mut SendQueue, text: &[u8], ttt: u32, now: Instant) -> bool {
        if !self.has_window() {
            return false;
        }
        let Some(itt) = self.control(Owner::Text, now) else { return false };
        let header = TextRequest {
            immediate: false,
            is_final: true,
            more: false,
            data_len: text.len() as u32,
            lun: LunField::unit(0),
            itt,
            ttt,
            cmd_sn: self.cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
        };
        self.cmd_sn = self.cmd_sn.wrapping_add(1);
        self.put_small(send, &header.build(), text);
        true
    }

    /// Asks the target to close the session.
    pub fn logout(&mut self, send: &mut SendQueue, now: Instant) {
        let Some(itt) = self.control(Owner::Logout, now) else { return };
        let header = LogoutRequest {
            immediate: true,
            reason: LogoutReason::CloseSession,
            itt,
            cid: 0,
            cmd_sn: self.cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
        };
        self.put(send, &header.build());
    }

    // ---- receiving ----

    #[inline]
    pub fn frame(&self, head: &[u8]) -> Result<Frame, Close> {
        match frame_length(head, self.agreed.digests, MAX_RECV_DATA) {
            Ok(Some(length)) => Ok(Frame::Length(length)),
            Ok(None) => Ok(Frame::Need(BHS_LEN)),
            Err(error) => Err(broken(error.to_string())),
        }
    }

    #[inline]
    pub fn on_frame<U: Upper>(
        &mut self,
        frame: &[u8],
        send: &mut SendQueue,
        upper: &mut U,
    ) -> Result<(), Close> {
        let pdu = Pdu::split(frame, self.agreed.digests).map_err(|e| broken(e.to_string()))?;
        if !pdu.data_is_sound {
            // Recovery within a connection is not negotiated, so the connection goes (section 7.8).
            return Err(broken("data digest does not match"));
        }
        let sequence = Sequence::parse(pdu.bhs);
        self.window(sequence);
        match Opcode::of(pdu.bhs) {
            Some(Opcode::DataIn) => self.on_data_in(&pdu, upper),
            Some(Opcode::ScsiResponse) => self.on_response(&pdu, upper),
            Some(Opcode::R2t) => self.on_r2t(&R2t::parse(pdu.bhs), send),
            _ => self.on_control(&pdu, send, upper),
        }
    }

    /// Takes over a new command window (section 4.2.2.1): it only ever moves forward.
    #[inline]
    fn window(&mut self, sequence: Sequence) {
        let Sequence { exp_cmd_sn, max_cmd_sn, .. } = sequence;
        if !serial::less(max_cmd_sn, exp_cmd_sn.wrapping_sub(1))
            && serial::less(self.max_cmd_sn, max_cmd_sn)
        {
            self.max_cmd_sn = max_cmd_sn;
        }
    }

    /// Counts a status; statuses come in order, or one was lost.
    #[inline]
    fn status(&mut self, stat_sn: u32) -> Result<(), Close> {
        if stat_sn != self.exp_stat_sn {
            return Err(broken(format!(
                "StatSN {stat_sn:#x} came where {:#x} was due",
                self.exp_stat_sn
            )));
        }
        self.exp_stat_sn = stat_sn.wrapping_add(1);
        Ok(())
    }

    #[inline]
    fn on_data_in<U: Upper>(&mut self, pdu: &Pdu<'_>, upper: &mut U) -> Result<(), Close> {
        let header = DataIn::parse(pdu.bhs);
        let Some(task) = self.tasks.get_mut(header.itt) else {
            return Err(broken(format!("Data-In for unknown task {:#010x}", header.itt)));
        };
        if header.data_sn != task.next_sn || header.buffer_offset != task.moved {
            return Err(broken("Data-In is out of order"));
        }
        let len = pdu.data.len() as u32;
        if !task.is_read || len > task.len - task.moved {
            return Err(broken("Data-In exceeds what the command reads"));
        }
        task.next_sn = task.next_sn.wrapping_add(1);
        task.moved += len;
        match task.owner {
            Owner::Part(part) => upper.data(part, part.at + header.buffer_offset, pdu.data),
            _ => task.collected.extend_from_slice(pdu.data),
        }
        let Some(status) = header.status else { return Ok(()) };
        self.status(header.sequence.stat_sn)?;
        self.end(header.itt, 0, status, &[], header.residual, upper)
    }

    fn on_response<U: Upper>(&mut self, pdu: &Pdu<'_>, upper: &mut U) -> Result<(), Close> {
        let header = ScsiResponse::parse(pdu.bhs);
        self.status(header.sequence.stat_sn)?;
        let sense = pdu::sense_of(pdu.data);
        self.end(header.itt, header.response, header.status, sense, header.residual, upper)
    }

    #[inline]
    fn end<U: Upper>(
        &mut self,
        itt: u32,
        response: u8,
        status: u8,
        sense: &[u8],
        residual: Residual,
        upper: &mut U,
    ) -> Result<(), Close> {
        let Some(task) = self.tasks.remove(itt) else {
            return Err(broken(format!("status for unknown task {itt:#010x}")));
        };
        self.due_bytes =
            self.due_bytes.saturating_sub(due(if task.is_read { task.len } else { 0 }));
        match task.owner {
            Owner::Part(part) => {
                let received = if task.is_read { task.moved } else { 0 };
                let reply =
                    Reply { response, status, sense, residual, received, issued: task.issued };
                upper.ended(part, &reply);
                Ok(())
            }
            Owner::Raw(token) => {
                let (sense, data) = (sense.to_vec(), task.collected);
                self.events.push(Event::Raw { token, response, status, sense, data });
                Ok(())
            }
            _ => Err(broken("SCSI status for a task that is no SCSI command")),
        }
    }

    /// Sends what the target is ready for; it may only ask for the next bytes of a write.
    fn on_r2t(&mut self, header: &R2t, send: &mut SendQueue) -> Result<(), Close> {
        let Some(task) = self.tasks.get_mut(header.itt) else {
            return Err(broken(format!("R2T for unknown task {:#010x}", header.itt)));
        };
        let (Some(data), false) = (&task.data, task.is_read) else {
            return Err(broken("R2T for a command that writes nothing"));
        };
        if header.buffer_offset != task.moved || header.r2t_sn != task.next_sn {
            return Err(broken("R2T is out of order"));
        }
        if header.desired_len == 0
            || header.desired_len > task.len - task.moved
            || header.desired_len > self.agreed.max_burst
        {
            return Err(broken("R2T asks for more than the command writes or a burst may have"));
        }
        let mut burst = data.clone();
        burst.advance(task.moved as usize);
        let burst = burst.split_to(header.desired_len as usize);
        task.moved += header.desired_len;
        task.next_sn = task.next_sn.wrapping_add(1);
        let lun = task.lun;
        self.send_burst(send, lun, header.itt, header.ttt, header.buffer_offset, burst);
        Ok(())
    }

    /// Everything that is not part of the data path.
    #[cold]
    fn on_control<U: Upper>(
        &mut self,
        pdu: &Pdu<'_>,
        send: &mut SendQueue,
        upper: &mut U,
    ) -> Result<(), Close> {
        match Opcode::of(pdu.bhs) {
            Some(Opcode::NopIn) => self.on_nop(&NopIn::parse(pdu.bhs), send),
            Some(Opcode::TaskResponse) => {
                self.on_task_response(&TaskResponse::parse(pdu.bhs), upper)
            }
            Some(Opcode::TextResponse) => {
                let header = TextResponse::parse(pdu.bhs);
                self.status(header.sequence.stat_sn)?;
                self.answer(header.itt, |owner| matches!(owner, Owner::Text))?;
                self.events.push(Event::Text {
                    data: pdu.data.to_vec(),
                    more: header.more,
                    is_final: header.is_final,
                    ttt: header.ttt,
                });
                Ok(())
            }
            Some(Opcode::LogoutResponse) => {
                let header = LogoutResponse::parse(pdu.bhs);
                self.status(header.sequence.stat_sn)?;
                self.answer(header.itt, |owner| matches!(owner, Owner::Logout))?;
                self.events.push(Event::LoggedOut);
                Ok(())
            }
            Some(Opcode::Async) => {
                let header = Async::parse(pdu.bhs);
                self.status(header.sequence.stat_sn)?;
                self.events.push(match header.event {
                    AsyncEvent::LogoutRequested { .. } | AsyncEvent::Renegotiate { .. } => {
                        Event::LogoutRequested
                    }
                    AsyncEvent::DropConnection { time2wait, .. }
                    | AsyncEvent::DropSession { time2wait, .. } => Event::Dropped { time2wait },
                    AsyncEvent::Scsi | AsyncEvent::Other(..) => Event::Scsi,
                });
                Ok(())
            }
            Some(Opcode::Reject) => {
                let header = Reject::parse(pdu.bhs);
                Err(broken(format!("the target rejected a PDU: {:?}", header.reason)))
            }
            _ => Err(broken(format!("opcode {:#04x} is none of a target", pdu.bhs[0] & 0x3f))),
        }
    }

    /// Ends a control task and holds its kind to what was answered.
    fn answer(&mut self, itt: u32, is_kind: impl Fn(Owner) -> bool) -> Result<Owner, Close> {
        match self.tasks.remove(itt) {
            Some(task) if is_kind(task.owner) => Ok(task.owner),
            _ => Err(broken(format!("answer to unknown task {itt:#010x}"))),
        }
    }

    fn on_nop(&mut self, header: &NopIn, send: &mut SendQueue) -> Result<(), Close> {
        if header.itt != NO_TAG {
            self.status(header.sequence.stat_sn)?;
            self.answer(header.itt, |owner| matches!(owner, Owner::Ping))?;
            self.ping_outstanding = false;
        }
        if header.ttt != NO_TAG {
            if send.is_empty() {
                self.pings = 0;
            }
            self.pings += 1;
            if self.pings > MAX_PINGS {
                return Err(broken("pings without end that are not read back"));
            }
            let reply = NopOut {
                immediate: true,
                data_len: 0,
                lun: header.lun,
                itt: NO_TAG,
                ttt: header.ttt,
                cmd_sn: self.cmd_sn,
                exp_stat_sn: self.exp_stat_sn,
            };
            self.put(send, &reply.build());
        }
        Ok(())
    }

    fn on_task_response<U: Upper>(
        &mut self,
        header: &TaskResponse,
        upper: &mut U,
    ) -> Result<(), Close> {
        self.status(header.sequence.stat_sn)?;
        let owner = self.answer(header.itt, |owner| matches!(owner, Owner::Abort(_)))?;
        let Owner::Abort(referenced) = owner else { return Ok(()) };
        match header.result {
            TaskResult::Complete | TaskResult::TaskDoesNotExist => {
                // Without the task its answer came before, and it has ended by that.
                if let Some(task) = self.tasks.remove(referenced)
                    && let Owner::Part(part) = task.owner
                {
                    let read = if task.is_read { task.len } else { 0 };
                    self.due_bytes = self.due_bytes.saturating_sub(due(read));
                    upper.aborted(part);
                }
                Ok(())
            }
            other => Err(broken(format!("a task could not be aborted: {other:?}"))),
        }
    }
}
