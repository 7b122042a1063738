//! `plimsoll predict`: what configurations carry, by a model.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::{Parser, ValueEnum};
use plimsoll_model::{Configuration, Model, Quantity};

use super::{Outcome, deliver};

/// Arguments of `plimsoll predict`.
#[derive(Debug, Parser)]
pub struct Args {
    /// A model file, or the id of a model that ships with Plimsoll.
    model: String,
    /// Hosts: `4`, `1,2,4` or `1..8`.
    #[arg(long, default_value = "4")]
    hosts: Counts,
    /// Datastores: `4`, `1,2,4` or `1..16`.
    #[arg(long, default_value = "1..8")]
    datastores: Counts,
    /// Flows per host and datastore: `1`, `1,4`.
    #[arg(long, default_value = "1")]
    flows: Counts,
    /// Format.
    #[arg(long, value_enum, default_value_t = PredictFormat::Table)]
    format: PredictFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PredictFormat {
    Table,
    Json,
}

/// A list of counts, from `1,2,4` and `1..8` (both ends included).
#[derive(Debug, Clone)]
struct Counts(Vec<u32>);

impl std::str::FromStr for Counts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const MOST: u32 = 1024;
        let number = |part: &str| {
            part.trim()
                .parse::<u32>()
                .ok()
                .filter(|count| (1..=MOST).contains(count))
                .ok_or_else(|| format!("'{part}' is not a count from 1 to {MOST}"))
        };
        let mut counts = Vec::new();
        for part in text.split(',') {
            match part.split_once("..") {
                None => counts.push(number(part)?),
                Some((first, last)) => {
                    let (first, last) = (number(first)?, number(last.trim_start_matches('='))?);
                    if first > last {
                        return Err(format!("'{part}' runs backwards"));
                    }
                    counts.extend(first..=last);
                }
            }
        }
        Ok(Self(counts))
    }
}

/// Runs it.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let model = load(&args.model)?;
    let mut rows = Vec::new();
    for &hosts in &args.hosts.0 {
        for &flows in &args.flows.0 {
            for &datastores in &args.datastores.0 {
                let configuration = Configuration {
                    hosts: f64::from(hosts),
                    datastores: f64::from(datastores),
                    flows: f64::from(hosts) * f64::from(datastores) * f64::from(flows),
                    vms: None,
                    outstanding: None,
                };
                for quantity in [Quantity::Iops, Quantity::Throughput] {
                    if model.series_for(quantity).is_none() {
                        continue;
                    }
                    let prediction = model.predict(quantity, &configuration);
                    rows.push((hosts, datastores, flows, quantity, prediction));
                }
            }
        }
    }
    match args.format {
        PredictFormat::Json => {
            let rows: Vec<_> = rows
                .iter()
                .map(|(hosts, datastores, flows, quantity, prediction)| {
                    serde_json::json!({
                        "hosts": hosts, "datastores": datastores, "flows_per_host_and_datastore": flows,
                        "quantity": quantity, "prediction": prediction,
                    })
                })
                .collect();
            deliver(format!("{}\n", serde_json::to_string_pretty(&rows)?).as_bytes(), None)?;
        }
        PredictFormat::Table => {
            let mut text = format!(
                "{}\nhosts datastores flows  quantity          5th      median        95th  limit\n",
                model.id
            );
            for (hosts, datastores, flows, quantity, prediction) in &rows {
                let unit = match quantity {
                    Quantity::Iops => "IOPS",
                    Quantity::Throughput => "MiB/s",
                };
                let limit = prediction.shares.first().map_or(String::new(), |(resource, share)| {
                    format!("{resource:?} {:.0}%", share * 100.0).to_lowercase()
                });
                let note = if prediction.extrapolated { "  (extrapolated)" } else { "" };
                writeln!(
                    text,
                    "{hosts:>5} {datastores:>10} {flows:>5}  {unit:<8} {:>12.0} {:>11.0} {:>11.0}  {limit}{note}",
                    prediction.p05, prediction.median, prediction.p95
                )?;
            }
            deliver(text.as_bytes(), None)?;
        }
    }
    Ok(Outcome::Done)
}

fn load(name: &str) -> anyhow::Result<Model> {
    let path = PathBuf::from(name);
    if path.is_file() {
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {name}"))?;
        return Model::from_json(&text).with_context(|| format!("{name} is not a model"));
    }
    match Model::built_in(name) {
        Some(model) => Ok(model),
        None => bail!(
            "no model '{name}': neither a file nor one of {}",
            Model::built_in_ids().join(", ")
        ),
    }
}
