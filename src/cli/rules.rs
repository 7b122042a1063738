//! `plimsoll rules`: the class rules, as a file to edit and hand back with `--rules`.

use clap::Parser;

use super::{Outcome, deliver};

/// Arguments of `plimsoll rules`.
#[derive(Debug, Parser)]
pub struct Args {}

/// Runs it.
pub fn run(_args: &Args) -> anyhow::Result<Outcome> {
    deliver(plimsoll_demand::rules_text().as_bytes(), None)?;
    Ok(Outcome::Done)
}
