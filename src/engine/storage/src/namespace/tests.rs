//! Scenarios on a namespace: what clients see, what a crash leaves, what is refused.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::Ready;

pub(super) const ROOT: Credential<'static> = Credential::ROOT;
const USER: Credential<'static> = Credential { uid: 1000, gid: 100, groups: &[200] };
const QUOTA: u64 = 64 << 20;

fn blocking() -> Arc<Blocking> {
    Arc::new(Blocking::start(2, 64).unwrap())
}

fn memory() -> Arc<Namespace> {
    Namespace::memory(Space::new(QUOTA), blocking()).unwrap()
}

pub(super) fn open(folder: &Path) -> Arc<Namespace> {
    Namespace::open(folder, Space::new(QUOTA), blocking()).unwrap()
}

pub(super) fn at(seconds: u32) -> Timestamp {
    Timestamp { seconds, nanoseconds: 0 }
}

fn file(namespace: &Namespace, directory: &Inode, name: &[u8]) -> Arc<Inode> {
    let how = How::Guarded(SetAttributes::default());
    let done = namespace.create(&ROOT, directory, name, how, at(10)).unwrap();
    namespace.wait_stable(done.ticket).unwrap();
    done.value.inode
}

fn directory(namespace: &Namespace, parent: &Inode, name: &[u8]) -> Arc<Inode> {
    let set = SetAttributes::default();
    let done = namespace.make_node(&ROOT, parent, name, Node::Directory, set, at(10)).unwrap();
    namespace.wait_stable(done.ticket).unwrap();
    done.value.inode
}

pub(super) fn content(
    namespace: &Namespace,
    inode: &Inode,
    offset: u64,
    len: usize,
) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let mut take = |payload: plimsoll_fabric::Payload| payload.copy_to(&mut bytes);
    let read = namespace.read(&ROOT, inode, offset, len, at(20), &mut take).unwrap();
    if read.ready == Ready::Blocking {
        namespace.read_blocking(&ROOT, inode, offset, len, at(20), &mut bytes).unwrap();
    }
    assert_eq!(bytes.len(), read.count);
    (bytes, read.end_of_file)
}

pub(super) fn stable(namespace: &Arc<Namespace>, inode: &Arc<Inode>) {
    let (sender, receiver) = std::sync::mpsc::channel();
    namespace.make_stable(inode, Box::new(move |result| sender.send(result).unwrap())).unwrap();
    receiver.recv().unwrap().unwrap();
}

fn names(namespace: &Namespace, directory: &Arc<Inode>) -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    let mut each = |item: ListItem<'_>| {
        names.push(item.name.to_vec());
        true
    };
    assert!(namespace.list(&ROOT, directory, 0, &mut each).unwrap());
    names.split_off(2)
}

/// Every scenario below that is about what clients see runs on both kinds of backing.
fn on_both(scenario: impl Fn(Arc<Namespace>)) {
    scenario(memory());
    let folder = tempfile::tempdir().unwrap();
    scenario(open(folder.path()));
}

#[test]
fn rfc1813_3_3_6_reads_end_exactly_at_the_end_of_the_file() {
    on_both(|namespace| {
        let inode = file(&namespace, namespace.root(), b"vm.vmdk");
        namespace.write(&ROOT, &inode, 0, &[7; 1000], at(11)).unwrap();
        assert_eq!(content(&namespace, &inode, 0, 999), (vec![7; 999], false));
        assert_eq!(content(&namespace, &inode, 0, 1000), (vec![7; 1000], true));
        assert_eq!(content(&namespace, &inode, 900, 4096), (vec![7; 100], true));
        assert_eq!(content(&namespace, &inode, 1000, 10), (vec![], true));
        assert_eq!(content(&namespace, &inode, u64::MAX, 10), (vec![], true));
        assert_eq!(content(&namespace, &inode, 10, 0), (vec![], false));
    });
}

#[test]
fn holes_read_as_zeroes_and_what_was_cut_off_never_comes_back() {
    on_both(|namespace| {
        let inode = file(&namespace, namespace.root(), b"f");
        namespace.write(&ROOT, &inode, 0, &[1; 200_000], at(11)).unwrap();
        for size in [100, 300_000] {
            let set = SetAttributes { size: Some(size), ..SetAttributes::default() };
            let done = namespace.set_attributes(&ROOT, &inode, &set, None, at(12)).unwrap();
            assert_eq!(done.value.after.size, size);
            namespace.wait_stable(done.ticket).unwrap();
        }
        let (bytes, end) = content(&namespace, &inode, 0, 1 << 20);
        assert!(end);
        assert_eq!(bytes.len(), 300_000);
        assert!(bytes[..100].iter().all(|byte| *byte == 1));
        assert!(bytes[100..].iter().all(|byte| *byte == 0));
    });
}

