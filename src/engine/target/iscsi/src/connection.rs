//! One TCP connection: first a login, then a session.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use plimsoll_fabric::{Close, Frame, Io, Remote};
use plimsoll_storage::StoreError;
use plimsoll_target_scsi::{Completion, Notice};
use plimsoll_wire::iscsi::{BHS_LEN, FrameError, frame_length};

use crate::login::{Login, Step};
use crate::server::Shared;
use crate::session::{Fence, Session, Tag};

/// What other threads tell a connection.
pub(crate) enum Event {
    /// The connection was accepted: its login time runs.
    Opened,
    /// The older session of the same name is gone: the login goes on.
    Proceed,
    /// A newer login has the same name: this one ends.
    Displaced,
    /// The session has to end at once.
    Drop,
    /// The initiator shall be asked to log out.
    RequestLogout {
        /// Time that it gets.
        seconds: u16,
    },
    /// The device server has something to say.
    Notice(Notice),
    /// Another session has aborted tasks of this one and waits for them to be gone.
    Fence(Arc<Fence>),
    /// The other sessions have dropped their tasks for the task management request with this tag.
    Fenced(u32),
    /// A command in the pool of blocking threads has ended.
    Completed(Tag, Completion),
    /// A cold read has ended.
    Read(Tag, Result<Vec<u8>, StoreError>),
}

enum Phase {
    Login(Box<Login>),
    Full(Box<Session>),
}

/// A connection of the target.
pub(crate) struct Connection {
    phase: Phase,
    peer: SocketAddr,
}

impl Connection {
    pub(crate) fn new(
        shared: Arc<Shared>,
        group: u16,
        peer: SocketAddr,
        local: SocketAddr,
        remote: Remote<Event>,
    ) -> Self {
        let login = Login::new(shared, group, peer, local, remote);
        Self { phase: Phase::Login(Box::new(login)), peer }
    }

    fn step(&mut self, step: Step, io: &mut Io<'_>) -> Result<(), Close> {
        if let Step::Full(session) = step {
            self.phase = Phase::Full(session);
        }
        self.settle(io)
    }

    /// What is due after each turn of a session.
    fn settle(&mut self, io: &mut Io<'_>) -> Result<(), Close> {
        match &mut self.phase {
            Phase::Full(session) => session.settle(io),
            Phase::Login(_) => Ok(()),
        }
    }
}

impl plimsoll_fabric::Connection for Connection {
    type Event = Event;

    #[inline]
    fn frame(&mut self, head: &[u8]) -> Result<Frame, Close> {
        let (digests, cap) = match &self.phase {
            Phase::Login(_) => Login::framing(),
            Phase::Full(session) => session.framing(),
        };
        match frame_length(head, digests, cap) {
            Ok(Some(length)) => Ok(Frame::Length(length)),
            Ok(None) => Ok(Frame::Need(BHS_LEN)),
            Err(error) => Err(broken(&error)),
        }
    }

    #[inline]
    fn on_frame(&mut self, frame: &[u8], io: &mut Io<'_>) -> Result<(), Close> {
        match &mut self.phase {
            Phase::Full(session) => session.on_frame(frame, io),
            Phase::Login(login) => {
                let step = login.on_frame(frame, io)?;
                self.step(step, io)
            }
        }
    }

    fn on_event(&mut self, event: Event, io: &mut Io<'_>) -> Result<(), Close> {
        match &mut self.phase {
            Phase::Login(login) => {
                let step = login.on_event(event, io)?;
                self.step(step, io)
            }
            Phase::Full(session) => {
                session.on_event(event, io)?;
                session.settle(io)
            }
        }
    }

    fn on_timer(&mut self, io: &mut Io<'_>) -> Result<(), Close> {
        match &mut self.phase {
            Phase::Login(login) => login.on_timer(io)?,
            Phase::Full(session) => session.on_timer(io)?,
        }
        self.settle(io)
    }

    fn on_batch(&mut self, io: &mut Io<'_>) -> Result<(), Close> {
        if let Phase::Full(session) = &mut self.phase {
            session.heard(io.now);
            session.settle(io)?;
        }
        Ok(())
    }

    fn wants_input(&self) -> bool {
        match &self.phase {
            Phase::Login(login) => login.wants_input(),
            Phase::Full(_) => true,
        }
    }

    fn on_close(&mut self, close: &Close) {
        let peer = self.peer;
        match &mut self.phase {
            Phase::Login(_) => tracing::debug!(%peer, %close, "login ended"),
            Phase::Full(session) => session.on_close(close),
        }
    }
}

/// What a frame that cannot be taken means for the connection.
pub(crate) fn broken(error: &FrameError) -> Close {
    Close::Protocol(error.to_string())
}

/// Counts a connection that has not logged in, for as long as it lives.
pub(crate) struct Pending(pub Arc<Shared>);

impl Drop for Pending {
    fn drop(&mut self) {
        self.0.logins.fetch_sub(1, Ordering::Relaxed);
    }
}
