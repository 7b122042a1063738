//! Text files: encoding, delimiter, tab, then the cells of each record.

use sha2::{Digest, Sha256};

use super::refuse::no_columns;
use super::{Findings, Run, TELLING_HEADERS, hex};
use crate::cell::Cell;
use crate::columns::sink_for;
use crate::delimited::{Records, dialect, filled_width};
use crate::encoding::decode;
use crate::error::Error;
use crate::leaves::TextFile;
use crate::problem::{Problem, Severity};
use crate::recognise;
use crate::tab::Tab;

impl Run<'_, '_> {
    pub(super) fn read_texts(&mut self, unit: String, files: &[TextFile]) -> Result<(), Error> {
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
        while let Some(fields) = records.next_record() {
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
            if row.is_multiple_of(1024) {
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
