//! Judges the shared strings of a workbook on their way to calamine, which loads them all.
//!
//! calamine reserves as many strings as `uniqueCount` says and keeps each with its own allocation:
//! a lie there, or millions of empty strings, would take memory that cannot be given back.

/// What a string costs beside its text: the handle and the allocation's rounding.
const STRING_OVERHEAD: u64 = 64;

/// Size of a string's handle: what calamine reserves for each declared string.
const STRING_HANDLE: u64 = 24;

/// Counts of the shared strings part.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Counts {
    /// Bytes so far.
    bytes: u64,
    /// `<si>` elements.
    strings: u64,
    /// The largest `uniqueCount` of any `<sst>` tag.
    declared: u64,
}

/// Finds tags in chunks of XML.
#[derive(Debug, Default)]
pub(crate) struct StringScanner {
    found: Counts,
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

impl StringScanner {
    /// Takes the next bytes; says why calamine must not have them, if so.
    pub(crate) fn check(&mut self, chunk: &[u8], limit: u64) -> Result<(), String> {
        self.feed(chunk);
        let Counts { bytes, strings, declared } = self.found;
        if declared.saturating_mul(STRING_HANDLE) > limit {
            return Err(format!("declares {declared} texts"));
        }
        if bytes.saturating_add(strings.saturating_mul(STRING_OVERHEAD)) > limit {
            return Err(format!("holds more than {strings} texts of {bytes} bytes"));
        }
        Ok(())
    }

    fn feed(&mut self, mut chunk: &[u8]) {
        self.found.bytes += chunk.len() as u64;
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

    fn scan(xml: &str, chunk: usize) -> Counts {
        let mut scanner = StringScanner::default();
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
                Counts { bytes: xml.len() as u64, strings: 2, declared: 4_000_000_000 },
                "chunks of {chunk}"
            );
        }
    }

    #[test]
    fn lies_and_floods_are_caught() {
        let limit = 1 << 20;
        let check = |xml: &[u8]| StringScanner::default().check(xml, limit);
        assert!(check(br#"<sst uniqueCount="12">"#).is_ok());
        assert!(check(br#"<sst uniqueCount="4000000000">"#).is_err());
        assert!(check(br#"<sst uniqueCount="99999999999999999999999">"#).is_err());
        assert!(check(&b"<si/>".repeat(20_000)).is_err());
    }

    #[test]
    fn a_sign_in_an_attribute_hides_nothing() {
        assert_eq!(scan(r#"<sst a=">" uniqueCount='77'>"#, 7).declared, 77);
        assert_eq!(scan(r"<sst><si></si></sst>", 3), Counts { bytes: 20, strings: 1, declared: 0 });
    }
}
