//! EXTENDED COPY and RECEIVE COPY RESULTS (SPC-5 6.6, 6.20).

use std::sync::Arc;

use plimsoll_target_scsi::{Completion, Device, LogicalUnit, Nexus, UnitSettings};
use plimsoll_wire::scsi::copy::{
    CopyHeader, CopyParameters, CopySegment, CopyState, CopyStatus, write_target,
};
use plimsoll_wire::scsi::designator::Designator;
use plimsoll_wire::scsi::inquiry::{VpdPage, vpd};
use plimsoll_wire::scsi::opcode::service;
use plimsoll_wire::scsi::{Additional, Command, LunField, SenseKey, Width};

use crate::support::{
    BLOCKS, assert_check, assert_conflict, assert_good, device, fill, holds, login, run, send,
    send_at, sense, volume,
};

const OTHER: LunField = LunField::unit(1);

/// Two units of one array; the second one empty.
fn pair() -> (Arc<Device>, Nexus) {
    let device = device();
    device.map(1, LogicalUnit::new(volume("1"), UnitSettings::default()));
    let mut nexus = login(&device, 1, 1);
    send_at(&mut nexus, OTHER, Command::TestUnitReady, &[]);
    (device, nexus)
}

/// The first designators of LUN 0 and LUN 1 as target descriptors.
fn targets(nexus: &mut Nexus) -> Vec<u8> {
    let mut out = Vec::new();
    for lun in [LunField::unit(0), OTHER] {
        let page = Command::Inquiry { page: Some(vpd::DEVICE_IDENTIFICATION), allocation: 255 };
        let data = send_at(nexus, lun, page, &[]).data_in;
        let naa = VpdPage::parse(&data).unwrap().designators().next().unwrap();
        write_target(&naa, 512, &mut out);
    }
    out
}

fn segment(source_lba: u64, destination_lba: u64, count: u16) -> CopySegment {
    CopySegment {
        destination_count: false,
        concatenate: false,
        source: 0,
        destination: 1,
        count,
        source_lba,
        destination_lba,
    }
}

fn copy(nexus: &mut Nexus, list: u8, segments: &[CopySegment]) -> Completion {
    let targets = targets(nexus);
    let mut body = Vec::new();
    for segment in segments {
        segment.write(&mut body);
    }
    raw(nexus, list, &targets, &body)
}

fn raw(nexus: &mut Nexus, list: u8, targets: &[u8], segments: &[u8]) -> Completion {
    let header = CopyHeader {
        list,
        list_usage: 0,
        targets: targets.len() as u16,
        segments: segments.len() as u32,
        inline: 0,
    };
    let mut data = Vec::new();
    header.write(&mut data);
    data.extend_from_slice(targets);
    data.extend_from_slice(segments);
    send(nexus, Command::ExtendedCopy { length: data.len() as u32 }, &data)
}

fn results(nexus: &mut Nexus, service: u8, list: u8) -> Completion {
    run(nexus, Command::ReceiveCopyResults { service, list, allocation: 4096 })
}

#[test]
fn spc5_6_6_blocks_are_copied_and_holes_stay_holes() {
    let (device, mut nexus) = pair();
    fill(&mut nexus, 0, 100, 7);
    let copied = copy(&mut nexus, 5, &[segment(0, 300, 60), segment(60, 360, 140)]);
    assert_good(&copied);
    let data = send_at(&mut nexus, OTHER, crate::support::read(300, 200), &[]).data_in;
    assert!(data[..51_200].iter().all(|&b| b == 7) && data[51_200..].iter().all(|&b| b == 0));
    let allocated = device.unit(1).unwrap().store().allocated_bytes();
    assert!(allocated <= 56 << 10, "{allocated}: a clone of a thin unit stays thin");

    let status = results(&mut nexus, service::COPY_STATUS_LID1, 5).data_in;
    let expected = CopyStatus { state: CopyState::Done, segments: 2, bytes: 200 * 512 };
    assert_eq!(CopyStatus::parse(&status), Some(expected));
    for (action, list) in [(service::COPY_STATUS_LID1, 6), (service::COPY_FAILURE_DETAILS_LID1, 5)]
    {
        let unknown = results(&mut nexus, action, list);
        assert_check(&unknown, SenseKey::IllegalRequest, Additional::INVALID_FIELD_IN_CDB);
    }
}

