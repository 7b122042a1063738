//! `plimsoll serve`: the HTTP service.

use clap::Parser;

use super::Outcome;

/// Arguments of `plimsoll serve`; each has its key in the configuration file.
#[derive(Debug, Parser)]
pub struct Args {
    #[command(flatten)]
    overrides: crate::config::Overrides,
}

/// Runs it.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let config = crate::config::Config::load(args.overrides)?;
    crate::config::telemetry::start(&config.log)?;
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(crate::http::serve(config))?;
    Ok(Outcome::Done)
}
