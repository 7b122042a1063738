//! What connections must do, both ends in one process.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_fabric::rdma::{
    Access, ConnectionEvent, Establish, Fabric, Memory, Operation, Queues, RdmaError, Region,
    RemoteAddress, Segment, Status, Work,
};

use crate::Trouble;
use crate::end::{Door, End, PATIENCE, QUEUES, connect, resolve, terms};

type Check = fn(&dyn Fabric, IpAddr) -> Result<(), Trouble>;

const CHECKS: &[(&str, Check)] = &[
    ("private data, depths and addresses of both ends", establishes),
    ("odd depths are held to what the ends can do", pitfall_20_odd_depths),
    ("a wildcard of each family on one port", pitfall_12_wildcards),
    ("a message before the connection is told to be up", pitfall_05_early_message),
    ("messages of several segments, data compared", gathered_sends),
    ("an RDMA write is there when the message after it is", write_then_send),
    ("more RDMA reads than may be outstanding, data compared", many_reads),
    ("one completion for sixteen sends, one doorbell a flush", few_signals),
    ("a message waits for its receive (RNR)", receiver_not_ready),
    ("a full send queue and a full receive queue", full_queues),
    ("a message longer than its receive breaks the connection", too_long_message),
    ("an RDMA write beyond the bounds is refused", write_out_of_bounds),
    ("an RDMA write without the right is refused", write_without_right),
    ("an RDMA read without the right is refused", read_without_right),
    ("a key that has ended is refused", ended_key),
    ("a wrong local key is refused", wrong_local_key),
    ("invalidation of a region of a program is refused", pitfall_02_invalidation),
    ("disconnecting flushes receives and reaches the peer", disconnects),
    ("an endpoint that is dropped disconnects", drops),
    ("a peer that is refused gets the private data", refuses),
    ("a request that is dropped is refused", drops_request),
    ("nobody listens", nobody_listens),
    ("an address without an adapter", no_adapter),
    ("connections of one listener share a domain, connecting ones do not", domains),
    ("64 connections at a time", many_connections),
    ("endpoints on other threads", threads),
];

/// Whether all held.
pub fn run(fabric: &dyn Fabric, address: IpAddr) -> bool {
    let mut well = true;
    for (what, check) in CHECKS {
        let began = Instant::now();
        match check(fabric, address) {
            Ok(()) => println!("ok {address} {what} ({} ms)", began.elapsed().as_millis()),
            Err(trouble) => {
                println!("FAIL {address} {what}: {trouble}");
                well = false;
            }
        }
    }
    well
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, got: T, wanted: T) -> Result<(), Trouble> {
    if got == wanted { Ok(()) } else { Err(format!("{what}: {got:?}, expected {wanted:?}").into()) }
}

fn door(fabric: &dyn Fabric, address: IpAddr) -> Result<Door, Trouble> {
    Door::new(fabric, SocketAddr::new(address, 0))
}

/// Bytes that tell where they are from.
fn pattern(seed: u8, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at as u8).wrapping_mul(31) ^ (at >> 8) as u8 ^ seed).collect()
}

fn establishes(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    let mut door = door(fabric, address)?;
    let mut client = resolve(fabric, door.address(), 4096, Access::LOCAL)?;
    let limits = client.endpoint.limits();
    expect("segments", limits.segments, QUEUES.segments)?;
    let asks =
        Establish { private_data: pattern(1, 56), initiator_depth: 255, responder_resources: 255 };
    client.endpoint.establish(&asks)?;
    let incoming = door.incoming(PATIENCE)?;
    expect("private data of the request", &incoming.asks.private_data[..56], &pattern(1, 56))?;
    expect("its reads", incoming.asks.initiator_depth, limits.reads_outstanding)?;
    expect("reads it answers", incoming.asks.responder_resources, limits.reads_answered)?;
    expect("address asked for", incoming.local, door.address())?;
    expect("address of the peer", Some(incoming.peer), client.endpoint.local())?;
    let mut server = End::new(incoming.request.open(QUEUES)?, 4096)?;
    expect("address of this end", server.endpoint.local(), Some(door.address()))?;
    let says =
        Establish { private_data: pattern(2, 196), initiator_depth: 7, responder_resources: 5 };
    server.endpoint.establish(&says)?;
    let said = client.expect_established()?;
    expect("private data of the answer", &said.private_data[..196], &pattern(2, 196))?;
    expect("reads of the server", said.initiator_depth, 7)?;
    expect("reads the server answers", said.responder_resources, 5)?;
    server.expect_established()?;
    let long = Establish { private_data: pattern(0, 57), ..Establish::default() };
    let mut other = resolve(fabric, door.address(), 4096, Access::LOCAL)?;
    match other.endpoint.establish(&long) {
        Err(RdmaError::BadWork(_)) => Ok(()),
        other => Err(format!("57 bytes of private data: {other:?}").into()),
    }
}

