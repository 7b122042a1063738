//! Data in and out, against a server that behaves or does what the RFC lets it do.

use std::time::Duration;

use plimsoll_initiator::nfs::{NfsOptions, Spread, Stability};
use plimsoll_initiator::{Error, Op, OpKind, Options, Outcome, Payload, open};
use plimsoll_wire::nfs3::*;
use plimsoll_wire::xdr::{Reader, Xdr};

use super::server::{Out, Server, expected, reply};
use super::{Client, options};

const MIB: usize = 1 << 20;

fn check_reads(client: &mut Client, reads: &[(u64, u32)]) {
    let tags: Vec<u64> = reads.iter().map(|(offset, len)| client.read(*offset, *len)).collect();
    client.finish();
    client.all_done();
    for (tag, (offset, len)) in tags.iter().zip(reads) {
        let completion = client.seen.done[tag];
        assert_eq!(completion.bytes, *len);
        assert!(completion.completed >= completion.issued);
        assert!(client.seen.data[tag] == expected(*offset, *len as usize), "read at {offset}");
    }
}

fn scattered(count: u64, len: u32, size: u64) -> Vec<(u64, u32)> {
    (0..count).map(|n| (n * 7_919_000 % (size - u64::from(len)), len)).collect()
}

#[test]
fn rfc1813_3_3_6_reads_of_all_sizes_bring_the_right_bytes() {
    let server = Server::good(8 * MIB);
    let mut client = Client::open(&server.url(), &options());
    assert_eq!(client.datastore.capacity_bytes(), 8 * MIB as u64);
    assert_eq!(client.datastore.identity(), "/export");
    for len in [1, 3, 512, 513, 8192, 65536, 300_001, 1 << 20] {
        check_reads(&mut client, &scattered(60, len, 8 * MIB as u64));
    }
}

#[test]
fn nconnect_spreads_over_every_flow() {
    for spread in [Spread::LeastOutstanding, Spread::RoundRobin] {
        let server = Server::good(4 * MIB);
        let nfs = NfsOptions { spread, ..NfsOptions::default() };
        let options = Options { connections: 16, flow_depth: 4, nfs, ..options() };
        let mut client = Client::open(&server.url(), &options);
        check_reads(&mut client, &scattered(800, 8192, 4 * MIB as u64));
        let flows = client.datastore.flows();
        assert_eq!(flows.len(), 16);
        for flow in &flows {
            assert!(flow.reads >= 4, "{flow:?}");
            assert_eq!(flow.read_bytes, flow.reads * 8192);
            assert_eq!(flow.in_flight, 0);
        }
        assert_eq!(client.sum(|flow| flow.reads), 800);
    }
}

#[test]
fn connections_are_1_to_16() {
    let server = Server::good(4096);
    for connections in [0, 17] {
        let result = open(&server.url(), &Options { connections, ..options() });
        assert!(matches!(result, Err(Error::Option { option: "connections", .. })));
    }
}

#[test]
fn calls_are_pipelined_on_one_connection() {
    // The server answers nothing until it has seen four reads, and then in reverse.
    let held = std::sync::Mutex::new(Vec::new());
    let server = Server::scripted(MIB, move |asked, reply, _| {
        if !asked.is(Procedure::Read) {
            return vec![Out::Record(reply)];
        }
        let mut held = held.lock().unwrap();
        held.push(reply);
        if held.len() < 4 { Vec::new() } else { held.drain(..).rev().map(Out::Record).collect() }
    });
    let mut client = Client::open(&server.url(), &options());
    check_reads(&mut client, &scattered(8, 5000, MIB as u64));
}

