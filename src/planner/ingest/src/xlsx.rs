//! Workbooks of the zip kind: checks the parts that calamine reads whole, then streams cells.
//!
//! Only `worksheet_cells_reader` is used: calamine's range functions allocate the rectangle between
//! the first and the last cell, which one far cell makes larger than any memory. Nothing is taken
//! from `dimension`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use calamine::{DataRef, Reader, SheetVisible, Xlsx, XlsxError};

use crate::archive::{Archive, encrypted};
use crate::book::{Book, Sheet, SheetFault, Tick};
use crate::cell::Cell;
use crate::error::{Error, ErrorCode};
use crate::limits::{Limits, MIB};
use crate::package::{Gauge, Package};
use crate::table::Sink;

/// What calamine may read beside the shared strings before the first sheet: styles, theme, relations
/// and the list of sheets. Real ones stay below 2 MiB.
const OPENING_BYTES: u64 = 24 * MIB;
/// Tags of the style sheet; Excel's limit of 65,490 cell formats needs about 200,000.
const STYLE_TAGS: usize = 300_000;

/// An opened workbook.
pub(crate) struct Workbook {
    xlsx: Xlsx<Package>,
    gauge: Arc<Gauge>,
    limits: Limits,
    sheets: Vec<Sheet>,
}

impl Workbook {
    pub(crate) fn open(file: &str, archive: &Archive, limits: &Limits) -> Result<Self, Error> {
        let mut opening = OPENING_BYTES;
        for entry in &archive.entries {
            let name = entry.name.rsplit('/').next().unwrap_or_default();
            if name.eq_ignore_ascii_case("sharedStrings.xml") {
                opening += entry.size;
            } else if name.eq_ignore_ascii_case("styles.xml") {
                let bytes = archive.inflate(file, entry, OPENING_BYTES)?;
                if bytes.iter().filter(|byte| **byte == b'<').count() > STYLE_TAGS {
                    return Err(Error::new(
                        ErrorCode::TooLarge,
                        file,
                        "holds more cell formats than a spreadsheet program writes",
                        format!("at most {STYLE_TAGS} tags of styles"),
                        "export again, or copy the values into a new workbook",
                    ));
                }
            }
        }
        let gauge = Arc::new(Gauge::default());
        gauge.arm(opening);
        let package = Package::new(archive, Arc::clone(&gauge), limits.shared_strings_bytes);
        let opened = catch_unwind(AssertUnwindSafe(|| Xlsx::new(package)));
        if let Some(why) = gauge.take_refusal() {
            return Err(Error::new(
                ErrorCode::TooLarge,
                file,
                format!("its table of texts {why}"),
                format!("texts that fit in {} bytes of memory", limits.shared_strings_bytes),
                "export fewer VMs at a time; if the file is sound, raise the limit",
            ));
        }
        let xlsx = match opened {
            Ok(Ok(xlsx)) => xlsx,
            Ok(Err(XlsxError::Password)) => return Err(encrypted(file)),
            Ok(Err(error)) => return Err(Error::damaged(file, error)),
            Err(_) => {
                return Err(Error::damaged(file, "the workbook's parts contradict each other"));
            }
        };
        let sheets = xlsx
            .sheets_metadata()
            .iter()
            .map(|sheet| Sheet {
                name: sheet.name.clone(),
                visible: sheet.visible == SheetVisible::Visible,
            })
            .collect();
        Ok(Self { xlsx, gauge, limits: *limits, sheets })
    }
}

impl Book for Workbook {
    fn sheets(&self) -> &[Sheet] {
        &self.sheets
    }

    fn is_1904(&self) -> bool {
        self.xlsx.has_1904_epoch()
    }

