//! The sheets of the workbook.

use plimsoll_ingest::Problems;

use crate::Error;
use crate::compose::Report;

/// A workbook before it is written.
pub struct Book;

/// The workbook of a report.
pub fn compose(_report: &Report<'_>) -> Book {
    Book
}

/// The workbook of problems alone.
pub fn problems_only(_problems: &Problems) -> Book {
    Book
}

impl Book {
    /// Writes it.
    pub fn write(self) -> Result<Vec<u8>, Error> {
        Ok(rust_xlsxwriter::Workbook::new().save_to_buffer()?)
    }
}
