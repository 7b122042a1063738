//! iSCSI over RDMA (RFC 7145), the initiator's side below the session.
//!
//! ```text
//! Session ── Out ──▶ Mover ── sends ──▶ Endpoint        commands with tags of memory
//!                      └ Pool: slots that the target places into, or fetches from
//! Session ◀── PDUs ── IserLink ◀── completions, connection events
//! ```
//!
//! Memory of a connection, beside payloads that lie in blocks of the caller: 4.2 KB for each send and 0.6 KB for
//! each receive that can be outstanding (0.8 MB at a depth of 128), and 4 to 64 MiB of slots for each direction,
//! as much as is read at a time or written from elsewhere.

mod buffers;
mod link;
mod mover;
mod pool;

pub use buffers::{DEPTH_MAX, SEND_DATA_MAX, UNEXPECTED_SENT_MAX, receive_data_max};
pub use link::IserLink;
pub use mover::{Held, Mover};
