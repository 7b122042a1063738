//! Text of login and text PDUs: `key=value` pairs, each ended by NUL (RFC 7143 section 6.1), and its
//! continuation over several PDUs (C bit, section 11.10.2).

/// The longest text that one exchange may gather over its PDUs. A login with a 1,024-byte CHAP challenge in
/// hex, doubled, stays far below.
pub const TEXT_MAX: usize = 64 * 1024;

/// Text that cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// Not `key=value`.
    #[error("text item {index} is not key=value")]
    NotAPair {
        /// Position of the item, from 0.
        index: usize,
    },
    /// A key is longer than 63 bytes or has a character that no key has.
    #[error("text item {index} has a malformed key")]
    MalformedKey {
        /// Position of the item, from 0.
        index: usize,
    },
    /// The exchange gathers more text than is accepted.
    #[error("text of one exchange exceeds {TEXT_MAX} bytes")]
    TooLong,
}

/// The pairs of a text, in order. Empty items are skipped: some initiators pad with NUL.
pub fn pairs(text: &[u8]) -> impl Iterator<Item = Result<(&str, &str), TextError>> {
    text.split(|byte| *byte == 0)
        .filter(|item| !item.is_empty())
        .enumerate()
        .map(|(index, item)| pair(item, index))
}

fn pair(item: &[u8], index: usize) -> Result<(&str, &str), TextError> {
    let text = std::str::from_utf8(item).map_err(|_| TextError::NotAPair { index })?;
    let (key, value) = text.split_once('=').ok_or(TextError::NotAPair { index })?;
    // Section 6.1: a key begins with a letter and has at most 63 characters of this set.
    let legal =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '@' | '_' | '/' | '#');
    let starts = key.starts_with(|c: char| c.is_ascii_alphabetic());
    if !starts || key.len() > 63 || !key.chars().all(legal) {
        return Err(TextError::MalformedKey { index });
    }
    Ok((key, value))
}

/// Appends one pair.
pub fn append(out: &mut Vec<u8>, key: &str, value: &str) {
    out.extend_from_slice(key.as_bytes());
    out.push(b'=');
    out.extend_from_slice(value.as_bytes());
    out.push(0);
}

/// Gathers a text that comes in several PDUs.
#[derive(Debug, Default)]
pub struct Assembler {
    gathered: Vec<u8>,
}

impl Assembler {
    /// Takes the text of one PDU; gives the whole text once `more` (the C bit) is clear.
    pub fn push(&mut self, data: &[u8], more: bool) -> Result<Option<Vec<u8>>, TextError> {
        if self.gathered.len() + data.len() > TEXT_MAX {
            self.gathered = Vec::new();
            return Err(TextError::TooLong);
        }
        self.gathered.extend_from_slice(data);
        Ok((!more).then(|| std::mem::take(&mut self.gathered)))
    }

    /// Whether the middle of a text is awaited.
    pub fn is_partial(&self) -> bool {
        !self.gathered.is_empty()
    }
}

/// Hands out a text in pieces that fit the peer's MaxRecvDataSegmentLength.
#[derive(Debug, Default)]
pub struct Chunks {
    text: Vec<u8>,
    sent: usize,
}

impl Chunks {
    /// Starts with a whole text.
    pub fn new(text: Vec<u8>) -> Self {
        Self { text, sent: 0 }
    }

    /// The next piece and whether more follows (the C bit).
    pub fn next(&mut self, limit: usize) -> (&[u8], bool) {
        let start = self.sent;
        self.sent = self.text.len().min(start + limit.max(1));
        (&self.text[start..self.sent], self.sent < self.text.len())
    }

    /// Whether pieces are left.
    pub fn has_more(&self) -> bool {
        self.sent < self.text.len()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn rfc7143_6_1_pairs_round_trip() {
        let mut text = Vec::new();
        append(&mut text, "InitiatorName", "iqn.1998-01.com.example:a");
        append(&mut text, "X-com.example.odd", "a=b");
        text.push(0);
        append(&mut text, "TargetAlias", "");
        let all: Vec<_> = pairs(&text).map(Result::unwrap).collect();
        assert_eq!(
            all,
            [
                ("InitiatorName", "iqn.1998-01.com.example:a"),
                ("X-com.example.odd", "a=b"),
                ("TargetAlias", "")
            ]
        );
    }

    #[test]
    fn rfc7143_6_1_malformed_items_are_told() {
        let bad = |text: &[u8]| pairs(text).find_map(Result::err).unwrap();
        assert_eq!(bad(b"a=b\0nonsense\0"), TextError::NotAPair { index: 1 });
        assert_eq!(bad(b"1a=b\0"), TextError::MalformedKey { index: 0 });
        assert_eq!(bad(b"a b=c\0"), TextError::MalformedKey { index: 0 });
        assert_eq!(bad(b"=c\0"), TextError::MalformedKey { index: 0 });
        assert_eq!(bad(&[0xff, b'=', 0]), TextError::NotAPair { index: 0 });
        let long = format!("{}=1\0", "k".repeat(64));
        assert_eq!(bad(long.as_bytes()), TextError::MalformedKey { index: 0 });
    }

    #[test]
    fn rfc7143_11_10_2_text_goes_on_over_pdus_anywhere_in_a_pair() {
        let mut text = Vec::new();
        append(&mut text, "TargetName", "iqn.1998-01.com.example:b");
        for limit in 1..text.len() + 2 {
            let mut chunks = Chunks::new(text.clone());
            let mut assembler = Assembler::default();
            let whole = loop {
                let (piece, more) = chunks.next(limit);
                if let Some(whole) = assembler.push(piece, more).unwrap() {
                    break whole;
                }
                assert!(assembler.is_partial());
            };
            assert_eq!(whole, text);
            assert!(!chunks.has_more() && !assembler.is_partial());
        }
    }

    #[test]
    fn rfc7143_6_1_endless_text_is_cut_off() {
        let mut assembler = Assembler::default();
        let mut result = Ok(None);
        for _ in 0..TEXT_MAX / 8192 + 1 {
            result = assembler.push(&[b'a'; 8192], true);
        }
        assert_eq!(result, Err(TextError::TooLong));
        assert!(!assembler.is_partial(), "what was gathered is given back");
    }
}