    fn read_sheet(
        &mut self,
        at: usize,
        sink: &mut dyn Sink,
        tick: &mut Tick<'_>,
    ) -> Result<(), SheetFault> {
        self.gauge.arm(self.limits.barren_bytes);
        let name = self.sheets.get(at).map_or("", |sheet| sheet.name.as_str());
        let (xlsx, gauge, limits) = (&mut self.xlsx, self.gauge.as_ref(), &self.limits);
        let unwanted = ColumnMask::default();
        let (is_cancelled, parsed) = std::thread::scope(|scope| {
            let (sender, batches) = sync_channel(BATCHES_AHEAD);
            let mask = &unwanted;
            let parser = scope.spawn(move || parse(xlsx, name, gauge, limits, mask, &sender));
            let is_cancelled =
                drain(batches, sink, &unwanted, limits, &mut |sink| tick(sink, gauge.total()));
            (is_cancelled, parser.join())
        });
        match parsed {
            _ if is_cancelled => Err(SheetFault::Cancelled),
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) if self.gauge.ran_dry() => Err(SheetFault::Barren),
            Ok(Err(error)) => Err(SheetFault::Unreadable(error.to_string())),
            Err(_) => Err(SheetFault::Unreadable("its cells contradict the format".to_owned())),
        }
    }
}

/// Cells handed over at a time, and batches in flight.
const BATCH: usize = 2048;
const BATCHES_AHEAD: usize = 8;

type Batch<'a> = Vec<calamine::Cell<DataRef<'a>>>;

/// Runs on a thread of its own: XML to cells, those of unused columns left out.
fn parse<'a>(
    xlsx: &'a mut Xlsx<Package>,
    name: &str,
    gauge: &Gauge,
    limits: &Limits,
    unwanted: &ColumnMask,
    sender: &SyncSender<Batch<'a>>,
) -> Result<(), XlsxError> {
    let mut cells = xlsx.worksheet_cells_reader(name)?;
    let mut batch = Vec::with_capacity(BATCH);
    let ended = loop {
        let cell = match cells.next_cell() {
            Ok(Some(cell)) => cell,
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        };
        let (row, column) = cell.get_position();
        if matches!(cell.get_value(), DataRef::Empty) {
            continue;
        }
        if row < limits.rows && column < limits.columns {
            gauge.value();
            if unwanted.contains(column) {
                continue;
            }
        }
        batch.push(cell);
        if batch.len() == BATCH
            && sender.send(std::mem::replace(&mut batch, Vec::with_capacity(BATCH))).is_err()
        {
            // The sink needs nothing further.
            return Ok(());
        }
    };
    // What stands above a fault is still used.
    let _ = sender.send(batch);
    ended
}

/// Sends batches to the sink until it or the caller has enough; true when the caller asked to stop.
fn drain(
    batches: Receiver<Batch<'_>>,
    sink: &mut dyn Sink,
    unwanted: &ColumnMask,
    limits: &Limits,
    go_on: &mut dyn FnMut(&dyn Sink) -> bool,
) -> bool {
    let mut is_masked = false;
    for batch in batches {
        for cell in &batch {
            let (row, column) = cell.get_position();
            if sink.wants(column) {
                sink.cell(row, column, Cell::from_ref(cell.get_value()));
                if sink.is_closed() {
                    return false;
                }
            }
        }
        if !is_masked && sink.is_header_known() {
            is_masked = true;
            for column in (0..limits.columns).filter(|column| !sink.wants(*column)) {
                unwanted.insert(column);
            }
        }
        if !go_on(sink) {
            return true;
        }
    }
    false
}

/// Columns that the sink does not want, shared with the parsing thread. It only spares work: the sink
/// leaves them out in any case.
#[derive(Debug, Default)]
struct ColumnMask([AtomicU64; 16]);

impl ColumnMask {
    fn insert(&self, column: u32) {
        if let Some(word) = self.0.get(column as usize / 64) {
            word.fetch_or(1 << (column % 64), Ordering::Relaxed);
        }
    }

    fn contains(&self, column: u32) -> bool {
        let word = self.0.get(column as usize / 64);
        word.is_some_and(|word| word.load(Ordering::Relaxed) & (1 << (column % 64)) != 0)
    }
}
