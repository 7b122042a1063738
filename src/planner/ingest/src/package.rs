//! A workbook's zip as calamine sees it: the same entries, stored instead of deflated, inflated on
//! the way by a second thread.
//!
//! This puts every byte of XML through one place where it is counted. A sheet that yields no value
//! for [`Limits::barren_bytes`](crate::limits::Limits) runs dry: a cell of endless text, floods of
//! comments, rich-text runs or styled blank cells all end there, so that nothing in a file can make
//! the XML reader buffer more. It also takes inflating off the thread that parses.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use crate::archive::{Archive, Entry, directory};
use crate::input::Source;
use crate::strings::StringScanner;

/// Entries up to this size are inflated in one go, without a thread.
const SMALL: u64 = 256 * 1024;
/// Bytes handed from the inflating thread at a time.
const CHUNK: usize = 128 * 1024;
/// Zero bytes before the directory: the zip reader looks for the end record in windows of 1 KiB, and
/// a window that reached into the last entry would inflate all of it.
const PADDING: usize = 4096;
/// Chunks in flight.
const AHEAD: usize = 8;

/// Counts bytes since the last value, and all bytes.
#[derive(Debug, Default)]
pub(crate) struct Gauge {
    since_value: AtomicU64,
    limit: AtomicU64,
    ran_dry: AtomicBool,
    total: AtomicU64,
    /// Why the shared strings were not handed on.
    refusal: Mutex<Option<String>>,
}

impl Gauge {
    /// Starts a sheet: at most `limit` bytes without a value.
    pub(crate) fn arm(&self, limit: u64) {
        self.since_value.store(0, Ordering::Relaxed);
        self.limit.store(limit, Ordering::Relaxed);
        self.ran_dry.store(false, Ordering::Relaxed);
    }

    /// A value was met.
    pub(crate) fn value(&self) {
        self.since_value.store(0, Ordering::Relaxed);
    }

    pub(crate) fn ran_dry(&self) -> bool {
        self.ran_dry.load(Ordering::Relaxed)
    }

    /// Inflated bytes so far.
    pub(crate) fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// Why the shared strings were not handed on, if so.
    pub(crate) fn take_refusal(&self) -> Option<String> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn refuse(&self, why: String) -> io::Error {
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        io::Error::other("refused")
    }

    fn count(&self, bytes: usize) -> io::Result<()> {
        let bytes = bytes as u64;
        self.total.fetch_add(bytes, Ordering::Relaxed);
        let since = self.since_value.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if since > self.limit.load(Ordering::Relaxed) {
            self.ran_dry.store(true, Ordering::Relaxed);
            return Err(io::Error::other("no value within the limit"));
        }
        Ok(())
    }
}

/// The virtual zip: headers in memory, data inflated on demand.
pub(crate) struct Package {
    source: Source,
    parts: Arc<[Part]>,
    /// Padding, directory and end record.
    tail: Arc<[u8]>,
    tail_start: u64,
    position: u64,
    open: Option<Inflating>,
    gauge: Arc<Gauge>,
    /// What the shared strings may take, in bytes.
    strings_limit: u64,
}

struct Part {
    entry: Entry,
    header: Vec<u8>,
    header_start: u64,
    data_start: u64,
    data_end: u64,
}

impl Package {
    /// Lays out the entries one behind the other.
    pub(crate) fn new(archive: &Archive, gauge: Arc<Gauge>, strings_limit: u64) -> Self {
        let mut parts = Vec::with_capacity(archive.entries.len());
        let mut tail = vec![0; PADDING];
        let mut at = 0_u64;
        for entry in &archive.entries {
            let header = header_record(entry, None);
            let data_start = at + header.len() as u64;
            let data_end = data_start + entry.size;
            tail.extend(header_record(entry, Some(at)));
            parts.push(Part {
                entry: entry.clone(),
                header,
                header_start: at,
                data_start,
                data_end,
            });
            at = data_end;
        }
        let directory_size = tail.len() - PADDING;
        tail.extend(end_record(parts.len(), directory_size, at + PADDING as u64));
        Self {
            source: archive.source.clone(),
            parts: parts.into(),
            tail: tail.into(),
            tail_start: at,
            position: 0,
            open: None,
            gauge,
            strings_limit,
        }
    }

