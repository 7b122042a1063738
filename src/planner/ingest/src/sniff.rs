//! What the bytes of a file are. Extensions are not looked at: they lie.

use crate::archive::Archive;
use crate::encoding::decode;

/// Bytes needed to tell.
pub(crate) const HEAD: usize = 4096;

/// The form of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Empty,
    Zip,
    /// An OLE compound file: a workbook of before 2007, or an encrypted one of after.
    Compound,
    Html,
    Text,
    /// A format by name that is not read.
    Other(&'static str),
}

/// Tells the form from the first [`HEAD`] bytes.
pub(crate) fn form(head: &[u8]) -> Form {
    const MAGIC: [(&[u8], &str); 12] = [
        (b"%PDF", "a PDF document"),
        (b"\x89PNG", "a PNG picture"),
        (b"\xff\xd8\xff", "a JPEG picture"),
        (b"GIF8", "a GIF picture"),
        (b"\x1f\x8b", "a gzip file"),
        (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
        (b"Rar!", "a RAR archive"),
        (b"BZh", "a bzip2 file"),
        (b"\xfd7zXZ", "an xz file"),
        (b"\x28\xb5\x2f\xfd", "a Zstandard file"),
        (b"SQLite format 3", "an SQLite database"),
        (b"MZ", "a Windows program"),
    ];
    if head.is_empty() {
        return Form::Empty;
    }
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        return Form::Zip;
    }
    if head.starts_with(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1") {
        return Form::Compound;
    }
    if let Some((_, name)) = MAGIC.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Form::Other(name);
    }
    let text = decode(head).text;
    let start = text.trim_start().to_ascii_lowercase();
    if start.starts_with('<') {
        return if ["<html", "<!doctype html", "<table", "<body"].iter().any(|t| start.contains(t)) {
            Form::Html
        } else if start.contains("urn:schemas-microsoft-com:office:spreadsheet") {
            Form::Other("an XML spreadsheet of Excel 2003")
        } else {
            Form::Other("an XML document")
        };
    }
    if start.starts_with('{') || start.starts_with("[{") {
        return Form::Other("a JSON document");
    }
    let odd = text.chars().filter(|c| c.is_control() && !matches!(c, '\t' | '\r' | '\n')).count();
    if odd * 20 > text.chars().count() {
        return Form::Other("a binary file of unknown kind");
    }
    if start.trim().is_empty() { Form::Empty } else { Form::Text }
}

/// What a zip holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ZipKind {
    Workbook,
    Files,
    Other(&'static str),
}

/// Tells a workbook from an archive of files.
pub(crate) fn zip_kind(archive: &Archive) -> ZipKind {
    let under = |folder: &str| archive.entries.iter().any(|entry| entry.name.starts_with(folder));
    if archive.entry("xl/workbook.bin").is_some() {
        return ZipKind::Other("a binary workbook (.xlsb)");
    }
    if archive.entry("[Content_Types].xml").is_some() {
        return if under("word/") {
            ZipKind::Other("a Word document")
        } else if under("ppt/") {
            ZipKind::Other("a PowerPoint presentation")
        } else {
            ZipKind::Workbook
        };
    }
    if archive.entry("mimetype").is_some() && archive.entry("content.xml").is_some() {
        return ZipKind::Other("an OpenDocument file");
    }
    if archive.entry("META-INF/MANIFEST.MF").is_some() {
        return ZipKind::Other("a Java archive");
    }
    ZipKind::Files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_told_by_their_bytes() {
        assert_eq!(form(b""), Form::Empty);
        assert_eq!(form(b"  \r\n"), Form::Empty);
        assert_eq!(form(b"PK\x03\x04rest"), Form::Zip);
        assert_eq!(form(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), Form::Compound);
        assert_eq!(form(b"<html><table>"), Form::Html);
        assert_eq!(form(b"VM;Powerstate\nx;poweredOn\n"), Form::Text);
        assert_eq!(form(b"%PDF-1.7"), Form::Other("a PDF document"));
        assert_eq!(form(&[0, 1, 2, 3, 0, 5, 6, 0]), Form::Other("a binary file of unknown kind"));
        let utf16: Vec<u8> =
            "\u{feff}VM\tPowerstate\r\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(form(&utf16), Form::Text);
    }
}
