//! READ, WRITE and COMMIT (RFC 1813 sections 3.3.6, 3.3.7 and 3.3.21).

use super::{Attributes, Failure, FileHandle, MAX_DATA_BYTES, WeakData};
use crate::xdr::{Reader, Result, Writer, Xdr, xdr_enum, xdr_fields};

/// Changes whenever the server may have lost data it had not committed (`writeverf3`).
pub type Verifier = [u8; 8];

xdr_enum! {
    /// How far the data of a WRITE got or must get before the answer (`stable_how`).
    Stability "stable_how" {
        /// The server's memory.
        Unstable = 0,
        /// Stable storage, with what is needed to read it back.
        DataSync = 1,
        /// Stable storage, with all attributes.
        FileSync = 2,
    }
}

/// Arguments of READ (section 3.3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadArgs<'a> {
    /// The file.
    pub file: FileHandle<'a>,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub count: u32,
}

/// What stands before the data of a successful READ, after the status word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadHead {
    /// Attributes of the file.
    pub attributes: Option<Attributes>,
    /// Bytes read.
    pub count: u32,
    /// Whether the last byte read is the last of the file.
    pub eof: bool,
    /// Length of the data that follows; a sound server makes it equal to `count`.
    pub len: u32,
}

/// A successful READ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadOk<'a> {
    /// Attributes of the file.
    pub attributes: Option<Attributes>,
    /// Bytes read.
    pub count: u32,
    /// Whether the last byte read is the last of the file.
    pub eof: bool,
    /// The bytes.
    pub data: &'a [u8],
}

impl<'a> Xdr<'a> for ReadOk<'a> {
    fn get(from: &mut Reader<'a>) -> Result<Self> {
        Ok(Self {
            attributes: from.value()?,
            count: from.u32()?,
            eof: from.bool()?,
            data: from.opaque("read data", MAX_DATA_BYTES)?,
        })
    }
    fn put(&self, out: &mut Writer<'_>) {
        self.attributes.put(out);
        out.u32(self.count);
        out.bool(self.eof);
        out.opaque(self.data);
    }
}

/// Result of READ.
pub type ReadResult<'a> = std::result::Result<ReadOk<'a>, Failure<Option<Attributes>>>;

/// What stands before the data of a WRITE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteHead<'a> {
    /// The file.
    pub file: FileHandle<'a>,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub count: u32,
    /// How far the data must get before the answer.
    pub stable: Stability,
    /// Length of the data that follows; a sound client makes it equal to `count`.
    pub len: u32,
}

/// Arguments of WRITE (section 3.3.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteArgs<'a> {
    /// The file.
    pub file: FileHandle<'a>,
    /// First byte.
    pub offset: u64,
    /// Bytes; a sound client makes it equal to the length of `data`.
    pub count: u32,
    /// How far the data must get before the answer.
    pub stable: Stability,
    /// The bytes.
    pub data: &'a [u8],
}

impl<'a> Xdr<'a> for WriteArgs<'a> {
    fn get(from: &mut Reader<'a>) -> Result<Self> {
        Ok(Self {
            file: from.value()?,
            offset: from.u64()?,
            count: from.u32()?,
            stable: from.value()?,
            data: from.opaque("write data", MAX_DATA_BYTES)?,
        })
    }
    fn put(&self, out: &mut Writer<'_>) {
        self.file.put(out);
        out.u64(self.offset);
        out.u32(self.count);
        self.stable.put(out);
        out.opaque(self.data);
    }
}

/// A successful WRITE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteOk {
    /// The file before and after.
    pub file: WeakData,
    /// Bytes written.
    pub count: u32,
    /// How far they got.
    pub committed: Stability,
    /// The server's verifier.
    pub verifier: Verifier,
}

/// Result of WRITE.
pub type WriteResult = std::result::Result<WriteOk, Failure<WeakData>>;

/// Arguments of COMMIT (section 3.3.21).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitArgs<'a> {
    /// The file.
    pub file: FileHandle<'a>,
    /// First byte.
    pub offset: u64,
    /// Bytes; 0 for all to the end.
    pub count: u32,
}

/// A successful COMMIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitOk {
    /// The file before and after.
    pub file: WeakData,
    /// The server's verifier: if it differs from that of a WRITE, that write must be sent again.
    pub verifier: Verifier,
}

/// Result of COMMIT.
pub type CommitResult = std::result::Result<CommitOk, Failure<WeakData>>;

xdr_fields! {
    ReadArgs<'a> { file, offset, count }
    ReadHead { attributes, count, eof, len }
    WriteHead<'a> { file, offset, count, stable, len }
    WriteOk { file, count, committed, verifier }
    CommitArgs<'a> { file, offset, count }
    CommitOk { file, verifier }
}
