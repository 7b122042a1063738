//! Files to typed rows and problems: the first arrow of the flow.
//!
//! [`read`] takes files as they came (names and bytes), says what each is, and returns an
//! [`Export`]: typed rows of every tab that Plimsoll uses, and every [`Problem`] met on the way.
//! Nothing is guessed silently and nothing here decides what a row means: identity, joins and
//! exclusions belong to `plimsoll-inventory`.
//!
//! The way of a file: `leaves` opens folders and archives, `sniff` tells forms by their bytes,
//! `archive` and `package` guard what is inflated, `xlsx`, `xls` and `delimited` deliver cells,
//! `recognise` refuses other tools' exports, `table` turns cells into the rows of `columns`.
//!
//! Invariants: blank is not zero (`Option`); licence keys never leave this crate; secrets in
//! annotations are redacted before they reach a row; lengths found in a file never size memory.

mod archive;
mod book;
mod cell;
mod columns;
mod compound;
mod date;
mod delimited;
mod encoding;
pub mod error;
pub mod export;
mod headers;
pub mod input;
mod intern;
mod leaves;
pub mod limits;
pub mod manual;
mod number;
mod package;
pub mod problem;
mod read;
mod recognise;
pub mod rows;
mod secrets;
mod sheets;
mod sniff;
mod strings;
mod tab;
mod table;
mod words;
mod xls;
mod xlsx;

pub use error::{Error, ErrorCode};
pub use export::{Export, InputFile, SourceKind, TabSummary};
pub use input::{Input, Observer, Progress, Source};
pub use limits::Limits;
pub use manual::{ManualAverages, manual};
pub use problem::{Problem, Problems, Severity};
pub use read::read;
pub use sheets::{RowTexts, SheetTexts, sheet_texts};

/// Text of a file in any encoding: by its mark, as UTF-8 or UTF-16, else the likeliest regional one.
#[must_use]
pub fn decode(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    encoding::decode(bytes).text
}
