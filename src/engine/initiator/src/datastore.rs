//! The one interface of all clients, and `open`, which picks the client by the URL's scheme.

use std::{net::SocketAddr, time::Duration};

use mio::Waker;

use crate::{Error, Op, Options, Payload, RdmaCounters, Sink, Transport, Url, iscsi, nfs};

/// What a flow (one connection) is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FlowState {
    /// Carries operations.
    Up,
    /// Logged in, but its path is not to be used (ALUA standby, unavailable, or the policy left it idle).
    Standby,
    /// Connecting or logging in, again or for the first time.
    #[default]
    Connecting,
    /// Given up.
    Down,
}

/// Counters of one flow since the datastore was opened.
#[derive(Debug, Clone, Default)]
pub struct FlowCounters {
    /// Path in words: local address, remote address, number of the session on that path.
    pub name: String,
    /// What it runs over.
    pub transport: Transport,
    /// What its RDMA connections did (iSER).
    pub rdma: Option<RdmaCounters>,
    /// Remote end.
    pub peer: Option<SocketAddr>,
    /// State at the moment.
    pub state: FlowState,
    /// Completed reads.
    pub reads: u64,
    /// Completed writes.
    pub writes: u64,
    /// Bytes of completed reads.
    pub read_bytes: u64,
    /// Bytes of completed writes.
    pub written_bytes: u64,
    /// Operations without an answer at the moment.
    pub in_flight: u32,
    /// TCP segments sent again (TCP_INFO), over all connections of this flow.
    pub retransmits: u64,
    /// Smoothed round trip in microseconds (TCP_INFO); 0 when not connected.
    pub rtt_us: u32,
    /// Times the policy moved to this flow from another.
    pub path_switches: u64,
    /// Connections made again after a loss.
    pub reconnects: u64,
    /// Operations sent again after a loss.
    pub reissued: u64,
    /// SCSI BUSY and NFS3ERR_JUKEBOX answers (each is retried).
    pub busy: u64,
    /// SCSI TASK SET FULL answers (each is retried).
    pub task_set_full: u64,
    /// SCSI unit attentions (each is retried).
    pub unit_attentions: u64,
    /// SCSI RESERVATION CONFLICT answers.
    pub reservation_conflicts: u64,
    /// Answers that ended an operation with any other error.
    pub errors: u64,
    /// Changed NFS write verifiers: unstable data was written again.
    pub verifier_changes: u64,
    /// Why the connection was last lost or refused, until it is up again.
    pub last_end: Option<String>,
    /// Why a connection that was up was last lost.
    pub last_loss: Option<String>,
}

/// An open datastore. Lives in one thread at a time and drives all its flows; more threads take more objects.
pub trait Datastore: Send {
    /// Addressable bytes.
    fn capacity_bytes(&self) -> u64;

    /// Offsets and lengths are multiples of this.
    fn block_bytes(&self) -> u32;

    /// The name that a permission to write must repeat: unit serial number or export path.
    fn identity(&self) -> &str;

    /// Whether another operation would be accepted now.
    fn can_submit(&self) -> bool;

    /// Accepts an operation; it leaves with the next poll, together with all others of the turn.
    /// `data` is the payload of a write (exactly `op.len` bytes), kept by reference until the completion.
    fn submit(&mut self, op: &Op, data: Option<Payload>) -> Result<(), Error>;

    /// Sends what was submitted, waits at most `wait` (`None`: until something arrives) and delivers what came.
    /// Returns the number of completions. An error means that the datastore is of no more use; operations
    /// without an answer are then completed as lost by [`Datastore::close`].
    fn poll(&mut self, wait: Option<Duration>, sink: &mut dyn Sink) -> Result<usize, Error>;

    /// Operations accepted and not completed.
    fn in_flight(&self) -> usize;

    /// Counters per flow; the index is the `flow` of completions.
    fn flows(&self) -> Vec<FlowCounters>;

    /// Vendor and product of the unit; empty where the protocol tells none.
    fn model(&self) -> String {
        String::new()
    }

    /// Makes a poll that waits in another thread return. None: this client cannot be woken.
    fn waker(&mut self) -> Option<Waker> {
        None
    }

    /// Lets what is under way end, and connects anew by the preferred portal; what is submitted meanwhile waits.
    fn reconnect(&mut self) {}

    /// Logs out; whatever has no answer is completed as lost.
    fn close(&mut self, sink: &mut dyn Sink);
}

/// Opens the datastore behind a URL: connects, logs in or mounts, asks for size and limits.
pub fn open(url: &str, options: &Options) -> Result<Box<dyn Datastore>, Error> {
    match Url::parse(url)? {
        Url::Iscsi(url) => iscsi::open(&url, options),
        Url::Nfs(url) => nfs::open(&url, options),
    }
}
