//! Reads published or measured points: one row a number, columns as in
//! `data/reference/scaling_points.csv`.
//!
//! Only `platform`, `metric`, `value` and `unit` must be there; a blank count means "more than
//! enough to matter" or "not stated", never zero. Units are converted here once: `MB/s` is decimal
//! (10^6 bytes), `MiB/s` binary. Three phrases in a note have a meaning: `lower bound` makes the
//! point one-sided, `not in fits` and `kept out` set it aside with the note as the reason.

use crate::error::ModelError;
use serde::Serialize;

/// Most rows read: far above any published grid, far below what could exhaust memory.
pub const MAX_ROWS: usize = 20_000;

/// Columns that must be there.
const REQUIRED: [&str; 4] = ["platform", "metric", "value", "unit"];

/// What a row measures, in one unit each.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measured {
    /// Operations a second.
    Operations(f64),
    /// Bytes a second.
    Bytes(f64),
    /// Mean response time, seconds.
    Seconds(f64),
}

/// Which statistic a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// Not stated.
    AsPublished,
    /// Mean over read mixes.
    Mean,
    /// Highest over mixes.
    Peak,
    /// A lower bound.
    AtLeast,
    /// A headline without its configuration.
    Headline,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// Row in the file; the header is row 1.
    pub row: usize,
    /// Where it was published.
    pub source: String,
    /// System measured.
    pub platform: String,
    /// Protocol.
    pub protocol: String,
    /// Workload name, or empty.
    pub workload: String,
    /// Hosts that carry load.
    pub hosts: Option<f64>,
    /// Datastores or volumes.
    pub datastores: Option<f64>,
    /// Flows in all.
    pub flows: Option<f64>,
    /// VMs or load generators in all.
    pub vms: Option<f64>,
    /// Virtual disks in all.
    pub vmdks: Option<f64>,
    /// Outstanding I/Os in all.
    pub outstanding: Option<f64>,
    /// Block, KiB.
    pub block_kib: Option<f64>,
    /// `random`, `sequential`, `mixed` or empty.
    pub pattern: String,
    /// Percent of reads, `mix`, or empty.
    pub read_pct: String,
    /// Statistic.
    pub statistic: Statistic,
    /// Value as printed.
    pub value: f64,
    /// Unit as printed.
    pub unit: String,
    /// Value in one unit.
    pub measured: Measured,
    /// Remark.
    pub note: String,
}

impl Point {
    /// Identity of the configuration: everything but metric, statistic and value.
    pub(crate) fn configuration_key(&self) -> String {
        format!("{}|{}", self.protocol, self.key_without_protocol())
    }

    /// The same without the protocol, to compare protocols on one system.
    pub(crate) fn key_without_protocol(&self) -> String {
        let counts = [
            self.hosts,
            self.datastores,
            self.flows,
            self.vms,
            self.vmdks,
            self.outstanding,
            self.block_kib,
        ];
        format!("{}|{}|{counts:?}|{}|{}", self.platform, self.workload, self.pattern, self.read_pct)
    }

    pub(crate) fn note_says(&self, words: &[&str]) -> bool {
        let note = self.note.to_lowercase();
        words.iter().any(|word| note.contains(word))
    }
}

/// Reads all points of a CSV text.
///
/// # Errors
/// The first cell that cannot be read, with row and column; a missing column; bad CSV; more than
/// [`MAX_ROWS`] rows.
pub fn read_points(text: &[u8]) -> Result<Vec<Point>, ModelError> {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text);
    let csv_error = |row: usize, error: &csv::Error| {
        let row = error
            .position()
            .map_or(row, |position| usize::try_from(position.line()).unwrap_or(row));
        ModelError::Csv { row, reason: error.to_string() }
    };
    let header: Vec<String> = reader
        .headers()
        .map_err(|error| csv_error(1, &error))?
        .iter()
        .map(str::to_lowercase)
        .collect();
    for column in REQUIRED {
        if !header.iter().any(|name| name == column) {
            return Err(ModelError::MissingColumn {
                column: column.to_owned(),
                needed: REQUIRED.join(", "),
            });
        }
    }
    let mut points = Vec::new();
    for (index, record) in reader.records().enumerate() {
        let row = index + 2;
        if index >= MAX_ROWS {
            return Err(ModelError::Csv {
                row,
                reason: format!("more than {MAX_ROWS} points; split the file by platform"),
            });
        }
        let record = record.map_err(|error| csv_error(row, &error))?;
        if record.iter().all(str::is_empty) {
            continue;
        }
        points.push(Row { row, header: &header, record: &record }.point()?);
    }
    Ok(points)
}

