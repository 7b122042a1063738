//! Why a file operation is refused.
//!
//! One value per answer a client can tell apart; the NFS server maps each to one status of RFC 1813
//! section 2.6. I/O failures carry no path: what a client sees must not describe the host.

use thiserror::Error;

/// Refusal of an operation on a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FileError {
    /// The caller is neither owner nor privileged.
    #[error("not the owner")]
    NotOwner,
    /// The mode bits do not allow it.
    #[error("permission denied")]
    Denied,
    /// There is no entry of that name.
    #[error("no such entry")]
    NotFound,
    /// An entry of that name exists already.
    #[error("the entry exists already")]
    Exists,
    /// A directory is needed here.
    #[error("not a directory")]
    NotDirectory,
    /// A directory cannot be used here.
    #[error("is a directory")]
    IsDirectory,
    /// The directory still has entries.
    #[error("the directory is not empty")]
    NotEmpty,
    /// The operation makes no sense on this object or with this argument.
    #[error("invalid argument")]
    Invalid,
    /// The name is longer than [`super::NAME_MAX`] bytes, or a link text longer than [`super::LINK_MAX`].
    #[error("the name is too long")]
    NameTooLong,
    /// The file would be larger than [`super::FILE_SIZE_MAX`].
    #[error("the file would be too large")]
    TooLarge,
    /// The object has as many names as it may.
    #[error("too many links")]
    TooManyLinks,
    /// The export's quota or the pool behind it is used up, or it holds as many files as it may.
    #[error("no space left")]
    NoSpace,
    /// The object no longer exists.
    #[error("the object no longer exists")]
    Stale,
    /// The directory position is not one that this directory ever gave out.
    #[error("not a position of this directory")]
    BadCookie,
    /// The guard time given with the change is not the object's.
    #[error("the object changed meanwhile")]
    NotInSync,
    /// Too much is being waited for; the same request may succeed later.
    #[error("busy, try again later")]
    Busy,
    /// The backing store failed; details are in the log.
    #[error("the backing store failed")]
    Io,
}

/// Why a namespace could not be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A host file or folder cannot be used.
    #[error("cannot {action} {path}: {source}")]
    Host {
        /// What was tried.
        action: &'static str,
        /// The host path.
        path: std::path::PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The metadata database cannot be read or written.
    #[error(
        "cannot use the metadata of {path}: {reason}; restore it or start with an empty folder"
    )]
    Metadata {
        /// The database file.
        path: std::path::PathBuf,
        /// What the database said.
        reason: String,
    },
    /// A record of the metadata makes no sense.
    #[error("metadata of {path} is damaged: {what}; restore it or start with an empty folder")]
    Damaged {
        /// The database file.
        path: std::path::PathBuf,
        /// Which record.
        what: String,
    },
    /// The system gives no random numbers.
    #[error("no random numbers from the system: {0}")]
    Random(String),
}
