//! Drives load against a datastore: random or sequential reads or writes at a fixed depth, one line of result.
//!
//! `drive URL [block=8192] [depth=32] [seconds=5] [write] [seq] [spin=MICROSECONDS] [connections=N] [policy=rr:1]
//! [portal=HOST:PORT] [header-digest] [data-digest]`

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::time::{Duration, Instant};

use plimsoll_initiator::{Completion, Op, OpKind, Options, Outcome, Payload, Sink, open};

#[derive(Default)]
struct Count {
    free: Vec<u64>,
    done: u64,
    failed: u64,
    bytes: u64,
    latency: Vec<u32>,
}

impl Sink for Count {
    fn data(&mut self, _tag: u64, _at: u32, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
    }

    fn done(&mut self, completion: Completion) {
        self.free.push(completion.tag);
        if completion.outcome == Outcome::Done {
            self.done += 1;
            let latency = completion.completed - completion.issued;
            if self.latency.len() < 20_000_000 {
                self.latency.push(latency.as_nanos().try_into().unwrap_or(u32::MAX));
            }
        } else {
            self.failed += 1;
            if self.failed < 5 {
                eprintln!("{completion:?}");
            }
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().ok_or("a URL is missing")?;
    let mut options = Options::default();
    let (mut block, mut depth, mut seconds, mut kind, mut sequential) =
        (8192_u32, 32_u64, 5.0_f64, OpKind::Read, false);
    for argument in arguments {
        let (key, value) = argument.split_once('=').unwrap_or((&argument, ""));
        match key {
            "block" => block = value.parse()?,
            "depth" => depth = value.parse()?,
            "seconds" => seconds = value.parse()?,
            "single" => options.coalesce = false,
            "write" => kind = OpKind::Write,
            "seq" => sequential = true,
            "spin" => options.spin = Duration::from_micros(value.parse()?),
            "connections" => options.connections = value.parse()?,
            "policy" => options.policy = value.parse()?,
            "portal" => options.portals.push(value.to_owned()),
            "header-digest" => options.digests.header = true,
            "data-digest" => options.digests.data = true,
            _ => return Err(format!("unknown argument {argument}").into()),
        }
    }
    let mut store = open(&url, &options)?;
    let blocks = store.capacity_bytes() / u64::from(block);
    let payload = Payload::from_vec(vec![0x5a; block as usize]);
    let mut sink = Count { free: (0..depth).collect(), ..Count::default() };
    let (mut random, mut next) = (88_172_645_463_325_252_u64, 0);
    let start = Instant::now();
    let end = start + Duration::from_secs_f64(seconds);
    while Instant::now() < end {
        while let Some(tag) = sink.free.pop() {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            next += 1;
            let index = if sequential { next } else { random } % blocks;
            let op = Op { tag, kind, offset: index * u64::from(block), len: block };
            store.submit(&op, (kind == OpKind::Write).then(|| payload.clone()))?;
        }
        store.poll(None, &mut sink)?;
    }
    let elapsed = start.elapsed().as_secs_f64();
    let cpu = cpu_seconds();
    sink.latency.sort_unstable();
    let at = |share: f64| {
        let index = (sink.latency.len() as f64 * share) as usize;
        f64::from(sink.latency.get(index).copied().unwrap_or(0)) / 1000.0
    };
    println!(
        "{:.0} IOPS {:.0} MiB/s, p50 {:.1} p99 {:.1} us, cpu {:.2} us per I/O, {} failed",
        sink.done as f64 / elapsed,
        sink.done as f64 * f64::from(block) / elapsed / 1_048_576.0,
        at(0.5),
        at(0.99),
        cpu * 1e6 / sink.done.max(1) as f64,
        sink.failed,
    );
    for flow in
        store.flows().iter().filter(|_| options.connections > 1 || !options.portals.is_empty())
    {
        println!(
            "  {}: {} reads {} writes, {} switches, {} retransmits, {} reconnects",
            flow.name,
            flow.reads,
            flow.writes,
            flow.path_switches,
            flow.retransmits,
            flow.reconnects
        );
    }
    store.close(&mut sink);
    Ok(())
}

/// User and system time of this process, from its own accounting in /proc.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or("").split_whitespace();
    let ticks: f64 = fields.skip(11).take(2).filter_map(|f| f.parse::<f64>().ok()).sum();
    ticks / 100.0
}
