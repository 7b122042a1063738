//! Performance exports of every source: generated here in the layout of each, read, joined, added up.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod fixtures;
mod formats;
mod rules;
