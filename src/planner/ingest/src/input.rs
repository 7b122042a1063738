//! What the caller hands in and hears back while it is read.

use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::PathBuf;
use std::sync::Arc;

/// One file or folder to read.
#[derive(Debug, Clone)]
pub struct Input {
    /// Name as the user knows it; used in every message.
    pub name: String,
    /// Its bytes.
    pub source: Source,
}

/// Where the bytes are.
#[derive(Debug, Clone)]
pub enum Source {
    /// In memory.
    Memory(Arc<[u8]>),
    /// A file, or a folder of files.
    Path(PathBuf),
}

impl Input {
    /// Bytes in memory under a name.
    #[must_use]
    pub fn memory(name: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self { name: name.into(), source: Source::Memory(bytes.into()) }
    }

    /// A file or folder; its own name is taken.
    #[must_use]
    pub fn from_path(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let name = path
            .file_name()
            .map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
        Self { name, source: Source::Path(path) }
    }

    /// A file or folder under another name than its own, such as that of an upload.
    #[must_use]
    pub fn named_path(name: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self { name: name.into(), source: Source::Path(path.into()) }
    }
}

/// Both [`Read`] and [`Seek`], and movable to the inflating thread.
pub(crate) trait ReadSeek: Read + Seek + Send {}
impl<T: Read + Seek + Send> ReadSeek for T {}

impl Source {
    /// A fresh reader from the first byte.
    pub(crate) fn open(&self) -> std::io::Result<Box<dyn ReadSeek>> {
        Ok(match self {
            Self::Memory(bytes) => Box::new(Cursor::new(Arc::clone(bytes))),
            Self::Path(path) => Box::new(BufReader::with_capacity(64 * 1024, File::open(path)?)),
        })
    }

    /// Size in bytes.
    pub(crate) fn len(&self) -> std::io::Result<u64> {
        Ok(match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Path(path) => std::fs::metadata(path)?.len(),
        })
    }

    /// All bytes; the caller has checked the size.
    pub(crate) fn bytes(&self) -> std::io::Result<Arc<[u8]>> {
        Ok(match self {
            Self::Memory(bytes) => Arc::clone(bytes),
            Self::Path(path) => std::fs::read(path)?.into(),
        })
    }
}

/// How far reading has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// File being read.
    pub file: &'a str,
    /// Tab being read; empty while a file is opened.
    pub tab: &'a str,
    /// Rows of the tab read so far.
    pub rows: u64,
    /// Inflated bytes read so far.
    pub done_bytes: u64,
    /// Inflated bytes to read, once all files are opened.
    pub total_bytes: Option<u64>,
}

/// Hears of progress and answers false to stop.
pub type Observer<'a> = dyn FnMut(Progress<'_>) -> bool + 'a;
