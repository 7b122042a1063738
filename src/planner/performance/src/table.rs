//! Delimited text as columns, a block at a time, parsed by polars.
//!
//! The head (delimiter, header row) is found by the header's own names among the first lines. The
//! rest is read in blocks of a few MiB that end at a record's end, so memory does not grow with the
//! file; only the columns asked for are kept.

use std::io::{Cursor, Read};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

use plimsoll_ingest::Source;
use polars::prelude::{
    CsvEncoding, CsvReadOptions, DataFrame, DataType, Field, Schema, SerReader, StringChunked,
};

use crate::catalog::normalise;
use crate::error::Error;

/// Bytes of a block: its columns stay in the cache until they are read. It grows where a record is
/// longer.
const BLOCK: usize = 2 << 20;
/// Longest record: an esxtop header of a large host is some MiB.
const LONGEST_RECORD: usize = 64 << 20;
/// Rows searched for the header.
const HEADER_ROWS: usize = 30;
/// Columns at most.
pub(crate) const MOST_COLUMNS: usize = 200_000;

/// Takes the 1-based row of the first of a block, and its columns.
pub(crate) type Take<'t> = dyn FnMut(u64, &[&StringChunked]) -> Result<(), Error> + 't;

/// The reader of a file's text and what was read of it to find its head.
pub(crate) struct Text {
    head: Vec<u8>,
    rest: Box<dyn Read + Send>,
}

impl Text {
    /// Opens a file; text that is not UTF-8 is decoded whole.
    pub fn open(file: &str, source: &Source) -> Result<Self, Error> {
        let mut rest: Box<dyn Read + Send> = match source {
            Source::Memory(bytes) => Box::new(Cursor::new(Arc::clone(bytes))),
            Source::Path(path) => {
                Box::new(std::fs::File::open(path).map_err(|error| Error::io(file, error))?)
            }
        };
        let mut head = Vec::new();
        fill(&mut rest, &mut head, 64 << 10).map_err(|error| Error::io(file, error))?;
        let is_utf8 = |bytes: &[u8]| match std::str::from_utf8(bytes) {
            Ok(_) => true,
            Err(error) => error.error_len().is_none(),
        };
        if head.starts_with(b"\xef\xbb\xbf") {
            head.drain(..3);
        } else if head.contains(&0) || !is_utf8(&head) {
            rest.read_to_end(&mut head).map_err(|error| Error::io(file, error))?;
            head = plimsoll_ingest::decode(&head).into_owned().into_bytes();
        }
        Ok(Self { head, rest })
    }

