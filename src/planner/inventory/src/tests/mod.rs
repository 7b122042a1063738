//! The whole of [`crate::build`] on hand-built exports, with results computed by hand.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod findings;
mod identity;
mod properties;
mod quality;
mod real;
mod size;
mod totals;
