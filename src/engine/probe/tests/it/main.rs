//! The probe against datastores whose behaviour is known because the test made it up.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod fake;
mod guards;
mod integrity;
mod measuring;
mod open_loop;
