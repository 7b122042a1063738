//! Names: what is found, made, moved and removed, and what no name can do.

use plimsoll_wire::nfs3::{
    AccessArgs, AccessResult, CreateHow, DeviceNumber, DirOp, FileHandle, FileKind, FsInfoResult,
    FsStatResult, LinkArgs, LinkResult, MakeDirArgs, MakeNode, MakeNodeArgs, Name, Path,
    PathConfResult, Procedure, ReadLinkResult, RenameArgs, RenameResult, SetAttrArgs,
    SetAttrResult, SetAttributes, Stability, Status, SymlinkArgs, access,
};

use crate::client::{Client, QUOTA, made, memory, parse};

fn at<'a>(dir: &'a [u8], name: &'a [u8]) -> DirOp<'a> {
    DirOp { dir: FileHandle(dir), name: Name(name) }
}

#[test]
fn path_traversal_by_names_is_refused_everywhere() {
    let running = memory();
    let mut client = Client::connect(running.address);
    let root = client.root();
    let names: [&[u8]; 6] = [b"../../etc/passwd", b"a/b", b"/etc/passwd", b"..", b"x\0y", b""];
    for name in names {
        let set = SetAttributes::default();
        assert!(client.lookup(&root, name).is_err() || name == b"..", "{name:?}");
        assert!(client.create(&root, name, CreateHow::Unchecked(set)).is_err(), "{name:?}");
        let args = MakeDirArgs { at: at(&root, name), attributes: set };
        assert!(made(&client.nfs(Procedure::MakeDir, &args)).is_err(), "{name:?}");
        assert!(client.remove(&root, name).is_err(), "{name:?}");
    }
    let (up, _) = client.lookup(&root, b"..").unwrap();
    assert_eq!(up, root, "the top is its own parent");
    for path in ["/vol0/..", "/vol0/../vol0", "/", "/etc", "/vol0/x", "vol0", "/vol"] {
        assert!(client.mount(path).is_err(), "{path}");
    }
}

