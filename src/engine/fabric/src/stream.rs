//! One connection's bytes: received into a buffer that the thread owns, cut into frames in place.
//!
//! A frame (a PDU, an RPC record) that lies whole in the receive buffer is handed out where it is. Only a
//! frame split by the end of the buffer is copied, into a stash of the connection, and the rest of it is then
//! received straight into the stash. The stash grows with what has arrived, never with what a length claims.

use std::io;
use std::os::fd::{AsRawFd, RawFd};

use mio::net::TcpStream;

use crate::{Close, SendQueue};

/// Size in bytes of the receive buffer of a thread: smaller costs throughput from 64 KiB blocks on, larger
/// brings nothing.
pub const RECEIVE_BUFFER_BYTES: usize = 256 << 10;
/// A stash grows in steps of at least this many bytes.
const STASH_STEP: usize = 16 << 10;
/// A stash larger than this is given back when it has been emptied and no large frame followed.
const STASH_KEPT: usize = 64 << 10;

/// How long the frame at the head of the buffer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// That many bytes in all are needed before the length is known; never more than the frame has.
    Need(usize),
    /// The whole frame has that many bytes.
    Length(usize),
}

/// What cuts a stream into frames and takes them.
pub trait Frames {
    /// Looks at the first bytes of a frame; the place to refuse a length above the cap.
    fn frame(&mut self, head: &[u8]) -> Result<Frame, Close>;
    /// Takes one whole frame; replies go to `send`.
    fn on_frame(&mut self, frame: &[u8], send: &mut SendQueue) -> Result<(), Close>;
}

/// What a receive left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// The socket is empty: wait for the next readiness event.
    Drained,
    /// There may be more: call again when the others had their turn.
    More,
}

/// A non-blocking TCP connection with its send queue.
pub struct Stream {
    socket: TcpStream,
    stash: Vec<u8>,
    /// How many bytes the stash must have before it is looked at again.
    expected: usize,
    /// What waits to be sent.
    pub send: SendQueue,
}

impl Stream {
    /// Takes over a connected socket; turns Nagle's algorithm off.
    pub fn new(socket: TcpStream) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        Ok(Self { socket, stash: Vec::new(), expected: 0, send: SendQueue::new() })
    }

    /// The socket, to be registered with a poll.
    pub fn socket_mut(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    /// The socket, to be asked for addresses and options.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Bytes of an incomplete frame held back.
    pub fn stashed_bytes(&self) -> usize {
        self.stash.len()
    }

    /// Sends what is queued; true when all is gone, false when the socket is full.
    pub fn flush(&mut self) -> io::Result<bool> {
        self.send.flush(self.socket.as_raw_fd())
    }

    /// One receive into `scratch` and every whole frame that it completes.
    pub fn receive(
        &mut self,
        scratch: &mut [u8],
        frames: &mut impl Frames,
    ) -> Result<Received, Close> {
        let room = self.make_room();
        let count = match receive_into(
            self.socket.as_raw_fd(),
            self.stash.spare_capacity_mut(),
            room,
            scratch,
        ) {
            Ok(0) => return Err(Close::Peer),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Ok(Received::Drained);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Received::More),
            Err(error) => return Err(Close::Error(error)),
        };
        let stashed = count.min(room);
        self.grow_stash(stashed);
        let arrived = &scratch[..count - stashed];
        let taken = self.finish_stash(arrived, frames)?;
        self.cut(&arrived[taken..], frames)?;
        Ok(if count < room + scratch.len() { Received::Drained } else { Received::More })
    }

    /// Spare bytes at the end of the stash to receive into: as many as the stash already has, at least one
    /// step, at most what its frame lacks.
    fn make_room(&mut self) -> usize {
        if self.stash.is_empty() {
            return 0;
        }
        let lacking = self.expected - self.stash.len();
        let room = lacking.min(self.stash.len().max(STASH_STEP));
        self.stash.reserve_exact(room);
        room
    }

    #[allow(unsafe_code)]
    fn grow_stash(&mut self, count: usize) {
        // SAFETY: `receive_into` filled `count` bytes of the spare capacity, which begins at `len`.
        unsafe { self.stash.set_len(self.stash.len() + count) };
    }

    /// Completes the stashed frame from `arrived`; says how many of its bytes were taken.
    fn finish_stash(&mut self, arrived: &[u8], frames: &mut impl Frames) -> Result<usize, Close> {
        let mut taken = 0;
        while !self.stash.is_empty() {
            let lacking = self.expected - self.stash.len();
            let more = lacking.min(arrived.len() - taken);
            self.stash.extend_from_slice(&arrived[taken..taken + more]);
            taken += more;
            if more < lacking {
                break;
            }
            match frames.frame(&self.stash)? {
                Frame::Length(length) if length == self.stash.len() => {
                    let result = frames.on_frame(&self.stash, &mut self.send);
                    self.stash.clear();
                    if length < STASH_KEPT && self.stash.capacity() > STASH_KEPT {
                        self.stash = Vec::new();
                    }
                    result?;
                }
                Frame::Length(wanted) | Frame::Need(wanted) if wanted > self.stash.len() => {
                    self.expected = wanted;
                }
                _ => {
                    return Err(Close::Protocol(
                        "a frame is shorter than its own header".to_owned(),
                    ));
                }
            }
        }
        Ok(taken)
    }

    /// Hands out the whole frames of `bytes` and stashes what is left.
    fn cut(&mut self, mut bytes: &[u8], frames: &mut impl Frames) -> Result<(), Close> {
        while !bytes.is_empty() {
            match frames.frame(bytes)? {
                Frame::Length(0) => return Err(Close::Protocol("a frame of no bytes".to_owned())),
                Frame::Length(length) if length <= bytes.len() => {
                    frames.on_frame(&bytes[..length], &mut self.send)?;
                    bytes = &bytes[length..];
                }
                Frame::Length(wanted) | Frame::Need(wanted) if wanted > bytes.len() => {
                    self.expected = wanted;
                    self.stash.extend_from_slice(bytes);
                    break;
                }
                _ => {
                    return Err(Close::Protocol(
                        "a frame is shorter than its own header".to_owned(),
                    ));
                }
            }
        }
        Ok(())
    }
}