struct Row<'a> {
    row: usize,
    header: &'a [String],
    record: &'a csv::StringRecord,
}

impl Row<'_> {
    fn text(&self, column: &str) -> &str {
        self.header
            .iter()
            .position(|name| name == column)
            .and_then(|index| self.record.get(index))
            .unwrap_or("")
    }

    fn refuse(&self, column: &str, expected: &str) -> ModelError {
        ModelError::Cell {
            row: self.row,
            column: column.to_owned(),
            value: self.text(column).to_owned(),
            expected: expected.to_owned(),
        }
    }

    fn count(&self, column: &str) -> Result<Option<f64>, ModelError> {
        if self.text(column).is_empty() {
            return Ok(None);
        }
        self.positive(column).map(Some)
    }

    fn positive(&self, column: &str) -> Result<f64, ModelError> {
        match self.text(column).parse::<f64>() {
            Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
            _ => Err(self.refuse(column, "a number above 0")),
        }
    }

    fn point(&self) -> Result<Point, ModelError> {
        let value = self.positive("value")?;
        let platform = self.text("platform");
        if platform.is_empty() {
            return Err(self.refuse("platform", "the name of the system measured"));
        }
        let statistic = match self.text("statistic").to_lowercase().as_str() {
            "" => Statistic::AsPublished,
            "mean" => Statistic::Mean,
            "peak" => Statistic::Peak,
            "at_least" => Statistic::AtLeast,
            "headline" => Statistic::Headline,
            _ => {
                return Err(self.refuse("statistic", "mean, peak, at_least, headline or nothing"));
            }
        };
        let pattern = match self.text("pattern").to_lowercase().as_str() {
            "seq" => "sequential".to_owned(),
            "rand" => "random".to_owned(),
            "n/a" => String::new(),
            other => other.to_owned(),
        };
        Ok(Point {
            row: self.row,
            source: self.text("source").to_owned(),
            platform: platform.to_owned(),
            protocol: self.text("protocol").to_owned(),
            workload: self.text("workload").to_owned(),
            hosts: self.count("hosts")?,
            datastores: self.count("datastores")?,
            flows: self.count("flows")?,
            vms: self.count("vms")?,
            vmdks: self.count("vmdks")?,
            outstanding: self.count("outstanding")?,
            block_kib: self.count("block_kib")?,
            pattern,
            read_pct: self.text("read_pct").to_owned(),
            statistic,
            value,
            unit: self.text("unit").to_owned(),
            measured: self.measured(value)?,
            note: self.text("note").to_owned(),
        })
    }

    fn measured(&self, value: f64) -> Result<Measured, ModelError> {
        let metric = self.text("metric").to_lowercase();
        let unit = self.text("unit");
        let measured = measured_in(value, unit).ok_or_else(|| {
            self.refuse("unit", "IOPS, ops/s, MB/s, MiB/s, GB/s, GiB/s, ms, us or s")
        })?;
        let fits = match (metric.as_str(), measured) {
            ("iops", Measured::Operations(_)) | ("latency", Measured::Seconds(_)) => true,
            ("throughput" | "bandwidth", Measured::Operations(_) | Measured::Bytes(_)) => true,
            ("iops" | "throughput" | "bandwidth" | "latency", _) => {
                return Err(self.refuse("unit", &format!("a unit of the metric {metric}")));
            }
            _ => false,
        };
        if fits { Ok(measured) } else { Err(self.refuse("metric", "iops, throughput or latency")) }
    }
}

/// A value with its unit in one of three base units; `None` for an unknown unit.
pub(crate) fn measured_in(value: f64, unit: &str) -> Option<Measured> {
    const MIB: f64 = 1_048_576.0;
    Some(match unit.to_lowercase().as_str() {
        "iops" | "ops/s" => Measured::Operations(value),
        "mb/s" | "mbps" => Measured::Bytes(value * 1e6),
        "gb/s" => Measured::Bytes(value * 1e9),
        "mib/s" => Measured::Bytes(value * MIB),
        "gib/s" => Measured::Bytes(value * MIB * 1024.0),
        "s" => Measured::Seconds(value),
        "ms" => Measured::Seconds(value * 1e-3),
        "us" | "µs" | "μs" => Measured::Seconds(value * 1e-6),
        _ => return None,
    })
}

