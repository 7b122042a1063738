//! Zip files whose bytes depend on nothing but their content.

use std::io::{self, Seek, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// Options with a fixed date.
#[must_use]
pub fn options() -> SimpleFileOptions {
    SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default())
        .large_file(false)
}

/// Writes entries (name, bytes) in order.
///
/// # Errors
/// When the output cannot be written.
pub fn write<W: Write + Seek>(to: W, entries: &[(String, Vec<u8>)]) -> io::Result<W> {
    let mut archive = ZipWriter::new(to);
    for (name, bytes) in entries {
        archive.start_file(name.as_str(), options()).map_err(io::Error::other)?;
        archive.write_all(bytes)?;
    }
    archive.finish().map_err(io::Error::other)
}
