//! Busy-polling, and when it is worth it: with one or two operations under way, and only while it finds answers.
//!
//! A wake-up costs more than a round trip over a fast link, so a client that does not sleep has half the latency,
//! for a whole core. Without a core to spare it only gets in the server's way; then it notices and sleeps.

use std::time::{Duration, Instant};

/// Operations under way up to which it helps.
const MAX_UNDER_WAY: usize = 2;
/// Times in a row without an answer before it is given up ...
const MAX_EMPTY: u32 = 16;
/// ... for so many waits.
const PAUSE: u32 = 256;

/// The busy-polling of one datastore.
pub(crate) struct Spin {
    budget: Duration,
    empty: u32,
}

impl Spin {
    /// With a budget of zero it never spins.
    pub fn new(budget: Duration) -> Self {
        Self { budget, empty: 0 }
    }

    /// Whether to spin before this wait.
    #[inline]
    pub fn is_worth(&mut self, under_way: usize) -> bool {
        if self.budget.is_zero() || under_way == 0 || under_way > MAX_UNDER_WAY {
            return false;
        }
        if self.empty >= MAX_EMPTY {
            self.empty += 1;
            if self.empty < MAX_EMPTY + PAUSE {
                return false;
            }
            self.empty = 0;
        }
        true
    }

    /// Calls `receive` until it finds something or the budget is used up; tells which.
    pub fn run(&mut self, mut receive: impl FnMut() -> bool) -> bool {
        let end = Instant::now() + self.budget;
        loop {
            if receive() {
                self.empty = 0;
                return true;
            }
            if Instant::now() >= end {
                self.empty += 1;
                return false;
            }
            // A server on this core gets to run; with none, this is as cheap as any pause.
            std::thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spins_that_find_nothing_are_given_up_for_a_while() {
        let mut spin = Spin::new(Duration::from_nanos(1));
        assert!(!spin.is_worth(0) && !spin.is_worth(3));
        let spins = (0..1000).filter(|_| spin.is_worth(1) && !spin.run(|| false)).count();
        assert!((16..=80).contains(&spins), "{spins}");
        while !spin.is_worth(1) {}
        assert!(spin.run(|| true));
        assert!((0..1000).all(|_| spin.is_worth(2) && spin.run(|| true)));
        assert!(!Spin::new(Duration::ZERO).is_worth(1));
    }
}
