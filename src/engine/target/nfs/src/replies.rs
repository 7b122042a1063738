//! Answers to requests that must not run twice (the duplicate request cache).
//!
//! A client that lost its connection sends its calls again on a new one. Running REMOVE a second time would
//! answer "no such file" to a removal that worked; so the answers of calls that change names or attributes
//! are kept and given again. A call is known by the address of its client without the port, its transaction
//! id and a checksum over all of it. While the first is still running, a repetition is dropped: the client
//! repeats again. READ, WRITE and COMMIT may run twice and are not kept.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A call, as it is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    client: IpAddr,
    xid: u32,
    checksum: u64,
}

/// What is known of a call.
pub(crate) enum Known {
    /// Nothing: run it, then [`Replies::finish`] or [`Replies::forget`] it.
    New,
    /// It is running.
    Running,
    /// It ran, with this answer (a whole record).
    Done(Arc<[u8]>),
}

pub(crate) struct Replies {
    hasher: RandomState,
    state: Mutex<State>,
    kept_max: usize,
    kept_for: Duration,
}

#[derive(Default)]
struct State {
    calls: HashMap<Key, Option<Arc<[u8]>>>,
    /// Finished calls, oldest first.
    finished: VecDeque<(Instant, Key)>,
}

impl Replies {
    pub fn new(kept_max: usize, kept_for: Duration) -> Self {
        Self { hasher: RandomState::new(), state: Mutex::default(), kept_max, kept_for }
    }

    /// The key of a call: `record` is all of it.
    pub fn key(&self, client: IpAddr, xid: u32, record: &[u8]) -> Key {
        Key { client: client.to_canonical(), xid, checksum: self.hasher.hash_one(record) }
    }

    /// Looks a call up; a new one counts as running from now on.
    pub fn begin(&self, key: Key, now: Instant) -> Known {
        let mut state = self.lock();
        while let Some((at, old)) = state.finished.front().copied() {
            if now.saturating_duration_since(at) < self.kept_for
                && state.finished.len() <= self.kept_max
            {
                break;
            }
            state.finished.pop_front();
            state.calls.remove(&old);
        }
        match state.calls.get(&key) {
            Some(Some(reply)) => Known::Done(Arc::clone(reply)),
            Some(None) => Known::Running,
            None => {
                state.calls.insert(key, None);
                Known::New
            }
        }
    }

    /// Keeps the answer.
    pub fn finish(&self, key: Key, reply: &[u8], now: Instant) {
        let mut state = self.lock();
        state.calls.insert(key, Some(Arc::from(reply)));
        state.finished.push_back((now, key));
    }

    /// The call did not run: its repetition is to.
    pub fn forget(&self, key: Key) {
        self.lock().calls.remove(&key);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic cannot leave more than an entry too many, which ages.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    #[test]
    fn a_repetition_waits_then_gets_the_first_answer() {
        let replies = Replies::new(10, Duration::from_secs(60));
        let now = Instant::now();
        let key = replies.key(CLIENT, 1, b"remove a");
        assert!(matches!(replies.begin(key, now), Known::New));
        assert!(matches!(replies.begin(key, now), Known::Running));
        replies.finish(key, b"done", now);
        assert!(matches!(replies.begin(key, now), Known::Done(reply) if *reply == *b"done"));
        for other in [replies.key(CLIENT, 2, b"remove a"), replies.key(CLIENT, 1, b"remove b")] {
            assert!(matches!(replies.begin(other, now), Known::New));
        }
        replies.forget(key);
        assert!(matches!(replies.begin(key, now), Known::New));
    }

    #[test]
    fn answers_are_bounded_in_number_and_age() {
        let replies = Replies::new(10, Duration::from_secs(60));
        let start = Instant::now();
        let key = |number: u32| replies.key(CLIENT, number, b"remove");
        for number in 0..100 {
            assert!(matches!(replies.begin(key(number), start), Known::New));
            replies.finish(key(number), b"done", start);
        }
        assert!(replies.lock().calls.len() <= 12);
        assert!(matches!(replies.begin(key(99), start), Known::Done(_)));
        assert!(matches!(replies.begin(key(0), start), Known::New));
        let later = start + Duration::from_secs(61);
        assert!(matches!(replies.begin(key(99), later), Known::New));
        assert_eq!(replies.lock().finished.len(), 0);
    }
}
