//! One cell as any of the readers delivers it.

use calamine::{DataRef, ExcelDateTime};

/// A borrowed cell value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cell<'a> {
    Blank,
    Text(&'a str),
    Number(f64),
    Bool(bool),
    Date(ExcelDateTime),
    Error,
}

impl<'a> Cell<'a> {
    pub(crate) fn from_ref(value: &'a DataRef<'_>) -> Self {
        match value {
            DataRef::Empty => Self::Blank,
            DataRef::String(text) => Self::text(text),
            DataRef::SharedString(text) => Self::text(text),
            DataRef::Float(number) => Self::Number(*number),
            #[expect(clippy::cast_precision_loss, reason = "cell integers stay below 2^53")]
            DataRef::Int(number) => Self::Number(*number as f64),
            DataRef::Bool(flag) => Self::Bool(*flag),
            DataRef::DateTime(date) => Self::Date(*date),
            DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => Self::text(text),
            DataRef::Error(_) => Self::Error,
        }
    }

    /// Trimmed text; blank, `-`, `n/a` and the words for it are no value.
    pub(crate) fn text(text: &'a str) -> Self {
        // Most texts begin and end with a plain letter or digit: nothing to trim.
        let plain = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        let bytes = text.as_bytes();
        if bytes.len() > 4 && plain(bytes.first()) && plain(bytes.last()) {
            return Self::Text(text);
        }
        let text = text.trim_matches(is_blank_char);
        if is_missing(text) { Self::Blank } else { Self::Text(text) }
    }

    pub(crate) fn is_blank(&self) -> bool {
        matches!(self, Self::Blank)
    }
}

/// White space of any kind, and the byte order mark.
pub(crate) fn is_blank_char(c: char) -> bool {
    c.is_whitespace() || c.is_control() || c == '\u{feff}' || c == '\u{200b}'
}

fn is_missing(text: &str) -> bool {
    match text.len() {
        0 => true,
        1 => text == "-",
        3 => text.eq_ignore_ascii_case("n/a") || text == "–" || text == "—",
        4 => text.eq_ignore_ascii_case("#n/a") || text.eq_ignore_ascii_case("null"),
        _ => false,
    }
}

/// A cell kept beyond its reader, for the rows before the header is known.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum OwnedCell {
    Blank,
    Text(String),
    Number(f64),
    Bool(bool),
    Date(ExcelDateTime),
    Error,
}

impl From<Cell<'_>> for OwnedCell {
    fn from(cell: Cell<'_>) -> Self {
        match cell {
            Cell::Blank => Self::Blank,
            Cell::Text(text) => Self::Text(text.to_owned()),
            Cell::Number(number) => Self::Number(number),
            Cell::Bool(flag) => Self::Bool(flag),
            Cell::Date(date) => Self::Date(date),
            Cell::Error => Self::Error,
        }
    }
}

impl OwnedCell {
    pub(crate) fn borrow(&self) -> Cell<'_> {
        match self {
            Self::Blank => Cell::Blank,
            Self::Text(text) => Cell::Text(text),
            Self::Number(number) => Cell::Number(*number),
            Self::Bool(flag) => Cell::Bool(*flag),
            Self::Date(date) => Cell::Date(*date),
            Self::Error => Cell::Error,
        }
    }
}
