//! What a protocol implements to be served by the loops.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::loops::Mailbox;
use crate::{Close, Frame, SendQueue};

/// What a connection may use during one turn.
pub struct Io<'a> {
    /// Replies; one send goes out at the end of the turn.
    pub send: &'a mut SendQueue,
    /// The time of this turn.
    pub now: Instant,
    /// When this connection wants `on_timer` next; it is cleared before the call.
    pub deadline: &'a mut Option<Instant>,
}

/// One served connection: a state machine without sockets, run by one thread.
pub trait Connection: Send + 'static {
    /// What other threads may tell it.
    type Event: Send + 'static;

    /// Looks at the first bytes of a frame; the place to refuse a length above the cap.
    fn frame(&mut self, head: &[u8]) -> Result<Frame, Close>;
    /// Takes one whole frame.
    fn on_frame(&mut self, frame: &[u8], io: &mut Io<'_>) -> Result<(), Close>;
    /// Takes what another thread posted.
    fn on_event(&mut self, event: Self::Event, io: &mut Io<'_>) -> Result<(), Close>;
    /// The deadline passed.
    fn on_timer(&mut self, io: &mut Io<'_>) -> Result<(), Close>;
    /// All frames of one receive are taken; the send follows.
    fn on_batch(&mut self, io: &mut Io<'_>) -> Result<(), Close> {
        let _ = io;
        Ok(())
    }
    /// False stops receiving until it is true again: back-pressure. Asked after every turn.
    fn wants_input(&self) -> bool {
        true
    }
    /// The connection ends; nothing is called after this.
    fn on_close(&mut self, close: &Close) {
        let _ = close;
    }
}

/// What makes connections of one listener.
pub trait Service: Send + Sync + 'static {
    /// The connections it makes.
    type Connection: Connection;

    /// A new peer; none closes the socket at once (limits, access lists).
    fn accept(
        &self,
        peer: SocketAddr,
        local: SocketAddr,
        remote: Remote<<Self::Connection as Connection>::Event>,
    ) -> Option<Self::Connection>;
}

/// Speaks to a connection from any thread.
pub struct Remote<E> {
    events: Arc<Mutex<Vec<E>>>,
    mailbox: Arc<Mailbox>,
    token: u64,
}

impl<E> Clone for Remote<E> {
    fn clone(&self) -> Self {
        Self {
            events: Arc::clone(&self.events),
            mailbox: Arc::clone(&self.mailbox),
            token: self.token,
        }
    }
}

impl<E: Send> Remote<E> {
    pub(crate) fn new(mailbox: Arc<Mailbox>, token: u64) -> Self {
        Self { events: Arc::default(), mailbox, token }
    }

    /// Hands the event to the connection and wakes its thread. Harmless after the connection's end.
    pub fn post(&self, event: E) {
        let first = {
            let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
            events.push(event);
            events.len() == 1
        };
        if first {
            self.mailbox.notify(self.token);
        }
    }

    pub(crate) fn take(&self) -> Vec<E> {
        std::mem::take(&mut *self.events.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
