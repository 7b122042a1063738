//! All procedures of RFC 1813: bytes as the RFC lays them out, round trips, truncation, arbitrary input.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::xdr::check::{encode, round_trip};
use crate::xdr::{PADDING, Reader, Writer, Xdr, padding};

const HANDLE: FileHandle<'static> = FileHandle(&[0xa1, 0xa2, 0xa3, 0xa4, 0xa5]);
const AT: DirOp<'static> = DirOp { dir: HANDLE, name: Name(b"disk-flat.vmdk") };

fn attributes() -> Attributes {
    Attributes {
        kind: FileKind::Regular,
        mode: 0o644,
        links: 1,
        uid: 2,
        gid: 3,
        size_bytes: 0x1_0000_0004,
        used_bytes: 5,
        device: DeviceNumber { major: 6, minor: 7 },
        fsid: 8,
        fileid: 9,
        accessed: Time { seconds: 10, nanoseconds: 11 },
        modified: Time { seconds: 12, nanoseconds: 13 },
        changed: Time { seconds: 14, nanoseconds: 15 },
    }
}

fn weak() -> WeakData {
    WeakData { before: Some(Weak::from(&attributes())), after: Some(attributes()) }
}

fn settings() -> SetAttributes {
    SetAttributes {
        mode: Some(0o600),
        uid: None,
        gid: Some(1),
        size_bytes: Some(1 << 40),
        accessed: SetTime::Server,
        modified: SetTime::Client(Time { seconds: 1, nanoseconds: 2 }),
    }
}

fn fails<T>(detail: T) -> Failure<T> {
    Failure::new(Status::STALE, detail)
}

