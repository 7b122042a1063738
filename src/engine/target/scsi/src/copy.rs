//! EXTENDED COPY(LID1) and RECEIVE COPY RESULTS (SPC-5 6.6, 6.20): the array copies blocks between its units.
//!
//! Units are named by the designators of their VPD page 83. A source that has never been written is unmapped
//! at the destination instead of being copied, so that clones of thin volumes stay thin.

use std::collections::VecDeque;
use std::sync::Arc;

use plimsoll_storage::Provisioning;
use plimsoll_wire::scsi::copy::{
    CopyHeader, CopyParameters, CopySegment, CopyState, CopyStatus, CopyTarget, HEADER_LENGTH,
    SEGMENT_BLOCK_TO_BLOCK, SEGMENT_LENGTH, TARGET_IDENTIFICATION, TARGET_LENGTH,
};
use plimsoll_wire::scsi::designator::{Association, Designator, kind};
use plimsoll_wire::scsi::opcode::service;
use plimsoll_wire::scsi::{Additional, Blocks, Sense, SenseKey, Specific};

use crate::inquire::{naa, t10_vendor};
use crate::job::{Job, Step, data_in, parameter_list};
use crate::persistent::Refusal;
use crate::ranges::byte_range;
use crate::unit::{BLOCK_BYTES, READ_ONLY, SOFTWARE_WRITE_PROTECT, read_sense, write_sense};
use crate::{Completion, LogicalUnit};

/// Target descriptors of one command.
const MAX_TARGETS: usize = 16;
/// Segment descriptors of one command.
const MAX_SEGMENTS: usize = 256;
/// Bytes of one segment: what the 16-bit count of blocks can say.
const MAX_SEGMENT_BYTES: u32 = u16::MAX as u32 * BLOCK_BYTES;
/// Longest list of descriptors.
const MAX_DESCRIPTORS: usize = MAX_TARGETS * TARGET_LENGTH + MAX_SEGMENTS * SEGMENT_LENGTH;
/// Bytes read at a time.
const CHUNK: u64 = 1 << 20;
/// Results that a unit keeps.
const MAX_RESULTS: usize = 64;
/// LIST ID USAGE: the list identifier is not used, nothing is kept.
const NO_LIST_ID: u8 = 3;

/// How copy commands ended, by nexus and list identifier; the oldest are forgotten first.
#[derive(Debug, Default)]
pub(crate) struct CopyResults {
    list: VecDeque<(u64, u8, CopyStatus, Option<Sense>)>,
}

impl CopyResults {
    fn keep(&mut self, nexus: u64, list: u8, status: CopyStatus, sense: Option<Sense>) {
        self.list.retain(|(n, l, ..)| (*n, *l) != (nexus, list));
        if self.list.len() == MAX_RESULTS {
            self.list.pop_front();
        }
        self.list.push_back((nexus, list, status, sense));
    }

    fn find(&self, nexus: u64, list: u8) -> Option<(CopyStatus, Option<Sense>)> {
        let found = self.list.iter().find(|(n, l, ..)| (*n, *l) == (nexus, list))?;
        Some((found.2, found.3))
    }
}

/// Checks the length of the list.
pub(crate) fn prepare(length: u32, expected_out: usize) -> Result<Step, Sense> {
    // No list is no error: nothing is copied (SPC-5 6.6.1).
    if length == 0 {
        return Ok(Step::Now);
    }
    parameter_list(length as usize, expected_out, true)
}

/// A parsed and resolved command.
struct Copy {
    header: CopyHeader,
    targets: Vec<Arc<LogicalUnit>>,
    segments: Vec<CopySegment>,
}

/// EXTENDED COPY.
pub(crate) fn extended_copy(job: &Job, data: &[u8]) -> Result<Completion, Refusal> {
    if data.is_empty() {
        return Ok(Completion::good());
    }
    let copy = parse(job, data)?;
    let mut status = CopyStatus { state: CopyState::Done, segments: 0, bytes: 0 };
    let mut failure = None;
    for (index, segment) in copy.segments.iter().enumerate() {
        match copy_segment(job, &copy, segment) {
            Ok(bytes) => {
                status.segments += 1;
                status.bytes =
                    status.bytes.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
            }
            Err(failed) => {
                status.state = CopyState::Failed;
                failure = Some((index, failed));
                break;
            }
        }
    }
    let outcome = match failure {
        None => Ok(Completion::good()),
        Some((_, Refusal::Conflict)) => Err(Refusal::Conflict),
        Some((index, Refusal::Check(sense))) => {
            Err(Refusal::Check(copy_aborted(sense, index as u64)))
        }
    };
    if copy.header.list_usage != NO_LIST_ID {
        let sense = match &outcome {
            Err(Refusal::Check(sense)) => Some(*sense),
            _ => None,
        };
        let nexus = job.attachment.nexus.id;
        job.unit().state().copies.keep(nexus, copy.header.list, status, sense);
    }
    outcome
}

