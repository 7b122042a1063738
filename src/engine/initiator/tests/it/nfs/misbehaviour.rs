//! A server that breaks the rules: none of it may lose, double or corrupt an operation.

use std::time::Duration;

use plimsoll_initiator::{Error, LostReason, Options, Outcome, open};
use plimsoll_wire::nfs3::*;
use plimsoll_wire::rpc::{Accepted, AuthStat, Denial, accept, deny};
use plimsoll_wire::xdr::Writer;

use super::server::{Asked, Out, Server, State, attributes, expected, framed, reply};
use super::{Client, options};

const SIZE: usize = 1 << 20;

/// Bends the first READ; all else is answered as it should be.
fn first_read(
    bend: impl Fn(&Asked, Vec<u8>) -> Vec<Out> + Send + Sync + 'static,
) -> impl Fn(&Asked, Vec<u8>, &mut State) -> Vec<Out> + Send + Sync + 'static {
    move |asked, reply, _| {
        if asked.is(Procedure::Read) && asked.earlier == 0 {
            bend(asked, reply)
        } else {
            vec![Out::Record(reply)]
        }
    }
}

/// Reads through a bent first reply; the data must be right in the end.
fn reads_come_right(server: &Server, options: &Options) -> Client {
    let mut client = Client::open(&server.url(), options);
    let tags: Vec<(u64, u64)> = (0..6).map(|n| (client.read(n * 50_000, 40_000), n)).collect();
    client.finish();
    client.all_done();
    for (tag, n) in tags {
        assert!(client.seen.data[&tag] == expected(n * 50_000, 40_000));
    }
    client
}

fn reconnects_once(bend: impl Fn(&Asked, Vec<u8>) -> Vec<Out> + Send + Sync + 'static) {
    let server = Server::scripted(SIZE, first_read(bend));
    let client = reads_come_right(&server, &options());
    assert_eq!(client.sum(|flow| flow.reconnects), 1);
    assert!(client.sum(|flow| flow.reissued) >= 1);
    // Sent again under the same ids.
    let asked = server.asked(Procedure::Read);
    let mut ids: Vec<u32> = asked.iter().map(|asked| asked.xid).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 6);
    assert!(asked.len() > 6);
}

#[test]
fn rfc5531_11_replies_in_many_fragments() {
    let server = Server::scripted(SIZE, |_, reply, _| {
        let mut stream = Vec::new();
        let pieces: Vec<&[u8]> = reply.chunks(997).collect();
        for (index, piece) in pieces.iter().enumerate() {
            stream.extend_from_slice(&0_u32.to_be_bytes());
            let last = if index + 1 == pieces.len() { 0x8000_0000 } else { 0 };
            let mark = u32::try_from(piece.len()).unwrap() | last;
            stream.extend_from_slice(&mark.to_be_bytes());
            stream.extend_from_slice(piece);
        }
        vec![Out::Raw(stream)]
    });
    let client = reads_come_right(&server, &options());
    assert_eq!(client.sum(|flow| flow.reconnects), 0);
}

#[test]
fn replies_that_arrive_byte_by_byte() {
    let server = Server::scripted(SIZE, |asked, reply, _| {
        let bytes = framed(&reply);
        if !asked.is(Procedure::Read) {
            return vec![Out::Raw(bytes)];
        }
        let (head, rest) = bytes.split_at(180);
        let mut outs = Vec::new();
        for byte in head {
            outs.push(Out::Raw(vec![*byte]));
            outs.push(Out::Pause(Duration::from_micros(300)));
        }
        outs.push(Out::Raw(rest.to_vec()));
        outs
    });
    let client = reads_come_right(&server, &options());
    assert_eq!(client.sum(|flow| flow.reconnects), 0);
}

#[test]
fn rfc5531_9_a_reply_nobody_asked_for_is_passed_over() {
    let server = Server::scripted(
        SIZE,
        first_read(|_, reply| {
            let mut other = reply.clone();
            other[0] ^= 0x55;
            let mut index = reply.clone();
            index[3] ^= 0x40;
            vec![Out::Record(other), Out::Record(index), Out::Record(reply)]
        }),
    );
    let client = reads_come_right(&server, &options());
    assert_eq!(client.sum(|flow| flow.reconnects), 0);
}

#[test]
fn a_reply_given_twice_counts_once() {
    let server =
        Server::scripted(SIZE, |_, reply, _| vec![Out::Record(reply.clone()), Out::Record(reply)]);
    let client = reads_come_right(&server, &options());
    assert_eq!(client.sum(|flow| flow.reads), 6);
}

