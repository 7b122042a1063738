//! `plimsoll probe`: measures datastores.

mod compare;

use std::{
    io::{BufReader, IsTerminal as _},
    path::PathBuf,
};

use anyhow::Context as _;
use clap::{Parser, Subcommand, ValueEnum};
use plimsoll_probe::{
    Error,
    client::{ClientOptions, Rdma},
    command,
    flags::Flags,
    guard, host, interrupt, output, preflight,
    run::{Budget, Progress, Target},
    sweep, text,
    workload::Arrivals,
};

use super::{Outcome, deliver, talk};

/// Arguments of `plimsoll probe`.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    run: RunArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Measure a matrix of hosts, datastores, flows, blocks, mixes and depths.
    Sweep(Box<SweepArgs>),
    /// Measure the same workloads over several ways to one array, in turns: iSCSI, iSER, NFS.
    Compare(Box<compare::CompareArgs>),
    /// Check paths, MTU, subnets, limits, before measuring.
    Preflight(PreflightArgs),
    /// Remove what crashed runs left on NFS exports.
    Clean(CleanArgs),
    /// Drive load for another probe: orders on stdin, events on stdout.
    #[command(hide = true)]
    Worker,
}

#[derive(Debug, Parser)]
struct RunArgs {
    /// Datastores: iscsi://[user%secret@]host[:port]/iqn/lun, iser://…, nfs://host[:port]/export.
    #[arg(required = true, value_name = "URL")]
    urls: Vec<String>,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    client: ClientArgs,
    #[command(flatten)]
    safety: SafetyArgs,
    #[command(flatten)]
    print: PrintArgs,
}

#[derive(Debug, Parser)]
#[command(next_help_heading = "Workload")]
struct LoadArgs {
    /// four-corners, four-corners-read, opt (Open Performance Test), curve (maximum, then 10-100 %).
    #[arg(long, group = "source")]
    profile: Option<String>,
    /// IOmeter configuration.
    #[arg(long, group = "source", value_name = "FILE")]
    icf: Option<PathBuf>,
    /// fio job file.
    #[arg(long, group = "source", value_name = "FILE")]
    fio: Option<PathBuf>,
    /// Workloads as JSON, as results hold them.
    #[arg(long, group = "source", value_name = "FILE")]
    workload: Option<PathBuf>,
    /// Block: 8k, a split 4k/60:8k/40, or READS,WRITES [default: 8k].
    #[arg(long, conflicts_with = "source")]
    block: Option<String>,
    /// Share of reads, percent [default: 100].
    #[arg(long, value_name = "PERCENT", conflicts_with = "source")]
    read_pct: Option<f64>,
    /// Where I/Os go [default: random].
    #[arg(long, value_enum, conflicts_with = "source")]
    pattern: Option<PatternName>,
    /// Share of random I/Os, percent, for a mix of both patterns.
    #[arg(long, value_name = "PERCENT", conflicts_with_all = ["source", "pattern"])]
    random_pct: Option<f64>,
    /// I/Os under way per worker [default: 32].
    #[arg(long)]
    depth: Option<u32>,
    /// Workers per datastore, each a thread with its own connections, as VMs have them [default: 1].
    #[arg(long)]
    workers: Option<u32>,
    /// Open loop: I/Os arrive at this rate, and latency counts from the intended time.
    #[arg(long, value_name = "IOPS")]
    rate: Option<f64>,
    /// Spacing of arrivals in the open loop.
    #[arg(long, value_enum, requires = "rate")]
    arrivals: Option<ArrivalName>,
    /// Length of the measurement: 30, 5m, 1h [default: 30].
    #[arg(long, value_parser = parse_seconds)]
    seconds: Option<f64>,
    /// Length of the ramp before it [default: 1].
    #[arg(long, value_parser = parse_seconds)]
    ramp: Option<f64>,
    /// End after so many bytes, if that comes first.
    #[arg(long, value_name = "SIZE")]
    bytes: Option<String>,
    /// Part of the datastore in use [default: all of it].
    #[arg(long, value_name = "SIZE")]
    working_set: Option<String>,
    /// First byte of that part.
    #[arg(long, value_name = "SIZE")]
    offset: Option<String>,
    /// Share of written data that was written before, percent.
    #[arg(long, value_name = "PERCENT")]
    dedupe: Option<f64>,
    /// Share of written data that is zero, percent.
    #[arg(long, value_name = "PERCENT")]
    compress: Option<f64>,
    /// Write stamped blocks and check them when they are read.
    #[arg(long)]
    integrity: bool,
    /// Write the working set once before measuring.
    #[arg(long, overrides_with = "no_prefill")]
    prefill: bool,
    /// Do not, even on a new NFS file.
    #[arg(long, overrides_with = "prefill")]
    no_prefill: bool,
    /// Seed of all random choices.
    #[arg(long)]
    seed: Option<u64>,
    /// Window of the steady-state verdict, seconds [default: the whole measurement].
    #[arg(long, value_name = "SECONDS")]
    steady_window: Option<u32>,
    /// End as soon as the state is steady.
    #[arg(long)]
    until_steady: bool,
}

