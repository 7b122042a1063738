//! One iSCSI session in full feature phase (RFC 7143 sections 4 and 11), without its socket.
//!
//! Commands become PDUs in a send queue; PDUs from the target become data and endings. The numbers are held to:
//! StatSN in order, DataSN and buffer offset in order, R2T in order and inside the task, tags by generation.
//! Whatever breaks them ends the connection (error recovery level 0), and the tasks are reissued by the owner.

mod iser;
mod receive;

use std::time::Instant;

use plimsoll_fabric::{Payload, SendQueue};
use plimsoll_wire::iscsi::pdu::{
    Attribute, DataOut, LogoutReason, LogoutRequest, NopOut, Residual, ScsiCommand, Sequence,
    TaskFunction, TaskRequest, TextRequest,
};
use plimsoll_wire::iscsi::{BHS_LEN, Bhs, Digests, NO_TAG, digest, serial};
use plimsoll_wire::scsi::LunField;

use super::iser::Held;
use super::out::Out;
use super::tasks::Tasks;

/// What this end declares as MaxRecvDataSegmentLength: a Data-In of any common I/O size is one PDU.
pub(super) const MAX_RECV_DATA: usize = 256 << 10;

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
    /// Immediate requests without an answer that the target takes at a time.
    pub unexpected: u32,
    /// Statuses may overtake each other. RDMA loses none, so their order tells nothing there, and targets that
    /// number answers in one thread and send them in another (LIO) do not keep it.
    pub may_overtake: bool,
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
    /// Memory that the target may reach (iSER).
    held: Option<Held>,
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
    /// Statuses that overtook the one that is due: bit 0 is the one after it.
    ahead: u64,
    depth: usize,
    /// Bytes that the answers to all tasks will have at least.
    due_bytes: u64,
    pings: u32,
    ping_outstanding: bool,
    /// Immediate requests without an answer.
    unexpected: u32,
    events: Vec<Event>,
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
            ahead: 0,
            depth: usize::from(depth.max(1)),
            due_bytes: 0,
            pings: 0,
            ping_outstanding: false,
            unexpected: 0,
            events: Vec::new(),
        }
    }

    pub fn digests(&self) -> Digests {
        self.agreed.digests
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

    /// Puts a header on the queue, with its digest.
    #[inline]
    fn put(&self, send: &mut SendQueue, bhs: &Bhs) {
        send.bytes(bhs);
        if self.agreed.digests.header {
            send.bytes(&digest::header(bhs));
        }
    }

    /// Puts a data segment on the queue, padded, with its digest. With a digest, bytes that may change are copied, so
    /// that it covers what is sent.
    fn put_data(&self, send: &mut SendQueue, data: Payload) {
        let padding = data.len().wrapping_neg() & 3;
        if self.agreed.digests.data {
            let data = data.stable_or_copy();
            let mut crc = digest::Running::begin();
            crc.update(data.stable_bytes().unwrap_or_default());
            send.payload(data);
            send.bytes(&[0; 3][..padding]);
            send.bytes(&crc.end(padding));
        } else {
            send.payload(data);
            send.bytes(&[0; 3][..padding]);
        }
    }

    /// Sends a SCSI command with what data may go unasked (section 4.2.5.2). The caller has looked at
    /// [`Self::has_room`]; false when it has to wait all the same, for a tag or for memory.
    #[inline]
    pub fn command(&mut self, out: &mut Out<'_>, command: Command) -> bool {
        match out {
            Out::Tcp(send) => self.command_tcp(send, command),
            Out::Iser(mover) => self.command_iser(mover, command),
        }
    }

    #[inline]
    fn command_tcp(&mut self, send: &mut SendQueue, command: Command) -> bool {
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
            held: None,
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

    /// Whether the target takes another immediate request (RFC 7145 section 8.1; without limit over TCP).
    fn may_send_immediate(&self) -> bool {
        self.unexpected < self.agreed.unexpected
    }

    /// A tag for an immediate request; none when as many are without an answer as the target takes.
    fn immediate(&mut self, owner: Owner, issued: Instant) -> Option<u32> {
        if !self.may_send_immediate() {
            return None;
        }
        let itt = self.control(owner, issued)?;
        self.unexpected += 1;
        Some(itt)
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
            held: None,
            collected: Vec::new(),
            issued,
            aborting: false,
        };
        self.tasks.insert(task).ok()
    }

    /// Asks for a sign of life (section 11.18); one at a time.
    pub fn ping(&mut self, out: &mut Out<'_>, now: Instant) {
        if self.ping_outstanding {
            return;
        }
        let Some(itt) = self.immediate(Owner::Ping, now) else { return };
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
        out.put(&header.build(), self.agreed.digests);
    }

    /// Sends ABORT TASK for every part issued before `limit` that is not being aborted yet. True when one of
    /// the aborts was itself sent before `abort_limit`: the target does not react any more.
    pub fn abort_older(
        &mut self,
        out: &mut Out<'_>,
        limit: Instant,
        abort_limit: Instant,
        now: Instant,
    ) -> bool {
        let mut late = Vec::new();
        let may_send = self.agreed.unexpected.saturating_sub(self.unexpected) as usize;
        for (itt, task) in self.tasks.iter_mut() {
            match task.owner {
                // What the target does not take now has its turn when one of these is answered.
                Owner::Part(_)
                    if !task.aborting && task.issued < limit && late.len() < may_send =>
                {
                    task.aborting = true;
                    late.push((itt, task.lun, task.cmd_sn));
                }
                Owner::Abort(_) if task.issued < abort_limit => return true,
                _ => {}
            }
        }
        for (referenced_itt, lun, ref_cmd_sn) in late {
            let Some(itt) = self.immediate(Owner::Abort(referenced_itt), now) else { return true };
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
            out.put(&header.build(), self.agreed.digests);
        }
        false
    }

    /// Sends a text request; `ttt` continues an exchange.
    pub fn text(&mut self, out: &mut Out<'_>, text: &[u8], ttt: u32, now: Instant) -> bool {
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
        out.put_small(&header.build(), text, self.agreed.digests);
        true
    }

    /// Asks the target to close the session.
    pub fn logout(&mut self, out: &mut Out<'_>, now: Instant) {
        let Some(itt) = self.immediate(Owner::Logout, now) else { return };
        let header = LogoutRequest {
            immediate: true,
            reason: LogoutReason::CloseSession,
            itt,
            cid: 0,
            cmd_sn: self.cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
        };
        out.put(&header.build(), self.agreed.digests);
    }
}
