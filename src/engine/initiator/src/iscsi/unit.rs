//! A logical unit over all its paths: the [`Datastore`] of an iSCSI URL.
//!
//! A poll sends what was submitted (one send per flow), waits, receives, and completes. All flows share one
//! epoll and one receive buffer; nothing here is shared with another thread.
//!
//! What was under way on a connection that is lost is given out again, on whatever path is left: reads, writes
//! and flushes may all be done twice with the same result. The target ends the old session's tasks when it is
//! reinstated; after a change of path an old write may in theory still be executed later than its repetition,
//! which does harm only if the caller has overwritten the same blocks meanwhile.

mod turn;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Waker};
use plimsoll_fabric::{Close, RECEIVE_BUFFER_BYTES};
use plimsoll_wire::scsi::LunField;

use super::core::Core;
use super::flow::Flow;
use super::link::{LinkEnd, Portal};
use super::login::LoginFailure;
use super::policy::Selector;
use super::session::Part;
use super::settings::{Settings, new_isid};
use super::setup::Facts;
use crate::spin::Spin;
use crate::{
    Completion, Datastore, Error, FlowCounters, FlowState, IscsiUrl, LostReason, Op, OpKind,
    Options, Payload, Sink, Transport, tcp,
};

/// The longest time between two looks at late tasks, silent connections and lost paths.
const TICK: Duration = Duration::from_millis(250);
/// The longest single transfer, whatever the unit allows.
const MAX_PART: u32 = 4 << 20;
/// The same with a path over iSER: some targets cannot move more in one command, and memory for it is registered.
const MAX_PART_ISER: u32 = 512 << 10;
/// How long a logout is waited for.
const LOGOUT_WAIT: Duration = Duration::from_millis(500);

pub(super) struct Unit {
    url: IscsiUrl,
    flows: Vec<Flow>,
    core: Core,
    poll: Poll,
    events: Events,
    scratch: Vec<u8>,
    options: Options,
    spin: Spin,
    /// Flows with something to send, and flows with something to receive.
    unsent: Vec<usize>,
    ready: Vec<usize>,
    /// The memory of the list that is not in use.
    spare: Vec<usize>,
    /// Number of flows that wake for several answers at a time.
    gathering: usize,
    /// The first time at which a flow wants to be looked at; computed anew when it may have changed.
    flow_wake: Option<Instant>,
    flow_wake_is_stale: bool,
    facts: Facts,
    is_identified: bool,
    capacity_bytes: u64,
    /// Most bytes of one command, whatever the unit allows.
    max_part: u32,
    /// The clock of the operations submitted since the last poll.
    submit_clock: Option<Instant>,
    tick_at: Instant,
    tick: Duration,
    /// Since when no path carries operations.
    pathless_since: Option<Instant>,
    /// The waker was used since the last poll.
    is_woken: bool,
}

/// Takes the completions of a time when there are none.
struct Nobody;

impl Sink for Nobody {
    fn data(&mut self, _tag: u64, _at: u32, _bytes: &[u8]) {}
    fn done(&mut self, _completion: Completion) {}
}

