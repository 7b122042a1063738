//! The tasks of a session that are not done at once: they wait for data-out, for their admission, or for the
//! pool of blocking threads.
//!
//! A task is found by its [`Tag`], slot and generation, which R2Ts carry as target transfer tag; so data of a
//! task that is gone never reaches another. Search by initiator task tag is for unsolicited data and aborts.

use std::sync::Arc;

use plimsoll_target_scsi::{Completion, Job, LogicalUnit};
use plimsoll_wire::scsi::LunField;
use slab::Slab;

use super::reply::Expected;
use crate::session::memory::Charge;

/// Bits of a tag that count generations.
const GENERATION_BITS: u32 = 14;
/// Slots beyond this do not fit a tag of 24 bits.
pub(super) const SLOTS_MAX: usize = 1 << 10;

/// Names a task for as long as it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tag(u32);

impl Tag {
    fn new(slot: usize, generation: u32) -> Self {
        Self((slot as u32) << GENERATION_BITS | generation)
    }

    fn slot(self) -> usize {
        (self.0 >> GENERATION_BITS) as usize
    }

    fn generation(self) -> u32 {
        self.0 & ((1 << GENERATION_BITS) - 1)
    }

    /// The target transfer tag of R2T number `r2t_sn`. Its top ten bits are a slot below 1,023, so it is
    /// never the reserved value of all ones.
    pub(super) fn transfer_tag(self, r2t_sn: u32) -> u32 {
        self.0 << 8 | r2t_sn & 0xff
    }

    /// The task and the low byte of the R2T number that a target transfer tag stands for.
    pub(super) fn of_transfer_tag(ttt: u32) -> (Self, u32) {
        (Self(ttt >> 8), ttt & 0xff)
    }
}

/// Where the data of a write goes.
pub(super) enum Sink {
    /// Straight to the store.
    Store {
        unit: Arc<LogicalUnit>,
        /// Of the first byte of the command.
        offset: u64,
        /// Flush before the status.
        durable: bool,
    },
    /// Into memory, and whole to the target that has the unit's bytes.
    Remote { unit: Arc<LogicalUnit>, offset: u64, durable: bool, buffer: Vec<u8>, charge: Charge },
    /// Into memory, for a command that wants it whole.
    Collect { buffer: Vec<u8>, job: Box<Job>, blocking: bool, charge: Charge },
    /// Nowhere: the command has failed, and its status waits until the initiator has sent what it owes.
    Discard(Completion),
}

/// A command that takes data from the initiator.
pub(super) struct Out {
    pub sink: Sink,
    /// Bytes that count: what the command wants, at most what the initiator announced.
    pub wanted: u32,
    /// All bytes before this are here.
    pub received: u32,
    /// Unsolicited data is still to come, up to `unsolicited_max`.
    pub unsolicited: bool,
    pub unsolicited_max: u32,
    /// DataSN of the next PDU of the present sequence.
    pub data_sn: u32,
    /// Where solicited data begins: what was received when the unsolicited data ended.
    pub solicited_from: u32,
    /// R2Ts cover everything before this.
    pub requested: u32,
    /// R2Ts sent.
    pub r2t_sn: u32,
    /// R2Ts whose sequences are complete.
    pub answered: u32,
    /// The limiter has let the command pass.
    pub admitted: bool,
    /// RDMA is fetching data.
    pub fetching: bool,
    /// The task was aborted while data is fetched.
    pub aborted: bool,
}

impl Out {
    /// End of the sequence that is being received.
    pub(super) fn sequence_end(&self, max_burst: u32) -> u32 {
        if self.unsolicited {
            self.unsolicited_max
        } else {
            let bursts = u64::from(self.answered) + 1;
            let end = u64::from(self.solicited_from) + bursts * u64::from(max_burst);
            u64::from(self.wanted).min(end) as u32
        }
    }

    /// Sequences that the initiator still owes, or data on its way.
    pub(super) fn is_owed(&self) -> bool {
        self.unsolicited || self.answered != self.r2t_sn || self.fetching
    }

    pub(super) fn has_failed(&self) -> bool {
        matches!(self.sink, Sink::Discard(_))
    }
}

/// What a task waits for.
pub(super) enum Work {
    /// A read that the limiter holds back.
    Read { unit: Arc<LogicalUnit>, offset: u64, len: u32 },
    /// Data from the initiator, or the limiter.
    Out(Out),
    /// The pool of blocking threads. An aborted task stays until its thread is done with it.
    Running { aborted: bool, r2t_sn: u32, _charge: Option<Charge> },
    /// A thread of its own, for what runs long. When the task is aborted it is gone at once: the operation
    /// itself goes on (SBC-4 4.11.2).
    Detached { r2t_sn: u32 },
}

/// A task of the session.
pub(super) struct Task<T> {
    pub itt: u32,
    /// No newer task of the unit begins before this one has ended.
    pub ordered: bool,
    pub lun: LunField,
    /// What the initiator expects to move, for the residual.
    pub expected: Expected<T>,
    pub work: Work,
}

impl<T> Task<T> {
    /// It was aborted and is only here until it touches nothing any more.
    pub(super) fn is_aborted(&self) -> bool {
        match &self.work {
            Work::Running { aborted, .. } => *aborted,
            Work::Out(out) => out.aborted,
            _ => false,
        }
    }
}

struct Entry<T> {
    generation: u32,
    task: Task<T>,
}

/// The open tasks.
pub(super) struct Tasks<T> {
    entries: Slab<Entry<T>>,
    generation: u32,
    /// Open tasks that are ordered.
    ordered: usize,
}

impl<T> Default for Tasks<T> {
    fn default() -> Self {
        Self { entries: Slab::new(), generation: 0, ordered: 0 }
    }
}

impl<T> Tasks<T> {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn has_ordered(&self) -> bool {
        self.ordered > 0
    }

    pub(super) fn insert(&mut self, task: Task<T>) -> Tag {
        self.generation = (self.generation + 1) & ((1 << GENERATION_BITS) - 1);
        let generation = self.generation;
        self.ordered += usize::from(task.ordered);
        Tag::new(self.entries.insert(Entry { generation, task }), generation)
    }

    pub(super) fn get_mut(&mut self, tag: Tag) -> Option<&mut Task<T>> {
        let entry = self.entries.get_mut(tag.slot())?;
        (entry.generation == tag.generation()).then_some(&mut entry.task)
    }

    pub(super) fn remove(&mut self, tag: Tag) -> Option<Task<T>> {
        self.get_mut(tag)?;
        let task = self.entries.remove(tag.slot()).task;
        self.ordered -= usize::from(task.ordered);
        Some(task)
    }

    /// Tags of the tasks that `wanted` picks.
    pub(super) fn pick(&self, wanted: impl Fn(&Task<T>) -> bool) -> Vec<Tag> {
        let picked = self.entries.iter().filter(|(_, entry)| wanted(&entry.task));
        picked.map(|(slot, entry)| Tag::new(slot, entry.generation)).collect()
    }

    pub(super) fn find(&self, wanted: impl Fn(&Task<T>) -> bool) -> Option<Tag> {
        let mut entries = self.entries.iter();
        let (slot, entry) = entries.find(|(_, entry)| wanted(&entry.task))?;
        Some(Tag::new(slot, entry.generation))
    }
}
