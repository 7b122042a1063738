//! Calls that are repeated run once.

use plimsoll_wire::nfs3::{
    CreateArgs, CreateHow, DirOp, FileHandle, Name, Procedure, RemoveResult, SetAttributes, Status,
};

use crate::client::{Client, Setup, made, memory, parse, start};

#[test]
fn a_removal_repeated_on_a_new_connection_is_answered_as_the_first_time() {
    let folder = tempfile::tempdir().unwrap();
    let durable = start(Setup { folder: Some(folder.path()), ..Setup::default() });
    for running in [memory(), durable] {
        let mut client = Client::connect(running.address);
        let root = client.root();
        client.file(&root, b"f");
        let at = DirOp { dir: FileHandle(&root), name: Name(b"f") };
        let record = client.nfs_record(Procedure::Remove, &at);
        client.send(&record);
        let first = client.receive();
        let (_, _, results) = Client::split(&first);
        parse::<RemoveResult>(&results).unwrap();
        drop(client);
        let mut again = Client::connect(running.address);
        again.send(&record);
        assert_eq!(again.receive(), first, "the same answer, from another port");
        // The same file again in between: the repetition must not remove it.
        again.file(&root, b"f");
        again.send(&record);
        assert_eq!(again.receive(), first);
        again.lookup(&root, b"f").unwrap();
        // Another call with the same arguments is another call.
        again.remove(&root, b"f").unwrap();
        assert_eq!(again.remove(&root, b"f").unwrap_err(), Status::NOT_FOUND);
    }
}

#[test]
fn a_guarded_create_repeated_is_not_an_error() {
    let running = memory();
    let mut client = Client::connect(running.address);
    let root = client.root();
    let args = CreateArgs {
        at: DirOp { dir: FileHandle(&root), name: Name(b"f") },
        how: CreateHow::Guarded(SetAttributes::default()),
    };
    let record = client.nfs_record(Procedure::Create, &args);
    client.send(&record);
    client.send(&record);
    let (first, second) = (client.receive(), client.receive());
    assert_eq!(first, second);
    made(&Client::split(&first).2).unwrap();
    // The same arguments with another transaction id are a new call.
    let fresh = client.nfs_record(Procedure::Create, &args);
    client.send(&fresh);
    let reply = client.receive();
    assert_eq!(made(&Client::split(&reply).2).unwrap_err(), Status::EXISTS);
}

#[test]
fn a_repetition_of_a_running_call_is_dropped_and_a_later_one_answered() {
    let folder = tempfile::tempdir().unwrap();
    let running = start(Setup { folder: Some(folder.path()), ..Setup::default() });
    let mut client = Client::connect(running.address);
    let root = client.root();
    client.file(&root, b"f");
    let at = DirOp { dir: FileHandle(&root), name: Name(b"f") };
    let record = client.nfs_record(Procedure::Remove, &at);
    let null = client.record(100_003, 3, 0, &[]);
    // Both are taken in one turn, while the removal waits for the disk.
    client.send(&[&record[..], &record, &null].concat());
    let mut answers: Vec<u32> = (0..2).map(|_| Client::split(&client.receive()).0).collect();
    answers.sort_unstable();
    let xid = |record: &[u8]| u32::from_be_bytes(*record[4..].first_chunk().unwrap());
    assert_eq!(answers, [xid(&record), xid(&null)], "one answer to the two");
    client.send(&record);
    let reply = client.receive();
    parse::<RemoveResult>(&Client::split(&reply).2).unwrap();
}
