//! The facade: configurations, and a running target as other people's clients see it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod config;
mod running;
