//! Prometheus range queries as the HTTP API answers them: a matrix of labelled series.
//!
//! Recognised names are those of vmware_exporter, Telegraf's vsphere input, NetApp Harvest and the
//! node exporter. A query that drops the metric's name (`rate(...)`) leaves nothing to recognise:
//! Plimsoll takes the rate of growing counters itself.

use plimsoll_ingest::Severity;
use serde::Deserialize;
use std::collections::BTreeMap;

use super::{COUNTER_NOT_USED, LATEST, NO_NAME, NUMBER_UNREADABLE};
use crate::catalog::{Stamp, catalog, normalise};
use crate::collect::{Collector, Measurement, Naming};
use crate::error::Error;
use crate::number::{Number, number};
use crate::report::Kind;
use crate::time::Clock;
use crate::types::EntityKind;

const NO_METRIC: Kind = Kind {
    code: "series-without-metric-name",
    severity: Severity::Error,
    expected: "a series with its label __name__; functions such as rate() and sum() drop it",
    action: "left out; query the metric itself over the range, growing counters included",
};

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    data: Data,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Data {
    result_type: String,
    result: Vec<Labelled>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Labelled {
    metric: BTreeMap<String, String>,
    values: Vec<(serde_json::Number, String)>,
}

/// Whether the head of a file looks like an answer of the API.
pub(crate) fn recognise(head: &str) -> bool {
    head.contains("\"resultType\"")
        || (head.contains("\"__name__\"") && head.contains("\"metric\""))
}

/// Reads an answer.
pub(crate) fn read(bytes: &[u8], clock: &mut Clock, out: &mut Collector) -> Result<(), Error> {
    let wrong = |wrong: String| Error::Unusable {
        file: out.file_name().to_owned(),
        format: "a Prometheus answer".to_owned(),
        wrong,
        action: "save the answer of /api/v1/query_range as it comes",
    };
    let answer: Answer = serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
    if answer.data.result_type != "matrix" {
        return Err(wrong(format!(
            "its result type is `{}`, not `matrix`",
            answer.data.result_type
        )));
    }
    for (at, labelled) in (1_u64..).zip(answer.data.result) {
        let labels = &labelled.metric;
        let Some(name) = labels.get("__name__") else {
            out.note(NO_METRIC, Some(at), "__name__", || format!("{labels:?}"));
            continue;
        };
        let Some(counter) = catalog().counter(&normalise(name)) else {
            out.note(COUNTER_NOT_USED, Some(at), "__name__", || name.clone());
            continue;
        };
        let known = &catalog().counters[usize::from(counter)];
        if known.latest {
            out.note(LATEST, Some(at), "__name__", || name.clone());
        }
        let Some(factor) = catalog().factor(known.metric, &known.unit) else { continue };
        let Some((kind, naming, instance)) = object(labels, known.object) else {
            out.note(NO_NAME, Some(at), "labels", || format!("{labels:?}"));
            continue;
        };
        let entity = out.entity(kind, naming, at)?;
        let instance = out.instance(instance);
        for (time, value) in labelled.values {
            let time = time.to_string();
            let Some(moment) = out.moment(clock.read(&time), &time, at, "values") else { continue };
            match number(&value, false) {
                Number::Value(value) => {
                    let what = Measurement {
                        entity,
                        counter,
                        instance,
                        interval_s: 0,
                        stamp: Stamp::End,
                        factor,
                        row: at,
                    };
                    out.sample(what, moment, value)?;
                }
                Number::Missing => {}
                Number::Unreadable => {
                    out.note(NUMBER_UNREADABLE, Some(at), "values", || value.clone());
                }
            }
        }
    }
    Ok(())
}

/// Whose series it is, by its labels.
fn object(
    labels: &BTreeMap<String, String>,
    stated: Option<EntityKind>,
) -> Option<(EntityKind, Naming<'_>, &str)> {
    let label =
        |names: &[&str]| names.iter().find_map(|name| labels.get(*name)).map_or("", String::as_str);
    let vm = label(&["vmname", "vm_name", "vm"]);
    let store = label(&["dsname", "ds_name", "datastore", "volume"]);
    let kind = stated.unwrap_or(if !vm.is_empty() {
        EntityKind::Vm
    } else if !store.is_empty() {
        EntityKind::Datastore
    } else {
        EntityKind::Host
    });
    let name = match kind {
        EntityKind::Vm if vm.is_empty() => label(&["nodename", "instance"]),
        EntityKind::Vm => vm,
        EntityKind::Datastore => store,
        EntityKind::Host => label(&["esxhostname", "host_name"]),
    };
    let id = label(&["moid"]);
    let instance = match kind {
        EntityKind::Vm => label(&["disk", "device", "dsname", "lun"]),
        _ => "",
    };
    let naming =
        Naming { name, id, uuid: label(&["uuid", "vm_uuid"]), vcenter: label(&["vcenter"]) };
    (!name.is_empty() || !id.is_empty()).then_some((kind, naming, instance))
}
