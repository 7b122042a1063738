//! Volumes whose bytes are a unit of a remote target (VJBOD): by iSER when it can be had, by iSCSI otherwise.
//!
//! ```text
//! target ── submit ─▶ Engine: queue, order ─▶ one thread ─▶ Datastore (one flow: preferred portal, fallback)
//!                        ▲ done, from that thread ◀──────────┘
//! ```
//!
//! One session at a time, always with the same ISID: the login over the other transport reinstates the session
//! of the first (RFC 7143 section 6.3.5), so the remote target has ended everything of it before anything is
//! sent again ([decision 7](../../../docs/decisions/0007-one-session-across-transports.md)). Operations whose
//! ranges overlap never run at the same time, so a write that is sent again overtakes none.

mod engine;
mod error;
mod order;
mod settings;
mod status;
mod worker;

pub use engine::Engine;
pub use error::RemoteError;
pub use plimsoll_initiator::Chap;
pub use settings::{Credentials, Prefer, Return, Settings};
pub use status::{Connection, Status};
