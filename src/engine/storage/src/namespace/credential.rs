//! Who asks, and what the mode bits allow.
//!
//! User 0 may do everything, as ESXi needs (squashing, when asked for, happened before). An owner may
//! always read and write the own file whatever the mode says: NFS checks at each request what a local
//! system checks once at open (RFC 1813 section 4.4).

use super::attributes::{Attributes, Kind};

/// Identity of the caller (AUTH_SYS).
#[derive(Debug, Clone, Copy)]
pub struct Credential<'a> {
    /// User.
    pub uid: u32,
    /// Primary group.
    pub gid: u32,
    /// Further groups.
    pub groups: &'a [u32],
}

/// Read permission bit.
pub const READ: u32 = 4;
/// Write permission bit.
pub const WRITE: u32 = 2;
/// Execute or search permission bit.
pub const EXECUTE: u32 = 1;

impl Credential<'static> {
    /// The superuser.
    pub const ROOT: Self = Self { uid: 0, gid: 0, groups: &[] };
}

impl Credential<'_> {
    /// Whether the caller is in `group`.
    pub fn in_group(&self, group: u32) -> bool {
        self.gid == group || self.groups.contains(&group)
    }

    /// The permission bits ([`READ`], [`WRITE`], [`EXECUTE`]) that the mode grants.
    pub fn granted(&self, object: &Attributes) -> u32 {
        if self.uid == 0 {
            let execute = object.kind == Kind::Directory || object.mode & 0o111 != 0;
            return READ | WRITE | if execute { EXECUTE } else { 0 };
        }
        let shift = if self.uid == object.uid {
            6
        } else if self.in_group(object.gid) {
            3
        } else {
            0
        };
        (object.mode >> shift) & 7
    }

    /// Whether all of `wanted` is granted.
    pub fn may(&self, object: &Attributes, wanted: u32) -> bool {
        self.granted(object) & wanted == wanted
    }

    /// Whether file data may be read: granted, owned, or executable (a client must read to execute).
    pub fn may_read_data(&self, file: &Attributes) -> bool {
        self.uid == file.uid || self.granted(file) & (READ | EXECUTE) != 0
    }

    /// Whether file data may be written: granted or owned.
    pub fn may_write_data(&self, file: &Attributes) -> bool {
        self.uid == file.uid || self.granted(file) & WRITE != 0
    }

    /// Whether an entry of a sticky directory may be renamed or removed.
    pub fn may_unlink(&self, directory: &Attributes, object: &Attributes) -> bool {
        directory.mode & 0o1000 == 0
            || self.uid == 0
            || self.uid == object.uid
            || self.uid == directory.uid
    }
}
