//! Clients over many flows: iSCSI sessions with multipath policies, NFSv3 with nconnect.
//!
//! An iSCSI session runs over TCP or over RDMA (iSER); the paths of one unit may mix the two.
//!
//! [`open`] turns a URL into a [`Datastore`]: an object that lives in one thread, takes [`Op`]s, and hands
//! read data and [`Completion`]s to a [`Sink`]. Every accepted operation ends in exactly one completion,
//! whatever happens to the connections below.

mod datastore;
mod error;
pub mod iscsi;
pub mod nfs;
mod op;
mod options;
mod spin;
mod tcp;
mod transport;
mod url;

pub use datastore::{Datastore, FlowCounters, FlowState, open};
pub use error::Error;
pub use op::{Completion, LostReason, Op, OpKind, Outcome, Sense, Sink};
pub use options::{Chap, Digests, Options, Policy};
pub use plimsoll_fabric::Payload;
pub use plimsoll_fabric::rdma::{self, Memory};
pub use plimsoll_wire::iscsi::Isid;
pub use transport::{RdmaCounters, Transport};
pub use url::{IscsiUrl, NfsUrl, Url};