fn pitfall_20_odd_depths(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    let mut door = door(fabric, address)?;
    let mut client = resolve(fabric, door.address(), 4096, Access::LOCAL)?;
    let asks = Establish { private_data: Vec::new(), initiator_depth: 3, responder_resources: 2 };
    client.endpoint.establish(&asks)?;
    let incoming = door.incoming(PATIENCE)?;
    let mut server = End::new(incoming.request.open(QUEUES)?, 4096)?;
    let odd =
        Establish { private_data: Vec::new(), initiator_depth: 255, responder_resources: 255 };
    server.endpoint.establish(&odd)?;
    let said = client.expect_established()?;
    expect("reads of the server", said.initiator_depth, 2)?;
    expect("reads the server answers", said.responder_resources, 3)
}

fn pitfall_12_wildcards(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    let mut four = door(fabric, Ipv4Addr::UNSPECIFIED.into())?;
    let port = four.address().port();
    let mut six = Door::new(fabric, (Ipv6Addr::UNSPECIFIED, port).into())?;
    let mut client = resolve(fabric, (address, port).into(), 4096, Access::LOCAL)?;
    client.endpoint.establish(&terms(&[]))?;
    let right = if address.is_ipv4() { &mut four } else { &mut six };
    let incoming = right.incoming(PATIENCE)?;
    expect("address asked for", incoming.local, (address, port).into())
}

fn pitfall_05_early_message(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    let mut door = door(fabric, address)?;
    let mut client = resolve(fabric, door.address(), 4096, Access::LOCAL)?;
    client.endpoint.establish(&terms(&[]))?;
    let incoming = door.incoming(PATIENCE)?;
    let mut server = End::new(incoming.request.open(QUEUES)?, 4096)?;
    server.register(Access::LOCAL)?;
    server.receive(1, 0, 4096)?;
    server.endpoint.establish(&terms(&[]))?;
    client.expect_established()?;
    client.put(0, b"first");
    client.send(2, 0, 5)?;
    expect("length", server.done(1)?.len, 5)?;
    expect("bytes", server.bytes(0, 5), b"first".to_vec())?;
    server.expect_established()?;
    client.done(2)?;
    Ok(())
}

fn gathered_sends(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    const PART: usize = 30_001;
    let mut door = door(fabric, address)?;
    let (mut client, mut server) = connect(fabric, &mut door, 4 * PART, Access::LOCAL)?;
    for (from, to) in [(1_u8, 2_u8), (3, 4)] {
        server.receive(u64::from(from), 0, 3 * PART)?;
        let bytes = pattern(to, 4 * PART);
        client.put(0, &bytes);
        // Out of order, so that the list of segments is what decides.
        let segments = [
            client.segment(2 * PART, PART)?,
            client.segment(0, PART)?,
            client.segment(PART, PART)?,
        ];
        client.endpoint.post(&Work::Send {
            id: u64::from(to),
            segments: &segments,
            invalidate: None,
            signal: true,
        })?;
        client.endpoint.flush()?;
        let done = server.done(u64::from(from))?;
        expect("operation", done.operation, Operation::Receive)?;
        expect("length", done.len as usize, 3 * PART)?;
        let wanted = [&bytes[2 * PART..3 * PART], &bytes[..PART], &bytes[PART..2 * PART]].concat();
        expect("the same bytes", server.bytes(0, 3 * PART) == wanted, true)?;
        expect("operation", client.done(u64::from(to))?.operation, Operation::Send)?;
    }
    Ok(())
}