#[test]
fn exclusive_create_is_repeatable_with_its_verifier_only() {
    on_both(|namespace| {
        let root = namespace.root();
        let create = |verifier: &[u8; 8]| {
            namespace.create(&ROOT, root, b".lck-1", How::Exclusive(*verifier), at(11))
        };
        let first = create(b"verifier").unwrap().value.inode;
        let again = create(b"verifier").unwrap().value.inode;
        assert_eq!(first.id(), again.id());
        assert_eq!(create(b"another!").unwrap_err(), FileError::Exists);
        let guarded = How::Guarded(SetAttributes::default());
        let refused = namespace.create(&ROOT, root, b".lck-1", guarded, at(11));
        assert_eq!(refused.unwrap_err(), FileError::Exists);
    });
}

#[test]
fn unchecked_create_of_an_existing_file_sets_its_size_only() {
    on_both(|namespace| {
        let inode = file(&namespace, namespace.root(), b"f");
        namespace.write(&ROOT, &inode, 0, b"content", at(11)).unwrap();
        let set = SetAttributes { mode: Some(0o777), size: Some(0), ..Default::default() };
        let how = How::Unchecked(set);
        let done = namespace.create(&ROOT, namespace.root(), b"f", how, at(12)).unwrap();
        assert_eq!(done.value.inode.id(), inode.id());
        assert_eq!((done.value.attributes.size, done.value.attributes.mode), (0, 0o644));
    });
}

#[test]
fn a_listing_in_pieces_is_right_while_names_come_and_go() {
    let namespace = memory();
    let root = namespace.root();
    for number in 0..100 {
        file(&namespace, root, format!("f{number}").as_bytes());
    }
    let mut cookie = 0;
    let mut seen = Vec::new();
    for round in 0.. {
        let mut left = 7;
        let from = cookie;
        let mut each = |item: ListItem<'_>| {
            if left == 0 {
                return false;
            }
            left -= 1;
            cookie = item.cookie;
            seen.push(String::from_utf8(item.name.to_vec()).unwrap());
            true
        };
        let end = namespace.list(&ROOT, root, from, &mut each).unwrap();
        // Remove one that was seen and one ahead, and add one.
        if round < 5 {
            namespace.remove(&ROOT, root, format!("f{round}").as_bytes(), at(20)).unwrap();
            namespace.remove(&ROOT, root, format!("f{}", 90 + round).as_bytes(), at(20)).unwrap();
            file(&namespace, root, format!("new{round}").as_bytes());
        }
        if end {
            break;
        }
    }
    let unique: std::collections::HashSet<_> = seen.iter().collect();
    assert_eq!(unique.len(), seen.len(), "no name twice");
    for number in 0..90 {
        assert!(unique.contains(&format!("f{number}")), "f{number} was there all along");
    }
    for number in 0..5 {
        assert!(unique.contains(&format!("new{number}")));
    }
    let refused = namespace.list(&ROOT, root, 1 << 40, &mut |_| true);
    assert_eq!(refused, Err(FileError::BadCookie));
}

#[test]
fn rfc1813_3_3_14_rename_replaces_in_one_step() {
    on_both(|namespace| {
        let root = namespace.root();
        let (a, b) = (file(&namespace, root, b"a"), file(&namespace, root, b"b"));
        let done = namespace.rename(&ROOT, (root, b"a"), (root, b"b"), at(30)).unwrap();
        namespace.wait_stable(done.ticket).unwrap();
        assert!(b.is_gone() && !a.is_gone());
        assert_eq!(namespace.lookup(&ROOT, root, b"b").unwrap().id(), a.id());
        assert_eq!(names(&namespace, root), [b"b"]);

        let outer = directory(&namespace, root, b"outer");
        let inner = directory(&namespace, &outer, b"inner");
        let rename = |from: (&Inode, &[u8]), to: (&Inode, &[u8])| {
            namespace.rename(&ROOT, from, to, at(31)).map(|_| ())
        };
        assert_eq!(rename((root, b"outer"), (&inner, b"x")), Err(FileError::Invalid));
        assert_eq!(rename((root, b"b"), (root, b"outer")), Err(FileError::IsDirectory));
        assert_eq!(rename((root, b"outer"), (root, b"b")), Err(FileError::NotDirectory));
        assert_eq!(rename((root, b"no"), (root, b"b")), Err(FileError::NotFound));
        assert_eq!(rename((root, b"b"), (root, b"..")), Err(FileError::Invalid));
        let full = directory(&namespace, root, b"full");
        file(&namespace, &full, b"x");
        assert_eq!(rename((root, b"outer"), (root, b"full")), Err(FileError::NotEmpty));
        rename((&outer, b"inner"), (root, b"moved")).unwrap();
        assert_eq!(namespace.lookup(&ROOT, &inner, b"..").unwrap().id(), root.id());
        let links = |inode: &Inode| inode.attributes().links;
        assert_eq!((links(root), links(&outer), links(&inner)), (5, 2, 2));
        rename((root, b"moved"), (root, b"outer")).unwrap();
        assert_eq!(links(root), 4);
    });
}

