//! A plan to html, json, xlsx, csv and md.
//!
//! [`compose()`] turns the results of all stages into a [`Report`]: a document of text, figures and
//! tables that knows no format. The formats walk that document and know no domain. Identical input
//! and options give identical bytes: no clock, no random number, no unordered map.

pub mod chart;
mod compose;
mod csv;
pub mod document;
pub mod figure;
mod html;
mod input;
mod json;
mod lines;
mod md;
pub mod number;
mod record;
mod words;
mod workbook;
mod xlsx;

pub use crate::compose::{Report, compose};
pub use crate::csv::{csv, csv_to};
pub use crate::html::html;
pub use crate::input::ReportInput;
pub use crate::json::{json, json_to};
pub use crate::md::md;
pub use crate::record::SCHEMA_VERSION;
pub use crate::xlsx::{rejected_rows_xlsx, xlsx};

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The JSON form.
    #[error("writing the report as JSON")]
    Json(#[from] serde_json::Error),
    /// The CSV form.
    #[error("writing the placement as CSV")]
    Csv(#[from] ::csv::Error),
    /// The workbook.
    #[error("writing the workbook")]
    Workbook(#[from] rust_xlsxwriter::XlsxError),
}
