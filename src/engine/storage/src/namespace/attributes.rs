//! What is known about a file system object: kind, mode, owner, size and times (RFC 1813 section 2.5).

use std::time::{SystemTime, UNIX_EPOCH};

/// Number of an object: unique in its namespace for all time, never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u64);

/// The kind of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A file with data.
    Regular = 1,
    /// A directory.
    Directory = 2,
    /// A block device node; its numbers mean nothing to this server.
    BlockDevice = 3,
    /// A character device node.
    CharacterDevice = 4,
    /// A symbolic link; its text is never followed by this server.
    Symlink = 5,
    /// A socket node.
    Socket = 6,
    /// A named pipe.
    Fifo = 7,
}

/// A point in time as NFSv3 carries it: unsigned seconds since 1970, to the year 2106.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Timestamp {
    /// Whole seconds since 1970-01-01 UTC.
    pub seconds: u32,
    /// Nanoseconds within the second.
    pub nanoseconds: u32,
}

impl Timestamp {
    /// The wall clock now.
    pub fn now() -> Self {
        Self::from(SystemTime::now())
    }

    /// The next nanosecond.
    fn next(self) -> Self {
        if self.nanoseconds >= 999_999_999 {
            Self { seconds: self.seconds.saturating_add(1), nanoseconds: 0 }
        } else {
            Self { seconds: self.seconds, nanoseconds: self.nanoseconds + 1 }
        }
    }

    /// `now`, or one nanosecond after `self` when the clock did not move on: two changes never carry one
    /// time, because clients keep their caches by comparing times.
    pub(super) fn advanced_to(self, now: Self) -> Self {
        if now > self { now } else { self.next() }
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            seconds: u32::try_from(since.as_secs()).unwrap_or(u32::MAX),
            nanoseconds: since.subsec_nanos(),
        }
    }
}

/// Attributes of an object at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// Number of the object.
    pub id: FileId,
    /// Kind of the object.
    pub kind: Kind,
    /// Permission bits, at most 0o7777.
    pub mode: u32,
    /// Number of names.
    pub links: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Size in bytes.
    pub size: u64,
    /// Bytes that the object takes up in its backing store.
    pub used: u64,
    /// Major and minor number of a device node.
    pub device: (u32, u32),
    /// Last access.
    pub accessed: Timestamp,
    /// Last change of the content.
    pub modified: Timestamp,
    /// Last change of content or attributes; only the server sets it.
    pub changed: Timestamp,
}

impl Attributes {
    /// What weak cache consistency needs of the state before an operation.
    pub fn before(&self) -> Before {
        Before { size: self.size, modified: self.modified, changed: self.changed }
    }
}

/// The part of the attributes before an operation that clients compare (wcc_attr).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Before {
    /// Size in bytes.
    pub size: u64,
    /// Last change of the content.
    pub modified: Timestamp,
    /// Last change of content or attributes.
    pub changed: Timestamp,
}

/// Attributes around one operation (wcc_data).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Around {
    /// Just before.
    pub before: Before,
    /// Just after.
    pub after: Attributes,
}

/// A time to be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SetTime {
    /// Leave as it is.
    #[default]
    Keep,
    /// The server's clock.
    Now,
    /// The client's value.
    To(Timestamp),
}

/// Attributes to be set (sattr3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SetAttributes {
    /// Permission bits.
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Size in bytes.
    pub size: Option<u64>,
    /// Last access.
    pub accessed: SetTime,
    /// Last change of the content.
    pub modified: SetTime,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_changes_never_carry_one_time() {
        let t = Timestamp { seconds: 5, nanoseconds: 999_999_999 };
        assert_eq!(t.advanced_to(t), Timestamp { seconds: 6, nanoseconds: 0 });
        let later = Timestamp { seconds: 7, nanoseconds: 1 };
        assert_eq!(t.advanced_to(later), later);
        let earlier = Timestamp { seconds: 1, nanoseconds: 0 };
        assert!(t.advanced_to(earlier) > t);
    }
}
