//! Files made to break a reader.
use std::io;
use std::path::{Path, PathBuf};
/// All names.
pub const NAMES: &[&str] = &[];
/// Writes one.
///
/// # Errors
/// Always.
pub fn write(name: &str, _folder: &Path) -> io::Result<PathBuf> {
    Err(io::Error::other(name.to_owned()))
}
