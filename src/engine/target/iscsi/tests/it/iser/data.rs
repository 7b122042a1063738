//! Data phases over RDMA (RFC 7145 section 7.3): where bytes land, and what they cost.

use plimsoll_fabric::rdma::Access;
use plimsoll_wire::iscsi::NO_TAG;
use plimsoll_wire::iscsi::pdu::{DataOut, Residual};
use plimsoll_wire::iser::{Header, Tag};
use plimsoll_wire::scsi::LunField;

use super::initiator::{Initiator, Terms, array, bytes, keys, soft};
use crate::raw::{Direction, pattern, read10, write10};

#[test]
fn rfc7145_7_3_5_and_7_3_6_every_split_of_a_write_comes_back_by_a_read() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::login(&array, &*fabric, &Terms::default());
    let cases = [
        (512, 512),
        (512, 0),
        (8192, 8192),
        (8192, 4096),
        (65_536, 0),
        (65_536, 8192),
        (262_144, 512),
        (1 << 20, 0),
        (4 << 20, 8192),
    ];
    for (index, (len, immediate)) in cases.into_iter().enumerate() {
        let data = pattern(len, index as u8);
        // Not at the border of a grain.
        let lba = 7 * (index as u32 + 1);
        assert!(initiator.write(lba, &data, immediate).is_good(), "{len} {immediate}");
        let read = initiator.read(lba, (len / 512) as u16);
        assert!(read.is_good() && read.data == data, "{len} {immediate}");
    }
}

#[test]
fn rfc7145_7_3_6_unsolicited_data_out_where_it_is_allowed() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |builder| {
        let wish = &mut builder.settings.iser.parameters;
        wish.initial_r2t = false;
        wish.first_burst_bytes = 32_768;
    });
    let mut initiator = Initiator::login(&array, &*fabric, &Terms::default());
    let data = pattern(131_072, 3);
    let (_region, tag) = initiator.source(&data);
    let mut command = initiator.command(&write10(5, 256), Direction::Write, 131_072);
    command.is_final = false;
    command.data_len = 8192;
    let solicited = Tag { address: tag.address + 32_768, ..tag };
    let header = Header { write: Some(solicited), read: None };
    initiator.send_tagged(header, &command.build(), &data[..8192]);
    for (index, start) in [8192, 16_384, 24_576].into_iter().enumerate() {
        let out = DataOut {
            is_final: index == 2,
            data_len: 8192,
            lun: LunField::unit(0),
            itt: command.itt,
            ttt: NO_TAG,
            exp_stat_sn: initiator.exp_stat_sn,
            data_sn: index as u32,
            buffer_offset: start,
        };
        let start = start as usize;
        initiator.send(&out.build(), &data[start..start + 8192]);
    }
    assert!(initiator.end_of(command.itt).is_good());
    assert_eq!(initiator.read(5, 256).data, data);
}

#[test]
fn rfc7145_6_9_a_tag_of_the_whole_buffer_is_read_behind_the_unsolicited_part() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let terms = Terms::default();
    let mut initiator = Initiator::connect(&*fabric, array.address(), &terms);
    let mut keys = keys(terms.receive_data);
    keys.push(("TaggedBufferForSolicitedDataOnly", "No".to_owned()));
    initiator.log_in(&keys);
    initiator.ready();
    let data = pattern(16_384, 9);
    let (_region, tag) = initiator.source(&data);
    let mut command = initiator.command(&write10(0, 32), Direction::Write, 16_384);
    command.data_len = 4096;
    let header = Header { write: Some(tag), read: None };
    initiator.send_tagged(header, &command.build(), &data[..4096]);
    assert!(initiator.end_of(command.itt).is_good());
    assert_eq!(initiator.read(0, 32).data, data);
}

#[test]
fn solicited_data_of_a_memory_store_is_never_copied_and_few_completions_are_asked_for() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::login(&array, &*fabric, &Terms::default());
    let data = pattern(524_288, 1);
    assert!(initiator.write(0, &data, 0).is_good());
    let stats = || array.server.sessions()[0].rdma.unwrap();
    let before = stats();
    const ROUNDS: u64 = 64;
    for _ in 0..ROUNDS {
        assert!(initiator.read(0, 1024).is_good());
    }
    crate::array::await_that("the counters", || stats().sends == before.sends + ROUNDS);
    let after = stats();
    assert_eq!(after.copied_bytes, before.copied_bytes, "no copy");
    // 512 KiB at the border of a grain are 8 runs: one write, one send.
    assert_eq!(after.writes - before.writes, ROUNDS);
    let signalled = after.signalled - before.signalled;
    assert!(signalled <= 2 * ROUNDS / 16 + 1, "{signalled} of {} works", 2 * ROUNDS);
    let before = after;
    for _ in 0..ROUNDS {
        assert!(initiator.write(0, &data, 0).is_good());
    }
    crate::array::await_that("the counters", || stats().sends == before.sends + ROUNDS);
    let after = stats();
    assert_eq!(after.copied_bytes, before.copied_bytes, "no copy");
    assert_eq!(after.reads - before.reads, 2 * ROUNDS, "256 KiB a read");
}