#[test]
fn a_connection_closed_within_the_data() {
    reconnects_once(|_, reply| vec![Out::Raw(framed(&reply)[..20_000].to_vec()), Out::Close]);
}

#[test]
fn a_connection_closed_within_the_head() {
    reconnects_once(|_, reply| vec![Out::Raw(framed(&reply)[..50].to_vec()), Out::Close]);
}

#[test]
fn a_record_shorter_than_its_data() {
    reconnects_once(|_, reply| {
        let mut cut = framed(&reply)[..reply.len() - 100].to_vec();
        let mark = 0x8000_0000 | u32::try_from(cut.len() - 4).unwrap();
        cut[..4].copy_from_slice(&mark.to_be_bytes());
        vec![Out::Raw(cut)]
    });
}

#[test]
fn a_record_that_ends_within_the_head() {
    reconnects_once(|_, reply| vec![Out::Record(reply[..60].to_vec())]);
}

#[test]
fn a_record_of_two_gigabytes() {
    reconnects_once(|_, _| vec![Out::Raw(vec![0xff; 64])]);
}

#[test]
fn a_record_of_endless_empty_fragments() {
    reconnects_once(|_, _| vec![Out::Raw(vec![0; 64 << 10])]);
}

#[test]
fn bytes_that_are_no_reply() {
    reconnects_once(|_, _| vec![Out::Record(vec![0x41; 64])]);
}

fn read_reply(xid: u32, count: u32, data: &[u8]) -> Out {
    let attributes = Some(attributes(FileKind::Regular, SIZE as u64));
    Out::Record(reply(xid, &ReadResult::Ok(ReadOk { attributes, count, eof: false, data })))
}

#[test]
fn rfc1813_3_3_6_more_bytes_than_were_asked_for() {
    reconnects_once(|asked, _| vec![read_reply(asked.xid, 40_004, &[7; 40_004])]);
}

#[test]
fn rfc1813_3_3_6_a_count_that_differs_from_the_data() {
    reconnects_once(|asked, _| vec![read_reply(asked.xid, 39_000, &[7; 40_000])]);
}

#[test]
fn a_call_that_breaks_every_connection_is_given_up() {
    let server = Server::scripted(SIZE, |asked, reply, _| {
        if asked.is(Procedure::Read) { vec![Out::Close] } else { vec![Out::Record(reply)] }
    });
    let mut client = Client::open(&server.url(), &options());
    let tag = client.read(0, 4096);
    client.finish();
    assert_eq!(client.outcome(tag), Outcome::Lost(LostReason::Reissues));
}

#[test]
fn a_read_that_is_never_answered_ends_as_lost_and_the_others_go_on() {
    let server = Server::scripted(SIZE, |asked, reply, _| {
        if asked.is(Procedure::Read) && asked.earlier == 0 {
            Vec::new()
        } else {
            vec![Out::Record(reply)]
        }
    });
    let options = Options { op_timeout: Duration::from_secs(2), ..options() };
    let mut client = Client::open(&server.url(), &options);
    let lost = client.read(0, 4096);
    let tag = client.read(4096, 4096);
    client.finish();
    assert_eq!(client.outcome(lost), Outcome::Lost(LostReason::Timeout));
    assert_eq!(client.outcome(tag), Outcome::Done);
    assert_eq!(client.datastore.flows()[0].in_flight, 0);
    let again = client.read(8192, 4096);
    client.finish();
    assert_eq!(client.outcome(again), Outcome::Done);
}

#[test]
fn a_slow_server_that_shows_life_keeps_its_connection() {
    let server = Server::scripted(SIZE, |asked, reply, state| {
        let nulls = state.asked.iter().filter(|asked| asked.is(Procedure::Null)).count();
        if asked.is(Procedure::Read) {
            // Answered by the third sign of life.
            state.data[..4].copy_from_slice(&asked.xid.to_be_bytes());
            return Vec::new();
        }
        if asked.is(Procedure::Null) && nulls == 3 {
            let xid = u32::from_be_bytes(state.data[..4].try_into().unwrap());
            return vec![Out::Record(reply), read_reply(xid, 512, &[9; 512])];
        }
        vec![Out::Record(reply)]
    });
    let options = Options { keepalive: Duration::from_millis(300), ..options() };
    let mut client = Client::open(&server.url(), &options);
    let tag = client.read(0, 512);
    client.finish();
    assert_eq!(client.outcome(tag), Outcome::Done);
    assert_eq!(client.seen.data[&tag], [9; 512]);
    assert_eq!(client.sum(|flow| flow.reconnects), 0);
}

