//! How bytes move: event loops, batched vectored sends, payloads that are sent without a copy.

mod payload;

pub use payload::{Owner, Payload};
