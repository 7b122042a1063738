//! Finding objects by name and listing directories.

use std::sync::Arc;

use super::Namespace;
use super::attributes::{FileId, Kind};
use super::credential::{Credential, READ};
use super::directory::{COOKIE_PARENT, COOKIE_SELF};
use super::error::FileError;
use super::inode::Inode;
use super::name::{NAME_MAX, Name};

/// One line of a listing.
#[derive(Debug, Clone, Copy)]
pub struct ListItem<'a> {
    /// The position after this line.
    pub cookie: u64,
    /// The name.
    pub name: &'a [u8],
    /// The object.
    pub inode: &'a Arc<Inode>,
}

impl Namespace {
    /// The object that a name of the directory stands for; `.` and `..` are understood, and the top
    /// directory is its own parent.
    pub fn lookup(
        &self,
        who: &Credential<'_>,
        directory: &Inode,
        name: &[u8],
    ) -> Result<Arc<Inode>, FileError> {
        let tree = self.tree();
        let entries = tree.searchable(who, directory)?;
        let id = match name {
            b"." => directory.id(),
            b".." => entries.parent,
            _ if name.len() > NAME_MAX => return Err(FileError::NameTooLong),
            _ => entries.find(name).ok_or(FileError::NotFound)?.id,
        };
        tree.find(id).cloned()
    }

    /// The object at a path below the top directory; symbolic links on the way are not followed.
    pub fn lookup_path(&self, who: &Credential<'_>, path: &[u8]) -> Result<Arc<Inode>, FileError> {
        let mut at = Arc::clone(self.root());
        for part in path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
            at = self.lookup(who, &at, Name::new(part)?.bytes())?;
        }
        Ok(at)
    }

    /// Shows the entries after position `cookie` (0 for the start) until `each` returns false; true when
    /// the end was reached.
    pub fn list(
        &self,
        who: &Credential<'_>,
        directory: &Arc<Inode>,
        cookie: u64,
        each: &mut dyn FnMut(ListItem<'_>) -> bool,
    ) -> Result<bool, FileError> {
        let tree = self.tree();
        let entries = tree.entries(directory)?;
        if !who.may(&directory.attributes(), READ) {
            return Err(FileError::Denied);
        }
        if !entries.knows(cookie) {
            return Err(FileError::BadCookie);
        }
        if cookie < COOKIE_SELF
            && !each(ListItem { cookie: COOKIE_SELF, name: b".", inode: directory })
        {
            return Ok(false);
        }
        if cookie < COOKIE_PARENT {
            let inode = tree.find(entries.parent)?;
            if !each(ListItem { cookie: COOKIE_PARENT, name: b"..", inode }) {
                return Ok(false);
            }
        }
        for (cookie, name, id) in entries.after(cookie) {
            let inode = tree.find(id)?;
            if !each(ListItem { cookie, name, inode }) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What a listing position is valid for: a directory that was removed and made again is another.
    pub fn list_verifier(directory: &Inode) -> u64 {
        debug_assert_eq!(directory.kind(), Kind::Directory);
        let FileId(number) = directory.id();
        number
    }
}
