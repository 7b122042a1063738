//! `plimsoll inventory`: what is in the files, without a plan.

use std::path::PathBuf;

use clap::Parser;
use plimsoll_ingest::Input;

use super::{Outcome, deliver, talk};

/// Arguments of `plimsoll inventory`.
#[derive(Debug, Parser)]
pub struct Args {
    /// Exports: xlsx, xls, csv, a zip of these, or a folder of `RVTools_tab*.csv`.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Everything (VMs, disks, datastores) instead of totals, population, findings and problems.
    #[arg(long)]
    full: bool,
}

/// Runs it.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let inputs = args.files.iter().map(Input::from_path).collect();
    let surveyed = match plimsoll_planner::survey(inputs, &Default::default(), &mut |_| true) {
        Ok(surveyed) => surveyed,
        Err(error) => {
            talk(&format!("plimsoll: {error}"));
            deliver(&serde_json::to_vec_pretty(&error.to_refusal())?, None)?;
            return Ok(Outcome::Refused);
        }
    };
    let inventory = &surveyed.inventory;
    let body = if args.full {
        serde_json::json!({
            "files": surveyed.files,
            "inventory": inventory,
            "problems": surveyed.problems,
        })
    } else {
        serde_json::json!({
            "files": surveyed.files,
            "totals": inventory.totals,
            "population": inventory.population,
            "findings": inventory.findings,
            "quality": inventory.quality,
            "problems": surveyed.problems,
        })
    };
    let mut text = serde_json::to_vec_pretty(&body)?;
    text.push(b'\n');
    deliver(&text, None)?;
    Ok(Outcome::Done)
}
