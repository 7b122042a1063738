//! Names of directory entries.
//!
//! A [`Name`] is proof that bytes from a client may become an entry: 1 to 255 bytes, no `/`, no NUL, and
//! neither `.` nor `..`. Names never become host paths (a file's data lies under its number), so this is
//! about what clients can use, not about the safety of the host.

use std::sync::Arc;

use super::FileError;

/// Longest name in bytes (PATHCONF name_max).
pub const NAME_MAX: usize = 255;

/// A valid entry name, borrowed from the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name<'a>(&'a [u8]);

impl<'a> Name<'a> {
    /// Checks a name for an entry that is to be made, renamed or removed.
    pub fn new(bytes: &'a [u8]) -> Result<Self, FileError> {
        if bytes.len() > NAME_MAX {
            return Err(FileError::NameTooLong);
        }
        if bytes.is_empty() || bytes == b"." || bytes == b".." || bytes.contains(&b'/') {
            return Err(FileError::Invalid);
        }
        if bytes.contains(&0) {
            return Err(FileError::Invalid);
        }
        Ok(Self(bytes))
    }

    /// The bytes.
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// A copy that can be kept.
    pub(super) fn keep(self) -> Arc<[u8]> {
        Arc::from(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_entry_may_have_are_refused() {
        let refused: [&[u8]; 6] = [b"", b".", b"..", b"a/b", b"/", b"a\0b"];
        for name in refused {
            assert_eq!(Name::new(name), Err(FileError::Invalid), "{name:?}");
        }
        assert_eq!(Name::new(&[b'a'; 256]), Err(FileError::NameTooLong));
        let taken: [&[u8]; 4] = [b"a", b"...", b".lck-e003090001000000", &[0xff; 255]];
        for name in taken {
            assert!(Name::new(name).is_ok(), "{name:?}");
        }
    }
}
