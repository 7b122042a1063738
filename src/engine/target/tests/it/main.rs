//! The facade: configurations, and a running target as other people's clients see it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod config;
mod iser;
mod running;
