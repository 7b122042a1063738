//! IOmeter configuration files (`.icf`), named format.
//!
//! A line that begins with `'` is a key (compared without case, trimmed) or a comment; the data lines of a
//! key follow, indented. Sections are skipped by their `'End …` keys. Files of other writers vary, so
//! unknown keys are passed over, and everything that was understood but cannot be done is noted.
//!
//! Each access specification that a manager's worker is assigned becomes a workload; without any
//! assignment all specifications are taken. Queue depth and size come from the default target settings.

use super::{Imported, decode};
use crate::{
    Error, Result,
    workload::{Access, Workload},
};

/// Most rows of a specification.
const MAX_ROWS: usize = 100;
/// The unit of sizes and alignments.
const SECTOR: u64 = 512;

struct Specification {
    name: String,
    /// `ALL` or `DISK`: runs on every worker without being assigned.
    by_default: bool,
    rows: Vec<Access>,
}

#[derive(Default)]
struct Worker {
    depth: Option<u32>,
    sectors: Option<u64>,
    first_sector: Option<u64>,
    assigned: Vec<String>,
    is_disk: bool,
}

struct Reader<'a> {
    file: &'a str,
    /// Number and text of each line that is not empty.
    lines: Vec<(usize, &'a str)>,
    at: usize,
    notes: Vec<String>,
}

impl<'a> Reader<'a> {
    fn new(file: &'a str, text: &'a str) -> Self {
        let lines = text
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line.trim_end()))
            .filter(|(_, line)| !line.trim().is_empty())
            .collect();
        Self { file, lines, at: 0, notes: Vec::new() }
    }

    /// The next key line: its number and the key in lower case, without the quote.
    fn key(&mut self) -> Option<(usize, String)> {
        while let Some(&(number, line)) = self.lines.get(self.at) {
            self.at += 1;
            if let Some(key) = line.strip_prefix('\'') {
                return Some((number, key.trim().to_lowercase()));
            }
        }
        None
    }

    /// The next data line, if no key comes before it. Commented units (`'hours minutes`) are keys without
    /// data of their own, so they may stand between a key and its data.
    fn data(&mut self) -> Option<(usize, &'a str)> {
        let &(number, line) = self.lines.get(self.at)?;
        if line.starts_with('\'') {
            return None;
        }
        self.at += 1;
        Some((number, line.trim()))
    }

    fn note(&mut self, line: usize, text: impl std::fmt::Display) {
        self.notes.push(format!("{}:{line}: {text}", self.file));
    }

    fn refuse<T>(&self, line: usize, what: String) -> Result<T> {
        Err(Error::Import { file: self.file.to_owned(), line, what })
    }
}

/// Reads a configuration.
pub fn import(file: &str, bytes: &[u8]) -> Result<Imported> {
    let text = decode(bytes);
    let mut reader = Reader::new(file, &text);
    match reader.lines.first() {
        Some((_, first)) if first.trim_start().to_lowercase().starts_with("version") => {}
        Some(&(line, _)) => {
            return reader
                .refuse(line, "does not begin with a version, as IOmeter's files do".to_owned());
        }
        None => return reader.refuse(1, "is empty".to_owned()),
    }
    let mut seconds = None;
    let mut ramp_seconds = None;
    let mut specifications: Vec<Specification> = Vec::new();
    let mut workers: Vec<Worker> = Vec::new();
    while let Some((line, key)) = reader.key() {
        match key.as_str() {
            "run time" => seconds = run_time(&mut reader, line)?,
            "ramp up time (s)" => {
                ramp_seconds = number(&mut reader, line, "the ramp")?;
            }
            "test type" => {
                if let Some((line, value)) = reader.data()
                    && value != "NORMAL"
                {
                    reader.note(
                        line,
                        format_args!("test type {value} is not done; each workload runs once"),
                    );
                }
            }
            "worker cycling" | "disk cycling" | "queue depth cycling" => {}
            key if key.starts_with("results display") => {
                skip_to(&mut reader, "end results display");
            }
            key if key.starts_with("access specification name") => {
                specification(&mut reader, line, &mut specifications)?;
            }
            key if key.starts_with("size,% of size") => {
                rows(&mut reader, line, &mut specifications)?;
            }
            "worker" => workers.push(Worker { is_disk: true, ..Worker::default() }),
            "worker type" => worker_type(&mut reader, &mut workers),
            key if key.starts_with("number of outstanding ios") => {
                outstanding(&mut reader, &mut workers)?;
            }
            key if key.starts_with("disk maximum size") => size(&mut reader, &mut workers)?,
            "assigned access specs" => {
                while let Some((_, name)) = reader.data() {
                    if let Some(worker) = workers.last_mut() {
                        worker.assigned.push(name.to_owned());
                    }
                }
            }
            _ => {}
        }
    }
    build(reader, &specifications, &workers, seconds, ramp_seconds)
}

