//! Legacy workbooks, text, and files that are not what their name says.

use std::fs;
use std::io;
use std::path::Path;

use crate::export::Export;
use crate::family::Family;
use crate::prng::Prng;
use crate::site::{Site, SiteSpec};
use crate::write::xls;

const OLE: [u8; 8] = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];
const HEADER: &str = "VM,Powerstate,Provisioned MiB,In Use MiB\r\n";
const ROW: &str = "app-01,poweredOn,40960,20480\r\n";

pub(super) fn write(name: &str, path: &Path) -> io::Result<bool> {
    let text = |text: String| fs::write(path, text);
    match name {
        "encrypted.xlsx" => fs::write(path, xls::compound("EncryptedPackage", noise(8_192))?)?,
        "encrypted.xls" => fs::write(path, xls::compound("Workbook", file_pass())?)?,
        "noise.xls" => fs::write(path, [OLE.to_vec(), noise(20_000)].concat())?,
        "chain-loop.xls" => {
            // The chain of the stream runs back into its own start.
            let mut bytes = legacy()?;
            let first = 512 + 4 * 2;
            bytes[first + 8..first + 12].copy_from_slice(&2_u32.to_le_bytes());
            fs::write(path, bytes)?;
        }
        "string-count-lie.xls" => {
            let mut bytes = legacy()?;
            if let Some(at) = find(&bytes, &[0xfc, 0x00]) {
                bytes[at + 4..at + 12].copy_from_slice(&[0xff; 8]);
            }
            fs::write(path, bytes)?;
        }
        "record-cut.xls" => {
            let bytes = legacy()?;
            fs::write(path, &bytes[..bytes.len() * 2 / 3])?;
        }
        "html.xls" => text(
            "<html><table><tr><td>VM</td><td>Provisioned MiB</td></tr><tr><td>a</td><td>1</td></tr></table></html>"
                .to_owned(),
        )?,
        "csv.xlsx" => text(format!("{HEADER}{ROW}"))?,
        "picture.xlsx" => {
            fs::write(path, [&b"\x89PNG\r\n\x1a\n"[..], &noise(2_000)].concat())?;
        }
        "empty.xlsx" => fs::write(path, [])?,
        "one-byte.csv" => text("V".to_owned())?,
        "mark-only.csv" => fs::write(path, [0xff, 0xfe])?,
        "open-quote.csv" => text(format!("{HEADER}\"app-01,poweredOn,{}", "1,2\r\n".repeat(2_000_000)))?,
        "nul-bytes.csv" => fs::write(path, [HEADER.as_bytes(), &[0; 1_000_000]].concat())?,
        "five-thousand-columns.csv" => {
            let names: Vec<String> = (0..5_000).map(|index| format!("column {index}")).collect();
            text(format!("VM,Provisioned MiB,{}\r\napp-01,40960\r\n", names.join(",")))?;
        }
        "ragged.csv" => text(format!("{HEADER}{ROW}app-02,poweredOn\r\n{}\r\n{ROW}", "x,".repeat(500)))?,
        "long-line.csv" => text(format!("{HEADER}{ROW}app-02,{}\r\n", "y".repeat(20_000_000)))?,
        "header-only.csv" => text(HEADER.to_owned())?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn noise(length: usize) -> Vec<u8> {
    let mut random = Prng::new(99);
    (0..length).map(|_| random.next_u64() as u8).collect()
}

/// A small sound legacy workbook.
fn legacy() -> io::Result<Vec<u8>> {
    let site = Site::new(SiteSpec { vms: 12, ..SiteSpec::plain(40) });
    xls::bytes(&Export::new(Family::V38, site.whole()))
}

/// A workbook stream that begins with FILEPASS: it is encrypted.
fn file_pass() -> Vec<u8> {
    let mut out = vec![0x09, 0x08, 0x10, 0x00, 0x00, 0x06, 0x05, 0x00, 0xbb, 0x0d, 0xcc, 0x07];
    out.extend([0, 0, 0, 0, 6, 0, 0, 0]);
    out.extend([0x2f, 0x00, 0x36, 0x00, 0x01, 0x00, 0x01, 0x00, 0x01, 0x00]);
    out.extend(noise(6_000));
    out
}

fn find(bytes: &[u8], record: &[u8]) -> Option<usize> {
    // Records of the globals follow one another from the start of the stream.
    let mut at = 512 * (1 + fat_sectors(bytes) + 1);
    while at + 4 <= bytes.len() {
        if bytes[at..].starts_with(record) {
            return Some(at);
        }
        at += 4 + usize::from(u16::from_le_bytes([bytes[at + 2], bytes[at + 3]]));
    }
    None
}

fn fat_sectors(bytes: &[u8]) -> usize {
    u32::from_le_bytes([bytes[44], bytes[45], bytes[46], bytes[47]]) as usize
}
