//! `plimsoll report`: from files to a sizing report.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Parser, ValueEnum};
use plimsoll_ingest::{Input, ManualAverages};
use plimsoll_planner::{Error, Format, PerformanceOptions, Sizing, SizingOptions};

use super::{Outcome, deliver, talk};

/// Arguments of `plimsoll report`.
#[derive(Debug, Parser)]
pub struct Args {
    /// Exports: xlsx, xls, csv, a zip of these, or a folder of `RVTools_tab*.csv`.
    #[arg(required_unless_present = "vms")]
    files: Vec<PathBuf>,
    /// Format of the report.
    #[arg(long, value_enum, default_value_t = ReportFormat::Md)]
    format: ReportFormat,
    /// Where to write it; `-` or nothing for stdout.
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// Options as JSON, as the API takes them; flags below take precedence.
    #[arg(long, value_name = "FILE")]
    options: Option<PathBuf>,
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    performance: PerformanceArgs,
    #[command(flatten)]
    averages: AverageArgs,
}

#[derive(Debug, Parser)]
#[command(next_help_heading = "Measured load (docs/performance-data.md)")]
struct PerformanceArgs {
    /// Performance exports of the same site; VMs in them have their measured load.
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "files")]
    performance: Vec<PathBuf>,
    /// Zone of their times that state none, such as Europe/Paris [default: UTC].
    #[arg(long, value_name = "ZONE", requires = "performance")]
    time_zone: Option<String>,
    /// Whether 07/08/2026 is 7 August [default: found from the file].
    #[arg(long, value_name = "BOOL", requires = "performance")]
    day_first: Option<bool>,
}

#[derive(Debug, Parser)]
#[command(next_help_heading = "What to plan for")]
struct PlanArgs {
    /// Platform id of the catalogue (see `plimsoll catalog`).
    #[arg(long)]
    platform: Option<String>,
    /// Region for prices, as the provider spells it.
    #[arg(long)]
    region: Option<String>,
    /// Only this tier.
    #[arg(long)]
    tier: Option<String>,
    /// Hosts that will run the VMs [default: those of the inventory].
    #[arg(long)]
    hosts: Option<u32>,
    /// Hosts assumed lost in the failure test.
    #[arg(long)]
    hosts_lost: Option<u32>,
    /// Host type of the platform.
    #[arg(long)]
    host_type: Option<String>,
    /// Room above the load, percent.
    #[arg(long, value_name = "PERCENT")]
    headroom: Option<f64>,
    /// TCP connections per host and datastore.
    #[arg(long)]
    nconnect: Option<u32>,
    /// Storage target addresses.
    #[arg(long)]
    target_ips: Option<u32>,
    /// Highest datastore count considered.
    #[arg(long)]
    max_datastores: Option<u32>,
    /// VMs per datastore at most.
    #[arg(long)]
    max_vms_per_datastore: Option<u32>,
    /// Yearly growth of used capacity, percent.
    #[arg(long, value_name = "PERCENT")]
    capacity_growth: Option<f64>,
    /// Yearly growth of load, percent.
    #[arg(long, value_name = "PERCENT")]
    load_growth: Option<f64>,
    /// How far ahead the plan looks, months.
    #[arg(long)]
    months: Option<u32>,
    /// Rules file that sorts VMs into classes (see `plimsoll rules`).
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
}

#[derive(Debug, Parser)]
#[command(next_help_heading = "Averages, instead of files")]
struct AverageArgs {
    /// Number of VMs.
    #[arg(long, conflicts_with = "files")]
    vms: Option<u32>,
    /// vCPUs per VM.
    #[arg(long, default_value_t = 4.0, requires = "vms")]
    vcpus: f64,
    /// Memory per VM, GiB.
    #[arg(long, default_value_t = 12.0, requires = "vms")]
    memory_gib: f64,
    /// Storage per VM, GiB.
    #[arg(long, default_value_t = 500.0, requires = "vms")]
    storage_gib: f64,
    /// IOPS per VM (95th percentile of one VM).
    #[arg(long, requires = "vms")]
    iops: Option<f64>,
    /// MiB/s per VM (95th percentile of one VM).
    #[arg(long, requires = "vms")]
    mibps: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    Html,
    Json,
    Xlsx,
    Csv,
    Md,
}

impl From<ReportFormat> for Format {
    fn from(format: ReportFormat) -> Self {
        match format {
            ReportFormat::Html => Self::Html,
            ReportFormat::Json => Self::Json,
            ReportFormat::Xlsx => Self::Xlsx,
            ReportFormat::Csv => Self::Csv,
            ReportFormat::Md => Self::Md,
        }
    }
}

