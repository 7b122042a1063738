//! esxtop in batch mode: one row a sample, one column for each counter of each instance.
//!
//! Headers are `\\host\Group(instance)\Counter`. The first names the zone: `(PDH-CSV 4.0) (UTC)(0)`,
//! the number being minutes west of UTC. Dates are month first, always.

use jiff::tz::{Offset, TimeZone};
use plimsoll_ingest::Severity;
use polars::prelude::StringChunked;

use super::NUMBER_UNREADABLE;
use crate::catalog::{Stamp, catalog};
use crate::collect::{Collector, Measurement, Naming};
use crate::error::Error;
use crate::number::{Number, number};
use crate::report::Kind;
use crate::table::{Head, Text};
use crate::time::{Clock, DateOrder};
use crate::types::{EntityId, EntityKind};

const ROW_CUT: Kind = Kind {
    code: "row-cut-short",
    severity: Severity::Warning,
    expected: "as many fields as the header has; esxtop ends a file in the middle of a row when stopped",
    action: "what the row holds was read",
};

/// Whether the header row is esxtop's.
pub(crate) fn recognise(headers: &[String]) -> bool {
    headers.first().is_some_and(|first| first.to_lowercase().contains("(pdh-csv"))
}

/// Reads the samples.
pub(crate) fn read(text: Text, head: &Head, out: &mut Collector) -> Result<(), Error> {
    let file = out.file_name().to_owned();
    let mut wanted: Vec<(usize, u16, EntityId, u32, f64)> = Vec::new();
    for (index, header) in head.headers.iter().enumerate().skip(1) {
        let Some((group, instance, name)) = parse(header) else { continue };
        let Some(counter) = catalog().counter(&format!("{group}\\{name}")) else { continue };
        let known = &catalog().counters[usize::from(counter)];
        let Some(factor) = catalog().factor(known.metric, &known.unit) else { continue };
        let (vm, disk) = vm_and_disk(instance);
        let naming = Naming { name: vm, ..Naming::default() };
        let entity = out.entity(known.object.unwrap_or(EntityKind::Vm), naming, head.row)?;
        let disk = out.instance(disk);
        wanted.push((index, counter, entity, disk, factor));
    }
    if wanted.is_empty() {
        return Err(Error::Unusable {
            file,
            format: "an esxtop batch file".to_owned(),
            wrong: "it holds no counter of virtual disks".to_owned(),
            action: "run esxtop with all counters (esxtop -b -a)",
        });
    }
    let mut projection = vec![0];
    projection.extend(wanted.iter().map(|(index, ..)| *index));
    let mut clock = Clock::new(Some(zone(&head.headers[0])), DateOrder::MonthFirst);
    text.blocks(&file, head, &projection, &mut |first, columns: &[&StringChunked]| {
        for at in 0..columns[0].len() {
            let row = first + at as u64;
            let time = columns[0].get(at).unwrap_or("").trim();
            if time.is_empty() {
                continue;
            }
            let Some(moment) = out.moment(clock.read(time), time, row, "time") else { continue };
            for (column, (index, counter, entity, instance, factor)) in
                columns[1..].iter().zip(&wanted)
            {
                let Some(text) = column.get(at) else {
                    out.note(ROW_CUT, Some(row), "", String::new);
                    continue;
                };
                match number(text, false) {
                    Number::Value(value) => {
                        let what = Measurement {
                            entity: *entity,
                            counter: *counter,
                            instance: *instance,
                            interval_s: 0,
                            stamp: Stamp::End,
                            factor: *factor,
                            row,
                        };
                        out.sample(what, moment, value)?;
                    }
                    Number::Missing => {}
                    Number::Unreadable => {
                        let header = &head.headers[*index];
                        out.note(NUMBER_UNREADABLE, Some(row), header, || text.to_owned());
                    }
                }
            }
        }
        Ok(())
    })
}

/// Group in lower case, instance, counter in lower case.
fn parse(header: &str) -> Option<(String, &str, String)> {
    let path = header.strip_prefix("\\\\")?;
    let (_, rest) = path.split_once('\\')?;
    let (object, counter) = rest.rsplit_once('\\')?;
    let (group, instance) = match object.split_once('(') {
        Some((group, instance)) => (group, instance.strip_suffix(')')?),
        None => (object, ""),
    };
    Some((group.trim().to_lowercase(), instance, counter.trim().to_lowercase()))
}

/// `web-01:scsi0:0` is a disk of the VM `web-01`; `web-01` alone is all of its disks.
fn vm_and_disk(instance: &str) -> (&str, &str) {
    let at = [":scsi", ":sata", ":nvme", ":ide"].iter().filter_map(|bus| instance.rfind(bus)).max();
    at.map_or((instance, ""), |at| (&instance[..at], &instance[at + 1..]))
}

fn zone(first: &str) -> TimeZone {
    let minutes =
        first.rsplit('(').next().and_then(|text| text.trim_end_matches(')').parse::<i32>().ok());
    let offset = minutes.and_then(|west| Offset::from_seconds(west.checked_mul(-60)?).ok());
    offset.map_or(TimeZone::UTC, TimeZone::fixed)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn headers_are_taken_apart() {
        let (group, instance, counter) =
            parse(r"\\esx01.lab\Virtual Disk(db (old):scsi0:1)\Average MilliSec/Read").unwrap();
        assert_eq!((group.as_str(), counter.as_str()), ("virtual disk", "average millisec/read"));
        assert_eq!(vm_and_disk(instance), ("db (old)", "scsi0:1"));
        assert_eq!(vm_and_disk("web-01"), ("web-01", ""));
        assert!(parse("time").is_none());
    }

    #[test]
    fn the_zone_counts_minutes_west() {
        let east = zone("(PDH-CSV 4.0) (CET)(-60)").to_offset(jiff::Timestamp::UNIX_EPOCH);
        assert_eq!(east.seconds(), 3600);
    }
}
