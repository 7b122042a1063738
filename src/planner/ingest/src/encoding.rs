//! Bytes of a text file to text: byte order mark, UTF-8, UTF-16 without a mark, else the most likely
//! regional encoding.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// Text and the encoding it was in.
pub(crate) struct Decoded<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) encoding: &'static Encoding,
    /// The encoding was inferred from the text, not declared by a mark or proven by its form.
    pub(crate) guessed: bool,
    /// Some bytes fit no character of the encoding.
    pub(crate) has_errors: bool,
}

/// Decodes a text file.
pub(crate) fn decode(bytes: &[u8]) -> Decoded<'_> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        let (text, has_errors) = encoding.decode_without_bom_handling(&bytes[mark..]);
        return Decoded { text, encoding, guessed: false, has_errors };
    }
    if let Some(encoding) = utf16_without_mark(bytes) {
        let (text, has_errors) = encoding.decode_without_bom_handling(bytes);
        return Decoded { text, encoding, guessed: true, has_errors };
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Decoded { text: text.into(), encoding: UTF_8, guessed: false, has_errors: false };
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let encoding = detector.guess(None, Utf8Detection::Deny);
    let (text, has_errors) = encoding.decode_without_bom_handling(bytes);
    Decoded { text, encoding, guessed: true, has_errors }
}

/// Headers are ASCII: in UTF-16 every second byte of the first line is zero.
fn utf16_without_mark(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = &bytes[..bytes.len().min(512)];
    if head.len() < 8 {
        return None;
    }
    let zeros = |first: usize| head.iter().skip(first).step_by(2).filter(|b| **b == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    let most = head.len() / 2 * 9 / 10;
    if odd >= most && even == 0 {
        Some(UTF_16LE)
    } else if even >= most && odd == 0 {
        Some(UTF_16BE)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "VM;Powerstate;Größe;Straße Übergröße für die Prüfung\n";

    #[test]
    fn marks_and_forms_are_recognised() {
        let le: Vec<u8> = HEADER.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let be: Vec<u8> = HEADER.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [
            HEADER.as_bytes().to_vec(),
            [b"\xef\xbb\xbf", HEADER.as_bytes()].concat(),
            [b"\xff\xfe", le.as_slice()].concat(),
            [b"\xfe\xff", be.as_slice()].concat(),
            le.clone(),
            be.clone(),
        ] {
            assert_eq!(decode(&bytes).text, HEADER);
        }
    }

    #[test]
    fn regional_encodings_are_inferred() {
        let (bytes, ..) = encoding_rs::WINDOWS_1252.encode(HEADER);
        let decoded = decode(&bytes);
        assert_eq!(decoded.text, HEADER);
        assert!(decoded.guessed);
        let japanese = "VM,仮想マシン,データストア,ホスト名,説明はこちらです\n";
        let (bytes, ..) = encoding_rs::SHIFT_JIS.encode(japanese);
        assert_eq!(decode(&bytes).text, japanese);
        let polish = "VM;Właściciel;Środowisko;Zażółć gęślą jaźń;Ośrodek w Łodzi\n";
        let (bytes, ..) = encoding_rs::WINDOWS_1250.encode(polish);
        assert_eq!(decode(&bytes).text, polish);
    }
}