impl Unit {
    /// Opens the unit over every portal and waits until each flow is up or refused, or the time is over.
    pub fn open(url: &IscsiUrl, options: &Options) -> Result<Self, Error> {
        let settings = Arc::new(Settings::new(url, options)?);
        if !(1..=1024).contains(&options.connections) {
            return Err(Error::Option {
                option: "connections",
                reason: "1 to 1024 sessions per portal".to_owned(),
            });
        }
        let first = |transport, addresses: Vec<SocketAddr>| {
            addresses.first().map(|&address| Portal { transport, address })
        };
        let named = |portal: &String| {
            let (transport, authority) = Transport::of_portal(portal);
            let port = plimsoll_wire::iscsi::PORT;
            Ok::<_, Error>(first(transport, tcp::resolve_authority(authority, port)?))
        };
        let mut own = Vec::from_iter(first(url.transport, tcp::resolve(&url.host, url.port)?));
        for portal in &options.fallback {
            own.extend(named(portal)?);
        }
        let mut paths = vec![own];
        for portal in &options.portals {
            paths.push(Vec::from_iter(named(portal)?));
        }
        let is_rdma = |portal: &Portal| portal.transport == Transport::Iser;
        let uses_rdma = paths.iter().flatten().any(is_rdma);
        if paths.iter().any(|path| !path.is_empty() && path.iter().all(is_rdma)) {
            settings.rdma()?;
        }
        let now = Instant::now();
        let field = LunField::unit(u32::from(url.lun));
        let mut flows = Vec::new();
        for path in paths.into_iter().filter(|path| !path.is_empty()) {
            for _ in 0..options.connections {
                let settings = Arc::clone(&settings);
                let isid = match options.isid.filter(|_| flows.is_empty()) {
                    Some(isid) => isid,
                    None => new_isid()?,
                };
                flows.push(Flow::new(settings, path.clone(), isid, field, flows.len(), now));
            }
        }
        let io = |what| move |source| Error::Io { what, source };
        let selector = Selector::new(options.policy, flows.len());
        let core = Core::new(selector, flows.len(), field, options);
        let shortest = options.keepalive.min(options.op_timeout).min(options.path_timeout);
        let mut unit = Self {
            url: url.clone(),
            core,
            poll: Poll::new().map_err(io("epoll"))?,
            events: Events::with_capacity(flows.len().clamp(16, 1024)),
            flows,
            scratch: vec![0; RECEIVE_BUFFER_BYTES],
            options: options.clone(),
            spin: Spin::new(options.spin),
            unsent: Vec::new(),
            ready: Vec::new(),
            spare: Vec::new(),
            gathering: 0,
            flow_wake: Some(now),
            flow_wake_is_stale: false,
            facts: Facts::default(),
            is_identified: false,
            capacity_bytes: 0,
            max_part: if uses_rdma { MAX_PART_ISER } else { MAX_PART },
            submit_clock: None,
            tick_at: now,
            tick: TICK.min(shortest / 4).max(Duration::from_millis(5)),
            pathless_since: Some(now),
            is_woken: false,
        };
        unit.wait_for_paths(now)?;
        Ok(unit)
    }

    fn wait_for_paths(&mut self, start: Instant) -> Result<(), Error> {
        // A portal that does not answer at all must leave time for those after it.
        let tries = self.flows.iter().map(Flow::candidates).max().unwrap_or(1);
        let deadline = start + self.options.connect_timeout * tries;
        let settled = |flow: &Flow| flow.up || flow.refusal().is_some();
        while !self.flows.iter().all(settled) && Instant::now() < deadline {
            self.turn(Some(Duration::from_millis(50)), &mut Nobody)?;
        }
        if !self.flows.iter().any(|flow| flow.up) {
            return Err(self.open_error());
        }
        if self.capacity_bytes == 0 {
            return Err(Error::Refused {
                peer: self.peer(0),
                reason: "the unit tells no capacity on any path".to_owned(),
            });
        }
        Ok(())
    }

    fn peer(&self, flow: usize) -> String {
        self.flows.get(flow).map_or_else(|| self.url.host.clone(), |f| f.portal().to_string())
    }

    /// The failure of the first flow as an error.
    fn open_error(&self) -> Error {
        let peer = self.peer(0);
        link_error(peer, self.flows.first().and_then(|flow| flow.last_end.as_ref()))
    }

    #[inline]
    fn dispatch(&mut self, part: Part) {
        match self.core.selector.pick(part.len) {
            Some(flow) => {
                let core = &self.core;
                self.flows[flow].give(part, |part| core.command(part));
                self.mark_unsent(flow);
            }
            None => self.core.stranded.push_back(part),
        }
    }

    #[inline]
    fn mark_unsent(&mut self, index: usize) {
        if !std::mem::replace(&mut self.flows[index].is_unsent, true) {
            self.unsent.push(index);
        }
    }

    fn dispatch_redo(&mut self) {
        while let Some(part) = self.core.redo.pop_front() {
            self.dispatch(part);
        }
    }

    /// What answers other than success ask for.
    #[cold]
    fn on_conditions(&mut self) {
        for flow in std::mem::take(&mut self.core.full) {
            if let Some((session, _)) = self.flows[flow].session() {
                session.shrink_depth();
            }
        }
        for flow in std::mem::take(&mut self.core.changed) {
            self.flows[flow].want_refresh();
            self.tick_at = Instant::now();
        }
        self.dispatch_redo();
    }

    #[cold]
    fn on_events(&mut self, index: usize, clock: Option<Instant>, sink: &mut dyn Sink) -> usize {
        let now = clock.unwrap_or_else(Instant::now);
        self.flow_wake_is_stale = true;
        let flow = &mut self.flows[index];
        match flow.on_events(now) {
            Err(end) => self.lose(index, end, sink),
            Ok(news) if news.logged_out => self.lose(index, LinkEnd::Close(Close::Finished), sink),
            Ok(news) if news.facts => match self.take_facts(index) {
                Ok(()) => 0,
                Err(reason) => {
                    let refused = LoginFailure::Refused { reason, may_retry: false };
                    self.lose(index, LinkEnd::Login(refused), sink)
                }
            },
            Ok(_) => 0,
        }
    }

