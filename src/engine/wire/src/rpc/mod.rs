//! Open Network Computing remote procedure calls, version 2 (RFC 5531): calls, replies, credentials and
//! the record marking that frames them on a TCP connection.
//!
//! Flow of a server: [`record::extent`] finds the end of a record in the receive buffer, [`record::join`]
//! gives its bytes, [`Call::parse`] the header and a reader over the arguments; [`accept`] or [`deny`] starts an answer.
//! Flow of a client: [`Call::put`], then [`Reply::parse`].

mod auth;
mod call;
pub mod record;
mod reply;
#[cfg(test)]
mod tests;

pub use auth::{AuthSys, Credential, Gids, MAX_AUTH_BYTES, MAX_GIDS};
pub use call::{Call, Refusal};
pub use reply::{Accepted, AuthStat, Denial, Reply, accept, deny};

/// The version of the RPC protocol itself.
pub const RPC_VERSION: u32 = 2;