#[derive(Debug, Parser)]
#[command(next_help_heading = "Connections")]
struct ClientArgs {
    /// Flows to each portal: iSCSI sessions or NFS connections.
    #[arg(long, default_value_t = 1)]
    connections: u16,
    /// Further portals of the same iSCSI unit; iser:HOST:PORT over RDMA.
    #[arg(long, value_name = "HOST:PORT")]
    portal: Vec<String>,
    /// iSCSI path policy: fixed, mru, rr:IOPS, rr:bytes=N, lqd, latency.
    #[arg(long, default_value = "rr:1000")]
    policy: String,
    /// What the iSCSI target must prove.
    #[arg(long, value_name = "USER%SECRET")]
    mutual_chap: Option<String>,
    /// CRC32C over iSCSI headers.
    #[arg(long)]
    header_digest: bool,
    /// CRC32C over iSCSI data.
    #[arg(long)]
    data_digest: bool,
    /// Busy-poll so long before sleeping, microseconds.
    #[arg(long, value_name = "US", default_value_t = 0)]
    spin: u64,
    /// Name of the iSCSI initiator.
    #[arg(long, value_name = "IQN")]
    initiator_name: Option<String>,
    /// NFS file below the export [default: the largest].
    #[arg(long)]
    file: Option<String>,
    /// How stable NFS writes are before their answer: unstable, data, file.
    #[arg(long, default_value = "unstable")]
    stable: String,
    /// NFS user.
    #[arg(long, default_value_t = 0)]
    uid: u32,
    /// NFS group.
    #[arg(long, default_value_t = 0)]
    gid: u32,
    /// Drive the load from worker processes in these network namespaces.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    netns: Vec<String>,
}

#[derive(Debug, Parser)]
#[command(next_help_heading = "Safety")]
struct SafetyArgs {
    /// Writing may destroy all data of the unit with this serial, or fill this export.
    #[arg(long, value_name = "SERIAL_OR_PATH")]
    allow_write: Vec<String>,
    /// Write even where partitions or file systems were found.
    #[arg(long, requires = "allow_write")]
    destroy_data: bool,
    /// Stop after so many failed I/Os.
    #[arg(long, value_name = "COUNT")]
    guard_errors: Option<u64>,
    /// Stop when the 99th percentile stays above this for 3 s.
    #[arg(long, value_name = "MS")]
    guard_latency_ms: Option<f64>,
    /// Stop after moving so many bytes.
    #[arg(long, value_name = "SIZE")]
    budget_bytes: Option<String>,
    /// Stop after so long.
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    budget_time: Option<f64>,
}

