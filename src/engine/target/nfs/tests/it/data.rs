//! READ, WRITE and COMMIT.

use plimsoll_wire::nfs3::{
    CommitArgs, CommitResult, FileHandle, Procedure, ReadArgs, ReadResult, Stability, Status,
    WriteArgs, WriteResult,
};
use plimsoll_wire::rpc::{Accepted, Reply};
use plimsoll_wire::xdr::{Writer, Xdr};

use crate::client::{Client, Setup, memory, parse, start};

fn pattern(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|at| (at as u8).wrapping_mul(31).wrapping_add(seed)).collect()
}

#[test]
fn rfc1813_3_3_6_and_3_3_7_data_of_every_length_comes_back_with_exact_ends() {
    let folder = tempfile::tempdir().unwrap();
    let file_backed = start(Setup { folder: Some(folder.path()), ..Setup::default() });
    for running in [memory(), file_backed] {
        let mut client = Client::connect(running.address);
        let root = client.root();
        let lengths = [0, 1, 2, 3, 4, 5, 511, 4096, 8191, 65_537, 300_003, 1 << 20];
        for (number, len) in lengths.into_iter().enumerate() {
            let file = client.file(&root, format!("f{len}").as_bytes());
            let data = pattern(len, number as u8);
            let stable = if number % 2 == 0 { Stability::Unstable } else { Stability::FileSync };
            let written = client.write(&file, 0, &data, stable).unwrap();
            assert_eq!((written.count as usize, written.committed), (len, stable));
            assert_eq!(written.file.before.unwrap().size_bytes, 0);
            assert_eq!(written.file.after.unwrap().size_bytes, len as u64);
            assert_eq!(client.read(&file, 0, 1 << 20).unwrap(), (data.clone(), true));
            if len > 3 {
                let middle = client.read(&file, 1, len as u32 - 2).unwrap();
                assert_eq!(middle, (data[1..len - 1].to_vec(), false));
                let end = client.read(&file, len as u64 - 1, 100).unwrap();
                assert_eq!(end, (data[len - 1..].to_vec(), true));
            }
            assert_eq!(client.read(&file, len as u64, 1).unwrap(), (vec![], true));
        }
    }
}

#[test]
fn a_read_of_more_than_the_limit_gives_the_limit() {
    let running = memory();
    let mut client = Client::connect(running.address);
    let root = client.root();
    let file = client.file(&root, b"f");
    client.write(&file, 0, &vec![1; 1 << 20], Stability::Unstable).unwrap();
    client.write(&file, 1 << 20, &vec![2; 1 << 20], Stability::Unstable).unwrap();
    let (data, eof) = client.read(&file, 0, u32::MAX).unwrap();
    assert_eq!((data.len(), eof), (1 << 20, false));
}

#[test]
fn rfc1813_3_3_21_write_and_commit_have_one_verifier_and_a_restart_another() {
    let folder = tempfile::tempdir().unwrap();
    let mut verifiers = Vec::new();
    for name in [&b"first"[..], b"second"] {
        let running = start(Setup { folder: Some(folder.path()), ..Setup::default() });
        let mut client = Client::connect(running.address);
        let root = client.root();
        let file = client.file(&root, name);
        let written = client.write(&file, 0, b"data", Stability::Unstable).unwrap();
        let args = CommitArgs { file: FileHandle(&file), offset: 0, count: 0 };
        let results = client.nfs(Procedure::Commit, &args);
        let committed = parse::<CommitResult>(&results).unwrap();
        assert_eq!(written.verifier, committed.verifier);
        assert_eq!(committed.file.after.unwrap().size_bytes, 4);
        verifiers.push(written.verifier);
    }
    assert_ne!(verifiers[0], verifiers[1]);
}

#[test]
fn writes_that_make_no_sense_are_refused() {
    let running = memory();
    let mut client = Client::connect(running.address);
    let root = client.root();
    let file = client.file(&root, b"f");
    let far = client.write(&file, u64::MAX - 1, b"xxxx", Stability::Unstable);
    assert_eq!(far.unwrap_err(), Status::FILE_TOO_LARGE);
    let far = client.write(&file, 1 << 50, b"xxxx", Stability::Unstable);
    assert_eq!(far.unwrap_err(), Status::FILE_TOO_LARGE);
    assert_eq!(
        client.write(&root, 0, b"x", Stability::Unstable).unwrap_err(),
        Status::IS_DIRECTORY
    );
    assert_eq!(client.read(&root, 0, 1).unwrap_err(), Status::IS_DIRECTORY);
    // A count below the length of the data: only that much is written.
    let args = WriteArgs {
        file: FileHandle(&file),
        offset: 0,
        count: 2,
        stable: Stability::Unstable,
        data: b"abcd",
    };
    let results = client.nfs(Procedure::Write, &args);
    assert_eq!(parse::<WriteResult>(&results).unwrap().count, 2);
    assert_eq!(client.read(&file, 0, 10).unwrap(), (b"ab".to_vec(), true));
    // A length that the record does not have.
    let mut bytes = Vec::new();
    args.put(&mut Writer::new(&mut bytes));
    let at = bytes.len() - 8;
    bytes[at..at + 4].copy_from_slice(&1_000_u32.to_be_bytes());
    let record = client.record(100_003, 3, 7, &bytes);
    client.send(&record);
    let reply = client.receive();
    assert_eq!(Client::split(&reply).1, Reply::Accepted(Accepted::GarbageArguments));
    assert_eq!(client.attributes(&file).unwrap().size_bytes, 2);
}

#[test]
fn pipelined_calls_in_one_segment_are_all_answered() {
    let running = memory();
    let mut client = Client::connect(running.address);
    let root = client.root();
    let file = client.file(&root, b"f");
    let data = pattern(64 << 10, 9);
    client.write(&file, 0, &data, Stability::Unstable).unwrap();
    let mut bytes = Vec::new();
    for number in 0..64_u64 {
        let args = ReadArgs { file: FileHandle(&file), offset: number * 1024, count: 1024 };
        bytes.extend(client.nfs_record(Procedure::Read, &args));
    }
    client.send(&bytes);
    for number in 0..64 {
        let reply = client.receive();
        let (_, _, results) = Client::split(&reply);
        let ok = parse::<ReadResult<'_>>(&results).unwrap();
        assert_eq!(ok.data, &data[number * 1024..(number + 1) * 1024]);
        assert_eq!(ok.eof, number == 63);
    }
}
