//! The order of commands and of statuses: RFC 7143 section 4.2.2.

use plimsoll_wire::iscsi::pdu::{Attribute, NopIn, R2t, Sequence};
use plimsoll_wire::iscsi::{NO_TAG, Opcode, pdu};

use crate::array::Array;
use crate::raw::{Direction, Raw, pattern, read10, write10};

#[test]
fn rfc7143_4_2_2_1_numbers_outside_the_window_are_ignored() {
    let array = Array::start();
    let mut raw = Raw::login(array.address(), &[]);
    raw.ready();
    let (last, next) = (raw.max_cmd_sn, raw.cmd_sn);
    assert_eq!(last, next + 127, "128 commands may be sent");
    for stray in [next.wrapping_sub(1), next.wrapping_sub(100), last + 1, last + 1000] {
        let mut nop = raw.nop(false);
        nop.cmd_sn = stray;
        raw.send(&nop.build(), &[]);
        raw.cmd_sn = next;
    }
    raw.ping();
    assert_eq!((raw.exp_cmd_sn, raw.max_cmd_sn), (next, last), "nothing has moved");
    raw.ready();
}

#[test]
fn rfc7143_4_2_2_1_a_command_before_its_turn_waits_with_its_data() {
    let array = Array::start();
    let mut raw =
        Raw::login(array.address(), &[("InitialR2T", "No"), ("FirstBurstLength", "4096")]);
    raw.ready();
    let data = pattern(1024, 7);
    let tur = raw.command(&[0; 6], Direction::None, 0);
    let mut write = raw.command(&write10(5, 2), Direction::Write, 1024);
    write.is_final = false;
    let read = raw.command(&read10(5, 2), Direction::Read, 1024);
    raw.send_command(read, &[]);
    raw.send_command(write, &data[..512]);
    let rest = pdu::DataOut {
        is_final: true,
        data_len: 512,
        lun: write.lun,
        itt: write.itt,
        ttt: NO_TAG,
        exp_stat_sn: raw.exp_stat_sn,
        data_sn: 0,
        buffer_offset: 512,
    };
    raw.send(&rest.build(), &data[512..]);
    assert!(raw.is_silent(), "nothing happens before the first command is here");
    raw.send_command(tur, &[]);
    assert!(raw.end_of(tur.itt).is_good());
    assert!(raw.end_of(write.itt).is_good());
    assert_eq!(raw.end_of(read.itt).data, data, "in the order of their numbers");
}

#[test]
fn rfc7143_4_2_2_1_immediate_requests_take_no_number() {
    let array = Array::start();
    let mut raw = Raw::login(array.address(), &[]);
    for _ in 0..3 {
        raw.ping();
    }
    assert_eq!(raw.exp_cmd_sn, raw.cmd_sn);
    let nop = raw.nop(false);
    raw.send(&nop.build(), b"ping");
    let reply = raw.receive().unwrap();
    assert_eq!(raw.exp_cmd_sn, raw.cmd_sn);
    assert_eq!(reply.opcode(), Opcode::NopIn);
    assert_eq!(NopIn::parse(&reply.bhs).ttt, NO_TAG);
}

#[test]
fn rfc7143_4_2_2_numbers_run_over_the_wrap() {
    let array = Array::start();
    let mut raw = Raw::connect(array.address());
    raw.cmd_sn = 0xffff_fff0;
    raw.exp_stat_sn = 0xffff_ffe0;
    raw.log_in(&[]);
    raw.ready();
    let data = pattern(512, 3);
    for lba in 0..64 {
        assert!(raw.write(lba, &data).is_good()); // `Raw` checks every StatSN
        assert_eq!(raw.read(lba, 1).data, data);
    }
    assert!(raw.cmd_sn < 0x1000 && raw.exp_stat_sn < 0x1000, "both have wrapped");
    assert_eq!(raw.exp_cmd_sn, raw.cmd_sn);
}

