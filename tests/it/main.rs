//! One integration binary: the flows end to end, by the built program and its interfaces.
//!
//! Expectations come from `plimsoll-support` (the site knows its totals), from `tests/expected`
//! (counted with openpyxl) and from the interface as documented; never from our own output.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, reason = "tests")]

mod borders;
mod engine;
mod exit_status;
mod hostile;
mod http;
mod program;
mod protocols;
mod reports;
mod secrets;
mod totals;
mod variations;
