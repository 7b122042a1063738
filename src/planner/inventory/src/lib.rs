//! Typed rows to one inventory: identities, joins, populations, cross-tab checks, findings.
//!
//! [`types`] holds what the later stages read: plain, owned, serialisable. The column store that
//! does the joins and sums (polars) stays inside this crate.

pub mod types;

pub use types::*;
