//! Workbooks of before 2007 (BIFF8 in a compound file, MS-XLS), as RVTools up to 3.8 wrote them.
//!
//! Cells are streamed from the records. calamine's reader of this format is not used: it keeps every
//! sheet as a full rectangle, clones the shared text for every cell, reserves what `DIMENSIONS`
//! claims and follows sector chains that loop, each of which a small file can turn into more memory
//! than there is. Formats are not needed: a date column takes serials as they are.

use crate::archive::encrypted;
use crate::book::{Book, Sheet, SheetFault, Tick};
use crate::cell::Cell;
use crate::compound::Compound;
use crate::error::{Error, ErrorCode};
use crate::table::Sink;

/// Record types (MS-XLS 2.3).
mod record {
    pub(super) const FORMULA: u16 = 0x0006;
    pub(super) const EOF: u16 = 0x000a;
    pub(super) const DATE_MODE: u16 = 0x0022;
    pub(super) const FILE_PASS: u16 = 0x002f;
    pub(super) const CONTINUE: u16 = 0x003c;
    pub(super) const BOUND_SHEET: u16 = 0x0085;
    pub(super) const MUL_RK: u16 = 0x00bd;
    pub(super) const R_STRING: u16 = 0x00d6;
    pub(super) const SST: u16 = 0x00fc;
    pub(super) const LABEL_SST: u16 = 0x00fd;
    pub(super) const NUMBER: u16 = 0x0203;
    pub(super) const LABEL: u16 = 0x0204;
    pub(super) const BOOL_ERR: u16 = 0x0205;
    pub(super) const STRING: u16 = 0x0207;
    pub(super) const RK: u16 = 0x027e;
    pub(super) const BOF: u16 = 0x0809;
}

/// The version in the `BOF` record of BIFF8.
const BIFF8: u16 = 0x0600;
/// Sheets of one workbook; RVTools writes at most 27.
const MOST_SHEETS: usize = 256;

/// An opened workbook.
pub(crate) struct LegacyWorkbook {
    stream: Vec<u8>,
    strings: Vec<Box<str>>,
    is_1904: bool,
    sheets: Vec<Sheet>,
    /// Where each sheet's records begin.
    starts: Vec<usize>,
}

/// Walks the records of a stream from a place.
struct Records<'a> {
    stream: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Records<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let kind = u16_at(self.stream, self.at)?;
        let length = usize::from(u16_at(self.stream, self.at + 2)?);
        let data = self.stream.get(self.at + 4..self.at + 4 + length)?;
        self.at += 4 + length;
        Some((kind, data))
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

impl LegacyWorkbook {
    pub(crate) fn open(file: &str, bytes: &[u8]) -> Result<Self, Error> {
        let compound = Compound::open(bytes).map_err(|why| Error::damaged(file, why))?;
        if ["EncryptedPackage", "EncryptionInfo", "\u{9}DRMContent"].iter().any(|s| compound.has(s))
        {
            return Err(encrypted(file));
        }
        let old = |what: &str| {
            Error::new(
                ErrorCode::UnsupportedFormat,
                file,
                what,
                "an RVTools export (xlsx, xls of Excel 97 or later, or CSV files)",
                "open it in a spreadsheet program and save it as xlsx",
            )
        };
        let stream = match compound.stream("Workbook") {
            Some(stream) => stream.map_err(|why| Error::damaged(file, why))?,
            None if compound.has("Book") => return Err(old("a workbook of Excel 5 or 95")),
            None => return Err(old("an OLE file that is no workbook")),
        };
        let mut book = Self {
            stream: Vec::new(),
            strings: Vec::new(),
            is_1904: false,
            sheets: Vec::new(),
            starts: Vec::new(),
        };
        let mut records = Records { stream: &stream, at: 0 };
        let version = records
            .next()
            .filter(|(kind, _)| *kind == record::BOF)
            .and_then(|(_, data)| u16_at(data, 0));
        if version != Some(BIFF8) {
            return Err(old("a workbook of before Excel 97"));
        }
        while let Some((kind, data)) = records.next() {
            match kind {
                record::EOF => break,
                record::FILE_PASS if u16_at(data, 0) != Some(0) || data.len() > 2 => {
                    return Err(encrypted(file));
                }
                record::DATE_MODE => book.is_1904 = u16_at(data, 0) == Some(1),
                record::BOUND_SHEET if book.sheets.len() < MOST_SHEETS => {
                    // Type 0 is a worksheet; charts and macros hold no rows.
                    let Some((start, visibility, 0)) = bound_sheet(data) else { continue };
                    let mut name = Chunks::new(data.get(6..).unwrap_or_default(), Vec::new());
                    let Some(name) = name.short_text() else { continue };
                    book.sheets.push(Sheet { name, visible: visibility & 3 == 0 });
                    book.starts.push(start);
                }
                record::SST => {
                    let mut more = Vec::new();
                    let mut ahead = Records { stream: &stream, at: records.at };
                    while let Some((record::CONTINUE, data)) = ahead.next() {
                        more.push(data);
                        records.at = ahead.at;
                    }
                    book.strings = Chunks::new(data.get(8..).unwrap_or_default(), more).texts();
                }
                _ => {}
            }
        }
        book.stream = stream;
        Ok(book)
    }
}

