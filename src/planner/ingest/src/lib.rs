//! Files to typed rows and problems: the first arrow of the flow.
//!
//! [`read`] takes files as they came (names and bytes), says what each is, and returns an
//! [`Export`]: typed rows of every tab that Plimsoll uses, and every [`Problem`] met on the way.
//! Nothing is guessed silently and nothing here decides what a row means: identity, joins and
//! exclusions belong to `plimsoll-inventory`.
//!
//! Invariants: blank is not zero (`Option`); licence keys never leave this crate; secrets in
//! annotations are redacted before they reach a row; lengths found in a file never size memory.

pub mod export;
pub mod problem;
pub mod rows;

pub use export::{Export, InputFile, SourceKind, TabSummary};
pub use problem::{Problem, Problems, Severity};
