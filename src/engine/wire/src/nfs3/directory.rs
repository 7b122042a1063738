//! READDIR and READDIRPLUS (RFC 1813 sections 3.3.16 and 3.3.17).

use super::{Attributes, Failure, FileHandle, Name};
use crate::xdr::{padding, xdr_fields};

/// Bytes of `fattr3`.
const ATTRIBUTES_BYTES: usize = 84;

/// Arguments of READDIR (section 3.3.16).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadDirArgs<'a> {
    /// The directory.
    pub dir: FileHandle<'a>,
    /// After this entry; 0 from the start.
    pub cookie: u64,
    /// Verifier that came with the cookie; zeroes at the start.
    pub verifier: [u8; 8],
    /// Limit of the bytes of [`ReadDirOk`].
    pub count: u32,
}

/// An entry of READDIR (`entry3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Identity of the file.
    pub fileid: u64,
    /// Its name.
    pub name: Name<'a>,
    /// Continues after this entry.
    pub cookie: u64,
}

impl Entry<'_> {
    /// Bytes on the wire, with the word that announces the entry.
    pub const fn wire_bytes(&self) -> usize {
        let name = self.name.0.len();
        4 + 8 + 4 + name + padding(name) + 8
    }
}

/// A piece of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadDirOk<'a> {
    /// Attributes of the directory.
    pub dir_attributes: Option<Attributes>,
    /// Verifier of the cookies.
    pub verifier: [u8; 8],
    /// Entries.
    pub entries: Vec<Entry<'a>>,
    /// Whether these are the last.
    pub eof: bool,
}

impl ReadDirOk<'_> {
    /// Bytes on the wire without entries, attributes included: what a server starts to count from.
    pub const FRAME_BYTES: usize = 4 + ATTRIBUTES_BYTES + 8 + 4 + 4;
}

/// Result of READDIR.
pub type ReadDirResult<'a> = std::result::Result<ReadDirOk<'a>, Failure<Option<Attributes>>>;

/// Arguments of READDIRPLUS (section 3.3.17).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadDirPlusArgs<'a> {
    /// The directory.
    pub dir: FileHandle<'a>,
    /// After this entry; 0 from the start.
    pub cookie: u64,
    /// Verifier that came with the cookie; zeroes at the start.
    pub verifier: [u8; 8],
    /// Limit of the bytes of names, file ids and cookies.
    pub dir_count: u32,
    /// Limit of the bytes of [`ReadDirPlusOk`].
    pub max_count: u32,
}

/// An entry of READDIRPLUS (`entryplus3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryPlus<'a> {
    /// Identity of the file.
    pub fileid: u64,
    /// Its name.
    pub name: Name<'a>,
    /// Continues after this entry.
    pub cookie: u64,
    /// Attributes of the file.
    pub attributes: Option<Attributes>,
    /// Its handle.
    pub file: Option<FileHandle<'a>>,
}

impl EntryPlus<'_> {
    /// Bytes on the wire, with the word that announces the entry: counts towards `max_count`.
    pub const fn wire_bytes(&self) -> usize {
        let attributes = match self.attributes {
            Some(_) => 4 + ATTRIBUTES_BYTES,
            None => 4,
        };
        let file = match self.file {
            Some(FileHandle(bytes)) => 8 + bytes.len() + padding(bytes.len()),
            None => 4,
        };
        self.dir_bytes() + attributes + file
    }

    /// Bytes of the name, file id and cookie: counts towards `dir_count`.
    pub const fn dir_bytes(&self) -> usize {
        let name = self.name.0.len();
        4 + 8 + 4 + name + padding(name) + 8
    }
}

/// A piece of a directory with attributes and handles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadDirPlusOk<'a> {
    /// Attributes of the directory.
    pub dir_attributes: Option<Attributes>,
    /// Verifier of the cookies.
    pub verifier: [u8; 8],
    /// Entries.
    pub entries: Vec<EntryPlus<'a>>,
    /// Whether these are the last.
    pub eof: bool,
}

/// Result of READDIRPLUS.
pub type ReadDirPlusResult<'a> =
    std::result::Result<ReadDirPlusOk<'a>, Failure<Option<Attributes>>>;

xdr_fields! {
    ReadDirArgs<'a> { dir, cookie, verifier, count }
    Entry<'a> { fileid, name, cookie }
    ReadDirOk<'a> { dir_attributes, verifier, entries, eof }
    ReadDirPlusArgs<'a> { dir, cookie, verifier, dir_count, max_count }
    EntryPlus<'a> { fileid, name, cookie, attributes, file }
    ReadDirPlusOk<'a> { dir_attributes, verifier, entries, eof }
}
