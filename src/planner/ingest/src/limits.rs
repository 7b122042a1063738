//! Caps on what a file may make this crate do. Lengths found in a file never size memory.

use serde::{Deserialize, Serialize};

/// One mebibyte in bytes.
pub(crate) const MIB: u64 = 1024 * 1024;

/// Caps for one run; the defaults suit a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Bytes of one input file.
    pub input_bytes: u64,
    /// Files of one run, those inside archives included.
    pub files: usize,
    /// Entries of one archive or workbook.
    pub archive_entries: usize,
    /// Inflated bytes of one archive or workbook.
    pub inflated_bytes: u64,
    /// Inflated over compressed size of one entry, once it inflates to more than
    /// [`Limits::ratio_floor_bytes`]. Real exports stay below 30.
    pub inflate_ratio: u64,
    /// Entries that inflate to less are not judged by ratio.
    pub ratio_floor_bytes: u64,
    /// Memory that the shared strings of one workbook may take.
    pub shared_strings_bytes: u64,
    /// Inflated bytes of a sheet without one value before reading of the sheet stops: far above the
    /// styled blank cells that spreadsheet programs leave below the data.
    pub barren_bytes: u64,
    /// Memory that all rows of a run may take: this much, and
    /// [`Limits::row_bytes_per_input_byte`] for each byte of input. A row of a real export is some
    /// hundred bytes packed; files of a million nearly empty rows are meant to end here.
    pub row_bytes: u64,
    /// See [`Limits::row_bytes`].
    pub row_bytes_per_input_byte: u64,
    /// Rows of one tab; Excel's own limit.
    pub rows: u32,
    /// Columns of one tab; RVTools has at most 90 and sites add custom attributes.
    pub columns: u32,
    /// Characters of one cell; Excel's own limit.
    pub text_chars: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            input_bytes: 256 * MIB,
            files: 512,
            archive_entries: 4_096,
            inflated_bytes: 1_536 * MIB,
            inflate_ratio: 100,
            ratio_floor_bytes: 8 * MIB,
            shared_strings_bytes: 192 * MIB,
            barren_bytes: 8 * MIB,
            row_bytes: 64 * MIB,
            row_bytes_per_input_byte: 5,
            rows: 1_048_576,
            columns: 512,
            text_chars: 32_767,
        }
    }
}
