//! RDMA in process: the rules of an adapter without one.
//!
//! A [`Soft`] is a network of its own. Both ends of a connection live in this process, on any threads; data
//! moves by one copy between the two registered memories when work is flushed. Keys, rights, bounds, order,
//! credits and what breaks a connection are as on an adapter (InfiniBand Architecture 1, chapters 9 to 11);
//! [`Faults`] makes it behave worse.
//!
//! Work is carried out as it is flushed, unless [`Faults::delay`] has it take its time.

mod endpoint;
mod faults;
mod pair;
mod signal;
mod table;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::RawFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::{
    ConnectionEvent, Domain, Endpoint, Establish, Fabric, Incoming, Listener, Queues, RdmaError,
    Request,
};
use endpoint::SoftEndpoint;
pub use faults::Faults;
use pair::Pair;
use signal::Signal;
use table::{SoftRegistrar, Table};

/// Reason of a rejection when nobody listens (`IB_CM_REJ_INVALID_SERVICE_ID`).
const NOBODY_LISTENS: i32 = 8;
/// Reason of a rejection by the peer's user (`IB_CM_REJ_CONSUMER_DEFINED`).
const BY_CONSUMER: i32 = 28;
/// Ports that are picked begin here.
const FIRST_PORT: u16 = 20_000;

/// A network of soft adapters.
pub struct Soft {
    state: Mutex<Network>,
}

struct Network {
    listeners: HashMap<SocketAddr, Weak<Waiting>>,
    pairs: Vec<Weak<Pair>>,
    next_port: u16,
    seed: u64,
    faults: Faults,
}

/// Those that ask to connect to one listener.
struct Waiting {
    /// None once the listener is gone.
    queue: Mutex<Option<VecDeque<Arc<Pair>>>>,
    signal: Signal,
}

impl Soft {
    /// A network without faults.
    pub fn new() -> Arc<Self> {
        Self::with_faults(Faults::default())
    }

    /// A network whose connections misbehave.
    pub fn with_faults(faults: Faults) -> Arc<Self> {
        let seed = faults.reorder.unwrap_or(1);
        let (listeners, pairs, next_port) = (HashMap::new(), Vec::new(), FIRST_PORT);
        Arc::new(Self { state: Mutex::new(Network { listeners, pairs, next_port, seed, faults }) })
    }

    fn lock(&self) -> MutexGuard<'_, Network> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes how connections behave that are made from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.lock().faults = faults;
    }

    fn each_pair(&self, mut each: impl FnMut(&Pair, &mut pair::State)) {
        let pairs: Vec<_> = self.lock().pairs.iter().filter_map(Weak::upgrade).collect();
        for pair in pairs {
            let mut state = pair.lock();
            each(&pair, &mut state);
            pair.tell(&mut state);
        }
    }

    /// Connections that are up.
    pub fn connections(&self) -> usize {
        let mut count = 0;
        self.each_pair(|_, state| count += usize::from(state.established && !state.broken));
        count
    }

    /// Breaks every connection, as a pulled cable does once retries are used up.
    pub fn break_all(&self) {
        self.each_pair(|_, state| state.break_down());
    }

    /// The adapter goes away: every end is told so, connections break, and nobody can connect.
    pub fn remove_device(&self) {
        self.lock().faults.unreachable = true;
        self.each_pair(|_, state| {
            for end in &mut state.ends {
                end.events.push_back(ConnectionEvent::DeviceRemoved);
            }
            state.break_down();
        });
    }

    /// The adapter is back.
    pub fn restore_device(&self) {
        self.lock().faults.unreachable = false;
    }

    /// The address moves to another adapter: every end is told so.
    pub fn change_address(&self) {
        self.each_pair(|_, state| {
            for end in &mut state.ends {
                end.events.push_back(ConnectionEvent::AddressChanged);
            }
        });
    }

    /// Every remote key that connecting ends have given out so far is stale: what their peers do with one is
    /// refused, and breaks the connection.
    pub fn stale_keys(&self) {
        self.each_pair(|pair, _| {
            if let Some(table) = pair.tables[0].get() {
                table.hold().invalidate_all();
            }
        });
    }

    /// The next message to the connecting ends tells this key as invalidated although it was not asked for.
    pub fn invalidate_unasked(&self, key: u32) {
        self.each_pair(|_, state| state.ends[0].bogus_invalidation = Some(key));
    }
}

impl fmt::Debug for Soft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Soft")
    }
}

