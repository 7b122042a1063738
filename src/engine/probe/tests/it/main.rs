//! The probe against datastores whose behaviour is known because the test made it up.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "tests")]

mod arrays;
mod comparing;
mod fake;
mod guards;
mod hosts;
mod integrity;
mod matrix;
mod measuring;
mod namespaces;
mod open_loop;
mod outputs;
mod preflights;
mod safety;
#[path = "../../../../planner/report/tests/schema/mod.rs"]
mod schema;
