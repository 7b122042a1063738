//! The stages in their order.

use std::cell::Cell;

use plimsoll_advise::iser;
use plimsoll_demand::Demand;
use plimsoll_ingest::{Export, Input, InputFile, Problems};
use plimsoll_inventory::{Inventory, InventoryOptions};
use plimsoll_plan::{Catalog, Plan};

use crate::{Error, SizingOptions};

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
    Ok(Survey { files, averages: manual, inventory, problems })
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
    let demand = plimsoll_demand::estimate(&survey.inventory, per_vm, &options.demand)?;
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