    /// A path is up or told something new: is it a path to the same unit, and which paths are used now?
    fn take_facts(&mut self, index: usize) -> Result<(), String> {
        let Some(facts) = self.flows[index].facts.clone() else { return Ok(()) };
        if facts.peripheral & 0x1f != 0 {
            return Err(format!("the unit is no disk (device type {:#04x})", facts.peripheral));
        }
        if !self.is_identified {
            self.is_identified = true;
            self.facts = facts.clone();
        } else if facts.naa != self.facts.naa || facts.serial != self.facts.serial {
            return Err(format!(
                "another unit answers: NAA {:?} serial {:?} instead of {:?} {:?}",
                facts.naa, facts.serial, self.facts.naa, self.facts.serial
            ));
        }
        if let Some(blocks) = facts.blocks {
            if !facts.block_bytes.is_power_of_two() || !(512..=65536).contains(&facts.block_bytes) {
                return Err(format!("blocks of {} bytes are not supported", facts.block_bytes));
            }
            if self.capacity_bytes != 0 && facts.block_bytes != self.core.block_bytes {
                return Err("the block size changed".to_owned());
            }
            if self.capacity_bytes == 0 {
                self.core.block_bytes = facts.block_bytes;
                self.core.max_part = max_part(&facts, self.max_part);
            }
            self.capacity_bytes = blocks.saturating_mul(u64::from(facts.block_bytes));
            self.facts = facts;
        }
        self.flows[index].set_up();
        self.paths_changed();
        Ok(())
    }

    /// Tells the policy which paths are usable: those up, of the best access state at hand.
    fn paths_changed(&mut self) {
        let rank = |flow: &Flow| match (&flow.facts, flow.up) {
            (Some(facts), true) => facts.access.rank(),
            _ => None,
        };
        let best = self.flows.iter().filter_map(rank).min();
        let flows = &self.flows;
        self.core.selector.set_usable(|index| best.is_some() && rank(&flows[index]) == best);
        if best.is_some() {
            self.pathless_since = None;
            self.core.redo.append(&mut self.core.stranded);
            self.dispatch_redo();
        } else if self.pathless_since.is_none() {
            self.pathless_since = Some(Instant::now());
        }
    }

    #[cold]
    fn lose(&mut self, index: usize, end: LinkEnd, sink: &mut dyn Sink) -> usize {
        let now = Instant::now();
        self.flow_wake_is_stale = true;
        if std::mem::replace(&mut self.flows[index].gathers, false) {
            self.gathering -= 1;
        }
        let parts = self.flows[index].lose(end, now);
        let mut completed = 0;
        // Before anything is given out again the lost path must be out of the policy's sight.
        for (part, aborting) in parts {
            completed += self.core.lost(part, aborting, index, now, sink);
        }
        self.paths_changed();
        self.dispatch_redo();
        completed
    }

    fn check(&self, op: &Op, data: Option<&Payload>) -> Result<(), &'static str> {
        let block = self.core.block_bytes - 1;
        if op.kind == OpKind::Flush {
            return if op.len == 0 { Ok(()) } else { Err("a flush has no length") };
        }
        if op.len == 0 || op.len & block != 0 || op.offset & u64::from(block) != 0 {
            return Err("offset and length must be multiples of the block size");
        }
        match op.offset.checked_add(u64::from(op.len)) {
            Some(end) if end <= self.capacity_bytes => {}
            _ => return Err("it ends beyond the capacity"),
        }
        match (op.kind, data) {
            (OpKind::Write, Some(data)) if data.len() == op.len as usize => Ok(()),
            (OpKind::Write, _) => Err("a write needs a payload of exactly its length"),
            _ => Ok(()),
        }
    }
}

/// Most bytes of one command.
fn max_part(facts: &Facts, most: u32) -> u32 {
    let limit = match facts.max_transfer_blocks {
        0 => most,
        blocks => blocks.saturating_mul(facts.block_bytes).min(most),
    };
    limit.max(facts.block_bytes)
}

