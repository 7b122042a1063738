//! OLE compound files (MS-CFB): finds a stream by name, in bounds whatever the file claims.
//!
//! Sector chains may loop or point anywhere: no chain is followed for more sectors than the file has.

/// Sector numbers from here on are marks (MS-CFB 2.1).
const FIRST_MARK: u32 = 0xffff_fffa;
/// Streams shorter than this live in the mini stream (MS-CFB 2.2).
const MINI_CUTOFF: u64 = 4096;
const MINI_SECTOR: usize = 64;
/// A directory entry's size in bytes (MS-CFB 2.6.1).
const ENTRY: usize = 128;
/// Sector numbers in the header (MS-CFB 2.2).
const HEADER_DIFAT: usize = 109;

/// An opened compound file.
pub(crate) struct Compound<'a> {
    bytes: &'a [u8],
    sector: usize,
    fat: Vec<u32>,
    mini_fat: Vec<u32>,
    mini_stream: Vec<u8>,
    streams: Vec<Stream>,
}

struct Stream {
    name: String,
    start: u32,
    length: u64,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word))
}

impl<'a> Compound<'a> {
    /// Reads header, allocation tables and directory.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, &'static str> {
        const SHORT: &str = "the header is cut short";
        let sector = match u16_at(bytes, 30).ok_or(SHORT)? {
            9 => 512,
            12 => 4096,
            _ => return Err("the sector size is neither 512 nor 4096"),
        };
        let mut file = Self {
            bytes,
            sector,
            fat: Vec::new(),
            mini_fat: Vec::new(),
            mini_stream: Vec::new(),
            streams: Vec::new(),
        };
        let directory_start = u32_at(bytes, 48).ok_or(SHORT)?;
        let mini_fat_start = u32_at(bytes, 60).ok_or(SHORT)?;
        let mut difat: Vec<u32> =
            words(bytes.get(76..76 + 4 * HEADER_DIFAT).ok_or(SHORT)?).collect();
        let mut next = u32_at(bytes, 68).ok_or(SHORT)?;
        for _ in 0..file.sectors() {
            if next >= FIRST_MARK {
                break;
            }
            let table = file.sector(next).ok_or("the allocation table points outside the file")?;
            let mut entries: Vec<u32> = words(table).collect();
            next = entries.pop().unwrap_or(FIRST_MARK);
            difat.extend(entries);
        }
        for id in difat.into_iter().filter(|id| *id < FIRST_MARK).take(file.sectors()) {
            let table = file.sector(id).ok_or("the allocation table points outside the file")?;
            file.fat.extend(words(table));
        }
        let directory = file.chain(directory_start, u64::MAX)?;
        for entry in directory.as_chunks::<ENTRY>().0 {
            let length = usize::from(u16_at(entry, 64).unwrap_or(0)).clamp(2, 64) - 2;
            let name: Vec<u16> = entry[..length]
                .as_chunks::<2>()
                .0
                .iter()
                .map(|unit| u16::from_le_bytes(*unit))
                .collect();
            let low = u64::from(u32_at(entry, 120).unwrap_or(0));
            let high = u64::from(u32_at(entry, 124).unwrap_or(0));
            file.streams.push(Stream {
                name: String::from_utf16_lossy(&name),
                start: u32_at(entry, 116).unwrap_or(FIRST_MARK),
                // With sectors of 512 bytes the upper half is not defined.
                length: if sector == 512 { low } else { low | high << 32 },
            });
        }
        let root = file.streams.first().ok_or("the directory is empty")?;
        if root.start < FIRST_MARK {
            file.mini_stream = file.chain(root.start, root.length)?;
            file.mini_fat = words(&file.chain(mini_fat_start, u64::MAX)?).collect();
        }
        Ok(file)
    }

    fn sectors(&self) -> usize {
        self.bytes.len() / self.sector
    }

    fn sector(&self, id: u32) -> Option<&'a [u8]> {
        let start = (id as usize).checked_add(1)?.checked_mul(self.sector)?;
        let end = start.checked_add(self.sector)?.min(self.bytes.len());
        self.bytes.get(start..end).filter(|sector| !sector.is_empty())
    }

    fn chain(&self, start: u32, length: u64) -> Result<Vec<u8>, &'static str> {
        let mut out = Vec::new();
        let mut id = start;
        for _ in 0..=self.sectors() {
            if id >= FIRST_MARK || out.len() as u64 >= length {
                out.truncate(usize::try_from(length).unwrap_or(usize::MAX));
                return Ok(out);
            }
            out.extend(self.sector(id).ok_or("a stream points outside the file")?);
            id = self
                .fat
                .get(id as usize)
                .copied()
                .ok_or("a stream is not in the allocation table")?;
        }
        Err("a stream runs in a circle")
    }

    /// True when a stream or storage of that name exists.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.streams.iter().any(|stream| stream.name.eq_ignore_ascii_case(name))
    }

    /// The bytes of a stream.
    pub(crate) fn stream(&self, name: &str) -> Option<Result<Vec<u8>, &'static str>> {
        let stream = self.streams.iter().find(|s| s.name.eq_ignore_ascii_case(name))?;
        if stream.length >= MINI_CUTOFF {
            return Some(self.chain(stream.start, stream.length));
        }
        let mut out = Vec::new();
        let mut id = stream.start;
        // At most 64 mini sectors below the cut-off.
        while id < FIRST_MARK && (out.len() as u64) < stream.length {
            let from = id as usize * MINI_SECTOR;
            let Some(part) = self.mini_stream.get(from..from + MINI_SECTOR) else {
                return Some(Err("a short stream points outside the file"));
            };
            out.extend(part);
            id = self.mini_fat.get(id as usize).copied().unwrap_or(FIRST_MARK);
        }
        out.truncate(usize::try_from(stream.length).unwrap_or(usize::MAX));
        Some(Ok(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn any_bytes_are_handled(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..3000)) {
            let mut file = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec();
            file.extend([0; 22]);
            file.extend([9, 0]);
            file.extend(bytes);
            if let Ok(found) = Compound::open(&file) {
                let _ = found.stream("Workbook");
            }
        }
    }
}
