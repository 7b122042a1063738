//! Delimited text: finds the delimiter by the headers it yields and splits leniently.
//!
//! Quotes are as in RFC 4180, with two allowances for exports before 4.6.1, which wrote quotes inside
//! values as they were: a quote that no delimiter or line end follows is part of the value, and an
//! opening quote that is never closed within a cell's length is part of the value too, so that one
//! stray quote cannot swallow the rest of the file.

use std::borrow::Cow;

use crate::headers;
use crate::tab::Tab;

/// Delimiters that regional settings use.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Records looked at for the delimiter.
const SAMPLE: usize = 20;
/// Fields of a record looked at for the delimiter.
const COLUMNS: usize = 512;

/// The dialect of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) delimiter: u8,
    /// The tab whose headers the file has most of, and how many.
    pub(crate) best: Option<(Tab, usize)>,
    /// Fields of the header record, trailing blank ones left out.
    pub(crate) width: usize,
}

/// Scores the known headers under each delimiter; `tab` is what the file's name says.
pub(crate) fn dialect(text: &str, tab: Option<Tab>, text_bytes: usize) -> Dialect {
    let mut found = Dialect { delimiter: b',', best: None, width: 0 };
    let mut most = 0;
    for delimiter in DELIMITERS {
        let mut records = Records::new(text, delimiter, text_bytes);
        for _ in 0..SAMPLE {
            let Some(fields) = records.next_record() else { break };
            let width = filled_width(fields);
            let fields = &fields[..width.min(COLUMNS)];
            for candidate in tab.map_or(&Tab::ALL[..], |_| tab.as_slice()) {
                let score = headers::of(*candidate).score(fields.iter().map(AsRef::as_ref));
                if score > most {
                    most = score;
                    found = Dialect { delimiter, best: Some((*candidate, score)), width };
                }
            }
        }
    }
    found
}

/// Fields up to the last that is not blank.
pub(crate) fn filled_width(fields: &[Cow<'_, str>]) -> usize {
    fields.iter().rposition(|field| !field.trim().is_empty()).map_or(0, |last| last + 1)
}

/// Splits text into records.
pub(crate) struct Records<'a> {
    text: &'a str,
    at: usize,
    delimiter: u8,
    /// Longest quoted field, in bytes.
    longest: usize,
    /// No closing quote stands between these places.
    unclosed: (usize, usize),
    fields: Vec<Cow<'a, str>>,
    /// Opening quotes that nothing closed.
    pub(crate) stray_quotes: u64,
}

impl<'a> Records<'a> {
    pub(crate) fn new(text: &'a str, delimiter: u8, longest: usize) -> Self {
        Self {
            text,
            at: 0,
            delimiter,
            longest,
            unclosed: (0, 0),
            fields: Vec::new(),
            stray_quotes: 0,
        }
    }

    /// Byte offset of the next record.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    /// The next record; an empty line is a record of one blank field.
    pub(crate) fn next_record(&mut self) -> Option<&[Cow<'a, str>]> {
        let bytes = self.text.as_bytes();
        if self.at >= bytes.len() {
            return None;
        }
        self.fields.clear();
        loop {
            let start = self.at;
            let quoted = bytes.get(start) == Some(&b'"');
            let closing = if quoted { self.closing_quote(start + 1) } else { None };
            let field = if let Some(end) = closing {
                self.at = end + 1;
                let inner = &self.text[start + 1..end];
                if inner.contains("\"\"") {
                    Cow::Owned(inner.replace("\"\"", "\""))
                } else {
                    Cow::Borrowed(inner)
                }
            } else {
                self.stray_quotes += u64::from(quoted);
                let length = bytes[start..]
                    .iter()
                    .position(|byte| *byte == self.delimiter || *byte == b'\n' || *byte == b'\r')
                    .unwrap_or(bytes.len() - start);
                self.at = start + length;
                Cow::Borrowed(&self.text[start..self.at])
            };
            self.fields.push(field);
            match bytes.get(self.at) {
                Some(byte) if *byte == self.delimiter => self.at += 1,
                Some(b'\r') => {
                    self.at += 1 + usize::from(bytes.get(self.at + 1) == Some(&b'\n'));
                    break;
                }
                Some(_) => {
                    self.at += 1;
                    break;
                }
                None => break,
            }
        }
        Some(&self.fields)
    }

