//! The iSCSI target against scripted initiators, well-behaved and not, and against other people's tools.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod array;
mod chap;
mod data;
mod iser;
mod limits;
mod login;
mod management;
mod misbehaving;
mod order;
mod raw;
mod services;
mod tools;
