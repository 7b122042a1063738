//! INQUIRY with its VPD pages, REPORT LUNS and REQUEST SENSE: the commands that always answer.

use std::sync::Arc;

use plimsoll_wire::scsi::block_vpd::{BlockCharacteristics, BlockLimits, Provisioning};
use plimsoll_wire::scsi::designator::{Association, Designator, kind, name_string};
use plimsoll_wire::scsi::inquiry::{
    ExtendedInquiry, PERIPHERAL_DISK, StandardInquiry, vpd, write_vpd,
};
use plimsoll_wire::scsi::{
    Additional, LunField, Sense, SenseKey, WELL_KNOWN_REPORT_LUNS, write_report_luns,
};

use crate::gate::sanitizing;
use crate::job::{Job, data_in};
use crate::unit::{BLOCK_BYTES, EJECTED, SANITIZE_FAILED, SANITIZING};
use crate::{Completion, Device, LogicalUnit, MAX_TRANSFER};

/// Blocks that one WRITE SAME may cover: 4 GiB keep a thread busy for seconds at most.
pub(crate) const MAX_WRITE_SAME_BLOCKS: u32 = 1 << 23;
/// Blocks that one UNMAP may cover in all: 512 MiB.
pub(crate) const MAX_UNMAP_BLOCKS: u32 = 1 << 20;
/// Block descriptors of one UNMAP.
pub(crate) const MAX_UNMAP_DESCRIPTORS: u32 = 256;
/// Blocks of one COMPARE AND WRITE: what its one-byte field can say.
pub(crate) const MAX_COMPARE_AND_WRITE: u8 = 255;
/// PRODUCT IDENTIFICATION of a unit whose bytes are another target's: who finds it behind a remote volume would
/// make a chain.
pub const REMOTE_PRODUCT: &str = "REMOTE VOLUME";
/// Stores allocate by 4 KiB.
const GRANULARITY_BLOCKS: u16 = 8;

/// VERSION DESCRIPTORs: SAM-5, SPC-4, SBC-3, iSCSI (SPC-5 table 146).
pub(crate) fn standards() -> Vec<u16> {
    vec![0x00a0, 0x0460, 0x04c0, 0x0960]
}

/// INQUIRY (SPC-5 6.7).
pub(crate) fn inquiry(job: &Job, page: Option<u8>, allocation: usize) -> Result<Completion, Sense> {
    let unit = job.unit();
    let mut out = Vec::new();
    let Some(page) = page else {
        let identity = job.device.identity();
        let standard = StandardInquiry {
            peripheral: PERIPHERAL_DISK,
            removable: unit.settings().removable,
            version: 6,
            // Implicit and explicit asymmetric access.
            tpgs: 3,
            third_party_copy: true,
            multi_port: job.device.ports().len() > 1,
            vendor: &identity.vendor,
            product: if unit.is_remote() { REMOTE_PRODUCT } else { &identity.product },
            revision: &identity.revision,
            standards: standards(),
        };
        standard.write(&mut out);
        return Ok(data_in(out, allocation));
    };
    let page_body: &dyn Fn(&mut Vec<u8>) = match page {
        vpd::SUPPORTED_PAGES => &|out| {
            out.extend_from_slice(&[
                vpd::SUPPORTED_PAGES,
                vpd::UNIT_SERIAL_NUMBER,
                vpd::DEVICE_IDENTIFICATION,
                vpd::EXTENDED_INQUIRY,
                vpd::BLOCK_LIMITS,
                vpd::BLOCK_DEVICE_CHARACTERISTICS,
                vpd::LOGICAL_BLOCK_PROVISIONING,
            ]);
        },
        vpd::UNIT_SERIAL_NUMBER => &|out| out.extend_from_slice(unit.volume().serial().as_bytes()),
        vpd::DEVICE_IDENTIFICATION => &|out| identification(job, out),
        vpd::EXTENDED_INQUIRY => {
            &|out| ExtendedInquiry { volatile_cache: true, nexus_clear: true }.write(out)
        }
        vpd::BLOCK_LIMITS => &|out| limits(unit.is_thin()).write(out),
        vpd::BLOCK_DEVICE_CHARACTERISTICS => &|out| {
            BlockCharacteristics { rotation_rate: 1, erased_reads: 1, fua_behaviour: false }
                .write(out);
        },
        vpd::LOGICAL_BLOCK_PROVISIONING => &|out| provisioning(unit.is_thin()).write(out),
        _ => return Err(Sense::cdb_field(2, None)),
    };
    write_vpd(PERIPHERAL_DISK, page, &mut out, page_body);
    Ok(data_in(out, allocation))
}