    /// The first bytes, as text.
    pub fn peek(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.head)
    }

    /// Everything, for formats that are read whole.
    pub fn whole(mut self, file: &str) -> Result<Vec<u8>, Error> {
        self.rest.read_to_end(&mut self.head).map_err(|error| Error::io(file, error))?;
        Ok(self.head)
    }

    /// Finds the header: the first of the first lines, under any delimiter, that `accept` takes.
    pub fn find_head<T>(
        &mut self,
        file: &str,
        mut accept: impl FnMut(&[String]) -> Option<T>,
    ) -> Result<Option<(Head, T)>, Error> {
        // A header longer than what was read: read on to its end.
        while !self.head.contains(&b'\n') && self.head.len() < LONGEST_RECORD {
            let more = (self.head.len() * 2).max(64 << 10);
            let read = fill(&mut self.rest, &mut self.head, more);
            if read.map_err(|error| Error::io(file, error))? == 0 {
                break;
            }
        }
        let text = String::from_utf8_lossy(&self.head);
        let mut at = 0;
        for row in 1..=HEADER_ROWS as u64 {
            let Some(line) = text[at..].split_inclusive('\n').next() else { break };
            at += line.len();
            for delimiter in [b',', b';', b'\t', b'|'] {
                let headers = split(line.trim_end_matches(['\r', '\n']), delimiter);
                if headers.len() < 2 || headers.len() > MOST_COLUMNS {
                    continue;
                }
                if let Some(found) = accept(&headers) {
                    let is_same = text.len() == self.head.len();
                    let start = if is_same { at } else { line_end(&self.head, row) };
                    return Ok(Some((Head { delimiter, headers, row, start }, found)));
                }
            }
        }
        Ok(None)
    }

    /// Sends the columns of `projection` (ascending) to `take`, a block of rows at a time, with the
    /// 1-based row of the first. The next block is split while one is taken.
    pub fn blocks(
        self,
        file: &str,
        head: &Head,
        projection: &[usize],
        take: &mut Take<'_>,
    ) -> Result<(), Error> {
        std::thread::scope(|scope| {
            let (sender, blocks) = sync_channel(1);
            scope.spawn(move || {
                if let Err(error) = self.split_blocks(file, head, projection, &sender) {
                    // Without a receiver nobody asks any more.
                    let _ = sender.send(Err(error));
                }
            });
            for block in blocks {
                let (row, frame): (u64, DataFrame) = block?;
                let mut columns = Vec::with_capacity(projection.len());
                for index in projection {
                    let name = index.to_string();
                    if let Ok(column) = frame.column(&name).and_then(|column| column.str()) {
                        columns.push(column);
                    }
                }
                if columns.len() == projection.len() {
                    take(row, &columns)?;
                }
            }
            Ok(())
        })
    }

    fn split_blocks(
        mut self,
        file: &str,
        head: &Head,
        projection: &[usize],
        sender: &SyncSender<Result<(u64, DataFrame), Error>>,
    ) -> Result<(), Error> {
        let width = head.headers.len();
        let fields = (0..width).map(|i| Field::new(i.to_string().into(), DataType::String));
        let schema = Arc::new(Schema::from_iter(fields));
        let mut buffer: Vec<u8> = self.head.split_off(head.start.min(self.head.len()));
        let mut row = head.row + 1;
        let mut size = BLOCK;
        loop {
            let read = fill(&mut self.rest, &mut buffer, size);
            let ended = read.map_err(|error| Error::io(file, error))? == 0;
            if ended {
                cut_open_field(&mut buffer);
            }
            let end = if ended { buffer.len() } else { record_end(&buffer).unwrap_or(0) };
            if end == 0 && !ended {
                if size >= LONGEST_RECORD {
                    let wrong =
                        format!("has a row of more than {LONGEST_RECORD} bytes at row {row}");
                    return Err(Error::too_large(file, wrong));
                }
                size *= 2;
                continue;
            }
            if end > 0 {
                let rest = buffer.split_off(end);
                let parsed = parse(buffer, head.delimiter, &schema, projection);
                let frame = parsed.map_err(|error| Error::Unusable {
                    file: file.to_owned(),
                    format: "delimited text".to_owned(),
                    wrong: format!("the block from row {row} on cannot be split: {error}"),
                    action: "export it again",
                })?;
                let rows = frame.height() as u64;
                if sender.send(Ok((row, frame))).is_err() {
                    return Ok(());
                }
                row += rows;
                buffer = rest;
            }
            if ended {
                return Ok(());
            }
        }
    }
}

/// What stands above the rows.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub delimiter: u8,
    /// As found, trimmed.
    pub headers: Vec<String>,
    /// 1-based row of the header.
    pub row: u64,
    /// Byte at which the rows start.
    start: usize,
}

impl Head {
    /// A lone comma in a number is the decimal mark.
    pub fn comma_is_decimal(&self) -> bool {
        matches!(self.delimiter, b';' | b'\t')
    }

    /// The headers, normalised.
    pub fn normalised(&self) -> Vec<String> {
        self.headers.iter().map(|header| normalise(header)).collect()
    }
}

fn parse(
    bytes: Vec<u8>,
    delimiter: u8,
    schema: &Arc<Schema>,
    projection: &[usize],
) -> polars::prelude::PolarsResult<DataFrame> {
    CsvReadOptions::default()
        .with_has_header(false)
        .with_schema(Some(Arc::clone(schema)))
        .with_projection(Some(Arc::new(projection.to_vec())))
        .with_rechunk(true)
        .with_raise_if_empty(false)
        .with_infer_schema_length(Some(0))
        .with_infer_schema_files(NonZeroUsize::MIN)
        .map_parse_options(|options| {
            options
                .with_separator(delimiter)
                .with_encoding(CsvEncoding::LossyUtf8)
                .with_truncate_ragged_lines(true)
        })
        .into_reader_with_file_handle(Cursor::new(bytes))
        .finish()
}

/// Reads until the buffer holds `size` bytes; the number of bytes read.
fn fill(reader: &mut dyn Read, buffer: &mut Vec<u8>, size: usize) -> std::io::Result<usize> {
    let wanted = size.saturating_sub(buffer.len());
    if wanted == 0 {
        return Ok(1);
    }
    let wanted = u64::try_from(wanted).unwrap_or(u64::MAX);
    reader.take(wanted).read_to_end(buffer)
}

