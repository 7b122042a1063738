//! A store that is somebody else's: a logical unit of a remote target.
//!
//! Its operations take a network's time, so none is done on an I/O thread: READ and WRITE are begun with
//! [`Remote::submit`] and end by a callback. Commands that run in the pool of blocking threads wait for theirs.
//! Who speaks to the remote target is told by a trait, so that storage knows no client.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::mpsc;

use plimsoll_fabric::Payload;

use super::{Provisioning, Ready, check};
use crate::StoreError;

/// What is asked of a remote unit.
pub enum RemoteOperation {
    /// Bytes.
    Read {
        /// First byte.
        offset: u64,
        /// How many.
        len: u32,
    },
    /// Bytes to be kept.
    Write {
        /// First byte.
        offset: u64,
        /// What is written.
        data: Payload,
    },
    /// Everything written and completed before becomes durable.
    Flush,
    /// Reads a range and writes what `change` makes of it, if anything; nothing else touches the range meanwhile.
    Change {
        /// First byte.
        offset: u64,
        /// How many.
        len: u32,
        /// Bytes of the same length, or none to leave the range as it is.
        change: RemoteChange,
    },
}

/// Makes new bytes of the same length out of those that are there; none leaves them.
pub type RemoteChange = Box<dyn FnOnce(&[u8]) -> Option<Vec<u8>> + Send>;

/// Told once how an operation ended, from any thread; with the bytes of a read.
pub type RemoteDone = Box<dyn FnOnce(Result<Vec<u8>, StoreError>) + Send>;

/// A remote unit.
pub trait Remote: Send + Sync + Debug {
    /// Its size in bytes as it was last seen.
    fn size_bytes(&self) -> u64;
    /// Begins an operation; never blocks. Operations whose ranges overlap are done in the order of their begin
    /// unless both read. When too much is waiting, `done` is told [`StoreError::Busy`].
    fn submit(&self, operation: RemoteOperation, done: RemoteDone);
}

/// A unit of a remote target as a store.
#[derive(Debug)]
pub struct RemoteStore(Arc<dyn Remote>);

impl RemoteStore {
    /// A store over a remote unit.
    pub fn new(remote: Arc<dyn Remote>) -> Self {
        Self(remote)
    }

    /// The unit.
    pub fn remote(&self) -> &Arc<dyn Remote> {
        &self.0
    }

    fn wait(&self, operation: RemoteOperation) -> Result<Vec<u8>, StoreError> {
        let (done, ended) = mpsc::sync_channel(1);
        self.0.submit(
            operation,
            Box::new(move |result| {
                let _ = done.send(result);
            }),
        );
        let gone = StoreError::Io {
            operation: "the remote volume's engine",
            kind: std::io::ErrorKind::BrokenPipe,
        };
        ended.recv().unwrap_or(Err(gone))
    }

    pub(super) fn size_bytes(&self) -> u64 {
        self.0.size_bytes()
    }

    /// It has the size of the remote unit.
    pub(super) fn resize(&self, size: u64) -> Result<(), StoreError> {
        if size == self.size_bytes() {
            return Ok(());
        }
        let kind = std::io::ErrorKind::Unsupported;
        Err(StoreError::Io { operation: "resizing a remote volume here (resize it there)", kind })
    }

    /// Nothing is allocated here.
    pub(super) fn allocated_bytes(&self) -> u64 {
        0
    }

    pub(super) fn read(
        &self,
        offset: u64,
        len: usize,
        _out: &mut dyn FnMut(Payload),
    ) -> Result<Ready, StoreError> {
        check(offset, len as u64, self.size_bytes()).map(|()| Ready::Blocking)
    }

    pub(super) fn read_stable(
        &self,
        offset: u64,
        len: usize,
        _out: &mut dyn FnMut(Payload),
    ) -> Result<Ready, StoreError> {
        check(offset, len as u64, self.size_bytes()).map(|()| Ready::Blocking)
    }

    pub(super) fn read_blocking(&self, offset: u64, buffer: &mut [u8]) -> Result<(), StoreError> {
        check(offset, buffer.len() as u64, self.size_bytes())?;
        for (at, chunk) in (offset..).step_by(CHUNK).zip(buffer.chunks_mut(CHUNK)) {
            let bytes = self.wait(RemoteOperation::Read { offset: at, len: chunk.len() as u32 })?;
            chunk.copy_from_slice(&bytes);
        }
        Ok(())
    }

    /// Waits, unlike a write to the other stores: from the pool of threads only.
    pub(super) fn write(&self, offset: u64, data: &[u8]) -> Result<(), StoreError> {
        check(offset, data.len() as u64, self.size_bytes())?;
        for (at, chunk) in (offset..).step_by(CHUNK).zip(data.chunks(CHUNK)) {
            let data = Payload::from_vec(chunk.to_vec());
            self.wait(RemoteOperation::Write { offset: at, data })?;
        }
        Ok(())
    }

    pub(super) fn compare_and_write(
        &self,
        offset: u64,
        compare: &[u8],
        data: &[u8],
    ) -> Result<Option<usize>, StoreError> {
        check(offset, compare.len() as u64, self.size_bytes())?;
        if compare.is_empty() {
            return Ok(None);
        }
        let (compare, data) = (compare.to_vec(), data.to_vec());
        let (tell, told) = mpsc::sync_channel(1);
        self.wait(RemoteOperation::Change {
            offset,
            len: compare.len() as u32,
            change: Box::new(move |held| {
                let differs = held.iter().zip(&compare).position(|(held, wanted)| held != wanted);
                let _ = tell.send(differs);
                differs.is_none().then_some(data)
            }),
        })?;
        Ok(told.recv().ok().flatten())
    }

    pub(super) fn or_write(&self, offset: u64, data: &[u8]) -> Result<(), StoreError> {
        check(offset, data.len() as u64, self.size_bytes())?;
        for (at, chunk) in (offset..).step_by(CHUNK).zip(data.chunks(CHUNK)) {
            let data = chunk.to_vec();
            self.wait(RemoteOperation::Change {
                offset: at,
                len: data.len() as u32,
                change: Box::new(move |held| {
                    Some(held.iter().zip(&data).map(|(held, new)| held | new).collect())
                }),
            })?;
        }
        Ok(())
    }

    /// By writes of zeroes.
    pub(super) fn write_zeroes(&self, offset: u64, len: u64) -> Result<(), StoreError> {
        check(offset, len, self.size_bytes())?;
        for at in (0..len).step_by(super::GRAIN_BYTES) {
            let count = (len - at).min(super::GRAIN_BYTES as u64) as usize;
            let data = Payload::from_static(&super::ZEROES[..count]);
            self.wait(RemoteOperation::Write { offset: offset + at, data })?;
        }
        Ok(())
    }

    /// Unmapped blocks read as zeroes, so zeroes are written: what the remote unit allocates stays its own affair.
    pub(super) fn unmap(&self, offset: u64, len: u64) -> Result<(), StoreError> {
        self.write_zeroes(offset, len)
    }

    pub(super) fn status(&self, offset: u64) -> Result<(Provisioning, u64), StoreError> {
        let size = self.size_bytes();
        check(offset, 1, size).map(|()| (Provisioning::Mapped, size - offset))
    }

    pub(super) fn flush(&self) -> Result<(), StoreError> {
        self.wait(RemoteOperation::Flush).map(drop)
    }
}

/// Bytes of one operation of a command that moves many.
const CHUNK: usize = 512 << 10;
