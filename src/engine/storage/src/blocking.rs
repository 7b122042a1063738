//! A bounded pool of threads for what may wait: cold reads, flushes, large unmaps, metadata.
//!
//! I/O threads hand work over with [`Blocking::run`] and get the result back by an event posted to their
//! loop. The queue is bounded; when it is full the caller answers BUSY (iSCSI) or JUKEBOX (NFS).

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

type Job = Box<dyn FnOnce() + Send>;

/// The queue of the pool is full.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the pool of blocking threads has {queued} jobs waiting; retry later")]
pub struct Saturated {
    /// Jobs waiting.
    pub queued: usize,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    idle: usize,
    stopping: bool,
}

struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    bound: usize,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Jobs run outside the lock, so a panic cannot leave the queue half changed.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The pool; dropping it finishes what is queued and joins the threads.
pub struct Blocking {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Blocking {
    /// Starts `threads` threads with room for `bound` waiting jobs.
    pub fn start(threads: usize, bound: usize) -> io::Result<Self> {
        let shared =
            Arc::new(Shared { queue: Mutex::default(), wake: Condvar::new(), bound: bound.max(1) });
        let threads = (0..threads.max(1))
            .map(|index| {
                let shared = Arc::clone(&shared);
                std::thread::Builder::new()
                    .name(format!("blocking-{index}"))
                    .spawn(move || work(&shared))
            })
            .collect::<io::Result<_>>()?;
        Ok(Self { shared, threads })
    }

    /// Queues a job.
    pub fn run(&self, job: impl FnOnce() + Send + 'static) -> Result<(), Saturated> {
        let mut queue = self.shared.lock();
        if queue.jobs.len() >= self.shared.bound {
            return Err(Saturated { queued: queue.jobs.len() });
        }
        queue.jobs.push_back(Box::new(job));
        let wake = queue.idle > 0;
        drop(queue);
        if wake {
            self.shared.wake.notify_one();
        }
        Ok(())
    }

    /// Jobs that wait for a thread.
    pub fn queued(&self) -> usize {
        self.shared.lock().jobs.len()
    }
}

fn work(shared: &Shared) {
    let mut queue = shared.lock();
    loop {
        if let Some(job) = queue.jobs.pop_front() {
            drop(queue);
            // A job that panics must not take the thread with it: others depend on the pool.
            if std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)).is_err() {
                tracing::error!("a job of the blocking pool panicked; its command gets no answer");
            }
            queue = shared.lock();
        } else if queue.stopping {
            return;
        } else {
            queue.idle += 1;
            queue = shared.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        self.shared.lock().stopping = true;
        self.shared.wake.notify_all();
        for thread in self.threads.drain(..) {
            // The last job may own the last handle to the pool: then this is a thread of the pool itself.
            if thread.thread().id() != std::thread::current().id() {
                let _ = thread.join();
            }
        }
    }
}

impl std::fmt::Debug for Blocking {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Blocking({} threads, {} queued)", self.threads.len(), self.queued())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn the_queue_is_bounded_and_everything_accepted_runs_before_the_pool_is_gone() {
        let pool = Blocking::start(1, 2).unwrap();
        let (release, held) = mpsc::channel::<()>();
        let (done, results) = mpsc::channel();
        let (started, running) = mpsc::channel();
        pool.run(move || {
            started.send(()).unwrap();
            held.recv().unwrap();
        })
        .unwrap();
        running.recv().unwrap();
        for index in 0..2 {
            let done = done.clone();
            pool.run(move || done.send(index).unwrap()).unwrap();
        }
        assert_eq!(pool.run(|| ()).unwrap_err().queued, 2);
        release.send(()).unwrap();
        drop(pool);
        assert_eq!(results.try_iter().collect::<Vec<i32>>(), [0, 1]);
    }

    #[test]
    fn a_job_that_panics_does_not_end_the_pool() {
        let pool = Blocking::start(1, 8).unwrap();
        let (done, results) = mpsc::channel();
        pool.run(|| std::panic::resume_unwind(Box::new("on purpose"))).unwrap();
        pool.run(move || done.send(7).unwrap()).unwrap();
        assert_eq!(results.recv().unwrap(), 7);
    }
}