fn write_then_send(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    const LEN: usize = 128 << 10;
    let mut door = door(fabric, address)?;
    let (mut client, mut server) = connect(fabric, &mut door, LEN, Access::REMOTE_WRITE)?;
    for round in 0..4 {
        client.receive(round, 0, 0)?;
        let bytes = pattern(round as u8, LEN - 64);
        server.put(0, &bytes);
        let remote = client.remote(64)?;
        let segments = [server.segment(0, LEN - 64)?];
        server.endpoint.post(&Work::Write { id: 7, segments: &segments, remote, signal: false })?;
        server.endpoint.post(&Work::Send {
            id: 8,
            segments: &[],
            invalidate: None,
            signal: true,
        })?;
        server.endpoint.flush()?;
        expect("length of an empty message", client.done(round)?.len, 0)?;
        expect("the same bytes", client.bytes(64, LEN - 64) == bytes, true)?;
        server.done(8)?;
    }
    Ok(())
}

fn many_reads(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    const PART: usize = 5000;
    const READS: usize = 40;
    let mut door = door(fabric, address)?;
    let (client, mut server) = connect(fabric, &mut door, READS * PART, Access::REMOTE_READ)?;
    let bytes = pattern(9, READS * PART);
    client.put(0, &bytes);
    for read in 0..READS {
        // The last part first.
        let remote = client.remote((READS - 1 - read) * PART)?;
        let segments =
            [server.segment(read * PART, 1000)?, server.segment(read * PART + 1000, PART - 1000)?];
        server.endpoint.post(&Work::Read { id: read as u64, segments: &segments, remote })?;
    }
    server.endpoint.flush()?;
    for read in 0..READS {
        expect("operation", server.done(read as u64)?.operation, Operation::Read)?;
    }
    for read in 0..READS {
        let from = (READS - 1 - read) * PART;
        let same = server.bytes(read * PART, PART) == bytes[from..from + PART];
        expect("the same bytes", same, true)?;
    }
    Ok(())
}

fn few_signals(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    let mut door = door(fabric, address)?;
    let (mut client, mut server) = connect(fabric, &mut door, 4096, Access::LOCAL)?;
    for id in 0..16 {
        server.endpoint.post_receive(id, server.segment(id as usize * 64, 64)?)?;
    }
    server.endpoint.flush()?;
    let before = client.endpoint.counters();
    let segments = [client.segment(0, 48)?];
    for id in 0..16 {
        let signal = id == 15;
        client.endpoint.post(&Work::Send { id, segments: &segments, invalidate: None, signal })?;
    }
    client.endpoint.flush()?;
    for id in 0..16 {
        server.done(id)?;
    }
    client.done(15)?;
    expect("quiet after it", client.is_quiet(Duration::from_millis(50))?, true)?;
    let after = client.endpoint.counters();
    expect("sends", after.sends - before.sends, 16)?;
    expect("signalled", after.signalled - before.signalled, 1)?;
    expect("completions", after.send_completions - before.send_completions, 1)?;
    expect("doorbells", after.doorbells - before.doorbells, 1)?;
    expect("receives", server.endpoint.counters().receives, 16)
}

fn receiver_not_ready(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    let mut door = door(fabric, address)?;
    let (mut client, mut server) = connect(fabric, &mut door, 4096, Access::LOCAL)?;
    client.put(0, b"patient");
    client.send(1, 0, 7)?;
    expect("quiet", client.is_quiet(Duration::from_millis(300))?, true)?;
    server.receive(2, 0, 64)?;
    let posted = Instant::now();
    server.done(2)?;
    expect("bytes", server.bytes(0, 7), b"patient".to_vec())?;
    client.done(1)?;
    // The connection manager's own timer would be 655 ms.
    expect("retried soon", posted.elapsed() < Duration::from_millis(500), true)
}

