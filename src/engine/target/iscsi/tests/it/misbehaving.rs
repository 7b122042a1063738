//! Initiators that break the rules: the target answers, drops them, and goes on serving the others.

use std::io::Write;
use std::net::Shutdown;
use std::time::Duration;

use plimsoll_wire::iscsi::pdu::NopOut;
use plimsoll_wire::iscsi::{BHS_LEN, Bhs};

use crate::array::Array;
use crate::raw::{Direction, Raw, pattern, write10};

/// A well-behaved session works.
fn still_serves(array: &Array) {
    let mut raw = Raw::connect(array.address());
    raw.initiator = "iqn.2026-11.example:honest".to_owned();
    raw.log_in(&[]);
    raw.ready();
    let data = pattern(4096, 77);
    assert!(raw.write(1000, &data).is_good());
    assert_eq!(raw.read(1000, 8).data, data);
}

#[test]
fn every_truncation_of_a_session_leaves_the_target_whole() {
    let array = Array::start();
    let mut script = Vec::new();
    let mut raw = Raw::connect(array.address());
    let mut names = raw.names();
    names.resize(names.len().next_multiple_of(4), 0);
    let mut request = raw.login_request(
        plimsoll_wire::iscsi::pdu::Stage::Operational,
        Some(plimsoll_wire::iscsi::pdu::Stage::FullFeature),
    );
    request.data_len = names.len() as u32;
    script.extend_from_slice(&request.build());
    script.extend_from_slice(&names);
    let mut command = raw.command(&write10(0, 2), Direction::Write, 1024);
    command.data_len = 512;
    script.extend_from_slice(&command.build());
    script.extend_from_slice(&[1; 512]);
    for cut in (0..script.len()).step_by(7) {
        let mut raw = Raw::connect(array.address());
        raw.send_bytes(&script[..cut]);
        let _ = raw.stream.shutdown(if cut % 2 == 0 { Shutdown::Write } else { Shutdown::Both });
    }
    array.await_sessions(0);
    still_serves(&array);
}

#[test]
fn a_stall_in_the_middle_of_a_pdu_is_cut_off() {
    let array = Array::with(|builder| {
        builder.settings.ping_after = Duration::from_millis(100);
        builder.settings.ping_timeout = Duration::from_millis(100);
    });
    let mut raw = Raw::login(array.address(), &[]);
    let command = raw.command(&write10(0, 2), Direction::Write, 1024);
    raw.send_bytes(&command.build()[..30]);
    raw.expect_closed();
    array.await_sessions(0);
}

#[test]
fn lengths_beyond_the_limits_end_the_connection_at_once() {
    let array = Array::start();
    for (login, len) in
        [(false, 8193u32), (false, 0x00ff_ffff), (true, 262_145), (true, 0x00ff_ffff)]
    {
        let mut raw = Raw::connect(array.address());
        if login {
            raw.log_in(&[]);
        }
        let nop = NopOut { data_len: len, ..raw.nop(true) };
        let mut bhs = nop.build();
        if !login {
            bhs[0] = 0x43;
        }
        raw.send_bytes(&bhs);
        raw.expect_closed();
    }
    still_serves(&array);
}

#[test]
fn anything_but_a_login_first_ends_the_connection() {
    let array = Array::start();
    for opcode in (0..0x40u8).filter(|opcode| *opcode != 0x03) {
        let mut raw = Raw::connect(array.address());
        let mut bhs: Bhs = [0; BHS_LEN];
        bhs[0] = opcode | 0x40;
        raw.send(&bhs, &[]);
        raw.expect_closed();
    }
    let mut http = Raw::connect(array.address());
    http.send_bytes(
        b"GET / HTTP/1.1\r\nHost: example\r\nAccept: */*\r\nUser-Agent: somebody\r\n\r\n",
    );
    http.expect_closed();
    still_serves(&array);
}

#[test]
fn a_second_login_in_the_session_ends_it() {
    let array = Array::start();
    let mut raw = Raw::login(array.address(), &[]);
    let names = raw.names();
    let mut request = raw.login_request(plimsoll_wire::iscsi::pdu::Stage::Operational, None);
    request.data_len = names.len() as u32;
    raw.send(&request.build(), &names);
    raw.expect_closed();
}

