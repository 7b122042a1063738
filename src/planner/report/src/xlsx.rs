//! Workbooks: sheets of typed cells to a file. Knows nothing of what the cells mean.
//!
//! Formulas carry their result, so that programs that do not calculate show numbers too. The
//! creation date is the day of the inventory or a fixed one, never the clock: identical input
//! gives identical bytes.

use std::borrow::Cow;

use plimsoll_ingest::Problems;
use rust_xlsxwriter::{
    DocProperties, ExcelDateTime, Format, FormatAlign, FormatBorder, Formula, Workbook, Worksheet,
};

use crate::Error;
use crate::compose::Report;
use crate::workbook;

/// Longest text of a cell; the file format ends at 32,767.
const LONGEST_TEXT: usize = 32_000;

/// How a number looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// `1,234`
    Whole,
    /// `1,234.56`
    Decimal,
    /// 0-1 as `12.3%`
    Share,
}

/// A cell.
#[derive(Debug, Clone)]
pub enum Value<'a> {
    /// Nothing.
    Blank,
    /// Text, never taken for a formula.
    Text(Cow<'a, str>),
    /// Text in bold.
    Strong(Cow<'a, str>),
    /// A number.
    Number(f64, Look),
    /// A formula with its result.
    Formula(String, f64, Look),
}

impl<'a> Value<'a> {
    /// Text.
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(text.into())
    }

    /// A number, or nothing.
    pub fn maybe(value: Option<f64>, look: Look) -> Self {
        value.map_or(Self::Blank, |value| Self::Number(value, look))
    }
}

/// A sheet: heads in the first row, one record a row below.
#[derive(Debug)]
pub struct Sheet<'a> {
    /// Name.
    pub name: &'static str,
    /// Heads with column widths in characters.
    pub columns: Vec<(&'static str, f64)>,
    /// Rows.
    pub rows: Vec<Vec<Value<'a>>>,
    /// Whether the heads get filters.
    pub filter: bool,
}

/// A workbook before it is written.
#[derive(Debug)]
pub struct Book<'a> {
    /// Title.
    pub title: String,
    /// Who wrote it: the tool with its version.
    pub author: String,
    /// Where it comes from, in one line.
    pub origin: String,
    /// Named properties.
    pub properties: Vec<(&'static str, String)>,
    /// Creation date.
    pub date: Option<jiff::civil::Date>,
    /// Sheets.
    pub sheets: Vec<Sheet<'a>>,
}

/// The report as a workbook.
///
/// # Errors
/// When a sheet cannot hold the report.
pub fn xlsx(report: &Report<'_>) -> Result<Vec<u8>, Error> {
    write(&workbook::compose(report))
}

/// The problems as a workbook: rows left out or doubted, each with its place and what was done.
///
/// # Errors
/// When the sheet cannot hold them.
pub fn rejected_rows_xlsx(problems: &Problems) -> Result<Vec<u8>, Error> {
    write(&workbook::problems_only(problems))
}

struct Formats {
    head: Format,
    head_number: Format,
    wrap: Format,
    strong: Format,
    looks: [Format; 3],
}

impl Formats {
    fn new() -> Self {
        let base = || Format::new().set_align(FormatAlign::Top);
        let head = || {
            Format::new()
                .set_bold()
                .set_text_wrap()
                .set_border_bottom(FormatBorder::Thin)
                .set_align(FormatAlign::Bottom)
                .set_indent(1)
        };
        Self {
            head: head(),
            head_number: head().set_align(FormatAlign::Right).set_indent(0),
            wrap: base().set_text_wrap().set_indent(1),
            strong: base().set_bold().set_text_wrap().set_indent(1),
            looks: [
                base().set_num_format("#,##0"),
                base().set_num_format("#,##0.00"),
                base().set_num_format("0.0%"),
            ],
        }
    }

    fn look(&self, look: Look) -> &Format {
        match look {
            Look::Whole => &self.looks[0],
            Look::Decimal => &self.looks[1],
            Look::Share => &self.looks[2],
        }
    }
}

