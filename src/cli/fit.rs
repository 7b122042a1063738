//! `plimsoll fit`: from measured points to a model with its card.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Parser, ValueEnum};

use super::{Outcome, deliver, talk};

/// Arguments of `plimsoll fit`.
#[derive(Debug, Parser)]
pub struct Args {
    /// Measured points: a CSV with the columns of `data/reference/scaling_points.csv`.
    points: PathBuf,
    /// Which platform of the file, where it holds several; `*` matches any text.
    #[arg(long)]
    platform: Option<String>,
    /// Where to write the model.
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// Print the fit report.
    #[arg(long, value_enum, default_value_t = FitReportFormat::Text)]
    report: FitReportFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FitReportFormat {
    Text,
    Json,
}

/// Runs it.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let file = std::fs::File::open(&args.points)
        .with_context(|| format!("cannot read {}", args.points.display()))?;
    let options =
        plimsoll_model::FitOptions { platform: args.platform.clone(), ..Default::default() };
    let report = match plimsoll_model::fit_csv(file, &options) {
        Ok(report) => report,
        Err(error) => {
            talk(&format!("plimsoll: {}: {error}", args.points.display()));
            if args.report == FitReportFormat::Json {
                let refusal = serde_json::json!({"code": "points-refused", "message": error.to_string()});
                deliver(format!("{refusal:#}\n").as_bytes(), None)?;
            }
            return Ok(Outcome::Refused);
        }
    };
    if let Some(path) = &args.output {
        deliver(report.model.to_json().as_bytes(), Some(path))?;
    }
    match args.report {
        FitReportFormat::Json => {
            let mut text = serde_json::to_vec_pretty(&report)?;
            text.push(b'\n');
            deliver(&text, None)?;
        }
        FitReportFormat::Text => deliver(report.to_text().as_bytes(), None)?,
    }
    Ok(Outcome::Done)
}
