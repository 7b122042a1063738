//! Peers that break the rules: each costs its own connection and nothing else.

use plimsoll_fabric::rdma::{Access, Work};
use plimsoll_wire::iser::{Header, LOGIN_MESSAGE_MAX, Tag};

use super::initiator::{Initiator, Terms, array, keys, soft};
use crate::array::await_that;
use crate::raw::{Direction, pattern, read10, write10};

#[test]
fn rfc7145_9_3_hello_and_unknown_headers_end_the_connection() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    for first in [0x20, 0x30, 0x00, 0xff] {
        for logged_in in [false, true] {
            let mut initiator = if logged_in {
                Initiator::login(&array, &*fabric, &Terms::default())
            } else {
                Initiator::connect(&*fabric, array.address(), &Terms::default())
            };
            let mut message = [0; 76];
            message[0] = first;
            initiator.send_bytes(&message);
            initiator.expect_closed();
        }
    }
    array.await_sessions(0);
    await_that("no connection", || fabric.connections() == 0);
}

#[test]
fn tags_that_are_bogus_or_too_short_or_without_the_right_end_the_connection_that_named_them() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let mut other = Initiator::login(&array, &*fabric, &Terms::default());
    for case in 0..6 {
        let mut initiator = Initiator::connect(&*fabric, array.address(), &Terms::default());
        initiator.isid = plimsoll_wire::iscsi::Isid::random([9, 9, 9], case);
        initiator.log_in(&keys(512));
        initiator.ready();
        let (region, readable) = initiator.source(&pattern(4096, 1));
        let (_writable, writable) = initiator.buffer(4096, Access::REMOTE_WRITE);
        let bogus = Tag { key: 0xdead_beef, address: 0x1000 };
        let beyond = Tag { address: writable.address + 4096, ..writable };
        let (read, tag) = match case {
            0 => (true, bogus),
            1 => (true, readable),
            2 => (true, beyond),
            3 => (false, bogus),
            4 => (false, writable),
            _ => (false, Tag { address: readable.address + 1, ..readable }),
        };
        if read {
            initiator.send_read(0, 8, tag);
        } else {
            initiator.send_write(0, &pattern(4096, 2), 0, tag);
        }
        initiator.expect_closed();
        drop(region);
        other.ping();
    }
    array.await_sessions(1);
}

#[test]
fn a_command_with_data_and_without_a_tag_fails_alone() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::login(&array, &*fabric, &Terms::default());
    let read = initiator.command(&read10(0, 8), Direction::Read, 4096);
    initiator.send(&read.build(), &[]);
    let ended = initiator.end_of(read.itt);
    assert_eq!((ended.status, ended.sense.map(|sense| sense.0)), (2, Some(0x0b)));
    let write = initiator.command(&write10(0, 8), Direction::Write, 4096);
    initiator.send(&write.build(), &[]);
    let ended = initiator.end_of(write.itt);
    assert_eq!((ended.status, ended.sense.map(|sense| sense.0)), (2, Some(0x0b)));
    initiator.ping();
}

#[test]
fn messages_longer_than_any_receive_and_more_data_than_agreed_end_the_connection() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::login(&array, &*fabric, &Terms::default());
    initiator.send_bytes(&vec![0x10; LOGIN_MESSAGE_MAX + 4096]);
    initiator.expect_closed();
    let mut initiator = Initiator::login(&array, &*fabric, &Terms::default());
    let mut nop = initiator.nop();
    nop.data_len = 8193;
    initiator.send(&nop.build(), &[0; 8193]);
    initiator.expect_closed();
    array.await_sessions(0);
}

#[test]
fn a_peer_that_invalidates_keys_of_the_target_ends_its_connection() {
    let fabric = soft(|faults| faults.invalidatable = true);
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::login(&array, &*fabric, &Terms::default());
    for key in 0..64 {
        let (_region, tag) = initiator.source(&[0x10; 76]);
        let _ = tag;
        let segments = [];
        let work = Work::Send { id: 1, segments: &segments, invalidate: Some(key), signal: false };
        if initiator.endpoint.post(&work).is_err() || initiator.endpoint.flush().is_err() {
            break;
        }
    }
    initiator.expect_closed();
    array.await_sessions(0);
    Initiator::login(&array, &*fabric, &Terms::default()).ping();
}

#[test]
fn commands_outside_the_window_are_dropped_in_silence() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::login(&array, &*fabric, &Terms::default());
    let mut command = initiator.command(&[0; 6], Direction::None, 0);
    let expected = command.cmd_sn;
    command.cmd_sn = initiator.max_cmd_sn + 100;
    initiator.send(&command.build(), &[]);
    assert!(initiator.is_silent());
    command.cmd_sn = expected;
    initiator.send(&command.build(), &[]);
    assert!(initiator.end_of(command.itt).is_good());
}

#[test]
fn a_flood_of_pings_from_a_peer_that_takes_no_answers_holds_its_sends_back() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let terms = Terms { receives: 2, receive_data: 8192, ..Terms::default() };
    let mut initiator = Initiator::connect(&*fabric, array.address(), &terms);
    initiator.log_in(&keys(8192));
    // Nothing is received from here on. The target's queues fill, then its receives are used up, then the
    // initiator's own queue: what the target holds stays bounded.
    let mut posted = 0;
    let refused = loop {
        let mut nop = initiator.nop();
        nop.data_len = 8000;
        let bytes = [&Header::default().build()[..], &nop.build(), &[1; 8000]].concat();
        if posted == 100_000 || !initiator.try_send(&bytes) {
            break posted;
        }
        posted += 1;
        if posted % 64 == 0 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    };
    assert!(refused < 10_000, "{refused} pings were taken");
    let mut other = Initiator::connect(&*fabric, array.address(), &Terms::default());
    other.isid = plimsoll_wire::iscsi::Isid::random([9, 9, 9], 1);
    other.log_in(&keys(512));
    other.ping();
}

#[test]
fn a_connection_that_breaks_anywhere_leaves_nothing_behind() {
    for works in (1..120).step_by(3) {
        let fabric = soft(|faults| faults.works_left = Some(works));
        let array = array(&fabric, |_| {});
        let Ok(mut initiator) =
            Initiator::try_connect(&*fabric, array.address(), &Terms::default())
        else {
            continue;
        };
        initiator.send_login(&keys(512));
        if initiator.receive().is_some() {
            let data = pattern(65_536, 1);
            let (_from, from) = initiator.source(&data);
            let (_into, into) = initiator.buffer(65_536, Access::REMOTE_WRITE);
            while !initiator.closed {
                initiator.send_write(0, &data, 4096, from);
                initiator.send_read(0, 128, into);
                initiator.poll();
            }
        }
        array.await_sessions(0);
        fabric.set_faults(Default::default());
        let mut next = Initiator::login(&array, &*fabric, &Terms::default());
        next.ping();
    }
}

#[test]
fn a_second_login_request_before_the_answer_ends_the_connection_or_is_refused() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::connect(&*fabric, array.address(), &Terms::default());
    let odd = [("MaxBurstLength", "512".to_owned())];
    initiator.send_login(&odd);
    initiator.send_login(&odd);
    initiator.expect_closed();
    array.await_sessions(0);
}