/// NAA identifier of a unit: locally assigned (SPC-5 7.7.6.6.4), since no organisation's identifier is
/// borrowed; 60 bits of the volume's serial, so it stays for the life of the volume.
pub(crate) fn naa(unit: &LogicalUnit) -> [u8; 8] {
    let serial = unit.volume().serial();
    let number = u64::from_str_radix(serial, 16).unwrap_or_else(|_| {
        // A serial that is not hexadecimal still gives a stable number (FNV-1a).
        serial.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    });
    (number & !(0xf << 60) | 0x3 << 60).to_be_bytes()
}

/// The T10 vendor designator: vendor and serial.
pub(crate) fn t10_vendor(device: &Device, unit: &LogicalUnit) -> Vec<u8> {
    format!("{:<8.8}{}", device.identity().vendor, unit.volume().serial()).into_bytes()
}

/// Device identification, page 83 (SPC-5 7.7.6): the unit, the port, its group, and the names of port and
/// target.
fn identification(job: &Job, out: &mut Vec<u8>) {
    let (device, nexus) = (&job.device, &job.attachment.nexus);
    Designator::naa(&naa(job.unit())).write(out);
    Designator::t10_vendor(&t10_vendor(device, job.unit())).write(out);
    let value = |value: u16| {
        let [high, low] = value.to_be_bytes();
        [0, 0, high, low]
    };
    Designator::port(kind::RELATIVE_TARGET_PORT, &value(nexus.relative_port)).write(out);
    Designator::port(kind::TARGET_PORT_GROUP, &value(nexus.group)).write(out);
    let port = name_string(&format!("{},t,0x{:04x}", device.name(), nexus.relative_port));
    Designator::name(Association::TargetPort, &port).write(out);
    Designator::name(Association::TargetDevice, &name_string(device.name())).write(out);
}

/// Block limits (SBC-4 6.6.5): what is really accepted.
pub(crate) fn limits(is_thin: bool) -> BlockLimits {
    BlockLimits {
        write_same_non_zero: true,
        compare_and_write: MAX_COMPARE_AND_WRITE,
        granularity: GRANULARITY_BLOCKS,
        max_transfer: (MAX_TRANSFER as u32) / BLOCK_BYTES,
        // 1 MiB.
        optimal_transfer: (1 << 20) / BLOCK_BYTES,
        max_prefetch: 0,
        max_unmap_blocks: if is_thin { MAX_UNMAP_BLOCKS } else { 0 },
        max_unmap_descriptors: if is_thin { MAX_UNMAP_DESCRIPTORS } else { 0 },
        unmap_granularity: u32::from(GRANULARITY_BLOCKS),
        unmap_alignment: Some(0),
        max_write_same: u64::from(MAX_WRITE_SAME_BLOCKS),
    }
}

/// Logical block provisioning (SBC-4 6.6.7): thin, unmapped blocks read as zeroes; or none told.
fn provisioning(is_thin: bool) -> Provisioning {
    Provisioning {
        threshold_exponent: 0,
        unmap: is_thin,
        write_same_16: is_thin,
        write_same_10: is_thin,
        reads_zeroes: true,
        anchor: false,
        kind: if is_thin { 2 } else { 0 },
    }
}

/// The REPORT LUNS list for a SELECT REPORT value (SPC-5 6.33).
pub(crate) fn luns(device: &Device, select: u8) -> Result<Vec<u8>, Sense> {
    let well_known = LunField::well_known(WELL_KNOWN_REPORT_LUNS);
    let list = match select {
        0x00 => device.luns(),
        0x01 => vec![well_known],
        0x02 => {
            let mut all = device.luns();
            all.push(well_known);
            all
        }
        // Administrative and subsidiary logical units: there are none.
        0x10..=0x12 => Vec::new(),
        _ => return Err(Sense::cdb_field(2, None)),
    };
    let mut out = Vec::new();
    write_report_luns(list.into_iter(), &mut out);
    Ok(out)
}

/// REPORT LUNS.
pub(crate) fn report_luns(job: &Job, select: u8, allocation: usize) -> Result<Completion, Sense> {
    let out = luns(&job.device, select)?;
    Ok(data_in(out, allocation))
}

/// REQUEST SENSE (SPC-5 6.39): a pending unit attention, or the state of the unit.
pub(crate) fn request_sense(job: &Job, descriptor: bool, allocation: usize) -> Completion {
    let unit: &Arc<LogicalUnit> = &job.attachment.unit;
    let sense = match job.attachment.take_attention() {
        Some(additional) => Sense::attention(additional),
        None if unit.has(SANITIZING) => sanitizing(unit),
        None if unit.has(SANITIZE_FAILED) => {
            Sense::new(SenseKey::MediumError, Additional::SANITIZE_COMMAND_FAILED)
        }
        None if unit.has(EJECTED) => Sense::new(SenseKey::NotReady, Additional::MEDIUM_NOT_PRESENT),
        None => Sense::new(SenseKey::NoSense, Additional::NONE),
    };
    let mut out = Vec::new();
    sense.write(descriptor, &mut out);
    data_in(out, allocation)
}
