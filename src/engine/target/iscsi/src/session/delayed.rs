//! Commands that wait because of a task attribute (SAM-5 section 8.6): an ORDERED task begins when all older
//! tasks of its logical unit have ended, and nothing newer begins before it has ended.
//!
//! They wait as frames, with unsolicited data that comes meanwhile, and are looked at again once per turn.
//! Initiators hardly ever send ORDERED, so all of this stays off the fast path: nothing waits, and no ORDERED
//! task is open.

use std::collections::VecDeque;

use plimsoll_fabric::Close;
use plimsoll_wire::iscsi::Opcode;
use plimsoll_wire::iscsi::pdu::{Attribute, ScsiCommand};
use plimsoll_wire::scsi::LunField;

use super::Session;
use super::command::parse;
use super::memory::Charge;
use super::tasks::Tasks;
use crate::mover::{Mover, Turn};

struct Waiting {
    lun: LunField,
    itt: u32,
    ordered: bool,
    /// The command, then its unsolicited data.
    frames: Vec<Vec<u8>>,
    _charge: Charge,
}

/// The commands that wait, oldest first.
#[derive(Default)]
pub(super) struct Delayed {
    waiting: VecDeque<Waiting>,
}

impl Delayed {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn contains(&self, itt: u32) -> bool {
        self.waiting.iter().any(|waiting| waiting.itt == itt)
    }

    /// Whether a command has to wait now.
    #[inline]
    pub(super) fn holds<T>(&self, command: &ScsiCommand, tasks: &Tasks<T>) -> bool {
        let ordered = command.attribute == Attribute::Ordered;
        if self.waiting.is_empty() && !ordered && !tasks.has_ordered() {
            return false;
        }
        command.attribute != Attribute::HeadOfQueue
            && (self.waiting.iter().any(|waiting| waiting.lun == command.lun)
                || blocked(command.lun, ordered, tasks))
    }

    pub(super) fn push(&mut self, command: &ScsiCommand, frame: &[u8], charge: Charge) {
        self.waiting.push_back(Waiting {
            lun: command.lun,
            itt: command.itt,
            ordered: command.attribute == Attribute::Ordered,
            frames: vec![frame.to_vec()],
            _charge: charge,
        });
    }

    /// Keeps unsolicited data of a command that waits; false when there is no such command, or when the data
    /// is more than any command may have unsolicited.
    pub(super) fn keep_data(&mut self, itt: u32, frame: &[u8], bytes_max: usize) -> bool {
        let Some(waiting) = self.waiting.iter_mut().find(|waiting| waiting.itt == itt) else {
            return false;
        };
        let kept: usize = waiting.frames.iter().map(Vec::len).sum();
        let fits = kept + frame.len() <= bytes_max;
        if fits {
            waiting.frames.push(frame.to_vec());
        }
        fits
    }

    /// Takes away what `wanted` picks by LUN and tag; true when there was something.
    pub(super) fn abort(&mut self, wanted: impl Fn(LunField, u32) -> bool) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|waiting| !wanted(waiting.lun, waiting.itt));
        self.waiting.len() < before
    }

    /// The oldest command whose turn has come.
    fn next<T>(&mut self, tasks: &Tasks<T>) -> Option<Waiting> {
        let at = (0..self.waiting.len()).find(|at| {
            let one = &self.waiting[*at];
            let older = self.waiting.iter().take(*at);
            !blocked(one.lun, one.ordered, tasks)
                && older.into_iter().all(|other| other.lun != one.lun)
        })?;
        self.waiting.remove(at)
    }
}

/// Whether an open task keeps a command of that unit from beginning.
fn blocked<T>(lun: LunField, ordered: bool, tasks: &Tasks<T>) -> bool {
    tasks.find(|task| task.lun == lun && (ordered || task.ordered)).is_some()
}

impl<M: Mover> Session<M> {
    /// Begins the commands whose turn has come.
    pub(super) fn release_delayed(&mut self, io: &mut Turn<'_, M>) -> Result<(), Close> {
        while let Some(waiting) = self.delayed.next(&self.tasks) {
            for frame in &waiting.frames {
                let (pdu, tags) = self.split(frame)?;
                match Opcode::of(pdu.bhs) {
                    Some(Opcode::DataOut) => self.data_out(frame, &pdu, io)?,
                    _ => self.begin(&parse(&pdu), &pdu, tags, io),
                }
            }
        }
        Ok(())
    }
}
