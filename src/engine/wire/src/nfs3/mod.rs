//! NFS version 3 (RFC 1813): arguments and results of all 22 procedures, one description for both ends.
//!
//! Results are `Result<Ok, Failure<Detail>>`: the status word chooses between the two, as in the unions of
//! the RFC. The two messages that carry data have a head of their own, [`ReadHead`] and [`WriteHead`], so
//! that the data itself is sent by reference and, on the receiving side, used before all of it is there:
//! the head ends with the length word; the data and its padding follow.

mod attributes;
mod directory;
mod files;
mod io;
mod procedure;
mod status;
mod system;
#[cfg(test)]
mod tests;

pub use attributes::{
    AttributeGuard, Attributes, DeviceNumber, FileKind, SetAttributes, SetTime, Time, Weak,
    WeakData,
};
pub use directory::{
    Entry, EntryPlus, ReadDirArgs, ReadDirOk, ReadDirPlusArgs, ReadDirPlusOk, ReadDirPlusResult,
    ReadDirResult,
};
pub use files::{
    AccessArgs, AccessOk, AccessResult, CreateArgs, CreateHow, CreateOk, CreateResult, DirOp,
    GetAttrResult, LinkArgs, LinkOk, LinkResult, LookupOk, LookupResult, MakeDirArgs, MakeNode,
    MakeNodeArgs, ReadLinkOk, ReadLinkResult, RemoveResult, RenameArgs, RenameOk, RenameResult,
    SetAttrArgs, SetAttrResult, SymlinkArgs, access,
};
pub use io::{
    CommitArgs, CommitOk, CommitResult, ReadArgs, ReadHead, ReadOk, ReadResult, Stability,
    Verifier, WriteArgs, WriteHead, WriteOk, WriteResult,
};
pub use procedure::Procedure;
pub use status::{Failure, Status};
pub use system::{
    FsInfoOk, FsInfoResult, FsStatOk, FsStatResult, PathConfOk, PathConfResult, properties,
};

use crate::xdr::xdr_opaque;

/// Program number.
pub const PROGRAM: u32 = 100_003;
/// Version.
pub const VERSION: u32 = 3;
/// The well-known port.
pub const PORT: u16 = 2049;
/// Limit of a file handle (`NFS3_FHSIZE`).
pub const MAX_HANDLE_BYTES: usize = 64;
/// Limit of a name or path. The RFC has none; a server answers NFS3ERR_NAMETOOLONG well below.
pub const MAX_NAME_BYTES: usize = 4096;
/// Limit of the data of one READ or WRITE that is accepted from the wire.
pub const MAX_DATA_BYTES: usize = 8 << 20;

xdr_opaque! {
    /// A file handle, opaque to clients (`nfs_fh3`).
    FileHandle "file handle" crate::nfs3::MAX_HANDLE_BYTES
}
xdr_opaque! {
    /// A name in a directory (`filename3`).
    Name "file name" crate::nfs3::MAX_NAME_BYTES
}
xdr_opaque! {
    /// Content of a symbolic link (`nfspath3`).
    Path "path" crate::nfs3::MAX_NAME_BYTES
}
