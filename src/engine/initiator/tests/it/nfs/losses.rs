//! Restarts and losses: what was acknowledged is there, what was not is sent again, once.

use std::time::{Duration, Instant};

use plimsoll_initiator::nfs::NfsOptions;
use plimsoll_initiator::{Error, FlowState, LostReason, Options, Outcome};
use plimsoll_wire::nfs3::*;

use super::server::{Out, Server, expected, reply};
use super::{Client, options};

const SIZE: usize = 1 << 20;

#[test]
fn rfc1813_3_3_21_unstable_data_lost_in_a_restart_is_written_again() {
    let server = Server::good(SIZE);
    let mut client = Client::open(&server.url(), &Options { connections: 3, ..options() });
    for n in 0..40 {
        client.write(n * 4096, &expected(n * 31 + 5, 4096));
    }
    client.finish();
    // Newer data over older, before the restart and after it.
    client.write(4096, &expected(1_000, 2048));
    client.finish();
    server.restart();
    client.write(8192, &expected(2_000, 4096));
    client.finish();
    client.flush();
    client.finish();
    client.all_done();
    assert_eq!(client.sum(|flow| flow.verifier_changes), 1);
    let state = server.state.lock().unwrap();
    for n in 0..40 {
        let mut wanted = expected(n * 31 + 5, 4096);
        match n {
            1 => wanted[..2048].copy_from_slice(&expected(1_000, 2048)),
            2 => wanted = expected(2_000, 4096),
            _ => {}
        }
        let at = usize::try_from(n * 4096).unwrap();
        assert!(state.durable[at..at + 4096] == wanted, "block {n}");
    }
}

#[test]
fn restarts_under_load_lose_nothing_that_a_flush_promised() {
    let server = Server::good(SIZE);
    let nfs = NfsOptions { commit_bytes: 64 << 10, ..NfsOptions::default() };
    let mut client = Client::open(&server.url(), &Options { connections: 4, nfs, ..options() });
    let mut wanted = server.state.lock().unwrap().data.clone();
    let start = Instant::now();
    let mut round = 0_u64;
    while start.elapsed() < Duration::from_secs(3) {
        for n in 0..64_u64 {
            let offset = (round * 64 + n) * 2_777 % (SIZE as u64 - 5_000);
            let data = expected(round * 1_000_003 + n, 4_500);
            // Overlapping writes are not to be under way together: their order would be the server's.
            client.finish();
            client.write(offset, &data);
            let at = usize::try_from(offset).unwrap();
            wanted[at..at + 4_500].copy_from_slice(&data);
            if n == 40 && round.is_multiple_of(3) {
                server.restart();
            }
        }
        // A flush is for writes that are completed.
        client.finish();
        client.flush();
        client.finish();
        client.all_done();
        assert!(server.state.lock().unwrap().durable == wanted, "round {round}");
        round += 1;
    }
    assert!(client.sum(|flow| flow.verifier_changes) >= 1);
    assert!(client.sum(|flow| flow.reconnects) >= 1);
}

#[test]
fn a_write_whose_reply_was_lost_is_sent_again_with_its_id() {
    let server = Server::scripted(SIZE, |asked, reply, _| {
        if asked.is(Procedure::Write) && asked.earlier == 0 {
            vec![Out::Close]
        } else {
            vec![Out::Record(reply)]
        }
    });
    let mut client = Client::open(&server.url(), &options());
    let data = expected(9, 70_000);
    let tag = client.write(0, &data);
    client.finish();
    assert_eq!(client.outcome(tag), Outcome::Done);
    let asked = server.asked(Procedure::Write);
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].xid, asked[1].xid);
    assert_eq!(server.state.lock().unwrap().data[..70_000], data);
    assert_eq!(client.sum(|flow| flow.reissued), 1);
}

