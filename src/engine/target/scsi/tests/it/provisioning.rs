//! Capacity, UNMAP, WRITE SAME and GET LBA STATUS (SBC-4 4.7).

use plimsoll_target_scsi::{Nexus, UnitSettings};
use plimsoll_wire::scsi::capacity::{
    Capacity, LbaState, parse_capacity_10, parse_lba_status, write_unmap,
};
use plimsoll_wire::scsi::{Additional, Blocks, Command, SenseKey, Width};

use crate::support::{
    BLOCKS, SERIAL, assert_check, assert_good, device, device_of, fill, holds, login, run, send,
    volume,
};

fn unmap(nexus: &mut Nexus, runs: &[(u64, u32)]) -> plimsoll_target_scsi::Completion {
    let runs: Vec<_> = runs.iter().map(|&(lba, count)| Blocks { lba, count }).collect();
    let mut list = Vec::new();
    write_unmap(&runs, &mut list);
    send(nexus, Command::Unmap { anchor: false, length: list.len() as u16 }, &list)
}

fn status(nexus: &mut Nexus, lba: u64) -> Vec<(u64, u32, LbaState)> {
    let data = run(nexus, Command::GetLbaStatus { lba, allocation: 4096 }).data_in;
    parse_lba_status(&data).unwrap().map(|(run, state)| (run.lba, run.count, state)).collect()
}

fn same(lba: u64, count: u32, unmap: bool, no_data: bool) -> Command {
    Command::WriteSame {
        width: Width::Sixteen,
        blocks: Blocks { lba, count },
        protect: 0,
        anchor: false,
        unmap,
        no_data,
    }
}

#[test]
fn sbc4_5_15_and_5_16_capacity_is_that_of_the_volume_at_each_moment() {
    let device = device();
    let mut nexus = login(&device, 1, 1);
    let data = run(&mut nexus, Command::ReadCapacity10).data_in;
    assert_eq!(parse_capacity_10(&data), Some((Some(BLOCKS as u32 - 1), 512)));
    device.unit(0).unwrap().store().resize(3 << 40).unwrap();
    let data = run(&mut nexus, Command::ReadCapacity10).data_in;
    assert_eq!(parse_capacity_10(&data), Some((None, 512)));
    let data = run(&mut nexus, Command::ReadCapacity16 { allocation: 32 }).data_in;
    let capacity = Capacity::parse(&data).unwrap();
    assert_eq!(capacity.last_lba, (3 << 31) - 1);
    assert!(capacity.provisioning_managed && capacity.reads_zeroes && !capacity.protected);
    assert_eq!(capacity.physical_exponent, 0);
    assert_eq!(run(&mut nexus, Command::ReadCapacity16 { allocation: 12 }).data_in.len(), 12);

    let settings = UnitSettings { physical_exponent: 3, ..UnitSettings::default() };
    let mut nexus = login(&device_of(&volume(SERIAL), settings), 1, 1);
    let data = run(&mut nexus, Command::ReadCapacity16 { allocation: 32 }).data_in;
    assert_eq!(Capacity::parse(&data).unwrap().physical_exponent, 3);
}

#[test]
fn sbc4_5_34_unmapped_blocks_read_as_zeroes_and_are_told_as_deallocated() {
    let mut nexus = login(&device(), 1, 1);
    let all = BLOCKS as u32;
    assert_eq!(status(&mut nexus, 0), [(0, all, LbaState::Deallocated)]);
    fill(&mut nexus, 0, 64, 1);
    assert_good(&unmap(&mut nexus, &[(8, 8), (32, 1)]));
    assert!(holds(&mut nexus, 0, 8, 1) && holds(&mut nexus, 8, 8, 0));
    assert!(holds(&mut nexus, 16, 16, 1) && holds(&mut nexus, 32, 1, 0));
    use LbaState::{Deallocated, Mapped};
    assert_eq!(
        status(&mut nexus, 3),
        [
            (3, 5, Mapped),
            (8, 8, Deallocated),
            (16, 16, Mapped),
            (32, 1, Deallocated),
            (33, 31, Mapped),
            (64, all - 64, Deallocated)
        ]
    );
    let short = run(&mut nexus, Command::GetLbaStatus { lba: 0, allocation: 24 }).data_in;
    assert_eq!(short.len(), 24);
    let beyond = run(&mut nexus, Command::GetLbaStatus { lba: BLOCKS, allocation: 24 });
    assert_check(&beyond, SenseKey::IllegalRequest, Additional::LBA_OUT_OF_RANGE);
}

