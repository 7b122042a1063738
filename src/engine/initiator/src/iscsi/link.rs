//! One connection: connect, login, session, over one non-blocking socket.
//!
//! A link only goes forward and ends with the first error; the flow above makes a new one.

use std::io;
use std::net::SocketAddr;

use mio::event::Event as Readiness;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use plimsoll_fabric::{Close, Frame, Frames, Received, SendQueue, Stream};
use plimsoll_wire::iscsi::Isid;

use super::login::{Login, LoginFailure, Step};
use super::session::{Session, Upper};
use super::settings::Settings;
use crate::tcp::{self, TcpInfo};

/// Why a link ended.
#[derive(Debug)]
pub(super) enum LinkEnd {
    Connect(io::Error),
    Login(LoginFailure),
    Close(Close),
}

impl std::fmt::Display for LinkEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Connect(error) => write!(f, "no connection: {error}"),
            Self::Login(LoginFailure::Moved(to)) => write!(f, "the target moved to {to}"),
            Self::Login(LoginFailure::Refused { reason, .. }) => {
                write!(f, "login refused: {reason}")
            }
            Self::Login(LoginFailure::Authentication(reason)) => {
                write!(f, "authentication failed: {reason}")
            }
            Self::Login(LoginFailure::Protocol(reason)) => write!(f, "login failed: {reason}"),
            Self::Close(close) => close.fmt(f),
        }
    }
}

/// The protocol side of a link: a login until it is done, a session from then on.
struct Wire {
    login: Option<Box<Login>>,
    session: Option<Box<Session>>,
    failure: Option<LoginFailure>,
}

pub(super) struct Link {
    stream: Stream,
    wire: Wire,
    pub peer: SocketAddr,
    connected: bool,
    /// The socket may have bytes that were not received yet.
    pub readable: bool,
    /// The peer closed its side: what is buffered is read to the end.
    closing: bool,
    /// SO_RCVLOWAT as set.
    low_water: u32,
    /// Whole PDUs came since this was last cleared.
    pub heard: bool,
}

/// Hands frames to the login or the session.
struct Receiver<'a, U> {
    wire: &'a mut Wire,
    heard: &'a mut bool,
    upper: &'a mut U,
}

impl<U: Upper> Frames for Receiver<'_, U> {
    #[inline]
    fn frame(&mut self, head: &[u8]) -> Result<Frame, Close> {
        match &self.wire.session {
            Some(session) => session.frame(head),
            None => Login::frame(head),
        }
    }

    #[inline]
    fn on_frame(&mut self, frame: &[u8], send: &mut SendQueue) -> Result<(), Close> {
        *self.heard = true;
        match &mut self.wire.session {
            Some(session) => session.on_frame(frame, send, self.upper),
            None => self.wire.on_login(frame, send),
        }
    }
}

impl Wire {
    fn on_login(&mut self, frame: &[u8], send: &mut SendQueue) -> Result<(), Close> {
        let Some(login) = &mut self.login else { return Err(Close::Finished) };
        match login.on_frame(frame, send) {
            Ok(Step::More) => Ok(()),
            Ok(Step::Done(session)) => {
                self.login = None;
                self.session = Some(session);
                Ok(())
            }
            Err(failure) => {
                self.failure = Some(failure);
                Err(Close::Finished)
            }
        }
    }
}

impl Link {
    /// Begins to connect. The socket is registered under `token`.
    pub fn start(
        peer: SocketAddr,
        settings: &Settings,
        isid: Isid,
        registry: &Registry,
        token: Token,
    ) -> Result<Self, LinkEnd> {
        let mut socket = TcpStream::connect(peer).map_err(LinkEnd::Connect)?;
        registry
            .register(&mut socket, token, Interest::READABLE | Interest::WRITABLE)
            .map_err(LinkEnd::Connect)?;
        let stream = Stream::new(socket).map_err(LinkEnd::Connect)?;
        let login = Some(Box::new(Login::new(settings, isid)));
        Ok(Self {
            stream,
            wire: Wire { login, session: None, failure: None },
            peer,
            connected: false,
            readable: false,
            closing: false,
            low_water: 1,
            heard: false,
        })
    }

    /// Takes a readiness event of the socket.
    pub fn on_readiness(&mut self, readiness: &Readiness) {
        self.readable |= readiness.is_readable() || readiness.is_read_closed();
        self.closing |= readiness.is_read_closed() || readiness.is_error();
        self.readable |= self.closing || !self.connected;
    }

    /// The session, once the login is done.
    #[inline]
    pub fn session(&mut self) -> Option<(&mut Session, &mut SendQueue)> {
        self.wire.session.as_mut().map(|session| (&mut **session, &mut self.stream.send))
    }

    /// Takes the session out, when the link has ended.
    pub fn into_session(self) -> Option<Session> {
        self.wire.session.map(|session| *session)
    }

    /// Wakes only for so many bytes. Small changes are not worth a system call.
    #[inline]
    pub fn set_low_water(&mut self, bytes: u32) {
        let near = bytes > 1 && bytes / 2 < self.low_water && bytes > self.low_water / 2;
        if bytes != self.low_water && !near {
            self.low_water = bytes;
            tcp::set_low_water(self.stream.socket(), bytes);
        }
    }

    /// Whether the socket wakes only for many bytes.
    #[inline]
    pub fn coalesces(&self) -> bool {
        self.low_water > 1
    }

    pub fn info(&self) -> TcpInfo {
        if self.connected { tcp::info(self.stream.socket()) } else { TcpInfo::default() }
    }

    pub fn local(&self) -> Option<SocketAddr> {
        self.stream.socket().local_addr().ok()
    }

    #[inline]
    pub fn has_unsent(&self) -> bool {
        !self.stream.send.is_empty()
    }

    /// Sends what is queued, as far as the socket takes it.
    #[inline]
    pub fn flush(&mut self) -> Result<(), LinkEnd> {
        if self.connected && self.has_unsent() {
            self.stream.flush().map_err(|error| LinkEnd::Close(Close::Error(error)))?;
        }
        Ok(())
    }

    /// One receive and all frames that it completes. [`Self::readable`] tells whether to come again.
    #[inline]
    pub fn receive<U: Upper>(&mut self, scratch: &mut [u8], upper: &mut U) -> Result<(), LinkEnd> {
        if !self.connected {
            self.readable = false;
            return self.finish_connect();
        }
        let mut receiver = Receiver { wire: &mut self.wire, heard: &mut self.heard, upper };
        match self.stream.receive(scratch, &mut receiver) {
            // With the peer's end already announced no further event would come for it.
            Ok(Received::Drained) => self.readable = self.closing,
            Ok(Received::More) => self.readable = true,
            Err(close) => return Err(self.end(close)),
        }
        Ok(())
    }

    fn end(&mut self, close: Close) -> LinkEnd {
        match self.wire.failure.take() {
            Some(failure) => LinkEnd::Login(failure),
            None => LinkEnd::Close(close),
        }
    }

    fn finish_connect(&mut self) -> Result<(), LinkEnd> {
        let socket = self.stream.socket();
        if let Some(error) = socket.take_error().map_err(LinkEnd::Connect)? {
            return Err(LinkEnd::Connect(error));
        }
        match socket.peer_addr() {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotConnected => return Ok(()),
            Err(error) => return Err(LinkEnd::Connect(error)),
        }
        self.connected = true;
        // The event that told of the connection may have told of data as well.
        self.readable = true;
        if let Some(login) = &mut self.wire.login {
            login.start(&mut self.stream.send);
        }
        self.flush()
    }
}
