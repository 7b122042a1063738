//! The tree: which objects exist and what stands in each directory.
//!
//! One lock guards it; operations that change names hold it exclusively for a few microseconds, lookups
//! and listings share it, reads and writes of data do not touch it. Changes are handed to the journal
//! while the lock is held, so that the journal has them in the order in which clients saw them happen.

use std::collections::HashMap;
use std::sync::Arc;

use super::attributes::{Around, Attributes, FileId, Kind, Timestamp};
use super::credential::{Credential, EXECUTE, WRITE};
use super::directory::{Directory, Entry};
use super::error::FileError;
use super::inode::Inode;
use super::journal::Change;
use super::name::Name;
use super::record::Record;

#[derive(Debug)]
pub(super) struct Tree {
    pub inodes: HashMap<FileId, Arc<Inode>>,
    pub directories: HashMap<FileId, Directory>,
    /// Number of the next object.
    pub next: u64,
}

impl Tree {
    /// The object with this number.
    pub fn find(&self, id: FileId) -> Result<&Arc<Inode>, FileError> {
        self.inodes.get(&id).ok_or(FileError::Stale)
    }

    /// The entries of a directory that still exists.
    pub fn entries(&self, directory: &Inode) -> Result<&Directory, FileError> {
        match self.directories.get(&directory.id()) {
            Some(entries) => Ok(entries),
            None if directory.kind() == Kind::Directory => Err(FileError::Stale),
            None => Err(FileError::NotDirectory),
        }
    }

    pub fn entries_mut(&mut self, directory: &Inode) -> Result<&mut Directory, FileError> {
        match self.directories.get_mut(&directory.id()) {
            Some(entries) => Ok(entries),
            None if directory.kind() == Kind::Directory => Err(FileError::Stale),
            None => Err(FileError::NotDirectory),
        }
    }

    /// The entries of a directory in which the caller may look up names.
    pub fn searchable(
        &self,
        who: &Credential<'_>,
        directory: &Inode,
    ) -> Result<&Directory, FileError> {
        let entries = self.entries(directory)?;
        if !who.may(&directory.attributes(), EXECUTE) {
            return Err(FileError::Denied);
        }
        Ok(entries)
    }

    /// The attributes of a directory in which the caller may change names.
    pub fn changeable(
        &self,
        who: &Credential<'_>,
        directory: &Inode,
    ) -> Result<Attributes, FileError> {
        self.entries(directory)?;
        let attributes = directory.attributes();
        if !who.may(&attributes, WRITE | EXECUTE) {
            return Err(FileError::Denied);
        }
        Ok(attributes)
    }

    /// An entry and its object.
    pub fn entry(
        &self,
        directory: &Inode,
        name: Name<'_>,
    ) -> Result<(Entry, Arc<Inode>), FileError> {
        let entry = self.entries(directory)?.find(name.bytes()).ok_or(FileError::NotFound)?;
        Ok((entry, Arc::clone(self.find(entry.id)?)))
    }

    /// Notes that the entries of a directory changed; `subdirectories` tells how many more or fewer
    /// directories it has.
    pub fn touch_directory(
        &self,
        directory: &Inode,
        subdirectories: i32,
        now: Timestamp,
        changes: &mut Vec<Change>,
    ) -> Around {
        let mut state = directory.state();
        let before = state.attributes.before();
        let attributes = &mut state.attributes;
        attributes.changed = attributes.changed.advanced_to(now);
        attributes.modified = attributes.changed;
        attributes.links = attributes.links.saturating_add_signed(subdirectories);
        let entries = self.directories.get(&directory.id());
        changes.push(Change::Put(directory.id(), directory.record(&state, entries)));
        Around { before, after: state.attributes }
    }

    /// The record of any object, as it is now.
    pub fn record(&self, inode: &Inode) -> Record {
        inode.record(&inode.state(), self.directories.get(&inode.id()))
    }
}