#[test]
fn reads_of_holes_and_data_made_by_the_device_server_go_by_buffers() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::login(&array, &*fabric, &Terms::default());
    let read = initiator.read(8192, 2048);
    assert!(read.is_good() && read.data == vec![0; 1 << 20]);
    let (region, tag) = initiator.buffer(255, Access::REMOTE_WRITE);
    let command = initiator.command(&[0x12, 0, 0, 0, 255, 0], Direction::Read, 255);
    let header = Header { read: Some(tag), write: None };
    initiator.send_tagged(header, &command.build(), &[]);
    let ended = initiator.end_of(command.itt);
    assert!(ended.is_good() && matches!(ended.residual, Residual::Underflow(_)));
    assert_eq!(&bytes(&region, 16)[8..16], b"PLIMSOLL");
}

#[test]
fn rfc7143_11_4_5_residuals_are_as_on_tcp_and_nothing_is_moved_beyond_either_length() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::login(&array, &*fabric, &Terms::default());
    let data = pattern(4096, 5);
    assert!(initiator.write(0, &data, 0).is_good());
    // The initiator expects less than the command moves, and more.
    for (expected, residual) in
        [(1024, Residual::Overflow(3072)), (8192, Residual::Underflow(4096))]
    {
        let (region, tag) = initiator.buffer(8192, Access::REMOTE_WRITE);
        let command = initiator.command(&read10(0, 8), Direction::Read, expected);
        let header = Header { read: Some(tag), write: None };
        initiator.send_tagged(header, &command.build(), &[]);
        assert_eq!(initiator.end_of(command.itt).residual, residual);
        let moved = (expected as usize).min(4096);
        let now = bytes(&region, 8192);
        assert!(now[..moved] == data[..moved] && now[moved..].iter().all(|byte| *byte == 0));
        let (_source, tag) = initiator.source(&pattern(8192, 6));
        let command = initiator.command(&write10(64, 8), Direction::Write, expected);
        let header = Header { write: Some(tag), read: None };
        initiator.send_tagged(header, &command.build(), &[]);
        assert_eq!(initiator.end_of(command.itt).residual, residual);
    }
}

#[test]
fn commands_that_want_their_data_whole_fetch_it_too() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::login(&array, &*fabric, &Terms::default());
    let (old, new) = (vec![0; 8192], pattern(8192, 4));
    let both = [&old[..], &new].concat();
    let mut cdb = [0; 16];
    cdb[0] = 0x89; // COMPARE AND WRITE
    cdb[13] = 16;
    for (immediate, good) in [(0, true), (8192, false)] {
        let (_region, tag) = initiator.source(&both);
        let mut command = initiator.command(&cdb, Direction::Write, 16_384);
        command.data_len = immediate as u32;
        let write = Tag { address: tag.address + immediate as u64, ..tag };
        let header = Header { write: Some(write), read: None };
        initiator.send_tagged(header, &command.build(), &both[..immediate]);
        assert_eq!(initiator.end_of(command.itt).is_good(), good, "{immediate}");
    }
    assert_eq!(initiator.read(0, 16).data, new);
}

#[test]
fn queues_full_of_commands_in_any_order_of_completions() {
    for seed in 1..6 {
        let fabric = soft(|faults| {
            faults.reorder = Some(seed);
            faults.segments = 1 + seed as u32 % 4;
            faults.reads = 2;
        });
        let array = array(&fabric, |_| {});
        let mut initiator = Initiator::login(&array, &*fabric, &Terms::default());
        let mut open = Vec::new();
        for round in 0..100_u32 {
            let data = pattern(40_960, round as u8);
            let (region, tag) = initiator.source(&data);
            let itt = initiator.send_write(round * 80, &data, (round as usize % 3) * 4096, tag);
            open.push((itt, region));
        }
        let mut ended: Vec<_> = open
            .iter()
            .map(|_| {
                let reply = initiator.receive().expect("a response");
                assert_eq!(reply.bhs[3], 0, "good");
                plimsoll_wire::iscsi::pdu::itt(&reply.bhs)
            })
            .collect();
        ended.sort_unstable();
        assert_eq!(ended, open.iter().map(|(itt, _)| *itt).collect::<Vec<_>>());
        for round in 0..100_u32 {
            assert_eq!(initiator.read(round * 80, 80).data, pattern(40_960, round as u8));
        }
    }
}

#[test]
fn early_and_ordered_commands_keep_their_tags() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::login(&array, &*fabric, &Terms::default());
    let (first, second) = (pattern(16_384, 1), pattern(16_384, 2));
    let ((_one, one), (_two, two)) = (initiator.source(&first), initiator.source(&second));
    let build = |initiator: &mut Initiator, lba, attribute| {
        let mut command = initiator.command(&write10(lba, 32), Direction::Write, 16_384);
        command.attribute = attribute;
        command
    };
    use plimsoll_wire::iscsi::pdu::Attribute;
    let early = build(&mut initiator, 0, Attribute::Simple);
    let late = build(&mut initiator, 0, Attribute::Ordered);
    let tags = |write| Header { write: Some(write), read: None };
    // The second by number comes first, and waits; it is ordered, and waits again.
    initiator.send_tagged(tags(two), &late.build(), &[]);
    assert!(initiator.is_silent());
    initiator.send_tagged(tags(one), &early.build(), &[]);
    assert!(initiator.end_of(early.itt).is_good());
    assert!(initiator.end_of(late.itt).is_good());
    assert_eq!(initiator.read(0, 32).data, second);
}
