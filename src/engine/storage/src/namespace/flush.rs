//! Stable data: COMMIT and stable writes.
//!
//! Data is flushed first, then the size and times are written down, then whoever waits is told. Requests
//! for one file that come in while a flush runs share the next one, so a hundred stable writes cost few
//! flushes. Each request is covered by a flush that began after it came.

use std::sync::{Arc, PoisonError};

use super::Namespace;
use super::error::FileError;
use super::inode::Inode;
use super::journal::{Ticket, WhenStable};

/// Who waits for a flush of one file.
#[derive(Default)]
pub(super) struct Flush {
    running: bool,
    waiting: Vec<WhenStable>,
}

impl std::fmt::Debug for Flush {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Flush({} waiting)", self.waiting.len())
    }
}

impl Namespace {
    /// Whether flushing means anything for this namespace; if not, everything is as stable as it gets.
    pub fn is_durable(&self) -> bool {
        self.journal.is_some()
    }

    /// Makes everything written to the file so far durable and calls `done`, at once when the namespace is
    /// in memory, otherwise on another thread.
    ///
    /// [`FileError::Busy`] comes at once when the pool of threads is full; `done` is not called then.
    pub fn make_stable(
        self: &Arc<Self>,
        inode: &Arc<Inode>,
        done: WhenStable,
    ) -> Result<(), FileError> {
        if !self.is_durable() {
            done(Ok(()));
            return Ok(());
        }
        let mut flush = inode.flush.lock().unwrap_or_else(PoisonError::into_inner);
        if flush.running {
            flush.waiting.push(done);
            return Ok(());
        }
        let (namespace, file) = (Arc::clone(self), Arc::clone(inode));
        self.blocking.run(move || namespace.flush_rounds(&file)).map_err(|_| FileError::Busy)?;
        flush.running = true;
        flush.waiting.push(done);
        Ok(())
    }

    fn flush_rounds(&self, inode: &Arc<Inode>) {
        loop {
            let waiting = {
                let mut flush = inode.flush.lock().unwrap_or_else(PoisonError::into_inner);
                if flush.waiting.is_empty() {
                    flush.running = false;
                    return;
                }
                std::mem::take(&mut flush.waiting)
            };
            match self.flush_once(inode) {
                Ok(ticket) => self.when_stable(
                    ticket,
                    Box::new(move |result| waiting.into_iter().for_each(|done| done(result))),
                ),
                Err(error) => waiting.into_iter().for_each(|done| done(Err(error))),
            }
        }
    }

    /// Flushes the data and queues the record; blocking.
    pub(super) fn flush_once(&self, inode: &Inode) -> Result<Ticket, FileError> {
        self.check_writable()?;
        if let Some(data) = inode.data() {
            data.flush()?;
        }
        Ok(self.write_down(inode))
    }
}