/// Names of the platforms in file order.
#[must_use]
pub fn platforms(points: &[Point]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for point in points {
        if !names.contains(&point.platform) {
            names.push(point.platform.clone());
        }
    }
    names
}

/// Points of the platforms that `selector` names: a name, or a pattern with `*` and `?`. Without a
/// selector the file must hold one platform.
///
/// # Errors
/// Several platforms and no selector, or a selector that matches nothing; both list the names.
pub fn select<'a>(
    points: &'a [Point],
    selector: Option<&str>,
) -> Result<Vec<&'a Point>, ModelError> {
    let names = platforms(points);
    let Some(selector) = selector else {
        return if names.len() <= 1 {
            Ok(points.iter().collect())
        } else {
            Err(ModelError::SeveralPlatforms { names })
        };
    };
    // An exact name wins over its reading as a pattern.
    let exact = names.iter().any(|name| name == selector);
    let chosen: Vec<&Point> =
        points
            .iter()
            .filter(|point| {
                if exact { point.platform == selector } else { matches(selector, &point.platform) }
            })
            .collect();
    if chosen.is_empty() {
        return Err(ModelError::NoSuchPlatform { selector: selector.to_owned(), names });
    }
    Ok(chosen)
}

/// Whether `name` matches `pattern`, where `*` stands for any text and `?` for one character;
/// upper and lower case are the same.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.to_lowercase().chars().collect();
    let name: Vec<char> = name.to_lowercase().chars().collect();
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if p < pattern.len() && (pattern[p] == '?' || pattern[p] == name[n]) && pattern[p] != '*' {
            p += 1;
            n += 1;
        } else if p < pattern.len() && pattern[p] == '*' {
            star = Some((p, n));
            p += 1;
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            p = at + 1;
            n = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&character| character == '*')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const HEADER: &str = "platform,hosts,metric,value,unit,statistic\n";

    fn read(rows: &str) -> Result<Vec<Point>, ModelError> {
        read_points(format!("{HEADER}{rows}").as_bytes())
    }

    #[test]
    fn megabytes_are_decimal_and_mebibytes_binary() {
        let points = read("a,1,throughput,100,MB/s,\na,1,throughput,100,MiB/s,\n").unwrap();
        assert_eq!(points[0].measured, Measured::Bytes(100e6));
        assert_eq!(points[1].measured, Measured::Bytes(104_857_600.0));
    }

    #[test]
    fn errors_name_row_and_column() {
        let message = read("a,1,iops,5,IOPS,\na,1,iops,abc,IOPS,\n").unwrap_err().to_string();
        assert!(message.contains("row 3") && message.contains("column value"), "{message}");
        let message = read("a,0,iops,5,IOPS,\n").unwrap_err().to_string();
        assert!(message.contains("row 2") && message.contains("column hosts"), "{message}");
        let message = read("a,1,iops,5,furlongs,\n").unwrap_err().to_string();
        assert!(message.contains("column unit") && message.contains("furlongs"), "{message}");
        let message = read("a,1,latency,5,IOPS,\n").unwrap_err().to_string();
        assert!(message.contains("unit of the metric latency"), "{message}");
        let message = read("a,1,iops,5,IOPS,typical\n").unwrap_err().to_string();
        assert!(message.contains("column statistic"), "{message}");
        let message = read_points(b"platform,value\n").unwrap_err().to_string();
        assert!(message.contains("no column metric"), "{message}");
    }

    #[test]
    fn several_platforms_need_a_selector() {
        let points =
            read("CubeFS a,1,iops,5,IOPS,\nCubeFS b,1,iops,5,IOPS,\nx,1,iops,5,IOPS,\n").unwrap();
        let message = select(&points, None).unwrap_err().to_string();
        assert!(message.contains("CubeFS a; CubeFS b; x"), "{message}");
        assert_eq!(select(&points, Some("CubeFS*")).unwrap().len(), 2);
        assert_eq!(select(&points, Some("cubefs ?")).unwrap().len(), 2);
        assert_eq!(select(&points, Some("x")).unwrap().len(), 1);
        assert!(select(&points, Some("y*")).is_err());
    }
}
