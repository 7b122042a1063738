//! Unit attentions (SAM-5 5.14): who gets which, when it ends, and what passes in front of it.

use std::sync::{Arc, Mutex};

use plimsoll_target_scsi::{LogicalUnit, Notice, UnitSettings};
use plimsoll_wire::scsi::{Additional, Command, LunField, Sense, SenseKey};

use crate::support::{
    assert_attention, assert_check, assert_good, assert_ready, device, login, nexus_with, read,
    run, send_at, volume,
};

#[test]
fn sam5_5_14_power_on_is_told_once_per_unit_and_questions_pass_in_front() {
    let device = device();
    device.map(1, LogicalUnit::new(volume("1"), UnitSettings::default()));
    let mut nexus = nexus_with(&device, 1, 1, Box::new(|_| {}));
    assert_good(&run(&mut nexus, Command::Inquiry { page: None, allocation: 96 }));
    assert_good(&run(&mut nexus, Command::ReportLuns { select: 0, allocation: 96 }));
    let first = run(&mut nexus, read(0, 1));
    assert_check(&first, SenseKey::UnitAttention, Additional::POWER_ON_RESET_OCCURRED);
    assert_good(&run(&mut nexus, read(0, 1)));
    let other = send_at(&mut nexus, LunField::unit(1), read(0, 1), &[]);
    assert_check(&other, SenseKey::UnitAttention, Additional::POWER_ON_RESET_OCCURRED);
}

#[test]
fn spc5_6_39_request_sense_takes_the_attention_into_its_data() {
    let mut nexus = nexus_with(&device(), 1, 1, Box::new(|_| {}));
    for descriptor in [true, false] {
        let request = Command::RequestSense { descriptor, allocation: 252 };
        let data = run(&mut nexus, request).data_in;
        assert_eq!(data[0] == 0x72, descriptor);
        let told = Sense::parse(&data).unwrap();
        let expected =
            if descriptor { Additional::POWER_ON_RESET_OCCURRED } else { Additional::NONE };
        assert_eq!(told.additional, expected);
    }
    assert_ready(&mut nexus);
}

#[test]
fn sbc4_4_7_resize_and_threshold_are_told_to_every_nexus() {
    let device = device();
    let (mut first, mut second) = (login(&device, 1, 1), login(&device, 2, 2));
    let unit = device.unit(0).unwrap();
    unit.store().resize(2 << 20).unwrap();
    unit.resized();
    unit.threshold_reached();
    for nexus in [&mut first, &mut second] {
        assert_attention(nexus, Additional::CAPACITY_DATA_CHANGED);
        assert_attention(nexus, Additional::THIN_PROVISIONING_SOFT_THRESHOLD_REACHED);
        assert_ready(nexus);
        assert_good(&run(nexus, read(4095, 1)));
    }
}

#[test]
fn spc5_6_33_a_changed_lun_map_is_told_and_report_luns_ends_it() {
    let device = device();
    let (mut first, mut second) = (login(&device, 1, 1), login(&device, 2, 1));
    device.map(5, LogicalUnit::new(volume("5"), UnitSettings::default()));
    assert_attention(&mut first, Additional::REPORTED_LUNS_DATA_CHANGED);
    assert_ready(&mut first);
    assert_good(&run(&mut second, Command::ReportLuns { select: 0, allocation: 64 }));
    assert_ready(&mut second);

    assert!(device.unmap(0).is_some());
    let gone = run(&mut first, Command::TestUnitReady);
    assert_check(&gone, SenseKey::IllegalRequest, Additional::LOGICAL_UNIT_NOT_SUPPORTED);
    assert!(device.unmap(0).is_none());
}

#[test]
fn a_session_hears_of_an_attention_at_once() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&heard);
    let device = device();
    let notify = Box::new(move |notice| sink.lock().unwrap().push(notice));
    let mut nexus = nexus_with(&device, 1, 1, notify);
    assert_attention(&mut nexus, Additional::POWER_ON_RESET_OCCURRED);
    heard.lock().unwrap().clear();
    device.unit(0).unwrap().resized();
    assert_eq!(*heard.lock().unwrap(), [Notice::Attention { lun: 0 }]);
}