#[test]
fn hard_links_share_an_object_until_the_last_name_goes() {
    on_both(|namespace| {
        let root = namespace.root();
        let inode = file(&namespace, root, b"one");
        namespace.link(&ROOT, &inode, root, b"two", at(12)).unwrap();
        let done = namespace.rename(&ROOT, (root, b"one"), (root, b"two"), at(13)).unwrap();
        namespace.wait_stable(done.ticket).unwrap();
        assert_eq!(names(&namespace, root), [b"one", b"two"], "two names of one object");
        namespace.remove(&ROOT, root, b"one", at(14)).unwrap();
        assert!(!inode.is_gone());
        assert_eq!(inode.attributes().links, 1);
        namespace.remove(&ROOT, root, b"two", at(15)).unwrap();
        assert!(inode.is_gone());
        assert_eq!(namespace.find(inode.id()).unwrap_err(), FileError::Stale);
        let write = namespace.write(&ROOT, &inode, 0, b"x", at(16));
        assert_eq!(write.unwrap_err(), FileError::Stale);
        let linked = namespace.link(&ROOT, &inode, root, b"three", at(17));
        assert_eq!(linked.unwrap_err(), FileError::Stale);
    });
}

#[test]
fn the_quota_is_kept_and_removal_gives_space_back_although_somebody_holds_the_file() {
    on_both(|namespace| {
        let root = namespace.root();
        let inode = file(&namespace, root, b"big");
        let block = vec![1; 1 << 20];
        let mut written = 0;
        let error = loop {
            match namespace.write(&ROOT, &inode, written, &block, at(11)) {
                Ok(_) => written += 1 << 20,
                Err(error) => break error,
            }
        };
        assert_eq!(error, FileError::NoSpace);
        assert!(written > QUOTA - (2 << 20), "{written}");
        assert!(namespace.usage().free_bytes < 2 << 20);
        let done = namespace.remove(&ROOT, root, b"big", at(12)).unwrap();
        namespace.wait_stable(done.ticket).unwrap();
        for _ in 0..500 {
            if namespace.usage().free_bytes == QUOTA {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_eq!(namespace.usage().free_bytes, QUOTA);
        namespace.set_objects_max(1);
        let how = How::Guarded(SetAttributes::default());
        let refused = namespace.create(&ROOT, root, b"one too many", how, at(13));
        assert_eq!(refused.unwrap_err(), FileError::NoSpace);
    });
}

#[test]
fn a_symbolic_link_is_text_and_leads_nowhere() {
    let namespace = memory();
    let root = namespace.root();
    let set = SetAttributes::default();
    let text = b"../../../etc/passwd";
    let made = namespace.make_symlink(&ROOT, root, b"link", text, set, at(11)).unwrap().value;
    assert_eq!(made.inode.link_text(), Some(&text[..]));
    assert_eq!(made.attributes.size, text.len() as u64);
    let through = namespace.lookup(&ROOT, &made.inode, b"x");
    assert_eq!(through.unwrap_err(), FileError::NotDirectory);
    let up = namespace.lookup(&ROOT, root, b"..").unwrap();
    assert_eq!(up.id(), root.id(), "the top is its own parent");
    for path in ["../etc", "a/../..", "link/x", "link"] {
        let found = namespace.lookup_path(&ROOT, path.as_bytes());
        assert!(found.is_err() || path == "link", "{path}");
    }
}

#[test]
fn modes_guard_those_who_are_not_root() {
    let namespace = memory();
    let root = namespace.root();
    let how = How::Guarded(SetAttributes { mode: Some(0o600), ..Default::default() });
    let refused = namespace.create(&USER, root, b"f", how, at(11));
    assert_eq!(refused.unwrap_err(), FileError::Denied);
    let file = namespace.create(&ROOT, root, b"f", how, at(11)).unwrap().value.inode;
    let mut out = |_| ();
    let read = namespace.read(&USER, &file, 0, 1, at(12), &mut out);
    assert_eq!(read.unwrap_err(), FileError::Denied);
    assert_eq!(namespace.write(&USER, &file, 0, b"x", at(12)).unwrap_err(), FileError::Denied);
    let mode = SetAttributes { mode: Some(0o777), ..Default::default() };
    let set = namespace.set_attributes(&USER, &file, &mode, None, at(13));
    assert_eq!(set.unwrap_err(), FileError::NotOwner);
    let give = SetAttributes { uid: Some(1000), gid: Some(100), ..Default::default() };
    namespace.set_attributes(&ROOT, &file, &give, None, at(13)).unwrap();
    namespace.write(&USER, &file, 0, b"x", at(14)).unwrap();
    namespace.set_attributes(&USER, &file, &mode, None, at(15)).unwrap();
    let group = |gid| SetAttributes { gid: Some(gid), ..Default::default() };
    namespace.set_attributes(&USER, &file, &group(200), None, at(16)).unwrap();
    let foreign = namespace.set_attributes(&USER, &file, &group(7), None, at(17));
    assert_eq!(foreign.unwrap_err(), FileError::NotOwner);
}

#[test]
fn rfc1813_3_3_2_the_guard_of_setattr_holds() {
    let namespace = memory();
    let file = file(&namespace, namespace.root(), b"f");
    let changed = file.attributes().changed;
    let set = SetAttributes { mode: Some(0o600), ..Default::default() };
    let around = namespace.set_attributes(&ROOT, &file, &set, Some(changed), at(10)).unwrap().value;
    assert_eq!(around.before.changed, changed);
    assert!(around.after.changed > changed, "changes never share a time");
    let late = namespace.set_attributes(&ROOT, &file, &set, Some(changed), at(12));
    assert_eq!(late.unwrap_err(), FileError::NotInSync);
    let time = SetTime::To(Timestamp { seconds: 3, nanoseconds: 4 });
    let set = SetAttributes { accessed: time, modified: time, ..Default::default() };
    let after = namespace.set_attributes(&ROOT, &file, &set, None, at(13)).unwrap().value.after;
    assert_eq!(after.modified, Timestamp { seconds: 3, nanoseconds: 4 });
    assert_eq!(after.changed, at(13));
}

/// What the folder would be after the process was killed at this moment.
pub(super) fn crash(folder: &Path) -> tempfile::TempDir {
    let image = tempfile::tempdir().unwrap();
    std::fs::create_dir(image.path().join("data")).unwrap();
    std::fs::copy(folder.join("namespace.redb"), image.path().join("namespace.redb")).unwrap();
    for entry in std::fs::read_dir(folder.join("data")).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), image.path().join("data").join(entry.file_name())).unwrap();
    }
    image
}