fn bound_sheet(data: &[u8]) -> Option<(usize, u8, u8)> {
    Some((usize::try_from(u32_at(data, 0)?).ok()?, *data.get(4)?, *data.get(5)?))
}

impl Book for LegacyWorkbook {
    fn sheets(&self) -> &[Sheet] {
        &self.sheets
    }

    fn is_1904(&self) -> bool {
        self.is_1904
    }

    fn read_sheet(
        &mut self,
        at: usize,
        sink: &mut dyn Sink,
        tick: &mut Tick<'_>,
    ) -> Result<(), SheetFault> {
        /// Records between two ticks: some milliseconds.
        const TICK: u32 = 65_536;
        let damaged = |what: &str| SheetFault::Unreadable(what.to_owned());
        let start = self.starts.get(at).copied().unwrap_or(usize::MAX);
        let mut records = Records { stream: &self.stream, at: start };
        // Embedded charts carry records of their own between BOF and EOF.
        let mut depth = 0_u32;
        let mut formula = None;
        let mut until_tick = TICK;
        while let Some((kind, data)) = records.next() {
            until_tick -= 1;
            if until_tick == 0 {
                until_tick = TICK;
                if !tick(sink, records.at as u64) {
                    return Err(SheetFault::Cancelled);
                }
            }
            match kind {
                record::BOF => depth += 1,
                record::EOF if depth <= 1 => return Ok(()),
                record::EOF => depth -= 1,
                _ if depth != 1 => {}
                record::STRING => {
                    if let Some((row, column)) = formula.take()
                        && let Some(text) = Chunks::new(data, Vec::new()).long_text()
                    {
                        sink.cell(row, column, Cell::text(&text));
                    }
                }
                _ => {
                    let Some((row, column)) = position(data) else { continue };
                    let rest = &data[4..];
                    match kind {
                        record::NUMBER => {
                            if let Some(number) = rest.get(2..10) {
                                sink.cell(row, column, number_cell(number));
                            }
                        }
                        record::RK => {
                            if let Some(rk) = u32_at(rest, 2) {
                                sink.cell(row, column, Cell::Number(rk_number(rk)));
                            }
                        }
                        record::MUL_RK => {
                            for (offset, part) in (0_u32..).zip(rest.as_chunks::<6>().0) {
                                if let Some(rk) = u32_at(part, 2) {
                                    sink.cell(row, column + offset, Cell::Number(rk_number(rk)));
                                }
                            }
                        }
                        record::LABEL_SST => {
                            let index = u32_at(rest, 2).map_or(usize::MAX, |i| i as usize);
                            let Some(text) = self.strings.get(index) else {
                                return Err(damaged("a cell's text is not in the table of texts"));
                            };
                            sink.cell(row, column, Cell::text(text));
                        }
                        record::LABEL | record::R_STRING => {
                            let text = rest.get(2..).map(|data| Chunks::new(data, Vec::new()));
                            if let Some(text) = text.and_then(|mut chunks| chunks.long_text()) {
                                sink.cell(row, column, Cell::text(&text));
                            }
                        }
                        record::BOOL_ERR => match (rest.get(2), rest.get(3)) {
                            (Some(value), Some(0)) => {
                                sink.cell(row, column, Cell::Bool(*value != 0));
                            }
                            _ => sink.cell(row, column, Cell::Error),
                        },
                        record::FORMULA => {
                            formula = None;
                            match rest.get(2..10) {
                                // MS-XLS 2.5.133: 0xFFFF at the end marks what is no number.
                                Some([0, .., 0xff, 0xff]) => formula = Some((row, column)),
                                Some([1, _, value, .., 0xff, 0xff]) => {
                                    sink.cell(row, column, Cell::Bool(*value != 0));
                                }
                                Some([2, .., 0xff, 0xff]) => sink.cell(row, column, Cell::Error),
                                Some([_, .., 0xff, 0xff]) | None => {}
                                Some(number) => sink.cell(row, column, number_cell(number)),
                            }
                        }
                        _ => {}
                    }
                }
            }
            if sink.is_closed() {
                return Ok(());
            }
        }
        Err(damaged("the sheet is cut short"))
    }
}

fn position(data: &[u8]) -> Option<(u32, u32)> {
    Some((u16_at(data, 0)?.into(), u16_at(data, 2)?.into()))
}

fn number_cell(bytes: &[u8]) -> Cell<'static> {
    bytes.try_into().map_or(Cell::Blank, |bytes| Cell::Number(f64::from_le_bytes(bytes)))
}

