//! START STOP UNIT and PREVENT ALLOW MEDIUM REMOVAL (SBC-4 5.30, 5.11) on removable and on fixed media.

use std::sync::Arc;

use plimsoll_target_scsi::{Device, Management, UnitSettings};
use plimsoll_wire::scsi::{Additional, Command, LunField, SenseKey};

use crate::support::{
    SERIAL, assert_attention, assert_check, assert_good, assert_ready, device, device_of, login,
    read, run, volume,
};

fn removable() -> Arc<Device> {
    let settings = UnitSettings { removable: true, ..UnitSettings::default() };
    device_of(&volume(SERIAL), settings)
}

const fn unit(start: bool, load_eject: bool) -> Command {
    Command::StartStop { immediate: false, power: 0, no_flush: false, load_eject, start }
}

#[test]
fn sbc4_5_30_a_removable_medium_is_ejected_and_loaded_but_does_not_spin() {
    let device = removable();
    let (mut first, mut second) = (login(&device, 1, 1), login(&device, 2, 1));
    assert_good(&run(&mut first, unit(false, false)));
    assert_good(&run(&mut first, read(0, 1)));

    assert_good(&run(&mut first, unit(false, true)));
    for command in [Command::TestUnitReady, read(0, 1), Command::ReadCapacity10] {
        let completion = run(&mut first, command);
        assert_check(&completion, SenseKey::NotReady, Additional::MEDIUM_NOT_PRESENT);
    }
    assert_good(&run(&mut first, Command::Inquiry { page: None, allocation: 96 }));
    assert_good(&run(&mut first, unit(true, true)));
    assert_attention(&mut second, Additional::NOT_READY_TO_READY_CHANGE);
    assert_good(&run(&mut second, read(0, 1)));
}

#[test]
fn sbc4_5_11_a_medium_stays_while_any_nexus_prevents_its_removal() {
    let device = removable();
    let (mut first, mut second) = (login(&device, 1, 1), login(&device, 2, 1));
    let eject_refused = |nexus: &mut plimsoll_target_scsi::Nexus| {
        let completion = run(nexus, unit(false, true));
        let additional = Additional::MEDIUM_REMOVAL_PREVENTED;
        assert_check(&completion, SenseKey::IllegalRequest, additional);
    };
    assert_good(&run(&mut first, Command::PreventAllow { prevent: 1 }));
    assert_good(&run(&mut second, Command::PreventAllow { prevent: 1 }));
    assert_good(&run(&mut first, Command::PreventAllow { prevent: 0 }));
    eject_refused(&mut first);
    // The loss of the nexus and a reset both end what it prevents.
    drop(second);
    assert_good(&run(&mut first, unit(false, true)));
    assert_good(&run(&mut first, unit(true, true)));
    assert_good(&run(&mut first, Command::PreventAllow { prevent: 1 }));
    eject_refused(&mut first);
    first.manage(Management::LogicalUnitReset, LunField::unit(0));
    assert_attention(&mut first, Additional::BUS_DEVICE_RESET_OCCURRED);
    assert_good(&run(&mut first, unit(false, true)));
}

#[test]
fn a_fixed_medium_neither_stops_nor_leaves() {
    let mut nexus = login(&device(), 1, 1);
    assert_good(&run(&mut nexus, unit(false, false)));
    assert_ready(&mut nexus);
    let eject = run(&mut nexus, unit(false, true));
    assert_check(&eject, SenseKey::IllegalRequest, Additional::INVALID_FIELD_IN_CDB);
    let prevent = run(&mut nexus, Command::PreventAllow { prevent: 1 });
    let additional = Additional::INVALID_COMMAND_OPERATION_CODE;
    assert_check(&prevent, SenseKey::IllegalRequest, additional);
    for power in 1..16 {
        let condition = Command::StartStop {
            immediate: false,
            power,
            no_flush: false,
            load_eject: true,
            start: false,
        };
        assert_good(&run(&mut nexus, condition));
        assert_ready(&mut nexus);
    }
}
