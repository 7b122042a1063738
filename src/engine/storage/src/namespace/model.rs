//! Long random histories: after each, what a crash would leave equals what clients saw.
//!
//! Every object's attributes, every entry with its cookie, and every file's content are compared between the
//! namespace in memory and one opened from a copy of its folder.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;

use super::tests::{ROOT, at, content, crash, open, stable};
use super::*;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % limit
    }
}

/// Everything that can be seen of a namespace, by number of object.
fn picture(namespace: &Namespace) -> BTreeMap<u64, String> {
    let mut seen = BTreeMap::new();
    let mut directories = vec![Arc::clone(namespace.root())];
    while let Some(directory) = directories.pop() {
        let mut entries = Vec::new();
        let mut each = |item: ListItem<'_>| {
            entries.push((item.cookie, item.name.to_vec(), Arc::clone(item.inode)));
            true
        };
        assert!(namespace.list(&ROOT, &directory, 0, &mut each).unwrap());
        let mut text = format!("{:?} ", comparable(&directory));
        for (cookie, name, inode) in entries {
            text += &format!("[{cookie} {} {}]", name.escape_ascii(), inode.id().0);
            if cookie <= COOKIE_PARENT {
                continue;
            }
            if inode.kind() == FileKind::Directory {
                directories.push(inode);
            } else {
                let data = match inode.kind() {
                    FileKind::Regular => content(namespace, &inode, 0, 1 << 20).0,
                    _ => inode.link_text().unwrap_or_default().to_vec(),
                };
                let sum = data
                    .iter()
                    .fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
                seen.insert(inode.id().0, format!("{:?} {} {sum}", comparable(&inode), data.len()));
            }
        }
        seen.insert(directory.id().0, text);
    }
    seen
}

/// Access times are not written down by themselves, and the host counts blocks in its own way.
fn comparable(inode: &Inode) -> Attributes {
    Attributes { accessed: at(0), used: 0, ..inode.attributes() }
}

struct Walk<'a> {
    namespace: &'a Arc<Namespace>,
    random: Random,
    directories: Vec<Arc<Inode>>,
    files: Vec<Arc<Inode>>,
    last: Ticket,
    clock: u32,
}

impl Walk<'_> {
    fn step(&mut self) {
        self.clock += 1;
        let now = at(self.clock);
        let name = format!("n{}", self.random.below(12)).into_bytes();
        let other = format!("n{}", self.random.below(12)).into_bytes();
        let directory = self.pick_directory();
        let target = self.pick_directory();
        let namespace = self.namespace;
        let set = SetAttributes {
            mode: Some(self.random.below(0o1000) as u32),
            ..SetAttributes::default()
        };
        let done = match self.random.below(10) {
            0..=2 => {
                namespace.create(&ROOT, &directory, &name, How::Unchecked(set), now).map(|done| {
                    self.files.push(done.value.inode);
                    done.ticket
                })
            }
            3 => namespace.make_node(&ROOT, &directory, &name, Node::Directory, set, now).map(
                |done| {
                    self.directories.push(done.value.inode);
                    done.ticket
                },
            ),
            4 => namespace
                .make_symlink(&ROOT, &directory, &name, b"text", set, now)
                .map(|done| done.ticket),
            5 => namespace.remove(&ROOT, &directory, &name, now).map(|done| done.ticket),
            6 => namespace.remove_directory(&ROOT, &directory, &name, now).map(|done| done.ticket),
            7 => namespace
                .rename(&ROOT, (&directory, &name), (&target, &other), now)
                .map(|done| done.ticket),
            8 => match self.files.last().cloned() {
                Some(file) => {
                    namespace.link(&ROOT, &file, &target, &other, now).map(|done| done.ticket)
                }
                None => Ok(Ticket::STABLE),
            },
            _ => self.data(now),
        };
        if let Ok(ticket) = done {
            self.last = self.last.max(ticket);
        }
    }

    fn data(&mut self, now: Timestamp) -> Result<Ticket, FileError> {
        let count = self.files.len() as u64;
        if count == 0 {
            return Ok(Ticket::STABLE);
        }
        let file = Arc::clone(&self.files[self.random.below(count) as usize]);
        let size = self.random.below(300_000);
        if self.random.below(2) == 0 {
            let bytes = vec![self.clock as u8; self.random.below(70_000) as usize];
            self.namespace.write(&ROOT, &file, size, &bytes, now)?;
            stable(self.namespace, &file);
            return Ok(Ticket::STABLE);
        }
        let set = SetAttributes { size: Some(size), ..SetAttributes::default() };
        self.namespace.set_attributes(&ROOT, &file, &set, None, now).map(|done| done.ticket)
    }

    fn pick_directory(&mut self) -> Arc<Inode> {
        self.directories.retain(|directory| !directory.is_gone());
        let count = self.directories.len() as u64;
        Arc::clone(&self.directories[self.random.below(count) as usize])
    }
}

#[test]
fn what_a_crash_leaves_is_what_clients_saw() {
    for seed in 1..=6 {
        let folder = tempfile::tempdir().unwrap();
        let namespace = open(folder.path());
        let mut walk = Walk {
            namespace: &namespace,
            random: Random(seed),
            directories: vec![Arc::clone(namespace.root())],
            files: Vec::new(),
            last: Ticket::STABLE,
            clock: 100,
        };
        for _ in 0..4 {
            for _ in 0..60 {
                walk.step();
            }
            namespace.wait_stable(walk.last).unwrap();
            let image = crash(folder.path());
            let live = picture(&namespace);
            assert_eq!(live, picture(&open(image.path())), "seed {seed}");
            assert!(live.len() > 5, "seed {seed} did something");
        }
    }
}
