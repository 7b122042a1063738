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
    let text = std::fs::read(&args.points)
        .with_context(|| format!("cannot read {}", args.points.display()))?;
    let options =
        plimsoll_model::FitOptions { platform: args.platform.clone(), ..Default::default() };
    let fitted = plimsoll_model::read_points(&text)
        .and_then(|points| plimsoll_model::fit(&points, &options));
    let report = match fitted {
        Ok(report) => report,
        Err(error) => {
            talk(&format!("plimsoll: {}: {error}", args.points.display()));
            if args.report == FitReportFormat::Json {
                let refusal =
                    serde_json::json!({"code": "points-refused", "message": error.to_string()});
                deliver(format!("{refusal:#}\n").as_bytes(), None)?;
            }
            return Ok(Outcome::Refused);
        }
    };
    if let Some(path) = &args.output {
        deliver(report.model.to_json()?.as_bytes(), Some(path))?;
    }
    match args.report {
        FitReportFormat::Json => {
            let mut text = serde_json::to_vec_pretty(&report)?;
            text.push(b'\n');
            deliver(&text, None)?;
        }
        FitReportFormat::Text => deliver(text_report(&report).as_bytes(), None)?,
    }
    Ok(Outcome::Done)
}

fn text_report(report: &plimsoll_model::FitReport) -> String {
    let mut text = format!(
        "{}: {} points\n\n{}\n{}\n{}",
        report.model.id,
        report.points_used,
        report.ceilings_table(),
        report.families_table(),
        report.points_table()
    );
    if let Some(loo) = &report.leave_one_out {
        text.push_str(&format!(
            "\nleave-one-out error: median {:.1} %, mean {:.1} %\n",
            loo.median_pct, loo.mean_pct
        ));
    }
    if let Some(coverage) = report.coverage_90_pct {
        text.push_str(&format!("90 % intervals hold {coverage:.1} % of the left-out points\n"));
    }
    for suspect in &report.suspect_points {
        text.push_str(&format!(
            "suspect row {}: {} ({})\n",
            suspect.row, suspect.detail, suspect.action
        ));
    }
    text
}
