//! Procedures on names and attributes: GETATTR to RENAME and LINK (RFC 1813 sections 3.3.1 to 3.3.15).

use super::{
    AttributeGuard, Attributes, DeviceNumber, Failure, FileHandle, FileKind, Name, Path,
    SetAttributes, WeakData,
};
use crate::xdr::{Error, Reader, Result, Writer, Xdr, xdr_fields};

/// Bits of [`AccessArgs::access`] (section 3.3.4).
pub mod access {
    /// Read data or a directory.
    pub const READ: u32 = 0x01;
    /// Look up a name in a directory.
    pub const LOOKUP: u32 = 0x02;
    /// Rewrite existing data.
    pub const MODIFY: u32 = 0x04;
    /// Write new data or add to a directory.
    pub const EXTEND: u32 = 0x08;
    /// Delete from a directory.
    pub const DELETE: u32 = 0x10;
    /// Execute a file.
    pub const EXECUTE: u32 = 0x20;
}

/// A name in a directory (`diropargs3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirOp<'a> {
    /// The directory.
    pub dir: FileHandle<'a>,
    /// The name.
    pub name: Name<'a>,
}

/// Result of GETATTR (section 3.3.1).
pub type GetAttrResult = std::result::Result<Attributes, Failure<()>>;

/// Arguments of SETATTR (section 3.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetAttrArgs<'a> {
    /// The file.
    pub file: FileHandle<'a>,
    /// What to set.
    pub attributes: SetAttributes,
    /// Set only if the file changed last at this time.
    pub guard: AttributeGuard,
}

/// Result of SETATTR.
pub type SetAttrResult = std::result::Result<WeakData, Failure<WeakData>>;

/// LOOKUP found the name (section 3.3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookupOk<'a> {
    /// The file found.
    pub file: FileHandle<'a>,
    /// Its attributes.
    pub attributes: Option<Attributes>,
    /// Attributes of the directory.
    pub dir_attributes: Option<Attributes>,
}

/// Result of LOOKUP; a failure carries the attributes of the directory.
pub type LookupResult<'a> = std::result::Result<LookupOk<'a>, Failure<Option<Attributes>>>;

/// Arguments of ACCESS (section 3.3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessArgs<'a> {
    /// The file.
    pub file: FileHandle<'a>,
    /// Bits of [`access`] that are asked for.
    pub access: u32,
}

/// ACCESS was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessOk {
    /// Attributes of the file.
    pub attributes: Option<Attributes>,
    /// Bits that are granted.
    pub access: u32,
}

/// Result of ACCESS.
pub type AccessResult = std::result::Result<AccessOk, Failure<Option<Attributes>>>;

/// READLINK read a link (section 3.3.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLinkOk<'a> {
    /// Attributes of the link.
    pub attributes: Option<Attributes>,
    /// Its content.
    pub path: Path<'a>,
}

/// Result of READLINK.
pub type ReadLinkResult<'a> = std::result::Result<ReadLinkOk<'a>, Failure<Option<Attributes>>>;

/// How CREATE treats a file that exists (`createhow3`, section 3.3.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateHow {
    /// It is opened and its attributes set.
    Unchecked(SetAttributes),
    /// It is an error.
    Guarded(SetAttributes),
    /// It is an error unless this very request made it, which the verifier tells.
    Exclusive([u8; 8]),
}

impl Xdr<'_> for CreateHow {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        match from.u32()? {
            0 => from.value().map(Self::Unchecked),
            1 => from.value().map(Self::Guarded),
            2 => from.value().map(Self::Exclusive),
            value => Err(Error::Value { what: "createmode3", value }),
        }
    }
    fn put(&self, out: &mut Writer<'_>) {
        match self {
            Self::Unchecked(attributes) => {
                out.u32(0);
                attributes.put(out);
            }
            Self::Guarded(attributes) => {
                out.u32(1);
                attributes.put(out);
            }
            Self::Exclusive(verifier) => {
                out.u32(2);
                verifier.put(out);
            }
        }
    }
}

/// Arguments of CREATE (section 3.3.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreateArgs<'a> {
    /// Where.
    pub at: DirOp<'a>,
    /// How.
    pub how: CreateHow,
}

/// CREATE, MKDIR, SYMLINK or MKNOD made something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreateOk<'a> {
    /// Its handle.
    pub file: Option<FileHandle<'a>>,
    /// Its attributes.
    pub attributes: Option<Attributes>,
    /// The directory before and after.
    pub dir: WeakData,
}

