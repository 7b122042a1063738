//! Removing names, and objects with their last name.

use std::sync::Arc;

use super::attributes::{Around, Kind, Timestamp};
use super::credential::Credential;
use super::error::FileError;
use super::inode::Inode;
use super::journal::Change;
use super::name::Name;
use super::tree::Tree;
use super::{Done, Namespace};

impl Namespace {
    /// Removes a name of anything but a directory (REMOVE).
    pub fn remove(
        &self,
        who: &Credential<'_>,
        directory: &Inode,
        name: &[u8],
        now: Timestamp,
    ) -> Result<Done<Around>, FileError> {
        self.check_writable()?;
        if matches!(name, b"." | b"..") {
            return Err(FileError::IsDirectory);
        }
        let name = Name::new(name)?;
        let mut tree = self.tree_mut();
        let parent = tree.changeable(who, directory)?;
        let (entry, inode) = tree.entry(directory, name)?;
        if inode.kind() == Kind::Directory {
            return Err(FileError::IsDirectory);
        }
        if !who.may_unlink(&parent, &inode.attributes()) {
            return Err(FileError::Denied);
        }
        tree.entries_mut(directory)?.remove(name.bytes());
        let mut changes = vec![Change::Unlink { directory: directory.id(), cookie: entry.cookie }];
        tree.drop_link(&inode, now, &mut changes);
        let value = tree.touch_directory(directory, 0, now, &mut changes);
        let ticket = self.push(changes);
        drop(tree);
        self.reap(inode, ticket);
        Ok(Done { value, ticket })
    }

    /// Removes an empty directory (RMDIR).
    pub fn remove_directory(
        &self,
        who: &Credential<'_>,
        directory: &Inode,
        name: &[u8],
        now: Timestamp,
    ) -> Result<Done<Around>, FileError> {
        self.check_writable()?;
        match name {
            b"." => return Err(FileError::Invalid),
            b".." => return Err(FileError::Exists),
            _ => {}
        }
        let name = Name::new(name)?;
        let mut tree = self.tree_mut();
        let parent = tree.changeable(who, directory)?;
        let (entry, inode) = tree.entry(directory, name)?;
        if !tree.entries(&inode)?.is_empty() {
            return Err(FileError::NotEmpty);
        }
        if !who.may_unlink(&parent, &inode.attributes()) {
            return Err(FileError::Denied);
        }
        tree.entries_mut(directory)?.remove(name.bytes());
        let mut changes = vec![Change::Unlink { directory: directory.id(), cookie: entry.cookie }];
        tree.drop_directory(&inode, &mut changes);
        let value = tree.touch_directory(directory, -1, now, &mut changes);
        let ticket = self.push(changes);
        Ok(Done { value, ticket })
    }
}

impl Tree {
    /// Takes one name from an object that is no directory; without names it is gone.
    pub fn drop_link(&mut self, inode: &Arc<Inode>, now: Timestamp, changes: &mut Vec<Change>) {
        let mut state = inode.state();
        let attributes = &mut state.attributes;
        attributes.links = attributes.links.saturating_sub(1);
        attributes.changed = attributes.changed.advanced_to(now);
        if state.attributes.links > 0 {
            changes.push(Change::Put(inode.id(), inode.record(&state, None)));
            return;
        }
        inode.mark_gone(&state);
        self.inodes.remove(&inode.id());
        changes.push(Change::Drop(inode.id()));
    }

    /// An empty directory is gone.
    pub fn drop_directory(&mut self, inode: &Inode, changes: &mut Vec<Change>) {
        inode.mark_gone(&inode.state());
        self.directories.remove(&inode.id());
        self.inodes.remove(&inode.id());
        changes.push(Change::Drop(inode.id()));
    }
}
