//! What one initiator, or all together, can take: sessions, logins, memory; and what limits of a volume do.

use std::time::{Duration, Instant};

use plimsoll_storage::Limit;
use plimsoll_wire::iscsi::Isid;
use plimsoll_wire::iscsi::pdu::LoginStatus;

use crate::array::{Array, await_that};
use crate::raw::{Direction, Raw, pattern, write10};

fn login(array: &Array, initiator: &str, number: u16) -> (Raw, LoginStatus) {
    let mut raw = Raw::connect(array.address());
    raw.initiator = initiator.to_owned();
    raw.isid = Isid::random([0, 0, 0], number);
    let (response, _) = raw.try_login(&[]);
    (raw, response.status)
}

#[test]
fn sessions_are_limited_in_all_and_per_initiator() {
    let array = Array::with(|builder| {
        builder.settings.sessions = 5;
        builder.settings.sessions_per_initiator = 3;
    });
    let (one, two) = ("iqn.2026-11.example:one", "iqn.2026-11.example:two");
    let statuses = |name: &str, count: u16| {
        (0..count).map(|number| login(&array, name, number)).collect::<Vec<_>>()
    };
    let first = statuses(one, 4);
    let of =
        |list: &[(Raw, LoginStatus)]| list.iter().map(|(_, status)| *status).collect::<Vec<_>>();
    let (ok, full) = (LoginStatus::SUCCESS, LoginStatus::OUT_OF_RESOURCES);
    assert_eq!(of(&first), [ok, ok, ok, full]);
    let second = statuses(two, 3);
    assert_eq!(of(&second), [ok, ok, full]);
    assert!(full.may_retry());
    drop(first);
    array.await_sessions(2);
    assert_eq!(login(&array, one, 9).1, ok);
}

#[test]
fn connections_that_have_not_logged_in_are_limited() {
    let array = Array::with(|builder| builder.settings.logins = 3);
    let waiting: Vec<_> = (0..3).map(|_| Raw::connect(array.address())).collect();
    let mut refused = Raw::connect(array.address());
    refused.expect_closed();
    drop(waiting);
    await_that("a free place", || {
        let mut raw = Raw::connect(array.address());
        let names = raw.names();
        let request = raw.login_request(
            plimsoll_wire::iscsi::pdu::Stage::Operational,
            Some(plimsoll_wire::iscsi::pdu::Stage::FullFeature),
        );
        let request =
            plimsoll_wire::iscsi::pdu::LoginRequest { data_len: names.len() as u32, ..request };
        let mut bytes = request.build().to_vec();
        bytes.extend_from_slice(&names);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        raw.send_bytes(&bytes);
        raw.receive().is_some()
    });
}

#[test]
fn three_hundred_sessions_of_one_initiator() {
    let array = Array::start();
    let mut sessions: Vec<_> =
        (0..300).map(|number| login(&array, "iqn.2026-11.example:many", number)).collect();
    assert!(sessions.iter().all(|(_, status)| *status == LoginStatus::SUCCESS));
    assert_eq!(array.server.sessions().len(), 300);
    for (raw, _) in &mut sessions {
        raw.ready();
    }
}

#[test]
fn collected_data_is_limited_per_session() {
    let array = Array::with(|builder| builder.settings.memory_bytes = 64 << 10);
    let mut raw = Raw::login(array.address(), &[("ImmediateData", "No"), ("InitialR2T", "Yes")]);
    raw.ready();
    // ORWRITE collects its data; a quarter of 64 KiB is the share of a session.
    let orwrite = |blocks: u8| {
        let mut cdb = [0; 16];
        cdb[0] = 0x8b;
        cdb[13] = blocks;
        cdb
    };
    let first = raw.command(&orwrite(32), Direction::Write, 16384);
    raw.send_command(first, &[]);
    let r2t = raw.r2t(first.itt);
    let second = raw.command(&orwrite(1), Direction::Write, 512);
    raw.send_command(second, &[]);
    assert_eq!(raw.end_of(second.itt).status, 0x28, "TASK SET FULL");
    let data = pattern(16384, 3);
    raw.answer(&r2t, &data, 8192);
    assert!(raw.end_of(first.itt).is_good());
    assert_eq!(raw.read(0, 32).data, data);
    let third = raw.command(&orwrite(1), Direction::Write, 512);
    raw.send_command(third, &[]);
    let r2t = raw.r2t(third.itt);
    raw.answer(&r2t, &data[..512], 512);
    assert!(raw.end_of(third.itt).is_good(), "given back");
}

#[test]
fn a_limited_volume_holds_back_reads_writes_and_r2ts() {
    let limit = Limit { iops: Some(100.0), burst_ms: Some(10), ..Limit::default() };
    let array = Array::with(|builder| builder.limit = limit);
    let mut raw = Raw::login(array.address(), &[("ImmediateData", "No")]);
    raw.ready();
    let start = Instant::now();
    let data = pattern(512, 1);
    for lba in 0..15 {
        assert!(raw.write_solicited(lba, &data).is_good());
        assert_eq!(raw.read(lba, 1).data, data);
    }
    let elapsed = start.elapsed();
    let range = Duration::from_millis(250)..Duration::from_millis(900);
    assert!(range.contains(&elapsed), "30 commands at 100/s took {elapsed:?}");
    // Other commands do not wait behind those that do.
    let write = raw.command(&write10(0, 1), Direction::Write, 512);
    let waiting = raw.command(&write10(1, 1), Direction::Write, 512);
    raw.send_command(write, &[]);
    raw.send_command(waiting, &[]);
    let nop = raw.nop(true);
    raw.send(&nop.build(), &[]);
    let mut first = None;
    while first.is_none() {
        let reply = raw.receive().unwrap();
        if plimsoll_wire::iscsi::pdu::itt(&reply.bhs) != write.itt {
            first = Some(plimsoll_wire::iscsi::pdu::itt(&reply.bhs));
        }
    }
    assert_eq!(first, Some(nop.itt), "the ping is answered before the second write is let in");
}

/// With data digests data is copied to be sent; however much is asked for at once, little is copied at a time,
/// and everything comes in the end.
#[test]
fn reads_with_digests_wait_for_those_before_them() {
    let array = Array::start();
    let keys = [("DataDigest", "CRC32C"), ("MaxRecvDataSegmentLength", "262144")];
    let mut raw = Raw::login(array.address(), &keys);
    raw.ready();
    let mut bytes = Vec::new();
    let mut open = Vec::new();
    for _ in 0..60 {
        let command = raw.command(&crate::raw::read10(0, 16384), Direction::Read, 8 << 20);
        bytes.extend_from_slice(&command.build());
        open.push(command.itt);
    }
    raw.send_bytes(&bytes);
    await_that("most of them to wait", || array.server.sessions()[0].stats.outstanding > 50);
    for itt in open {
        let ended = raw.end_of(itt);
        assert_eq!((ended.status, ended.data.len()), (0, 8 << 20));
    }
}