/// A failure while copying: COPY ABORTED with the segment's number (SPC-5 6.6.3.3). A segment that leaves its
/// unit has no additional sense of its own there.
fn copy_aborted(sense: Sense, segment: u64) -> Sense {
    let additional = match sense.key {
        SenseKey::IllegalRequest => Additional::NONE,
        _ => sense.additional,
    };
    Sense::new(SenseKey::CopyAborted, additional).with_command_specific(segment)
}

fn parse(job: &Job, data: &[u8]) -> Result<Copy, Sense> {
    let length_error = || Sense::illegal(Additional::PARAMETER_LIST_LENGTH_ERROR);
    let header = CopyHeader::parse(data).ok_or_else(length_error)?;
    let target_bytes = usize::from(header.targets);
    if target_bytes % TARGET_LENGTH != 0 {
        return Err(Sense::parameter_field(2, None));
    }
    if target_bytes + header.segments as usize > MAX_DESCRIPTORS {
        return Err(length_error());
    }
    if target_bytes > MAX_TARGETS * TARGET_LENGTH {
        return Err(Sense::illegal(Additional::TOO_MANY_TARGET_DESCRIPTORS));
    }
    if header.inline != 0 {
        return Err(Sense::illegal(Additional::INLINE_DATA_LENGTH_EXCEEDED));
    }
    if header.segments == 0 {
        return Ok(Copy { header, targets: Vec::new(), segments: Vec::new() });
    }
    let rest = &data[HEADER_LENGTH..];
    let targets = rest.get(..target_bytes).ok_or_else(length_error)?;
    let segments = rest[target_bytes..].get(..header.segments as usize).ok_or_else(length_error)?;
    // Segments are counted before targets are looked at, so that each limit is told by its own name.
    let segments = parse_segments(segments, HEADER_LENGTH + target_bytes)?;
    let (chunks, _) = targets.as_chunks::<TARGET_LENGTH>();
    let targets = chunks
        .iter()
        .enumerate()
        .map(|(index, bytes)| {
            resolve(job, &CopyTarget::parse(bytes), HEADER_LENGTH + index * TARGET_LENGTH)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let named = |index: u16| usize::from(index) < targets.len();
    if segments.iter().any(|segment| !named(segment.source) || !named(segment.destination)) {
        return Err(Sense::new(SenseKey::CopyAborted, Additional::UNREACHABLE_COPY_TARGET));
    }
    Ok(Copy { header, targets, segments })
}

fn parse_segments(mut list: &[u8], mut at: usize) -> Result<Vec<CopySegment>, Sense> {
    let mut segments = Vec::new();
    while let Some(&code) = list.first() {
        if code != SEGMENT_BLOCK_TO_BLOCK {
            return Err(Sense::illegal(Additional::UNSUPPORTED_SEGMENT_DESCRIPTOR_TYPE)
                .at(Specific::Field { in_cdb: false, byte: at as u16, bit: None }));
        }
        if segments.len() == MAX_SEGMENTS {
            return Err(Sense::illegal(Additional::TOO_MANY_SEGMENT_DESCRIPTORS));
        }
        let segment =
            CopySegment::parse(list).ok_or(Sense::parameter_field(at as u16 + 2, None))?;
        segments.push(segment);
        list = &list[SEGMENT_LENGTH..];
        at += SEGMENT_LENGTH;
    }
    Ok(segments)
}

/// The unit that a target descriptor names, among those of the device.
fn resolve(job: &Job, target: &CopyTarget<'_>, at: usize) -> Result<Arc<LogicalUnit>, Sense> {
    let at = at as u16;
    if target.kind != TARGET_IDENTIFICATION {
        return Err(Sense::illegal(Additional::UNSUPPORTED_TARGET_DESCRIPTOR_TYPE)
            .at(Specific::Field { in_cdb: false, byte: at, bit: None }));
    }
    // NUL and LU ID TYPE are obsolete and not looked at (SPC-4 6.4.5.1).
    if target.peripheral != 0 {
        return Err(Sense::parameter_field(at + 1, Some(4)));
    }
    let designator = target.designator.ok_or(Sense::parameter_field(at + 7, None))?;
    if target.block_bytes != BLOCK_BYTES {
        return Err(Sense::parameter_field(at + 29, None));
    }
    let units = job.device.units();
    let named = units.into_iter().find(|(_, unit)| names(&designator, job, unit));
    named.map(|(_, unit)| unit).ok_or_else(|| {
        Sense::new(SenseKey::CopyAborted, Additional::COPY_TARGET_DEVICE_NOT_REACHABLE)
    })
}

fn names(designator: &Designator<'_>, job: &Job, unit: &LogicalUnit) -> bool {
    designator.association == Some(Association::LogicalUnit)
        && match designator.kind {
            kind::NAA => designator.body == naa(unit),
            kind::T10_VENDOR => designator.body == t10_vendor(&job.device, unit),
            _ => false,
        }
}

/// Copies one segment; returns the bytes copied.
fn copy_segment(job: &Job, copy: &Copy, segment: &CopySegment) -> Result<u64, Refusal> {
    let source = &copy.targets[usize::from(segment.source)];
    let destination = &copy.targets[usize::from(segment.destination)];
    let count = u32::from(segment.count);
    let (from, bytes) = byte_range(source, Blocks { lba: segment.source_lba, count })?;
    let (to, _) = byte_range(destination, Blocks { lba: segment.destination_lba, count })?;
    check_access(job, source, destination)?;
    let mut buffer = vec![0; bytes.min(CHUNK) as usize];
    let mut at = 0;
    while at < bytes {
        let status = source.store().status(from + at).map_err(|error| read_sense(&error))?;
        let (state, run) = status;
        let len = run.min(bytes - at);
        if state == Provisioning::Hole {
            destination.store().unmap(to + at, len).map_err(|error| write_sense(&error))?;
            at += len;
            continue;
        }
        let piece = &mut buffer[..len.min(CHUNK) as usize];
        source.store().read_blocking(from + at, piece).map_err(|error| read_sense(&error))?;
        destination.store().write(to + at, piece).map_err(|error| write_sense(&error))?;
        at += piece.len() as u64;
    }
    Ok(bytes)
}

/// The nexus must be allowed to read the one and to write the other.
fn check_access(job: &Job, source: &LogicalUnit, destination: &LogicalUnit) -> Result<(), Refusal> {
    let nexus = &job.attachment.nexus;
    let denied = |unit: &LogicalUnit, writes: bool| {
        let state = unit.state();
        state.reserved_by.is_some_and(|holder| holder != nexus.id)
            || state.persistent.denies(nexus).is_some_and(|kind| writes || !kind.allows_reads())
    };
    if denied(source, false) || denied(destination, true) {
        return Err(Refusal::Conflict);
    }
    if destination.has(READ_ONLY | SOFTWARE_WRITE_PROTECT) {
        return Err(Sense::new(SenseKey::DataProtect, Additional::WRITE_PROTECTED).into());
    }
    Ok(())
}

/// RECEIVE COPY RESULTS.
pub(crate) fn receive_results(
    job: &Job,
    action: u8,
    list: u8,
    allocation: usize,
) -> Result<Completion, Sense> {
    let nexus = job.attachment.nexus.id;
    let found = job.unit().state().copies.find(nexus, list);
    let mut out = Vec::new();
    match (action, found) {
        (service::COPY_OPERATING_PARAMETERS, _) => CopyParameters {
            no_list_id: true,
            max_targets: MAX_TARGETS as u16,
            max_segments: MAX_SEGMENTS as u16,
            max_descriptors: MAX_DESCRIPTORS as u32,
            max_segment_bytes: MAX_SEGMENT_BYTES,
            max_inline: 0,
            concurrent: 255,
            granularity_log2: BLOCK_BYTES.ilog2() as u8,
            descriptors: vec![SEGMENT_BLOCK_TO_BLOCK, TARGET_IDENTIFICATION],
        }
        .write(&mut out),
        (service::COPY_STATUS_LID1, Some((status, _))) => status.write(&mut out),
        (service::COPY_FAILURE_DETAILS_LID1, Some((_, Some(sense)))) => {
            // Failed segment data: status, then the sense data (SPC-5 6.21).
            let mut details = Vec::new();
            sense.write(false, &mut details);
            out.resize(60, 0);
            out[0..4].copy_from_slice(&(56 + details.len() as u32).to_be_bytes());
            out[56] = plimsoll_wire::scsi::Status::CheckCondition.code();
            out[58..60].copy_from_slice(&(details.len() as u16).to_be_bytes());
            out.extend_from_slice(&details);
        }
        // There is no inline data to receive.
        (service::COPY_DATA_LID1, _) => return Err(Sense::cdb_field(1, Some(4))),
        // No such list, or no data is held (SPC-5 6.20).
        _ => return Err(Sense::cdb_field(2, None)),
    }
    Ok(data_in(out, allocation))
}
