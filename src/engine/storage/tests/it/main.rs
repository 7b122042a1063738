//! Scenarios of the storage crate, one module per theme.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod array;
mod atomicity;
mod kill;
mod placement;
mod stores;
