//! When the inventory was taken.
//!
//! From vMetaData, else from a date in the file name, else unknown: then a problem asks for it.
//! The time is that of the exporting machine; no zone is stored with it.

use jiff::civil::DateTime;
use plimsoll_ingest::{Export, InputFile, Problem, Severity, SourceKind};

use crate::report::Report;

/// Dates of the files and of the whole.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// Of each file: its own, else that of the whole.
    pub of_file: Vec<Option<DateTime>>,
    /// The latest of them.
    pub whole: Option<DateTime>,
    /// Where `whole` comes from.
    pub from: String,
}

impl Taken {
    /// Reads the dates; `given` is the user's answer and comes first.
    pub fn of(export: &Export, given: Option<DateTime>, report: &mut Report) -> Self {
        if let Some(date) = given {
            return Self {
                of_file: vec![given; export.files.len()],
                whole: Some(date),
                from: "given by the user".to_owned(),
            };
        }
        let mut dated: Vec<Option<(DateTime, String)>> = vec![None; export.files.len()];
        for row in &export.metadata {
            let Some(place) = dated.get_mut(row.at.file as usize) else { continue };
            if let (None, Some(created)) = (&place, row.created) {
                let name = &export.files[row.at.file as usize].name;
                *place = Some((created, format!("vMetaData of {name}")));
            }
        }
        for (place, file) in dated.iter_mut().zip(&export.files) {
            if place.is_none() {
                *place = date_in_name(&file.name)
                    .map(|date| (date, format!("the name of {}", file.name)));
            }
        }
        let latest = dated.iter().flatten().max_by_key(|(date, _)| *date).cloned();
        let whole = latest.as_ref().map(|(date, _)| *date);
        let averages = |file: &InputFile| file.kind == SourceKind::ManualAverages;
        if whole.is_none() && !export.files.iter().all(averages) {
            report.single(Problem {
                severity: Severity::Warning,
                code: "inventory-date-unknown".to_owned(),
                file: export.files[0].name.clone(),
                tab: "vMetaData".to_owned(),
                row: None,
                column: "xlsx creation datetime".to_owned(),
                value: String::new(),
                expected: "a vMetaData tab, or a date in the file name such as 2026-11-30"
                    .to_owned(),
                action: "the age of snapshots was not judged; give the date of the inventory"
                    .to_owned(),
            });
        }
        Self {
            of_file: dated.into_iter().map(|one| one.map(|(date, _)| date).or(whole)).collect(),
            whole,
            from: latest.map_or_else(|| "unknown".to_owned(), |(_, from)| from),
        }
    }
}

/// The first date in a name: `2026-11-30_20.11.05`, `2026_11_30_20_11`, `20261130201105`.
/// Years outside 2000-2099 are no export dates.
fn date_in_name(name: &str) -> Option<DateTime> {
    let name = name.rsplit_once('/').map_or(name, |(_, file)| file);
    let runs: Vec<(usize, &str)> = digit_runs(name);
    for (index, (_, run)) in runs.iter().enumerate() {
        let compact = matches!(run.len(), 8 | 12 | 14);
        if compact && let Some(date) = date_of(&run[..4], &run[4..6], &run[6..8]) {
            let part = |from: usize| run.get(from..from + 2).unwrap_or("0");
            return at(date, part(8), part(10), part(12));
        }
        // Parts of a date stand one separator apart: the 01 of `_07_05_vc01` is no second.
        let parts = apart_by_one(name, &runs[index..]);
        if let [year, month, day, rest @ ..] = parts.as_slice()
            && year.len() == 4
            && let Some(date) = date_of(year, month, day)
        {
            let part = |index: usize| {
                rest.get(index).copied().filter(|part| part.len() == 2).unwrap_or("0")
            };
            return at(date, part(0), part(1), part(2));
        }
    }
    None
}

/// The first runs of digits that are one separator apart.
fn apart_by_one<'n>(name: &str, runs: &[(usize, &'n str)]) -> Vec<&'n str> {
    let mut parts = Vec::new();
    let mut next = None;
    for (start, run) in runs {
        let joined = |end: usize| {
            name.get(end..*start).is_some_and(|gap| matches!(gap, "-" | "_" | "." | " "))
        };
        if next.is_some_and(|end| !joined(end)) {
            break;
        }
        parts.push(*run);
        next = Some(start + run.len());
    }
    parts
}

fn digit_runs(name: &str) -> Vec<(usize, &str)> {
    let mut runs = Vec::new();
    let mut start = None;
    for (index, c) in name.char_indices().chain([(name.len(), ' ')]) {
        match (c.is_ascii_digit(), start) {
            (true, None) => start = Some(index),
            (false, Some(from)) => {
                runs.push((from, &name[from..index]));
                start = None;
            }
            _ => {}
        }
    }
    runs
}

fn date_of(year: &str, month: &str, day: &str) -> Option<jiff::civil::Date> {
    let year: i16 = year.parse().ok().filter(|year| (2000..2100).contains(year))?;
    if month.len() > 2 || day.len() > 2 {
        return None;
    }
    jiff::civil::Date::new(year, month.parse().ok()?, day.parse().ok()?).ok()
}

/// The date with its time of day, or at midnight when the digits are no time.
fn at(date: jiff::civil::Date, hour: &str, minute: &str, second: &str) -> Option<DateTime> {
    let number = |text: &str| text.parse::<i8>().ok();
    let time = number(hour)
        .zip(number(minute))
        .zip(number(second))
        .and_then(|((hour, minute), second)| jiff::civil::Time::new(hour, minute, second, 0).ok());
    Some(date.to_datetime(time.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use jiff::civil::datetime;

    use super::*;

    #[test]
    fn dates_in_file_names() {
        let found = |name| date_in_name(name);
        assert_eq!(
            found("RVTools_export_all_2024-05-13_08.07.06.xlsx"),
            Some(datetime(2024, 5, 13, 8, 7, 6, 0))
        );
        assert_eq!(
            found("RVTools_export_all_20240513080706.xlsx"),
            Some(datetime(2024, 5, 13, 8, 7, 6, 0))
        );
        assert_eq!(
            found("RVTools_export_all_2026_02_22_07_05_vc01.xlsx"),
            Some(datetime(2026, 2, 22, 7, 5, 0, 0))
        );
        assert_eq!(
            found("10.17.13.5_RVTools_export_all_2024-05-13_08.07.06.xlsx"),
            Some(datetime(2024, 5, 13, 8, 7, 6, 0))
        );
        assert_eq!(found("a.zip/site 2024-05-13.xlsx"), Some(datetime(2024, 5, 13, 0, 0, 0, 0)));
        assert_eq!(found("RVTools_tabvInfo.csv"), None);
        assert_eq!(found("cluster-2024-13-45.xlsx"), None);
        assert_eq!(found("12345678.xlsx"), None);
    }
}
