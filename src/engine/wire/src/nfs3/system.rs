//! FSSTAT, FSINFO and PATHCONF (RFC 1813 sections 3.3.18 to 3.3.20).

use super::{Attributes, Failure, Time};
use crate::xdr::xdr_fields;

/// Bits of [`FsInfoOk::properties`].
pub mod properties {
    /// Hard links are supported.
    pub const LINK: u32 = 0x01;
    /// Symbolic links are supported.
    pub const SYMLINK: u32 = 0x02;
    /// PATHCONF is the same for every file.
    pub const HOMOGENEOUS: u32 = 0x08;
    /// SETATTR can set times.
    pub const CAN_SET_TIME: u32 = 0x10;
}

/// Space of a file system (FSSTAT, section 3.3.18).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FsStatOk {
    /// Attributes of the file system's root.
    pub attributes: Option<Attributes>,
    /// Size in bytes.
    pub total_bytes: u64,
    /// Free bytes.
    pub free_bytes: u64,
    /// Free bytes that the caller may use.
    pub available_bytes: u64,
    /// File slots.
    pub total_files: u64,
    /// Free file slots.
    pub free_files: u64,
    /// Free file slots that the caller may use.
    pub available_files: u64,
    /// Seconds during which the file system is not expected to change.
    pub invariant_seconds: u32,
}

/// Result of FSSTAT.
pub type FsStatResult = std::result::Result<FsStatOk, Failure<Option<Attributes>>>;

/// Limits of the server (FSINFO, section 3.3.19).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FsInfoOk {
    /// Attributes of the file system's root.
    pub attributes: Option<Attributes>,
    /// Largest READ in bytes.
    pub read_max: u32,
    /// Preferred READ.
    pub read_preferred: u32,
    /// Suggested multiple of READ.
    pub read_multiple: u32,
    /// Largest WRITE in bytes.
    pub write_max: u32,
    /// Preferred WRITE.
    pub write_preferred: u32,
    /// Suggested multiple of WRITE.
    pub write_multiple: u32,
    /// Preferred READDIR.
    pub dir_preferred: u32,
    /// Largest file in bytes.
    pub max_file_bytes: u64,
    /// Granularity of times.
    pub time_delta: Time,
    /// Bits of [`properties`].
    pub properties: u32,
}

/// Result of FSINFO.
pub type FsInfoResult = std::result::Result<FsInfoOk, Failure<Option<Attributes>>>;

/// POSIX limits (PATHCONF, section 3.3.20).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathConfOk {
    /// Attributes of the file.
    pub attributes: Option<Attributes>,
    /// Most hard links of a file.
    pub max_links: u32,
    /// Longest name in bytes.
    pub max_name_bytes: u32,
    /// Whether a longer name is an error rather than cut.
    pub no_truncation: bool,
    /// Whether only the superuser may change the owner.
    pub chown_restricted: bool,
    /// Whether names ignore case.
    pub case_insensitive: bool,
    /// Whether the case of names is kept.
    pub case_preserving: bool,
}

/// Result of PATHCONF.
pub type PathConfResult = std::result::Result<PathConfOk, Failure<Option<Attributes>>>;

xdr_fields! {
    FsStatOk {
        attributes, total_bytes, free_bytes, available_bytes, total_files, free_files, available_files,
        invariant_seconds,
    }
    FsInfoOk {
        attributes, read_max, read_preferred, read_multiple, write_max, write_preferred, write_multiple,
        dir_preferred, max_file_bytes, time_delta, properties,
    }
    PathConfOk {
        attributes, max_links, max_name_bytes, no_truncation, chown_restricted, case_insensitive,
        case_preserving,
    }
}
