//! The I/O threads: each polls its own connections; the first also accepts.
//!
//! A connection is given to the thread with the fewest and stays there. A turn receives at most one buffer
//! of one connection, so that none starves the others. Threads block in epoll unless a spin is asked for.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::event::{Event, Source};
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token, Waker};
use slab::Slab;

use crate::rdma::serve::RdmaDoor;
use crate::rdma::{Listener, RdmaService};
use crate::slot::{Ready, Slot, Turn, TypedSlot};
use crate::{Close, RECEIVE_BUFFER_BYTES, Remote, Service, Stream};

const WAKER: Token = Token(usize::MAX);
/// Tokens of doors begin here; below are connections by slot.
const DOORS: usize = usize::MAX / 2;
/// Events taken from the kernel in one call.
const EVENTS_A_CALL: usize = 256;
/// How long accepting pauses when the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What other threads leave for a loop.
pub(crate) struct Mailbox {
    letters: Mutex<Vec<Letter>>,
    waker: Waker,
    connections: AtomicUsize,
}

enum Letter {
    /// The connection of this token has events.
    Events(u64),
    Accepted(Opener),
    Listen(Box<dyn Door>, Arc<AtomicBool>),
    /// A listener was dropped.
    Unlisten,
}

impl Mailbox {
    pub(crate) fn notify(&self, token: u64) {
        self.leave(Letter::Events(token));
    }

    fn leave(&self, letter: Letter) {
        let first = {
            let mut letters = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
            letters.push(letter);
            letters.len() == 1
        };
        if first && let Err(error) = self.waker.wake() {
            tracing::error!(%error, "a loop could not be woken");
        }
    }
}

/// Makes the slot of an accepted peer, on the thread that it will live on; none if the service refuses it.
pub(crate) type Opener =
    Box<dyn FnOnce(&Arc<Mailbox>, u64) -> io::Result<Option<Box<dyn Slot>>> + Send>;

/// Where peers come in.
pub(crate) trait Door: Send {
    fn source(&mut self) -> &mut dyn Source;
    /// The next peer, if one waits.
    fn accept(&mut self) -> io::Result<Option<Opener>>;
}

struct TcpDoor<S> {
    listener: TcpListener,
    service: Arc<S>,
}

impl<S: Service> Door for TcpDoor<S> {
    fn source(&mut self) -> &mut dyn Source {
        &mut self.listener
    }

    fn accept(&mut self) -> io::Result<Option<Opener>> {
        let (socket, peer) = match self.listener.accept() {
            Ok(accepted) => accepted,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        };
        let service = Arc::clone(&self.service);
        Ok(Some(Box::new(move |mailbox, token| {
            let local = socket.local_addr()?;
            let stream = Stream::new(socket)?;
            let remote = Remote::new(Arc::clone(mailbox), token);
            let connection = service.accept(peer, local, remote.clone());
            Ok(connection.map(|connection| -> Box<dyn Slot> {
                Box::new(TypedSlot::new(connection, stream, remote))
            }))
        })))
    }
}

/// A set of I/O threads. Dropping it stops them.
pub struct Loops {
    mailboxes: Vec<Arc<Mailbox>>,
    threads: Vec<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
}

/// A listener being served. Dropping it stops accepting; open connections go on.
pub struct Listening {
    address: SocketAddr,
    open: Arc<AtomicBool>,
    mailbox: Arc<Mailbox>,
}

impl Listening {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.open.store(false, Ordering::Release);
        self.mailbox.leave(Letter::Unlisten);
    }
}

