//! The coordinator: seats workers on hosts, starts them together, merges their seconds, watches the
//! guards, and makes the result.
//!
//! [`run`] is the short way in for one workload on one datastore; [`Runner`] takes several targets, hosts
//! and stages. A run that a guard stopped is a result too: it holds what was measured until then.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use plimsoll_initiator::Datastore;

use crate::{
    Error, Result,
    collect::Sum,
    measure::{Event, Link, Seat, serve},
    result::{Figures, ResultSet, SCHEMA_VERSION, Second, Stage, Stopped, TargetResult},
    warnings,
    workload::{Guards, Load, Workload},
};

/// Between the word to start and the start: time for the word to reach every worker.
const START_DELAY: Duration = Duration::from_millis(30);
/// How often a wait is told of.
const TELL_EVERY: Duration = Duration::from_millis(200);
/// Beyond the planned time, how long to wait for workers that say nothing.
const SILENCE: Duration = Duration::from_secs(120);

/// A datastore to measure.
#[derive(Debug, Clone)]
pub struct Target {
    /// As it is opened; may hold a secret.
    pub url: String,
    /// As it is shown.
    pub shown: String,
}

impl Target {
    /// A target whose secret, if any, is never shown.
    #[must_use]
    pub fn new(url: &str) -> Self {
        let shown = plimsoll_initiator::Url::parse(url)
            .map_or_else(|_| url.to_owned(), |url| url.to_string());
        Self { url: url.to_owned(), shown }
    }
}

/// Something that runs workers: this process, or one in another namespace or machine.
pub trait Host: Sync {
    /// Its name in results.
    fn name(&self) -> &str;

    /// Runs these workers to their end; whatever they have to say goes to the link.
    fn serve(&self, seats: Vec<Seat>, link: &Link);
}

/// Opens a datastore for a worker, in the worker's own thread.
pub type Opener<'a> = dyn Fn(&Seat) -> Result<Box<dyn Datastore>> + Sync + 'a;

/// Threads of this process.
pub struct Local<'a> {
    open: &'a Opener<'a>,
}

impl<'a> Local<'a> {
    /// Workers open their datastores with `open`.
    #[must_use]
    pub fn new(open: &'a Opener<'a>) -> Self {
        Self { open }
    }
}

impl Host for Local<'_> {
    fn name(&self) -> &str {
        "local"
    }

    fn serve(&self, seats: Vec<Seat>, link: &Link) {
        std::thread::scope(|scope| {
            for seat in seats {
                let builder = std::thread::Builder::new().name(format!("probe-{}", seat.id));
                let id = seat.id;
                let open = self.open;
                let spawned =
                    builder.spawn_scoped(scope, move || serve(&seat, &|seat| open(seat), link));
                if let Err(error) = spawned {
                    link.tell(Event::Failed {
                        id,
                        error: format!("no thread for a worker: {error}"),
                    });
                }
            }
        });
    }
}

/// What goes on, for a live view.
#[derive(Debug, Clone)]
pub struct Progress {
    /// Name of the stage.
    pub stage: String,
    /// Number of the stage, from 0.
    pub stage_index: usize,
    /// Number of stages.
    pub stages: usize,
    /// What is being done.
    pub doing: Doing,
    /// Seconds of this stage gone, and planned.
    pub seconds: (f64, f64),
}

/// What is being done.
#[derive(Debug, Clone, PartialEq)]
pub enum Doing {
    /// Connecting.
    Opening,
    /// Writing working sets: bytes so far.
    Filling(u64),
    /// A second of the ramp or of the measurement.
    Measuring(Second),
}

/// Is told of progress; answers whether to go on.
pub type Observer<'a> = dyn FnMut(&Progress) -> bool + 'a;

