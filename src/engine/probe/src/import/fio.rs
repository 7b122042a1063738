//! fio job files: sections in ini form, `[global]` for the sections after it, `;` and `#` comments.
//!
//! Each section becomes a workload, and sections run one after the other. (fio runs sections at the same
//! time unless `stonewall` stands between them; that is noted.) Options that change what is measured
//! and are not known here end the import with their line; options that only concern fio's own machinery
//! are passed over with a note.

use std::collections::BTreeMap;

use super::{Imported, decode};
use crate::{
    Error, Result, text,
    workload::{Arrivals, Load, Workload, describe, split_rows},
};

/// Options about fio's engines, files and logs, which have no meaning for a datastore's URL.
const PASSED_OVER: [&str; 41] = [
    "ioengine",
    "direct",
    "buffered",
    "filename",
    "directory",
    "filename_format",
    "name",
    "group_reporting",
    "thread",
    "fallocate",
    "create_on_open",
    "create_serialize",
    "invalidate",
    "norandommap",
    "randrepeat",
    "allrandrepeat",
    "unified_rw_reporting",
    "write_bw_log",
    "write_lat_log",
    "write_iops_log",
    "log_avg_msec",
    "write_hist_log",
    "log_hist_msec",
    "description",
    "exitall",
    "gtod_reduce",
    "clat_percentiles",
    "lat_percentiles",
    "slat_percentiles",
    "percentile_list",
    "disable_lat",
    "disable_clat",
    "disable_slat",
    "iodepth_batch",
    "iodepth_batch_submit",
    "iodepth_batch_complete",
    "iodepth_batch_complete_min",
    "iodepth_low",
    "overwrite",
    "refill_buffers",
    "nrfiles",
];

struct Line {
    number: usize,
    value: String,
}

type Options = BTreeMap<String, Line>;
/// Blocks with their shares.
type Split = Vec<(u32, f64)>;

struct Section {
    number: usize,
    name: String,
    options: Options,
}

/// Reads a job file.
pub fn import(file: &str, bytes: &[u8]) -> Result<Imported> {
    let text = decode(bytes);
    let mut notes = Vec::new();
    let sections = sections(file, &text)?;
    let mut workloads = Vec::new();
    for (index, section) in sections.iter().enumerate() {
        if index > 0 && !section.options.contains_key("stonewall") {
            notes.push(format!(
                "{file}:{}: fio would run [{}] together with the section before it; here it runs after it",
                section.number, section.name
            ));
        }
        workloads.push(workload(file, section, &mut notes)?);
    }
    if workloads.is_empty() {
        return Err(Error::Import {
            file: file.to_owned(),
            line: 1,
            what: "holds no section besides [global]".to_owned(),
        });
    }
    Ok(Imported { workloads, notes })
}

fn sections(file: &str, text: &str) -> Result<Vec<Section>> {
    let refuse =
        |line: usize, what: String| Err(Error::Import { file: file.to_owned(), line, what });
    let mut global = Options::new();
    let mut sections: Vec<Section> = Vec::new();
    let mut in_global = false;
    let mut started = false;
    for (index, raw) in text.lines().enumerate() {
        let number = index + 1;
        let line = raw.trim();
        if line.is_empty() || line.starts_with([';', '#']) {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let Some((name, _)) = rest.split_once(']') else {
                return refuse(number, format!("the section {line:?} does not end in ]"));
            };
            in_global = name.trim().eq_ignore_ascii_case("global");
            started = true;
            if !in_global {
                let options = global
                    .iter()
                    .map(|(key, line)| {
                        (key.clone(), Line { number: line.number, value: line.value.clone() })
                    })
                    .collect();
                sections.push(Section { number, name: name.trim().to_owned(), options });
            }
            continue;
        }
        if let Some(name) = line.strip_prefix("include ") {
            return refuse(
                number,
                format!("include of {name:?} is not followed; put its lines in its place"),
            );
        }
        if !started {
            return refuse(number, format!("{line:?} stands before the first section"));
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let entry = Line { number, value: unquoted(value).to_owned() };
        let key = canonical(key.trim());
        match (in_global, sections.last_mut()) {
            (false, Some(section)) => section.options.insert(key, entry),
            _ => global.insert(key, entry),
        };
    }
    Ok(sections)
}

/// Cuts a comment behind the value.
fn unquoted(value: &str) -> &str {
    let end = [" ;", " #", "\t;", "\t#"].iter().filter_map(|mark| value.find(mark)).min();
    value[..end.unwrap_or(value.len())].trim()
}

/// One name for each option.
fn canonical(key: &str) -> String {
    let key = key.to_lowercase();
    match key.as_str() {
        "rw" | "readwrite" => "rw",
        "blocksize" => "bs",
        "blocksize_range" => "bsrange",
        "ba" | "blockalign" => "blockalign",
        "fileoffset" | "file_offset" => "offset",
        "wait_for_previous" => "stonewall",
        "time_based" | "timeout" if key == "timeout" => "runtime",
        "rate_poisson" => "rate_process",
        "randseed" => "randseed",
        other => other,
    }
    .to_owned()
}

/// Options one after the other; what is left at the end was not understood.
struct Taker<'a> {
    file: &'a str,
    options: BTreeMap<&'a str, &'a Line>,
}

