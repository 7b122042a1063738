//! Typed rows to one inventory: identities, joins, populations, cross-tab checks, findings.
//!
//! [`build`] is the one way in. [`types`] holds what the later stages read: plain, owned,
//! serialisable. The column store that does the joins and sums (polars) stays inside this crate.

mod build;
mod datastores;
mod disks;
mod duplicates;
mod findings;
mod frames;
mod hosts;
mod identity;
mod names;
mod population;
mod quality;
mod report;
mod taken;
pub mod types;
mod vcenters;
mod words;

pub use build::{InventoryOptions, build};
pub use types::*;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
