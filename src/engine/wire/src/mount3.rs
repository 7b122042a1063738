//! The MOUNT protocol version 3 (RFC 1813 appendix I): from the path of an export to its root file handle.

use crate::nfs3::FileHandle;
use crate::xdr::{Reader, Result, Writer, Xdr, xdr_fields, xdr_opaque};

/// Program number.
pub const PROGRAM: u32 = 100_005;
/// Version.
pub const VERSION: u32 = 3;

/// Does nothing.
pub const PROC_NULL: u32 = 0;
/// Takes a [`DirPath`], answers a [`MountResult`].
pub const PROC_MNT: u32 = 1;
/// Answers a `Vec<MountEntry>`.
pub const PROC_DUMP: u32 = 2;
/// Takes a [`DirPath`], answers nothing.
pub const PROC_UMNT: u32 = 3;
/// Takes and answers nothing.
pub const PROC_UMNTALL: u32 = 4;
/// Answers a `Vec<ExportNode>`.
pub const PROC_EXPORT: u32 = 5;

/// Flavour AUTH_SYS in [`MountOk::flavors`].
pub const FLAVOR_AUTH_SYS: u32 = 1;
/// Limit of the list of flavours; the protocol has none.
const MAX_FLAVORS: usize = 64;

xdr_opaque! {
    /// Path of a directory on the server, at most 1024 bytes (`MNTPATHLEN`).
    DirPath "mount path" 1024
}
xdr_opaque! {
    /// Name of a host or group, at most 255 bytes (`MNTNAMLEN`).
    HostName "mount name" 255
}

/// Why a mount failed (`mountstat3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MountStatus(pub u32);

impl MountStatus {
    /// Not the owner.
    pub const PERMISSION: Self = Self(1);
    /// No such file or directory.
    pub const NOT_FOUND: Self = Self(2);
    /// I/O error.
    pub const IO: Self = Self(5);
    /// Access denied.
    pub const ACCESS: Self = Self(13);
    /// Not a directory.
    pub const NOT_DIRECTORY: Self = Self(20);
    /// Invalid argument.
    pub const INVALID: Self = Self(22);
    /// Name too long.
    pub const NAME_TOO_LONG: Self = Self(63);
    /// Operation not supported.
    pub const NOT_SUPPORTED: Self = Self(10_004);
    /// A failure of the server.
    pub const SERVER_FAULT: Self = Self(10_006);
}

impl std::fmt::Display for MountStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match *self {
            Self::PERMISSION => "not the owner (MNT3ERR_PERM)",
            Self::NOT_FOUND => "no such export (MNT3ERR_NOENT)",
            Self::IO => "input or output error (MNT3ERR_IO)",
            Self::ACCESS => "access denied (MNT3ERR_ACCES)",
            Self::NOT_DIRECTORY => "not a directory (MNT3ERR_NOTDIR)",
            Self::INVALID => "invalid argument (MNT3ERR_INVAL)",
            Self::NAME_TOO_LONG => "path too long (MNT3ERR_NAMETOOLONG)",
            Self::NOT_SUPPORTED => "not supported (MNT3ERR_NOTSUPP)",
            Self::SERVER_FAULT => "server fault (MNT3ERR_SERVERFAULT)",
            Self(status) => return write!(f, "mount status {status}"),
        };
        f.write_str(text)
    }
}

/// A successful mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountOk<'a> {
    /// Root of the export.
    pub handle: FileHandle<'a>,
    /// Flavours of authentication the export takes.
    pub flavors: Vec<u32>,
}

/// Answer of MNT.
pub type MountResult<'a> = std::result::Result<MountOk<'a>, MountStatus>;

impl<'a> Xdr<'a> for MountResult<'a> {
    fn get(from: &mut Reader<'a>) -> Result<Self> {
        let status = from.u32()?;
        if status != 0 {
            return Ok(Err(MountStatus(status)));
        }
        let handle = from.value()?;
        let count = from.length("mount flavors", MAX_FLAVORS)?;
        let flavors = (0..count).map(|_| from.u32()).collect::<Result<_>>()?;
        Ok(Ok(MountOk { handle, flavors }))
    }
    fn put(&self, out: &mut Writer<'_>) {
        match self {
            Ok(ok) => {
                out.u32(0);
                out.value(&ok.handle);
                out.length(ok.flavors.len());
                for flavor in &ok.flavors {
                    out.u32(*flavor);
                }
            }
            Err(status) => out.u32(status.0),
        }
    }
}

/// One mount the server knows of (DUMP).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MountEntry<'a> {
    /// Who mounted.
    pub host: HostName<'a>,
    /// What was mounted.
    pub path: DirPath<'a>,
}

/// One export (EXPORT).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportNode<'a> {
    /// Path to mount.
    pub path: DirPath<'a>,
    /// Who may mount it; empty for everybody.
    pub groups: Vec<HostName<'a>>,
}

xdr_fields! {
    MountEntry<'a> { host, path }
    ExportNode<'a> { path, groups }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xdr::check::{encode, round_trip};
    use crate::xdr::{Error, Reader};

    #[test]
    fn rfc1813_5_2_1_mnt() {
        round_trip(&DirPath(b"/vol/one"), &mut Vec::new());
        let ok = MountOk { handle: FileHandle(&[1, 2, 3, 4, 5]), flavors: vec![1, 0] };
        let bytes = encode::<MountResult<'_>>(&Ok(ok.clone()));
        let expected =
            [0, 0, 0, 0, 0, 0, 0, 5, 1, 2, 3, 4, 5, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0];
        assert_eq!(bytes, expected);
        round_trip::<MountResult<'_>>(&Ok(ok), &mut Vec::new());
        round_trip::<MountResult<'_>>(&Err(MountStatus::ACCESS), &mut Vec::new());
    }

    #[test]
    fn rfc1813_5_2_2_dump_and_5_2_5_export() {
        let entry = MountEntry { host: HostName(b"esx-1"), path: DirPath(b"/vol/one") };
        round_trip(&vec![entry, entry], &mut Vec::new());
        let node =
            ExportNode { path: DirPath(b"/v"), groups: vec![HostName(b"a"), HostName(b"bcde")] };
        round_trip(&vec![node.clone(), node], &mut Vec::new());
    }

    #[test]
    fn rfc1813_5_1_2_limits_of_paths_and_names() {
        let path = encode(&DirPath(&[b'a'; 1025]));
        let result = DirPath::get(&mut Reader::new(&path));
        assert_eq!(result, Err(Error::TooLong { what: "mount path", len: 1025, max: 1024 }));
        let handle = encode(&FileHandle(&[0; 65]));
        let result = FileHandle::get(&mut Reader::new(&handle));
        assert_eq!(result, Err(Error::TooLong { what: "file handle", len: 65, max: 64 }));
    }
}
