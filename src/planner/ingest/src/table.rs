//! Cells of one tab to typed rows: finds the header row by name, gives each column its meaning once,
//! then sends every cell straight to its field.
//!
//! Columns are found by name and never by position; rows that repeat the header or lack the key are
//! left out and counted; every value that cannot be read becomes a [`Problem`].

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::civil::DateTime;
use plimsoll_units::Mib;

use crate::cell::{Cell, OwnedCell};
use crate::date::{Date, date};
use crate::export::{Export, TabSummary};
use crate::headers::{self, Meaning, TabHeaders};
use crate::intern::Interner;
use crate::limits::Limits;
use crate::number::{Number, decimal, percent, whole};
use crate::problem::{Problem, Problems, Severity};
use crate::rows::{PowerState, RowRef, Text};
use crate::secrets;
use crate::tab::Tab;
use crate::words::{flag, power_state};

/// Rows searched for the header.
const HEADER_ROWS: usize = 20;
/// So many known headers in one row settle it without looking further.
const SURE_HEADERS: usize = 5;

/// What a shared text takes beside its bytes: counts, and the allocation's rounding.
pub(crate) const TEXT_OVERHEAD: u64 = 32;

/// Where a column's values go, by kind.
pub(crate) enum Field<R> {
    /// Text that repeats between rows.
    Text(fn(&mut R) -> &mut Option<Text>),
    /// Text that rarely repeats.
    Unique(fn(&mut R) -> &mut Option<Text>),
    /// Free text that may hold secrets.
    Prose(fn(&mut R) -> &mut Option<Text>),
    Mib(fn(&mut R) -> &mut Option<Mib>),
    Count(fn(&mut R) -> &mut Option<u32>),
    Wide(fn(&mut R) -> &mut Option<u64>),
    Percent(fn(&mut R) -> &mut Option<u32>),
    Decimal(fn(&mut R) -> &mut Option<f64>),
    Flag(fn(&mut R) -> &mut Option<bool>),
    Power(fn(&mut R) -> &mut Option<PowerState>),
    Date(fn(&mut R) -> &mut Option<DateTime>),
    /// Texts joined by comma, semicolon or line break.
    List(fn(&mut R) -> &mut Vec<Text>),
    /// A path, and the state of the path before it.
    Path(fn(&mut R) -> &mut Vec<(Text, Option<Text>)>),
    PathState(fn(&mut R) -> &mut Vec<(Text, Option<Text>)>),
}

impl<R> Clone for Field<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R> Copy for Field<R> {}

/// A column that is missed when it is not there.
pub(crate) struct Wanted {
    /// Headers of which one is enough.
    pub(crate) any_of: &'static [&'static str],
    /// What is less accurate without it.
    pub(crate) loss: &'static str,
}

/// One typed row and its columns.
pub(crate) trait TabRow: Default + Send + 'static {
    /// Canonical header and field of each column in use.
    const COLUMNS: &'static [(&'static str, Field<Self>)];
    /// Columns whose absence is reported.
    const WANTED: &'static [Wanted];
    /// Where it stands.
    fn at(&mut self) -> &mut RowRef;
    /// False for a row that names nothing.
    fn has_key(&self) -> bool;
    /// Custom attributes, for the tabs that keep them.
    fn custom(&mut self) -> Option<&mut Vec<(Text, Text)>> {
        None
    }
    /// A contradiction between the values of the row: column, value, expectation.
    fn contradiction(&self) -> Option<(&'static str, String, String)> {
        None
    }
    /// Puts the rows into the export.
    fn store(rows: Vec<Self>, tab: Tab, export: &mut Export);
}

/// What identifies the tab being read.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) tab: Tab,
    /// Index into `Export::files`.
    pub(crate) file: u32,
    /// Name for messages.
    pub(crate) file_name: String,
    /// Sheet or file name as found.
    pub(crate) found_as: String,
    pub(crate) is_1904: bool,
    pub(crate) limits: Limits,
    /// Memory that the rows of the tab may take, in bytes.
    pub(crate) memory: u64,
}

