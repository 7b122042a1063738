//! One end of a soft connection as its user sees it.

use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::sync::{Arc, PoisonError};

use super::super::{
    COMPLETIONS_A_POLL, Completion, ConnectionEvent, Counters, Domain, Endpoint, Establish, Limits,
    PRIVATE_DATA_ACCEPT_MAX, PRIVATE_DATA_CONNECT_MAX, Polled, Queues, RdmaError, Segment, Status,
    Work,
};
use super::pair::{Batch, Ended, Kind, Pair, Posted, SEGMENTS_MAX, Side, State};
use super::{BY_CONSUMER, NOBODY_LISTENS, Waiting, refuse};

pub(super) struct SoftEndpoint {
    pair: Arc<Pair>,
    side: Side,
    domain: Arc<Domain>,
    queues: Queues,
    limits: Limits,
    /// Whom a connecting end asks.
    listener: Option<Arc<Waiting>>,
    batch: Batch,
    /// Entries of the two queues that are taken until a completion frees them.
    sends_taken: u32,
    receives_taken: u32,
    counters: Counters,
}

impl SoftEndpoint {
    pub fn new(
        pair: Arc<Pair>,
        side: Side,
        domain: Arc<Domain>,
        queues: Queues,
        listener: Option<Arc<Waiting>>,
    ) -> Self {
        let limits = {
            let faults = &pair.lock().faults;
            Limits {
                segments: faults.segments.min(queues.segments).min(SEGMENTS_MAX),
                reads_outstanding: faults.reads,
                reads_answered: faults.reads,
                message_bytes: 1 << 30,
            }
        };
        let (batch, counters) = (Batch::default(), Counters::default());
        let (sends_taken, receives_taken) = (0, 0);
        Self {
            pair,
            side,
            domain,
            queues,
            limits,
            listener,
            batch,
            sends_taken,
            receives_taken,
            counters,
        }
    }

    fn check(&self, segments: &[Segment]) -> Result<(), RdmaError> {
        if segments.len() > self.limits.segments as usize {
            return Err(RdmaError::BadWork("more segments than the adapter takes"));
        }
        let total: u64 = segments.iter().map(|segment| u64::from(segment.len)).sum();
        if total > u64::from(self.limits.message_bytes) {
            return Err(RdmaError::BadWork("longer than the adapter takes"));
        }
        Ok(())
    }

    /// What `side` hears of its peer's terms.
    fn terms_for(state: &State, side: Side, limits: Limits) -> Establish {
        let mut terms = state.ends[1 - side].terms.clone().unwrap_or_default();
        terms.initiator_depth = terms.initiator_depth.min(limits.reads_answered);
        terms.responder_resources = terms.responder_resources.min(limits.reads_outstanding);
        if side == 0 && terms.private_data.len() < state.faults.padded_to {
            terms.private_data.resize(state.faults.padded_to, 0);
        }
        terms
    }

    /// A connecting end asks its listener.
    fn ask(&mut self, state: &mut State) {
        if let Some(waiting) = self.listener.take() {
            let mut queue = waiting.queue.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(queue) = &mut *queue {
                queue.push_back(Arc::clone(&self.pair));
                waiting.signal.raise();
                return;
            }
        }
        let (reason, private_data) = (NOBODY_LISTENS, Vec::new());
        state.ends[0].events.push_back(ConnectionEvent::Rejected { reason, private_data });
    }

    fn take_event(&self, state: &mut State) -> Option<ConnectionEvent> {
        let end = &mut state.ends[self.side];
        let pending = !end.received.is_empty() || !end.sent.is_empty();
        match end.events.front() {
            _ if end.holding => None,
            // What broke a connection is told after the completions that it left.
            Some(ConnectionEvent::Disconnected) if pending => None,
            _ => end.events.pop_front(),
        }
    }

    /// Takes completions in an order that an adapter could give them.
    fn take(&mut self, state: &mut State, completions: &mut Vec<Completion>) {
        let reorder = state.faults.reorder.is_some();
        let most = if reorder { 1 + state.shuffle.below(4) as usize } else { COMPLETIONS_A_POLL };
        let State { ends, shuffle, .. } = state;
        let end = &mut ends[self.side];
        for _ in 0..most {
            let receive_first = match (end.received.front(), end.sent.front()) {
                (None, None) => return,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (Some(received), Some(sent)) if !reorder => received.at < sent.at,
                (Some(_), Some(_)) => shuffle.below(2) == 0,
            };
            let queue = if receive_first { &mut end.received } else { &mut end.sent };
            let Some(Ended { completion, frees, .. }) = queue.pop_front() else { return };
            if receive_first {
                self.receives_taken = self.receives_taken.saturating_sub(frees);
                self.counters.receives += u64::from(completion.status == Status::Success);
            } else {
                self.sends_taken = self.sends_taken.saturating_sub(frees);
                self.counters.send_completions += 1;
            }
            completions.push(completion);
        }
    }
}

