//! Reports in one shot: files in, report out, nothing kept.

pub mod create;
mod send;

pub use send::report_response;
