//! Block commands: ranges, protection, comparison, and what a full pool says.

use plimsoll_target_scsi::{MAX_TRANSFER, Plan, UnitSettings};
use plimsoll_wire::scsi::{Access, Additional, Blocks, Command, LunField, SenseKey, Status, Width};

use crate::support::{
    BLOCKS, SERIAL, assert_check, assert_good, device, device_of, fill, holds, login, read, run,
    send, sense, volume, write,
};

const FUA: Access = Access { protect: 0, dpo: true, fua: true };
const PLAIN: Access = Access { protect: 0, dpo: false, fua: false };

#[test]
fn sbc4_5_what_was_written_is_read_in_every_width() {
    let mut nexus = login(&device(), 1, 1);
    for (byte, width) in (1..).zip([Width::Six, Width::Ten, Width::Twelve, Width::Sixteen]) {
        let blocks = Blocks { lba: 3, count: 2 };
        let write = Command::Write { width, blocks, access: PLAIN };
        assert_good(&send(&mut nexus, write, &[byte; 1024]));
        let read = Command::Read { width, blocks, access: PLAIN };
        assert_eq!(run(&mut nexus, read).data_in, [byte; 1024]);
    }
}

#[test]
fn sbc4_4_2_2_a_range_that_leaves_the_unit_is_refused_with_its_first_block() {
    let mut nexus = login(&device(), 1, 1);
    for (lba, count, first) in [
        (BLOCKS, 0, BLOCKS),
        (BLOCKS, 1, BLOCKS),
        (BLOCKS - 1, 2, BLOCKS),
        (0, BLOCKS as u32 + 1, BLOCKS),
        (u64::MAX, 1, u64::MAX),
        (BLOCKS + 9, 0, BLOCKS + 9),
    ] {
        for command in [read(lba, count), write(lba, count)] {
            let completion = run(&mut nexus, command);
            assert_check(&completion, SenseKey::IllegalRequest, Additional::LBA_OUT_OF_RANGE);
            let told = sense(&completion).information;
            assert_eq!(
                told,
                u32::try_from(first).ok().map(u64::from),
                "fixed format holds 32 bits"
            );
        }
    }
    assert_good(&run(&mut nexus, read(BLOCKS - 1, 1)));
    assert_good(&run(&mut nexus, read(BLOCKS - 1, 0)));
}

#[test]
fn sbc4_4_21_protection_is_refused_everywhere_since_there_is_none() {
    let mut nexus = login(&device(), 1, 1);
    let blocks = Blocks { lba: 0, count: 1 };
    for protect in 1..8 {
        let access = Access { protect, ..PLAIN };
        let width = Width::Ten;
        for command in [
            Command::Read { width, blocks, access },
            Command::Write { width, blocks, access },
            Command::WriteVerify { width, blocks, access, byte_check: 0 },
            Command::Verify { width, blocks, access, byte_check: 0 },
            Command::OrWrite { blocks, access },
            Command::CompareAndWrite { blocks, access },
            Command::WriteSame {
                width,
                blocks,
                protect,
                anchor: false,
                unmap: false,
                no_data: false,
            },
        ] {
            let completion = send(&mut nexus, command, &[0; 1024]);
            assert_check(&completion, SenseKey::IllegalRequest, Additional::INVALID_FIELD_IN_CDB);
        }
    }
}

#[test]
fn sbc4_6_6_5_a_transfer_beyond_the_limit_is_refused() {
    let volume = volume(SERIAL);
    volume.store().resize(MAX_TRANSFER as u64 + 512).unwrap();
    let mut nexus = login(&device_of(&volume, UnitSettings::default()), 1, 1);
    let limit = (MAX_TRANSFER / 512) as u32;
    let begin = |nexus: &mut plimsoll_target_scsi::Nexus, count| {
        nexus.begin(LunField::unit(0), &read(0, count).cdb(), 0)
    };
    assert!(matches!(begin(&mut nexus, limit), Plan::Read { len: MAX_TRANSFER, .. }));
    let Plan::Done(refused) = begin(&mut nexus, limit + 1) else { panic!("must be refused") };
    assert_check(&refused, SenseKey::IllegalRequest, Additional::INVALID_FIELD_IN_CDB);
}

#[test]
fn sbc4_4_10_fua_makes_a_write_durable() {
    let mut nexus = login(&device(), 1, 1);
    let blocks = Blocks { lba: 0, count: 1 };
    for access in [PLAIN, FUA] {
        let write = Command::Write { width: Width::Ten, blocks, access };
        let plan = nexus.begin(LunField::unit(0), &write.cdb(), 512);
        assert!(matches!(plan, Plan::Write { durable, .. } if durable == access.fua));
    }
}