impl Fabric for Soft {
    fn name(&self) -> &'static str {
        "soft"
    }

    fn listen(&self, mut address: SocketAddr) -> Result<Box<dyn Listener>, RdmaError> {
        let mut network = self.lock();
        network.listeners.retain(|_, listener| listener.strong_count() > 0);
        if address.port() == 0 {
            address.set_port(network.next_port);
            network.next_port = network.next_port.checked_add(1).unwrap_or(FIRST_PORT);
        }
        if network.listeners.contains_key(&address) {
            let source = std::io::Error::from(std::io::ErrorKind::AddrInUse);
            return Err(RdmaError::Call { call: format!("listen on {address}"), source });
        }
        let signal = Signal::new()
            .map_err(|source| RdmaError::Call { call: "eventfd".to_owned(), source })?;
        let waiting = Arc::new(Waiting { queue: Mutex::new(Some(VecDeque::new())), signal });
        network.listeners.insert(address, Arc::downgrade(&waiting));
        let faults = network.faults.clone();
        let (table, domain) = domain(&faults);
        Ok(Box::new(SoftListener { address, waiting, table, domain }))
    }

    fn connect(
        &self,
        to: SocketAddr,
        from: Option<IpAddr>,
        queues: Queues,
    ) -> Result<Box<dyn Endpoint>, RdmaError> {
        let mut network = self.lock();
        network.pairs.retain(|pair| pair.strong_count() > 0);
        network.next_port = network.next_port.checked_add(1).unwrap_or(FIRST_PORT);
        network.seed = network.seed.wrapping_add(1);
        let own = SocketAddr::new(from.unwrap_or(Ipv4Addr::LOCALHOST.into()), network.next_port);
        let signal =
            || Signal::new().map_err(|source| RdmaError::Call { call: "eventfd".into(), source });
        let faults = network.faults.clone();
        let pair =
            Arc::new(Pair::new([own, to], [signal()?, signal()?], faults.clone(), network.seed));
        network.pairs.push(Arc::downgrade(&pair));
        let listener = network.listeners.get(&to).and_then(Weak::upgrade);
        let (table, domain) = domain(&faults);
        let _ = pair.tables[0].set(table);
        {
            let mut state = pair.lock();
            state.ends[0].events.push_back(if faults.unreachable {
                ConnectionEvent::Failed("no adapter has a way to the peer".to_owned())
            } else {
                ConnectionEvent::Resolved
            });
            state.ends[0].armed = true;
            pair.tell(&mut state);
        }
        Ok(Box::new(SoftEndpoint::new(pair, 0, domain, queues, listener)))
    }
}

fn domain(faults: &Faults) -> (Arc<Table>, Arc<Domain>) {
    let table = Arc::new(Table::default());
    let registrar =
        SoftRegistrar { table: Arc::clone(&table), invalidatable: faults.invalidatable };
    (table, Domain::new(Box::new(registrar)))
}

struct SoftListener {
    address: SocketAddr,
    waiting: Arc<Waiting>,
    table: Arc<Table>,
    domain: Arc<Domain>,
}

impl Listener for SoftListener {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn descriptor(&self) -> RawFd {
        self.waiting.signal.descriptor()
    }

    fn poll(&mut self) -> Result<Option<Incoming>, RdmaError> {
        let mut queue = self.waiting.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(pair) = queue.as_mut().and_then(VecDeque::pop_front) else {
            self.waiting.signal.lower();
            return Ok(None);
        };
        drop(queue);
        let mut asks = Establish::default();
        {
            let state = pair.lock();
            asks.clone_from(state.ends[0].terms.as_ref().unwrap_or(&Establish::default()));
            if asks.private_data.len() < super::PRIVATE_DATA_CONNECT_MAX {
                asks.private_data.resize(super::PRIVATE_DATA_CONNECT_MAX, 0);
            }
        }
        let [peer, local] = pair.addresses;
        let (table, domain) = (Arc::clone(&self.table), Arc::clone(&self.domain));
        let request = SoftRequest { pair: Some(pair), table, domain };
        Ok(Some(Incoming { peer, local, asks, request: Box::new(request) }))
    }
}

impl Drop for SoftListener {
    fn drop(&mut self) {
        let queue = self.waiting.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
        for pair in queue.into_iter().flatten() {
            refuse(&pair, NOBODY_LISTENS, &[]);
        }
    }
}

fn refuse(pair: &Pair, reason: i32, private_data: &[u8]) {
    let mut state = pair.lock();
    let private_data = private_data.to_vec();
    state.ends[0].events.push_back(ConnectionEvent::Rejected { reason, private_data });
    pair.tell(&mut state);
}

struct SoftRequest {
    pair: Option<Arc<Pair>>,
    table: Arc<Table>,
    domain: Arc<Domain>,
}

impl Request for SoftRequest {
    fn open(mut self: Box<Self>, queues: Queues) -> Result<Box<dyn Endpoint>, RdmaError> {
        let Some(pair) = self.pair.take() else { return Err(RdmaError::State("decided")) };
        let _ = pair.tables[1].set(Arc::clone(&self.table));
        Ok(Box::new(SoftEndpoint::new(pair, 1, Arc::clone(&self.domain), queues, None)))
    }

    fn reject(mut self: Box<Self>, private_data: &[u8]) -> Result<(), RdmaError> {
        if let Some(pair) = self.pair.take() {
            refuse(&pair, BY_CONSUMER, private_data);
        }
        Ok(())
    }
}

impl Drop for SoftRequest {
    fn drop(&mut self) {
        if let Some(pair) = self.pair.take() {
            refuse(&pair, BY_CONSUMER, &[]);
        }
    }
}
