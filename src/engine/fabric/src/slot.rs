//! One connection in its loop: stream, protocol, deadline, what was posted.

use std::time::Instant;

use mio::event::Source;

use crate::{Close, Connection, Frame, Frames, Io, Received, Remote, SendQueue, Stream};

/// A peer that does not take its replies is not read from while more than this waits for it.
const UNSENT_BYTES_MAX: usize = 4 << 20;

/// What the kernel said of a socket.
#[derive(Clone, Copy, Default)]
pub(crate) struct Ready {
    pub readable: bool,
    /// The peer sends no more; an end that came together with data raises no event of its own.
    pub hung_up: bool,
}

/// What a turn left.
pub(crate) struct Turn {
    /// There is more to receive: give it another turn.
    pub again: bool,
    /// When it wants to be woken.
    pub deadline: Option<Instant>,
}

/// What the loop knows of a connection, whatever its protocol.
pub(crate) trait Slot: Send {
    fn source(&mut self) -> &mut dyn Source;
    /// The socket became readable, writable or was hung up, or it has another turn.
    fn on_ready(&mut self, ready: Ready, scratch: &mut [u8], now: Instant) -> Result<Turn, Close>;
    fn on_events(&mut self, scratch: &mut [u8], now: Instant) -> Result<Turn, Close>;
    fn on_timer(&mut self, scratch: &mut [u8], now: Instant) -> Result<Turn, Close>;
    fn on_close(&mut self, close: &Close);
}

pub(crate) struct TypedSlot<C: Connection> {
    connection: C,
    stream: Stream,
    remote: Remote<C::Event>,
    deadline: Option<Instant>,
    /// The socket was readable when last seen.
    readable: bool,
    /// The peer sends no more: read on until the end is reached.
    hung_up: bool,
    /// Its work is done; it lives until what is queued is sent.
    finishing: bool,
}

impl<C: Connection> TypedSlot<C> {
    pub(crate) fn new(connection: C, stream: Stream, remote: Remote<C::Event>) -> Self {
        Self {
            connection,
            stream,
            remote,
            deadline: None,
            readable: false,
            hung_up: false,
            finishing: false,
        }
    }

    /// Runs `step` on the protocol with its view of the turn.
    fn step(
        &mut self,
        now: Instant,
        step: impl FnOnce(&mut C, &mut Io<'_>) -> Result<(), Close>,
    ) -> Result<(), Close> {
        let mut io = Io { send: &mut self.stream.send, now, deadline: &mut self.deadline };
        step(&mut self.connection, &mut io)
    }

    /// Receives once if there is something and the protocol wants it; then one send.
    fn turn(&mut self, scratch: &mut [u8], now: Instant) -> Result<Turn, Close> {
        let wanted = |slot: &Self| {
            slot.readable
                && !slot.finishing
                && slot.stream.send.len() < UNSENT_BYTES_MAX
                && slot.connection.wants_input()
        };
        if wanted(self) {
            let mut frames =
                Adapter { connection: &mut self.connection, now, deadline: &mut self.deadline };
            let received = self.stream.receive(scratch, &mut frames);
            let result = match received {
                Ok(received) => {
                    self.readable = received == Received::More || self.hung_up;
                    self.step(now, C::on_batch)
                }
                Err(close) => Err(close),
            };
            self.outcome(result)?;
        }
        let flushed = self.stream.flush()?;
        if self.finishing && flushed {
            return Err(Close::Finished);
        }
        Ok(Turn { again: wanted(self), deadline: self.deadline })
    }

    /// A finished connection still sends what is queued; a broken one at least tries to say why.
    fn outcome(&mut self, result: Result<(), Close>) -> Result<(), Close> {
        match result {
            Err(Close::Finished) => {
                self.finishing = true;
                Ok(())
            }
            Err(close @ Close::Protocol(_)) => {
                let _ = self.stream.flush();
                Err(close)
            }
            other => other,
        }
    }
}

impl<C: Connection> Slot for TypedSlot<C> {
    fn source(&mut self) -> &mut dyn Source {
        self.stream.socket_mut()
    }

    fn on_ready(&mut self, ready: Ready, scratch: &mut [u8], now: Instant) -> Result<Turn, Close> {
        self.readable |= ready.readable;
        self.hung_up |= ready.hung_up;
        self.turn(scratch, now)
    }

    fn on_events(&mut self, scratch: &mut [u8], now: Instant) -> Result<Turn, Close> {
        for event in self.remote.take() {
            let result = self.step(now, |connection, io| connection.on_event(event, io));
            self.outcome(result)?;
        }
        self.turn(scratch, now)
    }

    fn on_timer(&mut self, scratch: &mut [u8], now: Instant) -> Result<Turn, Close> {
        self.deadline = None;
        let result = self.step(now, C::on_timer);
        self.outcome(result)?;
        self.turn(scratch, now)
    }

    fn on_close(&mut self, close: &Close) {
        self.connection.on_close(close);
    }
}

/// Gives the frames of a stream to a protocol.
struct Adapter<'a, C> {
    connection: &'a mut C,
    now: Instant,
    deadline: &'a mut Option<Instant>,
}

impl<C: Connection> Frames for Adapter<'_, C> {
    fn frame(&mut self, head: &[u8]) -> Result<Frame, Close> {
        self.connection.frame(head)
    }

    fn on_frame(&mut self, frame: &[u8], send: &mut SendQueue) -> Result<(), Close> {
        self.connection.on_frame(frame, &mut Io { send, now: self.now, deadline: self.deadline })
    }
}
