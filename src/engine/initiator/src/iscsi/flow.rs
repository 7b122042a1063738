//! One path of a unit: a link that is made again when it is lost, with the commands that wait for its window.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::{Registry, Token};
use plimsoll_fabric::Close;
use plimsoll_wire::iscsi::Isid;
use plimsoll_wire::scsi::LunField;

use super::link::{Link, LinkEnd, Portal};
use super::login::LoginFailure;
use super::out::Out;
use super::session::{Command, Event, Part, Session};
use super::settings::Settings;
use super::setup::{Answer, Facts, Setup};
use crate::FlowState;
use crate::tcp::TcpInfo;
use crate::transport::{RdmaCounters, Transport};

/// The wait before the second attempt to reconnect; doubled for each further one.
const FIRST_BACK_OFF: Duration = Duration::from_millis(50);
/// The longest wait between attempts to reconnect.
const MAX_BACK_OFF: Duration = Duration::from_secs(3);
/// How long a session that shall end waits for its commands.
const DRAIN_WAIT: Duration = Duration::from_secs(5);
/// Redirections followed in a row.
const MAX_MOVES: u8 = 4;
/// The longest that a target's Time2Wait is honoured.
const MAX_TIME2WAIT: Duration = Duration::from_secs(30);

/// Receives sampled per tick to learn how answers come.
const PACE_SAMPLE: u32 = 64;
/// Answers at least this often are fast.
const FAST_PACE: Duration = Duration::from_micros(50);

/// What changed on a flow by the events of a receive.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct News {
    /// The set-up ended: the flow is up with facts, or its facts are fresh.
    pub facts: bool,
    pub logged_out: bool,
}

/// How answers came in the sample of this tick.
struct Pace {
    since: Instant,
    receives: u32,
    answers: u32,
    one_by_one: bool,
}

pub(super) struct Flow {
    settings: Arc<Settings>,
    token: Token,
    /// As configured, the preferred one first; redirections do not change them.
    candidates: Vec<Portal>,
    /// The candidate in use or being tried.
    at: usize,
    /// Where it is really looked for.
    place: Portal,
    moves: u8,
    isid: Isid,
    /// LUN field of the unit.
    lun: LunField,
    pub link: Option<Link>,
    setup: Option<Setup>,
    pub facts: Option<Facts>,
    /// Carries operations or could, if its access state allowed.
    pub up: bool,
    /// Operations that wait for the window or the depth.
    pub queue: VecDeque<Part>,
    /// Stands in the unit's list of flows with something to send.
    pub is_unsent: bool,
    /// Stands in the unit's list of flows with something to receive.
    pub is_ready: bool,
    /// Wakes for several answers at a time.
    pub gathers: bool,
    retry_at: Option<Instant>,
    /// When the attempt under way is given up.
    deadline: Option<Instant>,
    attempts: u32,
    heard: Instant,
    pace: Pace,
    retransmits_before: u64,
    rdma_before: RdmaCounters,
    pub ups: u64,
    pub last_end: Option<LinkEnd>,
    /// Why a link that was up was last lost.
    pub last_loss: Option<String>,
    wants_refresh: bool,
    /// No more commands: the session is logged out when the last has ended, at the latest then.
    draining: Option<Instant>,
    closing: bool,
}

impl Flow {
    pub fn new(
        settings: Arc<Settings>,
        candidates: Vec<Portal>,
        isid: Isid,
        lun: LunField,
        token: usize,
        now: Instant,
    ) -> Self {
        Self {
            settings,
            token: Token(token),
            place: candidates[0],
            candidates,
            at: 0,
            moves: 0,
            isid,
            lun,
            link: None,
            setup: None,
            facts: None,
            up: false,
            queue: VecDeque::new(),
            is_unsent: false,
            is_ready: false,
            gathers: false,
            retry_at: Some(now),
            deadline: None,
            attempts: 0,
            heard: now,
            pace: Pace { since: now, receives: 0, answers: 0, one_by_one: false },
            retransmits_before: 0,
            rdma_before: RdmaCounters::default(),
            ups: 0,
            last_end: None,
            last_loss: None,
            wants_refresh: false,
            draining: None,
            closing: false,
        }
    }

    /// Portals that may be tried.
    pub fn candidates(&self) -> u32 {
        self.candidates.len() as u32
    }

    /// The portal in use or being tried.
    pub fn portal(&self) -> Portal {
        self.candidates[self.at]
    }

    /// Goes back to the preferred portal: what is under way ends first, what comes meanwhile waits.
    pub fn reconnect(&mut self, now: Instant) {
        if self.up {
            self.draining = Some(now + DRAIN_WAIT);
        } else {
            self.retry_at = Some(now);
        }
    }

    pub fn state(&self) -> FlowState {
        match (&self.facts, self.up) {
            (Some(facts), true) if facts.access.rank().is_none() => FlowState::Standby,
            (_, true) => FlowState::Up,
            _ if self.closing => FlowState::Down,
            _ if self.last_end.as_ref().is_some_and(LinkEnd::is_final) => FlowState::Down,
            _ => FlowState::Connecting,
        }
    }

