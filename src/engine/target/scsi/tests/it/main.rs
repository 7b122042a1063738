//! The device server as a transport sees it: a memory volume behind a device with two ports, commands as
//! CDBs, tests named after the clause that they hold the device server to.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod access_states;
mod attentions;
mod blocks;
mod copies;
mod fast_path;
mod identity;
mod management;
mod modes;
mod persistent;
mod persistent_out;
mod provisioning;
mod removable;
mod reserve;
mod sanitize;
mod support;
mod supported;
