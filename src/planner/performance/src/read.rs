//! Files to a survey: recognises each by its content and sends it to its reader.

use jiff::tz::TimeZone;
use plimsoll_ingest::{Input, Limits, Severity, Source};
use plimsoll_inventory::Inventory;
use serde::{Deserialize, Serialize};

use crate::collect::Collector;
use crate::error::Error;
use crate::finish;
use crate::join;
use crate::readers::{azure, esxtop, fio, iometer, prometheus, rows, summary};
use crate::report::Kind;
use crate::survey::Survey;
use crate::table::Text;
use crate::time::{Clock, DateOrder};
use crate::types::ReadFile;

const NOTHING_USED: Kind = Kind {
    code: "performance-file-empty",
    severity: Severity::Warning,
    expected: "rows with values of storage counters",
    action: "nothing of this file counts; see its other problems",
};

/// What a user can state about the files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadOptions {
    /// Zone of times that state none: a name of the IANA database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// Whether the day comes first in dates such as 07/08/2026; found from the file when not stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day_first: Option<bool>,
}

/// Reads performance exports and joins them to an inventory.
///
/// `go_on` is asked before each file with its place in the list; `false` cancels.
///
/// # Errors
/// The first file that is refused: none of the formats, or nothing in it that can be used. Everything
/// else is in [`Survey::problems`].
pub fn read(
    inputs: &[Input],
    inventory: &Inventory,
    options: &ReadOptions,
    limits: &Limits,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> Result<Survey, Error> {
    let zone = options
        .time_zone
        .as_deref()
        .map(|name| TimeZone::get(name).map_err(|_| Error::TimeZone(name.to_owned())))
        .transpose()?;
    let order = match options.day_first {
        None => DateOrder::Unknown,
        Some(true) => DateOrder::DayFirst,
        Some(false) => DateOrder::MonthFirst,
    };
    let mut out = Collector::new();
    for (at, input) in inputs.iter().enumerate() {
        if !go_on(at) {
            return Err(Error::Cancelled);
        }
        out.files.push(ReadFile { name: input.name.clone(), recognised: String::new(), used: 0 });
        let mut clock = Clock::new(zone.clone(), order);
        let recognised = read_file(input, limits, &mut clock, &mut out)?;
        out.end_file();
        if let Some(file) = out.files.last_mut() {
            file.recognised = recognised;
            if file.used == 0 {
                let name = file.name.clone();
                out.report.tell(NOTHING_USED, &name, "");
            }
        }
    }
    let matches = join::matches(&mut out, inventory);
    Ok(finish::finish(out, matches))
}

fn read_file(
    input: &Input,
    limits: &Limits,
    clock: &mut Clock,
    out: &mut Collector,
) -> Result<String, Error> {
    let name = input.name.as_str();
    let bytes = size(name, &input.source)?;
    if bytes > limits.input_bytes {
        return Err(Error::too_large(
            name,
            format!("has {bytes} bytes, at most {} are read", limits.input_bytes),
        ));
    }
    let mut text = Text::open(name, &input.source)?;
    let head = text.peek().into_owned();
    if head.starts_with("PK\u{3}\u{4}") {
        return read_workbook(input, limits, out);
    }
    let start = head.trim_start();
    if fio::recognise(start) {
        fio::read(&text.whole(name)?, out)?;
        return Ok("results of fio".to_owned());
    }
    if start.starts_with(['{', '[']) {
        if prometheus::recognise(start) {
            prometheus::read(&text.whole(name)?, clock, out)?;
            return Ok("a Prometheus range query".to_owned());
        }
        if azure::recognise(start) {
            azure::read(&text.whole(name)?, clock, out)?;
            return Ok("Azure Monitor metrics (JSON)".to_owned());
        }
        return Err(unrecognised(name, "JSON of another shape"));
    }
    if iometer::recognise(start) {
        iometer::read(&text.whole(name)?, out)?;
        return Ok("results of IOmeter".to_owned());
    }
    enum Found {
        Esxtop,
        Rows(&'static crate::catalog::SeriesTable),
        Summary(&'static crate::catalog::SummaryTable),
    }
    let found = text.find_head(name, |headers| {
        if esxtop::recognise(headers) {
            return Some(Found::Esxtop);
        }
        let summary = || summary::recognise(headers).map(Found::Summary);
        rows::recognise(headers).map(Found::Rows).or_else(summary)
    })?;
    match found {
        Some((head, Found::Esxtop)) => {
            esxtop::read(text, &head, out)?;
            Ok("an esxtop batch file".to_owned())
        }
        Some((head, Found::Rows(table))) => {
            rows::read(text, &head, table, clock, out)?;
            Ok(table.title.clone())
        }
        Some((head, Found::Summary(table))) => {
            summary::read(text, &head, table, out)?;
            Ok(table.title.clone())
        }
        None => {
            let line = start.lines().next().unwrap_or("").chars().take(60).collect::<String>();
            let found = if start.is_empty() {
                "it is empty".to_owned()
            } else {
                format!("no header row of a known format (the file begins `{line}`)")
            };
            Err(unrecognised(name, &found))
        }
    }
}

fn size(name: &str, source: &Source) -> Result<u64, Error> {
    Ok(match source {
        Source::Memory(bytes) => bytes.len() as u64,
        Source::Path(path) => {
            let found = std::fs::metadata(path).map_err(|error| Error::io(name, error))?;
            if found.is_dir() {
                return Err(unrecognised(name, "it is a folder"));
            }
            found.len()
        }
    })
}

fn read_workbook(input: &Input, limits: &Limits, out: &mut Collector) -> Result<String, Error> {
    let sheets = plimsoll_ingest::sheet_texts(input, limits)?;
    let mut titles = Vec::new();
    for sheet in &sheets {
        if let Some(table) = summary::read_sheet(sheet, out)? {
            titles.push(table.title.clone());
        }
    }
    if titles.is_empty() {
        let names: Vec<&str> = sheets.iter().map(|sheet| sheet.name.as_str()).take(12).collect();
        let found = format!("a workbook with the sheets {}", names.join(", "));
        return Err(unrecognised(&input.name, &found));
    }
    Ok(titles.join(", "))
}

fn unrecognised(file: &str, found: &str) -> Error {
    Error::Unrecognised { file: file.to_owned(), found: found.to_owned() }
}
