//! The status word of every result (`nfsstat3`, RFC 1813 section 2.6) and the union it chooses.

use crate::xdr::{Reader, Result, Writer, Xdr};

/// How a procedure ended. Numbers a server invents are kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Status(pub u32);

macro_rules! statuses {
    ($($(#[$meta:meta])* $name:ident = $value:literal, $rfc:literal, $text:literal;)*) => {
        impl Status {
            $($(#[$meta])* pub const $name: Self = Self($value);)*

            /// The name in the RFC, if it has one.
            pub const fn rfc_name(self) -> Option<&'static str> {
                match self.0 { $($value => Some($rfc),)* _ => None }
            }

            const fn text(self) -> Option<&'static str> {
                match self.0 { $($value => Some($text),)* _ => None }
            }

            /// Every status of the RFC.
            pub const ALL: &[Self] = &[$(Self::$name),*];
        }
    };
}

statuses! {
    /// Success.
    OK = 0, "NFS3_OK", "success";
    /// Not the owner.
    PERMISSION = 1, "NFS3ERR_PERM", "not the owner";
    /// No such file or directory.
    NOT_FOUND = 2, "NFS3ERR_NOENT", "no such file or directory";
    /// Hard I/O error.
    IO = 5, "NFS3ERR_IO", "input or output error";
    /// No such device.
    NO_DEVICE = 6, "NFS3ERR_NXIO", "no such device";
    /// Permission denied.
    ACCESS = 13, "NFS3ERR_ACCES", "permission denied";
    /// The file exists.
    EXISTS = 17, "NFS3ERR_EXIST", "file exists";
    /// Hard link across devices.
    CROSS_DEVICE = 18, "NFS3ERR_XDEV", "hard link across file systems";
    /// No such device (NODEV).
    WRONG_DEVICE = 19, "NFS3ERR_NODEV", "operation not supported by this device";
    /// Not a directory.
    NOT_DIRECTORY = 20, "NFS3ERR_NOTDIR", "not a directory";
    /// Is a directory.
    IS_DIRECTORY = 21, "NFS3ERR_ISDIR", "is a directory";
    /// Invalid argument.
    INVALID = 22, "NFS3ERR_INVAL", "invalid argument";
    /// File too large.
    FILE_TOO_LARGE = 27, "NFS3ERR_FBIG", "file too large";
    /// No space left.
    NO_SPACE = 28, "NFS3ERR_NOSPC", "no space left";
    /// Read-only file system.
    READ_ONLY = 30, "NFS3ERR_ROFS", "read-only file system";
    /// Too many hard links.
    TOO_MANY_LINKS = 31, "NFS3ERR_MLINK", "too many hard links";
    /// Name too long.
    NAME_TOO_LONG = 63, "NFS3ERR_NAMETOOLONG", "name too long";
    /// Directory not empty.
    NOT_EMPTY = 66, "NFS3ERR_NOTEMPTY", "directory not empty";
    /// Quota exceeded.
    QUOTA = 69, "NFS3ERR_DQUOT", "quota exceeded";
    /// The file of the handle is gone.
    STALE = 70, "NFS3ERR_STALE", "stale file handle";
    /// Too many levels of remote in path.
    REMOTE = 71, "NFS3ERR_REMOTE", "too many levels of remote in path";
    /// Not a file handle of this server.
    BAD_HANDLE = 10_001, "NFS3ERR_BADHANDLE", "not a file handle of this server";
    /// The guard of SETATTR does not hold.
    NOT_SYNC = 10_002, "NFS3ERR_NOT_SYNC", "guard of setattr does not hold";
    /// The cookie of READDIR is stale.
    BAD_COOKIE = 10_003, "NFS3ERR_BAD_COOKIE", "stale readdir cookie";
    /// Not supported.
    NOT_SUPPORTED = 10_004, "NFS3ERR_NOTSUPP", "operation not supported";
    /// Buffer or request too small.
    TOO_SMALL = 10_005, "NFS3ERR_TOOSMALL", "buffer too small";
    /// A failure of the server that no other value names.
    SERVER_FAULT = 10_006, "NFS3ERR_SERVERFAULT", "server fault";
    /// Type of object not supported.
    BAD_TYPE = 10_007, "NFS3ERR_BADTYPE", "type of object not supported";
    /// Try later.
    JUKEBOX = 10_008, "NFS3ERR_JUKEBOX", "server asks to try later";
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.text(), self.rfc_name()) {
            (Some(text), Some(name)) => write!(f, "{text} ({name})"),
            _ => write!(f, "nfs status {}", self.0),
        }
    }
}

impl std::fmt::Debug for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.rfc_name() {
            Some(name) => f.write_str(name),
            None => write!(f, "Status({})", self.0),
        }
    }
}

impl Xdr<'_> for Status {
    fn get(from: &mut Reader<'_>) -> Result<Self> {
        from.u32().map(Self)
    }
    fn put(&self, out: &mut Writer<'_>) {
        out.u32(self.0);
    }
}

/// A result other than NFS3_OK with what the RFC lets it carry (attributes, mostly).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure<T> {
    /// Any status but [`Status::OK`].
    pub status: Status,
    /// The body of the failed arm.
    pub detail: T,
}

impl<T> Failure<T> {
    /// A failure.
    pub const fn new(status: Status, detail: T) -> Self {
        Self { status, detail }
    }
}

impl<'a, T: Xdr<'a>, F: Xdr<'a>> Xdr<'a> for std::result::Result<T, Failure<F>> {
    fn get(from: &mut Reader<'a>) -> Result<Self> {
        Ok(match Status::get(from)? {
            Status::OK => Ok(T::get(from)?),
            status => Err(Failure { status, detail: F::get(from)? }),
        })
    }
    fn put(&self, out: &mut Writer<'_>) {
        match self {
            Ok(ok) => {
                Status::OK.put(out);
                ok.put(out);
            }
            Err(failure) => {
                debug_assert!(failure.status != Status::OK);
                failure.status.put(out);
                failure.detail.put(out);
            }
        }
    }
}