/// Runs one workload on one datastore with threads of this process.
///
/// `open` is called once per worker, in its thread, with the number of the worker.
pub fn run(
    workload: &Workload,
    open: &(dyn Fn(u32) -> Result<Box<dyn Datastore>> + Sync),
) -> Result<ResultSet> {
    let open = |seat: &Seat| open(seat.worker);
    let host = Local::new(&open);
    let target = Target { url: "datastore".to_owned(), shown: "datastore".to_owned() };
    Runner::new(vec![&host], vec![target]).run(std::slice::from_ref(workload), &mut |_| true)
}

/// Runs stages on targets from hosts.
pub struct Runner<'a> {
    hosts: Vec<&'a dyn Host>,
    targets: Vec<Target>,
    /// Whether the client polls awake, so that its CPU time does not tell that it is the limit.
    pub spins: bool,
    /// Bytes and seconds of all stages together.
    pub budget: Budget,
}

/// What a whole run may use.
#[derive(Debug, Clone, Copy, Default)]
pub struct Budget {
    /// Bytes moved.
    pub bytes: Option<u64>,
    /// Seconds.
    pub seconds: Option<f64>,
}

struct StageRun {
    per_target: Vec<Sum>,
    whole: Sum,
    identities: Vec<(String, u64)>,
    stopped: Option<Stopped>,
    /// Bytes moved, ramps and fills included.
    bytes: u64,
}

impl<'a> Runner<'a> {
    /// All targets are loaded at once, from all hosts alike.
    #[must_use]
    pub fn new(hosts: Vec<&'a dyn Host>, targets: Vec<Target>) -> Self {
        Self { hosts, targets, spins: false, budget: Budget::default() }
    }

    /// Runs the stages one after the other.
    pub fn run(&self, stages: &[Workload], observer: &mut Observer<'_>) -> Result<ResultSet> {
        if self.targets.is_empty() || self.hosts.is_empty() || stages.is_empty() {
            return Err(Error::Run("nothing to run: no target, no host or no workload".to_owned()));
        }
        for workload in stages {
            workload.check_alone()?;
        }
        let began = Instant::now();
        let mut set = ResultSet {
            schema_version: SCHEMA_VERSION,
            tool: "plimsoll probe".to_owned(),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_unix_ms: unix_ms(),
            elapsed_seconds: 0.0,
            hosts: self.hosts.iter().map(|host| host.name().to_owned()).collect(),
            stages: Vec::new(),
            results: Vec::new(),
            total: Figures::default(),
            stopped: None,
            warnings: Vec::new(),
        };
        let mut bytes = 0;
        let mut all = Sum::default();
        for (index, workload) in stages.iter().enumerate() {
            let mut guarded = workload.clone();
            self.apply_budget(&mut guarded.guards, bytes, began.elapsed().as_secs_f64());
            let place = (index, stages.len());
            let run = self.stage(&guarded, place, observer)?;
            bytes += run.bytes;
            let stopped = run.stopped.clone();
            self.write_down(workload, run, &mut set, &mut all);
            if let Some(stopped) = stopped {
                set.stopped = Some(stopped);
                break;
            }
        }
        set.total = match set.stages.as_slice() {
            [only] => only.total.clone(),
            _ => all.figures(&stages[0].steady, false),
        };
        set.elapsed_seconds = began.elapsed().as_secs_f64();
        for result in &set.results {
            for warning in &result.warnings {
                set.warnings.push(format!("{warning} ({}, {})", result.url, result.stage));
            }
        }
        Ok(set)
    }

    fn apply_budget(&self, guards: &mut Guards, bytes: u64, seconds: f64) {
        if let Some(budget) = self.budget.bytes {
            let left = budget.saturating_sub(bytes).max(1);
            guards.max_bytes = Some(guards.max_bytes.map_or(left, |max| max.min(left)));
        }
        if let Some(budget) = self.budget.seconds {
            let left = (budget - seconds).max(0.01);
            guards.max_seconds = Some(guards.max_seconds.map_or(left, |max| max.min(left)));
        }
    }

