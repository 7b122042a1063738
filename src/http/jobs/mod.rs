//! Jobs: how far they are, and cancelling them.

pub mod body;
pub mod cancel;
pub mod events;
pub mod get;
