//! A command that needs its data-out first, or that may block.

use crate::Completion;

/// A checked command that waits for its data-out or for a thread that may block.
#[derive(Debug)]
pub struct Job {}

impl Job {
    /// Runs the command with the data-out collected, and ends it.
    ///
    /// `data` is shorter than [`crate::Plan::Collect`] asked for when the initiator sent less.
    pub fn run(self, data: &[u8]) -> Completion {
        let _ = data;
        unimplemented!()
    }
}