/// Takes the cells of one tab.
pub(crate) trait Sink {
    /// False for a column of which nothing is used.
    fn wants(&self, column: u32) -> bool;
    /// One cell; row and column count from 0.
    fn cell(&mut self, row: u32, column: u32, cell: Cell<'_>);
    /// Rows met so far.
    fn rows(&self) -> u64;
    /// True when nothing further can be of use.
    fn is_closed(&self) -> bool;
    /// Adds a problem that the reader met.
    fn report(&mut self, problem: Problem);
    /// Ends the tab.
    fn finish(self: Box<Self>) -> Finished;
}

/// A tab that has been read.
pub(crate) struct Finished {
    pub(crate) summary: TabSummary,
    pub(crate) problems: Problems,
    pub(crate) redacted: Vec<RowRef>,
    /// Most of its headers are internal names.
    pub(crate) db_names: bool,
    /// Memory that its rows take, in bytes.
    pub(crate) memory: u64,
    /// The rows took more memory than allowed, and reading stopped.
    pub(crate) is_too_large: bool,
    /// Puts its rows into the export.
    pub(crate) store: Box<dyn FnOnce(&mut Export) + Send>,
}

/// What to do with the cells of one column.
enum Step<R> {
    Skip,
    Field(Field<R>),
    Custom(Text),
}

/// The state of reading one tab.
pub(crate) struct Table<R: TabRow> {
    place: Place,
    headers: &'static TabHeaders,
    /// Rows before the header is known.
    waiting: Vec<(u32, Vec<(u32, OwnedCell)>)>,
    header_known: bool,
    closed: bool,
    db_names: bool,
    steps: Vec<Step<R>>,
    /// Headers as found, by column.
    found: Vec<String>,
    /// The same, normalised.
    keys: Vec<String>,
    custom_columns: Vec<String>,
    /// The last text of each column: most columns repeat it.
    last: Vec<Option<Text>>,
    texts: Interner,
    rows: Vec<R>,
    row: Option<Current<R>>,
    /// What the rows and their texts take, in bytes.
    memory: u64,
    problems: Problems,
    redacted: Vec<RowRef>,
    repeated_headers: u64,
    keyless_rows: u64,
    beyond_cap: u64,
}

/// The row being filled.
struct Current<R> {
    number: u32,
    value: R,
    filled: u32,
    /// Cells equal to their column's header.
    like_header: u32,
    problems: Vec<Problem>,
    redacted: bool,
}

impl<R: TabRow> Table<R> {
    pub(crate) fn new(place: Place) -> Self {
        Self {
            headers: headers::of(place.tab),
            place,
            waiting: Vec::new(),
            header_known: false,
            closed: false,
            db_names: false,
            steps: Vec::new(),
            found: Vec::new(),
            keys: Vec::new(),
            custom_columns: Vec::new(),
            last: Vec::new(),
            texts: Interner::default(),
            rows: Vec::new(),
            row: None,
            memory: 0,
            problems: Problems::default(),
            redacted: Vec::new(),
            repeated_headers: 0,
            keyless_rows: 0,
            beyond_cap: 0,
        }
    }

    fn problem(&self, severity: Severity, code: &str) -> Problem {
        Problem {
            severity,
            code: code.to_owned(),
            file: self.place.file_name.clone(),
            tab: self.place.tab.name().to_owned(),
            row: None,
            column: String::new(),
            value: String::new(),
            expected: String::new(),
            action: String::new(),
        }
    }

    /// Keeps a cell until the header is known.
    fn wait(&mut self, row: u32, column: u32, cell: Cell<'_>) {
        let is_new = self.waiting.last().is_none_or(|(number, _)| *number != row);
        if is_new {
            if self.waiting.last().is_some_and(|(_, cells)| self.score(cells) >= SURE_HEADERS)
                || self.waiting.len() >= HEADER_ROWS
            {
                self.settle_header();
                self.cell(row, column, cell);
                return;
            }
            self.waiting.push((row, Vec::new()));
        }
        if let Some((_, cells)) = self.waiting.last_mut() {
            cells.push((column, cell.into()));
        }
    }

    fn score(&self, cells: &[(u32, OwnedCell)]) -> usize {
        self.headers.score(cells.iter().filter_map(|(_, cell)| match cell {
            OwnedCell::Text(text) => Some(text.as_str()),
            _ => None,
        }))
    }

