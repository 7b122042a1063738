//! Attributes of files, how they are set, and weak cache consistency (RFC 1813 sections 2.5 and 2.6).

use crate::xdr::{Error, Reader, Result, Writer, Xdr, xdr_enum, xdr_fields};

xdr_enum! {
    /// Kind of a file (`ftype3`).
    FileKind "ftype3" {
        /// Regular file.
        Regular = 1,
        /// Directory.
        Directory = 2,
        /// Block device.
        Block = 3,
        /// Character device.
        Character = 4,
        /// Symbolic link.
        Symlink = 5,
        /// Socket.
        Socket = 6,
        /// Named pipe.
        Fifo = 7,
    }
}

/// A time (`nfstime3`), since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Time {
    /// Whole seconds.
    pub seconds: u32,
    /// Nanoseconds beyond.
    pub nanoseconds: u32,
}

/// Device number (`specdata3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceNumber {
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
}

/// Attributes of a file (`fattr3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// Kind of file.
    pub kind: FileKind,
    /// Permission bits.
    pub mode: u32,
    /// Hard links.
    pub links: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Bytes of storage in use.
    pub used_bytes: u64,
    /// Device number of a device file.
    pub device: DeviceNumber,
    /// Identity of the file system.
    pub fsid: u64,
    /// Identity of the file in its file system.
    pub fileid: u64,
    /// Last access.
    pub accessed: Time,
    /// Last change of the data.
    pub modified: Time,
    /// Last change of the attributes.
    pub changed: Time,
}

xdr_fields! {
    Time { seconds, nanoseconds }
    DeviceNumber { major, minor }
    Attributes {
        kind, mode, links, uid, gid, size_bytes, used_bytes, device, fsid, fileid, accessed, modified,
        changed,
    }
}

/// How a time is set (`set_atime`, `set_mtime`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SetTime {
    /// Left as it is.
    #[default]
    Keep,
    /// The server's time.
    Server,
    /// This time.
    Client(Time),
}

impl Xdr<'_> for SetTime {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        match from.u32()? {
            0 => Ok(Self::Keep),
            1 => Ok(Self::Server),
            2 => from.value().map(Self::Client),
            value => Err(Error::Value { what: "time_how", value }),
        }
    }
    fn put(&self, out: &mut Writer<'_>) {
        match self {
            Self::Keep => out.u32(0),
            Self::Server => out.u32(1),
            Self::Client(time) => {
                out.u32(2);
                time.put(out);
            }
        }
    }
}

/// Attributes to set (`sattr3`); what is none stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SetAttributes {
    /// Permission bits.
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Size in bytes.
    pub size_bytes: Option<u64>,
    /// Last access.
    pub accessed: SetTime,
    /// Last change of the data.
    pub modified: SetTime,
}

/// The attributes that tell whether a file changed (`wcc_attr`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weak {
    /// Size in bytes.
    pub size_bytes: u64,
    /// Last change of the data.
    pub modified: Time,
    /// Last change of the attributes.
    pub changed: Time,
}

impl From<&Attributes> for Weak {
    fn from(attributes: &Attributes) -> Self {
        let Attributes { size_bytes, modified, changed, .. } = *attributes;
        Self { size_bytes, modified, changed }
    }
}

/// Attributes before and after an operation (`wcc_data`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WeakData {
    /// Before.
    pub before: Option<Weak>,
    /// After.
    pub after: Option<Attributes>,
}

/// The guard of SETATTR (`sattrguard3`): the time of the last change the client knows of.
pub type AttributeGuard = Option<Time>;

xdr_fields! {
    SetAttributes { mode, uid, gid, size_bytes, accessed, modified }
    Weak { size_bytes, modified, changed }
    WeakData { before, after }
}