#[test]
fn spc5_6_6_3_3_a_failed_segment_is_named_and_kept() {
    let (_device, mut nexus) = pair();
    fill(&mut nexus, 0, 8, 7);
    let failed = copy(&mut nexus, 9, &[segment(0, 0, 8), segment(0, BLOCKS - 1, 8)]);
    let told = sense(&failed);
    assert_eq!((told.key, told.additional), (SenseKey::CopyAborted, Additional::NONE));
    assert_eq!(told.command_specific, Some(1));
    let status = results(&mut nexus, service::COPY_STATUS_LID1, 9).data_in;
    let status = CopyStatus::parse(&status).unwrap();
    assert_eq!((status.state, status.segments), (CopyState::Failed, 1));
    let details = results(&mut nexus, service::COPY_FAILURE_DETAILS_LID1, 9).data_in;
    assert_eq!(details[56], 0x02);
    assert_eq!(plimsoll_wire::scsi::Sense::parse(&details[60..]).unwrap(), told);
}

#[test]
fn spc5_6_6_lists_that_cannot_be_are_refused_by_name() {
    let (_device, mut nexus) = pair();
    let good_targets = targets(&mut nexus);
    let mut good_segment = Vec::new();
    segment(0, 0, 1).write(&mut good_segment);
    let mut unknown = Vec::new();
    write_target(&Designator::naa(&[0x31, 2, 3, 4, 5, 6, 7, 8]), 512, &mut unknown);
    let mut wrong_type = good_targets.clone();
    wrong_type[0] = 0xe0;
    let mut wrong_segment = good_segment.clone();
    wrong_segment[0] = 0x04;
    let mut wrong_index = Vec::new();
    CopySegment { destination: 2, ..segment(0, 0, 1) }.write(&mut wrong_index);
    for (targets, segments, key, additional) in [
        (
            &unknown,
            &good_segment,
            SenseKey::CopyAborted,
            Additional::COPY_TARGET_DEVICE_NOT_REACHABLE,
        ),
        (
            &wrong_type,
            &good_segment,
            SenseKey::IllegalRequest,
            Additional::UNSUPPORTED_TARGET_DESCRIPTOR_TYPE,
        ),
        (
            &good_targets,
            &wrong_segment,
            SenseKey::IllegalRequest,
            Additional::UNSUPPORTED_SEGMENT_DESCRIPTOR_TYPE,
        ),
        (&good_targets, &wrong_index, SenseKey::CopyAborted, Additional::UNREACHABLE_COPY_TARGET),
        (
            &good_targets.repeat(9),
            &good_segment,
            SenseKey::IllegalRequest,
            Additional::TOO_MANY_TARGET_DESCRIPTORS,
        ),
        (
            &good_targets,
            &good_segment.repeat(257),
            SenseKey::IllegalRequest,
            Additional::TOO_MANY_SEGMENT_DESCRIPTORS,
        ),
    ] {
        assert_check(&raw(&mut nexus, 1, targets, segments), key, additional);
    }
    let parameters = results(&mut nexus, service::COPY_OPERATING_PARAMETERS, 0).data_in;
    let parameters = CopyParameters::parse(&parameters).unwrap();
    assert_eq!((parameters.max_targets, parameters.max_segments), (16, 256));
    assert_good(&run(&mut nexus, Command::ExtendedCopy { length: 0 }));
}

#[test]
fn spc5_5_14_a_copy_honours_the_reservations_of_both_units() {
    let (device, mut nexus) = pair();
    let mut other = login(&device, 2, 1);
    send_at(&mut other, OTHER, Command::TestUnitReady, &[]);
    let reserve = Command::Reserve { width: Width::Six };
    assert_good(&send_at(&mut other, OTHER, reserve, &[]));
    assert_conflict(&copy(&mut nexus, 1, &[segment(0, 0, 1)]));
    let release = Command::Release { width: Width::Six };
    assert_good(&send_at(&mut other, OTHER, release, &[]));
    assert_good(&copy(&mut nexus, 1, &[segment(0, 0, 1)]));
    assert!(holds(&mut nexus, 0, 1, 0));
}
