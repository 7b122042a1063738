//! A link over one non-blocking TCP socket.

use std::io;
use std::net::SocketAddr;

use mio::event::Event as Readiness;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use plimsoll_fabric::{Close, Frame, Frames, Received, SendQueue, Stream};
use plimsoll_wire::iscsi::{Digests, Isid, Pdu};

use super::{LinkEnd, Wire};
use crate::iscsi::login::Login;
use crate::iscsi::out::Out;
use crate::iscsi::session::{Session, Upper};
use crate::iscsi::settings::Settings;
use crate::tcp::{self, TcpInfo};
use crate::transport::Transport;

pub struct TcpLink {
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
        let broken = |error: plimsoll_wire::iscsi::FrameError| Close::Protocol(error.to_string());
        match &mut self.wire.session {
            Some(session) => {
                let pdu = Pdu::split(frame, session.digests()).map_err(broken)?;
                session.on_pdu(&pdu, &mut Out::Tcp(send), self.upper)
            }
            None => {
                let pdu = Pdu::split(frame, Digests::default()).map_err(broken)?;
                self.wire.on_login(&pdu, &mut Out::Tcp(send))
            }
        }
    }
}

impl TcpLink {
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
        Ok(Self {
            stream,
            wire: Wire::new(settings, isid, Transport::Tcp),
            peer,
            connected: false,
            readable: false,
            closing: false,
            low_water: 1,
            heard: false,
        })
    }

    pub fn on_readiness(&mut self, readiness: &Readiness) {
        self.readable |= readiness.is_readable() || readiness.is_read_closed();
        self.closing |= readiness.is_read_closed() || readiness.is_error();
        self.readable |= self.closing || !self.connected;
    }

    #[inline]
    pub fn session(&mut self) -> Option<(&mut Session, Out<'_>)> {
        let send = &mut self.stream.send;
        self.wire.session.as_mut().map(|session| (&mut **session, Out::Tcp(send)))
    }

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
            Err(close) => return Err(self.wire.end(close)),
        }
        Ok(())
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
            login.start(&mut Out::Tcp(&mut self.stream.send));
        }
        self.flush()
    }
}