impl Loops {
    /// Starts `threads` (at least one) I/O threads. With a `spin` above zero an idle thread polls that long
    /// before it blocks: half the latency at queue depth 1 for a whole core.
    pub fn start(threads: usize, spin: Duration, name: &str) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut polls = Vec::new();
        let mut mailboxes = Vec::new();
        for _ in 0..threads.max(1) {
            let poll = Poll::new()?;
            let waker = Waker::new(poll.registry(), WAKER)?;
            mailboxes.push(Arc::new(Mailbox {
                letters: Mutex::default(),
                waker,
                connections: AtomicUsize::new(0),
            }));
            polls.push(poll);
        }
        let mut handles = Vec::new();
        for (index, poll) in polls.into_iter().enumerate() {
            let worker = Worker {
                poll,
                mailbox: Arc::clone(&mailboxes[index]),
                all: mailboxes.clone(),
                stop: Arc::clone(&stop),
                spin,
                slots: Slab::new(),
                generation: 0,
                doors: Slab::new(),
                paused: None,
                timers: BinaryHeap::new(),
                again: VecDeque::new(),
                scratch: vec![0; RECEIVE_BUFFER_BYTES],
            };
            handles.push(
                std::thread::Builder::new()
                    .name(format!("{name}-{index}"))
                    .spawn(move || worker.run())?,
            );
        }
        Ok(Self { mailboxes, threads: handles, stop })
    }

    /// Serves a listener until what is returned is dropped.
    pub fn serve(
        &self,
        listener: std::net::TcpListener,
        service: impl Service,
    ) -> io::Result<Listening> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let listener = TcpListener::from_std(listener);
        let door = TcpDoor { listener, service: Arc::new(service) };
        Ok(self.open_door(address, Box::new(door)))
    }

    /// Serves an RDMA listener until what is returned is dropped.
    pub fn serve_rdma(&self, listener: Box<dyn Listener>, service: impl RdmaService) -> Listening {
        let address = listener.address();
        self.open_door(address, Box::new(RdmaDoor::new(listener, service)))
    }

    fn open_door(&self, address: SocketAddr, door: Box<dyn Door>) -> Listening {
        let open = Arc::new(AtomicBool::new(true));
        let mailbox = Arc::clone(&self.mailboxes[0]);
        mailbox.leave(Letter::Listen(door, Arc::clone(&open)));
        Listening { address, open, mailbox }
    }

    /// Connections open now.
    pub fn connections(&self) -> usize {
        self.mailboxes.iter().map(|mailbox| mailbox.connections.load(Ordering::Relaxed)).sum()
    }
}

impl Drop for Loops {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        for mailbox in &self.mailboxes {
            let _ = mailbox.waker.wake();
        }
        for thread in self.threads.drain(..) {
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

struct Entry {
    slot: Box<dyn Slot>,
    generation: u32,
    /// The earliest entry of this slot in the heap of timers.
    armed: Option<Instant>,
    deadline: Option<Instant>,
    /// It stands in the queue of those with more to do.
    queued: bool,
}

struct OpenDoor {
    door: Box<dyn Door>,
    open: Arc<AtomicBool>,
}

struct Worker {
    poll: Poll,
    mailbox: Arc<Mailbox>,
    all: Vec<Arc<Mailbox>>,
    stop: Arc<AtomicBool>,
    spin: Duration,
    slots: Slab<Entry>,
    generation: u32,
    doors: Slab<OpenDoor>,
    /// Accepting goes on at this time.
    paused: Option<Instant>,
    timers: BinaryHeap<Reverse<(Instant, usize, u32)>>,
    again: VecDeque<(usize, u32)>,
    scratch: Vec<u8>,
}

fn token_of(slot: usize, generation: u32) -> u64 {
    // A slot number is an index of live connections, far below 2^32.
    (u64::from(generation) << 32) | (slot as u64 & 0xffff_ffff)
}

impl Worker {
    fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS_A_CALL);
        let mut now = Instant::now();
        let mut idle_since = now;
        while !self.stop.load(Ordering::Acquire) {
            let wait = self.wait(now, idle_since);
            if let Err(error) = self.poll.poll(&mut events, wait) {
                if error.kind() == io::ErrorKind::Interrupted {
                    continue;
                }
                tracing::error!(%error, "an I/O thread cannot poll and ends");
                break;
            }
            now = Instant::now();
            let mut busy = !self.again.is_empty();
            for event in &events {
                busy = true;
                self.on_event(event, now);
            }
            self.another_turn(now);
            self.due(now);
            if busy {
                idle_since = now;
            } else if wait == Some(Duration::ZERO) {
                // A client on this core gets to run; with none, this is as cheap as any pause.
                std::thread::yield_now();
            }
        }
        for (_, mut entry) in std::mem::take(&mut self.slots) {
            entry.slot.on_close(&Close::Stopping);
        }
        self.mailbox.connections.store(0, Ordering::Relaxed);
    }

