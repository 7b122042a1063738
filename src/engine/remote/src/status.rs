//! What is told of a remote volume.

use serde::Serialize;

/// How a remote volume is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Connection {
    /// By RDMA with iSER.
    Iser,
    /// By TCP.
    Tcp,
    /// Not: what is asked for waits.
    #[default]
    None,
    /// Not, and never will be as it is: see the reason.
    Refused,
}

/// The state of a remote volume.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Status {
    /// The URL as it was configured, without a secret.
    pub url: String,
    /// How it is connected.
    pub connection: Connection,
    /// Why it is connected so: what the preferred transport said when it was last tried, or that it was preferred.
    pub reason: String,
    /// For how many seconds.
    pub since_s: f64,
    /// Changes from one transport to the other.
    pub switches: u64,
    /// Connections made again after a loss.
    pub reconnects: u64,
    /// Operations sent again after a loss.
    pub reissued: u64,
    /// Operations that wait or are under way.
    pub queued_operations: usize,
    /// Their bytes.
    pub queued_bytes: u64,
    /// Operations that were answered as busy, since too much was waiting.
    pub turned_away: u64,
    /// Operations that failed.
    pub failed: u64,
}