#[test]
fn one_lost_flow_leaves_its_calls_to_the_others() {
    let server = Server::scripted(SIZE, |asked, reply, _| {
        // Connections 0 and 1 mount; of the four flows the first never answers a read, it closes.
        if asked.is(Procedure::Read) && asked.connection == 2 {
            vec![Out::Close]
        } else {
            vec![Out::Record(reply)]
        }
    });
    let mut client = Client::open(&server.url(), &Options { connections: 4, ..options() });
    let tags: Vec<u64> = (0..200).map(|n| client.read(n * 4_000, 4_000)).collect();
    client.finish();
    client.all_done();
    for (n, tag) in (0..).zip(tags) {
        assert!(client.seen.data[&tag] == expected(n * 4_000, 4_000));
    }
    assert!(client.sum(|flow| flow.reissued) >= 1);
}

#[test]
fn a_server_that_stays_away_ends_the_datastore() {
    let server = Server::scripted(SIZE, |asked, reply, _| {
        if asked.is(Procedure::Read) { Vec::new() } else { vec![Out::Record(reply)] }
    });
    let options = Options { path_timeout: Duration::from_secs(1), ..options() };
    let mut client = Client::open(&server.url(), &options);
    let tag = client.read(0, 4096);
    client.datastore.poll(Some(Duration::from_millis(50)), &mut client.seen).unwrap();
    server.stop();
    let error = loop {
        match client.datastore.poll(Some(Duration::from_millis(200)), &mut client.seen) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::NoPath { .. }), "{error}");
    assert_eq!(client.datastore.flows()[0].state, FlowState::Connecting);
    client.datastore.close(&mut client.seen);
    assert_eq!(client.outcome(tag), Outcome::Lost(LostReason::NoPath));
}

#[test]
fn closing_ends_what_is_under_way() {
    let server = Server::scripted(SIZE, |asked, reply, _| {
        if asked.is(Procedure::Read) { Vec::new() } else { vec![Out::Record(reply)] }
    });
    let mut client = Client::open(&server.url(), &options());
    let tag = client.read(0, 4096);
    client.datastore.close(&mut client.seen);
    assert_eq!(client.outcome(tag), Outcome::Lost(LostReason::Closed));
    assert_eq!(client.datastore.in_flight(), 0);
}

#[test]
fn rfc1813_3_3_21_a_commit_that_fails_fails_the_flush() {
    let server = Server::scripted(SIZE, |asked, message, _| {
        if asked.is(Procedure::Commit) && asked.earlier == 0 {
            let broken = CommitResult::Err(Failure::new(Status::IO, WeakData::default()));
            return vec![Out::Record(reply(asked.xid, &broken))];
        }
        vec![Out::Record(message)]
    });
    let mut client = Client::open(&server.url(), &options());
    client.write(0, &[1; 4096]);
    client.finish();
    let failed = client.flush();
    client.finish();
    assert_eq!(client.outcome(failed), Outcome::Nfs(Status::IO.0));
    client.write(0, &[1; 4096]);
    client.finish();
    let fine = client.flush();
    client.finish();
    assert_eq!(client.outcome(fine), Outcome::Done);
}

#[test]
fn rfc1813_3_3_21_a_commit_that_failed_unasked_is_told_by_the_next_flush() {
    let server = Server::scripted(SIZE, |asked, message, _| {
        if asked.is(Procedure::Commit) && asked.earlier == 0 {
            let broken = CommitResult::Err(Failure::new(Status::IO, WeakData::default()));
            return vec![Out::Record(reply(asked.xid, &broken))];
        }
        vec![Out::Record(message)]
    });
    let nfs = NfsOptions { commit_bytes: 4096, ..NfsOptions::default() };
    let mut client = Client::open(&server.url(), &Options { nfs, ..options() });
    client.write(0, &[1; 8192]);
    client.finish();
    let start = Instant::now();
    while client.sum(|flow| flow.errors) == 0 && start.elapsed() < Duration::from_secs(5) {
        client.datastore.poll(Some(Duration::from_millis(20)), &mut client.seen).unwrap();
    }
    let flush = client.flush();
    client.finish();
    assert_eq!(client.outcome(flush), Outcome::Nfs(Status::IO.0));
}