#[test]
fn pseudo_random_pdus_never_hurt_the_others() {
    let array = Array::start();
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let opcodes = [0, 1, 2, 4, 5, 6, 0x10, 0x1c, 0x25];
    for round in 0..40u32 {
        let mut raw = Raw::connect(array.address());
        raw.initiator = format!("iqn.2026-11.example:wild{round}");
        raw.log_in(&[("ImmediateData", "Yes"), ("InitialR2T", "No")]);
        let mut bytes = Vec::new();
        for _ in 0..200 {
            let mut bhs: Bhs = [0; BHS_LEN];
            for byte in &mut bhs {
                *byte = next() as u8;
            }
            bhs[0] = opcodes[next() as usize % opcodes.len()] | (next() as u8 & 0x40);
            // Most PDUs are almost right, so that they reach far.
            if next() % 8 != 0 {
                bhs[4] = 0;
                bhs[8..16].fill(0);
                bhs[24..28].copy_from_slice(&raw.cmd_sn.to_be_bytes());
                if bhs[0] & 0x40 == 0 {
                    raw.cmd_sn = raw.cmd_sn.wrapping_add(1);
                }
                if next() % 2 == 0 {
                    bhs[32] = [0x28, 0x2a, 0x8b, 0x89, 0x12, 0xa0, 0x41, 0x42][next() as usize % 8];
                    bhs[33..40].fill(0);
                    bhs[41..48].fill(0);
                }
            }
            let len = if next() % 3 == 0 { 0 } else { next() as usize % 2048 };
            bhs[5..8].copy_from_slice(&(len as u32).to_be_bytes()[1..]);
            bytes.extend_from_slice(&bhs);
            bytes.resize(bytes.len() + usize::from(bhs[4]) * 4, 0);
            bytes.resize(bytes.len() + len.next_multiple_of(4), next() as u8);
        }
        // Whether the target takes it all or hangs up in between does not matter here.
        let mut reader = raw.stream.try_clone().unwrap();
        let drain = std::thread::spawn(move || {
            let _ = std::io::copy(&mut reader, &mut std::io::sink());
        });
        let _ = raw.stream.write_all(&bytes);
        let _ = raw.stream.shutdown(Shutdown::Write);
        drain.join().unwrap();
    }
    array.await_sessions(0);
    still_serves(&array);
}

#[test]
fn pings_without_end_that_nobody_reads_do_not_fill_memory() {
    let array = Array::with(|builder| {
        builder.settings.ping_after = Duration::from_millis(500);
        builder.settings.ping_timeout = Duration::from_millis(500);
    });
    let mut raw = Raw::login(array.address(), &[("MaxRecvDataSegmentLength", "65536")]);
    raw.stream.set_write_timeout(Some(Duration::from_secs(3))).unwrap();
    let nop = NopOut { data_len: 65536, ..raw.nop(true) };
    let mut bytes = nop.build().to_vec();
    bytes.resize(48 + 65536, 7);
    let mut sent = 0usize;
    // The target stops reading when its answers pile up, and drops the initiator when nothing moves.
    while sent < 1 << 30 {
        match raw.stream.write(&bytes) {
            Ok(count) => sent += count,
            Err(_) => break,
        }
    }
    assert!(sent < 256 << 20, "the target took {sent} bytes of pings");
    array.await_sessions(0);
    still_serves(&array);
}

#[test]
fn holes_in_the_order_of_commands_hold_little() {
    let array = Array::start();
    let mut raw = Raw::login(array.address(), &[]);
    raw.ready();
    raw.cmd_sn += 1; // one is never sent
    let data = vec![1; 128 << 10];
    let mut bytes = Vec::new();
    for lba in 0..100 {
        let mut command = raw.command(&write10(lba, 256), Direction::Write, 128 << 10);
        command.data_len = 128 << 10;
        bytes.extend_from_slice(&command.build());
        bytes.extend_from_slice(&data);
    }
    raw.send_bytes(&bytes);
    raw.expect_closed(); // long before 12 MiB are held
    still_serves(&array);
}
