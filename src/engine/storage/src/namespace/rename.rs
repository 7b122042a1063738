//! RENAME: one step for everybody who looks, and one transaction on the disk.

use std::sync::Arc;

use super::attributes::{Around, FileId, Kind, Timestamp};
use super::create::existing_or_new;
use super::credential::{Credential, WRITE};
use super::error::FileError;
use super::inode::Inode;
use super::journal::Change;
use super::name::Name;
use super::tree::Tree;
use super::{Done, Namespace};

/// The two directories around a rename.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renamed {
    /// Where the name was.
    pub from: Around,
    /// Where the name is; equal to `from` for a rename within one directory.
    pub to: Around,
}

/// A name in a directory.
#[derive(Clone, Copy)]
struct Place<'a> {
    directory: &'a Inode,
    name: Name<'a>,
}

impl Namespace {
    /// Moves a name; what had the target name is gone in the same step.
    pub fn rename(
        &self,
        who: &Credential<'_>,
        from: (&Inode, &[u8]),
        to: (&Inode, &[u8]),
        now: Timestamp,
    ) -> Result<Done<Renamed>, FileError> {
        self.check_writable()?;
        let from = Place { directory: from.0, name: existing_or_new(from.1).map_err(dots)? };
        let to = Place { directory: to.0, name: existing_or_new(to.1).map_err(dots)? };
        let mut tree = self.tree_mut();
        let (moved, replaced) = tree.check_rename(who, from, to)?;
        if replaced.as_ref().is_some_and(|replaced| replaced.id() == moved.id()) {
            // Two names of one object: nothing happens (RFC 1813 section 3.3.14).
            let unchanged = |directory: &Inode| {
                let after = directory.attributes();
                Around { before: after.before(), after }
            };
            let value = Renamed { from: unchanged(from.directory), to: unchanged(to.directory) };
            return Ok(Done { value, ticket: super::Ticket::STABLE });
        }
        let mut changes = Vec::new();
        let is_directory = moved.kind() == Kind::Directory;
        let mut gained = i32::from(is_directory);
        if let Some(replaced) = &replaced {
            gained -= i32::from(is_directory);
            tree.unlink(to, &mut changes)?;
            if is_directory {
                tree.drop_directory(replaced, &mut changes);
            } else {
                tree.drop_link(replaced, now, &mut changes);
            }
        }
        tree.unlink(from, &mut changes)?;
        let name = to.name.keep();
        let id = moved.id();
        let cookie = tree.entries_mut(to.directory)?.insert(Arc::clone(&name), id);
        changes.push(Change::Link { directory: to.directory.id(), cookie, id, name });
        if let Some(entries) = tree.directories.get_mut(&id) {
            entries.parent = to.directory.id();
        }
        {
            let mut state = moved.state();
            state.attributes.changed = state.attributes.changed.advanced_to(now);
        }
        changes.push(Change::Put(id, tree.record(&moved)));
        let value = if from.directory.id() == to.directory.id() {
            let lost = gained - i32::from(is_directory);
            let around = tree.touch_directory(from.directory, lost, now, &mut changes);
            Renamed { from: around, to: around }
        } else {
            let lost = -i32::from(is_directory);
            Renamed {
                from: tree.touch_directory(from.directory, lost, now, &mut changes),
                to: tree.touch_directory(to.directory, gained, now, &mut changes),
            }
        };
        let ticket = self.push(changes);
        drop(tree);
        if let Some(replaced) = replaced {
            self.reap(replaced, ticket);
        }
        Ok(Done { value, ticket })
    }
}

/// `.` and `..` cannot be moved or replaced.
fn dots(error: FileError) -> FileError {
    match error {
        FileError::Exists => FileError::Invalid,
        other => other,
    }
}

impl Tree {
    /// The object to be moved and the one that has the target name.
    fn check_rename(
        &self,
        who: &Credential<'_>,
        from: Place<'_>,
        to: Place<'_>,
    ) -> Result<(Arc<Inode>, Option<Arc<Inode>>), FileError> {
        let source = self.changeable(who, from.directory)?;
        let target = self.changeable(who, to.directory)?;
        let (_, moved) = self.entry(from.directory, from.name)?;
        let attributes = moved.attributes();
        if !who.may_unlink(&source, &attributes) {
            return Err(FileError::Denied);
        }
        if moved.kind() == Kind::Directory {
            if self.is_within(to.directory.id(), moved.id()) {
                return Err(FileError::Invalid);
            }
            // Moving a directory changes its `..`.
            let moves = from.directory.id() != to.directory.id();
            if moves && !who.may(&attributes, WRITE) {
                return Err(FileError::Denied);
            }
        }
        let replaced = match self.entry(to.directory, to.name) {
            Ok((_, replaced)) => replaced,
            Err(FileError::NotFound) => return Ok((moved, None)),
            Err(error) => return Err(error),
        };
        if replaced.id() == moved.id() {
            return Ok((moved, Some(replaced)));
        }
        match (moved.kind() == Kind::Directory, replaced.kind() == Kind::Directory) {
            (true, false) => return Err(FileError::NotDirectory),
            (false, true) => return Err(FileError::IsDirectory),
            (true, true) if !self.entries(&replaced)?.is_empty() => {
                return Err(FileError::NotEmpty);
            }
            _ => {}
        }
        if !who.may_unlink(&target, &replaced.attributes()) {
            return Err(FileError::Denied);
        }
        Ok((moved, Some(replaced)))
    }

    /// Whether `directory` is `above` or lies below it.
    fn is_within(&self, mut directory: FileId, above: FileId) -> bool {
        loop {
            if directory == above {
                return true;
            }
            match self.directories.get(&directory) {
                Some(entries) if entries.parent != directory => directory = entries.parent,
                _ => return false,
            }
        }
    }

    fn unlink(&mut self, place: Place<'_>, changes: &mut Vec<Change>) -> Result<(), FileError> {
        let entry = self
            .entries_mut(place.directory)?
            .remove(place.name.bytes())
            .ok_or(FileError::NotFound)?;
        changes.push(Change::Unlink { directory: place.directory.id(), cookie: entry.cookie });
        Ok(())
    }
}
