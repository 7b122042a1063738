//! iSER over the fabric in process: what each I/O costs in work requests, completions, wake-ups and copies on either
//! end, and instructions against iSCSI over TCP. None of it depends on the speed of the machine.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_fabric::Payload;
use plimsoll_fabric::rdma::Memory;
use plimsoll_fabric::rdma::soft::Soft;
use plimsoll_initiator::{Completion, Datastore, Op, OpKind, Options, Outcome, Sink, open};
use plimsoll_support::figure::Figure;
use plimsoll_target::{Config, Running, Target};

use crate::load::{Direction, Load};
use crate::{Emit, Result};

const COMMAND: &str = "./dev bench engine iser";
/// Bytes of the volume.
const VOLUME: u64 = 64 << 20;

/// A target in this process with a way to it over both transports.
struct Bench {
    soft: Arc<Soft>,
    running: Running,
}

impl Bench {
    fn start() -> Result<Self> {
        let text = r#"
            [server]
            threads = 1
            stop_grace_s = 0
            [iscsi]
            portals = [{ listen = "127.0.0.1:0", iser = true }]
            [[pools]]
            name = "p"
            size = "64MiB"
            [[volumes]]
            name = "v"
            pool = "p"
            serve = "iscsi"
            size = "64MiB"
        "#;
        let soft = Soft::new();
        let fabric: Arc<Soft> = Arc::clone(&soft);
        let running = Target::start_with(Config::parse(text, None)?, Some(fabric))?;
        let volume = running.array().volume("v")?;
        volume.store().write(0, &vec![0x5a; VOLUME as usize])?;
        Ok(Self { soft, running })
    }

    fn open(&self, scheme: &str) -> Result<Box<dyn Datastore>> {
        let urls = self.running.urls();
        let url = urls.iter().map(|served| &served.url).find(|url| url.starts_with(scheme));
        let rdma: Option<Arc<dyn plimsoll_fabric::rdma::Fabric>> = Some(self.soft.clone());
        let options = Options { rdma, ..Options::default() };
        Ok(open(url.ok_or("the target has no such URL")?, &options)?)
    }
}

/// Takes completions; anything but a done one ends the run.
struct Count {
    free: Vec<u64>,
    failed: Option<Outcome>,
    done: u64,
}

impl Sink for Count {
    fn data(&mut self, _tag: u64, _at: u32, bytes: &[u8]) {
        std::hint::black_box(bytes.len());
    }

    fn done(&mut self, completion: Completion) {
        if completion.outcome != Outcome::Done {
            self.failed = Some(completion.outcome);
        }
        self.done += 1;
        self.free.push(completion.tag);
    }
}

/// Runs `count` I/Os of a load.
fn run(datastore: &mut dyn Datastore, load: &Load, count: u64) -> Result<()> {
    let len = u32::try_from(load.block_bytes)?;
    let memory = Memory::allocate(load.block_bytes)?;
    let payload = (load.direction == Direction::Write)
        .then(|| Payload::from_memory(&memory, 0, load.block_bytes));
    let kind = if payload.is_some() { OpKind::Write } else { OpKind::Read };
    let blocks = VOLUME / u64::from(len);
    let mut counted = Count { free: (0..load.depth as u64).collect(), failed: None, done: 0 };
    let mut begun = 0;
    while counted.done < count {
        while begun < count
            && let Some(tag) = counted.free.pop()
        {
            let offset = begun * 7919 % blocks * u64::from(len);
            datastore.submit(&Op { tag, kind, offset, len }, payload.clone())?;
            begun += 1;
        }
        datastore.poll(Some(Duration::from_secs(5)), &mut counted)?;
        if let Some(outcome) = counted.failed {
            return Err(format!("an I/O ended with {outcome:?}").into());
        }
    }
    Ok(())
}

/// What one end has done.
#[derive(Clone, Copy, Default)]
struct Work {
    sends: u64,
    receives: u64,
    writes: u64,
    reads: u64,
    completions: u64,
    signalled: u64,
    wake_ups: u64,
    copies: u64,
    copied_bytes: u64,
}

