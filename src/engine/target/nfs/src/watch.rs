//! Notices peers that are gone or hold things up: nothing heard for long, a record begun and not ended,
//! replies not taken. The connection asks at a steady beat; nothing is done per call but to count it.

use std::time::{Duration, Instant};

use crate::settings::Settings;

pub(crate) struct Watch {
    /// When to look next.
    pub next: Instant,
    beat: Duration,
    idle_timeout: Duration,
    stall_timeout: Duration,
    /// Frames taken so far.
    pub frames: u64,
    /// A frame is begun and not ended.
    pub partial: bool,
    last_frames: u64,
    last_heard: Instant,
    stalled_since: Option<Instant>,
    last_unsent: usize,
}

impl Watch {
    pub fn new(settings: &Settings, now: Instant) -> Self {
        let beat = settings.stall_timeout.min(settings.idle_timeout) / 4;
        Self {
            next: now + beat,
            beat,
            idle_timeout: settings.idle_timeout,
            stall_timeout: settings.stall_timeout,
            frames: 0,
            partial: false,
            last_frames: 0,
            last_heard: now,
            stalled_since: None,
            last_unsent: 0,
        }
    }

    /// Looks at what happened since the last beat; false when the peer is to be cut off. A connection with
    /// calls that wait is not idle.
    pub fn beat(&mut self, now: Instant, unsent: usize, waiting: bool) -> bool {
        self.next = now + self.beat;
        let heard = self.frames != self.last_frames;
        self.last_frames = self.frames;
        if heard || waiting {
            self.last_heard = now;
        }
        let taking = unsent < self.last_unsent;
        self.last_unsent = unsent;
        let stalled = (self.partial && !heard && !waiting) || (unsent > 0 && !taking && !heard);
        if !stalled {
            self.stalled_since = None;
        }
        let since = *self.stalled_since.get_or_insert(now);
        let stalled_long = stalled && now.saturating_duration_since(since) >= self.stall_timeout;
        let idle = now.saturating_duration_since(self.last_heard) >= self.idle_timeout;
        if !stalled {
            self.stalled_since = None;
        }
        !stalled_long && !idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(now: Instant) -> (Watch, Duration) {
        let settings = Settings {
            idle_timeout: Duration::from_secs(100),
            stall_timeout: Duration::from_secs(20),
            ..Settings::default()
        };
        (Watch::new(&settings, now), Duration::from_secs(5))
    }

    fn beats(watch: &mut Watch, start: Instant, beat: Duration, unsent: usize, count: u32) -> u32 {
        (1..=count).find(|n| !watch.beat(start + beat * *n, unsent, false)).unwrap_or(0)
    }

    #[test]
    fn silence_half_records_and_untaken_replies_end_a_connection() {
        let now = Instant::now();
        let (mut idle, beat) = watch(now);
        assert_eq!(beats(&mut idle, now, beat, 0, 40), 20);
        let (mut partial, _) = watch(now);
        partial.partial = true;
        assert_eq!(beats(&mut partial, now, beat, 0, 40), 5);
        let (mut slow, _) = watch(now);
        assert_eq!(beats(&mut slow, now, beat, 4096, 40), 5);
        let (mut busy, _) = watch(now);
        for n in 1..100 {
            busy.frames += 1;
            assert!(busy.beat(now + beat * n, 4096, false));
        }
        let (mut waiting, _) = watch(now);
        for n in 1..100 {
            assert!(waiting.beat(now + beat * n, 0, true));
        }
    }
}
