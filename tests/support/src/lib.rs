//! Fixture files: every variation of an inventory export, from one synthetic site.
//!
//! A [`site::Site`] is made from a [`site::SiteSpec`] and a seed and knows its own totals.
//! [`tabs`] turns it into the rows of each tab, [`export`] lays those out as one RVTools version
//! family writes them (with whatever edits a variation asks for), and [`write`] puts the result
//! into xlsx, xls or csv. [`variation`] and [`hostile`] list all named fixtures.
//!
//! [`figure`] is how benchmarks say what they measured.
//!
//! Nothing here shares code with the crates under test: the totals come from the site, not from
//! reading a file back. Same spec, same seed, same bytes.

pub mod cell;
pub mod export;
pub mod family;
pub mod figure;
pub mod hostile;
pub mod prng;
pub mod secrets;
pub mod site;
pub mod stamp;
pub mod tabs;
pub mod variation;
pub mod write;

/// Raised whenever the bytes of a fixture change; caches of large fixtures are keyed by it.
pub const GENERATOR_VERSION: u32 = 1;
