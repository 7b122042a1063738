//! The NFS server over real connections, against a client made of nothing but the wire formats.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod client;
mod crash;
mod data;
mod handles;
mod listing;
mod load;
mod mounting;
mod names;
mod repetition;
