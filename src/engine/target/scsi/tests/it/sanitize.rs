//! SANITIZE (SBC-4 4.11, 5.29).

use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_target_scsi::{Device, Management, Nexus, Plan, UnitSettings};
use plimsoll_wire::scsi::opcode::service;
use plimsoll_wire::scsi::{Additional, Command, LunField, Sense, SenseKey, Specific};

use crate::support::{
    BLOCKS, SERIAL, SIZE, assert_attention, assert_check, assert_good, device, device_of, fill,
    holds, login, read, run, send, sense, volume,
};

fn sanitize(service: u8, immediate: bool, length: u16) -> Command {
    Command::Sanitize { service, immediate, unrestricted_exit: false, length }
}

/// A unit whose overwriting takes a second.
fn slow() -> Arc<Device> {
    let settings = UnitSettings { overwrite_bytes_per_second: SIZE, ..UnitSettings::default() };
    device_of(&volume(SERIAL), settings)
}

fn wait_ready(nexus: &mut Nexus) {
    let start = Instant::now();
    while run(nexus, Command::TestUnitReady).status != plimsoll_wire::scsi::Status::Good {
        assert!(start.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn sbc4_5_29_2_block_erase_unmaps_and_overwrite_leaves_its_pattern() {
    let settings = UnitSettings { overwrite_bytes_per_second: u64::MAX, ..UnitSettings::default() };
    let mut nexus = login(&device_of(&volume(SERIAL), settings), 1, 1);
    fill(&mut nexus, 0, 8, 1);
    fill(&mut nexus, BLOCKS - 8, 8, 1);
    assert_good(&run(&mut nexus, sanitize(service::SANITIZE_BLOCK_ERASE, false, 0)));
    assert!(holds(&mut nexus, 0, BLOCKS as u32, 0));
    // One pass of 0xaa, then one of its inversion.
    let list = [0x82, 0, 0, 3, 0xaa, 0xaa, 0xaa];
    let command = sanitize(service::SANITIZE_OVERWRITE, false, list.len() as u16);
    assert_good(&send(&mut nexus, command, &list));
    assert!(holds(&mut nexus, 0, BLOCKS as u32, 0x55));
}

#[test]
fn sbc4_4_11_2_a_running_operation_is_told_and_survives_a_reset() {
    let device = slow();
    let (mut first, mut second) = (login(&device, 1, 1), login(&device, 2, 1));
    let list = [0x01, 0, 0, 1, 0xee];
    let command = sanitize(service::SANITIZE_OVERWRITE, true, 5);
    assert_good(&send(&mut first, command, &list));
    for command in [Command::TestUnitReady, read(0, 1)] {
        let told = sense(&run(&mut second, command));
        assert_eq!(told.additional, Additional::NOT_READY_SANITIZE_IN_PROGRESS);
        assert!(matches!(told.specific, Some(Specific::Progress(_))));
    }
    let request = Command::RequestSense { descriptor: false, allocation: 252 };
    let told = Sense::parse(&run(&mut second, request).data_in).unwrap();
    assert_eq!(told.additional, Additional::NOT_READY_SANITIZE_IN_PROGRESS);
    assert_good(&run(&mut second, Command::Inquiry { page: None, allocation: 96 }));
    second.manage(Management::LogicalUnitReset, LunField::unit(0));
    for nexus in [&mut first, &mut second] {
        assert_attention(nexus, Additional::BUS_DEVICE_RESET_OCCURRED);
        let running = run(nexus, Command::TestUnitReady);
        assert_check(&running, SenseKey::NotReady, Additional::NOT_READY_SANITIZE_IN_PROGRESS);
    }
    wait_ready(&mut second);
    assert!(holds(&mut second, 0, BLOCKS as u32, 0xee));
}

#[test]
fn a_command_that_waits_for_its_operation_asks_for_a_thread_of_its_own() {
    let mut nexus = login(&device(), 1, 1);
    for (immediate, long) in [(false, true), (true, false)] {
        let command = sanitize(service::SANITIZE_BLOCK_ERASE, immediate, 0);
        let plan = nexus.begin(LunField::unit(0), &command.cdb(), 0);
        assert!(
            matches!(plan, Plan::Collect { job, blocking: true, .. } if job.runs_long() == long)
        );
    }
}

#[test]
fn sbc4_5_29_wrong_lists_reserved_bits_and_exits_are_refused() {
    let mut nexus = login(&device(), 1, 1);
    fill(&mut nexus, 0, 1, 3);
    let refused = |completion| {
        let told = sense(&completion);
        assert_eq!(told.key, SenseKey::IllegalRequest);
    };
    for length in [0, 4, 517] {
        let command = sanitize(service::SANITIZE_OVERWRITE, false, length);
        refused(send(&mut nexus, command, &vec![1; usize::from(length)]));
    }
    for list in [[0x00, 0, 0, 1, 0xee], [0x01, 0, 0, 0, 0xee], [0x01, 0, 0, 9, 0xee]] {
        refused(send(&mut nexus, sanitize(service::SANITIZE_OVERWRITE, false, 5), &list));
    }
    refused(send(&mut nexus, sanitize(service::SANITIZE_BLOCK_ERASE, false, 8), &[0; 8]));
    refused(run(&mut nexus, sanitize(service::SANITIZE_CRYPTOGRAPHIC_ERASE, false, 0)));
    refused(run(&mut nexus, sanitize(service::SANITIZE_EXIT_FAILURE_MODE, false, 0)));
    for (byte, bits) in [(1, 0x40), (2, 1), (6, 1)] {
        let mut cdb = sanitize(service::SANITIZE_BLOCK_ERASE, false, 0).cdb();
        cdb[byte] |= bits;
        let Plan::Done(completion) = nexus.begin(LunField::unit(0), &cdb, 0) else {
            panic!("byte {byte} must be refused")
        };
        refused(completion);
    }
    assert!(holds(&mut nexus, 0, 1, 3));
}
