//! The iSCSI target: portals, login, sessions, data transfer (RFC 7143), over TCP and over RDMA (RFC 7145).
//!
//! ```text
//! Server ── targets, access, limits, list of sessions
//!   └─ listen(group) ─▶ Portal ─▶ Connection: Login ──▶ Session (one connection each, ERL 0)
//!                                               │          ├─ Nexus::begin ─▶ Plan
//!                                               │          ├─ READ: store payloads ─▶ Data-In, no copy
//!                                               │          └─ WRITE: receive buffer ─▶ store, no copy
//!                                               └─ reinstatement: the old session ends first
//! ```
//!
//! A session lives on the I/O thread of its connection; what may block (cold reads, flushes, long commands)
//! runs in the pool and comes back as an [`event`](connection::Event). Error recovery level 0: whatever breaks
//! the order of a connection ends the session, and the initiator logs in again.

mod access;
mod connection;
mod iser;
mod login;
mod mover;
mod registry;
mod server;
mod session;
mod settings;
mod stats;

pub use access::{Access, AccessError, Chap, Network};
pub use mover::Transport;
pub use registry::SessionInfo;
pub use server::{Portal, Server, ServerError};
pub use settings::{Settings, TargetSettings};
pub use stats::{RdmaStats, SessionStats};
