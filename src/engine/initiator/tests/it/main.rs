//! The clients against scripted peers and other people's servers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod iscsi;
mod nfs;
