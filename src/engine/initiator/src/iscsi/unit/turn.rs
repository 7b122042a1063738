//! One turn of a unit: send, wait, receive, and what is due by the clock.

use std::time::{Duration, Instant};

use mio::Token;

use super::super::core::{Core, Turn};
use super::super::flow::Flow;
use super::super::session::Part;
use super::Unit;
use crate::spin::Spin;
use crate::{Error, LostReason, Sink, tcp};

/// Answers are gathered before waking when they come fast one by one (see [`Flow::keep_pace`]), and so many are
/// due ...
const COALESCE_TASKS: usize = 16;
/// ... up to this share of the bytes that are due, and this many ...
const COALESCE_SHARE: u64 = 3;
const COALESCE_BYTES: u64 = 96 << 10;
/// ... and for no longer than this.
const COALESCE_WAIT: Duration = Duration::from_micros(300);

/// The token of the unit's waker, beyond every flow.
pub(super) const WAKER: Token = Token(usize::MAX);

impl Unit {
    /// Sends what was submitted, in one go per flow.
    #[inline]
    fn flush(&mut self, sink: &mut dyn Sink) -> usize {
        let mut completed = 0;
        let mut lost_one = false;
        let mut unsent = std::mem::replace(&mut self.unsent, std::mem::take(&mut self.spare));
        for index in unsent.drain(..) {
            self.set_low_water(index);
            let flow = &mut self.flows[index];
            flow.is_unsent = false;
            let Some(link) = &mut flow.link else { continue };
            match link.flush() {
                // The socket may be full: then once more in the next turn.
                Ok(()) if link.has_unsent() => self.mark_unsent(index),
                Ok(()) => {}
                Err(end) => {
                    completed += self.lose(index, end, sink);
                    lost_one = true;
                }
            }
        }
        self.spare = unsent;
        if lost_one {
            // What it carried went to others, which may have had their turn.
            completed += self.flush(sink);
        }
        completed
    }

    /// Sends, waits at most `wait`, receives. Returns the number of completions.
    pub(super) fn turn(
        &mut self,
        wait: Option<Duration>,
        sink: &mut dyn Sink,
    ) -> Result<usize, Error> {
        let deadline = match wait {
            Some(wait) if !wait.is_zero() => Instant::now().checked_add(wait),
            _ => None,
        };
        let mut completed = 0;
        self.submit_clock = None;
        loop {
            completed += self.flush(sink);
            let at_hand =
                completed > 0 || !self.ready.is_empty() || self.spin(sink, &mut completed);
            // What is at hand needs no look around, but of several flows each must get its turn.
            if (!at_hand || self.flows.len() > 1) && !self.wait(at_hand, wait, deadline)? {
                return Ok(self.housekeeping(sink));
            }
            completed += self.receive_ready(sink);
            if std::mem::take(&mut self.is_woken) {
                return Ok(completed + self.housekeeping(sink));
            }
            if completed > 0 {
                if Instant::now() >= self.tick_at {
                    completed += self.housekeeping(sink);
                }
                return Ok(completed);
            }
            completed += self.housekeeping(sink);
            if completed > 0 || wait.is_some_and(|wait| wait.is_zero()) {
                return Ok(completed);
            }
        }
    }

    /// Waits for events, or only looks with something `at_hand`; false when the caller's time is over.
    fn wait(
        &mut self,
        at_hand: bool,
        wait: Option<Duration>,
        deadline: Option<Instant>,
    ) -> Result<bool, Error> {
        let gathering = self.gathering > 0;
        let timeout = if at_hand || wait.is_some_and(|wait| wait.is_zero()) {
            Duration::ZERO
        } else {
            let Some(sleep) = self.sleep(deadline) else { return Ok(false) };
            if gathering { sleep.min(COALESCE_WAIT) } else { sleep }
        };
        tcp::poll(&mut self.poll, &mut self.events, Some(timeout))
            .map_err(|source| Error::Io { what: "epoll", source })?;
        if gathering && self.events.is_empty() {
            self.take_what_is_there();
        }
        for event in &self.events {
            self.is_woken |= event.token() == WAKER;
            let index = event.token().0;
            let Some(flow) = self.flows.get_mut(index) else { continue };
            let Some(link) = &mut flow.link else { continue };
            link.on_readiness(event);
            if link.is_readable() && !std::mem::replace(&mut flow.is_ready, true) {
                self.ready.push(index);
            }
        }
        Ok(true)
    }

    /// One receive of every flow that has something.
    #[inline]
    fn receive_ready(&mut self, sink: &mut dyn Sink) -> usize {
        let mut completed = 0;
        let mut ready = std::mem::replace(&mut self.ready, std::mem::take(&mut self.spare));
        for index in ready.drain(..) {
            self.flows[index].is_ready = false;
            completed += self.receive(index, sink);
        }
        self.spare = ready;
        completed
    }

    /// Sets how many bytes wake a flow.
    ///
    /// A target that sends every answer by itself would wake this side for each, and each wake-up costs more
    /// than the answer; a few answers at a time halve that. It is done only while answers come fast, so that
    /// what it adds to a latency is small against the latency of so deep a queue. A target that sends many
    /// answers at once needs none of it. Measured with tgt at 32 x 8 KiB, 58,000 IOPS either way: 9.3 us of this
    /// side's time per operation without, 5.9, 4.5, 3.8 and 3.1 us with an eighth, quarter, third and half due.
    #[inline]
    fn set_low_water(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let one_by_one = flow.comes_one_by_one();
        let gathers = one_by_one && self.options.coalesce;
        if !gathers && !flow.gathers {
            return;
        }
        let Some(link) = &mut flow.link else { return };
        let due = link.session().map_or((0, 0), |(session, _)| session.due());
        link.set_low_water(match due {
            (tasks, bytes) if gathers && tasks >= COALESCE_TASKS => {
                (bytes / COALESCE_SHARE).clamp(1, COALESCE_BYTES) as u32
            }
            _ => 1,
        });
        match (std::mem::replace(&mut flow.gathers, link.coalesces()), flow.gathers) {
            (false, true) => self.gathering += 1,
            (true, false) => self.gathering -= 1,
            _ => {}
        }
    }