    fn read_data(&mut self, part: usize, buffer: &mut [u8]) -> io::Result<usize> {
        let (entry, from) = {
            let part = &self.parts[part];
            (&part.entry, self.position - part.data_start)
        };
        let sits_there =
            self.open.as_ref().is_some_and(|open| open.index == entry.index && open.offset == from);
        if !sits_there {
            let mut open = Inflating::start(&self.source, entry)?;
            // The zip reader may come back to a place it has left; nothing else does.
            io::copy(&mut (&mut open).take(from), &mut io::sink())?;
            self.open = Some(open);
        }
        let Some(open) = &mut self.open else { return Ok(0) };
        let count = open.read(buffer)?;
        if count == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "entry is shorter than declared",
            ));
        }
        if let Some(scanner) = &mut open.strings {
            scanner
                .check(&buffer[..count], self.strings_limit)
                .map_err(|why| self.gauge.refuse(why))?;
        }
        self.gauge.count(count)?;
        Ok(count)
    }
}

impl Read for Package {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let count = if self.position >= self.tail_start {
            copy_from(&self.tail, self.position - self.tail_start, buffer)
        } else {
            let at = self.parts.partition_point(|part| part.data_end <= self.position);
            let Some(part) = self.parts.get(at) else { return Ok(0) };
            if self.position < part.data_start {
                copy_from(&part.header, self.position - part.header_start, buffer)
            } else {
                let left = part.data_end - self.position;
                let wanted = usize::try_from(left).map_or(buffer.len(), |l| l.min(buffer.len()));
                self.read_data(at, &mut buffer[..wanted])?
            }
        };
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for Package {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let end = self.tail_start + self.tail.len() as u64;
        let target = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => end.checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        self.position = target
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "seek before start"))?;
        Ok(self.position)
    }
}

fn copy_from(bytes: &[u8], from: u64, buffer: &mut [u8]) -> usize {
    let Some(rest) = usize::try_from(from).ok().and_then(|from| bytes.get(from..)) else {
        return 0;
    };
    let count = rest.len().min(buffer.len());
    buffer[..count].copy_from_slice(&rest[..count]);
    count
}

/// An entry being inflated.
struct Inflating {
    index: usize,
    /// Offset of the next byte in the inflated entry.
    offset: u64,
    chunk: Vec<u8>,
    at: usize,
    /// Judges the shared strings.
    strings: Option<StringScanner>,
    /// Further chunks; none for a small entry.
    more: Option<Receiver<io::Result<Vec<u8>>>>,
}

impl Inflating {
    fn start(source: &Source, entry: &Entry) -> io::Result<Self> {
        let (source, index, size) = (source.clone(), entry.index, entry.size);
        let file = entry.name.rsplit('/').next().unwrap_or_default();
        let strings = file.eq_ignore_ascii_case("sharedStrings.xml").then(StringScanner::default);
        let mut open = Self { index, offset: 0, chunk: Vec::new(), at: 0, strings, more: None };
        if size <= SMALL {
            let mut zip = directory(&source).map_err(io::Error::other)?;
            let reader = zip.by_index(index).map_err(io::Error::other)?;
            reader.take(size).read_to_end(&mut open.chunk)?;
            return Ok(open);
        }
        let (sender, receiver) = sync_channel(AHEAD);
        // Ends when the entry does, or when the receiver is dropped.
        std::thread::Builder::new().name("inflate".to_owned()).spawn(move || {
            if let Err(error) = inflate(&source, index, size, &sender) {
                let _ = sender.send(Err(error));
            }
        })?;
        open.more = Some(receiver);
        Ok(open)
    }
}

fn inflate(
    source: &Source,
    index: usize,
    size: u64,
    sender: &SyncSender<io::Result<Vec<u8>>>,
) -> io::Result<()> {
    let mut zip = directory(source).map_err(io::Error::other)?;
    let mut reader = zip.by_index(index).map_err(io::Error::other)?;
    let mut sent = 0_u64;
    loop {
        let mut chunk = Vec::with_capacity(CHUNK);
        (&mut reader).take(CHUNK as u64).read_to_end(&mut chunk)?;
        if chunk.is_empty() {
            return Ok(());
        }
        sent += chunk.len() as u64;
        if sent > size {
            return Err(io::Error::other("entry is longer than declared"));
        }
        if sender.send(Ok(chunk)).is_err() {
            return Ok(());
        }
    }
}

impl Read for Inflating {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.chunk.len()
            && let Some(more) = &self.more
        {
            match more.recv() {
                Ok(chunk) => {
                    self.chunk = chunk?;
                    self.at = 0;
                }
                Err(_) => return Ok(0),
            }
        }
        let rest = &self.chunk[self.at..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        self.offset += count as u64;
        Ok(count)
    }
}

