//! Reads all files of a run into one [`Export`].

mod refuse;
mod texts;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read;

use sha2::{Digest, Sha256};

use self::refuse::{check_minimum, no_tabs};
use crate::book::{Book, Sheet, SheetFault};
use crate::cell::Cell;
use crate::columns::sink_for;
use crate::error::{Error, ErrorCode};
use crate::export::{Export, InputFile, SourceKind, TabSummary};
use crate::headers;
use crate::input::{Input, Observer, Progress, Source};
use crate::leaves::{Leaves, Unit};
use crate::limits::Limits;
use crate::problem::{Problem, Severity};
use crate::recognise;
use crate::tab::{Tab, TabName, parse_sheet_name};
use crate::table::{Finished, Place, Sink};
use crate::xls::LegacyWorkbook;
use crate::xlsx::Workbook;

/// Headers that a sheet or file without a telling name must have to be taken for a tab.
const TELLING_HEADERS: usize = 3;

/// Reads the files of one run.
///
/// `observer` hears of progress and answers false to stop.
///
/// # Errors
///
/// The first input that is refused: not an RVTools export, damaged, protected, beyond the limits, or
/// without the least that sizing needs. Everything else is in [`Export::problems`].
pub fn read(
    inputs: Vec<Input>,
    limits: &Limits,
    observer: &mut Observer<'_>,
) -> Result<Export, Error> {
    let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
    let names = names.join(", ");
    if inputs.is_empty() {
        return Err(Error::new(
            ErrorCode::Empty,
            "",
            "no file was given",
            "an RVTools export (xlsx, xls, or CSV files)",
            "give at least one file",
        ));
    }
    let mut leaves = Leaves::new(limits);
    for input in &inputs {
        leaves.add(input)?;
    }
    let Leaves { units, problems, input_bytes, .. } = leaves;
    let total_bytes = units.iter().map(unit_bytes).sum();
    let mut run = Run {
        limits,
        observer,
        export: Export { problems, ..Export::default() },
        done_bytes: 0,
        total_bytes,
        memory: limits
            .row_bytes
            .saturating_add(input_bytes.saturating_mul(limits.row_bytes_per_input_byte)),
    };
    for unit in units {
        let bytes = unit_bytes(&unit);
        run.read_unit(unit)?;
        run.done_bytes += bytes;
    }
    let export = run.export;
    check_minimum(&names, &export)?;
    Ok(export)
}

/// Bytes that reading a unit goes through.
fn unit_bytes(unit: &Unit) -> u64 {
    match unit {
        Unit::Workbook { archive, .. } => archive.entries.iter().map(|entry| entry.size).sum(),
        Unit::LegacyWorkbook { source, .. } => source.len().unwrap_or(0),
        Unit::Texts { files, .. } => files
            .iter()
            .map(|file| match &file.content {
                crate::leaves::Content::Source(source) => source.len().unwrap_or(0),
                crate::leaves::Content::Inner(_, entry) => entry.size,
            })
            .sum(),
    }
}

/// A run in progress.
struct Run<'r, 'o> {
    limits: &'r Limits,
    observer: &'r mut Observer<'o>,
    export: Export,
    done_bytes: u64,
    total_bytes: u64,
    /// Memory left for rows.
    memory: u64,
}

/// What was learnt of a file beside its rows.
#[derive(Default)]
struct Findings {
    tabs: Vec<TabSummary>,
    db_names: usize,
    display_names: usize,
}

impl Run<'_, '_> {
    fn read_unit(&mut self, unit: Unit) -> Result<(), Error> {
        match unit {
            Unit::Workbook { name, source, archive } => {
                let (sha256, bytes) = digest(&name, &source)?;
                if self.is_repeated(&name, &sha256) {
                    return Ok(());
                }
                if !self.tick(&name, "", 0, 0) {
                    return Err(Error::cancelled(&name));
                }
                let mut book = Workbook::open(&name, &archive, self.limits)?;
                let read = self.read_book(&name, &mut book)?;
                self.push_file(name, sha256, bytes, read);
            }
            Unit::LegacyWorkbook { name, source } => {
                let (sha256, bytes) = digest(&name, &source)?;
                if self.is_repeated(&name, &sha256) {
                    return Ok(());
                }
                let bytes_read = source.bytes().map_err(|error| Error::io(&name, &error))?;
                let mut book = LegacyWorkbook::open(&name, &bytes_read)?;
                let read = self.read_book(&name, &mut book)?;
                self.push_file(name, sha256, bytes, read);
            }
            Unit::Texts { name, files } => self.read_texts(name, &files)?,
        }
        Ok(())
    }