    /// Gathering has taken long enough.
    #[cold]
    fn take_what_is_there(&mut self) {
        for (index, flow) in self.flows.iter_mut().enumerate() {
            if flow.gathers && !std::mem::replace(&mut flow.is_ready, true) {
                self.ready.push(index);
            }
        }
    }

    /// How long to sleep; `None` when the caller's time is over.
    fn sleep(&mut self, deadline: Option<Instant>) -> Option<Duration> {
        let now = Instant::now();
        if deadline.is_some_and(|deadline| deadline <= now) {
            return None;
        }
        let timers = [self.flow_wake(), self.core.next_release(), deadline];
        let wake = timers.into_iter().flatten().fold(self.tick_at, Instant::min);
        Some(tcp::until(wake, now))
    }

    /// The first time at which a flow wants to be looked at.
    #[inline]
    fn flow_wake(&mut self) -> Option<Instant> {
        if std::mem::replace(&mut self.flow_wake_is_stale, false) {
            self.flow_wake = self.flows.iter().filter_map(Flow::wake_at).min();
        }
        self.flow_wake
    }

    /// Busy-polls; true when something came.
    #[inline]
    fn spin(&mut self, sink: &mut dyn Sink, completed: &mut usize) -> bool {
        if !self.spin.is_worth(self.core.len()) {
            return false;
        }
        let mut spin = std::mem::replace(&mut self.spin, Spin::new(Duration::ZERO));
        let found = spin.run(|| {
            for index in 0..self.flows.len() {
                if self.core.selector.in_flight(index) > 0 {
                    *completed += self.receive(index, sink);
                }
            }
            *completed > 0
        });
        self.spin = spin;
        found
    }

    /// One receive of a flow and what follows from it.
    #[inline]
    fn receive(&mut self, index: usize, sink: &mut dyn Sink) -> usize {
        let flow = &mut self.flows[index];
        let Some(link) = &mut flow.link else { return 0 };
        let mut turn = Turn { core: &mut self.core, sink, flow: index, clock: None, completed: 0 };
        let result = link.receive(&mut self.scratch, &mut turn);
        let (mut completed, clock) = (turn.completed, turn.clock);
        if let Err(end) = result {
            return completed + self.lose(index, end, sink);
        }
        let session = link.session();
        let has_events = session.is_some_and(|(session, _)| session.has_events());
        if let Some(now) = clock {
            flow.keep_pace(now, completed, self.core.selector.in_flight(index));
        }
        if !flow.up || has_events {
            completed += self.on_events(index, clock, sink);
        }
        if !self.core.redo.is_empty() || !self.core.full.is_empty() || !self.core.changed.is_empty()
        {
            self.on_conditions();
        }
        let core = &self.core;
        self.flows[index].pump(|part| core.command(part));
        self.set_low_water(index);
        let flow = &mut self.flows[index];
        let Some(link) = &flow.link else { return completed };
        if link.is_readable() && !std::mem::replace(&mut flow.is_ready, true) {
            self.ready.push(index);
        }
        if link.has_unsent() {
            self.mark_unsent(index);
        }
        completed
    }

    /// What is due: reconnects, ends of back-offs, and every tick late tasks and silence.
    fn housekeeping(&mut self, sink: &mut dyn Sink) -> usize {
        let now = Instant::now();
        let mut completed = 0;
        if self.flow_wake().is_some_and(|at| at <= now) {
            self.flow_wake_is_stale = true;
            for index in 0..self.flows.len() {
                if let Err(end) = self.flows[index].on_time(self.poll.registry(), now) {
                    completed += self.lose(index, end, sink);
                }
            }
        }
        if self.core.next_release().is_some_and(|at| at <= now) {
            self.core.release_delayed(now);
            self.dispatch_redo();
        }
        if now >= self.tick_at {
            self.tick_at = now + self.tick;
            completed += self.on_tick(now, sink);
        }
        completed
    }

    fn on_tick(&mut self, now: Instant, sink: &mut dyn Sink) -> usize {
        let mut completed = 0;
        for index in 0..self.flows.len() {
            if self.pathless_since.is_some() {
                self.flows[index].want_refresh();
            }
            if let Err(end) = self.flows[index].on_tick(now) {
                completed += self.lose(index, end, sink);
                continue;
            }
            completed += self.end_late_queued(index, now, sink);
            let core = &self.core;
            self.flows[index].pump(|part| core.command(part));
            self.mark_unsent(index);
        }
        if self
            .pathless_since
            .is_some_and(|since| now.saturating_duration_since(since) >= self.options.path_timeout)
        {
            completed += self.core.end_stranded(LostReason::NoPath, now, sink);
        }
        completed
    }

    /// Ends what waits for a flow's window for longer than an operation may take.
    fn end_late_queued(&mut self, index: usize, now: Instant, sink: &mut dyn Sink) -> usize {
        let core = &mut self.core;
        let mut completed = 0;
        let late = |core: &Core, part: &Part| {
            now.saturating_duration_since(core.issued(*part)) >= core.op_timeout
        };
        let queue = &mut self.flows[index].queue;
        while let Some(part) = queue.pop_front_if(|part| late(core, part)) {
            completed += core.end_queued(part, index, LostReason::Timeout, now, sink);
        }
        completed
    }
}
