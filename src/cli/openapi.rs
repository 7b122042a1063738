//! `plimsoll openapi`: the API's description, as committed in openapi.yaml.

use clap::Parser;

use super::{Outcome, deliver};

/// Arguments of `plimsoll openapi`.
#[derive(Debug, Parser)]
pub struct Args {}

/// Runs it.
pub fn run(_args: &Args) -> anyhow::Result<Outcome> {
    deliver(crate::http::openapi::yaml()?.as_bytes(), None)?;
    Ok(Outcome::Done)
}