#[derive(Debug, Default, Parser)]
#[command(next_help_heading = "Output")]
struct PrintArgs {
    /// Format of the result.
    #[arg(long, value_enum, default_value_t = FormatName::Text)]
    format: FormatName,
    /// Where to write it; `-` or nothing for stdout; `fio-json` is a format.
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// No live view.
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Debug, Parser)]
struct SweepArgs {
    #[command(flatten)]
    run: RunArgs,
    /// Numbers of hosts, of those in --netns.
    #[arg(long, value_delimiter = ',')]
    hosts: Vec<u32>,
    /// Numbers of datastores, of the URLs in their order.
    #[arg(long, value_delimiter = ',')]
    datastores: Vec<u32>,
    /// Numbers of flows per host and datastore.
    #[arg(long, value_delimiter = ',')]
    flows: Vec<u16>,
    /// Block sizes.
    #[arg(long, value_delimiter = ',')]
    blocks: Vec<String>,
    /// Shares of reads, percent.
    #[arg(long, value_delimiter = ',')]
    mixes: Vec<f64>,
    /// Depths per worker.
    #[arg(long, value_delimiter = ',')]
    depths: Vec<u32>,
    /// Folder of the samples (samples.jsonl, samples.parquet) and of the state to resume from.
    #[arg(long, value_name = "DIR", default_value = "sweep")]
    directory: PathBuf,
    /// Go on where an interrupted sweep stopped.
    #[arg(long)]
    resume: bool,
    /// Print the estimate only.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Parser)]
struct PreflightArgs {
    /// Datastores.
    #[arg(required = true, value_name = "URL")]
    urls: Vec<String>,
    #[command(flatten)]
    client: ClientArgs,
    /// Bytes of payload that each path must carry unfragmented (8,972 + 28 = an MTU of 9,000).
    #[arg(long, default_value_t = preflight::JUMBO_PAYLOAD_BYTES)]
    payload: u16,
    /// Seconds of reading per path, 0 for none.
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    #[command(flatten)]
    print: PrintArgs,
}

#[derive(Debug, Parser)]
struct CleanArgs {
    /// NFS exports.
    #[arg(required = true, value_name = "URL")]
    urls: Vec<String>,
    /// Also where the run may still be going on.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum FormatName {
    #[default]
    Text,
    Json,
    Csv,
    FioJson,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PatternName {
    Random,
    Sequential,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ArrivalName {
    Fixed,
    Poisson,
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    text::seconds(text).map_err(|error| error.to_string())
}

/// Runs it.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let outcome = match args.action {
        None => measure(&args.run),
        Some(Action::Sweep(args)) => sweep_over(&args),
        Some(Action::Compare(args)) => compare::run(*args),
        Some(Action::Preflight(args)) => check(&args),
        Some(Action::Clean(args)) => clean(&args),
        Some(Action::Worker) => {
            let rdma = Rdma(crate::rdma::fabric());
            host::work(BufReader::new(std::io::stdin()), std::io::stdout(), &rdma)?;
            return Ok(Outcome::Done);
        }
    };
    match outcome {
        Err(error) if error.downcast_ref::<Error>().is_some_and(Error::is_refusal) => {
            talk(&format!("plimsoll: {error:#}"));
            Ok(Outcome::Refused)
        }
        other => other,
    }
}

fn measure(args: &RunArgs) -> anyhow::Result<Outcome> {
    let (request, notes) = args.request()?;
    notes.iter().for_each(|note| talk(note));
    interrupt::listen();
    let mut view = View::new(args.print.quiet);
    let result = command::execute(&request, &mut |progress| view.show(progress));
    view.end();
    let set = result?;
    let (format, path) = args.print.destination();
    deliver(output::render(&set, format)?.as_bytes(), path)?;
    match &set.stopped {
        None => Ok(Outcome::Done),
        Some(stopped) => {
            talk(&format!("plimsoll: stopped by the guard `{}`: {}", stopped.guard, stopped.what));
            Ok(Outcome::Stopped)
        }
    }
}

fn sweep_over(args: &SweepArgs) -> anyhow::Result<Outcome> {
    let (request, notes) = args.run.request()?;
    notes.iter().for_each(|note| talk(note));
    let blocks: Vec<u32> =
        args.blocks.iter().map(|text| text::block_bytes(text)).collect::<Result<_, _>>()?;
    let matrix = sweep::Matrix {
        hosts: args.hosts.clone(),
        datastores: args.datastores.clone(),
        flows: args.flows.clone(),
        blocks,
        read_pcts: args.mixes.clone(),
        depths: args.depths.clone(),
    };
    let sweep = sweep::Sweep::new(request, matrix, args.directory.clone())?;
    talk(&sweep.estimate().to_string());
    if args.dry_run {
        return Ok(Outcome::Done);
    }
    interrupt::listen();
    let mut view = View::new(args.run.print.quiet);
    let result = sweep.run(args.resume, &mut |progress| view.show(progress));
    view.end();
    let done = result?;
    talk(&done.to_string());
    Ok(if done.stopped.is_some() { Outcome::Stopped } else { Outcome::Done })
}

fn check(args: &PreflightArgs) -> anyhow::Result<Outcome> {
    let options = preflight::Options {
        client: args.client.options(&args.urls)?,
        payload_bytes: args.payload,
        seconds: args.seconds,
        netns: args.client.netns.first().cloned(),
    };
    let report = preflight::check(&args.urls, &options)?;
    let (format, path) = args.print.destination();
    deliver(report.render(format)?.as_bytes(), path)?;
    Ok(if report.passed { Outcome::Done } else { Outcome::Refused })
}

fn clean(args: &CleanArgs) -> anyhow::Result<Outcome> {
    let options = args.client.options(&args.urls)?.options(1)?;
    let mut kept = false;
    for url in &args.urls {
        let shown = Target::new(url).shown;
        for found in guard::workspace::clean(url, &shown, &options, args.force)? {
            talk(&format!("{shown}: {}: {}", found.directory, found.what));
            kept |= !found.removed;
        }
    }
    Ok(if kept { Outcome::Refused } else { Outcome::Done })
}

impl RunArgs {
    fn request(&self) -> anyhow::Result<(command::Request, Vec<String>)> {
        let stages = self.flags().stages()?;
        let budget_bytes = self.safety.budget_bytes.as_deref().map(text::bytes).transpose()?;
        let request = command::Request {
            urls: self.urls.clone(),
            stages: stages.workloads,
            is_curve: stages.is_curve,
            client: self.client.options(&self.urls)?,
            permission: guard::Permission {
                names: self.safety.allow_write.clone(),
                destroy_data: self.safety.destroy_data,
            },
            budget: Budget { bytes: budget_bytes, seconds: self.safety.budget_time },
            netns: self.client.netns.clone(),
            program: host::Program::this(),
            no_prefill: self.load.no_prefill,
        };
        Ok((request, stages.notes))
    }

