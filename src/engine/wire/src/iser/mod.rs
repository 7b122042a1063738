//! iSER (RFC 7145): the header in front of every PDU that travels in an RDMA send, and what the two ends tell
//! each other when they connect.
//!
//! * [`header`]: the 28 bytes with the tags of a command's buffers, and whole messages.
//! * [`connect`]: the four bytes of private data of the connection manager.
//!
//! The keys of RFC 7145 section 6 are negotiated beside all others:
//! [`Negotiator`](crate::iscsi::negotiate::Negotiator).

pub mod connect;
pub mod header;

pub use connect::Abilities;
pub use header::{Header, Message, MessageError, Tag};

use crate::iscsi::BHS_LEN;

/// Length of the header in front of the BHS (section 9.1).
pub const HEADER_LEN: usize = 28;
/// Header and BHS: what every message has at least.
pub const MESSAGE_MIN: usize = HEADER_LEN + BHS_LEN;
/// Largest data segment of a login PDU, and before anything is negotiated (RFC 7143 section 13.12).
pub const LOGIN_DATA_MAX: usize = 8192;
/// A receive buffer that takes every login PDU.
pub const LOGIN_MESSAGE_MAX: usize = MESSAGE_MIN + LOGIN_DATA_MAX;
/// Room for data in the receive buffers of initiators that do not say how much they take: Linux and libiscsi
/// post 128 bytes, whatever MaxRecvDataSegmentLength they declare.
pub const UNDECLARED_DATA_MAX: u32 = 128;
