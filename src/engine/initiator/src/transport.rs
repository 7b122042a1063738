//! What carries an iSCSI session: TCP, or RDMA with iSER (RFC 7145), and what is counted of the latter.

use std::fmt;

use plimsoll_fabric::rdma;

/// What a flow runs over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Transport {
    /// TCP.
    #[default]
    Tcp,
    /// RDMA, with iSER.
    Iser,
}

impl Transport {
    /// A portal of `--portal`: `iser:host:port` or `host:port`.
    pub fn of_portal(text: &str) -> (Self, &str) {
        match text.strip_prefix("iser:") {
            Some(rest) => (Self::Iser, rest),
            None => (Self::Tcp, text.strip_prefix("tcp:").unwrap_or(text)),
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "tcp",
            Self::Iser => "iser",
        })
    }
}

/// What the RDMA connections of a flow have done, for counts per I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RdmaCounters {
    /// Work requests, completions, wake-ups.
    pub fabric: rdma::Counters,
    /// Data segments of writes that were copied before they were sent or exposed.
    pub copies: u64,
    /// Their bytes.
    pub copied_bytes: u64,
    /// Memory registered for the connection as it is now, payloads of the caller aside.
    pub registered_bytes: u64,
}

impl RdmaCounters {
    /// Adds those of an earlier connection.
    pub(crate) fn add(&mut self, earlier: &Self) {
        let (all, of) = (&mut self.fabric, &earlier.fabric);
        all.sends += of.sends;
        all.receives += of.receives;
        all.writes += of.writes;
        all.reads += of.reads;
        all.send_completions += of.send_completions;
        all.signalled += of.signalled;
        all.doorbells += of.doorbells;
        all.wake_ups += of.wake_ups;
        self.copies += earlier.copies;
        self.copied_bytes += earlier.copied_bytes;
    }
}
