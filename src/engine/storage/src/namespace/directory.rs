//! One directory: names to objects, and positions for listing.
//!
//! Each entry gets a cookie, the next number of its directory, for as long as it exists. Listing goes in
//! the order of cookies, so a position stays good whatever is removed or added between two requests:
//! nothing present all along is skipped or told twice, and what is new comes at the end. Numbers are not
//! used again, also after a restart.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::attributes::FileId;

/// Position after `.`; 0 is the start.
pub const COOKIE_SELF: u64 = 1;
/// Position after `..`.
pub const COOKIE_PARENT: u64 = 2;
/// Cookie of the first entry of a new directory.
pub(super) const FIRST_COOKIE: u64 = 3;

/// An entry as it is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub cookie: u64,
    pub id: FileId,
}

#[derive(Debug)]
pub(super) struct Directory {
    pub parent: FileId,
    pub next_cookie: u64,
    by_name: HashMap<Arc<[u8]>, Entry>,
    by_cookie: BTreeMap<u64, (Arc<[u8]>, FileId)>,
}

impl Directory {
    pub fn new(parent: FileId) -> Self {
        Self {
            parent,
            next_cookie: FIRST_COOKIE,
            by_name: HashMap::new(),
            by_cookie: BTreeMap::new(),
        }
    }

    pub fn find(&self, name: &[u8]) -> Option<Entry> {
        self.by_name.get(name).copied()
    }

    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Adds an entry, whose name must be free, and tells its cookie.
    pub fn insert(&mut self, name: Arc<[u8]>, id: FileId) -> u64 {
        let cookie = self.next_cookie;
        self.restore(cookie, name, id);
        cookie
    }

    /// Adds an entry read back from the metadata.
    pub fn restore(&mut self, cookie: u64, name: Arc<[u8]>, id: FileId) {
        self.next_cookie = self.next_cookie.max(cookie + 1);
        self.by_name.insert(Arc::clone(&name), Entry { cookie, id });
        self.by_cookie.insert(cookie, (name, id));
    }

    /// Removes an entry.
    pub fn remove(&mut self, name: &[u8]) -> Option<Entry> {
        let entry = self.by_name.remove(name)?;
        self.by_cookie.remove(&entry.cookie);
        Some(entry)
    }

    /// Whether `cookie` was ever given out.
    pub fn knows(&self, cookie: u64) -> bool {
        cookie < self.next_cookie
    }

    /// Entries after the position `cookie`.
    pub fn after(&self, cookie: u64) -> impl Iterator<Item = (u64, &Arc<[u8]>, FileId)> {
        self.by_cookie
            .range(cookie.saturating_add(1)..)
            .map(|(cookie, (name, id))| (*cookie, name, *id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_survive_removal_and_insertion() {
        let mut directory = Directory::new(FileId(1));
        for number in 0..10_u8 {
            directory.insert(Arc::from([b'a' + number]), FileId(u64::from(number)));
        }
        let seen: Vec<u64> = directory.after(0).take(4).map(|(cookie, ..)| cookie).collect();
        let position = seen[3];
        directory.remove(b"a");
        directory.remove(b"d");
        directory.remove(b"e");
        directory.insert(Arc::from(*b"new"), FileId(99));
        let rest: Vec<u64> = directory.after(position).map(|(_, _, id)| id.0).collect();
        assert_eq!(rest, [5, 6, 7, 8, 9, 99]);
    }
}
