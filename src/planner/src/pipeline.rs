//! The stages in their order.

use std::cell::Cell;

use plimsoll_advise::iser;
use plimsoll_demand::{Demand, MeasuredLoad};
use plimsoll_ingest::{Export, Input, InputFile, Problem, Problems, Severity};
use plimsoll_inventory::{Inventory, InventoryOptions};
use plimsoll_performance::LoadOptions;
use plimsoll_performance::trend::{self, Growth};
use plimsoll_plan::{Catalog, Plan};

use crate::{Error, SizingOptions};

/// Share of a datastore that is kept free when its day of being full is named: vCenter's alarm for
/// datastore usage turns red at 85 %.
const RESERVE_SHARE: f64 = 0.15;

/// A stage of the way, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Reading files.
    Reading,
    /// Joining tabs into an inventory.
    Joining,
    /// Estimating the load.
    Estimating,
    /// Comparing tiers and counts, placing VMs.
    Planning,
    /// Writing the report.
    Rendering,
}

/// How far a stage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Progress {
    /// The stage.
    pub stage: Stage,
    /// Done, in the stage's own unit (bytes when reading).
    pub done: u64,
    /// Of how much, when known.
    pub total: Option<u64>,
}

/// Files as read and joined.
#[derive(Debug, Clone)]
pub struct Survey {
    /// The files.
    pub files: Vec<InputFile>,
    /// Averages, when they stand in for files.
    pub averages: Option<plimsoll_ingest::ManualAverages>,
    /// The inventory.
    pub inventory: Inventory,
    /// Load of its VMs as measured, when performance exports were added.
    pub measured: Option<MeasuredLoad>,
    /// Growth of its datastores, when these exports hold used space over time.
    pub growth: Vec<Growth>,
    /// Everything that was not as expected.
    pub problems: Problems,
}

/// A survey with its load and plan.
#[derive(Debug, Clone)]
pub struct Sizing {
    /// Files, inventory, problems.
    pub survey: Survey,
    /// The load.
    pub demand: Demand,
    /// The plan.
    pub plan: Plan,
    /// The options as given.
    pub options: SizingOptions,
}

/// A report format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// One self-contained page.
    Html,
    /// The documented JSON.
    Json,
    /// A workbook with live formulas.
    Xlsx,
    /// The placement and figures as comma-separated values.
    Csv,
    /// Markdown.
    Md,
}

/// Asked at each step of progress; `false` cancels.
pub type Observer<'a> = dyn FnMut(Progress) -> bool + 'a;

/// Reads files (or takes `options.averages`) into an inventory.
///
/// # Errors
/// A refused file, or cancellation.
pub fn survey(
    inputs: Vec<Input>,
    options: &SizingOptions,
    observer: &mut Observer<'_>,
) -> Result<Survey, Error> {
    let export = match &options.averages {
        Some(averages) if inputs.is_empty() => plimsoll_ingest::manual(*averages)?,
        _ => read(inputs, options, observer)?,
    };
    step(observer, Stage::Joining)?;
    let (inventory, join_problems) =
        plimsoll_inventory::build(&export, &InventoryOptions::default());
    let Export { files, mut problems, manual, .. } = export;
    problems.append(join_problems);
    Ok(Survey { files, averages: manual, inventory, measured: None, growth: Vec::new(), problems })
}

/// Reads performance exports and joins them to a survey's inventory: measured VMs then have their own
/// load instead of their class's.
///
/// # Errors
/// A refused file, a time zone that is not known, or cancellation.
pub fn add_performance(
    survey: &mut Survey,
    inputs: &[Input],
    stated: &plimsoll_performance::ReadOptions,
    options: &SizingOptions,
    observer: &mut Observer<'_>,
) -> Result<(), Error> {
    let total = u64::try_from(inputs.len()).ok();
    let mut go_on = |at: usize| {
        let done = u64::try_from(at).unwrap_or(u64::MAX);
        observer(Progress { stage: Stage::Reading, done, total })
    };
    let read =
        plimsoll_performance::read(inputs, &survey.inventory, stated, &options.limits, &mut go_on);
    let mut found = match read {
        Err(plimsoll_performance::Error::Cancelled) => return Err(Error::Cancelled),
        other => other?,
    };
    let counting = LoadOptions { include_powered_off: options.demand.include_powered_off };
    survey.measured = plimsoll_performance::load(&mut found, &survey.inventory, counting);
    survey.growth = trend::histories_of_survey(&found, &survey.inventory)
        .iter()
        .filter_map(|history| trend::growth(history, RESERVE_SHARE, options.demand.seed))
        .collect();
    survey.problems.append(found.problems);
    for growth in &survey.growth {
        survey.problems.push(grows(growth));
    }
    Ok(())
}