fn full_queues(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    let mut door = door(fabric, address)?;
    let (mut client, mut server) = connect(fabric, &mut door, 4096, Access::LOCAL)?;
    let segments = [client.segment(0, 1)?];
    let work = |signal| Work::Send { id: 3, segments: &segments, invalidate: None, signal };
    for at in 0..QUEUES.sends {
        client.endpoint.post(&work(at + 1 == QUEUES.sends))?;
        server.endpoint.post_receive(u64::from(at), server.segment(0, 1)?)?;
    }
    match client.endpoint.post(&work(true)) {
        Err(RdmaError::QueueFull { queue: "send", depth: 64 }) => {}
        other => return Err(format!("a full send queue: {other:?}").into()),
    }
    match server.endpoint.post_receive(0, server.segment(0, 1)?) {
        Err(RdmaError::QueueFull { queue: "receive", depth: 64 }) => {}
        other => return Err(format!("a full receive queue: {other:?}").into()),
    }
    server.endpoint.flush()?;
    client.endpoint.flush()?;
    client.done(3)?;
    for id in 0..u64::from(QUEUES.receives) {
        server.done(id)?;
    }
    // Room again on both sides.
    server.receive(99, 0, 1)?;
    client.send(98, 0, 1)?;
    server.done(99)?;
    client.done(98)?;
    let deep = Queues { sends: u32::MAX / 2, ..QUEUES };
    let mut endpoint = End::new(fabric.connect(door.address(), None, deep)?, 4096)?;
    match endpoint.event()? {
        ConnectionEvent::Failed(why) if why.contains("queue is full at") => Ok(()),
        other => Err(format!("queues deeper than the adapter's: {other:?}").into()),
    }
}

/// Whether it is this error of this end; soft RoCE tells all of them as IBV_WC_LOC_QP_OP_ERR.
fn is_local(status: Status, wanted: Status) -> bool {
    status == wanted || status == Status::Other(2)
}

fn too_long_message(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    let mut door = door(fabric, address)?;
    let (mut client, mut server) = connect(fabric, &mut door, 4096, Access::LOCAL)?;
    server.receive(1, 0, 64)?;
    client.send(2, 0, 65)?;
    let done = server.completion()?;
    expect("a local error", is_local(done.status, Status::LocalLength), true)?;
    let done = client.completion()?;
    // IBV_WC_REM_OP_ERR is soft RoCE's.
    let remote = matches!(done.status, Status::RemoteInvalidRequest | Status::Other(11));
    expect("a remote error", remote, true)
}

/// A write or read that the peer must refuse, without a byte of its memory changed.
fn refused(
    client: &mut End,
    server: &mut End,
    write: bool,
    remote: RemoteAddress,
) -> Result<(), Trouble> {
    let before = client.bytes(0, client.memory.len());
    server.put(0, &pattern(0x77, 64));
    let segments = [server.segment(0, 64)?];
    server.endpoint.post(&if write {
        Work::Write { id: 1, segments: &segments, remote, signal: true }
    } else {
        Work::Read { id: 1, segments: &segments, remote }
    })?;
    server.endpoint.post(&Work::Send { id: 2, segments: &[], invalidate: None, signal: true })?;
    server.endpoint.flush()?;
    let done = server.completion()?;
    expect("work and status", (done.id, done.status), (1, Status::RemoteAccess))?;
    let done = server.completion()?;
    expect("what follows it", (done.id, done.status), (2, Status::Flushed))?;
    expect("the peer's memory is as it was", client.bytes(0, before.len()) == before, true)?;
    expect("nothing read", server.bytes(0, 64), pattern(0x77, 64))
}

fn write_out_of_bounds(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    let mut door = door(fabric, address)?;
    let (mut client, mut server) = connect(fabric, &mut door, 8192, Access::REMOTE_WRITE)?;
    let remote = client.remote(client.memory.len() - 63)?;
    refused(&mut client, &mut server, true, remote)
}

fn write_without_right(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    let mut door = door(fabric, address)?;
    let (mut client, mut server) = connect(fabric, &mut door, 4096, Access::REMOTE_READ)?;
    let remote = client.remote(0)?;
    refused(&mut client, &mut server, true, remote)
}

fn read_without_right(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    let mut door = door(fabric, address)?;
    let (mut client, mut server) = connect(fabric, &mut door, 4096, Access::REMOTE_WRITE)?;
    let remote = client.remote(0)?;
    refused(&mut client, &mut server, false, remote)
}

fn ended_key(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    let mut door = door(fabric, address)?;
    let (mut client, mut server) = connect(fabric, &mut door, 4096, Access::REMOTE_WRITE)?;
    let remote = client.remote(0)?;
    client.region = None;
    refused(&mut client, &mut server, true, remote)
}