    /// Why it is not worth waiting for the flow.
    pub fn refusal(&self) -> Option<&LinkEnd> {
        let tried = self.attempts as usize >= self.candidates.len();
        self.last_end.as_ref().filter(|end| !self.up && tried && end.is_final())
    }

    pub fn tcp_info(&self) -> TcpInfo {
        let mut info = self.link.as_ref().map(Link::tcp_info).unwrap_or_default();
        info.retransmits += self.retransmits_before;
        info
    }

    pub fn rdma_counters(&self) -> Option<RdmaCounters> {
        if !self.candidates.iter().any(|portal| portal.transport == Transport::Iser) {
            return None;
        }
        let mut counters = self.link.as_ref().and_then(Link::rdma_counters).unwrap_or_default();
        counters.add(&self.rdma_before);
        Some(counters)
    }

    #[inline]
    pub fn session(&mut self) -> Option<(&mut Session, Out<'_>)> {
        self.link.as_mut().and_then(Link::session)
    }

    /// When the flow wants to be looked at without any event.
    pub fn wake_at(&self) -> Option<Instant> {
        match (self.retry_at, self.deadline) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Asks for capacity and access state again, when there is time.
    pub fn want_refresh(&mut self) {
        self.wants_refresh = true;
    }

    /// Starts what is due: an attempt to connect, or the end of one that took too long.
    pub fn on_time(&mut self, registry: &Registry, now: Instant) -> Result<(), LinkEnd> {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            return Err(LinkEnd::Close(Close::Idle));
        }
        if self.link.is_none() && self.retry_at.is_some_and(|at| at <= now) {
            self.retry_at = None;
            self.deadline = Some(now + self.settings.connect_timeout);
            self.heard = now;
            self.link =
                Some(Link::start(self.place, &self.settings, self.isid, registry, self.token)?);
        }
        Ok(())
    }

    /// The regular look at a flow that is up: late tasks, silence, depth, refresh.
    pub fn on_tick(&mut self, now: Instant) -> Result<(), LinkEnd> {
        self.pace.receives = 0;
        self.pace.answers = 0;
        let Some(link) = &mut self.link else { return Ok(()) };
        if link.was_heard() {
            self.heard = now;
        }
        if !self.up {
            return Ok(());
        }
        let Settings { keepalive, op_timeout, .. } = *self.settings;
        let depth = self.settings.depth(self.place.transport);
        let Some((session, mut out)) = link.session() else { return Ok(()) };
        session.grow_depth(depth);
        if let (Some(limit), Some(abort_limit)) =
            (now.checked_sub(op_timeout), now.checked_sub(keepalive))
            && session.abort_older(&mut out, limit, abort_limit, now)
        {
            return Err(LinkEnd::Close(Close::Idle));
        }
        let silence = now.saturating_duration_since(self.heard);
        if silence >= keepalive * 2 {
            return Err(LinkEnd::Close(Close::Idle));
        }
        if silence >= keepalive {
            session.ping(&mut out, now);
        }
        if self.draining.is_some_and(|until| until <= now) {
            return Err(LinkEnd::Close(Close::Finished)); // the new session ends what is left
        }
        if self.wants_refresh
            && self.setup.is_none()
            && let Some(facts) = &self.facts
        {
            self.wants_refresh = false;
            self.setup = Some(Setup::refresh(self.lun, facts));
        }
        Ok(())
    }

    /// After a receive: begins the set-up of a new session and takes its answers.
    pub fn on_events(&mut self, now: Instant) -> Result<News, LinkEnd> {
        let mut news = News::default();
        let Some(link) = &mut self.link else { return Ok(news) };
        let Some((session, mut out)) = link.session() else { return Ok(news) };
        if !self.up && self.setup.is_none() && !self.closing {
            self.setup = Some(Setup::new(self.lun));
        }
        if !session.has_events() {
            return Ok(news);
        }
        let refuse = |reason| LinkEnd::Login(LoginFailure::Refused { reason, may_retry: false });
        for event in session.take_events() {
            match event {
                Event::Raw { token, response, status, sense, data } => {
                    let Some(setup) = &mut self.setup else { continue };
                    let answer = Answer { token, response, status, sense: &sense, data: &data };
                    if let Some(facts) = setup.answer(&answer).map_err(refuse)? {
                        self.setup = None;
                        self.facts = Some(facts);
                        self.deadline = None;
                        news.facts = true;
                    }
                }
                Event::LogoutRequested => session.logout(&mut out, now),
                Event::LoggedOut => news.logged_out = true,
                Event::Dropped { time2wait } => {
                    let wait = Duration::from_secs(u64::from(time2wait)).min(MAX_TIME2WAIT);
                    self.retry_at = Some(now + wait);
                    return Err(LinkEnd::Close(Close::Peer));
                }
                Event::Scsi => self.wants_refresh = true,
                Event::Text { .. } => {}
            }
        }
        Ok(news)
    }