/// Growth of a datastore among the notes.
fn grows(growth: &Growth) -> Problem {
    let band = growth.pct_per_year;
    let full = match growth.days_until_full {
        Some(days) => format!("85 % full in {days:.0} days"),
        None => format!("no date: {}", growth.why_no_date),
    };
    Problem {
        severity: Severity::Note,
        code: "datastore-growth".to_owned(),
        file: String::new(),
        tab: String::new(),
        row: None,
        column: String::new(),
        value: growth.name.chars().take(80).collect(),
        expected: "used space over at least 8 days".to_owned(),
        action: format!(
            "grows {:.0} % a year ({:.0} to {:.0}, 90 % band, {} days with samples); {full}",
            band.middle, band.low, band.high, growth.samples
        ),
    }
}

/// Goes from a survey to a plan.
///
/// # Errors
/// Options that do not work, or cancellation.
pub fn plan(
    survey: Survey,
    options: &SizingOptions,
    observer: &mut Observer<'_>,
) -> Result<Sizing, Error> {
    step(observer, Stage::Estimating)?;
    let per_vm = survey.averages.as_ref().map(|averages| plimsoll_demand::PerVmOverride {
        iops: averages.iops_per_vm.map(plimsoll_units::Iops),
        mibps: averages.mibps_per_vm.map(plimsoll_units::MibPerSec),
    });
    let demand = match &survey.measured {
        Some(measured) => {
            plimsoll_demand::estimate_measured(&survey.inventory, measured, &options.demand)?
        }
        None => plimsoll_demand::estimate(&survey.inventory, per_vm, &options.demand)?,
    };
    step(observer, Stage::Planning)?;
    let catalog = Catalog::built_in()?;
    let plan = plimsoll_plan::make_plan(&survey.inventory, &demand, &catalog, None, &options.plan)?;
    Ok(Sizing { survey, demand, plan, options: options.clone() })
}

/// From files to a plan.
///
/// # Errors
/// A refused file, options that do not work, or cancellation.
pub fn size(
    inputs: Vec<Input>,
    options: &SizingOptions,
    observer: &mut Observer<'_>,
) -> Result<Sizing, Error> {
    let survey = survey(inputs, options, observer)?;
    plan(survey, options, observer)
}

/// Writes the report.
///
/// # Errors
/// A format that cannot hold the report.
pub fn render(sizing: &Sizing, format: Format) -> Result<Vec<u8>, Error> {
    let report = plimsoll_report::compose(&plimsoll_report::ReportInput {
        inventory: &sizing.survey.inventory,
        demand: &sizing.demand,
        plan: &sizing.plan,
        problems: &sizing.survey.problems,
        files: &sizing.survey.files,
        options: serde_json::to_value(&sizing.options).unwrap_or_default(),
        tool_version: env!("CARGO_PKG_VERSION"),
    });
    Ok(match format {
        Format::Html => plimsoll_report::html(&report).into_bytes(),
        Format::Json => plimsoll_report::json(&report)?,
        Format::Xlsx => plimsoll_report::xlsx(&report)?,
        Format::Csv => plimsoll_report::csv(&report)?,
        Format::Md => plimsoll_report::md(&report).into_bytes(),
    })
}

/// Reads files and advises on iSER for their hosts.
///
/// # Errors
/// A refused file, a setting that cannot be, or cancellation.
pub fn advise_iser(
    inputs: Vec<Input>,
    settings: &iser::Settings,
    options: &SizingOptions,
    observer: &mut Observer<'_>,
) -> Result<iser::Advice, Error> {
    let export = read(inputs, options, observer)?;
    Ok(iser::advise(&iser::hosts(&export), settings)?)
}

fn step(observer: &mut Observer<'_>, stage: Stage) -> Result<(), Error> {
    if observer(Progress { stage, done: 0, total: None }) { Ok(()) } else { Err(Error::Cancelled) }
}

fn read(
    inputs: Vec<Input>,
    options: &SizingOptions,
    observer: &mut Observer<'_>,
) -> Result<Export, Error> {
    let cancelled = Cell::new(false);
    let read = plimsoll_ingest::read(inputs, &options.limits, &mut |progress| {
        let go_on = observer(Progress {
            stage: Stage::Reading,
            done: progress.done_bytes,
            total: progress.total_bytes,
        });
        cancelled.set(!go_on);
        go_on
    });
    match read {
        Err(_) if cancelled.get() => Err(Error::Cancelled),
        other => Ok(other?),
    }
}