    fn seats(&self, workload: &Workload) -> Vec<Vec<Seat>> {
        let run = unix_ms() << 16 | u64::from(std::process::id() & 0xffff);
        let per_host = workload.workers;
        let hosts = u32::try_from(self.hosts.len()).unwrap_or(1);
        let mut whole = workload.clone();
        whole.workers = per_host * hosts;
        let mut id = 0;
        let mut seats = Vec::new();
        for host in 0..hosts {
            let mut of_host = Vec::new();
            for (target, place) in self.targets.iter().enumerate() {
                for worker in 0..per_host {
                    of_host.push(Seat {
                        id,
                        target,
                        worker: host * per_host + worker,
                        url: place.shown.clone(),
                        workload: whole.clone(),
                        run,
                    });
                    id += 1;
                }
            }
            seats.push(of_host);
        }
        seats
    }

    fn stage(
        &self,
        workload: &Workload,
        place: (usize, usize),
        observer: &mut Observer<'_>,
    ) -> Result<StageRun> {
        let seats = self.seats(workload);
        let targets: Vec<usize> = seats.iter().flatten().map(|seat| seat.target).collect();
        let (events, inbox) = channel();
        let link = Link::new(events, workload.guards.max_bytes);
        std::thread::scope(|scope| {
            for (host, seats) in self.hosts.iter().zip(seats) {
                let link = &link;
                scope.spawn(move || host.serve(seats, link));
            }
            let watch = Watch {
                workload,
                place,
                link: &link,
                targets: &targets,
                observer,
                run: StageRun {
                    per_target: self.targets.iter().map(|_| Sum::default()).collect(),
                    whole: Sum::default(),
                    identities: vec![(String::new(), 0); self.targets.len()],
                    stopped: None,
                    bytes: 0,
                },
                alive: vec![0; self.targets.len()],
                slow_seconds: 0,
                stalled_seconds: 0.0,
            };
            let outcome = watch.attend(&inbox);
            // Whatever happened, nobody may wait on.
            link.stop();
            outcome
        })
    }

    fn write_down(&self, workload: &Workload, run: StageRun, set: &mut ResultSet, all: &mut Sum) {
        let is_open = matches!(workload.load, Load::Open { .. });
        let hosts = u32::try_from(self.hosts.len()).unwrap_or(1);
        let identities = run.identities;
        for ((target, sum), (identity, capacity_bytes)) in
            self.targets.iter().zip(run.per_target).zip(identities)
        {
            let figures = sum.figures(&workload.steady, is_open);
            let done = sum.ends.iter().map(|end| end.measured_seconds);
            let busiest = sum
                .ends
                .iter()
                .map(|end| end.cpu.total() / end.measured_seconds.max(1e-9))
                .fold(0.0, f64::max);
            let reads = sum.measured.read.ios;
            #[expect(clippy::cast_precision_loss, reason = "a share")]
            let empty_reads_pct = sum.measured.empty_reads as f64 / reads.max(1) as f64 * 100.0;
            let mut result = TargetResult {
                url: target.shown.clone(),
                stage: workload.name.clone(),
                identity,
                capacity_bytes,
                mode: if is_open { "open" } else { "closed" }.to_owned(),
                workers: workload.workers * hosts,
                figures,
                flows: sum.flows(),
                rate_iops: match workload.load {
                    Load::Open { iops, .. } => Some(iops),
                    Load::Closed => None,
                },
                backlog: sum.ends.iter().map(|end| end.backlog).sum(),
                unfinished: sum.ends.iter().map(|end| end.unfinished).sum(),
                first_done_seconds: done.clone().reduce(f64::min).unwrap_or(0.0),
                last_done_seconds: done.fold(0.0, f64::max),
                empty_reads_pct: empty_reads_pct.min(100.0),
                unstamped_bytes: sum.measured.unstamped_bytes,
                failure_examples: examples(sum.ends.iter().flat_map(|end| &end.failure_examples)),
                corrupt_examples: examples(sum.ends.iter().flat_map(|end| &end.corrupt_examples)),
                seconds: sum.seconds,
                warnings: Vec::new(),
            };
            result.warnings = warnings::find(&result, workload, busiest, self.spins);
            set.results.push(result);
        }
        let total = run.whole.figures(&workload.steady, is_open);
        all.absorb(&run.whole);
        set.stages.push(Stage {
            name: workload.name.clone(),
            workload: workload.clone(),
            total,
            seconds: run.whole.seconds,
        });
    }
}

