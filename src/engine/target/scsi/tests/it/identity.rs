//! INQUIRY, VPD pages, REPORT LUNS, and LUNs that are not there.

use plimsoll_target_scsi::{LogicalUnit, UnitSettings};
use plimsoll_wire::scsi::block_vpd::{BlockLimits, Provisioning};
use plimsoll_wire::scsi::designator::{Association, Designator, kind};
use plimsoll_wire::scsi::inquiry::{
    PERIPHERAL_UNSUPPORTED, PERIPHERAL_WELL_KNOWN, StandardInquiry, VpdPage, vpd,
};
use plimsoll_wire::scsi::{Additional, Command, LunField, Sense, SenseKey, parse_report_luns};

use crate::support::{
    SERIAL, assert_check, assert_good, device, device_of, login, nexus_with, run, send_at, volume,
};

fn page(nexus: &mut plimsoll_target_scsi::Nexus, page: u8) -> Vec<u8> {
    let completion = run(nexus, Command::Inquiry { page: Some(page), allocation: 255 });
    assert_good(&completion);
    completion.data_in
}

#[test]
fn spc5_6_7_standard_data_shows_a_disk_with_both_kinds_of_asymmetric_access() {
    let mut nexus = login(&device(), 1, 1);
    let data = run(&mut nexus, Command::Inquiry { page: None, allocation: 255 }).data_in;
    let inquiry = StandardInquiry::parse(&data).unwrap();
    assert_eq!((inquiry.peripheral, inquiry.tpgs, inquiry.removable), (0, 3, false));
    assert!(inquiry.third_party_copy && inquiry.multi_port);
    assert_eq!((inquiry.vendor, inquiry.product), ("PLIMSOLL", "datastore"));
    let short = run(&mut nexus, Command::Inquiry { page: None, allocation: 5 }).data_in;
    assert_eq!(short, data[..5]);
}

#[test]
fn spc5_7_7_every_listed_page_is_there_and_no_other() {
    let mut nexus = login(&device(), 1, 1);
    let listed = page(&mut nexus, vpd::SUPPORTED_PAGES);
    let listed = VpdPage::parse(&listed).unwrap().body.to_vec();
    assert!(listed.is_sorted());
    for code in 0..=255 {
        let completion = run(&mut nexus, Command::Inquiry { page: Some(code), allocation: 255 });
        if listed.contains(&code) {
            assert_eq!(VpdPage::parse(&completion.data_in).unwrap().page, code);
        } else {
            assert_check(&completion, SenseKey::IllegalRequest, Additional::INVALID_FIELD_IN_CDB);
        }
    }
}

#[test]
fn spc5_7_7_6_designators_come_from_the_serial_and_tell_the_port() {
    let device = device();
    let mut ids = Vec::new();
    for port in [1, 2] {
        let mut nexus = login(&device, 1, port);
        let data = page(&mut nexus, vpd::DEVICE_IDENTIFICATION);
        let page = VpdPage::parse(&data).unwrap();
        let all: Vec<_> = page.designators().collect();
        let unit = |d: &&Designator<'_>| d.association == Some(Association::LogicalUnit);
        ids.push(all.iter().filter(unit).map(|d| d.body.to_vec()).collect::<Vec<_>>());
        let value =
            |kind| all.iter().find(|d| d.kind == kind).and_then(Designator::port_value).unwrap();
        assert_eq!(value(kind::RELATIVE_TARGET_PORT), port);
        assert_eq!(value(kind::TARGET_PORT_GROUP), port);
    }
    assert_eq!(ids[0], ids[1], "both paths lead to one unit");
    assert_eq!(
        ids[0][0],
        [0x3e, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10],
        "NAA, locally assigned"
    );
    assert_eq!(ids[0][1], b"PLIMSOLLfedcba9876543210");
    let mut nexus = login(&device, 1, 1);
    let data = page(&mut nexus, vpd::UNIT_SERIAL_NUMBER);
    assert_eq!(VpdPage::parse(&data).unwrap().serial(), Some(SERIAL));
}

