//! Judges the shared strings of a workbook before calamine loads them all.
//!
//! calamine reserves as many strings as `uniqueCount` says and keeps each with its own allocation:
//! a lie there, or millions of empty strings, would take memory that cannot be given back.

use std::io::Read;

use crate::archive::{Archive, Entry, directory, refused};
use crate::error::{Error, ErrorCode};
use crate::limits::Limits;

/// What a string costs beside its text: the handle and the allocation's rounding.
const STRING_OVERHEAD: u64 = 64;

/// Counts of the shared strings part.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SharedStrings {
    /// `<si>` elements.
    strings: u64,
    /// The largest `uniqueCount` of any `<sst>` tag.
    declared: u64,
}

impl SharedStrings {
    /// Inflates the part once, refuses what calamine must not load.
    pub(crate) fn scan(
        file: &str,
        archive: &Archive,
        entry: &Entry,
        limits: &Limits,
    ) -> Result<(), Error> {
        let mut zip = directory(&archive.source).map_err(|error| refused(file, &error))?;
        let mut reader = zip.by_index(entry.index).map_err(|error| refused(file, &error))?;
        let mut scanner = Scanner::default();
        let mut buffer = vec![0; 64 * 1024];
        let mut read = 0_u64;
        loop {
            let count = reader
                .read(&mut buffer)
                .map_err(|error| Error::damaged(file, format!("{}: {error}", entry.name)))?;
            if count == 0 {
                break;
            }
            read += count as u64;
            if read > entry.size {
                return Err(crate::archive::bomb(file, &entry.name));
            }
            scanner.feed(&buffer[..count]);
        }
        let found = scanner.found;
        let memory = read.saturating_add(found.strings.saturating_mul(STRING_OVERHEAD));
        if memory > limits.shared_strings_bytes {
            return Err(Error::new(
                ErrorCode::TooLarge,
                file,
                format!("holds {} texts of {read} bytes", found.strings),
                format!("texts that fit in {} bytes of memory", limits.shared_strings_bytes),
                "export fewer VMs at a time; if the file is sound, raise the limit",
            ));
        }
        // Excel's own count can be off by a few; a lie is off by orders of magnitude.
        if found.declared > found.strings.saturating_mul(4).saturating_add(100_000) {
            return Err(Error::damaged(
                file,
                format!("declares {} texts and holds {}", found.declared, found.strings),
            ));
        }
        Ok(())
    }
}

/// Finds tags in chunks of XML.
#[derive(Debug, Default)]
struct Scanner {
    found: SharedStrings,
    tag: Option<Tag>,
}

/// The tag being read.
#[derive(Debug, Default)]
struct Tag {
    text: Vec<u8>,
    is_named: bool,
    quote: Option<u8>,
}

/// Of an `<sst>` tag so many bytes are looked at; the real one has about 150.
const SST_BYTES: usize = 64 * 1024;

impl Scanner {
    fn feed(&mut self, mut chunk: &[u8]) {
        while !chunk.is_empty() {
            let Some(tag) = &mut self.tag else {
                let Some(at) = chunk.iter().position(|byte| *byte == b'<') else { return };
                self.tag = Some(Tag::default());
                chunk = &chunk[at + 1..];
                continue;
            };
            let byte = chunk[0];
            chunk = &chunk[1..];
            if tag.is_named {
                // Inside an <sst> tag, up to its end.
                match (tag.quote, byte) {
                    (Some(quote), _) if byte == quote => tag.quote = None,
                    (None, b'"' | b'\'') => tag.quote = Some(byte),
                    _ => {}
                }
                let ends = tag.quote.is_none() && byte == b'>';
                tag.text.push(byte);
                if ends || tag.text.len() > SST_BYTES {
                    self.found.declared = self.found.declared.max(unique_count(&tag.text));
                    self.tag = None;
                }
                continue;
            }
            let ends_name = matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b'/' | b'>');
            if !ends_name && tag.text.len() < 64 {
                tag.text.push(byte);
                continue;
            }
            let local = tag.text.rsplit(|byte| *byte == b':').next().unwrap_or_default();
            match local {
                b"si" => {
                    self.found.strings += 1;
                    self.tag = None;
                }
                b"sst" if byte != b'>' => {
                    tag.is_named = true;
                    tag.text.clear();
                }
                _ => self.tag = None,
            }
        }
    }
}

/// The number behind `uniqueCount` in a tag; 0 when there is none.
fn unique_count(tag: &[u8]) -> u64 {
    let key = b"uniqueCount";
    let mut largest = 0;
    for at in 0..tag.len().saturating_sub(key.len()) {
        if &tag[at..at + key.len()] == key {
            let digits: String = tag[at + key.len()..]
                .iter()
                .skip_while(|byte| !byte.is_ascii_digit() && **byte != b'>')
                .take_while(|byte| byte.is_ascii_digit())
                .map(|byte| char::from(*byte))
                .collect();
            let number = if digits.is_empty() { 0 } else { digits.parse().unwrap_or(u64::MAX) };
            largest = largest.max(number);
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(xml: &str, chunk: usize) -> SharedStrings {
        let mut scanner = Scanner::default();
        for part in xml.as_bytes().chunks(chunk) {
            scanner.feed(part);
        }
        scanner.found
    }

    #[test]
    fn strings_are_counted_in_any_chunking() {
        let xml = r#"<?xml version="1.0"?><x:sst count="9" uniqueCount="4000000000"><x:si><x:t>a</x:t></x:si><si/><six/><s/></x:sst>"#;
        for chunk in 1..40 {
            assert_eq!(
                scan(xml, chunk),
                SharedStrings { strings: 2, declared: 4_000_000_000 },
                "chunks of {chunk}"
            );
        }
    }

    #[test]
    fn a_sign_in_an_attribute_hides_nothing() {
        assert_eq!(scan(r#"<sst a=">" uniqueCount='77'>"#, 7).declared, 77);
        assert_eq!(scan(r"<sst><si></si></sst>", 3), SharedStrings { strings: 1, declared: 0 });
    }
}