#[test]
fn rfc1813_3_3_19_operations_above_the_server_s_limits_are_split() {
    let server = Server::good(4 * MIB);
    {
        let mut state = server.state.lock().unwrap();
        (state.read_max, state.write_max) = (10_000, 7_000);
    }
    let mut client = Client::open(&server.url(), &Options { connections: 3, ..options() });
    check_reads(&mut client, &[(5, 1 << 20), (17, 10_001), (0, 10_000)]);
    assert_eq!(server.asked(Procedure::Read).len(), 105 + 2 + 1);
    let data: Vec<u8> = expected(99, 50_000);
    let tag = client.write(1_000, &data);
    client.finish();
    assert_eq!(client.outcome(tag), Outcome::Done);
    assert_eq!(client.seen.done[&tag].bytes, 50_000);
    assert_eq!(server.asked(Procedure::Write).len(), 8);
    assert_eq!(server.state.lock().unwrap().data[1_000..51_000], data);
}

#[test]
fn rfc1813_3_3_6_a_short_read_before_the_end_is_continued() {
    let server = Server::scripted(MIB, |asked, message, state| {
        if asked.is(Procedure::Read) && asked.earlier % 2 == 0 {
            let mut from = Reader::new(&message);
            for _ in 0..6 {
                from.u32().unwrap();
            }
            let ok = ReadResult::get(&mut from).unwrap().unwrap();
            let count = ok.count.div_ceil(3);
            let half = ReadOk { count, data: &ok.data[..count as usize], eof: false, ..ok };
            assert!(!state.data.is_empty());
            return vec![Out::Record(reply(asked.xid, &ReadResult::Ok(half)))];
        }
        vec![Out::Record(message)]
    });
    let mut client = Client::open(&server.url(), &options());
    check_reads(&mut client, &scattered(20, 9_000, MIB as u64));
    // The rest is another call: its id is its own.
    let mut ids: Vec<u32> = server.asked(Procedure::Read).iter().map(|asked| asked.xid).collect();
    let calls = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!((ids.len(), calls), (40, 40));
}

#[test]
fn rfc1813_3_3_6_a_read_cut_by_the_end_of_the_file_is_short() {
    let server = Server::good(MIB);
    let mut client = Client::open(&server.url(), &options());
    server.state.lock().unwrap().data.truncate(1000);
    let tag = client.read(500, 4096);
    let beyond = client.read(5000, 4096);
    client.finish();
    assert_eq!(client.outcome(tag), Outcome::Short);
    assert_eq!(client.seen.done[&tag].bytes, 500);
    assert!(client.seen.data[&tag] == expected(500, 500));
    assert_eq!(client.outcome(beyond), Outcome::Short);
}

#[test]
fn rfc1813_3_3_7_a_short_write_is_continued() {
    let server = Server::scripted(MIB, |asked, message, state| {
        if asked.is(Procedure::Write) && asked.earlier == 0 {
            let ok = WriteOk {
                file: WeakData::default(),
                count: 100,
                committed: Stability::Unstable,
                verifier: state.verifier,
            };
            state.data[100..].fill(0);
            return vec![Out::Record(reply(asked.xid, &WriteResult::Ok(ok)))];
        }
        vec![Out::Record(message)]
    });
    let mut client = Client::open(&server.url(), &options());
    let data = expected(3, 5000);
    let tag = client.write(0, &data);
    let flush = client.flush();
    client.finish();
    client.flush();
    client.finish();
    client.all_done();
    assert_eq!(client.seen.done[&tag].bytes, 5000);
    assert_eq!(client.seen.done[&flush].bytes, 0);
    assert_eq!(server.state.lock().unwrap().durable[..5000], data);
    assert_eq!(server.asked(Procedure::Write).len(), 2);
}

#[test]
fn rfc1813_3_3_7_file_sync_needs_no_commit() {
    let server = Server::good(MIB);
    let nfs = NfsOptions { stability: Stability::FileSync, ..NfsOptions::default() };
    let mut client = Client::open(&server.url(), &Options { nfs, ..options() });
    let data = expected(7, 8192);
    client.write(4096, &data);
    client.finish();
    client.flush();
    client.finish();
    client.all_done();
    assert_eq!(server.state.lock().unwrap().durable[4096..12288], data);
    assert!(server.asked(Procedure::Commit).is_empty());
}