    /// Takes the waiting row with the most known headers, then plays the rows below it.
    fn settle_header(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        let scores: Vec<usize> = waiting.iter().map(|(_, cells)| self.score(cells)).collect();
        let best = scores.iter().copied().max().unwrap_or(0);
        self.header_known = true;
        if best == 0 {
            self.closed = true;
            if !waiting.is_empty() {
                let mut problem = self.problem(Severity::Error, "header-missing");
                problem.expected = format!(
                    "within the first {HEADER_ROWS} filled rows one with headers such as {}",
                    self.headers.order.iter().take(4).cloned().collect::<Vec<_>>().join(", ")
                );
                problem.action = "the tab was left out".to_owned();
                self.problems.push(problem);
            }
            return;
        }
        let at = scores.iter().position(|score| *score == best).unwrap_or(0);
        let mut rows = waiting.into_iter().skip(at);
        if let Some((_, cells)) = rows.next() {
            self.plan(&cells);
        }
        for (number, cells) in rows {
            for (column, cell) in &cells {
                self.cell(number, *column, cell.borrow());
            }
        }
    }

    /// Gives each column its step.
    fn plan(&mut self, header: &[(u32, OwnedCell)]) {
        let width = header.iter().map(|(column, _)| *column as usize + 1).max().unwrap_or(0);
        let mut found = vec![String::new(); width];
        for (column, cell) in header {
            found[*column as usize] = match cell {
                OwnedCell::Text(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
                OwnedCell::Number(number) => number.to_string(),
                _ => String::new(),
            };
        }
        let mut meanings: Vec<Meaning> =
            found.iter().map(|header| self.headers.meaning(header)).collect();
        self.recover_key(&found, &mut meanings);
        let mut columns_of: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut db_names = 0;
        for (column, meaning) in meanings.iter().enumerate() {
            if let Meaning::Known { place, db_name } = meaning {
                columns_of.entry(*place).or_default().push(column);
                db_names += usize::from(*db_name);
            }
        }
        self.db_names = db_names * 2 > columns_of.len();
        let fields: BTreeMap<&str, Field<R>> = R::COLUMNS.iter().copied().collect();
        let keeps_custom = R::default().custom().is_some();
        self.steps = meanings
            .iter()
            .enumerate()
            .map(|(column, meaning)| match meaning {
                Meaning::Extra | Meaning::Dropped => Step::Skip,
                Meaning::Unknown if found[column].is_empty() => Step::Skip,
                Meaning::Unknown => {
                    self.custom_columns.push(found[column].clone());
                    if keeps_custom {
                        Step::Custom(Arc::from(custom_name(&found[column], self.place.tab)))
                    } else {
                        Step::Skip
                    }
                }
                Meaning::Known { place, .. } => {
                    let candidates = columns_of.get(place).map_or(&[][..], Vec::as_slice);
                    let canonical = self.headers.order[*place].as_str();
                    let own = match candidates {
                        [only] => *only,
                        several => self.headers.own_column(*place, several, &meanings),
                    };
                    if own == column {
                        fields.get(canonical).map_or(Step::Skip, |field| Step::Field(*field))
                    } else {
                        self.custom_columns.push(found[column].clone());
                        Step::Custom(Arc::from(found[column].as_str()))
                    }
                }
            })
            .collect();
        for (place, candidates) in &columns_of {
            if candidates.len() > 1 {
                let own = self.headers.own_column(*place, candidates, &meanings);
                self.report_duplicate(&self.headers.order[*place].clone(), candidates, own, &found);
            }
        }
        if !keeps_custom {
            for step in &mut self.steps {
                if matches!(step, Step::Custom(_)) {
                    *step = Step::Skip;
                }
            }
        }
        let present = |header: &str| {
            self.headers
                .order
                .iter()
                .position(|known| known == header)
                .is_some_and(|place| columns_of.contains_key(&place))
        };
        let mut missing = Vec::new();
        for wanted in R::WANTED {
            if !wanted.any_of.iter().any(|header| present(header)) {
                let mut problem = self.problem(Severity::Warning, "column-missing");
                problem.column = wanted.any_of.join(" or ");
                let accepted: Vec<String> =
                    wanted.any_of.iter().map(|header| self.headers.accepted(header)).collect();
                problem.expected = format!("a column {}", accepted.join(" | "));
                problem.action = wanted.loss.to_owned();
                missing.push(problem);
            }
        }
        for problem in missing {
            self.problems.push(problem);
        }
        self.last = vec![None; width];
        self.keys = found.iter().map(|header| headers::normalise(header)).collect();
        self.found = found;
    }

    /// A find-and-replace over the workbook may have hit the first header: the column that stands
    /// where the key stands, right before the second header of the tab, is taken for it.
    fn recover_key(&mut self, found: &[String], meanings: &mut [Meaning]) {
        let has_key = meanings.iter().any(|m| matches!(m, Meaning::Known { place: 0, .. }));
        let before_second = meanings
            .windows(2)
            .position(|pair| {
                pair[0] == Meaning::Unknown && matches!(pair[1], Meaning::Known { place: 1, .. })
            })
            .filter(|column| !has_key && !found[*column].is_empty());
        let Some(column) = before_second else { return };
        meanings[column] = Meaning::Known { place: 0, db_name: false };
        let key = self.headers.order.first().cloned().unwrap_or_default();
        let next = self.headers.order.get(1).cloned().unwrap_or_default();
        let mut problem = self.problem(Severity::Warning, "header-replaced");
        problem.column.clone_from(&found[column]);
        problem.expected = format!("the header {}", self.headers.accepted(&key));
        problem.action = format!("the column was taken for {key}, since it stands before {next}");
        self.problems.push(problem);
    }

    fn report_duplicate(&mut self, header: &str, columns: &[usize], own: usize, found: &[String]) {
        let in_use = R::COLUMNS.iter().any(|(name, _)| *name == header);
        let severity = if in_use { Severity::Warning } else { Severity::Note };
        let mut problem = self.problem(severity, "duplicate-column");
        problem.column = header.to_owned();
        problem.value = columns
            .iter()
            .map(|column| format!("{} ({})", found[*column], column_letters(*column)))
            .collect::<Vec<_>>()
            .join(", ");
        problem.expected = "one column of that name".to_owned();
        problem.action = format!(
            "column {} was used, the others count as custom attributes",
            column_letters(own)
        );
        self.problems.push(problem);
    }

    fn finish_row(&mut self) {
        let Some(mut row) = self.row.take() else { return };
        let repeats_header = row.like_header >= 2 && row.like_header * 2 >= row.filled;
        if repeats_header {
            self.repeated_headers += 1;
            return;
        }
        if !row.value.has_key() {
            self.keyless_rows += u64::from(row.filled > 0);
            return;
        }
        if let Some((column, value, expected)) = row.value.contradiction() {
            let mut problem = self.problem(Severity::Warning, "values-contradict");
            problem.row = Some(row.number);
            problem.column = column.to_owned();
            problem.value = value;
            problem.expected = expected;
            problem.action = "kept as read".to_owned();
            row.problems.push(problem);
        }
        for problem in row.problems {
            self.problems.push(problem);
        }
        if row.redacted {
            self.redacted.push(RowRef { file: self.place.file, row: row.number });
        }
        self.rows.push(row.value);
        self.memory += size_of::<R>() as u64;
        self.closed |= self.memory > self.place.memory;
    }

    /// The shared text of a cell, without secrets when asked.
    fn take_text(&mut self, column: usize, cell: Cell<'_>, kind: TextKind) -> Option<Text> {
        let made;
        let text = match cell {
            Cell::Blank | Cell::Error => return None,
            Cell::Text(text) => text,
            Cell::Number(number) => {
                made = number.to_string();
                &made
            }
            Cell::Bool(flag) => {
                if flag {
                    "True"
                } else {
                    "False"
                }
            }
            Cell::Date(serial) => {
                made = match date(Cell::Date(serial), self.place.is_1904) {
                    Date::Value(at) => at.strftime("%Y/%m/%d %H:%M:%S").to_string(),
                    _ => serial.as_f64().to_string(),
                };
                &made
            }
        };
        let text = self.cut(column, text);
        match kind {
            TextKind::Repeating => {
                if let Some(Some(last)) = self.last.get(column)
                    && **last == *text
                {
                    return Some(Arc::clone(last));
                }
                let shared = self.texts.get(text, &mut self.memory);
                if let Some(last) = self.last.get_mut(column) {
                    *last = Some(Arc::clone(&shared));
                }
                Some(shared)
            }
            TextKind::Unique => {
                self.memory += TEXT_OVERHEAD + text.len() as u64;
                Some(Arc::from(text))
            }
            TextKind::Prose => {
                if let Some(Some(last)) = self.last.get(column)
                    && **last == *text
                {
                    return Some(Arc::clone(last));
                }
                let (clean, found) = secrets::redact(text);
                if found && let Some(row) = &mut self.row {
                    row.redacted = true;
                }
                let shared = self.texts.get(&clean, &mut self.memory);
                if !found && let Some(last) = self.last.get_mut(column) {
                    *last = Some(Arc::clone(&shared));
                }
                Some(shared)
            }
        }
    }

    /// Text beyond the cap is cut off and said.
    fn cut<'t>(&mut self, column: usize, text: &'t str) -> &'t str {
        let cap = self.place.limits.text_chars;
        if text.len() <= cap {
            return text;
        }
        if text.len() <= 4 * cap && text.chars().count() <= cap {
            return text;
        }
        let end = text.floor_char_boundary(cap);
        self.cell_problem(
            column,
            Severity::Warning,
            "text-too-long",
            "",
            &format!("at most {cap} characters"),
            "the rest was cut off",
        );
        &text[..end]
    }

