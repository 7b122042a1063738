//! The workbook.

use plimsoll_ingest::Problems;

use crate::Error;
use crate::compose::Report;

/// The report as a workbook.
///
/// # Errors
/// When a sheet cannot hold the report.
pub fn xlsx(report: &Report<'_>) -> Result<Vec<u8>, Error> {
    crate::workbook::compose(report).write()
}

/// The problems as a workbook of rows left out or doubted.
///
/// # Errors
/// When the sheet cannot hold them.
pub fn rejected_rows_xlsx(problems: &Problems) -> Result<Vec<u8>, Error> {
    crate::workbook::problems_only(problems).write()
}