fn skip_to(reader: &mut Reader<'_>, wanted: &str) {
    while let Some((_, key)) = reader.key() {
        if key.starts_with(wanted) {
            return;
        }
    }
}

fn integers(reader: &Reader<'_>, line: usize, text: &str, what: &str) -> Result<Vec<u64>> {
    text.split([',', '\t', ' '])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| {
            part.parse().or_else(|_| {
                reader.refuse(line, format!("{part:?} of {what} is not a whole number"))
            })
        })
        .collect()
}

fn run_time(reader: &mut Reader<'_>, line: usize) -> Result<Option<f64>> {
    // The names of the three columns are a comment.
    if reader.lines.get(reader.at).is_some_and(|(_, line)| line.to_lowercase().contains("hours")) {
        reader.at += 1;
    }
    let Some((line, value)) = reader.data() else {
        reader.note(line, "the run time is missing");
        return Ok(None);
    };
    let parts = integers(reader, line, value, "the run time")?;
    let [hours, minutes, seconds] = parts[..] else {
        return reader
            .refuse(line, format!("the run time {value:?} is not hours, minutes, seconds"));
    };
    #[expect(clippy::cast_precision_loss, reason = "seconds of a test")]
    let total = hours as f64 * 3600.0 + minutes as f64 * 60.0 + seconds as f64;
    if total == 0.0 {
        reader.note(line, "a run time of 0 means until it is stopped; the default is taken");
        return Ok(None);
    }
    Ok(Some(total))
}

fn number(reader: &mut Reader<'_>, line: usize, what: &str) -> Result<Option<f64>> {
    let Some((line, value)) = reader.data() else {
        reader.note(line, format_args!("{what} is missing"));
        return Ok(None);
    };
    #[expect(clippy::cast_precision_loss, reason = "seconds of a test")]
    let value = integers(reader, line, value, what)?.first().map(|value| *value as f64);
    Ok(value)
}

fn specification(reader: &mut Reader<'_>, line: usize, all: &mut Vec<Specification>) -> Result<()> {
    let Some((line, value)) = reader.data() else {
        return reader.refuse(line, "the access specification has no name".to_owned());
    };
    // A name holds no comma; what follows is the default assignment.
    let (name, assignment) = value.rsplit_once(',').unwrap_or((value, "NONE"));
    let name = name.trim().to_owned();
    let by_default = match assignment.trim().to_uppercase().as_str() {
        "NONE" | "0" => false,
        "NET" => {
            reader.note(
                line,
                format_args!("specification {name:?} is for networks and is passed over"),
            );
            false
        }
        "ALL" | "DISK" | "DEFAULT" | "1" | "2" => true,
        other => {
            reader.note(
                line,
                format_args!("default assignment {other:?} is unknown and taken as NONE"),
            );
            false
        }
    };
    if all.iter().any(|have| have.name == name) {
        reader.note(line, format_args!("specification {name:?} replaces an earlier one"));
        all.retain(|have| have.name != name);
    }
    all.push(Specification { name, by_default, rows: Vec::new() });
    Ok(())
}