#[test]
fn a_crash_gives_back_everything_acknowledged_as_stable() {
    let folder = tempfile::tempdir().unwrap();
    let namespace = open(folder.path());
    let root = namespace.root();
    let sub = directory(&namespace, root, b"sub");
    let kept = file(&namespace, &sub, b"kept");
    let removed = file(&namespace, &sub, b"removed");
    namespace.write(&ROOT, &removed, 0, b"gone", at(11)).unwrap();
    stable(&namespace, &removed);
    let removal = namespace.remove(&ROOT, &sub, b"removed", at(12)).unwrap();
    let moved = file(&namespace, root, b"old name");
    let rename = namespace.rename(&ROOT, (root, b"old name"), (&sub, b"new"), at(13)).unwrap();
    namespace.write(&ROOT, &kept, 5, b"stable", at(14)).unwrap();
    stable(&namespace, &kept);
    let stable_attributes = kept.attributes();
    namespace.write(&ROOT, &kept, 1 << 20, b"unstable", at(15)).unwrap();
    namespace.wait_stable(removal.ticket.max(rename.ticket)).unwrap();

    let image = crash(folder.path());
    let again = open(image.path());
    assert_eq!(again.secret(), namespace.secret(), "handles stay valid");
    let found = again.lookup_path(&ROOT, b"/sub/kept").unwrap();
    assert_eq!(found.id(), kept.id());
    let attributes = found.attributes();
    assert_eq!(
        (attributes.size, attributes.modified, attributes.mode),
        (stable_attributes.size, stable_attributes.modified, stable_attributes.mode)
    );
    assert_eq!(content(&again, &found, 0, 100), (b"\0\0\0\0\0stable".to_vec(), true));
    let mut expected = names(&namespace, &sub);
    expected.sort();
    let sub_again = again.find(sub.id()).unwrap();
    assert_eq!(names(&again, &sub_again), expected);
    assert_eq!(again.lookup(&ROOT, &sub_again, b"new").unwrap().id(), moved.id());
    assert_eq!(again.find(removed.id()).unwrap_err(), FileError::Stale);
    let fresh = file(&again, again.root(), b"fresh");
    assert!(fresh.id() > moved.id() && fresh.id() > removed.id(), "numbers are not used again");
    // What was written beyond the stable size does not show when the file grows over it.
    let set = SetAttributes { size: Some(2 << 20), ..Default::default() };
    again.set_attributes(&ROOT, &found, &set, None, at(16)).unwrap();
    let (bytes, _) = content(&again, &found, 11, 2 << 20);
    assert!(bytes.iter().all(|byte| *byte == 0));
    let numbers: Vec<_> = std::fs::read_dir(image.path().join("data"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(numbers, [format!("{:016x}", kept.id().0)], "no data of removed files is left");
}

#[test]
fn a_clean_end_keeps_what_was_never_committed() {
    let folder = tempfile::tempdir().unwrap();
    let namespace = open(folder.path());
    let inode = file(&namespace, namespace.root(), b"f");
    namespace.write(&ROOT, &inode, 0, b"not committed", at(11)).unwrap();
    drop(inode);
    drop(namespace);
    let again = open(folder.path());
    let inode = again.lookup(&ROOT, again.root(), b"f").unwrap();
    assert_eq!(content(&again, &inode, 0, 100), (b"not committed".to_vec(), true));
    assert!(again.usage().free_bytes < QUOTA, "its data is charged");
}

#[test]
fn writes_of_many_threads_and_truncations_leave_a_sound_file() {
    let namespace = memory();
    let inode = file(&namespace, namespace.root(), b"f");
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let (namespace, inode) = (&namespace, &inode);
            scope.spawn(move || {
                for round in 0..200_u64 {
                    let offset = round % 16 * 8192;
                    namespace.write(&ROOT, inode, offset, &[thread + 1; 8192], at(11)).unwrap();
                    let size = Some(round % 7 * 10_000);
                    let set = SetAttributes { size, ..Default::default() };
                    namespace.set_attributes(&ROOT, inode, &set, None, at(12)).unwrap();
                }
            });
        }
    });
    let size = inode.attributes().size;
    let (bytes, end) = content(&namespace, &inode, 0, 1 << 20);
    assert!(end);
    assert_eq!(bytes.len() as u64, size);
    let set = SetAttributes { size: Some(0), ..Default::default() };
    namespace.set_attributes(&ROOT, &inode, &set, None, at(13)).unwrap();
    assert_eq!(inode.attributes().used, 0, "a cut file takes no space");
    assert_eq!(namespace.usage().free_bytes, QUOTA);
}