#[test]
fn rfc7143_4_2_2_1_the_window_closes_with_open_tasks_and_never_goes_back() {
    let array = Array::with(|builder| builder.settings.commands_per_session = 4);
    let mut raw = Raw::login(array.address(), &[("ImmediateData", "No")]);
    raw.ready();
    let data = pattern(512, 1);
    let mut last = raw.max_cmd_sn;
    assert_eq!(last, raw.cmd_sn + 3);
    let mut open = Vec::new();
    for lba in 0..4 {
        let command = raw.command(&write10(lba, 1), Direction::Write, 512);
        let itt = raw.send_command(command, &[]);
        let r2t: R2t = raw.r2t(itt);
        assert!(raw.max_cmd_sn.wrapping_sub(last) < 8, "never back");
        last = raw.max_cmd_sn;
        open.push(r2t);
    }
    assert_eq!(last, raw.cmd_sn - 1, "four open tasks: closed");
    let mut stray = raw.nop(false);
    raw.cmd_sn -= 1;
    raw.send(&stray.build(), &[]);
    assert!(raw.is_silent(), "beyond the window: ignored");
    let Some(first) = open.first() else { return };
    raw.answer(first, &data, 512);
    assert!(raw.end_of(first.itt).is_good());
    assert_eq!(raw.max_cmd_sn, raw.cmd_sn, "one is free again");
    stray.exp_stat_sn = raw.exp_stat_sn;
    raw.send(&stray.build(), &[]);
    let reply = raw.receive().unwrap();
    assert_eq!(reply.opcode(), Opcode::NopIn);
    assert_eq!(Sequence::parse(&reply.bhs).exp_cmd_sn, raw.cmd_sn + 1);
}

#[test]
fn sam5_8_6_an_ordered_command_waits_for_the_older_and_holds_back_the_newer() {
    let array = Array::start();
    let mut raw =
        Raw::login(array.address(), &[("InitialR2T", "No"), ("FirstBurstLength", "1024")]);
    raw.ready();
    let data = pattern(1024, 6);
    // An older write that waits for its data.
    let mut older = raw.command(&write10(0, 4), Direction::Write, 2048);
    older.is_final = true;
    raw.send_command(older, &data);
    let r2t = raw.r2t(older.itt);
    let mut ordered = raw.command(&write10(0, 2), Direction::Write, 1024);
    ordered.attribute = Attribute::Ordered;
    ordered.is_final = false;
    raw.send_command(ordered, &[7; 512]);
    let newer = raw.command(&read10(0, 2), Direction::Read, 1024);
    raw.send_command(newer, &[]);
    let rest = pdu::DataOut {
        is_final: true,
        data_len: 512,
        lun: ordered.lun,
        itt: ordered.itt,
        ttt: NO_TAG,
        exp_stat_sn: raw.exp_stat_sn,
        data_sn: 0,
        buffer_offset: 512,
    };
    raw.send(&rest.build(), &[7; 512]);
    // Another unit, and the head of the queue, do not wait.
    let mut elsewhere = raw.command(&[0; 6], Direction::None, 0);
    elsewhere.lun = plimsoll_wire::scsi::LunField::unit(1);
    raw.send_command(elsewhere, &[]);
    raw.end_of(elsewhere.itt);
    let mut first = raw.command(&read10(0, 2), Direction::Read, 1024);
    first.attribute = Attribute::HeadOfQueue;
    raw.send_command(first, &[]);
    assert_eq!(raw.end_of(first.itt).data, data, "what the older write has brought so far");
    assert!(raw.is_silent());
    raw.answer(&r2t, &[&data[..], &data[..]].concat(), 1024);
    assert!(raw.end_of(older.itt).is_good());
    assert!(raw.end_of(ordered.itt).is_good());
    assert_eq!(raw.end_of(newer.itt).data, [7; 1024]);
}

#[test]
fn sam5_8_6_commands_that_wait_are_aborted_like_others() {
    let array = Array::start();
    let mut raw = Raw::login(array.address(), &[("ImmediateData", "No")]);
    raw.ready();
    let older = raw.command(&write10(0, 1), Direction::Write, 512);
    raw.send_command(older, &[]);
    let r2t = raw.r2t(older.itt);
    let mut waiting = Vec::new();
    for _ in 0..3 {
        let mut ordered = raw.command(&read10(0, 1), Direction::Read, 512);
        ordered.attribute = Attribute::Ordered;
        waiting.push(raw.send_command(ordered, &[]));
    }
    let abort = pdu::TaskFunction::AbortTask;
    let lun = plimsoll_wire::scsi::LunField::unit(0);
    assert_eq!(raw.manage(abort, lun, waiting[1]), pdu::TaskResult::Complete);
    raw.answer(&r2t, &[5; 512], 512);
    assert!(raw.end_of(older.itt).is_good());
    assert_eq!(raw.end_of(waiting[0]).data, [5; 512]);
    assert_eq!(raw.end_of(waiting[2]).data, [5; 512]);
    raw.ready();
}