impl<'a> Taker<'a> {
    fn take(&mut self, key: &str) -> Option<&'a Line> {
        self.options.remove(key)
    }

    fn refuse<T>(&self, line: &Line, what: impl std::fmt::Display) -> Result<T> {
        Err(Error::Import { file: self.file.to_owned(), line: line.number, what: what.to_string() })
    }

    /// A value through a parser; its refusal gets the line.
    fn parsed<T>(&mut self, key: &str, parse: impl Fn(&str) -> Result<T>) -> Result<Option<T>> {
        let Some(line) = self.take(key) else { return Ok(None) };
        match parse(&line.value) {
            Ok(value) => Ok(Some(value)),
            Err(error) => self.refuse(line, format_args!("{key}: {error}")),
        }
    }

    fn flag(&mut self, key: &str) -> bool {
        self.take(key).is_some_and(|line| !matches!(line.value.as_str(), "0" | "false"))
    }
}

/// fio's sizes: `4k`, and with `kb_base=1000` decimal ones, which are refused elsewhere.
fn size(text: &str) -> Result<u64> {
    text::bytes(text)
}

fn count(text: &str) -> Result<u32> {
    text.parse().map_err(|_| Error::Text { text: text.to_owned(), wanted: "a whole number" })
}

/// The first or second of `READ,WRITE[,TRIM]`; a single value is for all.
fn of_direction(text: &str, index: usize) -> &str {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    match parts.get(index) {
        Some(part) if !part.is_empty() => part,
        _ => parts[0],
    }
}

fn workload(file: &str, section: &Section, notes: &mut Vec<String>) -> Result<Workload> {
    let options = section.options.iter().map(|(key, line)| (key.as_str(), line)).collect();
    let mut taker = Taker { file, options };
    let mut workload = Workload { ramp_seconds: 0.0, depth: 1, ..Workload::default() };

    let direction = taker.take("rw");
    let mix_read = taker.parsed("rwmixread", text::percent)?;
    let mix_write = taker.parsed("rwmixwrite", text::percent)?;
    let mix = mix_read.or(mix_write.map(|writes| 100.0 - writes)).unwrap_or(50.0);
    let name = direction.map_or("read", |line| line.value.split(':').next().unwrap_or("read"));
    let (read_pct, mut random_pct) = match name {
        "read" => (100.0, 0.0),
        "write" => (0.0, 0.0),
        "randread" => (100.0, 100.0),
        "randwrite" => (0.0, 100.0),
        "rw" | "readwrite" => (mix, 0.0),
        "randrw" => (mix, 100.0),
        other => match direction {
            Some(line) => return taker.refuse(line, format_args!("rw={other} is not done")),
            None => (100.0, 0.0),
        },
    };
    if let Some(line) = direction
        && line.value.contains(':')
    {
        notes.push(format!(
            "{file}:{}: what follows the colon of rw={} is passed over",
            line.number, line.value
        ));
    }
    if let Some(share) =
        taker.parsed("percentage_random", |text| text::percent(of_direction(text, 0)))?
    {
        random_pct = share;
    }
    blocks(&mut taker, &mut workload, read_pct, random_pct, notes)?;
    place(&mut taker, &mut workload, notes)?;
    load(&mut taker, &mut workload)?;
    time(&mut taker, &mut workload, notes)?;
    data(&mut taker, &mut workload)?;
    workload.name = format!("{}: {}", section.name, describe(&workload.accesses));
    leftovers(&taker, notes)?;
    workload.check_alone().map_err(|error| Error::Import {
        file: file.to_owned(),
        line: section.number,
        what: error.to_string(),
    })?;
    Ok(workload)
}