/// Runs it.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let format = args.format;
    let output = args.output.clone();
    let (performance, stated) = gather_performance(&args.performance);
    let (inputs, options) = gather(args)?;
    let sizing = match size(inputs, &performance, &stated, &options) {
        Ok(sizing) => sizing,
        Err(error) => return refuse(&error, format),
    };
    let report = plimsoll_planner::render(&sizing, format.into())?;
    deliver(&report, output.as_deref())?;
    if !sizing.plan.feasible {
        talk("plimsoll: no feasible plan; the report says which limit is in the way");
        for reason in &sizing.plan.infeasible_because {
            talk(&format!("  {reason}"));
        }
        return Ok(Outcome::Infeasible);
    }
    Ok(Outcome::Done)
}

fn size(
    inputs: Vec<Input>,
    performance: &[Input],
    stated: &PerformanceOptions,
    options: &SizingOptions,
) -> Result<Sizing, Error> {
    let observer = &mut |_| true;
    let mut survey = plimsoll_planner::survey(inputs, options, observer)?;
    if !performance.is_empty() {
        plimsoll_planner::add_performance(&mut survey, performance, stated, options, observer)?;
    }
    plimsoll_planner::plan(survey, options, observer)
}

fn gather_performance(args: &PerformanceArgs) -> (Vec<Input>, PerformanceOptions) {
    let inputs = args.performance.iter().map(Input::from_path).collect();
    let stated =
        PerformanceOptions { time_zone: args.time_zone.clone(), day_first: args.day_first };
    (inputs, stated)
}

/// Says why the input was refused: a sentence on stderr, JSON on stdout when JSON was asked for.
fn refuse(error: &Error, format: ReportFormat) -> anyhow::Result<Outcome> {
    talk(&format!("plimsoll: {error}"));
    if format == ReportFormat::Json {
        let mut body = serde_json::to_vec_pretty(&error.to_refusal())?;
        body.push(b'\n');
        deliver(&body, None)?;
    }
    Ok(Outcome::Refused)
}

fn gather(args: Args) -> anyhow::Result<(Vec<Input>, SizingOptions)> {
    let mut options = match &args.options {
        None => SizingOptions::default(),
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("cannot read options {}", path.display()))?;
            serde_json::from_str(&text)
                .with_context(|| format!("options {} are not valid", path.display()))?
        }
    };
    let PlanArgs {
        platform,
        region,
        tier,
        hosts,
        hosts_lost,
        host_type,
        headroom,
        nconnect,
        target_ips,
        max_datastores,
        max_vms_per_datastore,
        capacity_growth,
        load_growth,
        months,
        rules,
    } = args.plan;
    let plan = &mut options.plan;
    set(&mut plan.platform, platform);
    set(&mut plan.region, region);
    set(&mut plan.hosts_lost, hosts_lost);
    set(&mut plan.headroom_pct, headroom);
    set(&mut plan.nconnect, nconnect);
    set(&mut plan.max_datastores, max_datastores);
    plan.tier = tier.or(plan.tier.take());
    plan.hosts = hosts.or(plan.hosts);
    plan.host_type = host_type.or(plan.host_type.take());
    plan.target_ips = target_ips.or(plan.target_ips);
    plan.max_vms_per_datastore = max_vms_per_datastore.or(plan.max_vms_per_datastore);
    let demand = &mut options.demand;
    set(&mut demand.capacity_growth_pct_per_year, capacity_growth);
    set(&mut demand.load_growth_pct_per_year, load_growth);
    set(&mut demand.horizon_months, months);
    if let Some(path) = rules {
        demand.rules_toml = Some(
            std::fs::read_to_string(&path)
                .with_context(|| format!("cannot read rules {}", path.display()))?,
        );
    }
    let averages = args.averages;
    if let Some(vm_count) = averages.vms {
        options.averages = Some(ManualAverages {
            vm_count,
            vcpus_per_vm: averages.vcpus,
            memory_gib_per_vm: averages.memory_gib,
            storage_gib_per_vm: averages.storage_gib,
            iops_per_vm: averages.iops,
            mibps_per_vm: averages.mibps,
            hosts: plan_hosts(&options),
        });
    }
    let inputs = args.files.iter().map(Input::from_path).collect();
    Ok((inputs, options))
}

fn plan_hosts(options: &SizingOptions) -> Option<u32> {
    options.plan.hosts
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}
