//! Inventories: uploaded, read, listed, forgotten.

pub mod accepted;
pub mod body;
pub mod create;
pub mod datastores;
pub mod delete;
pub mod findings;
pub mod get;
pub mod list;
mod lists;
pub mod problems;
pub mod vms;
