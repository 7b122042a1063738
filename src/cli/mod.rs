//! The command line: one file per subcommand. Data goes to stdout, talk to stderr.
//!
//! Exit status: 0 done, 2 wrong use, 3 input refused, 4 no feasible plan (the report still comes),
//! 5 a guard stopped a measurement, 1 anything else.

mod advise;
mod catalog;
mod doctor;
mod fit;
mod inventory;
mod openapi;
mod predict;
mod probe;
mod report;
mod rules;
mod serve;
mod target;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Datastore capacity and performance planning: how many datastores, how large, on which tier, at
/// what price, which limit binds first, and how sure that is.
#[derive(Debug, Parser)]
#[command(name = "plimsoll", version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Size datastores from inventory exports (xlsx, xls, csv, zip, a folder) or from averages.
    Report(Box<report::Args>),
    /// Read exports and print what is in them: populations, totals, problems.
    Inventory(inventory::Args),
    /// Say what to type on ESXi hosts, with the check after each step: iSER.
    Advise(advise::Args),
    /// Fit a scaling model to measured points.
    Fit(fit::Args),
    /// Ask a model what configurations carry.
    Predict(predict::Args),
    /// Print the rules that sort VMs into classes of load, for editing.
    Rules(rules::Args),
    /// Print platforms, tiers and their dated limits.
    Catalog(catalog::Args),
    /// Measure datastores: IOPS, MiB/s, latency, flows; four corners, sweeps, pre-flight checks.
    Probe(Box<probe::Args>),
    /// Serve datastores over iSCSI and NFSv3: pools, volumes, service tiers.
    Target(target::Args),
    /// Say what this machine can do: RDMA, limits, ports, clock, and what to do about the rest.
    Doctor(doctor::Args),
    /// Start the HTTP service.
    Serve(serve::Args),
    /// Print the OpenAPI document.
    Openapi(openapi::Args),
}

/// How a subcommand ended, when it did what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    /// The input was refused; the reason was printed.
    Refused,
    /// A report came, but no plan is feasible.
    Infeasible,
    /// A guard stopped the measurement; what was measured until then was printed.
    Stopped,
}

/// Runs the command line and returns its exit status.
#[must_use]
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.command {
        Command::Report(args) => report::run(*args),
        Command::Inventory(args) => inventory::run(args),
        Command::Advise(args) => advise::run(&args),
        Command::Fit(args) => fit::run(&args),
        Command::Predict(args) => predict::run(&args),
        Command::Rules(args) => rules::run(&args),
        Command::Catalog(args) => catalog::run(&args),
        Command::Probe(args) => probe::run(*args),
        Command::Target(args) => target::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Serve(args) => serve::run(args),
        Command::Openapi(args) => openapi::run(&args),
    };
    match outcome {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Refused) => ExitCode::from(3),
        Ok(Outcome::Infeasible) => ExitCode::from(4),
        Ok(Outcome::Stopped) => ExitCode::from(5),
        Err(error) => {
            talk(&format!("plimsoll: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// A line to stderr.
#[expect(clippy::print_stderr, reason = "the command line talks on stderr")]
fn talk(line: &str) {
    eprintln!("{line}");
}

/// Writes data to a file, or to stdout when there is none or it is `-`.
fn deliver(data: &[u8], output: Option<&std::path::Path>) -> anyhow::Result<()> {
    use std::io::Write as _;

    use anyhow::Context as _;

    match output {
        Some(path) if path != std::path::Path::new("-") => {
            std::fs::write(path, data).with_context(|| format!("cannot write {}", path.display()))
        }
        _ => match std::io::stdout().lock().write_all(data) {
            // A closed pipe (`| head`) is the reader's word that it has enough.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            other => other.context("cannot write to stdout"),
        },
    }
}
