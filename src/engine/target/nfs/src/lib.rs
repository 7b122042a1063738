//! The NFSv3 server with its MOUNT and portmap services, all on one port (RFC 1813, RFC 1833).
//!
//! ```text
//! Server ── exports, verifier, answers kept, limits
//!   └─ service ─▶ NfsConnection (one thread each) ──▶ Namespace of a volume (plimsoll-storage)
//! ```
//!
//! Every handle carries a code that only the server can make; names never become host paths. Changes run
//! once although clients repeat them, and are answered when they are durable. The data path copies nothing
//! on READ and once, into the store, on WRITE.

mod access;
mod change;
mod connection;
mod convert;
mod data;
mod export;
mod handle;
mod link;
mod list;
mod mount;
mod once;
mod parked;
mod portmap;
mod query;
mod replies;
mod reply;
mod server;
mod settings;
mod watch;

pub use access::{Access, NOBODY, Network, NetworkError, Rule, Squash};
pub use connection::{Event, NfsConnection};
pub use export::Export;
pub use portmap::UdpPortmap;
pub use server::{NfsService, Server, ServerError};
pub use settings::Settings;
