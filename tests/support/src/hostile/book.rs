//! The smallest workbook with one sheet, for sheets written by hand.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use zip::ZipWriter;

use crate::write::zipped;

/// Fills one part.
pub(super) type Part<'p> = &'p dyn Fn(&mut dyn Write) -> io::Result<()>;

/// A vInfo of two good rows, as the inside of `sheetData`.
pub(super) const GOOD_ROWS: &str = "<row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>VM</t></is></c><c r=\"B1\" t=\"inlineStr\"><is><t>Powerstate</t></is></c><c r=\"C1\" t=\"inlineStr\"><is><t>Provisioned MiB</t></is></c><c r=\"D1\" t=\"inlineStr\"><is><t>In Use MiB</t></is></c></row><row r=\"2\"><c r=\"A2\" t=\"inlineStr\"><is><t>app-01</t></is></c><c r=\"B2\" t=\"inlineStr\"><is><t>poweredOn</t></is></c><c r=\"C2\"><v>40960</v></c><c r=\"D2\"><v>20480</v></c></row><row r=\"3\"><c r=\"A3\" t=\"inlineStr\"><is><t>app-02</t></is></c><c r=\"B3\" t=\"inlineStr\"><is><t>poweredOn</t></is></c><c r=\"C3\"><v>40960</v></c><c r=\"D3\"><v>10240</v></c></row>";

/// Opening of a worksheet with a dimension (or without, when empty).
pub(super) fn head(dimension: &str) -> String {
    let dimension = if dimension.is_empty() {
        String::new()
    } else {
        format!("<dimension ref=\"{dimension}\"/>")
    };
    format!(
        "<?xml version=\"1.0\"?><worksheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\">{dimension}<sheetData>"
    )
}

/// End of a worksheet.
pub(super) const TAIL: &str = "</sheetData></worksheet>";

pub(super) const TYPES: &str = "<?xml version=\"1.0\"?><Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"><Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/><Default Extension=\"xml\" ContentType=\"application/xml\"/><Override PartName=\"/xl/workbook.xml\" ContentType=\"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml\"/><Override PartName=\"/xl/worksheets/sheet1.xml\" ContentType=\"application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml\"/><Override PartName=\"/xl/sharedStrings.xml\" ContentType=\"application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml\"/></Types>";
pub(super) const ROOT: &str = "<?xml version=\"1.0\"?><Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"><Relationship Id=\"rId1\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>";
pub(super) const WORKBOOK: &str = "<?xml version=\"1.0\"?><workbook xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\" xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\"><sheets><sheet name=\"vInfo\" sheetId=\"1\" r:id=\"rId1\"/></sheets></workbook>";
pub(super) const RELATIONS: &str = "<?xml version=\"1.0\"?><Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"><Relationship Id=\"rId1\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet\" Target=\"worksheets/sheet1.xml\"/><Relationship Id=\"rId2\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings\" Target=\"sharedStrings.xml\"/></Relationships>";

/// Writes a workbook whose sheet and shared strings are filled by the callers.
pub(super) fn write(path: &Path, sheet: Part<'_>, strings: Option<Part<'_>>) -> io::Result<()> {
    let mut archive = ZipWriter::new(BufWriter::new(File::create(path)?));
    // Level 1: some of these parts inflate to a gibibyte.
    let options = zipped::options().compression_level(Some(1));
    for (name, body) in [
        ("[Content_Types].xml", TYPES),
        ("_rels/.rels", ROOT),
        ("xl/workbook.xml", WORKBOOK),
        ("xl/_rels/workbook.xml.rels", RELATIONS),
    ] {
        archive.start_file(name, options).map_err(io::Error::other)?;
        archive.write_all(body.as_bytes())?;
    }
    archive.start_file("xl/worksheets/sheet1.xml", options).map_err(io::Error::other)?;
    sheet(&mut archive)?;
    archive.start_file("xl/sharedStrings.xml", options).map_err(io::Error::other)?;
    match strings {
        Some(strings) => strings(&mut archive)?,
        None => archive.write_all(b"<?xml version=\"1.0\"?><sst xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"/>")?,
    }
    archive.finish().map_err(io::Error::other)?.flush()
}

/// Writes a workbook with this sheet text.
pub(super) fn write_text(path: &Path, sheet: &str) -> io::Result<()> {
    write(path, &|out| out.write_all(sheet.as_bytes()), None)
}

/// Repeats a byte.
pub(super) fn fill(out: &mut dyn Write, byte: u8, mebibytes: usize) -> io::Result<()> {
    let block = vec![byte; 1 << 20];
    (0..mebibytes).try_for_each(|_| out.write_all(&block))
}
