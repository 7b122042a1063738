//! Scenarios of the storage crate, one module per theme.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod atomicity;
mod stores;