#[test]
fn rfc1813_3_3_21_a_flush_commits_and_many_bytes_commit_by_themselves() {
    let server = Server::good(4 * MIB);
    let nfs = NfsOptions { commit_bytes: 256 << 10, ..NfsOptions::default() };
    let mut client = Client::open(&server.url(), &Options { nfs, connections: 2, ..options() });
    for n in 0..400 {
        client.write(n * 8192, &expected(n + 1, 8192));
    }
    client.finish();
    let commits = server.asked(Procedure::Commit).len();
    assert!((1..=13).contains(&commits), "{commits} commits");
    client.flush();
    client.finish();
    client.all_done();
    let state = server.state.lock().unwrap();
    for n in 0..400 {
        let at = usize::try_from(n * 8192).unwrap();
        assert!(state.durable[at..at + 8192] == expected(n + 1, 8192));
    }
    drop(state);
    assert_eq!(client.sum(|flow| flow.verifier_changes), 0);
}

#[test]
fn a_flush_with_nothing_to_commit_ends_at_once() {
    let server = Server::good(MIB);
    let mut client = Client::open(&server.url(), &options());
    client.flush();
    client.finish();
    client.all_done();
    assert!(server.asked(Procedure::Commit).is_empty());
}

#[test]
fn operations_that_do_not_fit_are_refused() {
    let server = Server::good(4096);
    let mut client = Client::open(&server.url(), &options());
    let mut refused = |kind, offset, len, data: Option<Payload>| {
        let op = Op { tag: 1, kind, offset, len };
        let result = client.datastore.submit(&op, data);
        assert!(matches!(result, Err(Error::Operation { .. })), "{op:?}: {result:?}");
    };
    refused(OpKind::Read, 0, 0, None);
    refused(OpKind::Read, 4000, 97, None);
    refused(OpKind::Read, u64::MAX, 1, None);
    refused(OpKind::Write, 0, 8, None);
    refused(OpKind::Write, 0, 8, Some(Payload::from_vec(vec![0; 9])));
    refused(OpKind::Read, 0, 8, Some(Payload::from_vec(vec![0; 8])));
}

#[test]
fn the_queue_has_an_end() {
    let server = Server::good(MIB);
    let mut client =
        Client::open(&server.url(), &Options { queue_depth: 10, flow_depth: 2, ..options() });
    for tag in 0..10 {
        assert!(client.datastore.can_submit());
        let op = Op { tag, kind: OpKind::Read, offset: 0, len: 512 };
        client.datastore.submit(&op, None).unwrap();
    }
    assert!(!client.datastore.can_submit());
    let op = Op { tag: 10, kind: OpKind::Read, offset: 0, len: 512 };
    assert!(matches!(client.datastore.submit(&op, None), Err(Error::Full)));
    assert!(client.datastore.flows()[0].in_flight <= 2);
    while client.datastore.in_flight() > 0 {
        client.datastore.poll(None, &mut client.seen).unwrap();
    }
    assert_eq!(client.seen.done.len(), 10);
}

#[test]
fn spinning_and_short_waits_deliver_the_same() {
    let server = Server::good(MIB);
    let options = Options { spin: Duration::from_micros(50), ..options() };
    let mut client = Client::open(&server.url(), &options);
    for n in 0..2000 {
        let tag = client.read(n * 17, 4096);
        while client.datastore.in_flight() > 0 {
            client.datastore.poll(Some(Duration::from_micros(300)), &mut client.seen).unwrap();
        }
        assert!(client.seen.data[&tag] == expected(n * 17, 4096));
    }
    // An empty poll comes back in its time.
    let start = std::time::Instant::now();
    let count = client.datastore.poll(Some(Duration::from_millis(30)), &mut client.seen).unwrap();
    assert_eq!(count, 0);
    assert!(start.elapsed() >= Duration::from_millis(29));
    assert!(start.elapsed() < Duration::from_millis(500));
}