/// Result of CREATE, MKDIR, SYMLINK and MKNOD.
pub type CreateResult<'a> = std::result::Result<CreateOk<'a>, Failure<WeakData>>;

/// Arguments of MKDIR (section 3.3.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MakeDirArgs<'a> {
    /// Where.
    pub at: DirOp<'a>,
    /// Attributes of the new directory.
    pub attributes: SetAttributes,
}

/// Arguments of SYMLINK (section 3.3.10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SymlinkArgs<'a> {
    /// Where.
    pub at: DirOp<'a>,
    /// Attributes of the new link.
    pub attributes: SetAttributes,
    /// Its content.
    pub path: Path<'a>,
}

/// What MKNOD makes (`mknoddata3`, section 3.3.11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MakeNode {
    /// A character or block device.
    Device {
        /// [`FileKind::Character`] or [`FileKind::Block`].
        kind: FileKind,
        /// Attributes of the device file.
        attributes: SetAttributes,
        /// Which device.
        device: DeviceNumber,
    },
    /// A socket or named pipe.
    Pipe {
        /// [`FileKind::Socket`] or [`FileKind::Fifo`].
        kind: FileKind,
        /// Attributes of the file.
        attributes: SetAttributes,
    },
    /// A kind MKNOD does not make: to be answered with NFS3ERR_BADTYPE.
    Other(FileKind),
}

impl Xdr<'_> for MakeNode {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        let kind = from.value()?;
        Ok(match kind {
            FileKind::Character | FileKind::Block => {
                Self::Device { kind, attributes: from.value()?, device: from.value()? }
            }
            FileKind::Socket | FileKind::Fifo => Self::Pipe { kind, attributes: from.value()? },
            kind => Self::Other(kind),
        })
    }
    fn put(&self, out: &mut Writer<'_>) {
        match self {
            Self::Device { kind, attributes, device } => {
                kind.put(out);
                attributes.put(out);
                device.put(out);
            }
            Self::Pipe { kind, attributes } => {
                kind.put(out);
                attributes.put(out);
            }
            Self::Other(kind) => kind.put(out),
        }
    }
}

/// Arguments of MKNOD (section 3.3.11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MakeNodeArgs<'a> {
    /// Where.
    pub at: DirOp<'a>,
    /// What.
    pub node: MakeNode,
}

/// Result of REMOVE and RMDIR (sections 3.3.12 and 3.3.13): the directory before and after.
pub type RemoveResult = std::result::Result<WeakData, Failure<WeakData>>;

/// Arguments of RENAME (section 3.3.14).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenameArgs<'a> {
    /// From.
    pub from: DirOp<'a>,
    /// To.
    pub to: DirOp<'a>,
}

/// The two directories of a RENAME before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RenameOk {
    /// The directory it left.
    pub from_dir: WeakData,
    /// The directory it came to.
    pub to_dir: WeakData,
}

/// Result of RENAME; a failure carries the same.
pub type RenameResult = std::result::Result<RenameOk, Failure<RenameOk>>;

/// Arguments of LINK (section 3.3.15).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkArgs<'a> {
    /// The existing file.
    pub file: FileHandle<'a>,
    /// The new name.
    pub at: DirOp<'a>,
}

/// What LINK tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkOk {
    /// Attributes of the file.
    pub attributes: Option<Attributes>,
    /// The directory before and after.
    pub dir: WeakData,
}

/// Result of LINK; a failure carries the same.
pub type LinkResult = std::result::Result<LinkOk, Failure<LinkOk>>;

xdr_fields! {
    DirOp<'a> { dir, name }
    SetAttrArgs<'a> { file, attributes, guard }
    LookupOk<'a> { file, attributes, dir_attributes }
    AccessArgs<'a> { file, access }
    AccessOk { attributes, access }
    ReadLinkOk<'a> { attributes, path }
    CreateArgs<'a> { at, how }
    CreateOk<'a> { file, attributes, dir }
    MakeDirArgs<'a> { at, attributes }
    SymlinkArgs<'a> { at, attributes, path }
    MakeNodeArgs<'a> { at, node }
    RenameArgs<'a> { from, to }
    RenameOk { from_dir, to_dir }
    LinkArgs<'a> { file, at }
    LinkOk { attributes, dir }
}