    fn push_file(&mut self, name: String, sha256: String, bytes: u64, read: Findings) {
        let db_names = read.db_names > read.display_names;
        let tabs: Vec<&str> =
            read.tabs.iter().filter(|tab| tab.used).map(|tab| tab.tab.as_str()).collect();
        let family = if db_names { "internal column names" } else { "display column names" };
        self.export.files.push(InputFile {
            name,
            sha256,
            bytes,
            kind: if db_names { SourceKind::RvtoolsDbNames } else { SourceKind::RvtoolsDisplay },
            reason: format!("RVTools by the tabs {} with {family}", tabs.join(", ")),
            tabs: read.tabs,
        });
    }

    fn file_index(&self) -> u32 {
        u32::try_from(self.export.files.len()).unwrap_or(u32::MAX)
    }

    /// The same bytes twice would count every VM twice.
    fn is_repeated(&mut self, name: &str, sha256: &str) -> bool {
        let Some(first) = self.export.files.iter().find(|file| file.sha256 == sha256) else {
            return false;
        };
        let value = format!("same content as {}", first.name);
        self.note(
            Severity::Warning,
            "file-repeated",
            name,
            "",
            &value,
            "each file once",
            "not read again",
        );
        true
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of a problem")]
    fn note(
        &mut self,
        severity: Severity,
        code: &str,
        file: &str,
        tab: &str,
        value: &str,
        expected: &str,
        action: &str,
    ) {
        self.export.problems.push(Problem {
            severity,
            code: code.to_owned(),
            file: file.to_owned(),
            tab: tab.to_owned(),
            row: None,
            column: String::new(),
            value: crate::secrets::shown(value),
            expected: expected.to_owned(),
            action: action.to_owned(),
        });
    }

    fn tick(&mut self, file: &str, tab: &str, rows: u64, inner_bytes: u64) -> bool {
        (self.observer)(Progress {
            file,
            tab,
            rows,
            done_bytes: (self.done_bytes + inner_bytes).min(self.total_bytes),
            total_bytes: Some(self.total_bytes),
        })
    }

    fn place(&self, tab: Tab, file_name: &str, found_as: &str, is_1904: bool) -> Place {
        Place {
            tab,
            file: self.file_index(),
            file_name: file_name.to_owned(),
            found_as: found_as.to_owned(),
            is_1904,
            limits: *self.limits,
            memory: self.memory,
        }
    }

    fn finish(
        &mut self,
        file: &str,
        sink: Box<dyn Sink>,
        read: &mut Findings,
    ) -> Result<(), Error> {
        let Finished { summary, problems, redacted, db_names, memory, is_too_large, store } =
            sink.finish();
        if is_too_large {
            return Err(Error::new(
                ErrorCode::TooLarge,
                file,
                format!("more rows than its size explains: {} in {}", summary.rows, summary.tab),
                "rows as RVTools writes them",
                "delete the empty rows, or export again",
            ));
        }
        self.memory = self.memory.saturating_sub(memory);
        if summary.rows > 0 {
            read.db_names += usize::from(db_names);
            read.display_names += usize::from(!db_names);
        }
        let summary_tab = summary.tab.clone();
        read.tabs.push(summary);
        self.export.problems.append(problems);
        if summary_tab == Tab::Info.name() {
            self.export.redacted_secrets.extend(redacted);
        } else if !redacted.is_empty() {
            let rows = format!("{} rows", redacted.len());
            self.note(
                Severity::Warning,
                "secret-redacted",
                file,
                &summary_tab,
                &rows,
                "free text without passwords, tokens and keys",
                "they were taken out before the text was stored",
            );
        }
        store(&mut self.export);
        Ok(())
    }

    fn read_book(&mut self, name: &str, book: &mut dyn Book) -> Result<Findings, Error> {
        let sheets = book.sheets().to_vec();
        let names: Vec<String> = sheets.iter().map(|sheet| sheet.name.clone()).collect();
        if let Some(foreign) = recognise::workbook(&names, |sheet| peek(book, sheet)) {
            return Err(foreign.error(name));
        }
        let mut chosen = self.choose(name, &sheets);
        if chosen.is_empty() {
            for at in 0..sheets.len().min(8) {
                let texts = peek(book, at);
                if let Some(tab) = telling_tab(texts.iter().map(String::as_str))
                    && !chosen.values().any(|taken| *taken == tab)
                {
                    chosen.insert(at, tab);
                }
            }
        }
        if chosen.is_empty() {
            return Err(no_tabs(name, &names));
        }
        let is_1904 = book.is_1904();
        let mut read = Findings::default();
        for (at, sheet) in sheets.iter().enumerate() {
            let Some(tab) = chosen.get(&at).copied() else {
                read.tabs.push(unread(&sheet.name));
                continue;
            };
            let mut sink = sink_for(self.place(tab, name, &sheet.name, is_1904));
            let outcome = book.read_sheet(at, sink.as_mut(), &mut |sink, bytes| {
                self.tick(name, tab.name(), sink.rows(), bytes)
            });
            match outcome {
                Ok(()) => {}
                Err(SheetFault::Cancelled) => return Err(Error::cancelled(name)),
                Err(SheetFault::Barren) => self.note(
                    Severity::Warning,
                    "barren-stretch",
                    name,
                    tab.name(),
                    "",
                    &format!("a value within {} bytes of the sheet", self.limits.barren_bytes),
                    "reading of the tab ended there; what stands above is used",
                ),
                Err(SheetFault::Unreadable(detail)) => self.note(
                    Severity::Error,
                    "sheet-unreadable",
                    name,
                    tab.name(),
                    &detail,
                    "a sound sheet",
                    "reading of the tab ended there; what stands above is used",
                ),
            }
            self.finish(name, sink, &mut read)?;
        }
        Ok(read)
    }

    /// Which sheet stands for each tab: visible before hidden, plain before copies, first of equals.
    fn choose(&mut self, file: &str, sheets: &[Sheet]) -> BTreeMap<usize, Tab> {
        let mut candidates: BTreeMap<Tab, Vec<(bool, bool, usize)>> = BTreeMap::new();
        for (at, sheet) in sheets.iter().enumerate() {
            if let TabName::Read { tab, copy } = parse_sheet_name(&sheet.name) {
                candidates.entry(tab).or_default().push((!sheet.visible, copy, at));
            }
        }
        let mut chosen = BTreeMap::new();
        for (tab, mut found) in candidates {
            found.sort_unstable();
            let (hidden, _, at) = found[0];
            chosen.insert(at, tab);
            if hidden {
                self.note(
                    Severity::Warning,
                    "sheet-hidden",
                    file,
                    tab.name(),
                    &sheets[at].name,
                    "a visible sheet",
                    "the hidden sheet was read, since there is no other",
                );
            }
            for (_, _, other) in &found[1..] {
                self.note(
                    Severity::Warning,
                    "sheet-duplicate",
                    file,
                    tab.name(),
                    &sheets[*other].name,
                    "one sheet for each tab",
                    &format!("not read; {} was", sheets[at].name),
                );
            }
        }
        chosen
    }
}

/// The first texts of a sheet, for recognising what it is.
fn peek(book: &mut dyn Book, sheet: usize) -> Vec<String> {
    let mut sink = Peek::default();
    // A sheet that cannot be read says nothing; reading it for good will report why.
    let _ = book.read_sheet(sheet, &mut sink, &mut |_, _| true);
    sink.texts
}

/// Keeps the first texts and nothing else.
#[derive(Default)]
struct Peek {
    texts: Vec<String>,
    cells: usize,
}

impl Sink for Peek {
    fn wants(&self, _column: u32) -> bool {
        true
    }

