//! Legacy xls: BIFF8 records in a compound file, as RVTools wrote them before 3.9.
//!
//! Written by the published formats [MS-XLS] and [MS-CFB]; only what a list of cells needs.

use std::collections::HashMap;
use std::io;

use crate::cell::Cell;
use crate::export::Export;

/// A record holds at most this many bytes of data.
const RECORD_LIMIT: usize = 8_224;

/// A sheet of this format ends here.
const ROW_LIMIT: u32 = 65_536;

/// Cell format of dates and of everything else, as places in the XF table.
const XF_DATE: u16 = 16;
const XF_PLAIN: u16 = 15;

/// An export as a legacy workbook.
///
/// # Errors
/// When a tab has more rows, or the whole more bytes, than the format (as far as it is written
/// here) can hold.
pub fn bytes(export: &Export<'_>) -> io::Result<Vec<u8>> {
    let sheets = export.sheets();
    let mut strings = Strings::default();
    let mut bodies = Vec::new();
    for sheet in &sheets {
        let mut cells = Vec::new();
        let mut row = 0_u32;
        export.rows(sheet, &mut |values| {
            if row < ROW_LIMIT {
                for (column, value) in values.iter().enumerate() {
                    cell(&mut cells, &mut strings, row as u16, column as u16, value);
                }
            }
            row += 1;
        });
        if row > ROW_LIMIT {
            return Err(io::Error::other(format!(
                "{} has {row} rows, xls ends at 65536",
                sheet.name
            )));
        }
        let mut body = Vec::new();
        record(&mut body, 0x0809, &bof(0x0010));
        let mut dimensions = Vec::new();
        dimensions.extend(0_u32.to_le_bytes());
        dimensions.extend(row.to_le_bytes());
        dimensions.extend(0_u16.to_le_bytes());
        dimensions.extend((sheet.width() as u16).to_le_bytes());
        dimensions.extend(0_u16.to_le_bytes());
        record(&mut body, 0x0200, &dimensions);
        body.extend(cells);
        record(&mut body, 0x023e, &[0xb6, 0x06, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        record(&mut body, 0x000a, &[]);
        bodies.push(body);
    }
    let names: Vec<&str> = sheets.iter().map(|sheet| sheet.name.as_str()).collect();
    let mut stream = globals(&names, &vec![0; names.len()], &strings);
    let mut offset = stream.len();
    let offsets: Vec<usize> = bodies
        .iter()
        .map(|body| {
            let here = offset;
            offset += body.len();
            here
        })
        .collect();
    stream = globals(&names, &offsets, &strings);
    for body in bodies {
        stream.extend(body);
    }
    compound("Workbook", stream)
}

fn record(out: &mut Vec<u8>, kind: u16, data: &[u8]) {
    debug_assert!(data.len() <= RECORD_LIMIT);
    out.extend(kind.to_le_bytes());
    out.extend((data.len() as u16).to_le_bytes());
    out.extend(data);
}

fn bof(kind: u16) -> Vec<u8> {
    let mut data = Vec::new();
    for word in [0x0600_u16, kind, 0x0dbb, 0x07cc, 0, 0, 6, 0] {
        data.extend(word.to_le_bytes());
    }
    data
}

fn cell(out: &mut Vec<u8>, strings: &mut Strings, row: u16, column: u16, value: &Cell<'_>) {
    let place = |xf: u16| [row.to_le_bytes(), column.to_le_bytes(), xf.to_le_bytes()].concat();
    let mut number = |xf: u16, value: f64| {
        let mut data = place(xf);
        data.extend(value.to_le_bytes());
        record(out, 0x0203, &data);
    };
    let text = match value {
        Cell::Blank => return,
        Cell::Int(value) => return number(XF_PLAIN, *value as f64),
        Cell::Float(value) => return number(XF_PLAIN, *value),
        Cell::Date(stamp) => return number(XF_DATE, stamp.serial()),
        Cell::Bool(value) => {
            if *value {
                "True"
            } else {
                "False"
            }
        }
        Cell::Enum(text, _) => text,
        Cell::Text(text) => text.as_ref(),
    };
    let mut data = place(XF_PLAIN);
    data.extend(strings.index(text).to_le_bytes());
    record(out, 0x00fd, &data);
}

/// The shared string table.
#[derive(Default)]
struct Strings {
    places: HashMap<String, u32>,
    items: Vec<Vec<u8>>,
    uses: u32,
}

impl Strings {
    fn index(&mut self, text: &str) -> u32 {
        self.uses += 1;
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let place = self.items.len() as u32;
        self.places.insert(text.to_owned(), place);
        let mut item = Vec::new();
        item.extend((text.encode_utf16().count() as u16).to_le_bytes());
        item.extend(characters(text));
        self.items.push(item);
        place
    }

    /// SST and its CONTINUE records; a string is never cut.
    fn records(&self, out: &mut Vec<u8>) {
        let mut kind = 0x00fc;
        let mut data = self.uses.to_le_bytes().to_vec();
        data.extend((self.items.len() as u32).to_le_bytes());
        for item in &self.items {
            if data.len() + item.len() > RECORD_LIMIT {
                record(out, kind, &data);
                kind = 0x003c;
                data.clear();
            }
            data.extend(item);
        }
        record(out, kind, &data);
    }
}

/// A flag byte and the characters, one byte each when all are below 256.
fn characters(text: &str) -> Vec<u8> {
    let units: Vec<u16> = text.encode_utf16().collect();
    if units.iter().all(|unit| *unit < 256) {
        std::iter::once(0).chain(units.iter().map(|unit| *unit as u8)).collect()
    } else {
        std::iter::once(1).chain(units.iter().flat_map(|unit| unit.to_le_bytes())).collect()
    }
}

fn globals(names: &[&str], offsets: &[usize], strings: &Strings) -> Vec<u8> {
    let mut out = Vec::new();
    record(&mut out, 0x0809, &bof(0x0005));
    record(&mut out, 0x0042, &1_200_u16.to_le_bytes());
    record(
        &mut out,
        0x003d,
        &[0, 0, 0, 0, 0xff, 0x3f, 0xff, 0x1f, 0x38, 0, 0, 0, 0, 0, 1, 0, 0x58, 2],
    );
    record(&mut out, 0x0022, &[0, 0]);
    for _ in 0..5 {
        let mut font = Vec::new();
        for word in [200_u16, 0, 0x7fff, 400, 0, 0, 0] {
            font.extend(word.to_le_bytes());
        }
        font.extend([5, 0]);
        font.extend(b"Arial");
        record(&mut out, 0x0031, &font);
    }
    for index in 0..=XF_DATE {
        let mut format = [0_u8; 20];
        format[2] = if index == XF_DATE { 22 } else { 0 };
        let flags: u16 = if index < XF_PLAIN { 0xfff5 } else { 0x0001 };
        format[4..6].copy_from_slice(&flags.to_le_bytes());
        format[6] = 0x20;
        record(&mut out, 0x00e0, &format);
    }
    record(&mut out, 0x0293, &[0, 0x80, 0, 0xff]);
    for (name, offset) in names.iter().zip(offsets) {
        let mut data = (*offset as u32).to_le_bytes().to_vec();
        data.extend([0, 0, name.encode_utf16().count() as u8]);
        data.extend(characters(name));
        record(&mut out, 0x0085, &data);
    }
    strings.records(&mut out);
    record(&mut out, 0x000a, &[]);
    out
}

const SECTOR: usize = 512;
const END_OF_CHAIN: u32 = 0xffff_fffe;
const FREE: u32 = 0xffff_ffff;
const FAT_SECTOR: u32 = 0xffff_fffd;

/// Puts a stream into a compound file of version 3.
///
/// # Errors
/// When it is too large for the sector table as written here.
pub fn compound(name: &str, mut stream: Vec<u8>) -> io::Result<Vec<u8>> {
    // A stream below 4096 bytes would have to stand in the short-stream store.
    let size = stream.len().max(4_096);
    stream.resize(size.next_multiple_of(SECTOR), 0);
    let stream_sectors = stream.len() / SECTOR;
    let mut fat_sectors = 1;
    while (fat_sectors + 1 + stream_sectors) > fat_sectors * 128 {
        fat_sectors += 1;
    }
    if fat_sectors > 109 {
        return Err(io::Error::other("workbook above 7 MB: write fewer VMs or another format"));
    }
    let directory = fat_sectors as u32;
    let mut out = vec![0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];
    out.extend([0; 16]);
    for word in [0x003e_u16, 3, 0xfffe, 9, 6, 0, 0, 0] {
        out.extend(word.to_le_bytes());
    }
    for word in [0, fat_sectors as u32, directory, 0, 4_096, END_OF_CHAIN, 0, END_OF_CHAIN, 0] {
        out.extend(word.to_le_bytes());
    }
    for index in 0..109 {
        let sector = if index < fat_sectors { index as u32 } else { FREE };
        out.extend(sector.to_le_bytes());
    }
    let mut chains = vec![FAT_SECTOR; fat_sectors];
    chains.push(END_OF_CHAIN);
    let first = directory + 1;
    chains.extend((1..stream_sectors as u32).map(|index| first + index));
    chains.push(END_OF_CHAIN);
    chains.resize(fat_sectors * 128, FREE);
    out.extend(chains.into_iter().flat_map(u32::to_le_bytes));
    out.extend(entry("Root Entry", 5, 1, END_OF_CHAIN, 0));
    out.extend(entry(name, 2, FREE, first, size as u32));
    out.extend(entry("", 0, FREE, 0, 0));
    out.extend(entry("", 0, FREE, 0, 0));
    out.extend(stream);
    Ok(out)
}

fn entry(name: &str, kind: u8, child: u32, start: u32, size: u32) -> Vec<u8> {
    let mut out: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let length = if name.is_empty() { 0 } else { out.len() as u16 + 2 };
    out.resize(64, 0);
    out.extend(length.to_le_bytes());
    out.extend([kind, 1]);
    for link in [FREE, FREE, child] {
        out.extend(link.to_le_bytes());
    }
    out.extend([0; 36]);
    out.extend(start.to_le_bytes());
    out.extend(size.to_le_bytes());
    out.extend([0; 4]);
    out
}