fn wrong_local_key(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    let mut door = door(fabric, address)?;
    let (mut client, _server) = connect(fabric, &mut door, 4096, Access::LOCAL)?;
    let segment = client.segment(0, 64)?;
    let segments = [Segment { key: segment.key ^ 0xff00, ..segment }];
    client.endpoint.post(&Work::Send {
        id: 1,
        segments: &segments,
        invalidate: None,
        signal: true,
    })?;
    client.endpoint.flush()?;
    let done = client.completion()?;
    expect("a local error", is_local(done.status, Status::LocalProtection), true)
}

fn pitfall_02_invalidation(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    let mut door = door(fabric, address)?;
    let (mut client, mut server) = connect(fabric, &mut door, 4096, Access::REMOTE_WRITE)?;
    client.receive(1, 0, 64)?;
    let key = client.remote(0)?.key;
    let segments = [server.segment(0, 64)?];
    server.endpoint.post(&Work::Send {
        id: 2,
        segments: &segments,
        invalidate: Some(key),
        signal: true,
    })?;
    server.endpoint.flush()?;
    // The sender may learn of it or not: what counts is that nobody believes in an invalidation.
    let done = client.completion()?;
    expect("the receiver was told no key", done.invalidated, None)?;
    expect("and has no message", done.status == Status::Success, false)
}

fn disconnects(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    let mut door = door(fabric, address)?;
    let (mut client, mut server) = connect(fabric, &mut door, 4096, Access::LOCAL)?;
    client.receive(1, 0, 64)?;
    server.receive(2, 0, 64)?;
    client.endpoint.disconnect();
    expect("its receive", client.completion()?.status, Status::Flushed)?;
    expect("the peer's event", server.event()?, ConnectionEvent::Disconnected)?;
    server.endpoint.disconnect();
    expect("the peer's receive", server.completion()?.status, Status::Flushed)?;
    expect("its event", client.event()?, ConnectionEvent::Disconnected)
}

fn drops(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    let mut door = door(fabric, address)?;
    let (client, mut server) = connect(fabric, &mut door, 4096, Access::LOCAL)?;
    drop(client);
    expect("event", server.event()?, ConnectionEvent::Disconnected)?;
    // Before it is resolved, and before it is connected.
    drop(fabric.connect(door.address(), None, QUEUES)?);
    let mut client = resolve(fabric, door.address(), 4096, Access::LOCAL)?;
    client.endpoint.disconnect();
    expect("event of one not connected", client.event()?, ConnectionEvent::Disconnected)
}

fn refuses(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    let mut door = door(fabric, address)?;
    let mut client = resolve(fabric, door.address(), 4096, Access::LOCAL)?;
    client.endpoint.establish(&terms(&[]))?;
    door.incoming(PATIENCE)?.request.reject(b"not today")?;
    match client.event()? {
        ConnectionEvent::Rejected { private_data, .. } => {
            expect("private data", private_data.get(..9), Some(&b"not today"[..]))
        }
        other => Err(format!("expected a refusal, got {other:?}").into()),
    }
}

fn drops_request(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    let mut door = door(fabric, address)?;
    let mut client = resolve(fabric, door.address(), 4096, Access::LOCAL)?;
    client.endpoint.establish(&terms(&[]))?;
    drop(door.incoming(PATIENCE)?);
    match client.event()? {
        ConnectionEvent::Rejected { .. } => Ok(()),
        other => Err(format!("expected a refusal, got {other:?}").into()),
    }
}

fn nobody_listens(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    let to = door(fabric, address)?.address();
    let mut client = resolve(fabric, to, 4096, Access::LOCAL)?;
    client.endpoint.establish(&terms(&[]))?;
    match client.event()? {
        ConnectionEvent::Rejected { .. } | ConnectionEvent::Failed(_) => Ok(()),
        other => Err(format!("expected a refusal, got {other:?}").into()),
    }
}

fn no_adapter(fabric: &dyn Fabric, _address: IpAddr) -> Result<(), Trouble> {
    let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 3260));
    match fabric.connect(nowhere, None, QUEUES) {
        Err(_) => {}
        Ok(endpoint) => match End::new(endpoint, 4096)?.event()? {
            ConnectionEvent::Failed(_) => {}
            other => return Err(format!("connecting to {nowhere}: {other:?}").into()),
        },
    }
    match fabric.listen(SocketAddr::from(([192, 0, 2, 1], 3260))) {
        Err(RdmaError::Call { .. } | RdmaError::Unavailable(_)) => Ok(()),
        Err(other) => Err(other.into()),
        Ok(_) => Err("listening on an address of another machine".into()),
    }
}