    fn is_header_known(&self) -> bool {
        false
    }

    fn cell(&mut self, _row: u32, _column: u32, cell: Cell<'_>) {
        self.cells += 1;
        if let Cell::Text(text) = cell {
            self.texts.push(text.chars().take(200).collect());
        }
    }

    fn rows(&self) -> u64 {
        0
    }

    fn is_closed(&self) -> bool {
        const ENOUGH: usize = 200;
        self.cells >= ENOUGH
    }

    fn report(&mut self, _problem: Problem) {}

    fn finish(self: Box<Self>) -> Finished {
        Finished {
            summary: unread(""),
            problems: crate::problem::Problems::default(),
            redacted: Vec::new(),
            db_names: false,
            memory: 0,
            is_too_large: false,
            store: Box::new(|_| {}),
        }
    }
}

/// The tab whose headers the texts hold most of, if they hold enough.
fn telling_tab<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Option<Tab> {
    let mut best = None;
    let mut most = TELLING_HEADERS - 1;
    for tab in Tab::ALL {
        let score = headers::of(tab).score(texts.clone());
        if score > most {
            most = score;
            best = Some(tab);
        }
    }
    best
}

fn unread(sheet: &str) -> TabSummary {
    let tab = match parse_sheet_name(sheet) {
        TabName::Unread(name) => name.to_owned(),
        TabName::Read { tab, .. } => tab.name().to_owned(),
        TabName::Unknown => sheet.to_owned(),
    };
    TabSummary { tab, found_as: sheet.to_owned(), rows: 0, custom_columns: Vec::new(), used: false }
}

/// SHA-256 and size of a source.
fn digest(name: &str, source: &Source) -> Result<(String, u64), Error> {
    let mut reader = source.open().map_err(|error| Error::io(name, &error))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut bytes = 0;
    loop {
        let count = reader.read(&mut buffer).map_err(|error| Error::io(name, &error))?;
        if count == 0 {
            break;
        }
        hash.update(&buffer[..count]);
        bytes += count as u64;
    }
    Ok((hex(&hash.finalize()), bytes))
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
