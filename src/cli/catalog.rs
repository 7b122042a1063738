//! `plimsoll catalog`: platforms, tiers and their dated limits as JSON.

use clap::Parser;

use super::{Outcome, deliver};

/// Arguments of `plimsoll catalog`.
#[derive(Debug, Parser)]
pub struct Args {}

/// Runs it.
pub fn run(_args: &Args) -> anyhow::Result<Outcome> {
    let mut text = serde_json::to_vec_pretty(&plimsoll_plan::Catalog::built_in()?)?;
    text.push(b'\n');
    deliver(&text, None)?;
    Ok(Outcome::Done)
}
