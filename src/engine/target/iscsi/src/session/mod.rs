//! The full feature phase of one session on its one connection.
//!
//! * `mod.rs`: the state, the order of commands (CmdSN window), what is due when.
//! * [`command`]: SCSI commands; `read` and `write` paths.
//! * [`delayed`]: commands that wait because of their task attribute.
//! * [`reply`]: read data, responses, rejects.
//! * [`tcp`], [`iser`]: how data moves.
//! * [`management`]: task management, and what other nexuses do to this one.
//! * [`link`]: NOP, text, logout, asynchronous messages.
//! * [`tasks`], [`memory`]: open tasks and what they hold.

mod command;
mod delayed;
mod iser;
mod link;
mod management;
mod memory;
mod reply;
mod tasks;
mod tcp;
mod write;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Instant;

use plimsoll_fabric::{Close, Payload, Remote};
use plimsoll_storage::FlowLimiter;
use plimsoll_target_scsi::Nexus;
use plimsoll_wire::iscsi::negotiate::{Negotiator, Parameters};
use plimsoll_wire::iscsi::pdu::{self, RejectReason, Sequence};
use plimsoll_wire::iscsi::text::{Assembler, Chunks};
use plimsoll_wire::iscsi::{Bhs, Digests, Opcode, Pdu, serial};

use crate::connection::Event;
use crate::mover::{Mover, Turn};
use crate::registry::Registered;
use crate::server::Shared;
use crate::{SessionStats, Settings};
pub(crate) use management::Fence;
pub(crate) use tasks::Tag;
use tasks::{SLOTS_MAX, Tasks};

/// Frames kept for commands that came before their turn may have so many bytes in all.
const EARLY_BYTES_MAX: usize = 4 << 20;
/// Tasks for immediate commands, beyond the window.
pub(crate) const IMMEDIATE_TASKS: usize = 16;

/// Who is at the other end.
pub(crate) struct Peer {
    pub initiator: String,
    /// `None` in a discovery session.
    pub target: Option<String>,
    pub address: SocketAddr,
    pub local: SocketAddr,
    pub cid: u16,
}

/// Commands that came before their turn: each with its frames (the command, then unsolicited data).
#[derive(Default)]
struct Early {
    frames: BTreeMap<u32, Vec<Vec<u8>>>,
    bytes: usize,
}

impl Early {
    /// Aborts a command that waits for its turn: its number still counts.
    fn forget<M: Mover>(&mut self, itt: u32) -> bool {
        let found = self.frames.values_mut().find(|frames| is_command::<M>(frames, itt));
        let Some(frames) = found else { return false };
        self.bytes -= frames.iter().map(Vec::len).sum::<usize>();
        frames.clear();
        true
    }
}

/// A session. Fields drop in order: the nexus ends before the session leaves the list.
pub(crate) struct Session<M: Mover> {
    nexus: Option<Nexus>,
    shared: Arc<Shared>,
    remote: Remote<Event>,
    peer: Peer,
    host: IpAddr,
    negotiator: Negotiator,
    parameters: Parameters,
    digests: Digests,
    stat_sn: u32,
    exp_cmd_sn: u32,
    max_cmd_sn: u32,
    window: u32,
    early: Early,
    delayed: delayed::Delayed,
    tasks: Tasks<M::Tags>,
    /// Tasks that the limiter holds back, by the time at which they may run.
    parked: BinaryHeap<Reverse<(Instant, Tag)>>,
    /// Answers to task management that wait for aborted tasks in the pool or for other sessions.
    unanswered: Vec<management::Unanswered>,
    /// What other sessions wait for.
    fences: Vec<management::Held>,
    flow: FlowLimiter,
    memory: Arc<AtomicUsize>,
    /// Payloads of the read in progress; kept for their room.
    payloads: Vec<Payload>,
    text: Assembler,
    answer: Chunks,
    heard: Instant,
    pinged: Option<Instant>,
    logout_by: Option<Instant>,
    stats: SessionStats,
    /// Shared with jobs in the pool: the session stands in the list until the last of them has ended, so that a
    /// session that takes its place never meets its late writes.
    registered: Arc<Registered>,
}