    /// Takes note of how answers come, with `depth` under way: a sample of receives at the start of every
    /// tick decides whether they come fast and few at a time.
    #[inline]
    pub fn keep_pace(&mut self, now: Instant, answers: usize, depth: u32) {
        let pace = &mut self.pace;
        if pace.receives >= PACE_SAMPLE || answers == 0 {
            return;
        }
        if pace.receives == 0 {
            pace.since = now;
        }
        pace.receives += 1;
        pace.answers += answers as u32;
        if pace.receives == PACE_SAMPLE {
            let each = now.saturating_duration_since(pace.since) / pace.answers;
            let few = pace.answers < PACE_SAMPLE * depth / 8;
            pace.one_by_one = few && each < FAST_PACE;
        }
    }

    /// Whether answers come fast and few at a time, by the sample of this tick.
    #[inline]
    pub fn comes_one_by_one(&self) -> bool {
        self.pace.one_by_one && self.pace.receives >= PACE_SAMPLE
    }

    /// Marks the flow as carrying operations.
    pub fn set_up(&mut self) {
        if !self.up {
            self.up = true;
            self.ups += 1;
            self.attempts = 0;
            self.moves = 0;
            self.last_end = None;
        }
    }

    /// Hands an operation's part over: to the wire if the window allows, else to the queue.
    #[inline]
    pub fn give(&mut self, part: Part, command: impl FnOnce(Part) -> Command) {
        if self.queue.is_empty()
            && self.draining.is_none()
            && let Some((session, mut out)) = self.link.as_mut().and_then(Link::session)
            && session.has_room()
            && session.command(&mut out, command(part))
        {
            return;
        }
        self.queue.push_back(part);
    }

    /// Moves waiting questions and parts to the wire as far as the window allows.
    #[inline]
    pub fn pump(&mut self, mut command: impl FnMut(Part) -> Command) {
        if self.queue.is_empty() && self.setup.is_none() && self.draining.is_none() {
            return;
        }
        let Some((session, mut out)) = self.link.as_mut().and_then(Link::session) else { return };
        if self.draining.is_some() {
            if session.due().0 == 0 {
                session.logout(&mut out, Instant::now());
            }
            return;
        }
        if let Some(setup) = &mut self.setup {
            setup.ask(session, &mut out, Instant::now());
        }
        while session.has_room()
            && let Some(&part) = self.queue.front()
            && session.command(&mut out, command(part))
        {
            self.queue.pop_front();
        }
    }

    /// The link is gone: gives back all parts (with whether each was being aborted) and plans the next attempt.
    pub fn lose(&mut self, end: LinkEnd, now: Instant) -> Vec<(Part, bool)> {
        let was_up = std::mem::replace(&mut self.up, false);
        let portal = self.portal();
        let transport = portal.transport;
        tracing::debug!(%portal, %transport, %end, was_up, "iSCSI link ended");
        self.setup = None;
        self.draining = None;
        self.deadline = None;
        self.wants_refresh = false;
        let mut parts = Vec::new();
        if let Some(link) = self.link.take() {
            self.retransmits_before += link.tcp_info().retransmits;
            if let Some(counters) = link.rdma_counters() {
                self.rdma_before.add(&RdmaCounters { registered_bytes: 0, ..counters });
            }
            if let Some(session) = link.into_session() {
                parts.extend(session.into_parts());
            }
        }
        parts.extend(self.queue.drain(..).map(|part| (part, false)));
        // A session that was lost is first made again by the preferred portal.
        let next = if was_up { 0 } else { (self.at + 1) % self.candidates.len() };
        let others_left = next != 0;
        self.at = next;
        self.place = self.portal();
        let rounds = self.attempts / self.candidates.len() as u32;
        let mut wait = match rounds {
            _ if others_left => Duration::ZERO,
            // RDMA targets may need a moment: some have the memory for a connection only the second time.
            0 if transport == Transport::Iser => FIRST_BACK_OFF,
            0 => Duration::ZERO,
            n => (FIRST_BACK_OFF * 2_u32.pow(n.min(10) - 1)).min(MAX_BACK_OFF),
        };
        self.attempts += 1;
        if let LinkEnd::Login(LoginFailure::Moved(to)) = &end
            && self.moves < MAX_MOVES
            && let Some(address) =
                crate::tcp::resolve(&to.host, to.port).ok().and_then(|all| all.first().copied())
        {
            self.moves += 1;
            self.place.address = address;
            wait = Duration::ZERO;
        } else if end.is_final() && !others_left {
            wait = MAX_BACK_OFF;
        }
        let earliest = now + wait;
        self.retry_at = Some(self.retry_at.map_or(earliest, |at| at.max(earliest)));
        if was_up {
            self.last_loss = Some(end.to_string());
        }
        self.last_end = Some(end);
        if self.closing {
            self.retry_at = None;
        }
        parts
    }

    /// Sends a logout and makes no new attempt.
    pub fn log_out(&mut self, now: Instant) {
        self.closing = true;
        self.up = false;
        self.retry_at = None;
        if let Some((session, mut out)) = self.session() {
            session.logout(&mut out, now);
        } else {
            self.link = None;
        }
    }
}
