//! The two sides of `rping` (rdma-core's example): the client offers memory, the server reads it; the client offers
//! other memory, the server writes the same bytes into it; the client compares.
//!
//! Each offer is a message of 16 bytes, big endian: address, key, length. The server answers each with a message
//! of 16 bytes that says nothing.

use std::net::SocketAddr;
use std::time::Instant;

use plimsoll_fabric::rdma::{
    Access, Completion, ConnectionEvent, Establish, Fabric, Operation, RemoteAddress, Status, Work,
};

use crate::Trouble;
use crate::end::{Door, End, PATIENCE, QUEUES, resolve};

const OFFER: usize = 16;
/// Where things are in the memory of an end.
const RECEIVE: usize = 0;
const SEND: usize = 64;
const SOURCE: usize = 4096;
const SINK: usize = 8192;
/// What rping takes when it is not told.
const LEN: usize = 64;

fn terms() -> Establish {
    Establish { private_data: Vec::new(), initiator_depth: 1, responder_resources: 1 }
}

/// Waits for a completion of a kind; others that are well pass by.
fn wait(end: &mut End, operation: Operation) -> Result<Completion, Trouble> {
    loop {
        let done = end.completion()?;
        if done.status != Status::Success {
            return Err(format!("{done:?}").into());
        }
        if done.operation == operation {
            return Ok(done);
        }
    }
}

fn wait_message(end: &mut End) -> Result<(), Trouble> {
    match wait(end, Operation::Receive)?.len as usize {
        OFFER => Ok(()),
        len => Err(format!("a message of {len} bytes").into()),
    }
}

/// As rping's client.
pub fn client(fabric: &dyn Fabric, to: SocketAddr, count: u32) -> Result<bool, Trouble> {
    let mut end = resolve(fabric, to, 16384, Access::LOCAL)?;
    end.receive(0, RECEIVE, OFFER)?;
    let domain = end.endpoint.domain()?;
    let source = domain.keys(&end.memory, Access::REMOTE_READ)?.remote;
    let sink = domain.keys(&end.memory, Access::REMOTE_WRITE)?.remote;
    end.endpoint.establish(&terms())?;
    end.expect_established()?;
    for round in 0..count {
        let mut bytes = format!("rdma-ping-{round}: ").into_bytes();
        bytes.extend((0..).map(|at: u32| b'A' + ((round + at) % 58) as u8).take(LEN - bytes.len()));
        bytes[LEN - 1] = 0;
        end.put(SOURCE, &bytes);
        end.put(SINK, &[0; LEN]);
        for (place, key) in [(SOURCE, source), (SINK, sink)] {
            let mut offer = (end.memory.pointer() as u64 + place as u64).to_be_bytes().to_vec();
            offer.extend(key.to_be_bytes());
            offer.extend((LEN as u32).to_be_bytes());
            end.put(SEND, &offer);
            end.send(1, SEND, OFFER)?;
            wait_message(&mut end)?;
            end.receive(0, RECEIVE, OFFER)?;
        }
        if end.bytes(SINK, LEN) != bytes {
            return Err(format!("round {round}: other bytes came back").into());
        }
    }
    end.endpoint.disconnect();
    println!("ok {count} rounds as the client of rping");
    Ok(true)
}

/// As rping's server, for one client.
pub fn server(fabric: &dyn Fabric, address: SocketAddr) -> Result<bool, Trouble> {
    let mut door = Door::new(fabric, address)?;
    println!("ready");
    let incoming = door.incoming(PATIENCE)?;
    let mut end = End::new(incoming.request.open(QUEUES)?, 16384)?;
    end.register(Access::LOCAL)?;
    end.receive(0, RECEIVE, OFFER)?;
    end.endpoint.establish(&terms())?;
    let mut rounds = 0;
    loop {
        let Some((remote, len)) = offer(&mut end)? else { break };
        let segments = [end.segment(SINK, len)?];
        end.endpoint.post(&Work::Read { id: 1, segments: &segments, remote })?;
        end.endpoint.flush()?;
        wait(&mut end, Operation::Read)?;
        end.send(2, SEND, OFFER)?;
        let Some((remote, len)) = offer(&mut end)? else {
            return Err("the client left in the middle of a round".into());
        };
        let segments = [end.segment(SINK, len)?];
        end.endpoint.post(&Work::Write { id: 3, segments: &segments, remote, signal: false })?;
        end.send(4, SEND, OFFER)?;
        rounds += 1;
    }
    println!("ok {rounds} rounds as the server of rping");
    Ok(rounds > 0)
}

/// The client's next offer; none when it has left.
fn offer(end: &mut End) -> Result<Option<(RemoteAddress, usize)>, Trouble> {
    loop {
        let Some(done) = end.completions.pop_front() else {
            if end.events.contains(&ConnectionEvent::Disconnected) {
                return Ok(None);
            }
            end.step(Instant::now() + PATIENCE)?;
            continue;
        };
        match (done.status, done.operation) {
            (Status::Success, Operation::Receive) => break,
            (Status::Success, _) => {}
            (Status::Flushed, _) => return Ok(None),
            _ => return Err(format!("{done:?}").into()),
        }
    }
    let bytes = end.bytes(RECEIVE, OFFER);
    let number = |at: usize, len: usize| {
        bytes[at..at + len].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    };
    let remote = RemoteAddress { address: number(0, 8), key: number(8, 4) as u32 };
    let len = number(12, 4) as usize;
    end.receive(0, RECEIVE, OFFER)?;
    Ok(Some((remote, len)))
}