/// Open descriptors of this process below a folder.
fn descriptors(folder: &Path) -> usize {
    let own = std::fs::read_dir("/proc/self/fd").unwrap();
    own.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .filter(|target| target.starts_with(folder.join("data")))
        .count()
}

#[test]
fn an_export_of_many_files_keeps_few_of_them_open_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let namespace = open(folder.path());
    let files: Vec<_> = (0..700)
        .map(|number: u32| {
            let name = format!("f{number}");
            let inode = file(&namespace, namespace.root(), name.as_bytes());
            namespace.write(&ROOT, &inode, 0, &number.to_le_bytes(), at(11)).unwrap();
            if number % 100 != 7 {
                stable(&namespace, &inode);
            }
            inode
        })
        .collect();
    let opened = descriptors(folder.path());
    assert!((500..=520).contains(&opened), "{opened}");
    let free = namespace.usage().free_bytes;
    assert_eq!(free, QUOTA - 700 * 4096, "closed files stay charged");
    for (number, inode) in (0_u32..).zip(&files) {
        assert_eq!(content(&namespace, inode, 0, 10), (number.to_le_bytes().to_vec(), true));
        // Written again after it was closed and opened.
        namespace.write(&ROOT, inode, 2, b"xy", at(12)).unwrap();
        stable(&namespace, inode);
        let expected = [&number.to_le_bytes()[..2], b"xy"].concat();
        assert_eq!(content(&namespace, inode, 0, 10), (expected, true));
    }
    assert!(descriptors(folder.path()) <= 520);
    assert_eq!(namespace.usage().free_bytes, free);
    for number in 0..700 {
        let name = format!("f{number}");
        namespace.remove(&ROOT, namespace.root(), name.as_bytes(), at(13)).unwrap();
    }
    drop(files);
    for _ in 0..500 {
        if namespace.usage().free_bytes == QUOTA && descriptors(folder.path()) == 0 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("{:?}, {} open", namespace.usage(), descriptors(folder.path()));
}
