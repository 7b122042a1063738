//! `plimsoll doctor`: what this machine can do, and what to do about the rest.

use anyhow::bail;
use clap::{Parser, ValueEnum};

use super::{Outcome, deliver};
use crate::doctor;

/// Arguments of `plimsoll doctor`.
#[derive(Debug, Parser)]
pub struct Args {
    /// End with a failure when this cannot be used.
    #[arg(long, value_enum, value_name = "WHAT")]
    need: Option<Need>,
    /// Format.
    #[arg(long, value_enum, default_value_t = DoctorFormat::Text)]
    format: DoctorFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Need {
    /// iSER over an RDMA adapter.
    Rdma,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DoctorFormat {
    Text,
    Json,
}

/// Runs it.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let report = doctor::examine();
    let text = match args.format {
        DoctorFormat::Text => report.text(),
        DoctorFormat::Json => format!("{}\n", serde_json::to_string_pretty(&report)?),
    };
    deliver(text.as_bytes(), None)?;
    if !report.usable {
        bail!("this machine cannot be used as it is");
    }
    if args.need == Some(Need::Rdma) && !report.rdma {
        bail!("RDMA cannot be used on this machine");
    }
    Ok(Outcome::Done)
}