/// One `recvmsg` into the first `room` bytes of `first`, then into `second`.
#[allow(unsafe_code)]
fn receive_into(
    socket: RawFd,
    first: &mut [std::mem::MaybeUninit<u8>],
    room: usize,
    second: &mut [u8],
) -> io::Result<usize> {
    let first = &mut first[..room];
    let mut vectors = [
        libc::iovec { iov_base: first.as_mut_ptr().cast(), iov_len: first.len() },
        libc::iovec { iov_base: second.as_mut_ptr().cast(), iov_len: second.len() },
    ];
    let used = if room == 0 { &mut vectors[1..] } else { &mut vectors[..] };
    // SAFETY: a zeroed msghdr is a valid one without address, control data or vectors.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = used.as_mut_ptr();
    message.msg_iovlen = used.len();
    // SAFETY: both vectors are exclusively borrowed, writable memory of the lengths given.
    let count = unsafe { libc::recvmsg(socket, &raw mut message, libc::MSG_DONTWAIT) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Write;
    use std::net::TcpListener;

    use super::*;

    /// Frames of a two-byte length and that many bytes of it.
    #[derive(Default)]
    struct Lengths {
        seen: Vec<(usize, u8)>,
    }

    impl Frames for Lengths {
        fn frame(&mut self, head: &[u8]) -> Result<Frame, Close> {
            Ok(match head {
                [high, low, ..] => Frame::Length(2 + usize::from(*high) * 256 + usize::from(*low)),
                _ => Frame::Need(2),
            })
        }

        fn on_frame(&mut self, frame: &[u8], _send: &mut SendQueue) -> Result<(), Close> {
            let body = &frame[2..];
            let first = body.first().copied().unwrap_or(0);
            assert!(body.iter().all(|byte| *byte == first), "a frame was cut in the wrong place");
            self.seen.push((body.len(), first));
            Ok(())
        }
    }

    fn pair() -> (std::net::TcpStream, Stream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        server.set_nonblocking(true).unwrap();
        (client, Stream::new(TcpStream::from_std(server)).unwrap())
    }

    /// Whatever the split of the bytes over segments, the frames come out whole and in order.
    #[test]
    fn frames_survive_any_split() {
        let (mut client, mut stream) = pair();
        let mut expected = Vec::new();
        let mut bytes = Vec::new();
        let mut seed = 3_u32;
        for index in 0..300_u32 {
            seed = seed.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            let size = if index % 9 == 0 { 60_000 } else { (seed >> 8) as usize % 5_000 };
            let fill = u8::try_from(index % 250 + 1).unwrap();
            bytes.extend_from_slice(&u16::try_from(size).unwrap().to_be_bytes());
            bytes.resize(bytes.len() + size, fill);
            expected.push((size, if size == 0 { 0 } else { fill }));
        }
        let sender = std::thread::spawn(move || {
            let mut at = 0;
            let mut step = 1;
            while at < bytes.len() {
                let end = (at + step).min(bytes.len());
                client.write_all(&bytes[at..end]).unwrap();
                at = end;
                step = step * 7 % 40_009 + 1;
            }
        });
        let mut lengths = Lengths::default();
        for size in [1_000, RECEIVE_BUFFER_BYTES].iter().cycle() {
            let mut scratch = vec![0; *size];
            match stream.receive(&mut scratch, &mut lengths) {
                Ok(_) => std::thread::yield_now(),
                Err(Close::Peer) => break,
                Err(close) => panic!("{close:?}"),
            }
        }
        sender.join().unwrap();
        assert_eq!(lengths.seen, expected);
    }

    /// A header that claims much and sends little holds little.
    #[test]
    fn a_claimed_length_does_not_size_memory() {
        let (mut client, mut stream) = pair();
        client.write_all(&[0xff, 0xff, 1]).unwrap();
        let mut scratch = vec![0; 4_096];
        let mut lengths = Lengths::default();
        for _ in 0..100 {
            stream.receive(&mut scratch, &mut lengths).unwrap();
        }
        assert_eq!(stream.stashed_bytes(), 3);
        assert!(stream.stash.capacity() <= 2 * STASH_STEP);
    }
}
