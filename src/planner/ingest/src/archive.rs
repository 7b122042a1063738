//! Opens a zip and judges it by its directory before a byte is inflated.
//!
//! Refused: encrypted entries, absolute and climbing names, entries of one name twice, more entries
//! or more inflated bytes than the limits, and ratios that only a decompression bomb has. Declared
//! sizes may lie: whoever inflates counts again and stops at the declared size.

use zip::ZipArchive;
use zip::result::ZipError;

use crate::error::{Error, ErrorCode};
use crate::input::{ReadSeek, Source};
use crate::limits::Limits;

/// Whatever the limits say: the virtual zip of [`crate::package`] has 32-bit sizes.
const MOST_INFLATED: u64 = 3 * 1024 * 1024 * 1024;

/// A zip whose directory has been judged.
pub(crate) struct Archive {
    pub(crate) source: Source,
    pub(crate) entries: Vec<Entry>,
}

/// One file of an archive.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Index in the archive's directory.
    pub(crate) index: usize,
    /// Path inside the archive, with `/`.
    pub(crate) name: String,
    /// Declared size when inflated, in bytes.
    pub(crate) size: u64,
    pub(crate) crc32: u32,
}

/// Opens the directory of a zip.
pub(crate) fn directory(source: &Source) -> Result<ZipArchive<Box<dyn ReadSeek>>, ZipError> {
    ZipArchive::new(source.open()?)
}

impl Archive {
    /// Reads and judges the directory.
    pub(crate) fn open(file: &str, source: &Source, limits: &Limits) -> Result<Self, Error> {
        let mut zip = directory(source).map_err(|error| refused(file, &error))?;
        if zip.len() > limits.archive_entries {
            return Err(Error::new(
                ErrorCode::TooLarge,
                file,
                format!("holds {} entries", zip.len()),
                format!("at most {} entries", limits.archive_entries),
                "send the exports themselves",
            ));
        }
        if zip.has_duplicate_names() {
            return Err(Error::new(
                ErrorCode::UnsafeArchive,
                file,
                "holds two entries of one name",
                "an archive in which every name stands once",
                "pack it again",
            ));
        }
        let mut entries = Vec::with_capacity(zip.len());
        let mut inflated = 0_u64;
        for index in 0..zip.len() {
            let entry = zip.by_index_raw(index).map_err(|error| refused(file, &error))?;
            let name = entry
                .name()
                .map(|name| name.replace('\\', "/"))
                .unwrap_or_else(|_| String::from_utf8_lossy(entry.name_raw()).replace('\\', "/"));
            if entry.encrypted() {
                return Err(encrypted(file));
            }
            if is_unsafe(&name) || entry.is_symlink() {
                return Err(Error::new(
                    ErrorCode::UnsafeArchive,
                    file,
                    format!(
                        "holds an entry that points outside the archive: {}",
                        crate::secrets::shown(&name)
                    ),
                    "names below the archive's own folder",
                    "pack the files again",
                ));
            }
            if entry.is_dir() {
                continue;
            }
            inflated = inflated.saturating_add(entry.size());
            let ratio = entry.size() / entry.compressed_size().max(1);
            if inflated > limits.inflated_bytes.min(MOST_INFLATED)
                || (entry.size() > limits.ratio_floor_bytes && ratio > limits.inflate_ratio)
            {
                return Err(bomb(file, &name));
            }
            entries.push(Entry { index, name, size: entry.size(), crc32: entry.crc32() });
        }
        Ok(Self { source: source.clone(), entries })
    }

    /// The entry of a name, in any case.
    pub(crate) fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name.eq_ignore_ascii_case(name))
    }

    /// Inflates one entry into memory, at most its declared size and at most `cap` bytes.
    pub(crate) fn inflate(&self, file: &str, entry: &Entry, cap: u64) -> Result<Vec<u8>, Error> {
        use std::io::Read;
        if entry.size > cap {
            return Err(Error::new(
                ErrorCode::TooLarge,
                file,
                format!("its part {} inflates to {} bytes", entry.name, entry.size),
                format!("at most {cap} bytes"),
                "export again; if the file is sound, raise the limit",
            ));
        }
        let mut zip = directory(&self.source).map_err(|error| refused(file, &error))?;
        let reader = zip.by_index(entry.index).map_err(|error| refused(file, &error))?;
        let mut bytes = Vec::new();
        reader
            .take(entry.size.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| Error::damaged(file, format!("{}: {error}", entry.name)))?;
        if bytes.len() as u64 > entry.size {
            return Err(bomb(file, &entry.name));
        }
        Ok(bytes)
    }
}

/// Absolute, climbing, drive-lettered, or with a zero byte.
fn is_unsafe(name: &str) -> bool {
    name.starts_with('/')
        || name.contains('\0')
        || name.split('/').any(|part| part == "..")
        || name.as_bytes().get(1) == Some(&b':')
}

/// Files that archives and folders carry along without a meaning.
pub(crate) fn is_ignorable(name: &str) -> bool {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    file.is_empty()
        || file.starts_with("~$")
        || file.starts_with("._")
        || name.split(['/', '\\']).any(|part| part == "__MACOSX")
        || [".DS_Store", "Thumbs.db", "desktop.ini"].iter().any(|f| file.eq_ignore_ascii_case(f))
}

pub(crate) fn bomb(file: &str, entry: &str) -> Error {
    Error::new(
        ErrorCode::Bomb,
        file,
        format!("inflates to far more than it should ({})", crate::secrets::shown(entry)),
        "an export as RVTools writes it",
        "export again; if the file is sound, save it once with a spreadsheet program",
    )
}

pub(crate) fn encrypted(file: &str) -> Error {
    Error::new(
        ErrorCode::Encrypted,
        file,
        "protected by a password or a sensitivity label",
        "a file without protection",
        "open it, remove the password or set the label to one that anyone may open, save it and \
         send it again",
    )
}

pub(crate) fn refused(file: &str, error: &ZipError) -> Error {
    match error {
        ZipError::UnsupportedArchive(reason) if *reason == ZipError::PASSWORD_REQUIRED => {
            encrypted(file)
        }
        ZipError::UnsupportedArchive(_) | ZipError::CompressionMethodNotSupported(_) => Error::new(
            ErrorCode::UnsupportedFormat,
            file,
            format!("packed in a way that is not read: {error}"),
            "a zip with the usual deflate compression",
            "pack it again with the usual settings",
        ),
        other => Error::damaged(file, other),
    }
}