    fn cell_problem(
        &mut self,
        column: usize,
        severity: Severity,
        code: &str,
        value: &str,
        expected: &str,
        action: &str,
    ) {
        let mut problem = self.problem(severity, code);
        problem.column = self.found.get(column).cloned().unwrap_or_default();
        problem.value = secrets::shown(value);
        expected.clone_into(&mut problem.expected);
        action.clone_into(&mut problem.action);
        if let Some(row) = &mut self.row {
            problem.row = Some(row.number);
            // A row of a thousand bad cells says nothing more than one of a hundred.
            const PER_ROW: usize = 100;
            if row.problems.len() < PER_ROW {
                row.problems.push(problem);
            }
        }
    }

    fn unreadable(&mut self, column: usize, cell: Cell<'_>, expected: &str) {
        let value = match cell {
            Cell::Text(text) => text.to_owned(),
            Cell::Number(number) => number.to_string(),
            Cell::Bool(flag) => flag.to_string(),
            Cell::Date(serial) => serial.as_f64().to_string(),
            Cell::Blank | Cell::Error => String::new(),
        };
        self.cell_problem(
            column,
            Severity::Error,
            "value-unreadable",
            &value,
            expected,
            "taken as missing",
        );
    }

    /// Reads a whole number and reports what is not one.
    fn take_whole(&mut self, column: usize, cell: Cell<'_>, read: Number<u64>) -> Option<u64> {
        match read {
            Number::Value(number) => Some(number),
            Number::Missing | Number::Unlimited => None,
            Number::Rounded(number) => {
                let value = match cell {
                    Cell::Text(text) => text.to_owned(),
                    Cell::Number(number) => number.to_string(),
                    _ => String::new(),
                };
                self.cell_problem(
                    column,
                    Severity::Note,
                    "fraction-rounded",
                    &value,
                    "a whole number",
                    &format!("rounded to {number}"),
                );
                Some(number)
            }
            Number::Unreadable => {
                self.unreadable(column, cell, "a whole number, not negative; -1 for unlimited");
                None
            }
        }
    }

