//! The account of memory that commands hold while they wait: collected data-out and cold reads.
//!
//! A [`Charge`] is taken by what a command is going to hold and given back when it is dropped. The account is
//! kept by length announced; the memory itself grows only with what has arrived.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes charged to the server and to one session.
#[derive(Debug)]
pub(crate) struct Charge {
    accounts: [Arc<AtomicUsize>; 2],
    bytes: usize,
}

impl Charge {
    /// Charges `bytes` to the server, whose limit is `limit`, and to a session, which gets a quarter of it.
    pub(crate) fn take(
        server: &Arc<AtomicUsize>,
        session: &Arc<AtomicUsize>,
        limit: usize,
        bytes: usize,
    ) -> Option<Self> {
        let accounts = [Arc::clone(server), Arc::clone(session)];
        let before = [0, 1].map(|at: usize| accounts[at].fetch_add(bytes, Ordering::Relaxed));
        let charge = Self { accounts, bytes };
        let fits = before[0] + bytes <= limit && before[1] + bytes <= limit / 4;
        fits.then_some(charge) // given back at once when it does not fit
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        for account in &self.accounts {
            account.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_gets_a_quarter_and_what_does_not_fit_is_given_back() {
        let (server, one, two) = (Arc::default(), Arc::default(), Arc::default());
        let held = Charge::take(&server, &one, 400, 100);
        assert!(held.is_some());
        assert!(Charge::take(&server, &one, 400, 1).is_none(), "the session has its quarter");
        assert!(Charge::take(&server, &two, 400, 100).is_some());
        drop(held);
        assert_eq!(server.load(Ordering::Relaxed), 0);
        assert!(Charge::take(&server, &one, 400, 100).is_some());
    }
}