    /// How long to block: not at all with work at hand or while spinning, else until the next deadline.
    fn wait(&self, now: Instant, idle_since: Instant) -> Option<Duration> {
        if !self.again.is_empty()
            || (!self.spin.is_zero() && now.duration_since(idle_since) < self.spin)
        {
            return Some(Duration::ZERO);
        }
        let timer = self.timers.peek().map(|Reverse((at, _, _))| *at);
        let next = [timer, self.paused].into_iter().flatten().min();
        next.map(|at| at.saturating_duration_since(now))
    }

    fn on_event(&mut self, event: &Event, now: Instant) {
        match event.token() {
            WAKER => self.letters(now),
            Token(token) if token >= DOORS => self.accept(token - DOORS, now),
            Token(slot) => {
                let hung_up = event.is_read_closed() || event.is_error();
                let ready = Ready { readable: event.is_readable() || hung_up, hung_up };
                let Some(entry) = self.slots.get_mut(slot) else { return };
                let result = entry.slot.on_ready(ready, &mut self.scratch, now);
                self.after(slot, result);
            }
        }
    }

    /// Files what a turn left.
    fn after(&mut self, slot: usize, result: Result<Turn, Close>) {
        let Some(entry) = self.slots.get_mut(slot) else { return };
        let turn = match result {
            Ok(turn) => turn,
            Err(close) => return self.close(slot, &close),
        };
        if turn.again && !entry.queued {
            entry.queued = true;
            self.again.push_back((slot, entry.generation));
        }
        entry.deadline = turn.deadline;
        if let Some(deadline) = turn.deadline
            && entry.armed.is_none_or(|armed| deadline < armed)
        {
            entry.armed = Some(deadline);
            self.timers.push(Reverse((deadline, slot, entry.generation)));
        }
    }