    fn take_count(&mut self, column: usize, cell: Cell<'_>, read: Number<u64>) -> Option<u32> {
        let number = self.take_whole(column, cell, read)?;
        let count = u32::try_from(number).ok();
        if count.is_none() {
            self.unreadable(column, cell, "a whole number below 4,294,967,296");
        }
        count
    }

    fn fill(&mut self, column: usize, cell: Cell<'_>) {
        let step = match self.steps.get(column) {
            Some(Step::Field(field)) => *field,
            Some(Step::Custom(name)) => {
                let name = Arc::clone(name);
                if let Some(value) = self.take_text(column, cell, TextKind::Prose)
                    && let Some(row) = &mut self.row
                    && let Some(custom) = row.value.custom()
                {
                    custom.push((name, value));
                    self.memory += size_of::<(Text, Text)>() as u64;
                }
                return;
            }
            Some(Step::Skip) | None => return,
        };
        if cell == Cell::Error {
            self.cell_problem(
                column,
                Severity::Warning,
                "error-value",
                "",
                "a value, not an error of the spreadsheet",
                "taken as missing",
            );
            return;
        }
        match step {
            Field::Text(field) => {
                let value = self.take_text(column, cell, TextKind::Repeating);
                self.set_once(field, value);
            }
            Field::Unique(field) => {
                let value = self.take_text(column, cell, TextKind::Unique);
                self.set_once(field, value);
            }
            Field::Prose(field) => {
                let value = self.take_text(column, cell, TextKind::Prose);
                self.set_once(field, value);
            }
            Field::Mib(field) => {
                let value = self.take_whole(column, cell, whole(cell)).map(Mib);
                self.set_once(field, value);
            }
            Field::Count(field) => {
                let value = self.take_count(column, cell, whole(cell));
                self.set_once(field, value);
            }
            Field::Wide(field) => {
                let value = self.take_whole(column, cell, whole(cell));
                self.set_once(field, value);
            }
            Field::Percent(field) => {
                let value = self.take_count(column, cell, percent(cell));
                self.set_once(field, value);
            }
            Field::Decimal(field) => match decimal(cell) {
                Number::Value(number) | Number::Rounded(number) => {
                    self.set_once(field, Some(number));
                }
                Number::Missing | Number::Unlimited => {}
                Number::Unreadable => self.unreadable(column, cell, "a number"),
            },
            Field::Flag(field) => match flag(cell) {
                Ok(value) => self.set_once(field, value),
                Err(()) => self.unreadable(column, cell, "True or False, in a known language"),
            },
            Field::Power(field) => match power_state(cell) {
                Ok(value) => self.set_once(field, value),
                Err(()) => self.unreadable(column, cell, "poweredOn, poweredOff or suspended"),
            },
            Field::Date(field) => match date(cell, self.place.is_1904) {
                Date::Value(value) => self.set_once(field, Some(value)),
                Date::Missing | Date::Epoch => {}
                Date::Unreadable => {
                    self.unreadable(
                        column,
                        cell,
                        "a date: a serial, ISO 8601 or yyyy/mm/dd hh:mm:ss",
                    );
                }
            },
            Field::List(field) => {
                if let Cell::Text(text) = cell {
                    let text = self.cut(column, text);
                    let parts: Vec<Text> = text
                        .split([',', ';', '\n', '\r'])
                        .map(str::trim)
                        .filter(|part| !part.is_empty())
                        .map(|part| self.texts.get(part, &mut self.memory))
                        .collect();
                    self.memory += (parts.len() * size_of::<Text>()) as u64;
                    if let Some(row) = &mut self.row {
                        *field(&mut row.value) = parts;
                    }
                } else if let Some(text) = self.take_text(column, cell, TextKind::Repeating)
                    && let Some(row) = &mut self.row
                {
                    *field(&mut row.value) = vec![text];
                }
            }
            Field::Path(field) => {
                if let Some(text) = self.take_text(column, cell, TextKind::Repeating)
                    && let Some(row) = &mut self.row
                {
                    field(&mut row.value).push((text, None));
                }
            }
            Field::PathState(field) => {
                if let Some(text) = self.take_text(column, cell, TextKind::Repeating)
                    && let Some(row) = &mut self.row
                    && let Some((_, state @ None)) = field(&mut row.value).last_mut()
                {
                    *state = Some(text);
                }
            }
        }
    }