    fn flags(&self) -> Flags {
        let load = &self.load;
        Flags {
            profile: load.profile.clone(),
            icf: load.icf.clone(),
            fio: load.fio.clone(),
            workload: load.workload.clone(),
            block: load.block.clone(),
            read_pct: load.read_pct,
            random_pct: load.random_pct.or(load.pattern.map(|pattern| match pattern {
                PatternName::Random => 100.0,
                PatternName::Sequential => 0.0,
            })),
            depth: load.depth,
            workers: load.workers,
            rate: load.rate,
            arrivals: load.arrivals.map(|arrivals| match arrivals {
                ArrivalName::Fixed => Arrivals::Fixed,
                ArrivalName::Poisson => Arrivals::Poisson,
            }),
            seconds: load.seconds,
            ramp_seconds: load.ramp,
            bytes: load.bytes.clone(),
            working_set: load.working_set.clone(),
            offset: load.offset.clone(),
            dedupe_pct: load.dedupe,
            compress_pct: load.compress,
            integrity: load.integrity,
            prefill: match (load.prefill, load.no_prefill) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            },
            seed: load.seed,
            max_errors: self.safety.guard_errors,
            max_latency_ms: self.safety.guard_latency_ms,
            steady_window: load.steady_window,
            until_steady: load.until_steady,
        }
    }
}

impl ClientArgs {
    fn options(&self, urls: &[String]) -> anyhow::Result<ClientOptions> {
        // The libraries are opened only where somebody asks for RDMA.
        let wants_rdma = urls.iter().any(|url| url.starts_with("iser://"))
            || self.portal.iter().any(|portal| portal.starts_with("iser:"));
        let rdma = if wants_rdma { Rdma(crate::rdma::fabric()) } else { Rdma::default() };
        let mutual_chap = match &self.mutual_chap {
            None => None,
            Some(text) => {
                let (user, secret) =
                    text.split_once('%').context("--mutual-chap wants USER%SECRET")?;
                Some((user.to_owned(), secret.to_owned()))
            }
        };
        Ok(ClientOptions {
            connections: self.connections,
            portals: self.portal.clone(),
            policy: self.policy.clone(),
            mutual_chap,
            header_digest: self.header_digest,
            data_digest: self.data_digest,
            spin_us: self.spin,
            initiator_name: self.initiator_name.clone(),
            file: self.file.clone(),
            stable: self.stable.clone(),
            uid: self.uid,
            gid: self.gid,
            rdma,
            ..ClientOptions::default()
        })
    }
}

impl PrintArgs {
    /// Format and file; `--output fio-json` names the format that fio's readers take.
    fn destination(&self) -> (output::Format, Option<&std::path::Path>) {
        let path = self.output.as_deref();
        if path == Some(std::path::Path::new("fio-json")) {
            return (output::Format::FioJson, None);
        }
        let format = match self.format {
            FormatName::Text => output::Format::Text,
            FormatName::Json => output::Format::Json,
            FormatName::Csv => output::Format::Csv,
            FormatName::FioJson => output::Format::FioJson,
        };
        (format, path)
    }
}

/// The live view: one line on a terminal, rewritten each second.
struct View {
    shown: bool,
    dirty: bool,
}

impl View {
    fn new(quiet: bool) -> Self {
        Self { shown: !quiet && std::io::stderr().is_terminal(), dirty: false }
    }

    /// Shows progress; says whether to go on.
    fn show(&mut self, progress: &Progress) -> bool {
        if self.shown {
            self.dirty = true;
            whisper(&format!("\r\x1b[K{}", output::progress_line(progress)));
        }
        !interrupt::came()
    }

    fn end(&mut self) {
        if self.dirty {
            whisper("\r\x1b[K");
        }
    }
}

/// Part of a line to stderr.
#[expect(clippy::print_stderr, reason = "the live view")]
fn whisper(text: &str) {
    eprint!("{text}");
}
