//! From the namespace's words to those of the wire, and back.

use plimsoll_storage::namespace::{
    Around, Attributes, FileError, FileKind, SetAttributes, SetTime, Timestamp,
};
use plimsoll_wire::nfs3::{self, Status};

/// The status that tells a client of a refusal (RFC 1813 section 2.6).
pub(crate) fn status(error: FileError) -> Status {
    match error {
        FileError::NotOwner => Status::PERMISSION,
        FileError::Denied => Status::ACCESS,
        FileError::NotFound => Status::NOT_FOUND,
        FileError::Exists => Status::EXISTS,
        FileError::NotDirectory => Status::NOT_DIRECTORY,
        FileError::IsDirectory => Status::IS_DIRECTORY,
        FileError::NotEmpty => Status::NOT_EMPTY,
        FileError::Invalid => Status::INVALID,
        FileError::NameTooLong => Status::NAME_TOO_LONG,
        FileError::TooLarge => Status::FILE_TOO_LARGE,
        FileError::TooManyLinks => Status::TOO_MANY_LINKS,
        FileError::NoSpace => Status::NO_SPACE,
        FileError::Stale => Status::STALE,
        FileError::BadCookie => Status::BAD_COOKIE,
        FileError::NotInSync => Status::NOT_SYNC,
        FileError::Busy => Status::JUKEBOX,
        FileError::Io => Status::IO,
        _ => Status::SERVER_FAULT,
    }
}

pub(crate) fn attributes(fsid: u64, from: &Attributes) -> nfs3::Attributes {
    nfs3::Attributes {
        kind: match from.kind {
            FileKind::Regular => nfs3::FileKind::Regular,
            FileKind::Directory => nfs3::FileKind::Directory,
            FileKind::BlockDevice => nfs3::FileKind::Block,
            FileKind::CharacterDevice => nfs3::FileKind::Character,
            FileKind::Symlink => nfs3::FileKind::Symlink,
            FileKind::Socket => nfs3::FileKind::Socket,
            FileKind::Fifo => nfs3::FileKind::Fifo,
        },
        mode: from.mode,
        links: from.links,
        uid: from.uid,
        gid: from.gid,
        size_bytes: from.size,
        used_bytes: from.used,
        device: nfs3::DeviceNumber { major: from.device.0, minor: from.device.1 },
        fsid,
        fileid: from.id.0,
        accessed: time(from.accessed),
        modified: time(from.modified),
        changed: time(from.changed),
    }
}

pub(crate) fn around(fsid: u64, from: &Around) -> nfs3::WeakData {
    nfs3::WeakData {
        before: Some(nfs3::Weak {
            size_bytes: from.before.size,
            modified: time(from.before.modified),
            changed: time(from.before.changed),
        }),
        after: Some(attributes(fsid, &from.after)),
    }
}

pub(crate) fn time(from: Timestamp) -> nfs3::Time {
    nfs3::Time { seconds: from.seconds, nanoseconds: from.nanoseconds }
}

/// Nanoseconds of a full second or more would make times that compare oddly: they are cut.
pub(crate) fn timestamp(from: nfs3::Time) -> Timestamp {
    Timestamp { seconds: from.seconds, nanoseconds: from.nanoseconds.min(999_999_999) }
}

pub(crate) fn set_attributes(from: &nfs3::SetAttributes) -> SetAttributes {
    SetAttributes {
        mode: from.mode,
        uid: from.uid,
        gid: from.gid,
        size: from.size_bytes,
        accessed: set_time(from.accessed),
        modified: set_time(from.modified),
    }
}

fn set_time(from: nfs3::SetTime) -> SetTime {
    match from {
        nfs3::SetTime::Keep => SetTime::Keep,
        nfs3::SetTime::Server => SetTime::Now,
        nfs3::SetTime::Client(time) => SetTime::To(timestamp(time)),
    }
}