    /// Two columns may fill one field (`Disk Path`, `Path`): the first with a value stays.
    fn set_once<T>(&mut self, field: fn(&mut R) -> &mut Option<T>, value: Option<T>) {
        if let Some(row) = &mut self.row {
            let slot = field(&mut row.value);
            if slot.is_none() {
                *slot = value;
            }
        }
    }
}

#[derive(Clone, Copy)]
enum TextKind {
    Repeating,
    Unique,
    Prose,
}

impl<R: TabRow> Sink for Table<R> {
    fn wants(&self, column: u32) -> bool {
        !self.header_known
            || self.steps.get(column as usize).is_some_and(|step| !matches!(step, Step::Skip))
            || column >= self.place.limits.columns
    }

    fn cell(&mut self, row: u32, column: u32, cell: Cell<'_>) {
        if cell.is_blank() || self.closed {
            return;
        }
        if column >= self.place.limits.columns {
            self.beyond_cap += 1;
            return;
        }
        if !self.header_known {
            self.wait(row, column, cell);
            return;
        }
        let number = row.saturating_add(1);
        if self.row.as_ref().is_none_or(|current| current.number != number) {
            self.finish_row();
            if row >= self.place.limits.rows {
                self.closed = true;
                return;
            }
            let mut value = R::default();
            *value.at() = RowRef { file: self.place.file, row: number };
            self.row = Some(Current {
                number,
                value,
                filled: 0,
                like_header: 0,
                problems: Vec::new(),
                redacted: false,
            });
        }
        let column = column as usize;
        if let Some(current) = &mut self.row {
            current.filled += 1;
            // A repeated header row shows in its first cell; only then are the others compared.
            if (current.filled == 1 || current.like_header > 0)
                && let Cell::Text(text) = cell
                && let Some(key) = self.keys.get(column)
                && headers::normalise(text) == *key
            {
                current.like_header += 1;
            }
        }
        self.fill(column, cell);
    }

    fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    fn is_closed(&self) -> bool {
        self.closed
    }

    fn report(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    fn finish(mut self: Box<Self>) -> Finished {
        if !self.header_known {
            self.settle_header();
        }
        self.finish_row();
        let counted = [
            (
                self.repeated_headers,
                "header-repeated",
                "the header once",
                "these rows were left out: they repeat the header, as merged files do",
            ),
            (
                self.keyless_rows,
                "row-without-key",
                "a value in the first column of the tab",
                "these rows were left out",
            ),
            (
                self.beyond_cap,
                "column-beyond-cap",
                "fewer columns",
                "cells to the right of the last column that is read were left out",
            ),
        ];
        for (count, code, expected, action) in counted {
            if count > 0 {
                let mut problem = self.problem(Severity::Warning, code);
                problem.value = count.to_string();
                expected.clone_into(&mut problem.expected);
                action.clone_into(&mut problem.action);
                self.problems.push(problem);
            }
        }
        let tab = self.place.tab;
        let summary = TabSummary {
            tab: tab.name().to_owned(),
            found_as: self.place.found_as,
            rows: self.rows.len() as u64,
            custom_columns: self.custom_columns,
            used: true,
        };
        let mut rows = self.rows;
        rows.shrink_to_fit();
        Finished {
            summary,
            problems: self.problems,
            redacted: self.redacted,
            db_names: self.db_names,
            memory: self.memory,
            is_too_large: self.memory > self.place.memory,
            store: Box::new(move |export| R::store(rows, tab, export)),
        }
    }
}

/// Tags of the internal names, `vInfo_tags_X`, are shown as `X`.
fn custom_name(header: &str, tab: Tab) -> &str {
    header
        .strip_prefix(tab.name())
        .and_then(|rest| rest.strip_prefix("_tags_"))
        .filter(|name| !name.is_empty())
        .unwrap_or(header)
}

/// Spreadsheet letters of a column that counts from 0.
fn column_letters(column: usize) -> String {
    let mut letters = Vec::new();
    let mut rest = column + 1;
    while rest > 0 {
        rest -= 1;
        letters.push(char::from(b'A' + u8::try_from(rest % 26).unwrap_or(0)));
        rest /= 26;
    }
    letters.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_named_as_a_spreadsheet_does() {
        assert_eq!(column_letters(0), "A");
        assert_eq!(column_letters(25), "Z");
        assert_eq!(column_letters(26), "AA");
        assert_eq!(column_letters(701), "ZZ");
        assert_eq!(column_letters(702), "AAA");
    }
}