fn examples<'e>(all: impl Iterator<Item = &'e String>) -> Vec<String> {
    all.take(5).cloned().collect()
}

fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Watches one stage.
struct Watch<'a, 'o> {
    workload: &'a Workload,
    place: (usize, usize),
    link: &'a Link,
    /// Target of each worker.
    targets: &'a [usize],
    observer: &'a mut Observer<'o>,
    run: StageRun,
    /// Workers per target that have not ended.
    alive: Vec<u32>,
    slow_seconds: u32,
    stalled_seconds: f64,
}

impl Watch<'_, '_> {
    fn attend(mut self, inbox: &Receiver<Event>) -> Result<StageRun> {
        let began = Instant::now();
        self.wait_for_all(inbox)?;
        if self.run.stopped.is_some() {
            self.link.gate.close();
            return Ok(self.run);
        }
        let start = Instant::now() + START_DELAY;
        self.link.gate.open(start);
        let planned = Duration::from_secs_f64(self.workload.planned_seconds());
        let mut left = self.targets.len();
        while left > 0 {
            match inbox.recv_timeout(Duration::from_millis(100)) {
                Ok(event) => left -= usize::from(self.take(event)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.check_budget(began);
            if start.elapsed() > planned + SILENCE {
                return Err(Error::Run(format!("{left} workers did not end")));
            }
        }
        self.run.per_target.iter_mut().for_each(Sum::flush);
        self.run.whole.flush();
        Ok(self.run)
    }

    /// Until every worker has opened its datastore, and filled its part if it is to.
    fn wait_for_all(&mut self, inbox: &Receiver<Event>) -> Result<()> {
        let began = Instant::now();
        let mut told = began;
        self.tell(Doing::Opening, 0.0);
        let mut filled = vec![0u64; self.targets.len()];
        let mut ready = 0;
        while ready < self.targets.len() {
            let event = inbox.recv_timeout(TELL_EVERY);
            if told.elapsed() >= TELL_EVERY {
                told = Instant::now();
                let bytes = filled.iter().sum();
                self.tell(if bytes > 0 { Doing::Filling(bytes) } else { Doing::Opening }, 0.0);
                self.check_budget(began);
            }
            if self.run.stopped.is_some() {
                break;
            }
            let event = match event {
                Ok(event) => event,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::Run("the workers went away".to_owned()));
                }
            };
            let target = self.target_of(&event);
            match event {
                Event::Ready { capacity_bytes, identity, .. } => {
                    ready += 1;
                    self.alive[target] += 1;
                    self.run.identities[target] = (identity, capacity_bytes);
                }
                Event::Filling { id, bytes } => {
                    if let Some(slot) = filled.get_mut(id) {
                        *slot = bytes;
                    }
                }
                Event::Failed { error, .. } => return Err(Error::Run(error)),
                Event::Second { .. } | Event::End { .. } => {}
            }
        }
        self.run.bytes += filled.iter().sum::<u64>();
        self.check_budget(began);
        Ok(())
    }

    fn target_of(&self, event: &Event) -> usize {
        self.targets.get(event.id()).copied().unwrap_or(0)
    }