#[test]
fn a_symbolic_link_is_never_followed_by_the_server() {
    let running = memory();
    let mut client = Client::connect(running.address);
    let root = client.root();
    let args = SymlinkArgs {
        at: at(&root, b"escape"),
        attributes: SetAttributes::default(),
        path: Path(b"/etc"),
    };
    let link = made(&client.nfs(Procedure::Symlink, &args)).unwrap();
    let results = client.nfs(Procedure::ReadLink, &FileHandle(&link));
    assert_eq!(parse::<ReadLinkResult<'_>>(&results).unwrap().path, Path(b"/etc"));
    assert_eq!(client.lookup(&link, b"passwd").unwrap_err(), Status::NOT_DIRECTORY);
    assert_eq!(client.read(&link, 0, 10).unwrap_err(), Status::INVALID);
    let write = client.write(&link, 0, b"x", Stability::Unstable);
    assert_eq!(write.unwrap_err(), Status::INVALID);
    assert!(client.mount("/vol0/escape").is_err());
    let results = client.nfs(Procedure::ReadLink, &FileHandle(&root));
    assert_eq!(parse::<ReadLinkResult<'_>>(&results).unwrap_err().status, Status::INVALID);
}

#[test]
fn rfc1813_3_3_8_to_3_3_15_names_are_made_moved_and_removed() {
    let running = memory();
    let mut client = Client::connect(running.address);
    let root = client.root();
    let set = SetAttributes { mode: Some(0o640), ..Default::default() };
    let file = client.create(&root, b"vm.vmx", CreateHow::Guarded(set)).unwrap();
    let attributes = client.attributes(&file).unwrap();
    assert_eq!((attributes.kind, attributes.mode), (FileKind::Regular, 0o640));
    let again = client.create(&root, b"vm.vmx", CreateHow::Guarded(set));
    assert_eq!(again.unwrap_err(), Status::EXISTS);

    let args = MakeDirArgs { at: at(&root, b"vm"), attributes: SetAttributes::default() };
    let dir = made(&client.nfs(Procedure::MakeDir, &args)).unwrap();
    let args = RenameArgs { from: at(&root, b"vm.vmx"), to: at(&dir, b"renamed") };
    let results = client.nfs(Procedure::Rename, &args);
    let renamed = parse::<RenameResult>(&results).unwrap();
    assert!(renamed.from_dir.before.is_some() && renamed.to_dir.after.is_some());
    assert_eq!(client.lookup(&root, b"vm.vmx").unwrap_err(), Status::NOT_FOUND);
    let (found, found_attributes) = client.lookup(&dir, b"renamed").unwrap();
    assert_eq!((found, found_attributes.fileid), (file.clone(), attributes.fileid));

    let args = LinkArgs { file: FileHandle(&file), at: at(&root, b"second") };
    let results = client.nfs(Procedure::Link, &args);
    assert_eq!(parse::<LinkResult>(&results).unwrap().attributes.unwrap().links, 2);

    let node = MakeNode::Device {
        kind: FileKind::Block,
        attributes: SetAttributes::default(),
        device: DeviceNumber { major: 8, minor: 1 },
    };
    let args = MakeNodeArgs { at: at(&root, b"sda1"), node };
    let device = made(&client.nfs(Procedure::MakeNode, &args)).unwrap();
    let attributes = client.attributes(&device).unwrap();
    assert_eq!(attributes.device, DeviceNumber { major: 8, minor: 1 });
    let pipe = MakeNode::Pipe { kind: FileKind::Fifo, attributes: SetAttributes::default() };
    let args = MakeNodeArgs { at: at(&root, b"pipe"), node: pipe };
    made(&client.nfs(Procedure::MakeNode, &args)).unwrap();
    let args = MakeNodeArgs { at: at(&root, b"bad"), node: MakeNode::Other(FileKind::Regular) };
    let bad = made(&client.nfs(Procedure::MakeNode, &args));
    assert_eq!(bad.unwrap_err(), Status::BAD_TYPE);

    assert_eq!(client.remove(&root, b"vm").unwrap_err(), Status::IS_DIRECTORY);
    let rmdir = |client: &mut Client, name: &[u8]| {
        let results = client.nfs(Procedure::RemoveDir, &at(&root, name));
        parse::<plimsoll_wire::nfs3::RemoveResult>(&results).map_err(|failure| failure.status)
    };
    assert_eq!(rmdir(&mut client, b"vm").unwrap_err(), Status::NOT_EMPTY);
    client.remove(&dir, b"renamed").unwrap();
    let weak = rmdir(&mut client, b"vm").unwrap();
    assert!(weak.before.unwrap().changed < weak.after.unwrap().changed);
    assert_eq!(client.attributes(&dir).unwrap_err(), Status::STALE);
    client.remove(&root, b"second").unwrap();
    assert_eq!(client.attributes(&file).unwrap_err(), Status::STALE);
}

#[test]
fn rfc1813_3_3_2_and_3_3_4_attributes_are_set_and_access_is_told() {
    let running = memory();
    let mut client = Client::connect(running.address);
    let root = client.root();
    let file = client.file(&root, b"f");
    let attributes =
        SetAttributes { mode: Some(0o600), size_bytes: Some(1 << 30), ..Default::default() };
    let args = SetAttrArgs { file: FileHandle(&file), attributes, guard: None };
    let results = client.nfs(Procedure::SetAttr, &args);
    let weak = parse::<SetAttrResult>(&results).unwrap();
    assert_eq!(weak.before.unwrap().size_bytes, 0);
    assert_eq!(weak.after.unwrap().size_bytes, 1 << 30);
    assert_eq!(weak.after.unwrap().used_bytes, 0, "a sparse file takes no space");
    let guard = weak.before.map(|before| before.changed);
    let args = SetAttrArgs { file: FileHandle(&file), attributes, guard };
    let results = client.nfs(Procedure::SetAttr, &args);
    let failure = parse::<SetAttrResult>(&results).unwrap_err();
    assert_eq!(failure.status, Status::NOT_SYNC);

    let all = access::READ | access::MODIFY | access::EXTEND | access::EXECUTE;
    let ask = |client: &mut Client| {
        let args = AccessArgs { file: FileHandle(&file), access: all };
        let results = client.nfs(Procedure::Access, &args);
        parse::<AccessResult>(&results).unwrap().access
    };
    assert_eq!(ask(&mut client), access::READ | access::MODIFY | access::EXTEND);
    client.caller.uid = 1000;
    assert_eq!(ask(&mut client), 0);
    assert_eq!(client.read(&file, 0, 1).unwrap_err(), Status::ACCESS);
}

#[test]
fn rfc1813_3_3_18_to_3_3_20_the_quota_and_the_limits_are_told() {
    let running = memory();
    let mut client = Client::connect(running.address);
    let root = client.root();
    let stat = |client: &mut Client| {
        let results = client.nfs(Procedure::FsStat, &FileHandle(&root));
        parse::<FsStatResult>(&results).unwrap()
    };
    let before = stat(&mut client);
    assert_eq!((before.total_bytes, before.free_bytes), (QUOTA, QUOTA));
    let file = client.file(&root, b"f");
    client.write(&file, 0, &vec![1; 1 << 20], Stability::Unstable).unwrap();
    assert_eq!(stat(&mut client).free_bytes, QUOTA - (1 << 20));
    let mut offset = 1 << 20;
    let full = loop {
        match client.write(&file, offset, &vec![1; 1 << 20], Stability::Unstable) {
            Ok(_) => offset += 1 << 20,
            Err(status) => break status,
        }
    };
    assert_eq!(full, Status::NO_SPACE);
    assert_eq!(offset, QUOTA);
    // Growing the volume online is seen at once.
    running.volume.space().set_limit(2 * QUOTA);
    assert_eq!(stat(&mut client).total_bytes, 2 * QUOTA);
    client.write(&file, offset, &vec![1; 1 << 20], Stability::Unstable).unwrap();

    let results = client.nfs(Procedure::FsInfo, &FileHandle(&root));
    let info = parse::<FsInfoResult>(&results).unwrap();
    assert_eq!((info.read_max, info.write_max), (1 << 20, 1 << 20));
    let results = client.nfs(Procedure::PathConf, &FileHandle(&root));
    let conf = parse::<PathConfResult>(&results).unwrap();
    assert_eq!(conf.max_name_bytes, 255);
    assert!(conf.no_truncation && !conf.case_insensitive && conf.case_preserving);
    let set = CreateHow::Guarded(SetAttributes::default());
    let long = client.create(&root, &[b'n'; 256], set);
    assert_eq!(long.unwrap_err(), Status::NAME_TOO_LONG);
    client.create(&root, &[b'n'; 255], set).unwrap();
}

/// What ESXi does with its lock files: exclusive creation, a name made of the file's number, renaming over.
#[test]
fn lock_files_of_esxi_work() {
    let running = memory();
    let mut client = Client::connect(running.address);
    let root = client.root();
    let disk = client.file(&root, b"vm-flat.vmdk");
    let number = client.attributes(&disk).unwrap().fileid.to_le_bytes();
    let name: String = number.iter().map(|byte| format!("{byte:02x}")).collect();
    let name = format!(".lck-{name}");
    let lock = client.create(&root, name.as_bytes(), CreateHow::Exclusive(*b"host-one")).unwrap();
    client.write(&lock, 0, b"esx-1", Stability::FileSync).unwrap();
    let second = client.create(&root, name.as_bytes(), CreateHow::Exclusive(*b"host-two"));
    assert_eq!(second.unwrap_err(), Status::EXISTS);
    let repeated = client.create(&root, name.as_bytes(), CreateHow::Exclusive(*b"host-one"));
    assert_eq!(repeated.unwrap(), lock);
    let temporary = client.file(&root, b".lck-temporary");
    let args = RenameArgs { from: at(&root, b".lck-temporary"), to: at(&root, name.as_bytes()) };
    let results = client.nfs(Procedure::Rename, &args);
    parse::<RenameResult>(&results).unwrap();
    assert_eq!(client.lookup(&root, name.as_bytes()).unwrap().0, temporary);
    assert_eq!(client.attributes(&lock).unwrap_err(), Status::STALE);
}
