//! Problems of this stage, one for each kind, file and column, with the count and the first place:
//! a file of a million rows would otherwise say the same a million times.

use std::collections::BTreeMap;

use plimsoll_ingest::{Problem, Problems, Severity};

/// What happened, in words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub code: &'static str,
    pub severity: Severity,
    pub expected: &'static str,
    pub action: &'static str,
}

#[derive(Debug)]
struct Counted {
    kind: Kind,
    row: Option<u64>,
    value: String,
    times: u64,
}

/// File, code, column.
type Key = (String, &'static str, String);

/// Collects problems.
#[derive(Debug, Default)]
pub(crate) struct Report {
    counted: BTreeMap<Key, Counted>,
    /// The one met last, taken out of the others.
    last: Option<(Key, Counted)>,
    told: Vec<Problem>,
}

impl Report {
    /// One more of a kind; `value` is made only for the first.
    pub fn note(
        &mut self,
        kind: Kind,
        file: &str,
        row: Option<u64>,
        column: &str,
        value: impl FnOnce() -> String,
    ) {
        self.note_times(kind, file, row, column, 1, value);
    }

    /// Several of a kind at once.
    pub fn note_times(
        &mut self,
        kind: Kind,
        file: &str,
        row: Option<u64>,
        column: &str,
        times: u64,
        value: impl FnOnce() -> String,
    ) {
        if times == 0 {
            return;
        }
        // The same again, as a note on every row of a file is: nothing is allocated for it.
        if let Some((key, counted)) = &mut self.last
            && key.1 == kind.code
            && key.0 == file
            && key.2 == column
        {
            counted.times += times;
            return;
        }
        self.keep_last();
        let key = (file.to_owned(), kind.code, column.to_owned());
        let counted = self.counted.remove(&key);
        let counted =
            counted.unwrap_or_else(|| Counted { kind, row, value: shortened(&value()), times: 0 });
        self.last = Some((key, Counted { times: counted.times + times, ..counted }));
    }

    fn keep_last(&mut self) {
        if let Some((key, counted)) = self.last.take() {
            self.counted.insert(key, counted);
        }
    }

    /// A problem of its own.
    pub fn tell(&mut self, kind: Kind, file: &str, value: impl Into<String>) {
        self.told.push(Problem {
            severity: kind.severity,
            code: kind.code.to_owned(),
            file: file.to_owned(),
            tab: String::new(),
            row: None,
            column: String::new(),
            value: value.into(),
            expected: kind.expected.to_owned(),
            action: kind.action.to_owned(),
        });
    }

    /// All of them, in a fixed order.
    pub fn into_problems(mut self) -> Problems {
        self.keep_last();
        let mut problems = Problems::default();
        for problem in self.told {
            problems.push(problem);
        }
        for ((file, code, column), counted) in self.counted {
            let more = match counted.times {
                1 => String::new(),
                times => format!(" ({times} times; the first is shown)"),
            };
            problems.push(Problem {
                severity: counted.kind.severity,
                code: code.to_owned(),
                file,
                tab: String::new(),
                row: counted.row.and_then(|row| u32::try_from(row).ok()),
                column,
                value: counted.value,
                expected: counted.kind.expected.to_owned(),
                action: format!("{}{more}", counted.kind.action),
            });
        }
        problems
    }
}

/// At most 80 characters, as [`Problem::value`] asks.
fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}