/// One past the last line end that is outside of quotes.
fn record_end(bytes: &[u8]) -> Option<usize> {
    let quotes = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'"').count();
    let mut is_inside = quotes(bytes) % 2 == 1;
    let mut end = bytes.len();
    while let Some(at) = bytes[..end].iter().rposition(|byte| *byte == b'\n') {
        is_inside ^= quotes(&bytes[at..end]) % 2 == 1;
        if !is_inside {
            return Some(at + 1);
        }
        end = at;
    }
    None
}

/// Cuts off a last field whose quote is not closed, as of a file cut short: it may be any part of its
/// value, so it is missing.
fn cut_open_field(bytes: &mut Vec<u8>) {
    if bytes.iter().filter(|byte| **byte == b'"').count() % 2 == 1
        && let Some(at) = bytes.iter().rposition(|byte| *byte == b'"')
    {
        bytes.truncate(at);
    }
}

fn line_end(bytes: &[u8], line: u64) -> usize {
    let mut ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let nth = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
    ends.nth(nth).map_or(bytes.len(), |(at, _)| at + 1)
}

/// One record to its fields, quotes taken off.
pub(crate) fn split(line: &str, delimiter: u8) -> Vec<String> {
    let mut fields = Vec::new();
    let mut field = String::new();
    let mut is_quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' => is_quoted = !is_quoted,
            c if c == char::from(delimiter) && !is_quoted => {
                fields.push(std::mem::take(&mut field).trim().to_owned());
            }
            c => field.push(c),
        }
    }
    fields.push(field.trim().to_owned());
    fields
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn rows(text: &[u8], projection: &[usize]) -> Vec<(u64, Vec<Option<String>>)> {
        let source = Source::Memory(text.to_vec().into());
        let mut opened = Text::open("t.csv", &source).unwrap();
        let accept = |headers: &[String]| headers.iter().any(|h| h == "b").then_some(());
        let (head, ()) = opened.find_head("t.csv", accept).unwrap().unwrap();
        let mut rows = Vec::new();
        opened
            .blocks("t.csv", &head, projection, &mut |first, columns| {
                for at in 0..columns[0].len() {
                    let fields = columns.iter().map(|c| c.get(at).map(str::to_owned)).collect();
                    rows.push((first + at as u64, fields));
                }
                Ok(())
            })
            .unwrap();
        rows
    }

    fn some(fields: &[&str]) -> Vec<Option<String>> {
        fields.iter().map(|field| Some((*field).to_owned())).collect()
    }

    #[test]
    fn columns_of_quoted_text_with_a_line_above() {
        let text = b"#TYPE x\r\n\"a\",\"b\",\"c\"\r\n\"1,5\",\"two\r\nlines\",\"3\"\r\n\"4\",\"5\",\"6\"\r\n";
        assert_eq!(rows(text, &[0, 2]), [(3, some(&["1,5", "3"])), (4, some(&["4", "6"]))]);
    }

    #[test]
    fn short_and_long_rows_are_no_end() {
        let found = rows(b"a;b;c\n1;2\n1;2;3;4\n5;6;7", &[0, 2]);
        assert_eq!(found[0], (2, vec![Some("1".to_owned()), None]));
        assert_eq!(found[1], (3, some(&["1", "3"])));
        assert_eq!(found[2], (4, some(&["5", "7"])));
    }

    #[test]
    fn text_of_windows_is_decoded() {
        let utf16: Vec<u8> = [0xff, 0xfe]
            .into_iter()
            .chain("a\tb\nä\t2\n".encode_utf16().flat_map(u16::to_le_bytes))
            .collect();
        assert_eq!(rows(&utf16, &[0, 1]), [(2, some(&["ä", "2"]))]);
    }

    #[test]
    fn records_end_outside_of_quotes() {
        assert_eq!(record_end(b"a,b\n\"c\nd"), Some(4));
        assert_eq!(record_end(b"\"a\nb\"\nx"), Some(6));
        assert_eq!(record_end(b"\"a\nb"), None);
    }

    #[test]
    fn blocks_join_without_a_seam() {
        let mut text = String::from("a,b\n");
        for i in 0..900_000 {
            text.push_str(&format!("{i},\"value {i}\"\n"));
        }
        let found = rows(text.as_bytes(), &[0]);
        assert!(text.len() > 2 * BLOCK);
        assert_eq!(found.len(), 900_000);
        for (i, (row, fields)) in found.iter().enumerate() {
            assert_eq!((*row, fields[0].as_deref()), (i as u64 + 2, Some(i.to_string().as_str())));
        }
    }
}