impl<M: Mover> Session<M> {
    #[expect(clippy::too_many_arguments, reason = "everything that a login has found out")]
    pub(crate) fn new(
        shared: Arc<Shared>,
        remote: Remote<Event>,
        peer: Peer,
        nexus: Option<Nexus>,
        (negotiator, parameters): (Negotiator, Parameters),
        sequence: Sequence,
        registered: Registered,
        now: Instant,
    ) -> Self {
        Self {
            nexus,
            window: window(&shared.settings),
            shared,
            remote,
            host: peer.address.ip().to_canonical(),
            peer,
            negotiator,
            digests: parameters.digests(),
            parameters,
            stat_sn: sequence.stat_sn,
            exp_cmd_sn: sequence.exp_cmd_sn,
            max_cmd_sn: sequence.max_cmd_sn,
            early: Early::default(),
            delayed: delayed::Delayed::default(),
            tasks: Tasks::default(),
            parked: BinaryHeap::new(),
            unanswered: Vec::new(),
            fences: Vec::new(),
            flow: FlowLimiter::new(),
            memory: Arc::default(),
            payloads: Vec::new(),
            text: Assembler::default(),
            answer: Chunks::default(),
            heard: now,
            pinged: None,
            logout_by: None,
            stats: SessionStats::default(),
            registered: Arc::new(registered),
        }
    }

    /// Digests, and the largest data segment that this end declared.
    #[inline]
    pub(crate) fn framing(&self) -> (Digests, usize) {
        (self.digests, self.parameters.max_recv_data_segment_bytes as usize)
    }