macro_rules! each_round_trips {
    ($($value:expr),* $(,)?) => { $(round_trip(&$value, &mut Vec::new());)* };
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn rfc1813_2_5_fattr3_is_84_bytes_in_the_order_of_the_rfc() {
    let expected = [1, 0o644, 1, 2, 3, 1, 4, 0, 5, 6, 7, 0, 8, 0, 9, 10, 11, 12, 13, 14, 15];
    assert_eq!(words(&encode(&attributes())), expected);
    each_round_trips![attributes()];
}

#[test]
fn rfc1813_2_6_sattr3_sets_only_what_is_there() {
    let expected = [1, 0o600, 0, 1, 1, 1, 256, 0, 1, 2, 1, 2];
    assert_eq!(words(&encode(&settings())), expected);
    each_round_trips![settings(), SetAttributes::default()];
}

#[test]
fn rfc1813_2_6_every_status_has_its_number_and_name() {
    let numbers: Vec<u32> = Status::ALL.iter().map(|status| status.0).collect();
    let rfc = [
        0, 1, 2, 5, 6, 13, 17, 18, 19, 20, 21, 22, 27, 28, 30, 31, 63, 66, 69, 70, 71, 10001,
        10002, 10003, 10004, 10005, 10006, 10007, 10008,
    ];
    assert_eq!(numbers, rfc);
    assert_eq!(Status::NO_SPACE.to_string(), "no space left (NFS3ERR_NOSPC)");
    assert_eq!(Status(12345).to_string(), "nfs status 12345");
}

#[test]
fn rfc1813_3_3_procedures_are_numbered_0_to_21() {
    assert_eq!(Procedure::ALL.len(), 22);
    for (number, procedure) in (0..).zip(Procedure::ALL) {
        assert_eq!(*procedure as u32, number);
        assert_eq!(Procedure::from_u32(number), Some(*procedure));
    }
    assert_eq!(Procedure::from_u32(22), None);
    assert_eq!(Procedure::Commit as u32, 21);
}

#[test]
fn rfc1813_3_3_1_getattr() {
    each_round_trips![HANDLE, GetAttrResult::Ok(attributes()), GetAttrResult::Err(fails(()))];
}

#[test]
fn rfc1813_3_3_2_setattr() {
    let guard = Some(Time { seconds: 1, nanoseconds: 2 });
    each_round_trips![
        SetAttrArgs { file: HANDLE, attributes: settings(), guard },
        SetAttrArgs { file: HANDLE, attributes: settings(), guard: None },
        SetAttrResult::Ok(weak()),
        SetAttrResult::Err(fails(weak())),
    ];
}

#[test]
fn rfc1813_3_3_3_lookup() {
    let ok = LookupOk { file: HANDLE, attributes: Some(attributes()), dir_attributes: None };
    each_round_trips![AT, LookupResult::Ok(ok), LookupResult::Err(fails(Some(attributes())))];
}

#[test]
fn rfc1813_3_3_4_access() {
    let ok = AccessOk { attributes: None, access: access::READ };
    each_round_trips![
        AccessArgs { file: HANDLE, access: access::READ | access::EXTEND },
        AccessResult::Ok(ok),
        AccessResult::Err(fails(None)),
    ];
}

#[test]
fn rfc1813_3_3_5_readlink() {
    let ok = ReadLinkOk { attributes: Some(attributes()), path: Path(b"../x") };
    each_round_trips![ReadLinkResult::Ok(ok), ReadLinkResult::Err(fails(None))];
}

#[test]
fn rfc1813_3_3_6_read() {
    let data = [5; 1000];
    let ok = ReadOk { attributes: Some(attributes()), count: 1000, eof: true, data: &data };
    each_round_trips![
        ReadArgs { file: HANDLE, offset: 1 << 40, count: 8192 },
        ReadResult::Ok(ok),
        ReadResult::Err(fails(Some(attributes()))),
    ];
}

#[test]
fn rfc1813_3_3_6_read_by_head_and_payload_is_the_same() {
    for len in 0..9_u32 {
        let data = vec![3; len as usize];
        let ok = ReadOk { attributes: Some(attributes()), count: len, eof: false, data: &data };
        let head = ReadHead { attributes: Some(attributes()), count: len, eof: false, len };
        let mut bytes = encode(&head);
        bytes.extend_from_slice(&data);
        bytes.extend_from_slice(&PADDING[..padding(data.len())]);
        assert_eq!(bytes, encode(&ok));
        each_round_trips![head];
    }
}

#[test]
fn rfc1813_3_3_7_write() {
    let data = [6; 513];
    let stable = Stability::Unstable;
    let arguments = WriteArgs { file: HANDLE, offset: 77, count: 513, stable, data: &data };
    let head = WriteHead { file: HANDLE, offset: 77, count: 513, stable, len: 513 };
    let mut bytes = encode(&head);
    bytes.extend_from_slice(&data);
    bytes.extend_from_slice(&[0; 3]);
    assert_eq!(bytes, encode(&arguments));
    let committed = Stability::FileSync;
    each_round_trips![
        arguments,
        head,
        WriteResult::Ok(WriteOk { file: weak(), count: 513, committed, verifier: [9; 8] }),
        WriteResult::Err(fails(weak())),
    ];
}

#[test]
fn rfc1813_3_3_8_create_in_three_ways() {
    let ok = CreateOk { file: Some(HANDLE), attributes: Some(attributes()), dir: weak() };
    each_round_trips![
        CreateArgs { at: AT, how: CreateHow::Unchecked(settings()) },
        CreateArgs { at: AT, how: CreateHow::Guarded(settings()) },
        CreateArgs { at: AT, how: CreateHow::Exclusive([1, 2, 3, 4, 5, 6, 7, 8]) },
        CreateResult::Ok(ok),
        CreateResult::Ok(CreateOk { file: None, attributes: None, dir: WeakData::default() }),
        CreateResult::Err(fails(weak())),
    ];
}

#[test]
fn rfc1813_3_3_9_mkdir_3_3_10_symlink_3_3_11_mknod() {
    let device = DeviceNumber { major: 8, minor: 1 };
    let attributes = settings();
    each_round_trips![
        MakeDirArgs { at: AT, attributes },
        SymlinkArgs { at: AT, attributes, path: Path(b"target") },
        MakeNodeArgs {
            at: AT,
            node: MakeNode::Device { kind: FileKind::Block, attributes, device },
        },
        MakeNodeArgs { at: AT, node: MakeNode::Pipe { kind: FileKind::Fifo, attributes } },
        MakeNodeArgs { at: AT, node: MakeNode::Other(FileKind::Regular) },
    ];
}

#[test]
fn rfc1813_3_3_12_remove_to_3_3_15_link() {
    let dirs = RenameOk { from_dir: weak(), to_dir: WeakData::default() };
    let link = LinkOk { attributes: Some(attributes()), dir: weak() };
    each_round_trips![
        RemoveResult::Ok(weak()),
        RemoveResult::Err(fails(weak())),
        RenameArgs { from: AT, to: DirOp { dir: HANDLE, name: Name(b"b") } },
        RenameResult::Ok(dirs),
        RenameResult::Err(fails(dirs)),
        LinkArgs { file: HANDLE, at: AT },
        LinkResult::Ok(link),
        LinkResult::Err(fails(link)),
    ];
}

#[test]
fn rfc1813_3_3_16_readdir() {
    let entry = Entry { fileid: 1, name: Name(b"abcde"), cookie: 3 };
    assert_eq!(encode(&vec![entry]).len(), entry.wire_bytes() + 4);
    let ok = ReadDirOk {
        dir_attributes: Some(attributes()),
        verifier: [1; 8],
        entries: vec![entry, Entry { name: Name(b"x"), ..entry }],
        eof: true,
    };
    let empty = ReadDirOk { entries: Vec::new(), ..ok.clone() };
    assert_eq!(encode(&empty).len(), ReadDirOk::FRAME_BYTES);
    each_round_trips![
        ReadDirArgs { dir: HANDLE, cookie: 2, verifier: [1; 8], count: 4096 },
        ReadDirResult::Ok(ok),
        ReadDirResult::Err(fails(None)),
    ];
}

#[test]
fn rfc1813_3_3_17_readdirplus() {
    let entry = EntryPlus {
        fileid: 1,
        name: Name(b"abcde"),
        cookie: 3,
        attributes: Some(attributes()),
        file: Some(HANDLE),
    };
    let bare = EntryPlus { attributes: None, file: None, ..entry };
    for entry in [entry, bare] {
        assert_eq!(encode(&vec![entry]).len(), entry.wire_bytes() + 4);
    }
    let ok = ReadDirPlusOk {
        dir_attributes: None,
        verifier: [1; 8],
        entries: vec![entry, bare],
        eof: false,
    };
    each_round_trips![
        ReadDirPlusArgs {
            dir: HANDLE,
            cookie: 2,
            verifier: [1; 8],
            dir_count: 512,
            max_count: 4096,
        },
        ReadDirPlusResult::Ok(ok),
        ReadDirPlusResult::Err(fails(Some(attributes()))),
    ];
}

#[test]
fn rfc1813_3_3_18_fsstat_3_3_19_fsinfo_3_3_20_pathconf() {
    let stat = FsStatOk {
        attributes: Some(attributes()),
        total_bytes: 1 << 44,
        free_bytes: 2,
        available_bytes: 3,
        total_files: 4,
        free_files: 5,
        available_files: 6,
        invariant_seconds: 7,
    };
    let info = FsInfoOk {
        attributes: None,
        read_max: 1 << 20,
        read_preferred: 2,
        read_multiple: 3,
        write_max: 4,
        write_preferred: 5,
        write_multiple: 6,
        dir_preferred: 7,
        max_file_bytes: u64::MAX,
        time_delta: Time { seconds: 0, nanoseconds: 1 },
        properties: properties::LINK | properties::HOMOGENEOUS,
    };
    let path = PathConfOk {
        attributes: None,
        max_links: 1,
        max_name_bytes: 255,
        no_truncation: true,
        chown_restricted: true,
        case_insensitive: false,
        case_preserving: true,
    };
    let order = words(&encode(&info));
    assert_eq!(order, [0, 1 << 20, 2, 3, 4, 5, 6, 7, u32::MAX, u32::MAX, 0, 1, 9]);
    each_round_trips![
        FsStatResult::Ok(stat),
        FsInfoResult::Ok(info),
        PathConfResult::Ok(path),
        FsStatResult::Err(fails(None)),
        FsInfoResult::Err(fails(None)),
        PathConfResult::Err(fails(None)),
    ];
}

#[test]
fn rfc1813_3_3_21_commit() {
    each_round_trips![
        CommitArgs { file: HANDLE, offset: 0, count: 0 },
        CommitResult::Ok(CommitOk { file: weak(), verifier: [7; 8] }),
        CommitResult::Err(fails(weak())),
    ];
}

#[test]
fn rfc1813_3_3_6_a_read_longer_than_the_cap_is_refused() {
    let head = ReadHead { attributes: None, count: 1, eof: false, len: u32::MAX };
    let bytes = encode(&head);
    assert!(ReadOk::get(&mut Reader::new(&bytes)).is_err());
}

fn survives<'a, T: Xdr<'a>>(bytes: &'a [u8]) {
    let mut from = Reader::new(bytes);
    if let Ok(value) = from.value::<T>() {
        // What was understood can be written, in no more bytes than it was read from.
        let mut again = Vec::new();
        value.put(&mut Writer::new(&mut again));
        assert_eq!(again.len(), bytes.len() - from.remaining());
    }
}

proptest! {
    /// Words that are mostly small, as lengths, booleans and enumerations are, reach deep into each type.
    #[test]
    fn rfc1813_any_words_are_parsed_without_a_panic(
        small in proptest::collection::vec(prop_oneof![4 => 0_u32..4, 1 => any::<u32>()], 0..60),
    ) {
        let bytes: Vec<u8> = small.iter().flat_map(|word| word.to_be_bytes()).collect();
        survives::<GetAttrResult>(&bytes);
        survives::<SetAttrArgs<'_>>(&bytes);
        survives::<LookupResult<'_>>(&bytes);
        survives::<ReadLinkResult<'_>>(&bytes);
        survives::<ReadResult<'_>>(&bytes);
        survives::<WriteArgs<'_>>(&bytes);
        survives::<WriteResult>(&bytes);
        survives::<CreateArgs<'_>>(&bytes);
        survives::<CreateResult<'_>>(&bytes);
        survives::<MakeNodeArgs<'_>>(&bytes);
        survives::<SymlinkArgs<'_>>(&bytes);
        survives::<RenameArgs<'_>>(&bytes);
        survives::<RenameResult>(&bytes);
        survives::<LinkResult>(&bytes);
        survives::<ReadDirResult<'_>>(&bytes);
        survives::<ReadDirPlusResult<'_>>(&bytes);
        survives::<FsStatResult>(&bytes);
        survives::<FsInfoResult>(&bytes);
        survives::<PathConfResult>(&bytes);
        survives::<CommitResult>(&bytes);
        survives::<crate::mount3::MountResult<'_>>(&bytes);
        survives::<Vec<crate::mount3::ExportNode<'_>>>(&bytes);
        survives::<crate::portmap::RpcAddress<'_>>(&bytes);
    }
}
