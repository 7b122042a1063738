//! RESERVE and RELEASE of SPC-2, and how they live beside persistent reservations (SPC-5 5.14.3).

use plimsoll_wire::scsi::{Command, Width};

use crate::persistent_out::register;
use crate::support::{assert_conflict, assert_good, assert_ready, device, login, read, run, write};

const RESERVE: Command = Command::Reserve { width: Width::Six };
const RELEASE: Command = Command::Release { width: Width::Six };

#[test]
fn spc2_7_21_a_reserved_unit_serves_its_holder_and_questions_of_others() {
    let device = device();
    let (mut holder, mut other) = (login(&device, 1, 1), login(&device, 2, 1));
    assert_good(&run(&mut holder, RESERVE));
    assert_good(&run(&mut holder, RESERVE));
    assert_ready(&mut holder);
    for command in [
        RESERVE,
        Command::TestUnitReady,
        read(0, 1),
        write(0, 1),
        Command::PersistentReserveIn { service: 0, allocation: 64 },
        Command::ModeSense {
            width: Width::Six,
            no_blocks: false,
            long_lba: false,
            control: 0,
            page: 0x3f,
            subpage: 0,
            allocation: 64,
        },
    ] {
        assert_conflict(&run(&mut other, command));
    }
    for command in [
        Command::Inquiry { page: None, allocation: 96 },
        Command::ReportLuns { select: 0, allocation: 96 },
        Command::RequestSense { descriptor: false, allocation: 96 },
        Command::ReadCapacity10,
        RELEASE,
    ] {
        assert_good(&run(&mut other, command));
    }
    assert_conflict(&run(&mut other, read(0, 1)));
    assert_good(&run(&mut holder, RELEASE));
    assert_ready(&mut other);
}

#[test]
fn spc2_7_21_a_reservation_ends_with_its_nexus() {
    let device = device();
    let (mut holder, mut other) = (login(&device, 1, 1), login(&device, 2, 1));
    assert_good(&run(&mut holder, RESERVE));
    assert_conflict(&run(&mut other, RESERVE));
    drop(holder);
    assert_good(&run(&mut other, RESERVE));
}

#[test]
fn spc2_5_5_1_reserve_and_persistent_reservations_exclude_each_other() {
    let device = device();
    let (mut holder, mut other) = (login(&device, 1, 1), login(&device, 2, 1));
    assert_good(&run(&mut holder, RESERVE));
    assert_conflict(&register(&mut holder, 0, 7));
    assert_conflict(&register(&mut other, 0, 7));
    assert_good(&run(&mut holder, RELEASE));
    assert_good(&register(&mut other, 0, 7));
    assert_conflict(&run(&mut holder, RESERVE));
    // A registered nexus gets GOOD, and nothing is reserved.
    assert_good(&run(&mut other, RESERVE));
    assert_ready(&mut holder);
}
