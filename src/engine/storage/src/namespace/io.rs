//! Reading and writing the data of a file.
//!
//! Both take the object's gate in common, so they run side by side; only a change of size is kept apart.
//! The store copies what is written and hands out references for what is read; nothing is allocated here.

use plimsoll_fabric::Payload;

use super::attributes::{Around, Attributes, Kind, Timestamp};
use super::credential::Credential;
use super::data::{Data, refusal};
use super::error::FileError;
use super::inode::Inode;
use super::set::drop_privilege;
use super::{FILE_SIZE_MAX, Namespace};
use crate::Ready;

/// A read that has not been written down for this long moves the access time.
const ACCESS_TIME_SECONDS: u32 = 24 * 3600;

/// What a read gave.
#[derive(Debug, Clone, Copy)]
pub struct Read {
    /// Bytes read: fewer than asked for only at the end of the file.
    pub count: usize,
    /// The read ended at or after the end of the file.
    pub end_of_file: bool,
    /// The file's attributes.
    pub attributes: Attributes,
    /// Whether the bytes were handed over.
    pub ready: Ready,
}

/// What a write left.
pub type Written = Around;

impl Namespace {
    /// Reads at most `len` bytes; the payloads go to `out` in order. With [`Ready::Blocking`] nothing went
    /// out and [`Namespace::read_blocking`] is to be called on the pool of threads.
    pub fn read(
        &self,
        who: &Credential<'_>,
        inode: &Inode,
        offset: u64,
        len: usize,
        now: Timestamp,
        out: &mut dyn FnMut(Payload),
    ) -> Result<Read, FileError> {
        let _gate = inode.gate_shared();
        let data = file_data(inode)?;
        let (mut read, size) = begin_read(who, inode, data, offset, len, now)?;
        if read.count > 0 {
            let store = data.store(size)?;
            // A host file may be shorter than a file that was made larger without writing.
            let there = store.size_bytes().saturating_sub(offset).min(read.count as u64) as usize;
            if there > 0 {
                read.ready = store.read(offset, there, out).map_err(|error| refusal(&error))?;
            }
            if read.ready == Ready::Now {
                hole(read.count - there, out);
            }
        }
        Ok(read)
    }

    /// The same, waiting for the disk; the bytes are appended to `buffer`.
    pub fn read_blocking(
        &self,
        who: &Credential<'_>,
        inode: &Inode,
        offset: u64,
        len: usize,
        now: Timestamp,
        buffer: &mut Vec<u8>,
    ) -> Result<Read, FileError> {
        let _gate = inode.gate_shared();
        let data = file_data(inode)?;
        let (read, size) = begin_read(who, inode, data, offset, len, now)?;
        let start = buffer.len();
        buffer.resize(start + read.count, 0);
        if read.count > 0 {
            let store = data.store(size)?;
            let there = store.size_bytes().saturating_sub(offset).min(read.count as u64) as usize;
            store
                .read_blocking(offset, &mut buffer[start..start + there])
                .map_err(|error| refusal(&error))?;
        }
        Ok(read)
    }

    /// Writes to memory or the page cache; [`Namespace::make_stable`] makes it durable.
    pub fn write(
        &self,
        who: &Credential<'_>,
        inode: &Inode,
        offset: u64,
        bytes: &[u8],
        now: Timestamp,
    ) -> Result<Written, FileError> {
        self.check_writable()?;
        let end = offset.checked_add(bytes.len() as u64).filter(|end| *end <= FILE_SIZE_MAX);
        let end = end.ok_or(FileError::TooLarge)?;
        let _gate = inode.gate_shared();
        let data = file_data(inode)?;
        let attributes = inode.state().attributes;
        if !who.may_write_data(&attributes) {
            return Err(FileError::Denied);
        }
        if !bytes.is_empty() {
            data.write(attributes.size, offset, bytes)?;
        }
        let mut state = inode.state();
        if inode.is_gone() {
            return Err(FileError::Stale);
        }
        let before = state.attributes.before();
        if !bytes.is_empty() {
            let file = &mut state.attributes;
            file.size = file.size.max(end);
            file.changed = file.changed.advanced_to(now);
            file.modified = file.changed;
            if who.uid != 0 {
                drop_privilege(file);
            }
            state.dirty = true;
        }
        let after = state.attributes;
        drop(state);
        Ok(Around { before, after: inode.with_used(after) })
    }
}

/// The data of a regular file that still exists.
fn file_data(inode: &Inode) -> Result<&Data, FileError> {
    if inode.is_gone() {
        return Err(FileError::Stale);
    }
    match inode.kind() {
        Kind::Directory => Err(FileError::IsDirectory),
        _ => inode.data().ok_or(FileError::Invalid),
    }
}

/// Checks a read, moves the access time when it is due, and clamps the read to the size, which is returned.
fn begin_read(
    who: &Credential<'_>,
    inode: &Inode,
    data: &Data,
    offset: u64,
    len: usize,
    now: Timestamp,
) -> Result<(Read, u64), FileError> {
    let mut attributes = {
        let mut state = inode.state();
        let file = &mut state.attributes;
        if !who.may_read_data(file) {
            return Err(FileError::Denied);
        }
        let stale = file.accessed.seconds.saturating_add(ACCESS_TIME_SECONDS) < now.seconds;
        if file.accessed <= file.modified || stale {
            file.accessed = now;
        }
        *file
    };
    attributes.used = data.allocated_bytes();
    let size = attributes.size;
    let left = size.saturating_sub(offset);
    let count = usize::try_from(left).unwrap_or(usize::MAX).min(len);
    let end_of_file = count as u64 == left;
    Ok((Read { count, end_of_file, attributes, ready: Ready::Now }, size))
}

/// Hands out zeroes.
fn hole(mut len: usize, out: &mut dyn FnMut(Payload)) {
    static ZEROES: [u8; 64 << 10] = [0; 64 << 10];
    while len > 0 {
        let part = len.min(ZEROES.len());
        out(Payload::from_static(&ZEROES[..part]));
        len -= part;
    }
}