/// Local header, or directory record when the offset of the local header is given (APPNOTE 4.3.7
/// and 4.3.12). Sizes fit in 32 bits: the inflated limit is below 4 GiB.
fn header_record(entry: &Entry, local_at: Option<u64>) -> Vec<u8> {
    /// Version 2.0; general purpose bit 11: the name is UTF-8.
    const VERSION: u16 = 20;
    const UTF8_NAME: u16 = 1 << 11;
    let size = u32::try_from(entry.size).unwrap_or(u32::MAX);
    let mut out = Vec::with_capacity(46 + entry.name.len());
    match local_at {
        None => out.extend(b"PK\x03\x04"),
        Some(_) => {
            out.extend(b"PK\x01\x02");
            out.extend(VERSION.to_le_bytes());
        }
    }
    out.extend(VERSION.to_le_bytes());
    out.extend(UTF8_NAME.to_le_bytes());
    // Stored; no time and date.
    out.extend([0; 6]);
    out.extend(entry.crc32.to_le_bytes());
    out.extend(size.to_le_bytes());
    out.extend(size.to_le_bytes());
    out.extend(u16::try_from(entry.name.len()).unwrap_or(u16::MAX).to_le_bytes());
    out.extend([0; 2]);
    if let Some(at) = local_at {
        // No comment, disk 0, no attributes.
        out.extend([0; 10]);
        out.extend(u32::try_from(at).unwrap_or(u32::MAX).to_le_bytes());
    }
    out.extend(entry.name.as_bytes());
    out
}

/// End of the directory (APPNOTE 4.3.16).
fn end_record(entries: usize, size: usize, start: u64) -> Vec<u8> {
    let entries = u16::try_from(entries).unwrap_or(u16::MAX);
    let mut out = Vec::with_capacity(22);
    out.extend(b"PK\x05\x06");
    out.extend([0; 4]);
    out.extend(entries.to_le_bytes());
    out.extend(entries.to_le_bytes());
    out.extend(u32::try_from(size).unwrap_or(u32::MAX).to_le_bytes());
    out.extend(u32::try_from(start).unwrap_or(u32::MAX).to_le_bytes());
    out.extend([0; 2]);
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write;

    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::limits::Limits;

    fn sample() -> (Archive, Vec<(String, Vec<u8>)>) {
        let files: Vec<(String, Vec<u8>)> = vec![
            ("a/small.xml".to_owned(), b"<a/>".to_vec()),
            ("empty".to_owned(), Vec::new()),
            ("b/größe.xml".to_owned(), (0..2_000_000_u32).map(|i| (i * 31 % 251) as u8).collect()),
            ("last".to_owned(), b"end".to_vec()),
        ];
        let mut zip = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
        for (name, bytes) in &files {
            zip.start_file(name.as_str(), SimpleFileOptions::default()).unwrap();
            zip.write_all(bytes).unwrap();
        }
        let bytes = zip.finish().unwrap().into_inner();
        let source = Source::Memory(bytes.into());
        let limits = Limits { inflate_ratio: 10_000, ..Limits::default() };
        (Archive::open("x.zip", &source, &limits).unwrap(), files)
    }

    #[test]
    fn the_virtual_zip_holds_the_same_files() {
        let (archive, files) = sample();
        let gauge = Arc::new(Gauge::default());
        gauge.arm(u64::MAX);
        let mut zip =
            zip::ZipArchive::new(Package::new(&archive, Arc::clone(&gauge), u64::MAX)).unwrap();
        // In another order than they stand, and twice.
        for (name, bytes) in files.iter().rev().chain(&files) {
            let mut found = Vec::new();
            zip.by_name(name).unwrap().read_to_end(&mut found).unwrap();
            assert!(found == *bytes, "{name}");
        }
        assert_eq!(gauge.total(), 2 * (4 + 2_000_000 + 3));
    }

    #[test]
    fn a_dry_run_ends_in_an_error() {
        let (archive, files) = sample();
        let gauge = Arc::new(Gauge::default());
        gauge.arm(u64::MAX);
        let mut zip =
            zip::ZipArchive::new(Package::new(&archive, Arc::clone(&gauge), u64::MAX)).unwrap();
        gauge.arm(1_000_000);
        let read = zip.by_name(&files[2].0).unwrap().read_to_end(&mut Vec::new());
        assert!(read.is_err());
        assert!(gauge.ran_dry());
    }
}
