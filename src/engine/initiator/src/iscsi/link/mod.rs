//! One connection: connect, login, session, over TCP or RDMA.
//!
//! A link only goes forward and ends with the first error; the flow above makes a new one.

mod tcp;

use std::io;
use std::net::SocketAddr;

use mio::event::Event as Readiness;
use mio::{Registry, Token};
use plimsoll_fabric::Close;
use plimsoll_wire::iscsi::{Isid, Pdu};

use super::iser::IserLink;
use super::login::{Login, LoginFailure, Step};
use super::out::Out;
use super::session::{Session, Upper};
use super::settings::Settings;
use crate::tcp::TcpInfo;
use crate::transport::{RdmaCounters, Transport};
use tcp::TcpLink;

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

impl LinkEnd {
    /// Whether another attempt would most likely end the same way.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Login(LoginFailure::Refused { may_retry, .. }) => !may_retry,
            Self::Login(LoginFailure::Authentication(_) | LoginFailure::Protocol(_)) => true,
            _ => false,
        }
    }
}

/// The protocol side of a link: a login until it is done, a session from then on.
pub(super) struct Wire {
    pub login: Option<Box<Login>>,
    pub session: Option<Box<Session>>,
    failure: Option<LoginFailure>,
}

impl Wire {
    pub fn new(settings: &Settings, isid: Isid, transport: Transport) -> Self {
        let login = Some(Box::new(Login::new(settings, isid, transport)));
        Self { login, session: None, failure: None }
    }

    pub fn on_login(&mut self, pdu: &Pdu<'_>, out: &mut Out<'_>) -> Result<(), Close> {
        let Some(login) = &mut self.login else { return Err(Close::Finished) };
        match login.on_pdu(pdu, out) {
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

    /// Why the link ends, given that it was closed.
    pub fn end(&mut self, close: Close) -> LinkEnd {
        match self.failure.take() {
            Some(failure) => LinkEnd::Login(failure),
            None => LinkEnd::Close(close),
        }
    }
}

/// Where a target listens, and for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Portal {
    pub transport: Transport,
    pub address: SocketAddr,
}

impl std::fmt::Display for Portal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.address.fmt(f)
    }
}

pub(super) enum Link {
    Tcp(Box<TcpLink>),
    Iser(Box<IserLink>),
}

impl Link {
    /// Begins to connect. What tells of news is registered under `token`.
    pub fn start(
        portal: Portal,
        settings: &Settings,
        isid: Isid,
        registry: &Registry,
        token: Token,
    ) -> Result<Self, LinkEnd> {
        let address = portal.address;
        Ok(match portal.transport {
            Transport::Tcp => {
                Self::Tcp(Box::new(TcpLink::start(address, settings, isid, registry, token)?))
            }
            Transport::Iser => {
                Self::Iser(Box::new(IserLink::start(address, settings, isid, registry, token)?))
            }
        })
    }

    /// Takes a readiness event.
    pub fn on_readiness(&mut self, readiness: &Readiness) {
        match self {
            Self::Tcp(link) => link.on_readiness(readiness),
            Self::Iser(link) => link.readable = true,
        }
    }

    /// There may be something that was not received yet.
    #[inline]
    pub fn is_readable(&self) -> bool {
        match self {
            Self::Tcp(link) => link.readable,
            Self::Iser(link) => link.readable,
        }
    }

    /// Whether whole PDUs came since this was last asked.
    pub fn was_heard(&mut self) -> bool {
        std::mem::take(match self {
            Self::Tcp(link) => &mut link.heard,
            Self::Iser(link) => &mut link.heard,
        })
    }

    /// The session, once the login is done, and where its PDUs leave.
    #[inline]
    pub fn session(&mut self) -> Option<(&mut Session, Out<'_>)> {
        match self {
            Self::Tcp(link) => link.session(),
            Self::Iser(link) => link.session(),
        }
    }

    /// Takes the session out, when the link has ended. From then on the target reaches no memory of its tasks.
    pub fn into_session(self) -> Option<Session> {
        match self {
            Self::Tcp(link) => link.into_session(),
            Self::Iser(link) => link.into_session(),
        }
    }

    /// Wakes only for so many bytes, where the transport can.
    #[inline]
    pub fn set_low_water(&mut self, bytes: u32) {
        if let Self::Tcp(link) = self {
            link.set_low_water(bytes);
        }
    }

    /// Whether it wakes only for many bytes.
    #[inline]
    pub fn coalesces(&self) -> bool {
        matches!(self, Self::Tcp(link) if link.coalesces())
    }

    pub fn tcp_info(&self) -> TcpInfo {
        match self {
            Self::Tcp(link) => link.info(),
            Self::Iser(_) => TcpInfo::default(),
        }
    }

    pub fn rdma_counters(&self) -> Option<RdmaCounters> {
        match self {
            Self::Tcp(_) => None,
            Self::Iser(link) => Some(link.counters()),
        }
    }

    pub fn peer(&self) -> SocketAddr {
        match self {
            Self::Tcp(link) => link.peer,
            Self::Iser(link) => link.peer,
        }
    }

    pub fn local(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(link) => link.local(),
            Self::Iser(link) => link.local(),
        }
    }

    #[inline]
    pub fn has_unsent(&self) -> bool {
        match self {
            Self::Tcp(link) => link.has_unsent(),
            Self::Iser(link) => link.has_unsent(),
        }
    }

    /// Sends what is queued, as far as it can go.
    #[inline]
    pub fn flush(&mut self) -> Result<(), LinkEnd> {
        match self {
            Self::Tcp(link) => link.flush(),
            Self::Iser(link) => link.flush(),
        }
    }

    /// One receive and all PDUs that it completes. [`Self::is_readable`] tells whether to come again.
    #[inline]
    pub fn receive<U: Upper>(&mut self, scratch: &mut [u8], upper: &mut U) -> Result<(), LinkEnd> {
        match self {
            Self::Tcp(link) => link.receive(scratch, upper),
            Self::Iser(link) => link.receive(upper),
        }
    }
}
