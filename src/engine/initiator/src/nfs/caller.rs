//! Remote procedure calls one at a time: what mounting, setting up and cleaning up need.
//!
//! A call that loses its connection is sent again over a new one with the same transaction id, so that the
//! server's duplicate request cache can tell, until the caller's patience ends.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use plimsoll_wire::rpc::{self, Accepted, AuthStat, Call, Credential, Denial, Reply, record};
use plimsoll_wire::xdr::{self, Reader, Writer, Xdr};

use crate::Error;

/// Largest reply: a READ of a megabyte with its head, or a large piece of a directory.
const MAX_RECORD_BYTES: usize = (1 << 20) + (64 << 10);
/// A reply's memory grows by at most this much ahead of what has arrived.
const STEP_BYTES: usize = 64 << 10;
/// Pause before a lost connection is made again.
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);

/// A procedure of a program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    pub program: u32,
    pub version: u32,
    pub procedure: u32,
    /// For messages.
    pub what: &'static str,
}

/// Why there is no result.
#[derive(Debug)]
pub(super) enum Fault {
    /// The peer does not serve the program, version or procedure.
    NotServed(String),
    /// Anything else.
    Failed(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// A connection to one server, made when needed.
pub(super) struct Caller {
    peer: SocketAddr,
    connect_timeout: Duration,
    call_timeout: Duration,
    socket: Option<TcpStream>,
    was_connected: bool,
    xid: u32,
    call: Vec<u8>,
    reply: Vec<u8>,
}

impl Caller {
    pub fn new(peer: SocketAddr, connect_timeout: Duration, call_timeout: Duration) -> Self {
        let xid = super::random();
        Self {
            peer,
            connect_timeout,
            call_timeout,
            socket: None,
            was_connected: false,
            xid,
            call: Vec::new(),
            reply: Vec::new(),
        }
    }

    /// Another connection to be made with the same patience.
    pub fn sibling(&self, peer: SocketAddr) -> Self {
        Self::new(peer, self.connect_timeout, self.call_timeout)
    }

    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// One call: sends `arguments`, gives the results to `parse`.
    pub fn call<'a, T>(
        &mut self,
        target: Target,
        credential: Credential<'_>,
        arguments: &impl Xdr<'a>,
        parse: impl FnOnce(&mut Reader<'_>) -> xdr::Result<T>,
    ) -> Result<T, Fault> {
        self.xid = self.xid.wrapping_add(1);
        let Target { program, version, procedure, what } = target;
        self.call.clear();
        let mut out = Writer::new(&mut self.call);
        let at = record::begin(&mut out);
        Call { xid: self.xid, program, version, procedure, credential }.put(&mut out);
        arguments.put(&mut out);
        record::end(&mut out, at, 0);
        self.exchange(what)?;
        let (_, reply, mut results) =
            Reply::parse(&self.reply).map_err(|error| self.broke(what, &error))?;
        match reply {
            Reply::Accepted(Accepted::Success) => {
                Ok(parse(&mut results).map_err(|error| self.broke(what, &error))?)
            }
            Reply::Accepted(
                accepted @ (Accepted::ProgramUnavailable
                | Accepted::ProgramMismatch { .. }
                | Accepted::ProcedureUnavailable),
            ) => Err(Fault::NotServed(format!("{what} is not served: {}", in_words(accepted)))),
            Reply::Accepted(accepted) => {
                Err(self.refused(format!("{what}: {}", in_words(accepted))).into())
            }
            Reply::Denied(denial) => {
                Err(self.refused(format!("{what}: {}", denied(denial))).into())
            }
        }
    }

    /// Sends the call until its reply is here.
    fn exchange(&mut self, what: &'static str) -> Result<(), Error> {
        let deadline = Instant::now() + self.call_timeout;
        loop {
            let error = match self.connect() {
                Ok(()) => match self.try_exchange(deadline) {
                    Ok(()) => return Ok(()),
                    Err(error) => error,
                },
                Err(source) if !self.was_connected => {
                    return Err(Error::Connect { peer: self.peer.to_string(), source });
                }
                Err(error) => error,
            };
            self.socket = None;
            let peer = self.peer.to_string();
            if error.kind() == io::ErrorKind::InvalidData {
                return Err(Error::Protocol { peer, reason: error.to_string() });
            }
            if Instant::now() + RECONNECT_PAUSE >= deadline {
                return Err(match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                        Error::Timeout { peer, what }
                    }
                    _ => Error::Lost { peer, source: error },
                });
            }
            std::thread::sleep(RECONNECT_PAUSE);
        }
    }

