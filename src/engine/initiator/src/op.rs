//! What is asked of a datastore and what comes back, the same for every protocol.
//!
//! An operation keeps its `tag` from submission to its one [`Completion`]. Read data goes to the sink in
//! pieces, in place in the receive buffer, before the completion.

use std::time::Instant;

/// The direction of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpKind {
    /// Data flows from the datastore.
    Read,
    /// Data flows to the datastore.
    Write,
    /// Everything written before and completed becomes stable.
    Flush,
}

/// One operation of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op {
    /// Chosen by the caller, returned with data and completion.
    pub tag: u64,
    /// Read, write or flush.
    pub kind: OpKind,
    /// Offset in bytes; a multiple of [`crate::Datastore::block_bytes`].
    pub offset: u64,
    /// Length in bytes; a multiple of [`crate::Datastore::block_bytes`]; 0 for a flush.
    pub len: u32,
}

/// SCSI sense in the three numbers that matter (SPC-5 4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sense {
    /// Sense key.
    pub key: u8,
    /// Additional sense code.
    pub asc: u8,
    /// Additional sense code qualifier.
    pub ascq: u8,
}

/// Why an operation got no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LostReason {
    /// Every path was down for longer than the caller allows.
    NoPath,
    /// The answer did not come in time, and the operation was aborted.
    Timeout,
    /// Its connection was lost again and again while it was under way.
    Reissues,
    /// The datastore object was closed.
    Closed,
}

/// How an operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Done: the only outcome that counts as a completed I/O.
    Done,
    /// SCSI BUSY, still so after all retries.
    Busy,
    /// SCSI TASK SET FULL, still so after all retries.
    TaskSetFull,
    /// SCSI unit attention (additional sense code and qualifier), still so after all retries.
    UnitAttention(u8, u8),
    /// SCSI RESERVATION CONFLICT: somebody else holds the unit.
    ReservationConflict,
    /// SCSI CHECK CONDITION with any other sense.
    CheckCondition(Sense),
    /// Any other SCSI status.
    Status(u8),
    /// An NFS status other than NFS3_OK.
    Nfs(u32),
    /// A read that returned fewer bytes than asked for, or a write that took fewer.
    Short,
    /// No answer.
    Lost(LostReason),
}

/// The end of one operation.
#[derive(Debug, Clone, Copy)]
pub struct Completion {
    /// Tag of the operation.
    pub tag: u64,
    /// Index into [`crate::Datastore::flows`] of the flow that brought the answer.
    pub flow: u16,
    /// How it ended.
    pub outcome: Outcome,
    /// When it was handed over (the first clock reading of that turn).
    pub issued: Instant,
    /// When its answer was received (the clock reading of that turn).
    pub completed: Instant,
    /// Bytes moved.
    pub bytes: u32,
}

/// Takes what a poll finds.
pub trait Sink {
    /// Bytes `at..` of the read `tag`, in place in the receive buffer. A read that is reissued after the loss
    /// of its connection delivers its data again from the start of what was lost.
    fn data(&mut self, tag: u64, at: u32, bytes: &[u8]);
    /// The end of an operation: once for each.
    fn done(&mut self, completion: Completion);
}