fn rows(reader: &mut Reader<'_>, key_line: usize, all: &mut [Specification]) -> Result<()> {
    let Some(index) = all.len().checked_sub(1) else {
        return reader
            .refuse(key_line, "rows come before the name of their specification".to_owned());
    };
    let mut sum = 0.0;
    while let Some((line, value)) = reader.data() {
        let values = integers(reader, line, value, "the access row")?;
        if values.len() < 4 {
            return reader
                .refuse(line, format!("the access row {value:?} has fewer than 4 numbers"));
        }
        let at = |index: usize, default: u64| values.get(index).copied().unwrap_or(default);
        let (size, share, reads, random) = (at(0, 0), at(1, 0), at(2, 0), at(3, 0));
        let (delay_ms, burst, align, reply) = (at(4, 0), at(5, 1), at(6, 0), at(7, 0));
        if [share, reads, random].iter().any(|percent| *percent > 100) {
            return reader.refuse(line, format!("a percentage of {value:?} is above 100"));
        }
        let block_bytes = match u32::try_from(size) {
            Ok(size) if size > 0 && size <= crate::text::MAX_BLOCK_BYTES => size,
            _ => return reader.refuse(line, format!("the size {size} is not 1 byte to 64 MiB")),
        };
        if reply != 0 {
            reader.note(line, "the reply size is for networks and is passed over");
        }
        if values.len() > 8 {
            reader.note(line, "more than 8 numbers; the rest is passed over");
        }
        let align_bytes = match align {
            0 => SECTOR.min(size),
            other => other,
        };
        #[expect(clippy::cast_precision_loss, reason = "percentages and milliseconds")]
        let row = Access {
            share_pct: share as f64,
            block_bytes,
            read_pct: reads as f64,
            random_pct: random as f64,
            align_bytes: u32::try_from(align_bytes).unwrap_or(u32::MAX),
            burst: u32::try_from(burst.max(1)).unwrap_or(u32::MAX),
            delay_ms: delay_ms as f64,
        };
        sum += row.share_pct;
        all[index].rows.push(row);
    }
    let name = all[index].name.clone();
    if all[index].rows.len() > MAX_ROWS {
        return reader
            .refuse(key_line, format!("specification {name:?} has more than {MAX_ROWS} rows"));
    }
    if !all[index].rows.is_empty() && (sum - 100.0).abs() > 0.01 {
        return reader.refuse(key_line, format!("the shares of {name:?} add up to {sum}, not 100"));
    }
    Ok(())
}

fn worker_type(reader: &mut Reader<'_>, workers: &mut [Worker]) {
    if let Some((line, value)) = reader.data()
        && !value.to_uppercase().starts_with("DISK")
    {
        reader.note(line, format_args!("worker type {value} is not for disks and is passed over"));
        if let Some(worker) = workers.last_mut() {
            worker.is_disk = false;
        }
    }
}

fn outstanding(reader: &mut Reader<'_>, workers: &mut [Worker]) -> Result<()> {
    let Some((line, value)) = reader.data() else { return Ok(()) };
    let first = value.split(',').next().unwrap_or(value);
    let depth = integers(reader, line, first, "outstanding I/Os")?.first().copied();
    if value.to_uppercase().contains("ENABLED") && !value.to_uppercase().contains("DISABLED") {
        reader.note(line, "the connection rate test is not done");
    }
    if let Some(worker) = workers.last_mut() {
        worker.depth = depth.and_then(|depth| u32::try_from(depth).ok()).filter(|depth| *depth > 0);
    }
    Ok(())
}

fn size(reader: &mut Reader<'_>, workers: &mut [Worker]) -> Result<()> {
    let Some((line, value)) = reader.data() else { return Ok(()) };
    let numbers: Vec<&str> = value.split(',').take(2).collect();
    let values = integers(reader, line, &numbers.join(","), "the disk size")?;
    if let Some(worker) = workers.last_mut() {
        worker.sectors = values.first().copied().filter(|sectors| *sectors > 0);
        worker.first_sector = values.get(1).copied();
    }
    Ok(())
}