#[test]
fn sbc4_5_3_compare_and_write_writes_on_match_and_tells_the_first_difference() {
    let mut nexus = login(&device(), 1, 1);
    fill(&mut nexus, 10, 2, 7);
    let command = Command::CompareAndWrite { blocks: Blocks { lba: 10, count: 2 }, access: FUA };
    let mut data = vec![7; 1024];
    data.extend([8; 1024]);
    assert_good(&send(&mut nexus, command, &data));
    assert!(holds(&mut nexus, 10, 2, 8));

    data[..1024].fill(8);
    data[700] = 9;
    let completion = send(&mut nexus, command, &data);
    assert_check(&completion, SenseKey::Miscompare, Additional::MISCOMPARE_DURING_VERIFY);
    assert_eq!(sense(&completion).information, Some(700));
    assert!(holds(&mut nexus, 10, 2, 8));

    for wrong in [0, 1024, 2047, 2560] {
        let completion = send(&mut nexus, command, &vec![8; wrong]);
        assert_check(&completion, SenseKey::IllegalRequest, Additional::INVALID_FIELD_IN_CDB);
    }
}

#[test]
fn sbc4_5_38_verify_compares_as_bytchk_says() {
    let mut nexus = login(&device(), 1, 1);
    fill(&mut nexus, 0, 8, 1);
    let verify = |byte_check| Command::Verify {
        width: Width::Sixteen,
        blocks: Blocks { lba: 0, count: 8 },
        access: PLAIN,
        byte_check,
    };
    assert_good(&run(&mut nexus, verify(0)));
    assert_good(&send(&mut nexus, verify(1), &[1; 4096]));
    assert_good(&send(&mut nexus, verify(3), &[1; 512]));
    let mut other = [1; 4096];
    other[4095] = 2;
    for (byte_check, data, at) in [(1, &other[..], 4095), (3, &[2; 512][..], 0)] {
        let completion = send(&mut nexus, verify(byte_check), data);
        assert_check(&completion, SenseKey::Miscompare, Additional::MISCOMPARE_DURING_VERIFY);
        assert_eq!(sense(&completion).information, Some(at));
    }
    let reserved = send(&mut nexus, verify(2), &[1; 4096]);
    assert_check(&reserved, SenseKey::IllegalRequest, Additional::INVALID_FIELD_IN_CDB);
}

#[test]
fn sbc4_5_51_write_and_verify_and_5_7_orwrite_change_the_medium() {
    let mut nexus = login(&device(), 1, 1);
    let blocks = Blocks { lba: 4, count: 2 };
    let write = Command::WriteVerify { width: Width::Ten, blocks, access: PLAIN, byte_check: 1 };
    assert_good(&send(&mut nexus, write, &[0x50; 1024]));
    assert!(holds(&mut nexus, 4, 2, 0x50));
    assert_good(&send(&mut nexus, Command::OrWrite { blocks, access: FUA }, &[0x05; 1024]));
    assert!(holds(&mut nexus, 4, 2, 0x55));
    // Announced less than the CDB says: whole blocks that came are written, nothing else.
    assert_good(&send(&mut nexus, write, &[0x11; 700]));
    assert!(holds(&mut nexus, 4, 1, 0x11) && holds(&mut nexus, 5, 1, 0x55));
}

#[test]
fn sbc4_5_9_prefetch_meets_its_condition_in_memory() {
    let mut nexus = login(&device(), 1, 1);
    for (lba, count) in [(0, 8), (BLOCKS - 1, 0)] {
        let prefetch = Command::Prefetch {
            width: Width::Sixteen,
            blocks: Blocks { lba, count },
            immediate: false,
        };
        assert_eq!(run(&mut nexus, prefetch).status, Status::ConditionMet);
    }
}

#[test]
fn sbc4_4_7_3_6_a_write_without_space_is_data_protect() {
    let volume = volume(SERIAL);
    volume.space().set_limit(8192);
    let mut nexus = login(&device_of(&volume, UnitSettings::default()), 1, 1);
    fill(&mut nexus, 0, 16, 1);
    let completion = send(&mut nexus, write(64, 16), &[1; 8192]);
    assert_check(
        &completion,
        SenseKey::DataProtect,
        Additional::SPACE_ALLOCATION_FAILED_WRITE_PROTECT,
    );
    fill(&mut nexus, 0, 16, 2);
}

#[test]
fn spc5_7_5_13_a_read_only_unit_reads_but_does_not_write() {
    let settings = UnitSettings { read_only: true, ..UnitSettings::default() };
    let mut nexus = login(&device_of(&volume(SERIAL), settings), 1, 1);
    assert_good(&run(&mut nexus, read(0, 1)));
    let unmap = Command::Unmap { anchor: false, length: 0 };
    for command in [write(0, 1), unmap] {
        let completion = send(&mut nexus, command, &[0; 512]);
        assert_check(&completion, SenseKey::DataProtect, Additional::WRITE_PROTECTED);
    }
}