#[test]
fn sbc4_5_34_an_unmap_list_is_checked_before_the_first_block_goes() {
    let mut nexus = login(&device(), 1, 1);
    fill(&mut nexus, 0, 8, 1);
    let beyond = unmap(&mut nexus, &[(0, 8), (BLOCKS, 1)]);
    assert_check(&beyond, SenseKey::IllegalRequest, Additional::LBA_OUT_OF_RANGE);
    let many = unmap(&mut nexus, &[(0, 1); 257]);
    assert_check(&many, SenseKey::IllegalRequest, Additional::INVALID_FIELD_IN_PARAMETER_LIST);
    assert!(holds(&mut nexus, 0, 8, 1));
    assert_good(&unmap(&mut nexus, &[(BLOCKS, 0)]));
    assert_good(&unmap(&mut nexus, &[]));
    assert_good(&run(&mut nexus, Command::Unmap { anchor: false, length: 0 }));
    let short = send(&mut nexus, Command::Unmap { anchor: false, length: 24 }, &[0; 8]);
    assert_check(&short, SenseKey::IllegalRequest, Additional::PARAMETER_LIST_LENGTH_ERROR);
    let anchor = run(&mut nexus, Command::Unmap { anchor: true, length: 0 });
    assert_check(&anchor, SenseKey::IllegalRequest, Additional::INVALID_FIELD_IN_CDB);
}

#[test]
fn sbc4_5_55_write_same_writes_zeroes_patterns_or_unmaps() {
    let mut nexus = login(&device(), 1, 1);
    assert_good(&send(&mut nexus, same(0, 100, false, false), &[0xa5; 512]));
    assert!(holds(&mut nexus, 0, 100, 0xa5));
    assert_good(&send(&mut nexus, same(0, 10, false, false), &[0; 512]));
    assert_eq!(status(&mut nexus, 0)[0], (0, 100, LbaState::Mapped), "written zeroes stay mapped");
    assert_good(&send(&mut nexus, same(0, 10, true, false), &[0; 512]));
    assert_eq!(status(&mut nexus, 0)[0], (0, 10, LbaState::Deallocated));
    // Blocks would not read as this pattern when unmapped, so they are written.
    assert_good(&send(&mut nexus, same(0, 10, true, false), &[7; 512]));
    assert!(holds(&mut nexus, 0, 10, 7));
    assert_good(&send(&mut nexus, same(0, 5, false, true), &[]));
    assert!(holds(&mut nexus, 0, 5, 0) && holds(&mut nexus, 5, 5, 7));
    assert_good(&send(&mut nexus, same(5, 5, true, true), &[]));
    assert_eq!(status(&mut nexus, 5)[0], (5, 5, LbaState::Deallocated));
}

#[test]
fn sbc4_5_55_write_same_refuses_no_blocks_anchors_and_wrong_amounts_of_data() {
    let mut nexus = login(&device(), 1, 1);
    let anchored = Command::WriteSame {
        width: Width::Ten,
        blocks: Blocks { lba: 0, count: 1 },
        protect: 0,
        anchor: true,
        unmap: true,
        no_data: false,
    };
    for (command, data) in [
        (same(0, 0, false, false), &[0; 512][..]),
        (anchored, &[0; 512]),
        (same(0, 1, false, false), &[0; 256]),
        (same(0, 1, false, false), &[0; 1024]),
        (same(0, 1, false, true), &[0; 512]),
    ] {
        let completion = send(&mut nexus, command, data);
        assert_check(&completion, SenseKey::IllegalRequest, Additional::INVALID_FIELD_IN_CDB);
    }
}