fn build(
    mut reader: Reader<'_>,
    specifications: &[Specification],
    workers: &[Worker],
    seconds: Option<f64>,
    ramp_seconds: Option<f64>,
) -> Result<Imported> {
    let disks: Vec<&Worker> = workers.iter().filter(|worker| worker.is_disk).collect();
    let mut names: Vec<&str> = Vec::new();
    for name in disks.iter().flat_map(|worker| &worker.assigned) {
        if specifications.iter().all(|have| have.name != *name) {
            let text =
                format!("{}: the assigned specification {name:?} is not in the file", reader.file);
            reader.notes.push(text);
        } else if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    if names.is_empty() {
        let by_default = specifications.iter().filter(|have| have.by_default);
        names = by_default.map(|have| have.name.as_str()).collect();
    }
    if names.is_empty() {
        names = specifications.iter().map(|have| have.name.as_str()).collect();
    }
    let first = disks.first();
    let depths: Vec<u32> = disks.iter().filter_map(|worker| worker.depth).collect();
    if depths.windows(2).any(|pair| pair[0] != pair[1]) {
        let text = format!(
            "{}: workers differ in outstanding I/Os; the first one's are taken",
            reader.file
        );
        reader.notes.push(text);
    }
    let base = Workload::default();
    let mut workloads = Vec::new();
    for name in names {
        let Some(found) = specifications.iter().find(|have| have.name == name) else { continue };
        if found.rows.is_empty() {
            let text =
                format!("{}: specification {name:?} has no rows and is passed over", reader.file);
            reader.notes.push(text);
            continue;
        }
        workloads.push(Workload {
            name: found.name.clone(),
            accesses: found.rows.clone(),
            // IOmeter issues one at a time unless told otherwise.
            depth: first.and_then(|worker| worker.depth).unwrap_or(1),
            workers: u32::try_from(disks.len()).unwrap_or(1).max(1),
            working_set_bytes: first
                .and_then(|worker| worker.sectors)
                .map(|sectors| sectors.saturating_mul(SECTOR)),
            offset_bytes: first
                .and_then(|worker| worker.first_sector)
                .unwrap_or(0)
                .saturating_mul(SECTOR),
            seconds: seconds.unwrap_or(base.seconds),
            ramp_seconds: ramp_seconds.unwrap_or(0.0),
            ..base.clone()
        });
    }
    if workloads.is_empty() {
        return reader.refuse(1, "holds no access specification for disks".to_owned());
    }
    Ok(Imported { workloads, notes: reader.notes })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn sample() -> String {
        [
            "Version 1.1.0",
            "'TEST SETUP ====================================================================",
            "'Test Description",
            "\tunofficial VMware test",
            "'Run Time",
            "'\thours      minutes    seconds",
            "\t0          5          0",
            "'Ramp Up Time (s)",
            "\t30",
            "'Default Disk Workers to Spawn",
            "\tNUMBER_OF_CPUS",
            "'Record Results",
            "\tALL",
            "'Queue Depth Cycling",
            "'\tstart\tend\tstep\tstep type",
            "\t1\t32\t2\tEXPONENTIAL",
            "'Test Type",
            "\tNORMAL",
            "'END test setup",
            "'RESULTS DISPLAY ===============================================================",
            "'Record Last Update Results,Update Frequency,Update Type",
            "\tDISABLED,1,LAST_UPDATE",
            "'Bar chart 1 statistic",
            "\tTotal I/Os per Second",
            "'END results display",
            "'ACCESS SPECIFICATIONS =========================================================",
            "'Access specification name,default assignment",
            "\tMax Throughput-100%Read,NONE",
            "'size,% of size,% reads,% random,delay,burst,align,reply",
            "\t32768,100,100,0,0,1,0,0",
            "'Access specification name,default assignment",
            "\tRealLife-60%Rand-65%Read; mixed,ALL",
            "'size,% of size,% reads,% random,delay,burst,align,reply",
            "\t8192,90,65,60,0,1,0,0",
            "\t65536,10,0,100,5,3,4096,0",
            "'END access specifications",
            "'MANAGER LIST ==================================================================",
            "'Manager ID, manager name",
            "\t1,HOST",
            "'Manager network address",
            "\t",
            "'Worker",
            "\tWorker 1",
            "'Worker type",
            "\tDISK",
            "'Default target settings for worker",
            "'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed,fixed seed value",
            "\t64,DISABLED,1,DISABLED,0",
            "'Disk maximum size,starting sector,Data pattern",
            "\t8000000,0,0",
            "'End default target settings for worker",
            "'Assigned access specs",
            "\tMax Throughput-100%Read",
            "\tRealLife-60%Rand-65%Read; mixed",
            "'End assigned access specs",
            "'Target assignments",
            "'Target",
            "\tC: \"\"",
            "'Target type",
            "\tDISK",
            "'End target",
            "'End target assignments",
            "'End worker",
            "'End manager",
            "'END manager list",
            "Version 1.1.0",
        ]
        .join("\r\n")
    }

    #[test]
    fn a_whole_file_becomes_workloads() {
        let imported = import("vm.icf", sample().as_bytes()).unwrap();
        assert!(imported.notes.is_empty(), "{:?}", imported.notes);
        let [first, second] = imported.workloads.as_slice() else { unreachable!("{imported:?}") };
        assert_eq!(first.name, "Max Throughput-100%Read");
        assert_eq!(
            (first.depth, first.workers, first.seconds, first.ramp_seconds),
            (64, 1, 300.0, 30.0)
        );
        assert_eq!(first.working_set_bytes, Some(4_096_000_000));
        assert_eq!(
            first.accesses,
            [Access { align_bytes: 512, ..Access::new(32_768, 100.0, 0.0) }]
        );
        assert_eq!(second.name, "RealLife-60%Rand-65%Read; mixed");
        let row = &second.accesses[1];
        assert_eq!(
            (row.share_pct, row.block_bytes, row.burst, row.delay_ms, row.align_bytes),
            (10.0, 65_536, 3, 5.0, 4096)
        );
        second.check_alone().unwrap();
    }

    #[test]
    fn old_and_foreign_files_are_read_leniently() {
        let text = sample()
            .replace("Version 1.1.0", "Version 2004.07.30")
            .replace("\r\n\t", "\n   ")
            .replace("'TEST SETUP", "'test setup")
            .replace(
                "'Record Last Update Results,Update Frequency,Update Type",
                "'Update Frequency,Update Type",
            )
            .replace(",NONE", ",DEFAULT")
            .replace("NORMAL", "CYCLE_OUTSTANDING_IOS");
        let mut bytes: Vec<u8> = text.into_bytes();
        bytes.extend(b"\r\n'Comment \xe9t\xe9\r\n");
        let imported = import("old.icf", &bytes).unwrap();
        assert_eq!(imported.workloads.len(), 2);
        assert_eq!(imported.notes.len(), 1, "{:?}", imported.notes);
        assert!(
            imported.notes[0].starts_with("old.icf:18: test type CYCLE_OUTSTANDING_IOS"),
            "{:?}",
            imported.notes
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let cases = [
            ("\t8192,90,65,60,0,1,0,0", "\t8192,80,65,60,0,1,0,0", 33, "add up to 90"),
            ("\t8192,90,65,60,0,1,0,0", "\t8192,90,65,160,0,1,0,0", 34, "above 100"),
            ("\t8192,90,65,60,0,1,0,0", "\t8192,90,many", 34, "not a whole number"),
            ("\t8192,90,65,60,0,1,0,0", "\t0,90,65,60", 34, "64 MiB"),
            ("Version 1.1.0", "Vergion", 1, "version"),
        ];
        for (from, to, line, what) in cases {
            let error =
                import("x.icf", sample().replace(from, to).as_bytes()).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("x.icf:{line}: ")) && error.contains(what),
                "{error}"
            );
        }
        assert!(import("x.icf", b"").is_err());
    }

    #[test]
    fn a_later_specification_of_the_same_name_replaces() {
        let text = sample().replace(
            "'END access specifications",
            "'Access specification name,default assignment\r\n\tMax Throughput-100%Read,NONE\r\n\
             'size,% of size,% reads,% random,delay,burst,align,reply\r\n\t4096,100,0,0,0,1,0,0\r\n\
             'END access specifications",
        );
        let imported = import("x.icf", text.as_bytes()).unwrap();
        assert_eq!(imported.workloads[0].accesses[0].block_bytes, 4096);
        assert!(imported.notes[0].contains("replaces"));
    }
}