fn write(book: &Book<'_>) -> Result<Vec<u8>, Error> {
    let formats = Formats::new();
    let mut workbook = Workbook::new();
    let date = book.date.unwrap_or(jiff::civil::date(2000, 1, 1));
    let year = u16::try_from(date.year()).unwrap_or(2000).max(1900);
    let created =
        ExcelDateTime::from_ymd(year, date.month().unsigned_abs(), date.day().unsigned_abs())?;
    let mut properties = DocProperties::new()
        .set_title(&book.title)
        .set_author(&book.author)
        .set_comment(&book.origin)
        .set_creation_datetime(&created);
    for (name, value) in &book.properties {
        properties = properties.set_custom_property(*name, value.as_str());
    }
    workbook.set_properties(&properties);
    for sheet in &book.sheets {
        let worksheet = workbook.add_worksheet();
        fill(worksheet, sheet, &formats)?;
    }
    Ok(workbook.save_to_buffer()?)
}

fn fill(worksheet: &mut Worksheet, sheet: &Sheet<'_>, formats: &Formats) -> Result<(), Error> {
    worksheet.set_name(sheet.name)?;
    worksheet.set_freeze_panes(1, 0)?;
    worksheet.set_landscape();
    worksheet.set_print_fit_to_pages(1, 0);
    worksheet.set_repeat_rows(0, 0)?;
    let last_column = u16::try_from(sheet.columns.len().saturating_sub(1)).unwrap_or(u16::MAX);
    for (column, (head, width)) in (0u16..).zip(&sheet.columns) {
        worksheet.set_column_width(column, *width)?;
        let numeric = sheet
            .rows
            .first()
            .and_then(|row| row.get(usize::from(column)))
            .is_some_and(|value| matches!(value, Value::Number(..) | Value::Formula(..)));
        let format = if numeric { &formats.head_number } else { &formats.head };
        worksheet.write_string_with_format(0, column, *head, format)?;
    }
    // A few rows are read by people and may wrap; long lists stay one line a row.
    let wraps = sheet.rows.len() <= 2_000;
    for (row, values) in (1u32..).zip(&sheet.rows) {
        if wraps {
            let lines = lines_of(sheet, values);
            if lines > 1 {
                worksheet.set_row_height(row, 15.0 * f64::from(lines))?;
            }
        }
        for (column, value) in (0u16..).zip(values) {
            match value {
                Value::Blank => {}
                Value::Text(text) if wraps => {
                    worksheet.write_string_with_format(row, column, cut(text), &formats.wrap)?;
                }
                Value::Text(text) => {
                    worksheet.write_string(row, column, cut(text))?;
                }
                Value::Strong(text) => {
                    worksheet.write_string_with_format(row, column, cut(text), &formats.strong)?;
                }
                Value::Number(number, _) if !number.is_finite() => {}
                Value::Number(number, look) => {
                    let format = formats.look(*look);
                    worksheet.write_number_with_format(row, column, *number, format)?;
                }
                Value::Formula(formula, result, look) => {
                    let formula = Formula::new(formula).set_result(result.to_string());
                    let format = formats.look(*look);
                    worksheet.write_formula_with_format(row, column, formula, format)?;
                }
            }
        }
    }
    if sheet.filter && !sheet.rows.is_empty() {
        let last_row = u32::try_from(sheet.rows.len()).unwrap_or(u32::MAX);
        worksheet.autofilter(0, 0, last_row, last_column)?;
    }
    Ok(())
}

/// Lines that the longest text of a row takes in its column; not every program finds that itself.
fn lines_of(sheet: &Sheet<'_>, values: &[Value<'_>]) -> u32 {
    let lines = sheet.columns.iter().zip(values).map(|((_, width), value)| match value {
        Value::Text(text) | Value::Strong(text) => {
            #[expect(clippy::cast_precision_loss, reason = "characters of a cell")]
            let letters = text.chars().count().min(2_000) as f64;
            // A column's width counts digits; letters of text are about as wide on average.
            (letters / (width - 2.0).max(1.0)).ceil()
        }
        _ => 1.0,
    });
    let most = lines.fold(1.0, f64::max).min(12.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 12")]
    let most = most as u32;
    most
}

/// Text that fits a cell, without characters that the file format refuses.
fn cut(text: &str) -> Cow<'_, str> {
    let bad = |letter: char| {
        (letter.is_control() && !matches!(letter, '\n' | '\t'))
            || matches!(letter, '\u{fffe}' | '\u{ffff}')
    };
    if text.len() <= LONGEST_TEXT && !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(
        text.chars()
            .take(LONGEST_TEXT)
            .map(|letter| if bad(letter) { '\u{fffd}' } else { letter })
            .collect(),
    )
}