impl Work {
    fn since(&self, before: &Self, ios: u64) -> [(&'static str, f64); 9] {
        let each = |now: u64, then: u64| (now - then) as f64 / ios as f64;
        [
            ("sends", each(self.sends, before.sends)),
            ("receives", each(self.receives, before.receives)),
            ("RDMA writes", each(self.writes, before.writes)),
            ("RDMA reads", each(self.reads, before.reads)),
            ("completions of sent work", each(self.completions, before.completions)),
            ("signalled", each(self.signalled, before.signalled)),
            ("wake-ups", each(self.wake_ups, before.wake_ups)),
            ("copies", each(self.copies, before.copies)),
            ("copied bytes", each(self.copied_bytes, before.copied_bytes)),
        ]
    }
}

fn initiator(datastore: &dyn Datastore) -> Result<Work> {
    let flows = datastore.flows();
    let all = flows.first().and_then(|flow| flow.rdma).ok_or("the flow is not over RDMA")?;
    let fabric = all.fabric;
    Ok(Work {
        sends: fabric.sends,
        receives: fabric.receives,
        writes: fabric.writes,
        reads: fabric.reads,
        completions: fabric.send_completions,
        signalled: fabric.signalled,
        wake_ups: fabric.wake_ups,
        copies: all.copies,
        copied_bytes: all.copied_bytes,
    })
}

fn target(running: &Running) -> Result<Work> {
    let sessions = running.iscsi_sessions();
    let all = sessions.iter().find_map(|session| session.rdma).ok_or("no session over RDMA")?;
    Ok(Work {
        sends: all.sends,
        receives: all.receives,
        writes: all.writes,
        reads: all.reads,
        completions: all.completions,
        signalled: all.signalled,
        wake_ups: all.wake_ups,
        copies: all.copies,
        copied_bytes: all.copied_bytes,
    })
}

/// Counts per I/O, and instructions against TCP.
pub fn cases(emit: Emit<'_>) -> Result<()> {
    for (direction, verb) in [(Direction::Read, "read"), (Direction::Write, "write")] {
        for (block_kib, depth, ios) in
            [(8, 1, 2000), (8, 32, 20_000), (512, 1, 200), (512, 32, 2000)]
        {
            let bench = Bench::start()?;
            let mut datastore = bench.open("iser")?;
            let load = Load::random(direction, block_kib, depth);
            run(&mut *datastore, &load, 64)?;
            let before = (initiator(&*datastore)?, target(&bench.running)?);
            run(&mut *datastore, &load, ios)?;
            // The target publishes its counters at the end of a turn.
            std::thread::sleep(Duration::from_millis(20));
            let ends = [
                ("initiator", initiator(&*datastore)?.since(&before.0, ios)),
                ("target", target(&bench.running)?.since(&before.1, ios)),
            ];
            for (end, counts) in ends {
                for (what, value) in counts {
                    let name = format!("iser: {block_kib} KiB {verb}, QD {depth}, {end}: {what}");
                    emit(count(name, what, value, depth));
                }
            }
        }
    }
    emit(instructions()?);
    Ok(())
}

fn count(name: String, what: &str, ours: f64, depth: usize) -> Figure {
    let goal = match what {
        "wake-ups" if depth == 1 => Some(2.0),
        "wake-ups" => Some(0.2),
        "copies" | "copied bytes" => Some(0.0),
        _ => None,
    };
    Figure {
        name,
        unit: "per I/O",
        ours,
        reference: goal.map_or(String::new(), |_| "goal".to_owned()),
        reference_value: goal,
        ratio: None,
        goal: goal.map_or("none".to_owned(), |goal| format!("at most {goal}")),
        met: goal.map(|goal| ours <= goal),
        command: COMMAND.to_owned(),
    }
}

/// Instructions of both ends together per 8 KiB read at queue depth 32, in this process alone: what the kernel does
/// for TCP is not counted, the copy that the fabric does in place of an adapter is.
fn instructions() -> Result<Figure> {
    let per_read = |transport: &str| -> Result<f64> {
        let few = counted(transport, 2000)?;
        let many = counted(transport, 8000)?;
        Ok((many - few) / 6000.0)
    };
    let (iser, tcp) = (per_read("iser")?, per_read("iscsi")?);
    let ratio = iser / tcp;
    Ok(Figure {
        name: "iser over soft RDMA: instructions of both ends per 8 KiB read, QD 32".to_owned(),
        unit: "instructions",
        ours: iser,
        reference: "iscsi over TCP".to_owned(),
        reference_value: Some(tcp),
        ratio: Some(ratio),
        goal: "at most 0.6".to_owned(),
        met: Some(ratio <= 0.6),
        command: COMMAND.to_owned(),
    })
}

/// Instructions of a run of so many reads, counted by callgrind.
fn counted(transport: &str, reads: u64) -> Result<f64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args(["--run-reads", transport, &reads.to_string()])
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find_map(|line| line.split_once("Collected :"));
    let number = line.and_then(|(_, number)| number.trim().parse().ok());
    number.ok_or_else(|| format!("callgrind told no count:\n{text}").into())
}

/// What [`counted`] runs.
pub fn run_reads(transport: &str, reads: &str) -> Result<()> {
    let bench = Bench::start()?;
    let mut datastore = bench.open(transport)?;
    run(&mut *datastore, &Load::random(Direction::Read, 8, 32), reads.parse()?)
}
