//! Plans: asked for, listed, and their reports.

pub mod body;
pub mod create;
pub mod get;
pub mod list;
pub mod report;
