//! Cells of one tab to typed rows: finds the header row by name, gives each column its meaning once,
//! then sends every cell straight to its field.
//!
//! Columns are found by name and never by position; rows that repeat the header or lack the key are
//! left out and counted; every value that cannot be read becomes a [`Problem`].

mod plan;
mod take;

use jiff::civil::DateTime;
use plimsoll_units::Mib;

use crate::cell::{Cell, OwnedCell};
use crate::export::{Export, TabSummary};
use crate::headers::{self, TabHeaders};
use crate::intern::Interner;
use crate::limits::Limits;
use crate::problem::{Problem, Problems, Severity};
use crate::rows::{PowerState, RowRef, Text};
use crate::tab::Tab;

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
    Path(PathsOf<R>),
    PathState(PathsOf<R>),
}

/// The paths of a row, each with its state.
type PathsOf<R> = fn(&mut R) -> &mut Vec<(Text, Option<Text>)>;

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
    /// True once [`Sink::wants`] has its final answer.
    fn is_header_known(&self) -> bool;
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
}

impl<R: TabRow> Sink for Table<R> {
    fn wants(&self, column: u32) -> bool {
        !self.header_known
            || self.steps.get(column as usize).is_some_and(|step| !matches!(step, Step::Skip))
            || column >= self.place.limits.columns
    }

    fn is_header_known(&self) -> bool {
        self.header_known
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
