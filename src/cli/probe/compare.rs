//! `plimsoll probe compare`: the same workloads over several ways to one array, in turns.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use plimsoll_advise::iser::{Catalog, Published};
use plimsoll_probe::{
    compare::{self, Reference},
    interrupt,
};

use super::{ClientArgs, LoadArgs, RunArgs, SafetyArgs, View};
use crate::cli::{Outcome, deliver, talk};

#[derive(Debug, Parser)]
pub(super) struct CompareArgs {
    /// Ways to one array: iscsi://…, iser://…, nfs://…; all are put beside the first.
    #[arg(required = true, num_args = 2.., value_name = "URL")]
    urls: Vec<String>,
    /// How often each is measured; they take turns.
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    rounds: u32,
    /// Process of the target on this machine, for its CPU per I/O: one for all URLs, or one each.
    #[arg(long, value_name = "PID", value_delimiter = ',')]
    target_pid: Vec<u32>,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    client: ClientArgs,
    #[command(flatten)]
    safety: SafetyArgs,
    /// Format of the comparison.
    #[arg(long, value_enum, default_value_t = CompareFormat::Text, help_heading = "Output")]
    format: CompareFormat,
    /// Where to write it; `-` or nothing for stdout.
    #[arg(short, long, help_heading = "Output")]
    output: Option<PathBuf>,
    /// No live view.
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CompareFormat {
    Text,
    Markdown,
    Json,
    Html,
}

/// Runs it.
pub(super) fn run(args: CompareArgs) -> anyhow::Result<Outcome> {
    let CompareArgs { urls, rounds, target_pid, load, client, safety, format, output, quiet } =
        args;
    let (base, notes) =
        RunArgs { urls, load, client, safety, print: Default::default() }.request()?;
    notes.iter().for_each(|note| talk(note));
    interrupt::listen();
    let request =
        compare::Request { base, rounds, target_pids: target_pid, reference: Some(published()) };
    let mut view = View::new(quiet);
    let result = compare::run(&request, &mut |progress| view.show(progress));
    view.end();
    let comparison = result?;
    let format = match format {
        CompareFormat::Text => compare::Format::Text,
        CompareFormat::Markdown => compare::Format::Markdown,
        CompareFormat::Json => compare::Format::Json,
        CompareFormat::Html => compare::Format::Html,
    };
    deliver(compare::render(&comparison, format)?.as_bytes(), output.as_deref())?;
    match &comparison.stopped {
        None => Ok(Outcome::Done),
        Some(stopped) => {
            talk(&format!("plimsoll: stopped: {stopped}"));
            Ok(Outcome::Stopped)
        }
    }
}

/// What the founding paper measured, with what it says against itself.
fn published() -> Reference {
    let results = Catalog::built_in().results();
    Reference {
        source: format!("{} ({})", results.source, results.date),
        setting: results.setting.clone(),
        results: results.results.iter().map(Published::line).collect(),
        contradictions: results.contradictions(),
    }
}
