//! The thread of a remote volume: it owns the connection, orders operations, and tells how they ended.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use plimsoll_initiator::{
    Completion, Datastore, FlowState, Op, OpKind, Options, Outcome, Payload, Sink, Transport,
};
use plimsoll_storage::{RemoteChange, RemoteDone, RemoteOperation, StoreError};

use crate::engine::{Asked, Refuse, Shared};
use crate::order::{Order, Range};
use crate::settings::Opening;
use crate::{Connection, Return, Settings};

/// The longest wait between looks at the clock.
const TICK: Duration = Duration::from_millis(200);
/// The wait between attempts when none of the portals can be reached.
const RETRY_WAIT: Duration = Duration::from_millis(500);
/// How often a volume that has fallen back looks whether the preferred transport answers.
const HEALTH_EVERY: Duration = Duration::from_secs(1);

/// Blocks in which volumes are served.
const BLOCK_BYTES: u32 = 512;

/// What is done with the bytes of a read.
enum Then {
    /// They are what was asked for.
    Tell,
    /// They are changed and written.
    Change(RemoteChange),
}

/// An operation under way.
struct Running {
    number: u64,
    done: RemoteDone,
    bytes: u64,
    /// Filled by a read.
    data: Vec<u8>,
    offset: u64,
    then: Then,
}

pub(crate) struct Worker {
    shared: Arc<Shared>,
    settings: Settings,
    opening: Opening,
    refuse: Refuse,
    order: Order<Asked>,
    running: HashMap<u64, Running>,
    /// Ends that a poll has found.
    ended: Vec<Completion>,
    transport: Option<Transport>,
    /// Of the unit that was served first: no other takes its place.
    serial: Option<String>,
    next_look: Instant,
    /// The look at the preferred transport that is under way.
    health: Option<Receiver<bool>>,
    next_health: Instant,
    healthy_since: Option<Instant>,
}

/// Takes what a poll delivers.
struct Delivery<'a> {
    running: &'a mut HashMap<u64, Running>,
    ended: &'a mut Vec<Completion>,
}

impl Sink for Delivery<'_> {
    fn data(&mut self, tag: u64, at: u32, bytes: &[u8]) {
        let Some(running) = self.running.get_mut(&tag) else { return };
        let at = at as usize;
        if let Some(place) = running.data.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    fn done(&mut self, completion: Completion) {
        self.ended.push(completion);
    }
}

impl Worker {
    pub fn new(shared: Arc<Shared>, settings: Settings, opening: Opening, refuse: Refuse) -> Self {
        Self {
            shared,
            settings,
            opening,
            refuse,
            order: Order::new(),
            running: HashMap::new(),
            ended: Vec::new(),
            transport: None,
            serial: None,
            next_look: Instant::now(),
            health: None,
            next_health: Instant::now(),
            healthy_since: None,
        }
    }

    pub fn run(mut self) {
        while !self.shared.lock().stop {
            match plimsoll_initiator::open(&self.opening.url, &self.opening.options) {
                Ok(datastore) => match self.objection(&*datastore) {
                    None => self.serve(datastore),
                    Some(reason) => {
                        self.tell(Connection::Refused, &reason);
                        self.fail_all(io::ErrorKind::Unsupported);
                        self.pause(Duration::from_secs(10));
                    }
                },
                Err(error) => {
                    self.tell(Connection::None, &error.to_string());
                    self.pause(RETRY_WAIT);
                }
            }
        }
        self.fail_all(io::ErrorKind::ConnectionAborted);
    }

    /// Why a unit that answers is not served.
    fn objection(&mut self, datastore: &dyn Datastore) -> Option<String> {
        let serial = datastore.identity();
        if let Some(reason) = (self.refuse)(serial, &datastore.model()) {
            return Some(reason);
        }
        let block_bytes = datastore.block_bytes();
        if block_bytes != BLOCK_BYTES {
            return Some(format!(
                "its blocks have {block_bytes} bytes, and volumes are served in blocks of {BLOCK_BYTES}; use a unit with such blocks"
            ));
        }
        let known = self.serial.get_or_insert_with(|| serial.to_owned());
        (known != serial).then(|| {
            format!(
                "unit {serial} answers instead of {known}; restart this target if that is meant"
            )
        })
    }

