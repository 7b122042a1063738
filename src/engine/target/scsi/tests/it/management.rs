//! Task management (SAM-5 7): what a reset undoes and who hears of it.

use std::sync::{Arc, Mutex};

use plimsoll_target_scsi::{LogicalUnit, Management, ManagementResponse, Notice, UnitSettings};
use plimsoll_wire::scsi::reservation::ReservationKind;
use plimsoll_wire::scsi::{Additional, Command, LunField, Width};

use crate::persistent_out::{read_reservation, register, reserve};
use crate::support::{
    assert_attention, assert_conflict, assert_good, assert_ready, device, login, nexus_with, read,
    run, volume,
};

const LUN: LunField = LunField::unit(0);
const RESERVE: Command = Command::Reserve { width: Width::Six };

#[test]
fn sam5_6_3_3_a_reset_ends_reserve_and_is_told_to_everybody() {
    for function in
        [Management::LogicalUnitReset, Management::TargetWarmReset, Management::TargetColdReset]
    {
        let device = device();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&heard);
        let notify = Box::new(move |notice| sink.lock().unwrap().push(notice));
        let mut holder = nexus_with(&device, 1, 1, notify);
        assert_attention(&mut holder, Additional::POWER_ON_RESET_OCCURRED);
        let mut other = login(&device, 2, 1);
        assert_good(&run(&mut holder, RESERVE));
        assert_conflict(&run(&mut other, read(0, 1)));
        assert_eq!(other.manage(function, LUN), ManagementResponse::Complete);
        for nexus in [&mut holder, &mut other] {
            assert_attention(nexus, Additional::BUS_DEVICE_RESET_OCCURRED);
            assert_ready(nexus);
        }
        assert!(heard.lock().unwrap().contains(&Notice::AbortTasks { lun: Some(0) }));
    }
}

#[test]
fn sam5_6_3_3_a_reset_keeps_persistent_reservations() {
    let mut nexus = login(&device(), 1, 1);
    assert_good(&register(&mut nexus, 0, 1));
    assert_good(&reserve(&mut nexus, 1, ReservationKind::WriteExclusive));
    nexus.manage(Management::LogicalUnitReset, LUN);
    assert_attention(&mut nexus, Additional::BUS_DEVICE_RESET_OCCURRED);
    assert_eq!(read_reservation(&mut nexus), Some((1, ReservationKind::WriteExclusive)));
}

#[test]
fn sam5_7_5_clear_task_set_tells_the_others_what_happened_to_their_tasks() {
    let device = device();
    let (mut first, mut second) = (login(&device, 1, 1), login(&device, 2, 1));
    first.manage(Management::ClearTaskSet, LUN);
    assert_ready(&mut first);
    assert_attention(&mut second, Additional::COMMANDS_CLEARED_BY_ANOTHER_INITIATOR);
}

#[test]
fn sam5_7_a_function_for_a_lun_that_is_not_there_says_so() {
    let device = device();
    device.map(1, LogicalUnit::new(volume("1"), UnitSettings::default()));
    let mut nexus = login(&device, 1, 1);
    let absent = LunField::unit(9);
    for function in [Management::LogicalUnitReset, Management::ClearTaskSet] {
        assert_eq!(nexus.manage(function, absent), ManagementResponse::LunDoesNotExist);
        // A unit that no command has addressed yet is there all the same.
        assert_eq!(nexus.manage(function, LunField::unit(1)), ManagementResponse::Complete);
    }
}
