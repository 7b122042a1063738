//! File formats.

pub mod csv;
pub mod xls;
pub mod xlsx;
pub mod zipped;

pub use csv::{Dialect, Encoding};
pub use xlsx::{Dimension, Strings, XlsxStyle};