    fn connect(&mut self) -> io::Result<()> {
        if self.socket.is_none() {
            let socket = TcpStream::connect_timeout(&self.peer, self.connect_timeout)?;
            socket.set_nodelay(true)?;
            self.socket = Some(socket);
            self.was_connected = true;
        }
        Ok(())
    }

    fn try_exchange(&mut self, deadline: Instant) -> io::Result<()> {
        let Some(socket) = &mut self.socket else { return Err(io::ErrorKind::NotConnected.into()) };
        socket.set_write_timeout(Some(left(deadline)?))?;
        socket.write_all(&self.call)?;
        loop {
            receive(socket, &mut self.reply, deadline)?;
            match self.reply.first_chunk() {
                Some(xid) if u32::from_be_bytes(*xid) == self.xid => return Ok(()),
                // The late reply to an earlier call: not for us.
                Some(_) => {}
                None => return Err(invalid("a record without a transaction id")),
            }
        }
    }

    fn broke(&self, what: &str, error: &xdr::Error) -> Error {
        Error::Protocol { peer: self.peer.to_string(), reason: format!("reply to {what}: {error}") }
    }

    pub fn refused(&self, reason: String) -> Error {
        Error::Refused { peer: self.peer.to_string(), reason }
    }
}

/// One record, its fragments joined.
fn receive(socket: &mut TcpStream, record: &mut Vec<u8>, deadline: Instant) -> io::Result<()> {
    record.clear();
    for _ in 0..record::MAX_FRAGMENTS {
        let mut mark = [0; record::MARK_BYTES];
        socket.set_read_timeout(Some(left(deadline)?))?;
        socket.read_exact(&mut mark)?;
        let mark = u32::from_be_bytes(mark);
        let mut len = (mark & !record::LAST_FRAGMENT) as usize;
        if record.len() + len > MAX_RECORD_BYTES {
            return Err(invalid("a reply longer than anything that was asked for"));
        }
        while len > 0 {
            let step = len.min(STEP_BYTES);
            let at = record.len();
            record.resize(at + step, 0);
            socket.set_read_timeout(Some(left(deadline)?))?;
            socket.read_exact(&mut record[at..])?;
            len -= step;
        }
        if mark & record::LAST_FRAGMENT != 0 {
            return Ok(());
        }
    }
    Err(invalid("a reply of too many fragments"))
}

fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// The outcome of a call that was accepted but did not succeed.
pub(super) fn in_words(accepted: Accepted) -> String {
    match accepted {
        Accepted::Success => "success".to_owned(),
        Accepted::ProgramUnavailable => "no such program (PROG_UNAVAIL)".to_owned(),
        Accepted::ProgramMismatch { low, high } => {
            format!("versions {low} to {high} of the program only (PROG_MISMATCH)")
        }
        Accepted::ProcedureUnavailable => "no such procedure (PROC_UNAVAIL)".to_owned(),
        Accepted::GarbageArguments => "the arguments were not understood (GARBAGE_ARGS)".to_owned(),
        Accepted::SystemError => "a failure of the server (SYSTEM_ERR)".to_owned(),
    }
}

fn denied(denial: Denial) -> String {
    match denial {
        Denial::RpcMismatch { low, high } => {
            format!("rpc versions {low} to {high} only, {} was sent", rpc::RPC_VERSION)
        }
        Denial::Auth(AuthStat::TooWeak) => {
            "authentication is too weak (AUTH_TOOWEAK); the server may want a source port below 1024"
                .to_owned()
        }
        Denial::Auth(stat) => format!("authentication failed ({stat:?})"),
    }
}

/// Reads results that borrow nothing.
pub(super) fn owned<T: for<'x> Xdr<'x>>(results: &mut Reader<'_>) -> xdr::Result<T> {
    results.value()
}