fn blocks(
    taker: &mut Taker<'_>,
    workload: &mut Workload,
    read_pct: f64,
    random_pct: f64,
    notes: &mut Vec<String>,
) -> Result<()> {
    let both = |text: &str, parse: fn(&str) -> Result<Split>| -> Result<(Split, Split)> {
        Ok((parse(of_direction(text, 0))?, parse(of_direction(text, 1))?))
    };
    let mut sizes = (vec![(4096, 100.0)], vec![(4096, 100.0)]);
    if let Some(found) =
        taker.parsed("bs", |text| both(text, |text| Ok(vec![(text::block_bytes(text)?, 100.0)])))?
    {
        sizes = found;
    }
    if let Some(line) = taker.take("bsrange") {
        match both(&line.value, range) {
            Ok(found) => sizes = found,
            Err(error) => return taker.refuse(line, format_args!("bsrange: {error}")),
        }
        notes.push(format!(
            "{}:{}: the range {} becomes its powers of two in equal shares",
            taker.file, line.number, line.value
        ));
    }
    if let Some(found) = taker.parsed("bssplit", |text| both(text, text::block_split))? {
        sizes = found;
    }
    workload.accesses = split_rows(&sizes.0, &sizes.1, read_pct, random_pct);
    if let Some(align) = taker.parsed("blockalign", |text| size(of_direction(text, 0)))? {
        let align = u32::try_from(align).unwrap_or(u32::MAX);
        workload.accesses.iter_mut().for_each(|row| row.align_bytes = align);
    } else if workload.accesses.len() > 1 {
        // fio aligns to the smallest block of a split.
        let least = workload.accesses.iter().map(|row| row.block_bytes).min().unwrap_or(512);
        workload.accesses.iter_mut().for_each(|row| row.align_bytes = least);
    }
    Ok(())
}

/// `4k-64k`: its powers of two.
fn range(text: &str) -> Result<Vec<(u32, f64)>> {
    let refused = || Error::Text { text: text.to_owned(), wanted: "a range such as 4k-64k" };
    let (low, high) = text.split_once('-').ok_or_else(refused)?;
    let (low, high) = (text::block_bytes(low)?, text::block_bytes(high)?);
    if low > high {
        return Err(refused());
    }
    let blocks: Vec<u32> = std::iter::successors(Some(low), |block| block.checked_mul(2))
        .take_while(|block| *block <= high)
        .collect();
    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    let share = 100.0 / blocks.len() as f64;
    Ok(blocks.into_iter().map(|block| (block, share)).collect())
}

fn place(taker: &mut Taker<'_>, workload: &mut Workload, notes: &mut Vec<String>) -> Result<()> {
    if let Some(line) = taker.take("offset") {
        match size(&line.value) {
            Ok(bytes) => workload.offset_bytes = bytes,
            Err(error) => return taker.refuse(line, format_args!("offset: {error}")),
        }
    }
    for key in ["size", "filesize", "io_size"] {
        let Some(line) = taker.take(key) else { continue };
        if line.value.ends_with('%') {
            let text =
                format!("{key}={} of a file is not known here; all of it is used", line.value);
            notes.push(format!("{}:{}: {text}", taker.file, line.number));
            continue;
        }
        match size(&line.value) {
            Ok(bytes) if key == "io_size" => workload.limit_bytes = Some(bytes),
            Ok(bytes) => workload.working_set_bytes = Some(bytes),
            Err(error) => return taker.refuse(line, format_args!("{key}: {error}")),
        }
    }
    Ok(())
}

