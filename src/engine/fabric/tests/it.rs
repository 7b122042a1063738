//! The loops, seen from ordinary sockets.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "it/soft.rs"]
mod soft;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use plimsoll_fabric::{Close, Connection, Frame, Io, Loops, Payload, Remote, Service};

/// Answers each 4-byte request with that many bytes: 0 asks another thread, 1 asks the timer, 2 says good-bye.
struct Bytes {
    remote: Remote<u8>,
    closes: Sender<String>,
    paused: bool,
}

impl Connection for Bytes {
    type Event = u8;

    fn frame(&mut self, head: &[u8]) -> Result<Frame, Close> {
        Ok(if head.len() < 4 { Frame::Need(4) } else { Frame::Length(4) })
    }

    fn on_frame(&mut self, frame: &[u8], io: &mut Io<'_>) -> Result<(), Close> {
        match u32::from_be_bytes(frame.try_into().unwrap()) {
            0 => {
                self.paused = true;
                let remote = self.remote.clone();
                std::thread::spawn(move || remote.post(b'e'));
            }
            1 => *io.deadline = Some(io.now + Duration::from_millis(30)),
            2 => {
                io.send.bytes(b"bye");
                return Err(Close::Finished);
            }
            3 => return Err(Close::Protocol("three".into())),
            count => io.send.payload(Payload::from_vec(vec![b'p'; count as usize])),
        }
        Ok(())
    }

    fn on_event(&mut self, event: u8, io: &mut Io<'_>) -> Result<(), Close> {
        self.paused = false;
        io.send.bytes(&[event]);
        Ok(())
    }

    fn on_timer(&mut self, io: &mut Io<'_>) -> Result<(), Close> {
        io.send.bytes(b"t");
        Ok(())
    }

    fn wants_input(&self) -> bool {
        !self.paused
    }

    fn on_close(&mut self, close: &Close) {
        self.closes.send(close.to_string()).unwrap();
    }
}

struct Maker(std::sync::Mutex<Sender<String>>);

impl Service for Maker {
    type Connection = Bytes;

    fn accept(&self, _peer: SocketAddr, _local: SocketAddr, remote: Remote<u8>) -> Option<Bytes> {
        Some(Bytes { remote, closes: self.0.lock().unwrap().clone(), paused: false })
    }
}

fn start(threads: usize) -> (Loops, plimsoll_fabric::Listening, Receiver<String>) {
    let loops = Loops::start(threads, Duration::ZERO, "test").unwrap();
    let (sender, receiver) = channel();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let listening = loops.serve(listener, Maker(std::sync::Mutex::new(sender))).unwrap();
    (loops, listening, receiver)
}

fn connect(listening: &plimsoll_fabric::Listening) -> TcpStream {
    let stream = TcpStream::connect(listening.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

fn ask(stream: &mut TcpStream, count: u32) {
    stream.write_all(&count.to_be_bytes()).unwrap();
}

#[test]
fn replies_larger_than_the_socket_buffer_arrive_whole() {
    let (_loops, listening, _closes) = start(2);
    let mut stream = connect(&listening);
    for _ in 0..8 {
        ask(&mut stream, 3_000_000);
    }
    let mut total = 0;
    let mut buffer = vec![0; 100_000];
    while total < 24_000_000 {
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "closed after {total} bytes");
        assert!(buffer[..count].iter().all(|byte| *byte == b'p'));
        total += count;
    }
    assert_eq!(total, 24_000_000);
}

#[test]
fn another_thread_and_the_timer_wake_a_connection() {
    let (_loops, listening, _closes) = start(2);
    let mut stream = connect(&listening);
    let mut buffer = [0; 1];
    ask(&mut stream, 0);
    stream.read_exact(&mut buffer).unwrap();
    assert_eq!(&buffer, b"e");
    let began = Instant::now();
    ask(&mut stream, 1);
    stream.read_exact(&mut buffer).unwrap();
    assert_eq!(&buffer, b"t");
    assert!(began.elapsed() >= Duration::from_millis(25), "the timer came early");
}

/// Input that arrived while a connection was paused is taken when it goes on, without a new readiness event.
#[test]
fn what_came_during_a_pause_is_not_lost() {
    let (_loops, listening, _closes) = start(1);
    let mut stream = connect(&listening);
    for _ in 0..50 {
        ask(&mut stream, 0);
        ask(&mut stream, 5);
        let mut buffer = [0; 6];
        stream.read_exact(&mut buffer).unwrap();
        let mut sorted = buffer;
        sorted.sort_unstable();
        assert_eq!(&sorted, b"eppppp");
    }
}

#[test]
fn an_end_is_told_with_its_reason() {
    let (_loops, listening, closes) = start(2);
    let mut stream = connect(&listening);
    ask(&mut stream, 2);
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"bye");
    assert_eq!(closes.recv_timeout(Duration::from_secs(5)).unwrap(), "finished");

    let mut stream = connect(&listening);
    ask(&mut stream, 3);
    assert_eq!(closes.recv_timeout(Duration::from_secs(5)).unwrap(), "protocol error: three");

    // Request and end of stream in one segment: the end must be seen although it raised no event of its own.
    for _ in 0..20 {
        let mut stream = connect(&listening);
        ask(&mut stream, 5);
        drop(stream);
        let reason = closes.recv_timeout(Duration::from_secs(5)).unwrap();
        assert!(
            reason.contains("peer") || reason.contains("reset") || reason.contains("pipe"),
            "{reason}"
        );
    }
}

#[test]
fn connections_spread_and_end_with_the_loops() {
    let (loops, listening, closes) = start(4);
    let streams: Vec<_> = (0..64).map(|_| connect(&listening)).collect();
    let began = Instant::now();
    while loops.connections() < 64 && began.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(loops.connections(), 64);
    drop(listening);
    drop(loops);
    let reasons: Vec<_> = closes.try_iter().collect();
    assert_eq!(reasons.len(), 64);
    assert!(reasons.iter().all(|reason| reason.contains("stopping")));
    drop(streams);
}