#[test]
fn sbc4_6_6_block_limits_are_what_is_accepted() {
    let mut nexus = login(&device(), 1, 1);
    let data = page(&mut nexus, vpd::BLOCK_LIMITS);
    let limits = BlockLimits::parse(VpdPage::parse(&data).unwrap().body).unwrap();
    assert_eq!(limits.max_transfer as usize * 512, plimsoll_target_scsi::MAX_TRANSFER);
    assert!(limits.max_unmap_blocks > 0 && limits.max_unmap_descriptors > 0);
    let data = page(&mut nexus, vpd::LOGICAL_BLOCK_PROVISIONING);
    let provisioning = Provisioning::parse(VpdPage::parse(&data).unwrap().body).unwrap();
    assert!(provisioning.unmap && provisioning.reads_zeroes);
    assert_eq!(provisioning.kind, 2);
}

#[test]
fn spc5_6_33_report_luns_lists_units_and_the_well_known_one_on_request() {
    let device = device();
    device.map(300, LogicalUnit::new(volume("1"), UnitSettings::default()));
    assert!(!device.map(16_384, LogicalUnit::new(volume("2"), UnitSettings::default())));
    let mut nexus = login(&device, 1, 1);
    let mut list = |select| {
        let data = run(&mut nexus, Command::ReportLuns { select, allocation: 4096 }).data_in;
        parse_report_luns(&data).unwrap().1.collect::<Vec<_>>()
    };
    let (units, well_known) = ([LunField::unit(0), LunField::unit(300)], LunField::well_known(1));
    assert_eq!(list(0), units);
    assert_eq!(list(1), [well_known]);
    assert_eq!(list(2), [units[0], units[1], well_known]);
    let bad = run(&mut nexus, Command::ReportLuns { select: 3, allocation: 4096 });
    assert_check(&bad, SenseKey::IllegalRequest, Additional::INVALID_FIELD_IN_CDB);
}

#[test]
fn spc5_8_2_the_report_luns_well_known_unit_answers_by_itself() {
    let mut nexus = nexus_with(&device(), 1, 1, Box::new(|_| {}));
    let lun = LunField::well_known(1);
    let inquiry = Command::Inquiry { page: None, allocation: 96 };
    assert_eq!(send_at(&mut nexus, lun, inquiry, &[]).data_in[0], PERIPHERAL_WELL_KNOWN);
    let report = Command::ReportLuns { select: 0, allocation: 64 };
    assert_eq!(send_at(&mut nexus, lun, report, &[]).data_in.len(), 16);
    let read = send_at(&mut nexus, lun, crate::support::read(0, 1), &[]);
    assert_check(&read, SenseKey::IllegalRequest, Additional::INVALID_COMMAND_OPERATION_CODE);
}

#[test]
fn spc5_5_3_5_a_lun_without_a_unit_still_answers_questions() {
    let mut nexus = nexus_with(&device(), 1, 1, Box::new(|_| {}));
    for lun in [LunField::unit(7), LunField::unit(0xff_ffff), LunField([0xff; 8])] {
        let inquiry = Command::Inquiry { page: None, allocation: 96 };
        assert_eq!(send_at(&mut nexus, lun, inquiry, &[]).data_in[0], PERIPHERAL_UNSUPPORTED);
        let report = Command::ReportLuns { select: 0, allocation: 64 };
        assert_eq!(send_at(&mut nexus, lun, report, &[]).data_in.len(), 16);
        let request = Command::RequestSense { descriptor: false, allocation: 252 };
        let told = Sense::parse(&send_at(&mut nexus, lun, request, &[]).data_in).unwrap();
        assert_eq!(told.additional, Additional::LOGICAL_UNIT_NOT_SUPPORTED);
        let ready = send_at(&mut nexus, lun, Command::TestUnitReady, &[]);
        assert_check(&ready, SenseKey::IllegalRequest, Additional::LOGICAL_UNIT_NOT_SUPPORTED);
        assert!(nexus.unit(lun).is_none());
    }
}

#[test]
fn a_serial_that_is_not_hexadecimal_still_gives_a_stable_identifier() {
    let id = |serial| {
        let device = device_of(&volume(serial), UnitSettings::default());
        let mut nexus = login(&device, 1, 1);
        let data = page(&mut nexus, vpd::DEVICE_IDENTIFICATION);
        VpdPage::parse(&data).unwrap().designators().next().unwrap().body.to_vec()
    };
    assert_eq!(id("serial one"), id("serial one"));
    assert_ne!(id("serial one"), id("serial two"));
    assert_eq!(id("serial one")[0] >> 4, 3);
}
