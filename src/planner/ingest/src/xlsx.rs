//! Workbooks of the zip kind: checks the parts that calamine reads whole, then streams cells.
//!
//! Only `worksheet_cells_reader` is used: calamine's range functions allocate the rectangle between
//! the first and the last cell, which one far cell makes larger than any memory. Nothing is taken
//! from `dimension`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

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
        /// Cells between two ticks: some milliseconds.
        const TICK: u32 = 16_384;
        self.gauge.arm(self.limits.barren_bytes);
        let gauge = Arc::clone(&self.gauge);
        let limits = self.limits;
        let name = self.sheets.get(at).map_or("", |sheet| sheet.name.as_str());
        let read = catch_unwind(AssertUnwindSafe(|| -> Result<bool, XlsxError> {
            let mut cells = self.xlsx.worksheet_cells_reader(name)?;
            let mut until_tick = TICK;
            while let Some(cell) = cells.next_cell()? {
                let value = cell.get_value();
                if !matches!(value, DataRef::Empty) {
                    let (row, column) = cell.get_position();
                    if row < limits.rows && column < limits.columns {
                        gauge.value();
                    }
                    if sink.wants(column) {
                        sink.cell(row, column, Cell::from_ref(value));
                        if sink.is_closed() {
                            break;
                        }
                    }
                }
                until_tick -= 1;
                if until_tick == 0 {
                    until_tick = TICK;
                    if !tick(sink, gauge.total()) {
                        return Ok(false);
                    }
                }
            }
            Ok(true)
        }));
        match read {
            Ok(Ok(true)) => Ok(()),
            Ok(Ok(false)) => Err(SheetFault::Cancelled),
            Ok(Err(_)) if self.gauge.ran_dry() => Err(SheetFault::Barren),
            Ok(Err(error)) => Err(SheetFault::Unreadable(error.to_string())),
            Err(_) => Err(SheetFault::Unreadable("its cells contradict the format".to_owned())),
        }
    }
}
