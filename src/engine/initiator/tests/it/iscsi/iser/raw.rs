//! A small iSER target over a raw endpoint, with a script that may misbehave at any command.
//!
//! It serves out of one block of memory, which data is placed from and fetched into, so that nothing stands
//! between what an initiator did and what the test looks at. One thread serves all connections.

mod commands;
mod connection;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_fabric::rdma::{Establish, Fabric, Listener, Memory};
use plimsoll_wire::iscsi::Isid;
use plimsoll_wire::iscsi::pdu::ScsiCommand;
use plimsoll_wire::scsi::SenseKey;

use super::super::fake::{NAME, pattern};
use connection::Connection;

/// What the target does with one read, write or flush.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Act {
    /// Its duty.
    Serve,
    /// Ends with CHECK CONDITION and this sense key, code and qualifier.
    Check(SenseKey, u8, u8),
    /// Disconnects without an answer.
    Disconnect,
    /// No answer, and none to anything from now on.
    Stall,
    /// No answer to this command. ABORT TASK works, and until then the target scribbles over the task's memory.
    Forget,
    /// Invalidates the very key of the task with the response.
    InvalidateOwn,
    /// Invalidates a key that nobody has given.
    InvalidateBogus,
    /// Answers under a tag that nobody gave.
    WrongTag,
    /// Answers twice.
    Twice,
    /// Its header announces data that does not come.
    ShortMessage,
    /// A response with more data than the initiator takes.
    LongMessage,
    /// Less than a header.
    Stump,
    /// iSER's own Hello.
    Hello,
    /// Asks for data by a PDU.
    R2t,
    /// Places a block more than was advertised.
    PlaceBeyond,
    /// Places into memory that is to be fetched from, or the other way round.
    WrongRight,
    /// Reaches for a key that nobody has given.
    StaleKey,
    /// Moves half and tells the residual.
    Short,
    /// Tells a residual that is larger than the transfer.
    WildResidual,
    /// Numbers the answer, and lets the next one overtake it.
    Overtaken,
    /// Tells a status number that was told before.
    OldStatSn,
    /// Lets later commands be answered first.
    Later,
    /// A ping of its own before the answer.
    Ping,
}

pub type Script = dyn Fn(&ScsiCommand, u64) -> Act + Send + Sync;

/// What the target saw and how it behaves.
pub struct Shared {
    pub store: Arc<Memory>,
    pub naa: Mutex<Vec<u8>>,
    script: Mutex<Arc<Script>>,
    commands: AtomicU64,
    pub logins: AtomicU64,
    /// The newest login of each name.
    sessions: Mutex<HashMap<Isid, u64>>,
    pub aborts: AtomicU64,
    pub pings: AtomicU64,
    pub pongs: AtomicU64,
    /// Largest transfer of a command, in bytes.
    pub longest: AtomicU64,
    /// Writes that came whole with their command.
    pub immediate: AtomicU64,
    /// Connections to be refused by the connection manager, and logins to be broken off.
    pub rejects: AtomicU64,
    pub breaks: AtomicU64,
    /// Private data of the next accepts.
    pub private_data: Mutex<Vec<u8>>,
    /// What initiators asked for.
    pub asks: Mutex<Vec<Establish>>,
    /// Keys of logins.
    pub keys: Mutex<Vec<(String, String)>>,
    pub setting: Setting,
    closed: AtomicBool,
    /// Nothing is served, and connections are ended.
    cut: AtomicBool,
    stop: AtomicBool,
}

#[derive(Debug, Clone, Copy)]
pub struct Setting {
    pub window: u32,
    pub unexpected: u32,
    pub immediate_data: bool,
    /// Bytes of the answer to SendTargets in one PDU.
    pub text_bytes: usize,
    pub targets: usize,
}

impl Default for Setting {
    fn default() -> Self {
        Self { window: 64, unexpected: 0, immediate_data: true, text_bytes: 256, targets: 1 }
    }
}

pub struct Raw {
    pub shared: Arc<Shared>,
    pub address: SocketAddr,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Raw {
    pub fn start(fabric: &Arc<dyn Fabric>, setting: Setting) -> Self {
        let size = 8 << 20;
        let store = Memory::allocate(size).unwrap();
        let fresh: Vec<u8> = (0..size).map(pattern).collect();
        // SAFETY: nobody else has the block yet.
        #[allow(unsafe_code)]
        unsafe {
            store.put(0, &fresh);
        }
        let shared = Arc::new(Shared {
            store,
            naa: Mutex::new(vec![0x60, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
            script: Mutex::new(Arc::new(|_, _| Act::Serve)),
            commands: AtomicU64::new(0),
            logins: AtomicU64::new(0),
            sessions: Mutex::default(),
            aborts: AtomicU64::new(0),
            pings: AtomicU64::new(0),
            pongs: AtomicU64::new(0),
            longest: AtomicU64::new(0),
            immediate: AtomicU64::new(0),
            rejects: AtomicU64::new(0),
            breaks: AtomicU64::new(0),
            private_data: Mutex::new(vec![0xc0, 0, 0, 0]),
            asks: Mutex::default(),
            keys: Mutex::default(),
            setting,
            closed: AtomicBool::new(false),
            cut: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        });
        let listener = fabric.listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = listener.address();
        let thread = {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || serve(listener, &shared))
        };
        Self { shared, address, thread: Some(thread) }
    }

    pub fn set_script(&self, script: impl Fn(&ScsiCommand, u64) -> Act + Send + Sync + 'static) {
        *self.shared.script.lock().unwrap() = Arc::new(script);
        self.shared.commands.store(0, Ordering::SeqCst);
    }

    pub fn url(&self) -> String {
        format!("iser://{}/{NAME}/0", self.address)
    }

    /// Ends all connections and takes no new ones until [`Self::restore`].
    pub fn cut(&self) {
        self.shared.cut.store(true, Ordering::SeqCst);
        while !self.shared.closed.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
    }

    pub fn restore(&self) {
        self.shared.closed.store(false, Ordering::SeqCst);
        self.shared.cut.store(false, Ordering::SeqCst);
    }

    pub fn content(&self) -> Vec<u8> {
        // SAFETY: looked at when nothing is under way.
        #[allow(unsafe_code)]
        unsafe {
            self.shared.store.bytes(0, self.shared.store.len()).to_vec()
        }
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !std::thread::panicking()
        {
            panic!("the target found something to complain of");
        }
    }
}

fn serve(mut listener: Box<dyn Listener>, shared: &Arc<Shared>) {
    let mut connections: Vec<Connection> = Vec::new();
    while !shared.stop.load(Ordering::SeqCst) {
        if shared.cut.load(Ordering::SeqCst) {
            for mut connection in connections.drain(..) {
                connection.endpoint.disconnect();
            }
            while let Ok(Some(incoming)) = listener.poll() {
                let _ = incoming.request.reject(&[]);
            }
            shared.closed.store(true, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(1));
            continue;
        }
        let mut idle = true;
        while let Ok(Some(incoming)) = listener.poll() {
            idle = false;
            connections.extend(Connection::accept(incoming, shared));
        }
        connections.retain_mut(|connection| match connection.turn() {
            Ok(found) => {
                idle &= !found;
                true
            }
            Err(_) => {
                connection.endpoint.disconnect();
                false
            }
        });
        if idle {
            let wait = if connections.is_empty() { 500 } else { 50 };
            std::thread::sleep(Duration::from_micros(wait));
        }
    }
}