    /// Without a connection: operations wait, as long as their patience lasts.
    fn pause(&mut self, wait: Duration) {
        let deadline = Instant::now() + wait;
        let patience = self.settings.patience;
        let is_late = |asked: &Asked, now: Instant| now.duration_since(asked.since) > patience;
        let mut late = self.order.take_waiting(|asked| is_late(asked, Instant::now()));
        let mut inbox = self.shared.lock();
        loop {
            let now = Instant::now();
            late.extend(inbox.asked.extract_if(.., |asked| is_late(asked, now)));
            let left = deadline.saturating_duration_since(now);
            if left.is_zero() || inbox.stop || std::mem::take(&mut inbox.reconnect) {
                break;
            }
            let waited = self.shared.changed.wait_timeout(inbox, left);
            inbox = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(inbox);
        for asked in late {
            self.fail(asked, io::ErrorKind::TimedOut);
        }
    }

    /// With a connection: as long as it is of use.
    fn serve(&mut self, mut datastore: Box<dyn Datastore>) {
        self.shared.lock().waker = datastore.waker();
        let mut told = None;
        let result = loop {
            self.take();
            if self.shared.lock().stop {
                break Ok(());
            }
            self.look(&mut *datastore, &mut told);
            self.begin(&mut *datastore);
            let mut delivery = Delivery { running: &mut self.running, ended: &mut self.ended };
            if let Err(error) = datastore.poll(Some(TICK), &mut delivery) {
                break Err(error);
            }
            for completion in std::mem::take(&mut self.ended) {
                self.ended(&mut *datastore, completion);
            }
        };
        self.shared.lock().waker = None;
        let mut delivery = Delivery { running: &mut self.running, ended: &mut self.ended };
        datastore.close(&mut delivery);
        for completion in std::mem::take(&mut self.ended) {
            self.ended(&mut *datastore, completion);
        }
        if let Err(error) = result {
            self.tell(Connection::None, &error.to_string());
        }
    }

    /// What was asked for since the last turn.
    fn take(&mut self) {
        let asked = std::mem::take(&mut self.shared.lock().asked);
        for asked in asked {
            let range = match &asked.operation {
                RemoteOperation::Read { offset, len } => {
                    Range { offset: *offset, len: (*len).into(), reads: true }
                }
                RemoteOperation::Write { offset, data } => {
                    Range { offset: *offset, len: data.len() as u64, reads: false }
                }
                RemoteOperation::Change { offset, len, .. } => {
                    Range { offset: *offset, len: (*len).into(), reads: false }
                }
                // Covers what is complete; what is under way is its asker's affair.
                RemoteOperation::Flush => Range { offset: 0, len: 0, reads: true },
            };
            self.order.push(range, asked);
        }
    }

    /// Begins what may begin.
    fn begin(&mut self, datastore: &mut dyn Datastore) {
        while datastore.can_submit()
            && let Some((number, asked)) = self.order.begin()
        {
            let Asked { operation, done, bytes, .. } = asked;
            let (kind, offset, len, payload, then) = match operation {
                RemoteOperation::Read { offset, len } => {
                    (OpKind::Read, offset, len, None, Then::Tell)
                }
                RemoteOperation::Write { offset, data } => {
                    (OpKind::Write, offset, data.len() as u32, Some(data), Then::Tell)
                }
                RemoteOperation::Change { offset, len, change } => {
                    (OpKind::Read, offset, len, None, Then::Change(change))
                }
                RemoteOperation::Flush => (OpKind::Flush, 0, 0, None, Then::Tell),
            };
            let data = if kind == OpKind::Read { vec![0; len as usize] } else { Vec::new() };
            let running = Running { number, done, bytes, data, offset, then };
            self.submit(datastore, running, Op { tag: number, kind, offset, len }, payload);
        }
    }

    fn submit(
        &mut self,
        datastore: &mut dyn Datastore,
        running: Running,
        op: Op,
        payload: Option<Payload>,
    ) {
        self.running.insert(op.tag, running);
        if let Err(error) = datastore.submit(&op, payload) {
            tracing::warn!(url = self.settings.url, %error, "an operation was not taken");
            if let Some(running) = self.running.remove(&op.tag) {
                self.finish(running, Err(failed(io::ErrorKind::InvalidInput)));
            }
        }
    }

    /// An operation has ended at the remote target.
    fn ended(&mut self, datastore: &mut dyn Datastore, completion: Completion) {
        let Some(mut running) = self.running.remove(&completion.tag) else { return };
        if let Some(error) = error_of(completion.outcome) {
            return self.finish(running, Err(error));
        }
        match std::mem::replace(&mut running.then, Then::Tell) {
            Then::Tell => {
                let data = std::mem::take(&mut running.data);
                self.finish(running, Ok(data));
            }
            Then::Change(change) => match change(&running.data) {
                None => self.finish(running, Ok(Vec::new())),
                Some(new) => {
                    running.data = Vec::new();
                    let op = Op {
                        tag: running.number,
                        kind: OpKind::Write,
                        offset: running.offset,
                        len: new.len() as u32,
                    };
                    self.submit(datastore, running, op, Some(Payload::from_vec(new)));
                }
            },
        }
    }

    fn finish(&mut self, running: Running, result: Result<Vec<u8>, StoreError>) {
        self.order.end(running.number);
        {
            let mut inbox = self.shared.lock();
            inbox.operations -= 1;
            inbox.bytes -= running.bytes;
            inbox.status.failed += u64::from(result.is_err());
        }
        (running.done)(result);
    }

    fn fail(&self, asked: Asked, kind: io::ErrorKind) {
        {
            let mut inbox = self.shared.lock();
            inbox.operations -= 1;
            inbox.bytes -= asked.bytes;
            inbox.status.failed += 1;
        }
        (asked.done)(Err(failed(kind)));
    }

    fn fail_all(&mut self, kind: io::ErrorKind) {
        self.take();
        for asked in self.order.take_waiting(|_| true) {
            self.fail(asked, kind);
        }
        let running: Vec<_> = self.running.drain().map(|(_, running)| running).collect();
        for running in running {
            self.finish(running, Err(failed(kind)));
        }
    }

    /// Size, transport, what was asked of the connection, and whether to go back.
    fn look(&mut self, datastore: &mut dyn Datastore, told: &mut Option<(FlowState, Transport)>) {
        let now = Instant::now();
        if std::mem::take(&mut self.shared.lock().reconnect) {
            datastore.reconnect();
        }
        let size = datastore.capacity_bytes();
        if size != self.shared.size.swap(size, Ordering::AcqRel) {
            self.shared.changed.notify_all();
        }
        if now < self.next_look {
            return;
        }
        self.next_look = now + TICK / 2;
        let flows = datastore.flows();
        let Some(flow) = flows.first() else { return };
        {
            let mut inbox = self.shared.lock();
            inbox.status.reconnects = flow.reconnects;
            inbox.status.reissued = flow.reissued;
        }
        let state = (flow.state, flow.transport);
        if *told != Some(state) {
            *told = Some(state);
            match flow.state {
                FlowState::Up => self.connected(flow.transport),
                _ => {
                    let reason = flow.last_end.as_deref().unwrap_or("connecting");
                    self.tell(Connection::None, reason);
                }
            }
        }
        let fallen_back =
            flow.state == FlowState::Up && flow.transport != self.settings.preferred();
        if let (true, Return::WhenHealthy(time)) = (fallen_back, self.settings.back) {
            self.check_health(datastore, time, now);
        } else {
            self.healthy_since = None;
        }
    }

    /// Whether the preferred transport answers, long enough to go back. A discovery is asked for by a thread of its
    /// own, so that nothing under way waits for it.
    fn check_health(&mut self, datastore: &mut dyn Datastore, time: Duration, now: Instant) {
        let Some(answer) = &self.health else {
            if now >= self.next_health {
                self.next_health = now + HEALTH_EVERY;
                self.health = self.ask_health();
            }
            return;
        };
        let healthy = match answer.try_recv() {
            Err(TryRecvError::Empty) => return,
            other => other.unwrap_or(false),
        };
        self.health = None;
        if !healthy {
            self.healthy_since = None;
        } else if now.duration_since(*self.healthy_since.get_or_insert(now)) >= time {
            self.healthy_since = None;
            datastore.reconnect();
        }
    }

    fn ask_health(&self) -> Option<Receiver<bool>> {
        let Opening { host, port, options, .. } = &self.opening;
        let (host, port, transport) = (host.clone(), *port, self.settings.preferred());
        let options = Options { fallback: Vec::new(), ..options.clone() };
        let (tell, told) = mpsc::sync_channel(1);
        let ask = move || {
            let answer = plimsoll_initiator::iscsi::discover(transport, &host, port, &options);
            let _ = tell.send(answer.is_ok());
        };
        std::thread::Builder::new().name("remote-health".to_owned()).spawn(ask).ok()?;
        Some(told)
    }

    fn connected(&mut self, transport: Transport) {
        let connection = match transport {
            Transport::Iser => Connection::Iser,
            Transport::Tcp => Connection::Tcp,
        };
        let preferred = transport == self.settings.preferred();
        let reason = if preferred {
            "the preferred transport".to_owned()
        } else {
            let before = self.shared.lock().status.reason.clone();
            format!("the preferred transport could not be had: {before}")
        };
        if self.transport.is_some_and(|before| before != transport) {
            self.shared.lock().status.switches += 1;
        }
        self.transport = Some(transport);
        self.tell(connection, &reason);
    }

    fn tell(&self, connection: Connection, reason: &str) {
        let mut inbox = self.shared.lock();
        if inbox.status.connection != connection || inbox.status.reason != reason {
            let url = &inbox.status.url;
            tracing::info!(url, ?connection, reason, "remote volume");
            if inbox.status.connection != connection {
                inbox.since = Some(Instant::now());
            }
            inbox.status.connection = connection;
            reason.clone_into(&mut inbox.status.reason);
        }
        self.shared.changed.notify_all();
    }
}

fn failed(kind: io::ErrorKind) -> StoreError {
    StoreError::Io { operation: "the remote volume", kind }
}

/// What an outcome at the remote target means here; none when the operation is done.
fn error_of(outcome: Outcome) -> Option<StoreError> {
    let kind = match outcome {
        Outcome::Done => return None,
        Outcome::Busy | Outcome::TaskSetFull | Outcome::UnitAttention(..) => {
            return Some(StoreError::Busy);
        }
        Outcome::ReservationConflict => io::ErrorKind::PermissionDenied,
        // SBC-4 4.7.3.6: the remote pool is full.
        Outcome::CheckCondition(sense) if (sense.key, sense.asc) == (0x07, 0x27) => {
            io::ErrorKind::StorageFull
        }
        Outcome::Lost(_) => io::ErrorKind::TimedOut,
        _ => io::ErrorKind::Other,
    };
    Some(failed(kind))
}