/// A number in 32 bits (MS-XLS 2.5.217): two flags, then a signed integer or the upper bits of a float.
fn rk_number(rk: u32) -> f64 {
    let number = if rk & 2 == 0 {
        f64::from_bits(u64::from(rk & !3) << 32)
    } else {
        f64::from(rk.cast_signed() >> 2)
    };
    if rk & 1 == 0 { number } else { number / 100.0 }
}

/// Texts in the data of a record and its continuations.
///
/// A text's characters may go on in the next continuation, which then begins with a flag byte of its
/// own (MS-XLS 2.5.293 and the note on Continue in 2.4.265).
struct Chunks<'a> {
    data: &'a [u8],
    more: std::vec::IntoIter<&'a [u8]>,
}

impl<'a> Chunks<'a> {
    fn new(data: &'a [u8], more: Vec<&'a [u8]>) -> Self {
        Self { data, more: more.into_iter() }
    }

    /// The next bytes, from the next continuation when this one is used up.
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        if self.data.is_empty() {
            self.data = self.more.next()?;
        }
        let (taken, rest) = self.data.split_at_checked(count)?;
        self.data = rest;
        Some(taken)
    }

    fn skip(&mut self, mut count: usize) -> Option<()> {
        while count > 0 {
            if self.data.is_empty() {
                self.data = self.more.next()?;
                continue;
            }
            let now = count.min(self.data.len());
            self.data = &self.data[now..];
            count -= now;
        }
        Some(())
    }

    /// All texts of a shared string table.
    fn texts(mut self) -> Vec<Box<str>> {
        let mut texts = Vec::new();
        while let Some(text) = self.rich_text() {
            texts.push(text.into_boxed_str());
        }
        texts
    }

    fn rich_text(&mut self) -> Option<String> {
        const EXTENDED: u8 = 4;
        const RICH: u8 = 8;
        let length = u16_at(self.take(2)?, 0)?;
        let flags = *self.take(1)?.first()?;
        let runs = if flags & RICH == 0 { 0 } else { u16_at(self.take(2)?, 0)? };
        let extension = if flags & EXTENDED == 0 { 0 } else { u32_at(self.take(4)?, 0)? };
        let text = self.characters(length.into(), flags)?;
        self.skip(4 * usize::from(runs))?;
        self.skip(extension as usize)?;
        Some(text)
    }

    /// A text with a two-byte length.
    fn long_text(&mut self) -> Option<String> {
        let length = u16_at(self.take(2)?, 0)?;
        let flags = *self.take(1)?.first()?;
        self.characters(length.into(), flags)
    }

    /// A text with a one-byte length.
    fn short_text(&mut self) -> Option<String> {
        let length = *self.take(1)?.first()?;
        let flags = *self.take(1)?.first()?;
        self.characters(length.into(), flags)
    }

    fn characters(&mut self, mut left: usize, mut flags: u8) -> Option<String> {
        const WIDE: u8 = 1;
        let mut units: Vec<u16> = Vec::new();
        while left > 0 {
            if self.data.is_empty() {
                self.data = self.more.next()?;
                flags = *self.take(1)?.first()?;
            }
            let width = if flags & WIDE == 0 { 1 } else { 2 };
            let now = left.min(self.data.len() / width);
            if now == 0 {
                return None;
            }
            let bytes = self.take(now * width)?;
            if width == 1 {
                units.extend(bytes.iter().map(|byte| u16::from(*byte)));
            } else {
                units.extend(bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_le_bytes(*unit)));
            }
            left -= now;
        }
        Some(String::from_utf16_lossy(&units))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_32_bits() {
        // 2^31 as upper float bits, 123 as integer, 123.45 as integer over 100 (worked by hand).
        assert_eq!(rk_number(0x41e0_0000), 2_147_483_648.0);
        assert_eq!(rk_number((123 << 2) | 2), 123.0);
        assert_eq!(rk_number((12_345 << 2) | 3), 123.45);
        assert_eq!(rk_number(((-1_i32) << 2).cast_unsigned() | 2), -1.0);
    }

    #[test]
    fn texts_go_on_in_continuations() {
        // "abcd" narrow, cut after "ab" and continued wide.
        let first = [4, 0, 0, b'a', b'b'];
        let second = [1, b'c', 0, b'd', 0, 1, 0, 0, b'x'];
        let texts = Chunks::new(&first, vec![&second]).texts();
        assert_eq!(texts, [Box::from("abcd"), Box::from("x")]);
    }

    #[test]
    fn rich_and_extended_parts_are_skipped() {
        let data = [1, 0, 12, 1, 0, 2, 0, 0, 0, b'a', 9, 9, 9, 9, 8, 8, 1, 0, 0, b'b'];
        assert_eq!(Chunks::new(&data, Vec::new()).texts(), [Box::from("a"), Box::from("b")]);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_handled(data in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = Chunks::new(&data, vec![&data]).texts();
        }
    }
}
