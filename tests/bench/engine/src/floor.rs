//! The floor: what loopback TCP gives a bare pipelined request and reply, with no protocol at all.
//!
//! A client keeps a window of 48-byte requests in flight; a server answers each with 48 bytes and the block.
//! All requests of one receive are answered by one vectored send. For writes the block travels with the
//! request. Each connection has a thread at either end, blocking sockets, and nothing is checked: no design
//! with a protocol in it should be expected to be faster, and one that is close wastes nothing.

use std::io::{self, IoSlice, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::cpu::process_cpu_seconds;
use crate::load::{Direction, Load, Rate};

const HEADER_BYTES: usize = 48;
/// The area that replies are sent from: larger than any cache of these machines.
const AREA_BYTES: usize = 60 << 20;
/// Replies in one vectored send.
const REPLIES_A_SEND: usize = 60;

/// Runs the floor for a load.
pub fn run(load: &Load, span: Duration) -> io::Result<Rate> {
    let stop = Arc::new(AtomicBool::new(false));
    let done = Arc::new(AtomicU64::new(0));
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let mut threads = Vec::new();
    for _ in 0..load.connections {
        let client = TcpStream::connect(address)?;
        let (server, _) = listener.accept()?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let load = *load;
        threads.push(std::thread::spawn(move || serve(server, &load)));
        let (stop, done) = (Arc::clone(&stop), Arc::clone(&done));
        threads.push(std::thread::spawn(move || ask(client, &load, &stop, &done)));
    }
    let (began, cpu) = (Instant::now(), process_cpu_seconds());
    std::thread::sleep(span);
    let count = done.load(Ordering::Relaxed);
    let (elapsed, cpu) = (began.elapsed(), process_cpu_seconds() - cpu);
    stop.store(true, Ordering::Relaxed);
    for thread in threads {
        let _ = thread.join();
    }
    Ok(Rate::new(count, elapsed, cpu))
}

fn sizes(load: &Load) -> (usize, usize) {
    match load.direction {
        Direction::Read => (HEADER_BYTES, HEADER_BYTES + load.block_bytes),
        Direction::Write => (HEADER_BYTES + load.block_bytes, HEADER_BYTES),
    }
}

fn serve(mut socket: TcpStream, load: &Load) {
    let (request, _) = sizes(load);
    let area = vec![7_u8; AREA_BYTES];
    let header = [0_u8; HEADER_BYTES];
    let mut buffer = vec![0; 256 << 10];
    let (mut have, mut seed) = (0, 1_u32);
    loop {
        let Ok(count @ 1..) = socket.read(&mut buffer) else { return };
        have += count;
        let mut whole = have / request;
        have -= whole * request;
        while whole > 0 {
            let batch = whole.min(REPLIES_A_SEND);
            let mut parts = Vec::with_capacity(2 * batch);
            for _ in 0..batch {
                parts.push(IoSlice::new(&header));
                if load.direction == Direction::Read {
                    seed = seed.wrapping_mul(1_103_515_245).wrapping_add(12_345);
                    let blocks = (AREA_BYTES - load.block_bytes) / 4_096;
                    let at = (seed >> 8) as usize % blocks * 4_096;
                    parts.push(IoSlice::new(&area[at..at + load.block_bytes]));
                }
            }
            if send_all(&mut socket, &mut parts).is_err() {
                return;
            }
            whole -= batch;
        }
    }
}

fn ask(mut socket: TcpStream, load: &Load, stop: &AtomicBool, done: &AtomicU64) {
    let (request, reply) = sizes(load);
    let asked = vec![0_u8; request * load.depth];
    let mut buffer = vec![0; 1 << 20];
    if socket.write_all(&asked).is_err() {
        return;
    }
    let mut have = 0;
    while !stop.load(Ordering::Relaxed) {
        let Ok(count @ 1..) = socket.read(&mut buffer) else { return };
        have += count;
        let whole = have / reply;
        have -= whole * reply;
        if whole > 0 {
            done.fetch_add(whole as u64, Ordering::Relaxed);
            if socket.write_all(&asked[..whole * request]).is_err() {
                return;
            }
        }
    }
}

fn send_all(socket: &mut TcpStream, mut parts: &mut [IoSlice<'_>]) -> io::Result<()> {
    while !parts.is_empty() {
        let sent = socket.write_vectored(parts)?;
        IoSlice::advance_slices(&mut parts, sent);
    }
    Ok(())
}