#[test]
fn a_silent_server_is_connected_again() {
    // The first NFS connection of the data path says nothing at all, not even to NULL.
    let server = Server::scripted(SIZE, |asked, reply, _| {
        if asked.connection == 2 { Vec::new() } else { vec![Out::Record(reply)] }
    });
    let options = Options { keepalive: Duration::from_millis(300), ..options() };
    let client = reads_come_right(&server, &options);
    assert_eq!(client.sum(|flow| flow.reconnects), 1);
    assert_eq!(client.sum(|flow| flow.reissued), 6);
    assert_eq!(server.asked(Procedure::Null).len(), 1);
}

#[test]
fn rfc1813_2_6_jukebox_is_tried_again_and_counted() {
    let server = Server::scripted(SIZE, |asked, message, _| {
        if asked.is(Procedure::Read) && asked.earlier < 8 {
            let later = ReadResult::Err(Failure::new(Status::JUKEBOX, None));
            return vec![Out::Record(reply(asked.xid, &later))];
        }
        vec![Out::Record(message)]
    });
    let client = reads_come_right(&server, &options());
    assert_eq!(client.sum(|flow| flow.busy), 8);
    let mut ids: Vec<u32> = server.asked(Procedure::Read).iter().map(|asked| asked.xid).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 14, "a call tried later has an id of its own");
}

#[test]
fn rfc1813_2_6_a_status_ends_the_operation() {
    let server = Server::scripted(SIZE, |asked, message, _| {
        if asked.is(Procedure::Read) {
            let stale = ReadResult::Err(Failure::new(Status::STALE, None));
            return vec![Out::Record(reply(asked.xid, &stale))];
        }
        if asked.is(Procedure::Write) {
            let full = WriteResult::Err(Failure::new(Status::NO_SPACE, WeakData::default()));
            return vec![Out::Record(reply(asked.xid, &full))];
        }
        vec![Out::Record(message)]
    });
    let mut client = Client::open(&server.url(), &options());
    let read = client.read(0, 4096);
    let write = client.write(0, &[1; 4096]);
    client.finish();
    assert_eq!(client.outcome(read), Outcome::Nfs(Status::STALE.0));
    assert_eq!(client.outcome(write), Outcome::Nfs(Status::NO_SPACE.0));
    assert_eq!(client.sum(|flow| flow.errors), 2);
    assert_eq!(client.sum(|flow| flow.reads + flow.writes), 0);
}

#[test]
fn rfc5531_9_a_call_the_server_does_not_execute_ends_the_operation() {
    let server = Server::scripted(SIZE, |asked, message, _| {
        if !asked.is(Procedure::Read) {
            return vec![Out::Record(message)];
        }
        let mut bytes = Vec::new();
        let mut out = Writer::new(&mut bytes);
        match asked.earlier {
            0 => accept(&mut out, asked.xid, Accepted::SystemError),
            1 => accept(&mut out, asked.xid, Accepted::GarbageArguments),
            2 => accept(&mut out, asked.xid, Accepted::ProgramMismatch { low: 4, high: 4 }),
            _ => deny(&mut out, asked.xid, Denial::Auth(AuthStat::TooWeak)),
        }
        vec![Out::Record(bytes)]
    });
    let mut client = Client::open(&server.url(), &options());
    let mut outcomes = Vec::new();
    for _ in 0..4 {
        let tag = client.read(0, 4096);
        client.finish();
        outcomes.push(client.outcome(tag));
    }
    let statuses = [Status::SERVER_FAULT, Status::INVALID, Status::NOT_SUPPORTED, Status::ACCESS];
    assert_eq!(outcomes, statuses.map(|status| Outcome::Nfs(status.0)));
}

#[test]
fn a_mount_that_is_refused_says_why() {
    let server = Server::scripted(SIZE, |asked, message, _| {
        if asked.program == PROGRAM {
            return vec![Out::Record(message)];
        }
        let refusal: plimsoll_wire::mount3::MountResult<'_> =
            Err(plimsoll_wire::mount3::MountStatus::ACCESS);
        vec![Out::Record(reply(asked.xid, &refusal))]
    });
    let error = open(&server.url(), &options()).err().unwrap();
    assert!(matches!(error, Error::Refused { .. }));
    assert!(error.to_string().contains("access denied (MNT3ERR_ACCES)"), "{error}");
}

#[test]
fn nobody_there_is_told_at_once() {
    let server = Server::good(SIZE);
    server.stop();
    std::thread::sleep(Duration::from_millis(100));
    let start = std::time::Instant::now();
    let error = open(&server.url(), &options()).err().unwrap();
    assert!(matches!(error, Error::Connect { .. } | Error::Lost { .. }), "{error}");
    assert!(start.elapsed() < Duration::from_secs(2));
}
