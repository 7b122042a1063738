//! Azure Monitor metrics as JSON: the REST answer that `az monitor metrics list` prints, alone, in a
//! list, or a batch of several resources.

use serde::Deserialize;

use super::rows::managed_object;
use super::{COUNTER_NOT_USED, NO_NAME, UNIT_UNKNOWN};
use crate::catalog::{Kind, Stamp, catalog, normalise};
use crate::collect::{Collector, Measurement, Naming};
use crate::error::Error;
use crate::time::{Clock, duration_s};
use crate::types::EntityKind;

#[derive(Deserialize)]
#[serde(untagged)]
enum Document {
    Batch { values: Vec<Answer> },
    One(Answer),
    Many(Vec<Answer>),
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    interval: String,
    #[serde(default)]
    resourceid: String,
    value: Vec<Metric>,
}

#[derive(Deserialize)]
struct Metric {
    #[serde(default)]
    id: String,
    name: Name,
    #[serde(default)]
    unit: String,
    #[serde(default)]
    timeseries: Vec<Line>,
}

#[derive(Deserialize)]
struct Name {
    value: String,
}

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    metadatavalues: Vec<Dimension>,
    #[serde(default)]
    data: Vec<Point>,
}

#[derive(Deserialize)]
struct Dimension {
    #[serde(default)]
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Point {
    time_stamp: String,
    average: Option<f64>,
    total: Option<f64>,
}

/// Whether the head of a file looks like an answer of Azure Monitor.
pub(crate) fn recognise(head: &str) -> bool {
    head.contains("\"timeseries\"")
        && (head.contains("\"timeStamp\"") || head.contains("\"interval\""))
}

/// Reads an answer.
pub(crate) fn read(bytes: &[u8], clock: &mut Clock, out: &mut Collector) -> Result<(), Error> {
    let document: Document = serde_json::from_slice(bytes).map_err(|error| Error::Unusable {
        file: out.file_name().to_owned(),
        format: "an answer of Azure Monitor".to_owned(),
        wrong: error.to_string(),
        action: "save the output of `az monitor metrics list --output json` as it comes",
    })?;
    let answers = match document {
        Document::Batch { values } | Document::Many(values) => values,
        Document::One(answer) => vec![answer],
    };
    for answer in answers {
        let interval_s = duration_s(&answer.interval).unwrap_or(0);
        for metric in &answer.value {
            read_metric(metric, &answer.resourceid, interval_s, clock, out)?;
        }
    }
    Ok(())
}

fn read_metric(
    metric: &Metric,
    resource: &str,
    interval_s: u32,
    clock: &mut Clock,
    out: &mut Collector,
) -> Result<(), Error> {
    let name = &metric.name.value;
    let Some(counter) = catalog().counter(&normalise(name)) else {
        out.note(COUNTER_NOT_USED, None, "name", || name.clone());
        return Ok(());
    };
    let known = &catalog().counters[usize::from(counter)];
    let unit = if metric.unit.is_empty() { &known.unit } else { &metric.unit };
    let Some(factor) = catalog().factor(known.metric, unit) else {
        out.note(UNIT_UNKNOWN, None, "unit", || format!("{unit} for {name}"));
        return Ok(());
    };
    let id = metric.id.split("/providers/Microsoft.Insights").next().unwrap_or_default();
    let (by_id, _, found) = managed_object(if id.is_empty() { resource } else { id });
    let Some(found) = found else {
        out.note(NO_NAME, None, "id", || metric.id.clone());
        return Ok(());
    };
    let kind = by_id.or(known.object).unwrap_or(EntityKind::Datastore);
    let entity = out.entity(kind, Naming { name: found, ..Naming::default() }, 0)?;
    for line in &metric.timeseries {
        let dimensions: Vec<&str> = line.metadatavalues.iter().map(|d| d.value.as_str()).collect();
        let instance = out.instance(&dimensions.join("/"));
        for point in &line.data {
            let value = if known.kind == Kind::PerInterval { point.total } else { point.average };
            // An interval without measurements has neither; it is missing, not zero.
            let Some(value) = value else { continue };
            let time = &point.time_stamp;
            let Some(moment) = out.moment(clock.read(time), time, 0, "timeStamp") else { continue };
            let what = Measurement {
                entity,
                counter,
                instance,
                interval_s,
                stamp: Stamp::Start,
                factor,
                row: 0,
            };
            out.sample(what, moment, value)?;
        }
    }
    Ok(())
}