fn load(taker: &mut Taker<'_>, workload: &mut Workload) -> Result<()> {
    if let Some(depth) = taker.parsed("iodepth", count)? {
        workload.depth = depth;
    }
    if let Some(workers) = taker.parsed("numjobs", count)? {
        workload.workers = workers;
    }
    let is_poisson = match taker.take("rate_process") {
        None => false,
        Some(line) if line.value == "linear" => false,
        Some(line) if line.value == "poisson" => true,
        Some(line) => {
            return taker.refuse(line, format_args!("rate_process={} is not done", line.value));
        }
    };
    let per_job = taker.parsed("rate_iops", |text| {
        let sum: Result<f64> = text
            .split(',')
            .filter(|part| !part.trim().is_empty())
            .map(|part| {
                part.trim()
                    .parse::<f64>()
                    .map_err(|_| Error::Text { text: text.to_owned(), wanted: "I/Os a second" })
            })
            .sum();
        sum
    })?;
    if let Some(per_job) = per_job {
        let arrivals = if is_poisson { Arrivals::Poisson } else { Arrivals::Fixed };
        workload.load = Load::Open { iops: per_job * f64::from(workload.workers), arrivals };
    }
    if let Some(line) = taker.take("rate") {
        return taker.refuse(line, "rate in bytes is not done; give rate_iops");
    }
    if let Some(pause) = taker.parsed("thinktime", |text| {
        // Without a unit thinktime is in microseconds.
        let text = if text.ends_with(|c: char| c.is_ascii_digit()) {
            format!("{text}us")
        } else {
            text.to_owned()
        };
        text::seconds(&text)
    })? {
        let burst = taker.parsed("thinktime_blocks", count)?.unwrap_or(1);
        for row in &mut workload.accesses {
            row.delay_ms = pause * 1000.0;
            row.burst = burst.max(1);
        }
    }
    Ok(())
}

fn time(taker: &mut Taker<'_>, workload: &mut Workload, notes: &mut Vec<String>) -> Result<()> {
    let runtime = taker.parsed("runtime", text::seconds)?;
    let time_based = taker.flag("time_based");
    match runtime {
        Some(seconds) => workload.seconds = seconds,
        None => notes.push(format!(
            "{}: no runtime; the default of {} s is taken",
            taker.file, workload.seconds
        )),
    }
    // Without time_based fio ends when every block was done once.
    if !time_based && workload.limit_bytes.is_none() {
        workload.limit_bytes = workload
            .working_set_bytes
            .map(|bytes| bytes.saturating_mul(u64::from(workload.workers)));
    } else if let Some(limit) = &mut workload.limit_bytes {
        *limit = limit.saturating_mul(u64::from(workload.workers));
    }
    if let Some(seconds) = taker.parsed("ramp_time", text::seconds)? {
        workload.ramp_seconds = seconds;
    }
    if let Some(line) = taker.take("steadystate") {
        workload.steady.stop = true;
        let limit = line.value.rsplit(':').next().and_then(|text| text::percent(text).ok());
        if let Some(limit) = limit {
            let field = if line.value.contains("slope") {
                &mut workload.steady.slope_pct
            } else {
                &mut workload.steady.excursion_pct
            };
            *field = limit;
        }
    }
    let window = taker
        .parsed("steadystate_duration", text::seconds)?
        .or(taker.parsed("ss_dur", text::seconds)?);
    if let Some(window) = window {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let window = window.round() as u32;
        workload.steady.window_seconds = window;
    }
    Ok(())
}

fn data(taker: &mut Taker<'_>, workload: &mut Workload) -> Result<()> {
    if let Some(share) = taker.parsed("dedupe_percentage", text::percent)? {
        workload.data.dedupe_pct = share;
    }
    if let Some(share) = taker.parsed("buffer_compress_percentage", text::percent)? {
        workload.data.compress_pct = share.min(99.0);
    }
    if let Some(seed) = taker.parsed("randseed", |text| {
        text.parse::<u64>().map_err(|_| Error::Text { text: text.to_owned(), wanted: "a seed" })
    })? {
        workload.seed = seed;
    }
    if let Some(line) = taker.take("verify") {
        workload.integrity = !matches!(line.value.as_str(), "0" | "null");
    }
    for key in [
        "do_verify",
        "verify_fatal",
        "verify_backlog",
        "verify_interval",
        "verify_dump",
        "verify_async",
    ] {
        taker.take(key);
    }
    Ok(())
}