    /// The quote that ends a field: one before a delimiter, a line end or the end of the text.
    fn closing_quote(&mut self, from: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let stop = from.saturating_add(self.longest).min(bytes.len());
        let mut at = from;
        if (self.unclosed.0..self.unclosed.1).contains(&at) {
            at = self.unclosed.1;
        }
        while at < stop {
            let Some(next) = bytes[at..stop].iter().position(|byte| *byte == b'"') else { break };
            let quote = at + next;
            match bytes.get(quote + 1) {
                Some(b'"') => at = quote + 2,
                None | Some(b'\n' | b'\r') => return Some(quote),
                Some(byte) if *byte == self.delimiter => return Some(quote),
                Some(_) => at = quote + 1,
            }
        }
        self.unclosed = (from, stop);
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn split(text: &str, delimiter: u8) -> Vec<Vec<String>> {
        let mut records = Records::new(text, delimiter, 1000);
        let mut out = Vec::new();
        while let Some(fields) = records.next_record() {
            out.push(fields.iter().map(ToString::to_string).collect());
        }
        out
    }

    #[test]
    fn quotes_newlines_and_ends_of_line() {
        assert_eq!(
            split("a,\"b,c\",\"d\"\"e\"\r\n\"x\ny\",,z\rlast", b','),
            vec![vec!["a", "b,c", "d\"e"], vec!["x\ny", "", "z"], vec!["last"]]
        );
    }

    #[test]
    fn stray_quotes_do_not_swallow_the_file() {
        let mut records = Records::new("a,\"b,c\nd,e,f\n", b',', 1000);
        assert_eq!(records.next_record().unwrap(), ["a", "\"b", "c"]);
        assert_eq!(records.next_record().unwrap(), ["d", "e", "f"]);
        assert_eq!(records.stray_quotes, 1);
        assert_eq!(split("1,\"the \"big\" one\",2", b','), vec![vec!["1", "the \"big\" one", "2"]]);
    }

    #[test]
    fn many_stray_quotes_take_linear_time() {
        let text = ",\"a".repeat(200_000);
        let mut records = Records::new(&text, b',', 128 * 1024);
        assert_eq!(records.next_record().unwrap().len(), 200_001);
    }

    #[test]
    fn the_delimiter_is_the_one_that_yields_headers() {
        let comma = "VM,Powerstate,Template,Annotation\nx,on,a;b;c;d;e;f,y\n";
        assert_eq!(dialect(comma, None, 1000).delimiter, b',');
        let semicolon = "VM;Powerstate;DNS Name, a, b, c, d, e, f;CPUs\n";
        let found = dialect(semicolon, None, 1000);
        assert_eq!((found.delimiter, found.best.map(|b| b.0)), (b';', Some(Tab::Info)));
        let tabs = "#TYPE System.Data.DataRow\nName\tCapacity MiB\tFree MiB\tSIOC enabled\t\n";
        let found = dialect(tabs, None, 1000);
        assert_eq!(found.delimiter, b'\t');
        assert_eq!(found.best.map(|b| b.0), Some(Tab::Datastore));
        assert_eq!(found.width, 4);
    }

    proptest::proptest! {
        /// Whatever a sound writer writes is read as it was, under every delimiter.
        #[test]
        fn a_sound_file_reads_as_written(
            rows in proptest::collection::vec(proptest::collection::vec("[a-zÄ|;,\t \"\n]{0,12}", 1..6), 1..8),
            delimiter in proptest::sample::select(DELIMITERS.to_vec()),
        ) {
            let mut writer = csv::WriterBuilder::new()
                .delimiter(delimiter)
                .flexible(true)
                .quote_style(csv::QuoteStyle::Always)
                .from_writer(Vec::new());
            for row in &rows {
                writer.write_record(row).unwrap();
            }
            let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
            proptest::prop_assert_eq!(split(&text, delimiter), rows);
        }

        #[test]
        fn any_text_is_handled(text in "[a\",\r\n]{0,80}") {
            let _ = split(&text, b',');
        }
    }
}