fn domains(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    let mut door = door(fabric, address)?;
    let (one, first) = connect(fabric, &mut door, 4096, Access::LOCAL)?;
    let (two, second) = connect(fabric, &mut door, 4096, Access::LOCAL)?;
    let served = Arc::ptr_eq(&first.endpoint.domain()?, &second.endpoint.domain()?);
    expect("served ones share", served, true)?;
    let connecting = Arc::ptr_eq(&one.endpoint.domain()?, &two.endpoint.domain()?);
    expect("connecting ones share", connecting, false)?;
    let memory = Memory::allocate(8192)?;
    let domain = first.endpoint.domain()?;
    let keys = domain.keys(&memory, Access::LOCAL)?;
    expect("keys are kept", domain.keys(&memory, Access::LOCAL)?, keys)
}

fn many_connections(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    const CONNECTIONS: usize = 64;
    let mut door = door(fabric, address)?;
    let mut pairs = Vec::new();
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut client = resolve(fabric, door.address(), 4096, Access::LOCAL)?;
        client.endpoint.establish(&terms(&(clients.len() as u32).to_be_bytes()))?;
        clients.push(Some(client));
    }
    for _ in 0..CONNECTIONS {
        let incoming = door.incoming(PATIENCE)?;
        let number = incoming.asks.private_data.first_chunk().copied().map(u32::from_be_bytes);
        let client = number.and_then(|number| clients.get_mut(number as usize)?.take());
        let client = client.ok_or("a client that nobody knows, or twice")?;
        let mut server = End::new(incoming.request.open(QUEUES)?, 4096)?;
        server.register(Access::LOCAL)?;
        server.receive(1, 0, 64)?;
        server.endpoint.establish(&terms(&[]))?;
        pairs.push((client, server));
    }
    for (number, (client, server)) in pairs.iter_mut().enumerate() {
        client.expect_established()?;
        server.expect_established()?;
        client.put(0, &(number as u64).to_be_bytes());
        client.send(2, 0, 8)?;
    }
    for (number, (client, server)) in pairs.iter_mut().enumerate().rev() {
        expect("length", server.done(1)?.len, 8)?;
        expect("bytes", server.bytes(0, 8), (number as u64).to_be_bytes().to_vec())?;
        client.done(2)?;
    }
    Ok(())
}

fn threads(fabric: &dyn Fabric, address: IpAddr) -> Result<(), Trouble> {
    const ROUNDS: u64 = 50;
    let mut door = door(fabric, address)?;
    let mut threads = Vec::new();
    for _ in 0..4 {
        let (mut client, mut server) = connect(fabric, &mut door, 4096, Access::LOCAL)?;
        client.receive(0, 64, 64)?;
        server.receive(0, 64, 64)?;
        let echo = std::thread::spawn(move || -> Result<(), String> {
            let mut echo = || -> Result<(), Trouble> {
                for _ in 0..ROUNDS {
                    while server.completion()?.operation != Operation::Receive {}
                    server.put(0, &server.bytes(64, 64));
                    server.receive(0, 64, 64)?;
                    server.send(1, 0, 64)?;
                }
                server.event()?;
                Ok(())
            };
            echo().map_err(|trouble| format!("server: {trouble}"))
        });
        let ask = std::thread::spawn(move || -> Result<(), String> {
            let mut ask = || -> Result<(), Trouble> {
                for round in 0..ROUNDS {
                    let bytes = pattern(round as u8, 64);
                    client.put(0, &bytes);
                    client.send(1, 0, 64)?;
                    let (one, two) = (client.completion()?, client.completion()?);
                    for done in [one, two] {
                        expect("status", done.status, Status::Success)?;
                    }
                    expect("echo", client.bytes(64, 64), bytes)?;
                    client.receive(0, 64, 64)?;
                }
                client.endpoint.disconnect();
                Ok(())
            };
            ask().map_err(|trouble| format!("client: {trouble}"))
        });
        threads.extend([echo, ask]);
    }
    for thread in threads {
        thread.join().map_err(|_| "a thread panicked")??;
    }
    Ok(())
}

/// Regions and ends can go to other threads.
const _: fn() = || {
    fn sent<T: Send>() {}
    sent::<End>();
    sent::<Region>();
};
