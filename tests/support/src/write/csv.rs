//! The folder of `RVTools_tab*.csv`, in every dialect.

use std::io;

use encoding_rs::{Encoding as Table, UTF_8, WINDOWS_1252};

use super::zipped;
use crate::cell::Cell;
use crate::export::Export;

/// Character encoding of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    /// UTF-8 without a mark.
    #[default]
    Utf8,
    /// UTF-8 with a byte order mark.
    Utf8Bom,
    /// UTF-16, little end first, with a mark.
    Utf16Le,
    /// UTF-16, big end first, with a mark.
    Utf16Be,
    /// Windows code page 1252.
    Cp1252,
}

/// A way of writing CSV.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    /// Between fields.
    pub delimiter: char,
    /// Encoding.
    pub encoding: Encoding,
    /// Words for true and false.
    pub booleans: (&'static str, &'static str),
    /// Put between groups of three digits.
    pub thousands: Option<char>,
    /// Every field in quotes.
    pub quote_all: bool,
    /// A delimiter after the last field (before 3.4).
    pub trailing_delimiter: bool,
    /// A `#TYPE` line first (PowerShell).
    pub type_line: bool,
}

impl Default for Dialect {
    fn default() -> Self {
        Self {
            delimiter: ',',
            encoding: Encoding::Utf8,
            booleans: ("True", "False"),
            thousands: None,
            quote_all: false,
            trailing_delimiter: false,
            type_line: false,
        }
    }
}

/// The files of an export: (name, bytes). vMetaData is never among them.
#[must_use]
pub fn files(export: &Export<'_>, dialect: Dialect) -> Vec<(String, Vec<u8>)> {
    export
        .sheets()
        .iter()
        .filter(|sheet| sheet.tab() != "vMetaData")
        .map(|sheet| {
            let mut text = String::new();
            if dialect.type_line {
                text.push_str("#TYPE System.Data.DataRow\r\n");
            }
            export.rows(sheet, &mut |cells| line(&mut text, cells, dialect));
            (format!("RVTools_tab{}.csv", sheet.tab()), encode(&text, dialect.encoding))
        })
        .collect()
}

/// The files in a zip, under a folder when one is named.
///
/// # Errors
/// When the archive cannot be written.
pub fn zip(export: &Export<'_>, dialect: Dialect, folder: &str) -> io::Result<Vec<u8>> {
    let entries: Vec<(String, Vec<u8>)> = files(export, dialect)
        .into_iter()
        .map(|(name, bytes)| (format!("{folder}{name}"), bytes))
        .collect();
    Ok(zipped::write(io::Cursor::new(Vec::new()), &entries)?.into_inner())
}

fn line(out: &mut String, cells: &[Cell<'_>], dialect: Dialect) {
    for (index, cell) in cells.iter().enumerate() {
        if index > 0 {
            out.push(dialect.delimiter);
        }
        let text = match cell {
            Cell::Blank => String::new(),
            // Line ends inside a value became blanks in 3.10.
            Cell::Text(text) => text.replace(['\r', '\n'], " "),
            Cell::Int(number) => grouped(*number, dialect.thousands),
            Cell::Float(number) => {
                let text = number.to_string();
                if dialect.delimiter == ';' { text.replace('.', ",") } else { text }
            }
            Cell::Bool(true) => dialect.booleans.0.to_owned(),
            Cell::Bool(false) => dialect.booleans.1.to_owned(),
            Cell::Date(stamp) => stamp.slashed(),
            Cell::Enum(text, _) => (*text).to_owned(),
        };
        let special = |character: char| character == dialect.delimiter || character == '"';
        if dialect.quote_all || text.contains(special) {
            out.push('"');
            out.push_str(&text.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(&text);
        }
    }
    if dialect.trailing_delimiter {
        out.push(dialect.delimiter);
    }
    out.push_str("\r\n");
}

fn grouped(number: i64, separator: Option<char>) -> String {
    let Some(separator) = separator else { return number.to_string() };
    let digits = number.unsigned_abs().to_string();
    let mut out = String::new();
    if number < 0 {
        out.push('-');
    }
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(separator);
        }
        out.push(digit);
    }
    out
}

fn encode(text: &str, encoding: Encoding) -> Vec<u8> {
    let table: &'static Table = match encoding {
        Encoding::Utf8 => UTF_8,
        Encoding::Utf8Bom => return format!("\u{feff}{text}").into_bytes(),
        Encoding::Utf16Le => {
            return "\u{feff}"
                .encode_utf16()
                .chain(text.encode_utf16())
                .flat_map(u16::to_le_bytes)
                .collect();
        }
        Encoding::Utf16Be => {
            return "\u{feff}"
                .encode_utf16()
                .chain(text.encode_utf16())
                .flat_map(u16::to_be_bytes)
                .collect();
        }
        Encoding::Cp1252 => WINDOWS_1252,
    };
    table.encode(text).0.into_owned()
}

#[cfg(test)]
mod tests {
    use super::{Dialect, Encoding, encode, grouped, line};
    use crate::cell::Cell;

    #[test]
    fn fields_are_quoted_only_where_needed() {
        let mut out = String::new();
        let cells =
            [Cell::from("a;b"), Cell::from("say \"x\""), Cell::from(true), Cell::from(1_234_567)];
        let dialect = Dialect {
            delimiter: ';',
            booleans: ("WAHR", "FALSCH"),
            thousands: Some('.'),
            trailing_delimiter: true,
            ..Dialect::default()
        };
        line(&mut out, &cells, dialect);
        assert_eq!(out, "\"a;b\";\"say \"\"x\"\"\";WAHR;1.234.567;\r\n");
        assert_eq!(grouped(-1, Some(',')), "-1");
    }

    #[test]
    fn encodings_write_their_marks() {
        assert_eq!(encode("ä", Encoding::Cp1252), [0xe4]);
        assert_eq!(encode("ä", Encoding::Utf16Le), [0xff, 0xfe, 0xe4, 0x00]);
        assert_eq!(encode("ä", Encoding::Utf16Be), [0xfe, 0xff, 0x00, 0xe4]);
        assert_eq!(encode("ä", Encoding::Utf8Bom), [0xef, 0xbb, 0xbf, 0xc3, 0xa4]);
    }
}
