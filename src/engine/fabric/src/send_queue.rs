//! What is to be sent on one connection: headers by copy, payloads by reference, one `sendmsg` a turn.
//!
//! Headers written one after the other share one iovec, so sixty-four write replies or read requests are a
//! single run of bytes. After a partial send the queue is trimmed in place and goes on where it stopped.

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;

use crate::Payload;

/// Most parts given to the kernel in one call: 64 PDUs of header, payload and padding fit, and more brings
/// nothing (replies per call are flat from 16 on).
const PARTS_A_CALL: usize = 256;
/// A header buffer that has this many bytes sent is moved to the front when the queue never runs empty.
const COMPACT_AT: usize = 64 << 10;
/// A header buffer that has grown beyond this (copied data with digests) is given back when it is sent.
const HEADERS_KEPT: usize = 2 << 20;

enum Part {
    /// `len` bytes of the header buffer; parts of this kind are consumed in the order of the buffer.
    Headers(usize),
    Payload(Payload),
}

/// Bytes waiting to be sent, in order.
#[derive(Default)]
pub struct SendQueue {
    headers: Vec<u8>,
    /// How many bytes of `headers` are sent.
    sent: usize,
    parts: VecDeque<Part>,
    len: usize,
}

impl SendQueue {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes not yet handed to the kernel.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether everything is sent.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends `count` zeroed bytes and returns them to be filled.
    pub fn header(&mut self, count: usize) -> &mut [u8] {
        let start = self.headers.len();
        self.headers.resize(start + count, 0);
        self.count_header(count);
        &mut self.headers[start..]
    }

    /// Appends a copy of `bytes`.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.headers.extend_from_slice(bytes);
        self.count_header(bytes.len());
    }

    /// Appends what `fill` writes at the end of the header buffer; it must only append.
    pub fn append(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        let start = self.headers.len();
        fill(&mut self.headers);
        debug_assert!(self.headers.len() >= start, "the header buffer may only grow");
        let count = self.headers.len().saturating_sub(start);
        self.count_header(count);
    }

    /// Appends a payload by reference.
    pub fn payload(&mut self, payload: Payload) {
        if !payload.is_empty() {
            self.len += payload.len();
            self.parts.push_back(Part::Payload(payload));
        }
    }

    /// Forgets what is queued.
    pub fn clear(&mut self) {
        self.headers.clear();
        self.sent = 0;
        self.parts.clear();
        self.len = 0;
    }

    fn count_header(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        self.len += count;
        match self.parts.back_mut() {
            Some(Part::Headers(len)) => *len += count,
            _ => self.parts.push_back(Part::Headers(count)),
        }
    }

    /// Hands as much to the kernel as it takes; true when nothing is left, false when the socket is full.
    #[allow(unsafe_code)]
    pub fn flush(&mut self, socket: RawFd) -> io::Result<bool> {
        while self.len > 0 {
            // SAFETY: an array of `MaybeUninit` needs no initialisation.
            let mut vectors: [libc::iovec; PARTS_A_CALL] = unsafe { std::mem::zeroed() };
            let (mut used, mut bytes, mut header) = (0, 0, self.sent);
            for part in self.parts.iter().take(PARTS_A_CALL) {
                let (pointer, len) = match part {
                    Part::Headers(len) => {
                        let pointer = self.headers[header..].as_ptr();
                        header += len;
                        (pointer, *len)
                    }
                    Part::Payload(payload) => (payload.pointer(), payload.len()),
                };
                vectors[used] = libc::iovec { iov_base: pointer.cast_mut().cast(), iov_len: len };
                used += 1;
                bytes += len;
            }
            // SAFETY: a zeroed msghdr is a valid one without address, control data or vectors.
            let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
            message.msg_iov = vectors.as_mut_ptr();
            message.msg_iovlen = used;
            // SAFETY: every vector points at bytes that live through the call: headers are in
            // `self.headers`, which is not touched, and each payload keeps its owner alive. The kernel only
            // reads them, although iov_base is a mutable pointer by type.
            let sent = unsafe {
                libc::sendmsg(socket, &raw const message, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
            };
            let Ok(sent) = usize::try_from(sent) else {
                let error = io::Error::last_os_error();
                match error.kind() {
                    io::ErrorKind::WouldBlock => return Ok(false),
                    io::ErrorKind::Interrupted => continue,
                    _ => return Err(error),
                }
            };
            self.consume(sent);
            if sent < bytes {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn consume(&mut self, mut count: usize) {
        self.len -= count;
        while count > 0 {
            let Some(part) = self.parts.front_mut() else { break };
            let whole = match part {
                Part::Headers(len) => {
                    let taken = count.min(*len);
                    *len -= taken;
                    self.sent += taken;
                    count -= taken;
                    *len == 0
                }
                Part::Payload(payload) => {
                    let taken = count.min(payload.len());
                    payload.advance(taken);
                    count -= taken;
                    payload.is_empty()
                }
            };
            if whole {
                self.parts.pop_front();
            }
        }
        if self.sent == self.headers.len() {
            self.headers.clear();
            self.headers.shrink_to(HEADERS_KEPT);
            self.sent = 0;
        } else if self.sent >= COMPACT_AT && self.sent * 2 >= self.headers.len() {
            self.headers.drain(..self.sent);
            self.sent = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Read;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    /// What is queued arrives in order whatever the sizes of the partial sends.
    #[test]
    fn bytes_arrive_in_order_over_partial_sends() {
        let (near, mut far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        far.set_nonblocking(true).unwrap();
        let mut queue = SendQueue::new();
        let mut expected = Vec::new();
        let mut got = Vec::new();
        let mut seed = 7_u32;
        for round in 0..400_u32 {
            seed = seed.wrapping_mul(1_103_515_245).wrapping_add(12_345);
            let size = (seed >> 8) as usize % 9_000;
            let fill = u8::try_from(round % 251).unwrap();
            let bytes = vec![fill; size];
            expected.extend_from_slice(&bytes);
            match round % 3 {
                0 => queue.payload(Payload::from_vec(bytes)),
                1 => queue.bytes(&bytes),
                _ => queue.header(size).copy_from_slice(&bytes),
            }
            if round % 5 == 0 {
                queue.flush(near.as_raw_fd()).unwrap();
            }
            if round % 7 == 0 {
                let mut buffer = vec![0; 3_000];
                if let Ok(count) = far.read(&mut buffer) {
                    got.extend_from_slice(&buffer[..count]);
                }
            }
        }
        loop {
            let done = queue.flush(near.as_raw_fd()).unwrap();
            let mut buffer = vec![0; 70_000];
            if let Ok(count) = far.read(&mut buffer) {
                got.extend_from_slice(&buffer[..count]);
            } else if done {
                break;
            }
        }
        assert!(queue.is_empty());
        assert_eq!(got.len(), expected.len());
        assert!(got == expected, "bytes differ");
    }

    /// A payload's memory may be let go by its store while it waits to be sent.
    #[test]
    fn a_payload_keeps_its_memory() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let mut queue = SendQueue::new();
        let mut payload = Payload::from_vec(b"abcdef".to_vec());
        let head = payload.split_to(2);
        queue.payload(payload);
        queue.payload(head);
        assert!(queue.flush(near.as_raw_fd()).unwrap());
        let mut buffer = [0; 6];
        far.read_exact(&mut buffer).unwrap();
        assert_eq!(&buffer, b"cdefab");
    }
}
