//! One connection: first a login, then a session. Over TCP it is served as it is; over RDMA see
//! [`iser`](crate::iser).

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use plimsoll_fabric::{Close, Frame, Io, Remote, SendQueue};
use plimsoll_storage::StoreError;
use plimsoll_target_scsi::{Completion, Notice};
use plimsoll_wire::iscsi::{BHS_LEN, FrameError, frame_length};

use crate::login::{Login, Step};
use crate::mover::{Mover, Turn};
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

enum Phase<M: Mover> {
    Login(Box<Login<M>>),
    Full(Box<Session<M>>),
}

/// A connection of the target, whatever it runs on.
pub(crate) struct Connection<M: Mover> {
    phase: Phase<M>,
    peer: SocketAddr,
}

impl<M: Mover> Connection<M> {
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

    /// The session, once the login is complete.
    #[inline]
    pub(crate) fn session(&mut self) -> Option<&mut Session<M>> {
        match &mut self.phase {
            Phase::Full(session) => Some(session),
            Phase::Login(_) => None,
        }
    }

    /// Takes one frame.
    #[inline]
    pub(crate) fn take(&mut self, frame: &[u8], io: &mut Turn<'_, M>) -> Result<(), Close> {
        match &mut self.phase {
            Phase::Full(session) => session.on_frame(frame, io),
            Phase::Login(login) => {
                let step = login.on_frame(frame, io)?;
                self.step(step, io)
            }
        }
    }

    pub(crate) fn event(&mut self, event: Event, io: &mut Turn<'_, M>) -> Result<(), Close> {
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

    pub(crate) fn timer(&mut self, io: &mut Turn<'_, M>) -> Result<(), Close> {
        match &mut self.phase {
            Phase::Login(login) => login.on_timer(io)?,
            Phase::Full(session) => session.on_timer(io)?,
        }
        self.settle(io)
    }

    /// All frames of one receive are taken.
    pub(crate) fn batch(&mut self, io: &mut Turn<'_, M>) -> Result<(), Close> {
        if let Phase::Full(session) = &mut self.phase {
            session.heard(io.now);
            session.settle(io)?;
        }
        Ok(())
    }

    /// False while a login waits for the end of an older session.
    pub(crate) fn wants_frames(&self) -> bool {
        match &self.phase {
            Phase::Login(login) => login.wants_input(),
            Phase::Full(_) => true,
        }
    }

    pub(crate) fn closed(&mut self, close: &Close) {
        let peer = self.peer;
        match &mut self.phase {
            Phase::Login(_) => tracing::debug!(%peer, %close, "login ended"),
            Phase::Full(session) => session.on_close(close),
        }
    }

    fn step(&mut self, step: Step<M>, io: &mut Turn<'_, M>) -> Result<(), Close> {
        if let Step::Full(session) = step {
            self.phase = Phase::Full(session);
        }
        self.settle(io)
    }

    /// What is due after each turn of a session.
    fn settle(&mut self, io: &mut Turn<'_, M>) -> Result<(), Close> {
        match &mut self.phase {
            Phase::Full(session) => session.settle(io),
            Phase::Login(_) => Ok(()),
        }
    }
}

#[inline]
fn turn<'a>(io: &'a mut Io<'_>) -> Turn<'a, SendQueue> {
    Turn { send: io.send, now: io.now, deadline: io.deadline }
}

impl plimsoll_fabric::Connection for Connection<SendQueue> {
    type Event = Event;

    #[inline]
    fn frame(&mut self, head: &[u8]) -> Result<Frame, Close> {
        let (digests, cap) = match &self.phase {
            Phase::Login(_) => Login::<SendQueue>::framing(),
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
        self.take(frame, &mut turn(io))
    }

    fn on_event(&mut self, event: Event, io: &mut Io<'_>) -> Result<(), Close> {
        self.event(event, &mut turn(io))
    }

    fn on_timer(&mut self, io: &mut Io<'_>) -> Result<(), Close> {
        self.timer(&mut turn(io))
    }

    fn on_batch(&mut self, io: &mut Io<'_>) -> Result<(), Close> {
        self.batch(&mut turn(io))
    }

    fn wants_input(&self) -> bool {
        self.wants_frames()
    }

    fn on_close(&mut self, close: &Close) {
        self.closed(close);
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
