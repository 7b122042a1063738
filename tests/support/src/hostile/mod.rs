//! Files made to break a reader: each must end in a clear error or a clean read, quickly and in
//! little memory. `tests/expected/hostile.tsv` says which outcome is right.

mod book;
mod other;
mod sheets;
mod zips;

use std::io;
use std::path::{Path, PathBuf};

/// All file names. The name says what is wrong.
pub const NAMES: &[&str] = &[
    // Archives.
    "bomb-sheet.xlsx",
    "bomb-csv.zip",
    "bomb-nested.zip",
    "nested-five-deep.zip",
    "traversal-names.zip",
    "many-entries.zip",
    "same-name-twice.zip",
    "encrypted-entries.zip",
    "truncated-half.xlsx",
    "truncated-directory.xlsx",
    "declared-2gb-sheet.xlsx",
    "empty.zip",
    "no-workbook.xlsx",
    "missing-sheet-part.xlsx",
    // Sheets.
    "dimension-whole.xlsx",
    "far-cell.xlsx",
    "million-blank-rows.xlsx",
    "two-million-rows.xlsx",
    "all-columns.xlsx",
    "huge-shared-string.xlsx",
    "repeated-long-string.xlsx",
    "huge-inline-string.xlsx",
    "string-index-outside.xlsx",
    "entity-expansion.xlsx",
    "deep-elements.xlsx",
    "broken-xml.xlsx",
    "absurd-numbers.xlsx",
    "cell-references-nonsense.xlsx",
    "header-only.xlsx",
    // Other containers.
    "encrypted.xlsx",
    "encrypted.xls",
    "noise.xls",
    "chain-loop.xls",
    "string-count-lie.xls",
    "record-cut.xls",
    "html.xls",
    "csv.xlsx",
    "picture.xlsx",
    "empty.xlsx",
    "one-byte.csv",
    "mark-only.csv",
    "open-quote.csv",
    "nul-bytes.csv",
    "five-thousand-columns.csv",
    "ragged.csv",
    "long-line.csv",
    "header-only.csv",
];

/// Writes one hostile file into a folder and returns its path.
///
/// # Errors
/// When the name is unknown or the file cannot be written.
pub fn write(name: &str, folder: &Path) -> io::Result<PathBuf> {
    let path = folder.join(name);
    let made =
        zips::write(name, &path)? || sheets::write(name, &path)? || other::write(name, &path)?;
    if made { Ok(path) } else { Err(io::Error::other(format!("no hostile file is called {name}"))) }
}