    /// Takes an event; says whether its worker has ended with it.
    fn take(&mut self, event: Event) -> bool {
        let target = self.target_of(&event);
        match event {
            Event::Second { interval, .. } => {
                self.run.bytes += interval.bytes();
                let alive_here = self.alive[target];
                let alive = self.alive.iter().sum();
                let corrupt = interval.failures.corrupt;
                self.run.per_target[target].take(&interval, alive_here);
                let second = self.run.whole.take(&interval, alive);
                self.link.give_back(interval);
                if corrupt > 0 {
                    self.stop("integrity", format!("{corrupt} blocks came back wrong"));
                }
                if let Some(second) = second {
                    self.second(second);
                }
                false
            }
            Event::End { end, .. } => {
                self.alive[target] -= 1;
                self.run.per_target[target].ends.push((*end).clone());
                self.run.whole.ends.push(*end);
                true
            }
            Event::Failed { error, .. } => {
                self.alive[target] -= 1;
                self.stop("datastore", error);
                true
            }
            Event::Ready { .. } | Event::Filling { .. } => false,
        }
    }

    /// A second of all workers together is over.
    fn second(&mut self, second: Second) {
        self.tell(Doing::Measuring(second), f64::from(second.second) + second.seconds);
        let guards = self.workload.guards;
        let errors = self.run.whole.failures().total();
        if let Some(max) = guards.max_errors
            && errors > max
        {
            self.stop("errors", format!("{errors} I/Os failed, more than {max}"));
        }
        if let Some(max) = guards.max_latency_ms {
            #[expect(clippy::cast_precision_loss, reason = "a latency")]
            let p99_ms = second.latency_p99_ns as f64 / 1e6;
            self.slow_seconds = if p99_ms > max { self.slow_seconds + 1 } else { 0 };
            if self.slow_seconds >= guards.latency_seconds.max(1) {
                let count = self.slow_seconds;
                self.stop(
                    "latency",
                    format!("the 99th percentile was above {max} ms for {count} s, {p99_ms:.1} ms at last"),
                );
            }
        }
        let stalled = second.iops <= 0.0 && second.in_flight > 0.0;
        self.stalled_seconds = if stalled { self.stalled_seconds + second.seconds } else { 0.0 };
        if let Some(max) = guards.stall_seconds
            && self.stalled_seconds >= max
        {
            self.stop("stall", format!("nothing completed for {:.0} s", self.stalled_seconds));
        }
        self.end_when_steady();
    }

    fn end_when_steady(&self) {
        let rule = &self.workload.steady;
        if !rule.stop {
            return;
        }
        let series: Vec<f64> = self
            .run
            .whole
            .seconds
            .iter()
            .filter(|second| !second.ramp && second.seconds > 0.99)
            .map(|second| second.iops)
            .collect();
        if crate::measure::judge_steady(&series, rule).attained {
            self.link.stop();
        }
    }

    /// Bytes are counted where they are issued; time is counted from `start`.
    fn check_budget(&mut self, start: Instant) {
        let guards = self.workload.guards;
        if self.link.is_spent() {
            self.stop("bytes", format!("{} bytes were moved", guards.max_bytes.unwrap_or(0)));
        }
        if let Some(max) = guards.max_seconds
            && start.elapsed().as_secs_f64() > max
        {
            self.stop("time", format!("{max:.0} s were over"));
        }
    }

    fn stop(&mut self, guard: &str, what: String) {
        if self.run.stopped.is_none() {
            tracing::warn!(guard, what, "probe stopped");
            self.run.stopped = Some(Stopped { guard: guard.to_owned(), what });
        }
        self.link.stop();
    }

    fn tell(&mut self, doing: Doing, seconds: f64) {
        let progress = Progress {
            stage: self.workload.name.clone(),
            stage_index: self.place.0,
            stages: self.place.1,
            doing,
            seconds: (seconds, self.workload.planned_seconds()),
        };
        if !(self.observer)(&progress) {
            self.stop("cancelled", "cancelled by the user".to_owned());
        }
    }
}