fn leftovers(taker: &Taker<'_>, notes: &mut Vec<String>) -> Result<()> {
    for (key, line) in &taker.options {
        if *key == "stonewall" {
            continue;
        }
        if PASSED_OVER.contains(key) {
            // Names and engines are expected to go; no note for what every job file has.
            if !matches!(
                *key,
                "ioengine" | "direct" | "filename" | "name" | "group_reporting" | "thread"
            ) {
                notes.push(format!("{}:{}: {key} is passed over", taker.file, line.number));
            }
            continue;
        }
        return taker.refuse(
            line,
            format_args!(
                "{key} is not known here and may change what is measured; take the line out if not"
            ),
        );
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    const JOB: &str = "\
; a job as people write them
[global]
ioengine=libaio
direct=1
bs=8k
iodepth=32   ; per job
runtime=5m
time_based
group_reporting

[randread]
rw=randread
numjobs=4
size=10g

[mixed]
stonewall
rw=randrw
rwmixread=70
bssplit=4k/60:8k/40,64k
rate_iops=500
rate_process=poisson
numjobs=2
ramp_time=10
buffer_compress_percentage=50
";

    #[test]
    fn sections_become_workloads() {
        let imported = import("a.fio", JOB.as_bytes()).unwrap();
        assert!(imported.notes.is_empty(), "{:?}", imported.notes);
        let [first, second] = imported.workloads.as_slice() else { unreachable!() };
        assert_eq!(first.name, "randread: 8 KiB random read");
        assert_eq!((first.depth, first.workers, first.seconds), (32, 4, 300.0));
        assert_eq!((first.working_set_bytes, first.limit_bytes), (Some(10 << 30), None));
        assert_eq!(second.accesses.len(), 3);
        assert!((second.read_pct() - 70.0).abs() < 1e-9);
        assert_eq!(second.load, Load::Open { iops: 1000.0, arrivals: Arrivals::Poisson });
        assert_eq!((second.ramp_seconds, second.data.compress_pct), (10.0, 50.0));
        // Half of the reads' share has 4 KiB places: a split is aligned to its smallest block.
        assert!(second.accesses.iter().all(|row| row.align_bytes == 4096));
    }

    #[test]
    fn without_time_based_the_size_is_the_limit() {
        let imported = import("a.fio", b"[x]\nrw=write\nbs=64k\nsize=1g\nnumjobs=2\n").unwrap();
        let workload = &imported.workloads[0];
        assert_eq!(workload.limit_bytes, Some(2 << 30));
        assert!(imported.notes[0].contains("no runtime"));
    }

    #[test]
    fn what_does_not_map_is_told_with_its_line() {
        for (lines, line, what) in [
            ("[x]\nrw=trim\n", 2, "rw=trim"),
            ("[x]\nrw=read\nzonemode=zbd\n", 3, "zonemode"),
            ("[x]\nbs=8q\n", 2, "bs"),
            ("[x]\nbssplit=4k/60:8k/30\n", 2, "adds up"),
            ("rw=read\n", 1, "before the first section"),
            ("[global]\nbs=4k\n", 1, "no section"),
            ("[x\n", 1, "end in ]"),
            ("[x]\ninclude other.fio\n", 2, "include"),
            ("[x]\nrate=10m\n", 2, "rate_iops"),
        ] {
            let error = import("b.fio", lines.as_bytes()).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("b.fio:{line}: ")) && error.contains(what),
                "{error}"
            );
        }
    }

    #[test]
    fn what_is_passed_over_is_noted() {
        let imported = import(
            "c.fio",
            b"[a]\nrw=read\nruntime=5\nfallocate=none\n[b]\nrw=randread:8\nruntime=5\n",
        )
        .unwrap();
        let notes = imported.notes.join("\n");
        assert!(notes.contains("c.fio:4: fallocate"), "{notes}");
        assert!(notes.contains("c.fio:5: fio would run [b] together"), "{notes}");
        assert!(notes.contains("c.fio:6: what follows the colon"), "{notes}");
    }

    #[test]
    fn ranges_and_think_times_map() {
        let imported = import(
            "d.fio",
            b"[a]\nrw=randread\nbsrange=4k-16k\nthinktime=500\nthinktime_blocks=8\nruntime=1\n",
        )
        .unwrap();
        let workload = &imported.workloads[0];
        assert_eq!(
            workload.accesses.iter().map(|row| row.block_bytes).collect::<Vec<_>>(),
            [4096, 8192, 16384]
        );
        assert!((workload.accesses[0].delay_ms - 0.5).abs() < 1e-9);
        assert_eq!(workload.accesses[0].burst, 8);
        workload.check_alone().unwrap();
    }
}