    fn close(&mut self, slot: usize, close: &Close) {
        if let Some(mut entry) = self.slots.try_remove(slot) {
            entry.slot.on_close(close);
            let _ = self.poll.registry().deregister(entry.slot.source());
            self.mailbox.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Every connection with more to do has one turn.
    fn another_turn(&mut self, now: Instant) {
        for _ in 0..self.again.len() {
            let Some((slot, generation)) = self.again.pop_front() else { break };
            let Some(entry) =
                self.slots.get_mut(slot).filter(|entry| entry.generation == generation)
            else {
                continue;
            };
            entry.queued = false;
            let result = entry.slot.on_ready(Ready::default(), &mut self.scratch, now);
            self.after(slot, result);
        }
    }

    /// Deadlines that passed.
    fn due(&mut self, now: Instant) {
        while let Some(Reverse((at, slot, generation))) = self.timers.peek().copied() {
            if at > now {
                break;
            }
            self.timers.pop();
            let Some(entry) =
                self.slots.get_mut(slot).filter(|entry| entry.generation == generation)
            else {
                continue;
            };
            if entry.armed == Some(at) {
                entry.armed = None;
            }
            match entry.deadline {
                Some(deadline) if deadline <= now => {
                    let result = entry.slot.on_timer(&mut self.scratch, now);
                    self.after(slot, result);
                }
                Some(deadline) if entry.armed.is_none() => {
                    entry.armed = Some(deadline);
                    self.timers.push(Reverse((deadline, slot, generation)));
                }
                _ => {}
            }
        }
        if self.paused.is_some_and(|at| at <= now) {
            self.paused = None;
            let keys: Vec<usize> = self.doors.iter().map(|(key, _)| key).collect();
            for key in keys {
                self.accept(key, now);
            }
        }
    }

    fn letters(&mut self, now: Instant) {
        let letters = std::mem::take(
            &mut *self.mailbox.letters.lock().unwrap_or_else(PoisonError::into_inner),
        );
        for letter in letters {
            match letter {
                Letter::Events(token) => {
                    let slot = (token & 0xffff_ffff) as usize;
                    let generation = u32::try_from(token >> 32).unwrap_or(0);
                    let Some(entry) =
                        self.slots.get_mut(slot).filter(|entry| entry.generation == generation)
                    else {
                        continue;
                    };
                    let result = entry.slot.on_events(&mut self.scratch, now);
                    self.after(slot, result);
                }
                Letter::Accepted(opener) => {
                    if let Err(error) = self.open(opener) {
                        tracing::warn!(%error, "a connection could not be taken over");
                    }
                }
                Letter::Listen(mut door, open) => {
                    let entry = self.doors.vacant_entry();
                    let token = Token(DOORS + entry.key());
                    match self.poll.registry().register(door.source(), token, Interest::READABLE) {
                        Ok(()) => {
                            let key = entry.key();
                            entry.insert(OpenDoor { door, open });
                            self.accept(key, now);
                        }
                        Err(error) => tracing::error!(%error, "a listener could not be polled"),
                    }
                }
                Letter::Unlisten => {
                    let registry = self.poll.registry();
                    self.doors.retain(|_, listener| {
                        let open = listener.open.load(Ordering::Acquire);
                        if !open {
                            let _ = registry.deregister(listener.door.source());
                        }
                        open
                    });
                }
            }
        }
    }

    /// Accepts what waits and gives each to the thread with the fewest connections.
    fn accept(&mut self, key: usize, now: Instant) {
        loop {
            let Some(listener) = self.doors.get_mut(key) else { return };
            match listener.door.accept() {
                Ok(None) => return,
                Ok(Some(opener)) => {
                    let Some(least) = self
                        .all
                        .iter()
                        .min_by_key(|mailbox| mailbox.connections.load(Ordering::Relaxed))
                    else {
                        return;
                    };
                    // Counted when given away, so that a burst spreads.
                    least.connections.fetch_add(1, Ordering::Relaxed);
                    least.leave(Letter::Accepted(opener));
                }
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted
                    ) => {}
                Err(error) => {
                    tracing::warn!(%error, "no connection can be accepted; trying again shortly");
                    self.paused = Some(now + ACCEPT_PAUSE);
                    return;
                }
            }
        }
    }

    fn open(&mut self, opener: Opener) -> io::Result<()> {
        self.generation = self.generation.wrapping_add(1);
        let generation = self.generation;
        let entry = self.slots.vacant_entry();
        let key = entry.key();
        let opened = opener(&self.mailbox, token_of(key, generation)).and_then(|slot| {
            let Some(mut slot) = slot else { return Ok(None) };
            let interest = Interest::READABLE | Interest::WRITABLE;
            self.poll.registry().register(slot.source(), Token(key), interest)?;
            Ok(Some(slot))
        });
        match opened {
            Ok(Some(slot)) => {
                entry.insert(Entry {
                    slot,
                    generation,
                    armed: None,
                    deadline: None,
                    queued: false,
                });
                let now = Instant::now();
                // Its first turn lets a protocol that arms a deadline when accepted have it heard.
                let Some(entry) = self.slots.get_mut(key) else { return Ok(()) };
                let result = entry.slot.on_events(&mut self.scratch, now);
                self.after(key, result);
                Ok(())
            }
            other => {
                self.mailbox.connections.fetch_sub(1, Ordering::Relaxed);
                other.map(drop)
            }
        }
    }
}