/// Why a link ended, as an error of its peer.
pub(super) fn link_error(peer: String, end: Option<&LinkEnd>) -> Error {
    match end {
        None => Error::Timeout { peer, what: "connect and login" },
        Some(LinkEnd::Connect(error)) => {
            Error::Connect { peer, source: std::io::Error::new(error.kind(), error.to_string()) }
        }
        Some(LinkEnd::Login(LoginFailure::Authentication(reason))) => {
            Error::Authentication { peer, reason: reason.clone() }
        }
        Some(LinkEnd::Login(LoginFailure::Refused { reason, .. })) => {
            Error::Refused { peer, reason: reason.clone() }
        }
        Some(
            LinkEnd::Login(LoginFailure::Protocol(reason))
            | LinkEnd::Close(Close::Protocol(reason)),
        ) => Error::Protocol { peer, reason: reason.clone() },
        Some(LinkEnd::Login(LoginFailure::Moved(to))) => {
            Error::Refused { peer, reason: format!("the target keeps moving, last to {to}") }
        }
        Some(LinkEnd::Close(Close::Idle)) => Error::Timeout { peer, what: "connect and login" },
        Some(LinkEnd::Close(close)) => {
            Error::Lost { peer, source: std::io::Error::other(close.to_string()) }
        }
    }
}

impl Datastore for Unit {
    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    fn block_bytes(&self) -> u32 {
        self.core.block_bytes
    }

    fn identity(&self) -> &str {
        &self.facts.serial
    }

    fn can_submit(&self) -> bool {
        self.core.len() < self.options.queue_depth as usize
    }

    fn submit(&mut self, op: &Op, data: Option<Payload>) -> Result<(), Error> {
        if !self.can_submit() {
            return Err(Error::Full);
        }
        self.check(op, data.as_ref()).map_err(|reason| Error::Operation {
            offset: op.offset,
            len: op.len,
            reason,
        })?;
        let issued = *self.submit_clock.get_or_insert_with(Instant::now);
        let slot = self.core.insert(op, data, issued);
        for part in self.core.parts(slot, op.len) {
            self.dispatch(part);
        }
        Ok(())
    }

    fn poll(&mut self, wait: Option<Duration>, sink: &mut dyn Sink) -> Result<usize, Error> {
        self.turn(wait, sink)
    }

    fn in_flight(&self) -> usize {
        self.core.len()
    }

    fn flows(&self) -> Vec<FlowCounters> {
        let mut all = self.core.counters.clone();
        for (index, (counters, flow)) in all.iter_mut().zip(&self.flows).enumerate() {
            let link = flow.link.as_ref();
            let local = link.and_then(super::link::Link::local);
            let portal = flow.portal();
            let over = if portal.transport == Transport::Iser { "iser " } else { "" };
            counters.name = match local {
                Some(local) => format!("{over}{local} -> {portal} #{index}"),
                None => format!("{over}-> {portal} #{index}"),
            };
            counters.transport = portal.transport;
            counters.rdma = flow.rdma_counters();
            let info = flow.tcp_info();
            counters.peer = Some(link.map_or(portal.address, super::link::Link::peer));
            counters.state = flow.state();
            counters.in_flight = self.core.selector.in_flight(index);
            counters.path_switches = self.core.selector.switches(index);
            counters.retransmits = info.retransmits;
            counters.rtt_us = info.rtt_us;
            counters.reconnects = flow.ups.saturating_sub(1);
            counters.last_loss.clone_from(&flow.last_loss);
            counters.last_end = flow.last_end.as_ref().map(ToString::to_string);
        }
        all
    }

    fn model(&self) -> String {
        format!("{} {}", self.facts.vendor.trim(), self.facts.product.trim())
    }

    fn waker(&mut self) -> Option<Waker> {
        Waker::new(self.poll.registry(), turn::WAKER).ok()
    }

    fn reconnect(&mut self) {
        let now = Instant::now();
        for index in 0..self.flows.len() {
            self.flows[index].reconnect(now);
            let core = &self.core;
            self.flows[index].pump(|part| core.command(part));
            self.mark_unsent(index);
        }
        self.flow_wake_is_stale = true;
    }

    fn close(&mut self, sink: &mut dyn Sink) {
        let now = Instant::now();
        for index in 0..self.flows.len() {
            self.flows[index].log_out(now);
            self.mark_unsent(index);
        }
        self.flow_wake_is_stale = true;
        while self.flows.iter().any(|flow| flow.link.is_some()) && now.elapsed() < LOGOUT_WAIT {
            if self.turn(Some(Duration::from_millis(20)), sink).is_err() {
                break;
            }
        }
        for index in 0..self.flows.len() {
            self.lose(index, LinkEnd::Close(Close::Finished), sink);
        }
        self.core.end_waiting(LostReason::Closed, Instant::now(), sink);
        debug_assert_eq!(self.core.len(), 0, "every operation has ended");
        debug_assert!(self.flows().iter().all(|flow| flow.state != FlowState::Up));
    }
}
