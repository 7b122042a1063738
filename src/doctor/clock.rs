//! The clock that latencies are taken with: how fine, and what a look at it costs.

use std::fs;
use std::time::Instant;

use super::{Check, Status};

const TOPIC: &str = "clock";
/// Looks at the clock for one measurement.
const LOOKS: u32 = 10_000;
/// Above this a look costs a visible part of a fast I/O (its CPU is a few microseconds, with two looks).
const COST_WANTED_NS: u128 = 250;

pub(super) fn look() -> Vec<Check> {
    vec![source(), cost()]
}

fn source() -> Check {
    let name = "source";
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    match fs::read_to_string(path) {
        Err(error) => Check::new(TOPIC, name, Status::Warn, format!("{path}: {error}"))
            .advise("nothing to do: the cost below tells"),
        Ok(text) => match text.trim() {
            // Read without entering the kernel.
            fast @ ("tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page" | "arch_sys_counter") => {
                Check::new(TOPIC, name, Status::Ok, fast)
            }
            other => Check::new(TOPIC, name, Status::Warn, other).advise(
                "another may be cheaper: /sys/devices/system/clocksource/clocksource0/available_clocksource",
            ),
        },
    }
}

fn cost() -> Check {
    let mut backwards = 0u32;
    let began = Instant::now();
    let mut last = began;
    for _ in 0..LOOKS {
        let now = Instant::now();
        backwards += u32::from(now < last);
        last = now;
    }
    let each = last.duration_since(began).as_nanos() / u128::from(LOOKS);
    let found = format!("{each} ns a look");
    if backwards > 0 {
        return Check::new(
            TOPIC,
            "cost",
            Status::Fail,
            format!("{found}; it went back {backwards} times"),
        )
        .advise("latencies cannot be taken with it: another clock source, or another kernel");
    }
    if each > COST_WANTED_NS {
        return Check::new(TOPIC, "cost", Status::Warn, found)
            .advise("each I/O takes two looks: rates of fast I/O are lower for it");
    }
    Check::new(TOPIC, "cost", Status::Ok, found)
}
