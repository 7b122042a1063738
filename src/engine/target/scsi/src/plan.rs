//! What a transport is told to do with a command.
//!
//! The device server never moves data of READ and WRITE itself: it checks the command and hands the transport
//! a byte range of the store, so that reads leave without a copy and writes land as they arrive. Everything
//! else is a [`Job`], or done at once.

use plimsoll_wire::scsi::{Sense, Status};

use crate::Job;

/// What happens next with a command.
#[derive(Debug)]
pub enum Plan {
    /// Fetch this range from the unit's store and send it; then GOOD.
    Read {
        /// First byte.
        offset: u64,
        /// Bytes; 0 is allowed and moves nothing.
        len: usize,
    },
    /// Put the data, as it arrives, into the unit's store; then, when `durable`, flush; then GOOD.
    Write {
        /// First byte.
        offset: u64,
        /// Bytes; 0 is allowed and moves nothing.
        len: usize,
        /// FUA or a disabled write cache: status only after [`crate::LogicalUnit::flush`], which blocks.
        durable: bool,
    },
    /// Collect `len` bytes of data-out (none when 0), then [`Job::run`].
    Collect {
        /// Bytes of data-out that the job wants; at most [`crate::MAX_COLLECT`].
        len: usize,
        /// The job may block: run it in the pool of blocking threads, not on an I/O thread.
        blocking: bool,
        /// What to run then.
        job: Box<Job>,
    },
    /// Answer at once; data-out that still comes is read and dropped.
    Done(Completion),
}

/// The end of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// Status to send.
    pub status: Status,
    /// Sense data in the format the unit is set to; empty when there is none.
    pub sense: Vec<u8>,
    /// Data-in, already cut to the allocation length; the transport cuts to the expected length.
    pub data_in: Vec<u8>,
}

impl Completion {
    /// GOOD without data.
    pub const fn good() -> Self {
        Self::status(Status::Good)
    }

    /// GOOD with data-in.
    pub const fn data(data_in: Vec<u8>) -> Self {
        Self { status: Status::Good, sense: Vec::new(), data_in }
    }

    /// A status without sense data.
    pub const fn status(status: Status) -> Self {
        Self { status, sense: Vec::new(), data_in: Vec::new() }
    }

    /// TASK SET FULL: for a transport whose queue has no room.
    pub const fn task_set_full() -> Self {
        Self::status(Status::TaskSetFull)
    }

    /// CHECK CONDITION with this sense, in descriptor or in fixed format.
    pub fn check(sense: &Sense, descriptor: bool) -> Self {
        let mut bytes = Vec::new();
        sense.write(descriptor, &mut bytes);
        Self { status: Status::CheckCondition, sense: bytes, data_in: Vec::new() }
    }
}
