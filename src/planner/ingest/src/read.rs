//! Reads all files of a run into one [`Export`].

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read;

use sha2::{Digest, Sha256};

use crate::book::{Book, Sheet, SheetFault};
use crate::cell::Cell;
use crate::columns::sink_for;
use crate::delimited::{Records, dialect, filled_width};
use crate::encoding::decode;
use crate::error::{Error, ErrorCode};
use crate::export::{Export, InputFile, SourceKind, TabSummary};
use crate::headers;
use crate::input::{Input, Observer, Progress, Source};
use crate::leaves::{Leaves, TextFile, Unit};
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
    let first = inputs.first().map(|input| input.name.clone()).unwrap_or_default();
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
    check_minimum(&first, &export)?;
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
        read.tabs.push(summary);
        self.export.problems.append(problems);
        self.export.redacted_secrets.extend(redacted);
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

    fn read_texts(&mut self, unit: String, files: &[TextFile]) -> Result<(), Error> {
        let mut hash = Sha256::new();
        let mut bytes_total = 0_u64;
        let mut read = Findings::default();
        let mut inner_bytes = 0;
        for file in files {
            let bytes = file.content.bytes(&file.name, self.limits)?;
            hash.update(&bytes);
            bytes_total += bytes.len() as u64;
            self.read_text(file, &bytes, inner_bytes, &mut read)?;
            inner_bytes += bytes.len() as u64;
        }
        if read.tabs.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        let name = if files.iter().any(|file| file.alone) { names.join(", ") } else { unit };
        self.push_file(name, hex(&hash.finalize()), bytes_total, read);
        Ok(())
    }

    fn read_text(
        &mut self,
        file: &TextFile,
        bytes: &[u8],
        inner_bytes: u64,
        read: &mut Findings,
    ) -> Result<(), Error> {
        let name = &file.name;
        let decoded = decode(bytes);
        let head: String = decoded.text.chars().take(8 * 1024).collect();
        if let Some(foreign) = recognise::text(&head) {
            let error = foreign.error(name);
            if file.alone {
                return Err(error);
            }
            self.note(
                Severity::Warning,
                "file-ignored",
                name,
                "",
                &error.message,
                &error.expected,
                "not read",
            );
            return Ok(());
        }
        let longest = self.limits.text_chars.saturating_mul(4);
        let named = file.tab;
        let mut dialect_found = dialect(&decoded.text, named, longest);
        if named.is_some() && dialect_found.best.is_none() {
            dialect_found = dialect(&decoded.text, None, longest);
        }
        let tab = named.or_else(|| {
            dialect_found
                .best
                .filter(|(tab, score)| {
                    *score >= TELLING_HEADERS || (*score >= 2 && *tab == Tab::Info)
                })
                .map(|(tab, _)| tab)
        });
        let Some(tab) = tab else {
            if file.alone {
                return Err(no_columns(name));
            }
            self.note(
                Severity::Note,
                "file-ignored",
                name,
                "",
                "text without columns of RVTools",
                "a tab of an RVTools export",
                "not read",
            );
            return Ok(());
        };
        if decoded.guessed || decoded.has_errors {
            let severity = if decoded.has_errors { Severity::Warning } else { Severity::Note };
            self.note(
                severity,
                "encoding-inferred",
                name,
                tab.name(),
                decoded.encoding.name(),
                "UTF-8, or UTF-16 with a byte order mark",
                if decoded.has_errors {
                    "read in this encoding; some characters could not be read"
                } else {
                    "read in this encoding"
                },
            );
        }
        let mut sink = sink_for(self.place(tab, name, name, false));
        let mut records = Records::new(&decoded.text, dialect_found.delimiter, longest);
        let mut row = 0_u32;
        let mut ragged = 0_u64;
        let mut first_ragged = 0;
        loop {
            let Some(fields) = records.next_record() else { break };
            let width = filled_width(fields);
            if width > dialect_found.width && row > 0 && dialect_found.width > 0 {
                ragged += 1;
                if ragged == 1 {
                    first_ragged = row + 1;
                }
            }
            for (column, field) in fields.iter().enumerate().take(width) {
                let column = u32::try_from(column).unwrap_or(u32::MAX);
                if sink.wants(column) {
                    sink.cell(row, column, Cell::text(field));
                }
            }
            if sink.is_closed() {
                break;
            }
            row = row.saturating_add(1);
            if row % 1024 == 0 {
                let at = records.offset() as u64;
                if !self.tick(name, tab.name(), sink.rows(), inner_bytes + at) {
                    return Err(Error::cancelled(name));
                }
            }
        }
        let stray = records.stray_quotes;
        let problem = |code: &str, row, value: String, expected: &str, action: &str| Problem {
            severity: Severity::Warning,
            code: code.to_owned(),
            file: name.clone(),
            tab: tab.name().to_owned(),
            row,
            column: String::new(),
            value,
            expected: expected.to_owned(),
            action: action.to_owned(),
        };
        if ragged > 0 {
            sink.report(problem(
                "row-ragged",
                Some(first_ragged),
                format!("{ragged} rows"),
                &format!("at most the {} fields of the header", dialect_found.width),
                "fields keep their place; those beyond the header were left out",
            ));
        }
        if stray > 0 {
            sink.report(problem(
                "quote-stray",
                None,
                format!("{stray} quotes"),
                "quotes in pairs",
                "taken as part of the value",
            ));
        }
        self.finish(name, sink, read)
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

fn no_tabs(file: &str, sheets: &[String]) -> Error {
    let listed: Vec<String> =
        sheets.iter().take(8).map(|name| crate::secrets::shown(name)).collect();
    Error::new(
        ErrorCode::NotAnInventory,
        file,
        format!("a workbook without a tab of RVTools; its sheets: {}", listed.join(", ")),
        "a sheet vInfo, vDisk or vDatastore with RVTools' columns",
        "send the workbook that RVTools exported",
    )
}

fn no_columns(file: &str) -> Error {
    Error::new(
        ErrorCode::NotAnInventory,
        file,
        "a text file without the columns of RVTools",
        "a header row such as VM, Powerstate, Template or Name, Address, Capacity MiB, separated by \
         comma, semicolon, tab or bar",
        "send the CSV files that RVTools exported (RVTools_tabvInfo.csv and its siblings)",
    )
}

/// Sizing needs VMs with a provisioned size, or datastores with a capacity and how full they are.
fn check_minimum(file: &str, export: &Export) -> Result<(), Error> {
    let named_vms = export.vms.iter().any(|vm| vm.vm.name.is_some() || vm.vm.id.is_some());
    let sized_vms = export.vms.iter().any(|vm| vm.provisioned.is_some() || vm.in_use.is_some());
    let sized_disks = export.disks.iter().any(|disk| disk.capacity.is_some());
    let datastores = export.datastores.iter().any(|datastore| {
        datastore.name.is_some()
            && datastore.capacity.is_some()
            && (datastore.in_use.is_some() || datastore.free.is_some())
    });
    if (named_vms && (sized_vms || sized_disks)) || datastores {
        return Ok(());
    }
    let found = [
        ("vInfo", export.vms.len()),
        ("vDisk", export.disks.len()),
        ("vDatastore", export.datastores.len()),
    ]
    .map(|(tab, rows)| format!("{tab} {rows} rows"))
    .join(", ");
    let spell = |tab: Tab, header: &str| headers::of(tab).accepted(header);
    let why = export
        .problems
        .items
        .iter()
        .find(|problem| problem.severity == Severity::Error)
        .map(|problem| {
            format!("; first problem: {} in tab {} {}", problem.code, problem.tab, problem.value)
        })
        .unwrap_or_default();
    Err(Error::new(
        ErrorCode::MinimumSet,
        file,
        format!("holds too little to size ({found}){why}"),
        format!(
            "vInfo with VM and {} (or vDisk with {}), or vDatastore with Name, {} and {}",
            spell(Tab::Info, "Provisioned MiB"),
            spell(Tab::Disk, "Capacity MiB"),
            spell(Tab::Datastore, "Capacity MiB"),
            spell(Tab::Datastore, "In Use MiB"),
        ),
        "export all tabs again, without deleting rows or columns",
    ))
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
