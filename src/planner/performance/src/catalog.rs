//! The table of formats, units and counters: `data/catalog/performance.toml`, compiled in.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::types::{Dimension, EntityKind, Metric, Statistic};

/// How a counter's numbers come about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Per second.
    Rate,
    /// Count over the interval.
    PerInterval,
    /// Grows for ever.
    Total,
    /// A state: latency, size.
    Level,
}

/// A counter that counts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Counter {
    names: Vec<String>,
    pub metric: Metric,
    /// What it is a counter of, where the name says so.
    pub object: Option<EntityKind>,
    pub kind: Kind,
    pub layer: u8,
    /// Its unit where the file states none.
    pub unit: String,
    /// The last sample of an interval instead of its mean.
    #[serde(default)]
    pub latest: bool,
    #[expect(dead_code, reason = "documents the row; a test checks it")]
    source: String,
}

/// Whether a time is the start or the end of its interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stamp {
    Start,
    End,
}

/// A table with a row for each object and time.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct SeriesTable {
    pub title: String,
    pub stamp: Stamp,
    pub needs: Vec<Role>,
    #[serde(flatten)]
    columns: HashMap<Role, Vec<String>>,
}

/// What a column of a series table is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    Name,
    Id,
    Uuid,
    Vcenter,
    Object,
    Instance,
    Metric,
    Time,
    Value,
    Average,
    Total,
    Unit,
    Interval,
    /// A column whose header is a counter; only in `needs`.
    Counter,
}

/// A table with a row for each object.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SummaryTable {
    pub format: String,
    pub title: String,
    pub object: EntityKind,
    pub needs: Vec<String>,
    pub name: Vec<String>,
    #[serde(default)]
    pub id: Vec<String>,
    #[serde(default)]
    pub uuid: Vec<String>,
}

/// A column of a summary.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Value {
    format: String,
    names: Vec<String>,
    pub metric: Metric,
    pub statistic: Statistic,
    pub unit: String,
    #[expect(dead_code, reason = "documents the row; a test checks it")]
    source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unit {
    dimension: Dimension,
    factor: f64,
    names: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Text {
    #[serde(rename = "read")]
    _read: String,
    #[serde(rename = "sources")]
    _sources: HashMap<String, String>,
    unit: Vec<Unit>,
    series: Vec<SeriesTable>,
    summary: Vec<SummaryTable>,
    counter: Vec<Counter>,
    value: Vec<Value>,
}

/// The table, indexed.
#[derive(Debug)]
pub(crate) struct Catalog {
    units: HashMap<(Dimension, String), f64>,
    pub series: Vec<SeriesTable>,
    pub summaries: Vec<SummaryTable>,
    pub counters: Vec<Counter>,
    by_name: HashMap<String, u16>,
    values: Vec<Value>,
}

const TEXT: &str = include_str!("../../../../data/catalog/performance.toml");

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    // The file is part of the build and a test reads it: a fault cannot reach a user.
    let text: Text = toml::from_str(TEXT).unwrap_or_default();
    let mut units = HashMap::new();
    for unit in text.unit {
        for name in unit.names {
            units.insert((unit.dimension, name), unit.factor);
        }
    }
    let mut by_name = HashMap::new();
    for (index, counter) in (0_u16..).zip(&text.counter) {
        for name in &counter.names {
            by_name.insert(name.clone(), index);
        }
    }
    Catalog {
        units,
        series: text.series,
        summaries: text.summary,
        counters: text.counter,
        by_name,
        values: text.value,
    }
});

/// The table.
pub(crate) fn catalog() -> &'static Catalog {
    &CATALOG
}

/// Lower case, outer blanks and the byte order mark cut off, runs of blanks made one.
pub(crate) fn normalise(text: &str) -> String {
    let text = text.trim_start_matches('\u{feff}');
    text.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// Which part of an interval a column's header says its values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RollUp {
    Mean,
    Sum,
    /// Highest, lowest: no load that could be added.
    Extreme,
}

/// A header taken apart: the counter's name, its roll-up and its unit.
#[derive(Debug, PartialEq)]
pub(crate) struct Header {
    pub name: String,
    pub roll_up: RollUp,
    pub unit: Option<String>,
}

