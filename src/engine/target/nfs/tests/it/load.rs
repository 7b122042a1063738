//! Peers that are many, slow, large or silent, and limits that hold calls back.

use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use plimsoll_storage::{Limit, Limits};
use plimsoll_target_nfs::Settings;
use plimsoll_wire::nfs3::{FileHandle, Procedure, ReadArgs, Stability, WriteArgs};

use crate::client::{Client, Setup, memory, start};

fn limited(iops: f64) -> Limits {
    let volume = Limit { iops: Some(iops), ..Limit::default() };
    Limits { volume, ..Limits::default() }
}

/// The heartbeat of ESXi: it must not wait in line behind bulk data.
#[test]
fn getattr_is_answered_while_bulk_calls_are_held_back() {
    let running = start(Setup { limits: limited(20.0), ..Setup::default() });
    let mut client = Client::connect(running.address);
    let root = client.root();
    let file = client.file(&root, b"f");
    let mut bytes = Vec::new();
    let data = vec![1; 64 << 10];
    for number in 0..40_u64 {
        let args = WriteArgs {
            file: FileHandle(&file),
            offset: number << 16,
            count: 64 << 10,
            stable: Stability::Unstable,
            data: &data,
        };
        bytes.extend(client.nfs_record(Procedure::Write, &args));
        let args = ReadArgs { file: FileHandle(&file), offset: 0, count: 64 << 10 };
        bytes.extend(client.nfs_record(Procedure::Read, &args));
    }
    let begin = Instant::now();
    client.send(&bytes);
    let heartbeat = client.nfs_record(Procedure::GetAttr, &FileHandle(&file));
    client.send(&heartbeat);
    let wanted = u32::from_be_bytes(*heartbeat[4..].first_chunk().unwrap());
    let mut before = 0;
    while Client::split(&client.receive()).0 != wanted {
        before += 1;
    }
    assert!(begin.elapsed() < Duration::from_millis(800), "{:?}", begin.elapsed());
    assert!(before < 40, "{before} bulk answers came first");
    for _ in before..80 {
        client.receive();
    }
    let took = begin.elapsed();
    assert!(took > Duration::from_secs(3), "80 calls at 20 a second took {took:?}");
}

#[test]
fn rfc5531_11_a_record_above_the_cap_ends_the_connection_before_it_is_received() {
    let running = memory();
    let mut client = Client::connect(running.address);
    client.root();
    client.send(&0xffff_ffff_u32.to_be_bytes());
    assert_closed(&mut client);
    // In fragments, none of which is large.
    let mut client = Client::connect(running.address);
    let fragment = [&(512_u32 << 10).to_be_bytes()[..], &vec![0; 512 << 10]].concat();
    for _ in 0..4 {
        if client.stream.write_all(&fragment).is_err() {
            break;
        }
    }
    assert_closed(&mut client);
    let mut other = Client::connect(running.address);
    other.root();
}

fn assert_closed(client: &mut Client) {
    let mut buffer = [0; 1];
    match client.stream.read(&mut buffer) {
        Ok(count) => assert_eq!(count, 0, "the connection is closed"),
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
    }
}

#[test]
fn rfc5531_11_a_record_in_many_fragments_is_one_record() {
    let running = memory();
    let mut client = Client::connect(running.address);
    let root = client.root();
    let file = client.file(&root, b"f");
    let data: Vec<u8> = (0..5000_u32).map(|at| at as u8).collect();
    let args = WriteArgs {
        file: FileHandle(&file),
        offset: 0,
        count: 5000,
        stable: Stability::Unstable,
        data: &data,
    };
    let record = client.nfs_record(Procedure::Write, &args);
    let pieces: Vec<&[u8]> = record[4..].chunks(13).collect();
    for (number, piece) in pieces.iter().enumerate() {
        let last = if number + 1 == pieces.len() { 0x8000_0000 } else { 0 };
        let mark = last | u32::try_from(piece.len()).unwrap();
        client.send(&[&mark.to_be_bytes()[..], piece].concat());
    }
    client.receive();
    assert_eq!(client.read(&file, 0, 5000).unwrap().0, data);
}

/// A client that asks and does not take the answers holds little and harms nobody.
#[test]
fn a_slow_client_is_not_read_from_and_others_go_on() {
    let running = memory();
    let mut client = Client::connect(running.address);
    let root = client.root();
    let file = client.file(&root, b"f");
    client.write(&file, 0, &vec![3; 1 << 20], Stability::Unstable).unwrap();
    let mut slow = Client::connect(running.address);
    slow.stream.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let args = ReadArgs { file: FileHandle(&file), offset: 0, count: 1 << 20 };
    let record = slow.nfs_record(Procedure::Read, &args);
    let mut sent = 0_u64;
    let stuck = loop {
        match slow.stream.write_all(&record.repeat(100)) {
            Ok(()) => sent += 100,
            Err(error) => break error,
        }
        assert!(sent < 1_000_000, "the server goes on reading calls");
    };
    assert!(matches!(stuck.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{stuck}");
    let begin = Instant::now();
    for _ in 0..100 {
        client.read(&file, 0, 64 << 10).unwrap();
    }
    assert!(begin.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_client_with_too_many_calls_in_flight_is_held_back_and_gets_all_its_answers() {
    let settings = Settings { calls_in_flight_max: 8, ..Settings::default() };
    let running = start(Setup { settings, limits: limited(500.0), ..Setup::default() });
    let mut client = Client::connect(running.address);
    let root = client.root();
    let file = client.file(&root, b"f");
    client.write(&file, 0, &[1; 4096], Stability::Unstable).unwrap();
    let args = ReadArgs { file: FileHandle(&file), offset: 0, count: 4096 };
    let mut bytes = Vec::new();
    for _ in 0..300 {
        bytes.extend(client.nfs_record(Procedure::Read, &args));
    }
    client.send(&bytes);
    for _ in 0..300 {
        client.receive();
    }
}

#[test]
fn silence_and_half_records_are_cut_off() {
    let settings = Settings {
        stall_timeout: Duration::from_millis(400),
        idle_timeout: Duration::from_millis(1200),
        ..Settings::default()
    };
    let running = start(Setup { settings, ..Setup::default() });
    let mut silent = Client::connect(running.address);
    let mut half = Client::connect(running.address);
    half.root();
    half.send(&[0x80, 0, 1, 0, 1, 2, 3]);
    let begin = Instant::now();
    assert_closed(&mut half);
    assert!(begin.elapsed() < Duration::from_millis(1100), "{:?}", begin.elapsed());
    assert_closed(&mut silent);
    assert!(begin.elapsed() > Duration::from_millis(900), "{:?}", begin.elapsed());
}

#[test]
fn connections_are_limited_and_given_back() {
    let settings = Settings { connections_per_host_max: 3, ..Settings::default() };
    let running = start(Setup { settings, ..Setup::default() });
    let mut clients: Vec<_> = (0..3).map(|_| Client::connect(running.address)).collect();
    for client in &mut clients {
        client.root();
    }
    assert_closed(&mut Client::connect(running.address));
    clients.pop();
    let begin = Instant::now();
    loop {
        let mut client = Client::connect(running.address);
        let record = client.record(100_003, 3, 0, &[]);
        let _ = client.stream.write_all(&record);
        if client.stream.read(&mut [0; 1]).is_ok_and(|count| count == 1) {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(5), "a seat is free again");
        std::thread::sleep(Duration::from_millis(20));
    }
}
