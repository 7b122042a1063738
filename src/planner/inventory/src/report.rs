//! Problems of this stage: rows that could not be joined or told apart.
//!
//! One problem a kind and file, with the count and the first place, because a file without ids
//! would otherwise fill the list with the same sentence.

use std::collections::BTreeMap;

use plimsoll_ingest::rows::RowRef;
use plimsoll_ingest::{Export, Problem, Problems, Severity};

/// What happened to rows, in words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub code: &'static str,
    pub severity: Severity,
    pub tab: &'static str,
    pub column: &'static str,
    pub expected: &'static str,
    pub action: &'static str,
}

/// Collects problems, counted per kind and file.
#[derive(Debug, Default)]
pub(crate) struct Report {
    counted: BTreeMap<(&'static str, &'static str, u32), Counted>,
    single: Vec<Problem>,
}

#[derive(Debug)]
struct Counted {
    kind: Kind,
    first: RowRef,
    value: String,
    rows: u64,
}

impl Report {
    /// One more row of a kind. `value` is made only for the first.
    pub fn row(&mut self, kind: Kind, at: RowRef, value: impl FnOnce() -> String) {
        let entry = self.counted.entry((kind.code, kind.tab, at.file)).or_insert_with(|| Counted {
            kind,
            first: at,
            value: value(),
            rows: 0,
        });
        entry.rows += 1;
    }

    /// A problem of its own.
    pub fn single(&mut self, problem: Problem) {
        self.single.push(problem);
    }

    /// All of them, those of single files first, in a fixed order.
    pub fn into_problems(self, export: &Export) -> Problems {
        let mut problems = Problems::default();
        for problem in self.single {
            problems.push(problem);
        }
        for ((code, tab, file), counted) in self.counted {
            let more = match counted.rows {
                1 => String::new(),
                rows => format!(" ({rows} rows of this file; the first is shown)"),
            };
            problems.push(Problem {
                severity: counted.kind.severity,
                code: code.to_owned(),
                file: file_name(export, file),
                tab: tab.to_owned(),
                row: Some(counted.first.row),
                column: counted.kind.column.to_owned(),
                value: shortened(&counted.value),
                expected: counted.kind.expected.to_owned(),
                action: format!("{}{more}", counted.kind.action),
            });
        }
        problems
    }
}

/// Name of an input file.
pub(crate) fn file_name(export: &Export, file: u32) -> String {
    export.files.get(file as usize).map(|input| input.name.clone()).unwrap_or_default()
}

/// At most 80 characters, as [`Problem::value`] asks.
fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}