impl Header {
    /// `Virtual Disk:Aggregate of all Instances|Read Throughput (KBps)|Avg` and its like.
    pub fn parse(text: &str) -> Self {
        let mut name = normalise(text).replace(":aggregate of all instances", "");
        let mut roll_up = RollUp::Mean;
        let mut unit = None;
        loop {
            let before = name.len();
            for (suffix, meaning) in [
                ("|avg", RollUp::Mean),
                ("|average", RollUp::Mean),
                ("|latest", RollUp::Mean),
                ("|last", RollUp::Mean),
                ("|sum", RollUp::Sum),
                ("|max", RollUp::Extreme),
                ("|maximum", RollUp::Extreme),
                ("|min", RollUp::Extreme),
                ("|minimum", RollUp::Extreme),
                ("(avg)", RollUp::Mean),
                ("(average)", RollUp::Mean),
                ("(sum)", RollUp::Sum),
                ("(total)", RollUp::Sum),
                ("(max)", RollUp::Extreme),
                ("(min)", RollUp::Extreme),
            ] {
                if let Some(rest) = name.strip_suffix(suffix) {
                    name.truncate(rest.trim_end().len());
                    roll_up = meaning;
                    break;
                }
            }
            if let (Some(open), true) = (name.rfind('('), name.ends_with(')')) {
                let inner = name[open + 1..name.len() - 1].trim().to_owned();
                if catalog().is_unit(&inner) {
                    name.truncate(name[..open].trim_end().len());
                    unit = Some(inner);
                }
            }
            if name.len() == before {
                break;
            }
        }
        Self { name, roll_up, unit }
    }
}

impl Catalog {
    /// The counter of a normalised name.
    pub fn counter(&self, name: &str) -> Option<u16> {
        self.by_name.get(name).copied()
    }

    /// What turns a value of that unit into the metric's own.
    pub fn factor(&self, metric: Metric, unit: &str) -> Option<f64> {
        self.units.get(&(metric.dimension(), normalise(unit))).copied()
    }

    fn is_unit(&self, name: &str) -> bool {
        [Dimension::Rate, Dimension::Throughput, Dimension::Latency, Dimension::Size]
            .iter()
            .any(|dimension| self.units.contains_key(&(*dimension, name.to_owned())))
    }

    /// The column of a summary by its normalised header; digits after `disk` are any.
    pub fn value(&self, format: &str, header: &str) -> Option<&Value> {
        let numbered = header.strip_prefix("disk ").and_then(|rest| {
            let bare = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            (bare.len() < rest.len()).then(|| format!("disk #{bare}"))
        });
        self.values.iter().filter(|value| value.format == format).find(|value| {
            value.names.iter().any(|name| name == header || Some(name) == numbered.as_ref())
        })
    }
}

impl SeriesTable {
    /// The column of a role among normalised headers: the first alias that is there.
    pub fn column(&self, role: Role, headers: &[String]) -> Option<usize> {
        let aliases = self.columns.get(&role)?;
        aliases.iter().find_map(|alias| headers.iter().position(|header| header == alias))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_table_is_whole() {
        let text: Text = toml::from_str(TEXT).unwrap();
        let raw: toml::Table = TEXT.parse().unwrap();
        for key in ["counter", "value"] {
            for row in raw[key].as_array().unwrap() {
                let source = row["source"].as_str().unwrap();
                assert!(text._sources.contains_key(source), "{source}");
            }
        }
        let mut seen = std::collections::HashSet::new();
        for counter in &text.counter {
            assert!(catalog().factor(counter.metric, &counter.unit).is_some(), "{counter:?}");
            for name in &counter.names {
                assert_eq!(*name, normalise(name));
                assert!(seen.insert(name.clone()), "{name} stands twice");
            }
        }
        for value in &text.value {
            assert!(catalog().factor(value.metric, &value.unit).is_some(), "{value:?}");
        }
    }

    #[test]
    fn headers_are_taken_apart() {
        let header =
            Header::parse("Virtual Disk:Aggregate of all Instances|Read Throughput (KBps)|Avg");
        assert_eq!(header.name, "virtual disk|read throughput");
        assert_eq!(header.unit.as_deref(), Some("kbps"));
        assert_eq!(Header::parse("Virtual Disk|Read IOPS|Max").roll_up, RollUp::Extreme);
        assert_eq!(Header::parse("Read iops (Avg)").name, "read iops");
        assert_eq!(Header::parse("Disk Read Bytes (Sum)").roll_up, RollUp::Sum);
    }

    #[test]
    fn units_of_vmware_are_binary() {
        let factor = |metric, unit| catalog().factor(metric, unit).unwrap();
        assert_eq!(factor(Metric::ReadMibps, "KBps") * 2048.0, 2.0);
        assert_eq!(factor(Metric::ReadMibps, "BytesPerSecond") * 1_048_576.0, 1.0);
        assert_eq!(factor(Metric::ReadLatencyMs, "Microseconds") * 1500.0, 1.5);
        assert!(catalog().factor(Metric::ReadMibps, "ms").is_none());
    }

    #[test]
    fn disks_of_a_template_are_numbered() {
        let value = catalog().value("azure-migrate", "disk 7 read ops (operations per second)");
        assert_eq!(value.unwrap().metric, Metric::ReadIops);
        assert!(catalog().value("azure-migrate", "disk read ops").is_none());
    }
}