    /// Takes a frame apart, now or when its turn comes.
    #[inline]
    fn split<'f>(&self, frame: &'f [u8]) -> Result<(Pdu<'f>, M::Tags), Close> {
        M::split(frame, self.digests, self.framing().1)
    }

    /// Something arrived.
    pub(crate) fn heard(&mut self, now: Instant) {
        self.heard = now;
        self.pinged = None;
    }

    #[inline]
    pub(crate) fn on_frame(&mut self, frame: &[u8], io: &mut Turn<'_, M>) -> Result<(), Close> {
        let (pdu, tags) = self.split(frame)?;
        let opcode = Opcode::of(pdu.bhs);
        if !pdu.data_is_sound {
            return self.bad_data(opcode, &pdu, io);
        }
        if opcode == Some(Opcode::DataOut) {
            return self.data_out(frame, &pdu, io);
        }
        let numbered = matches!(
            opcode,
            Some(
                Opcode::ScsiCommand
                    | Opcode::NopOut
                    | Opcode::TaskRequest
                    | Opcode::TextRequest
                    | Opcode::LogoutRequest
            )
        );
        if !numbered {
            return self.out_of_place(opcode, &pdu, io);
        }
        // Section 4.2.2.1: every numbered request has CmdSN at byte 24.
        if !pdu::is_immediate(pdu.bhs) {
            let cmd_sn = cmd_sn(pdu.bhs);
            if cmd_sn != self.exp_cmd_sn || serial::less(self.max_cmd_sn, cmd_sn) {
                return self.early_or_stray(cmd_sn, frame);
            }
            self.exp_cmd_sn = cmd_sn.wrapping_add(1);
        }
        self.dispatch(opcode, frame, &pdu, tags, io)?;
        if self.early.frames.is_empty() { Ok(()) } else { self.take_early(io) }
    }

    #[inline]
    fn dispatch(
        &mut self,
        opcode: Option<Opcode>,
        frame: &[u8],
        pdu: &Pdu<'_>,
        tags: M::Tags,
        io: &mut Turn<'_, M>,
    ) -> Result<(), Close> {
        if self.nexus.is_none() && matches!(opcode, Some(Opcode::ScsiCommand | Opcode::TaskRequest))
        {
            // Section 4.3: a discovery session carries text, NOP and logout.
            self.reject(io.send, RejectReason::ProtocolError, pdu.bhs);
            return Ok(());
        }
        match opcode {
            Some(Opcode::ScsiCommand) => self.scsi_command(frame, pdu, tags, io),
            Some(Opcode::NopOut) => self.nop_out(pdu, io),
            Some(Opcode::TaskRequest) => self.task_request(pdu, io),
            Some(Opcode::TextRequest) => self.text_request(pdu, io),
            Some(Opcode::LogoutRequest) => self.logout_request(pdu, io),
            _ => Ok(()),
        }
    }

    /// A command that is not the next one: kept until its turn when it lies in the window, otherwise dropped
    /// in silence (section 4.2.2.1).
    fn early_or_stray(&mut self, cmd_sn: u32, frame: &[u8]) -> Result<(), Close> {
        let in_window = serial::in_window(cmd_sn, self.exp_cmd_sn, self.max_cmd_sn);
        if !in_window || self.early.frames.contains_key(&cmd_sn) {
            self.stats.ignored += 1;
            return Ok(());
        }
        self.early.bytes += frame.len();
        if self.early.bytes > EARLY_BYTES_MAX {
            let what = format!("command {} is missing for too long", self.exp_cmd_sn);
            return Err(Close::Protocol(what));
        }
        self.early.frames.insert(cmd_sn, vec![frame.to_vec()]);
        Ok(())
    }

    /// Carries out the kept commands whose turn has come.
    fn take_early(&mut self, io: &mut Turn<'_, M>) -> Result<(), Close> {
        while let Some(frames) = self.early.frames.remove(&self.exp_cmd_sn) {
            self.exp_cmd_sn = self.exp_cmd_sn.wrapping_add(1);
            for frame in frames {
                self.early.bytes -= frame.len();
                let (pdu, tags) = self.split(&frame)?;
                match Opcode::of(pdu.bhs) {
                    Some(Opcode::DataOut) => self.data_out(&frame, &pdu, io)?,
                    opcode => self.dispatch(opcode, &frame, &pdu, tags, io)?,
                }
            }
        }
        Ok(())
    }

    /// Keeps unsolicited data of a command that waits for its turn; false when there is no such command.
    fn keep_early_data(&mut self, itt: u32, frame: &[u8]) -> Result<bool, Close> {
        let mut commands = self.early.frames.values_mut();
        let Some(frames) = commands.find(|frames| is_command::<M>(frames, itt)) else {
            return Ok(false);
        };
        self.early.bytes += frame.len();
        if self.early.bytes > EARLY_BYTES_MAX {
            let what = format!("command {} is missing for too long", self.exp_cmd_sn);
            return Err(Close::Protocol(what));
        }
        frames.push(frame.to_vec());
        Ok(true)
    }

    /// A PDU that no initiator sends at this time.
    fn out_of_place(
        &mut self,
        opcode: Option<Opcode>,
        pdu: &Pdu<'_>,
        io: &mut Turn<'_, M>,
    ) -> Result<(), Close> {
        match opcode {
            // Error recovery level 0 keeps nothing to be sent again (section 11.16).
            Some(Opcode::Snack) => self.reject(io.send, RejectReason::SnackReject, pdu.bhs),
            Some(Opcode::LoginRequest) => {
                let what = "a login request in the full feature phase".to_owned();
                return Err(Close::Protocol(what));
            }
            Some(_) => self.reject(io.send, RejectReason::ProtocolError, pdu.bhs),
            None => self.reject(io.send, RejectReason::CommandNotSupported, pdu.bhs),
        }
        Ok(())
    }

    /// The data digest does not match (section 7.8): the PDU is rejected. Data of a task fails the task; any
    /// other PDU would have to be sent again, which error recovery level 0 does by a new session.
    fn bad_data(
        &mut self,
        opcode: Option<Opcode>,
        pdu: &Pdu<'_>,
        io: &mut Turn<'_, M>,
    ) -> Result<(), Close> {
        self.stats.digest_errors += 1;
        self.reject(io.send, RejectReason::DataDigestError, pdu.bhs);
        if opcode == Some(Opcode::DataOut) {
            return self.data_out_is_bad(pdu, io);
        }
        Err(Close::Protocol("data digest does not match".to_owned()))
    }

    /// The numbers of a PDU without a status of its own: StatSN is the next one and stays unused.
    #[inline]
    fn sequence(&mut self) -> Sequence {
        let open = ((self.tasks.len() + self.delayed.len()) as u32).min(self.window);
        let last = self.exp_cmd_sn.wrapping_add(self.window - open).wrapping_sub(1);
        if serial::less(self.max_cmd_sn, last) {
            self.max_cmd_sn = last; // never goes back (section 4.2.2.1)
        }
        Sequence { stat_sn: self.stat_sn, exp_cmd_sn: self.exp_cmd_sn, max_cmd_sn: self.max_cmd_sn }
    }

    /// The numbers of a PDU that uses up a StatSN.
    #[inline]
    fn next_sequence(&mut self) -> Sequence {
        let sequence = self.sequence();
        self.stat_sn = self.stat_sn.wrapping_add(1);
        sequence
    }

    pub(crate) fn on_event(&mut self, event: Event, io: &mut Turn<'_, M>) -> Result<(), Close> {
        match event {
            Event::Completed(tag, completion) => self.completed(tag, completion, io),
            Event::Read(tag, result) => self.cold_read_done(tag, result, io),
            Event::Notice(notice) => self.notice(notice, io),
            Event::Fence(fence) => self.hold_fence(fence),
            Event::Fenced(itt) => self.fenced(itt, io),
            Event::RequestLogout { seconds } => self.request_logout(seconds, io),
            Event::Displaced => {
                tracing::info!(peer = %self.peer.address, tsih = self.registered.tsih, "session displaced");
                return Err(Close::Finished);
            }
            Event::Drop => {
                self.announce_drop(io);
                return Err(Close::Finished);
            }
            Event::Opened | Event::Proceed => {}
        }
        Ok(())
    }

    pub(crate) fn on_timer(&mut self, io: &mut Turn<'_, M>) -> Result<(), Close> {
        while let Some(Reverse((at, tag))) = self.parked.peek().copied()
            && at <= io.now
        {
            self.parked.pop();
            self.admitted(tag, io);
        }
        self.watch(io)
    }

    /// Begins what has waited for others to end, sets the next wake-up, publishes the counters; once per turn.
    pub(crate) fn settle(&mut self, io: &mut Turn<'_, M>) -> Result<(), Close> {
        if self.delayed.len() > 0 {
            self.release_delayed(io)?;
        }
        self.stats.outstanding = (self.tasks.len() + self.delayed.len()) as u64;
        self.registered.stats.publish(&self.stats);
        let parked = self.parked.peek().map(|Reverse((at, _))| *at);
        let silence = match self.pinged {
            Some(at) => at + self.shared.settings.ping_timeout,
            None => self.heard + self.shared.settings.ping_after,
        };
        let others = [parked, self.logout_by].into_iter().flatten();
        *io.deadline = Some(others.fold(silence, Instant::min));
        Ok(())
    }

    pub(crate) fn on_close(&mut self, close: &Close) {
        tracing::info!(
            peer = %self.peer.address,
            initiator = self.peer.initiator,
            target = self.peer.target.as_deref().unwrap_or("(discovery)"),
            tsih = self.registered.tsih,
            %close,
            "session closed"
        );
    }
}

/// Commands that a session may have outstanding.
pub(crate) fn window(settings: &Settings) -> u32 {
    let wanted = usize::from(settings.commands_per_session).max(1);
    wanted.min(SLOTS_MAX - 1 - IMMEDIATE_TASKS) as u32
}

fn cmd_sn(bhs: &Bhs) -> u32 {
    u32::from_be_bytes([bhs[24], bhs[25], bhs[26], bhs[27]])
}

/// Whether the frames of an early command begin with that task.
fn is_command<M: Mover>(frames: &[Vec<u8>], itt: u32) -> bool {
    let bhs = frames.first().and_then(|frame| frame.get(M::BHS_AT..)?.first_chunk());
    bhs.is_some_and(|bhs| pdu::itt(bhs) == itt)
}