impl Endpoint for SoftEndpoint {
    fn descriptor(&self) -> RawFd {
        self.pair.signals[self.side].descriptor()
    }

    fn peer(&self) -> SocketAddr {
        self.pair.addresses[1 - self.side]
    }

    fn local(&self) -> Option<SocketAddr> {
        Some(self.pair.addresses[self.side])
    }

    fn domain(&self) -> Result<Arc<Domain>, RdmaError> {
        Ok(Arc::clone(&self.domain))
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn establish(&mut self, terms: &Establish) -> Result<(), RdmaError> {
        let most = if self.side == 0 { PRIVATE_DATA_CONNECT_MAX } else { PRIVATE_DATA_ACCEPT_MAX };
        if terms.private_data.len() > most {
            return Err(RdmaError::BadWork("more private data than fits"));
        }
        self.flush()?;
        let pair = Arc::clone(&self.pair);
        let mut state = pair.lock();
        if state.ends[self.side].terms.is_some() {
            return Err(RdmaError::State("established, or about to be"));
        }
        state.ends[self.side].terms = Some(terms.clone());
        if self.side == 0 {
            self.ask(&mut state);
        } else if state.ends[0].gone || state.broken {
            state.break_down();
        } else {
            state.established = true;
            let end = Self::terms_for(&state, 0, self.limits);
            state.ends[0].events.push_back(ConnectionEvent::Established(end));
        }
        pair.tell(&mut state);
        Ok(())
    }

    fn post_receive(&mut self, id: u64, into: Segment) -> Result<(), RdmaError> {
        if self.receives_taken == self.queues.receives {
            return Err(RdmaError::QueueFull { queue: "receive", depth: self.queues.receives });
        }
        self.receives_taken += 1;
        self.batch.receives.push((id, into));
        Ok(())
    }

    fn post(&mut self, work: &Work<'_>) -> Result<(), RdmaError> {
        let (id, kind, segments, signal) = match *work {
            Work::Send { id, segments, invalidate, signal } => {
                (id, Kind::Send { invalidate }, segments, signal)
            }
            Work::Write { id, segments, remote, signal } => {
                (id, Kind::Write(remote), segments, signal)
            }
            Work::Read { id, segments, remote } => (id, Kind::Read(remote), segments, true),
        };
        self.check(segments)?;
        if self.sends_taken == self.queues.sends {
            return Err(RdmaError::QueueFull { queue: "send", depth: self.queues.sends });
        }
        self.sends_taken += 1;
        match kind {
            Kind::Send { .. } => self.counters.sends += 1,
            Kind::Write(_) => self.counters.writes += 1,
            Kind::Read(_) => self.counters.reads += 1,
        }
        self.counters.signalled += u64::from(signal);
        self.batch.works.push_back(Posted { id, kind, signal, segments: segments.len() as u32 });
        self.batch.segments.extend(segments);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), RdmaError> {
        if self.batch.works.is_empty() && self.batch.receives.is_empty() {
            return Ok(());
        }
        let mut state = self.pair.lock();
        if !self.batch.works.is_empty() {
            if !state.established && !state.broken {
                return Err(RdmaError::State("not established"));
            }
            self.counters.doorbells += 1;
        }
        self.pair.run(&mut state, self.side, &mut self.batch);
        self.pair.tell(&mut state);
        Ok(())
    }

    fn poll(&mut self, completions: &mut Vec<Completion>) -> Result<Polled, RdmaError> {
        let pair = Arc::clone(&self.pair);
        let mut state = pair.lock();
        if state.faults.delay {
            pair.progress(&mut state, [self.side, 1 - self.side]);
        }
        if std::mem::take(&mut state.ends[self.side].raised) {
            self.pair.signals[self.side].lower();
            self.counters.wake_ups += 1;
        }
        self.take(&mut state, completions);
        let event = self.take_event(&mut state);
        if self.side == 0 && matches!(event, Some(ConnectionEvent::Established(_))) && !state.broken
        {
            // The accepting end hears of it when the connecting one is ready to use.
            let terms = Self::terms_for(&state, 1, self.limits);
            let late = state.faults.late_established;
            let peer = &mut state.ends[1];
            peer.holding = late && !peer.heard;
            peer.events.push_back(ConnectionEvent::Established(terms));
        }
        let end = &mut state.ends[self.side];
        let again = end.has_something();
        end.armed = !again;
        self.pair.tell(&mut state);
        Ok(Polled { event, again })
    }

    fn disconnect(&mut self) {
        let mut state = self.pair.lock();
        state.break_down();
        self.pair.tell(&mut state);
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

impl Drop for SoftEndpoint {
    fn drop(&mut self) {
        let mut state = self.pair.lock();
        state.ends[self.side].gone = true;
        if self.side == 1 && state.ends[1].terms.is_none() {
            drop(state);
            return refuse(&self.pair, BY_CONSUMER, &[]);
        }
        // Nothing runs on a broken connection, so nothing of this end is reached any more.
        state.break_down();
        self.pair.tell(&mut state);
    }
}
