//! Archives that lie, nest, escape or stop short.

use std::fs::{self, File};
use std::io::{self, BufWriter, Cursor, Write};
use std::path::Path;

use zip::ZipWriter;

use super::book::{self, GOOD_ROWS, TAIL, head};
use crate::write::zipped;

const CSV: &str = "VM,Powerstate,Provisioned MiB,In Use MiB\r\napp-01,poweredOn,40960,20480\r\napp-02,poweredOn,40960,10240\r\n";
const TAB: &str = "RVTools_tabvInfo.csv";

/// Mebibytes that a bomb inflates to.
const BOMB_MIB: usize = 1_024;

pub(super) fn write(name: &str, path: &Path) -> io::Result<bool> {
    let entries =
        |entries: &[(&str, &[u8])]| -> io::Result<()> { fs::write(path, archive(entries)?) };
    match name {
        "bomb-sheet.xlsx" => book::write(
            path,
            &|out| {
                write!(out, "{}{GOOD_ROWS}", head(""))?;
                book::fill(out, b' ', BOMB_MIB)?;
                write!(out, "{TAIL}")
            },
            None,
        )?,
        "bomb-csv.zip" => {
            let mut archive = ZipWriter::new(BufWriter::new(File::create(path)?));
            bomb(&mut archive, TAB)?;
            archive.finish().map_err(io::Error::other)?.flush()?;
        }
        "bomb-nested.zip" => {
            let mut inner = ZipWriter::new(Cursor::new(Vec::new()));
            bomb(&mut inner, TAB)?;
            let inner = inner.finish().map_err(io::Error::other)?.into_inner();
            let names: Vec<String> = (0..16).map(|index| format!("site-{index:02}.zip")).collect();
            let all: Vec<(&str, &[u8])> =
                names.iter().map(|name| (name.as_str(), inner.as_slice())).collect();
            entries(&all)?;
        }
        "nested-five-deep.zip" => {
            let mut bytes = archive(&[(TAB, CSV.as_bytes())])?;
            for _ in 0..5 {
                bytes = archive(&[("inner.zip", &bytes)])?;
            }
            fs::write(path, bytes)?;
        }
        "traversal-names.zip" => entries(&[
            ("../../escaped.csv", b"escaped"),
            ("/tmp/plimsoll-escaped.csv", b"escaped"),
            ("C:\\temp\\escaped.csv", b"escaped"),
            ("a/../../../escaped.csv", b"escaped"),
            (TAB, CSV.as_bytes()),
        ])?,
        "many-entries.zip" => {
            let mut archive = ZipWriter::new(BufWriter::new(File::create(path)?));
            for index in 0..60_000 {
                archive
                    .start_file(format!("{index}.csv"), zipped::options())
                    .map_err(io::Error::other)?;
            }
            archive.finish().map_err(io::Error::other)?.flush()?;
        }
        "same-name-twice.zip" => {
            // The archive writer refuses this, so the second name is patched in afterwards.
            let other = "RVTools_tabvInfX.csv";
            let bytes = archive(&[(TAB, CSV.as_bytes()), (other, CSV.as_bytes())])?;
            fs::write(path, replaced(&bytes, other.as_bytes(), TAB.as_bytes()))?;
        }
        "encrypted-entries.zip" => {
            let mut bytes = archive(&[(TAB, CSV.as_bytes())])?;
            set_flag(&mut bytes, 0x01);
            fs::write(path, bytes)?;
        }
        "truncated-half.xlsx" => cut(path, |bytes| bytes.len() / 2)?,
        "truncated-directory.xlsx" => cut(path, |bytes| bytes.len() - 30)?,
        "declared-2gb-sheet.xlsx" => {
            book::write_text(path, &format!("{}{GOOD_ROWS}{TAIL}", head("")))?;
            let mut bytes = fs::read(path)?;
            declare_size(&mut bytes, b"xl/worksheets/sheet1.xml", 2_000_000_000);
            fs::write(path, bytes)?;
        }
        "empty.zip" => entries(&[])?,
        "no-workbook.xlsx" => entries(&[
            ("[Content_Types].xml", book::TYPES.as_bytes()),
            ("_rels/.rels", book::ROOT.as_bytes()),
        ])?,
        "missing-sheet-part.xlsx" => entries(&[
            ("[Content_Types].xml", book::TYPES.as_bytes()),
            ("_rels/.rels", book::ROOT.as_bytes()),
            ("xl/workbook.xml", book::WORKBOOK.as_bytes()),
            ("xl/_rels/workbook.xml.rels", book::RELATIONS.as_bytes()),
        ])?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn archive(entries: &[(&str, &[u8])]) -> io::Result<Vec<u8>> {
    let owned: Vec<(String, Vec<u8>)> =
        entries.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect();
    Ok(zipped::write(Cursor::new(Vec::new()), &owned)?.into_inner())
}

/// An entry that starts as a good CSV and goes on as one endless field.
fn bomb<W: Write + io::Seek>(archive: &mut ZipWriter<W>, name: &str) -> io::Result<()> {
    let options = zipped::options().compression_level(Some(1));
    archive.start_file(name, options).map_err(io::Error::other)?;
    archive.write_all(CSV.as_bytes())?;
    book::fill(archive, b'a', BOMB_MIB)
}

/// A sound workbook, cut.
fn cut(path: &Path, at: impl Fn(&[u8]) -> usize) -> io::Result<()> {
    book::write_text(path, &format!("{}{GOOD_ROWS}{TAIL}", head("")))?;
    let bytes = fs::read(path)?;
    fs::write(path, &bytes[..at(&bytes)])
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for start in 0..out.len().saturating_sub(from.len()) {
        if out[start..].starts_with(from) {
            out[start..start + to.len()].copy_from_slice(to);
        }
    }
    out
}

const LOCAL: &[u8] = b"PK\x03\x04";
const CENTRAL: &[u8] = b"PK\x01\x02";

/// Sets bits of the general-purpose flag in every header.
fn set_flag(bytes: &mut [u8], bits: u8) {
    for start in 0..bytes.len().saturating_sub(4) {
        if bytes[start..].starts_with(LOCAL) {
            bytes[start + 6] |= bits;
        } else if bytes[start..].starts_with(CENTRAL) {
            bytes[start + 8] |= bits;
        }
    }
}

/// Writes a false uncompressed size into both headers of an entry.
fn declare_size(bytes: &mut [u8], name: &[u8], size: u32) {
    for start in 0..bytes.len().saturating_sub(46) {
        let (field, name_at) = if bytes[start..].starts_with(LOCAL) {
            (22, 30)
        } else if bytes[start..].starts_with(CENTRAL) {
            (24, 46)
        } else {
            continue;
        };
        if bytes[start + name_at..].starts_with(name) {
            bytes[start + field..start + field + 4].copy_from_slice(&size.to_le_bytes());
        }
    }
}
