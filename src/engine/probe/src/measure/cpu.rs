//! CPU time of the calling thread (getrusage), so that a result tells what the measuring itself cost.

use serde::{Deserialize, Serialize};

/// CPU seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct CpuSeconds {
    /// In user space.
    pub user: f64,
    /// In the kernel.
    pub system: f64,
    /// Voluntary and involuntary context switches.
    pub switches: u64,
}

impl CpuSeconds {
    /// User and system together.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.user + self.system
    }

    /// Adds another's.
    pub fn add(&mut self, other: &Self) {
        self.user += other.user;
        self.system += other.system;
        self.switches += other.switches;
    }
}

/// Reads the CPU time of one thread.
#[derive(Debug, Clone, Copy)]
pub struct CpuClock {
    start: CpuSeconds,
}

impl CpuClock {
    /// Starts at the calling thread's time of now.
    #[must_use]
    pub fn start() -> Self {
        Self { start: thread_seconds() }
    }

    /// Seconds the calling thread spent since; it must be the thread that called `start`.
    #[must_use]
    pub fn elapsed(&self) -> CpuSeconds {
        let now = thread_seconds();
        CpuSeconds {
            user: now.user - self.start.user,
            system: now.system - self.start.system,
            switches: now.switches.saturating_sub(self.start.switches),
        }
    }
}

#[allow(unsafe_code)]
fn thread_seconds() -> CpuSeconds {
    // SAFETY: an all-zero rusage is a valid value of this plain C structure.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live local structure of the right type; the call writes it only.
    let result = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    if result != 0 {
        return CpuSeconds::default();
    }
    #[expect(clippy::cast_precision_loss, reason = "seconds and microseconds")]
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    CpuSeconds {
        user: seconds(usage.ru_utime),
        system: seconds(usage.ru_stime),
        switches: u64::try_from(usage.ru_nvcsw + usage.ru_nivcsw).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_work_and_not_sleep() {
        let clock = CpuClock::start();
        std::thread::sleep(std::time::Duration::from_millis(60));
        let idle = clock.elapsed().total();
        let begin = std::time::Instant::now();
        let mut sum = 0u64;
        while clock.elapsed().total() < idle + 0.05 && begin.elapsed().as_secs() < 20 {
            sum = sum.wrapping_add((0..10_000u64).map(std::hint::black_box).sum::<u64>());
        }
        std::hint::black_box(sum);
        assert!(idle < 0.04, "sleeping cost {idle} s");
        assert!(clock.elapsed().total() >= 0.05);
    }
}
