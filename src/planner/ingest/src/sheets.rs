//! Sheets of a workbook as texts, for readers of other tables than RVTools' (`plimsoll-performance`).
//!
//! The guards are those of every workbook: streamed cells, capped rows and columns, and no memory
//! taken from what a file says of its own size.

use crate::archive::Archive;
use crate::book::Book;
use crate::cell::Cell;
use crate::error::{Error, ErrorCode};
use crate::export::TabSummary;
use crate::input::Input;
use crate::limits::Limits;
use crate::problem::{Problem, Problems};
use crate::table::{Finished, Sink};
use crate::xlsx::Workbook;

/// A sheet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SheetTexts {
    /// Its name.
    pub name: String,
    /// Rows with at least one value, in order.
    pub rows: Vec<RowTexts>,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowTexts {
    /// 1-based, as a spreadsheet shows it.
    pub row: u32,
    /// Column, from 0, and text of each cell with a value, in order of columns.
    pub cells: Vec<(u32, String)>,
}

/// Reads every sheet of a workbook (xlsx). Dates and errors are left out.
///
/// # Errors
/// A file that is no workbook, damaged, protected, or beyond the limits.
pub fn sheet_texts(input: &Input, limits: &Limits) -> Result<Vec<SheetTexts>, Error> {
    let name = input.name.as_str();
    let archive = Archive::open(name, &input.source, limits)?;
    if archive.entry("xl/workbook.xml").is_none() {
        return Err(Error::new(
            ErrorCode::UnsupportedFormat,
            name,
            "is a zip, but no workbook",
            "a workbook (xlsx) or the exports themselves",
            "unpack it and give the files",
        ));
    }
    let mut book = Workbook::open(name, &archive, limits)?;
    let mut left = limits.row_bytes;
    let mut sheets = Vec::new();
    for at in 0..book.sheets().len() {
        let mut sink = Texts { rows: Vec::new(), left, is_too_large: false };
        // What stands above a fault is still used.
        let _ = book.read_sheet(at, &mut sink, &mut |_, _| true);
        if sink.is_too_large {
            return Err(Error::new(
                ErrorCode::TooLarge,
                name,
                "its texts take more memory than allowed",
                format!("at most {} bytes", limits.row_bytes),
                "export fewer objects at a time; if the file is sound, raise the limit",
            ));
        }
        left = sink.left;
        for row in &mut sink.rows {
            row.cells.sort_by_key(|(column, _)| *column);
        }
        sheets.push(SheetTexts { name: book.sheets()[at].name.clone(), rows: sink.rows });
    }
    Ok(sheets)
}

struct Texts {
    rows: Vec<RowTexts>,
    /// Memory left, in bytes.
    left: u64,
    is_too_large: bool,
}

impl Sink for Texts {
    fn wants(&self, _: u32) -> bool {
        true
    }

    fn is_header_known(&self) -> bool {
        false
    }

    fn cell(&mut self, row: u32, column: u32, cell: Cell<'_>) {
        const OVERHEAD: u64 = 40;
        // Caps of the default limits: rows and columns of a sheet.
        if row >= 1_048_576 || column >= 512 || self.is_too_large {
            return;
        }
        let text = match cell {
            Cell::Text(text) => text.to_owned(),
            Cell::Number(number) => number.to_string(),
            Cell::Bool(flag) => flag.to_string(),
            Cell::Blank | Cell::Date(_) | Cell::Error => return,
        };
        let taken = text.len() as u64 + OVERHEAD;
        let Some(left) = self.left.checked_sub(taken) else {
            self.is_too_large = true;
            return;
        };
        self.left = left;
        match self.rows.last_mut() {
            Some(last) if last.row == row + 1 => last.cells.push((column, text)),
            _ => self.rows.push(RowTexts { row: row + 1, cells: vec![(column, text)] }),
        }
    }

    fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    fn is_closed(&self) -> bool {
        self.is_too_large
    }

    fn report(&mut self, _: Problem) {}

    fn finish(self: Box<Self>) -> Finished {
        Finished {
            summary: TabSummary {
                tab: String::new(),
                found_as: String::new(),
                rows: self.rows.len() as u64,
                custom_columns: Vec::new(),
                used: true,
            },
            problems: Problems::default(),
            redacted: Vec::new(),
            db_names: false,
            memory: 0,
            is_too_large: self.is_too_large,
            store: Box::new(|_| {}),
        }
    }
}
