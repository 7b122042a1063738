//! Where other implementations of iSER fail to work together: one test each, named by its number in the
//! research notes. Pitfalls 10 and 11 of the header are tested beside it, 7, 14 and 16 are those of others.

use plimsoll_fabric::rdma::{Access, Fabric};
use plimsoll_wire::iscsi::frame;
use plimsoll_wire::iscsi::pdu::{NopIn, RejectReason};
use plimsoll_wire::iscsi::{Opcode, pdu};
use plimsoll_wire::iser::{Header, Tag};

use super::initiator::{Initiator, Terms, array, bytes, keys, soft};
use super::login::send_targets;
use crate::raw::{Direction, pattern, write10};

fn with_private_data(private_data: &[u8]) -> Terms {
    Terms { private_data: private_data.to_vec(), ..Terms::default() }
}

#[test]
fn pitfall_01_an_initiator_that_says_nothing_gets_no_invalidation_and_private_data_in_return() {
    for private_data in [&[][..], &[0, 0, 0, 0], &[0xc0, 0, 0, 0]] {
        let fabric = soft(|faults| faults.invalidatable = true);
        let array = array(&fabric, |_| {});
        let mut initiator = Initiator::login(&array, &*fabric, &with_private_data(private_data));
        assert_eq!(initiator.accepted.private_data[0], 0xc0);
        let (_region, tag) = initiator.buffer(4096, Access::REMOTE_WRITE);
        let itt = initiator.send_read(0, 8, tag);
        let (ended, invalidated) = initiator.end_and_key(itt);
        assert!(ended.is_good() && invalidated.is_none(), "{private_data:?}");
    }
}

#[test]
fn pitfall_02_only_the_tag_of_the_very_task_is_invalidated_and_only_if_that_is_allowed() {
    let fabric = soft(|faults| faults.invalidatable = true);
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::login(&array, &*fabric, &with_private_data(&[0x80, 0, 0, 0]));
    assert_eq!(initiator.accepted.private_data[0], 0x80);
    let (_first, first) = initiator.buffer(4096, Access::REMOTE_WRITE);
    let (_second, second) = initiator.buffer(4096, Access::REMOTE_WRITE);
    let one = initiator.send_read(0, 8, first);
    let two = initiator.send_read(8, 8, second);
    assert_eq!(initiator.end_and_key(one).1, Some(first.key));
    assert_eq!(initiator.end_and_key(two).1, Some(second.key));
    let data = pattern(16_384, 1);
    let (_source, tag) = initiator.source(&data);
    let itt = initiator.send_write(0, &data, 0, tag);
    assert_eq!(initiator.end_and_key(itt).1, Some(tag.key));
    // A command without tags, and other PDUs, invalidate nothing.
    let command = initiator.command(&[0; 6], Direction::None, 0);
    initiator.send(&command.build(), &[]);
    assert_eq!(initiator.end_and_key(command.itt).1, None);
    let nop = initiator.nop();
    initiator.send(&nop.build(), &[]);
    assert_eq!(initiator.came().unwrap().invalidated, None);
}

#[test]
fn pitfall_03_a_command_with_two_tags_has_one_of_them_invalidated() {
    let fabric = soft(|faults| faults.invalidatable = true);
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::login(&array, &*fabric, &with_private_data(&[0x80, 0, 0, 0]));
    let (_into, read) = initiator.buffer(4096, Access::REMOTE_WRITE);
    let (_from, write) = initiator.source(&pattern(4096, 2));
    // XDWRITEREAD(10), which moves both ways and which this device server does not know.
    let mut command = initiator.command(&[0x53, 0, 0, 0, 0, 0, 0, 0, 8, 0], Direction::Write, 4096);
    command.read = true;
    let header = Header { read: Some(read), write: Some(write) };
    initiator.send_tagged(header, &command.build(), &[]);
    let (ended, invalidated) = initiator.end_and_key(command.itt);
    assert_eq!((ended.status, invalidated), (2, Some(read.key)));
    // The other tag is as good as before: the connection lives.
    initiator.ping();
}

#[test]
fn pitfall_04_the_whole_window_may_follow_the_login_response_at_once() {
    // A send that finds no receive breaks the connection here.
    let fabric = soft(|faults| faults.rnr_fails = true);
    let array = array(&fabric, |_| {});
    let terms = Terms::default();
    let mut initiator = Initiator::connect(&*fabric, array.address(), &terms);
    initiator.log_in(&keys(terms.receive_data));
    let first = initiator.cmd_sn;
    let window = initiator.max_cmd_sn - first + 1;
    assert_eq!(window, 128);
    let commands: Vec<_> =
        (0..window).map(|_| initiator.command(&[0; 6], Direction::None, 0)).collect();
    for command in &commands {
        initiator.send(&command.build(), &[]);
    }
    for command in &commands {
        initiator.end_of(command.itt);
    }
    initiator.ping();
}

#[test]
fn pitfall_05_the_first_login_request_may_come_before_the_connection_is_known_to_stand() {
    let fabric = soft(|faults| faults.late_established = true);
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::login(&array, &*fabric, &Terms::default());
    initiator.ping();
}

#[test]
fn pitfall_06_every_send_fits_the_receives_that_the_initiator_declared() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    // A message that is too long for its receive would break the connection.
    let terms = Terms { receive_data: 512, ..Terms::default() };
    let mut initiator = Initiator::connect(&*fabric, array.address(), &terms);
    initiator.target = None;
    for index in 0..40 {
        let settings = plimsoll_target_iscsi::TargetSettings {
            name: format!("iqn.2026-11.example.plimsoll:number-{index}"),
            ..Default::default()
        };
        array.server.add_target(settings, crate::array::device("iqn.other")).unwrap();
    }
    initiator.log_in(&keys(512));
    let (text, longest) = send_targets(&mut initiator, "All");
    assert!(text.len() > 2000 && longest == 512);
    // An echo is cut at the limit; sense and rejects are short.
    let mut nop = initiator.nop();
    nop.data_len = 2000;
    initiator.send(&nop.build(), &[7; 2000]);
    let reply = initiator.receive().expect("an echo");
    assert_eq!((NopIn::parse(&reply.bhs).itt, reply.data), (nop.itt, vec![7; 512]));
    let mut snack = [0; 48];
    snack[0] = 0x10;
    initiator.send(&snack, &[]);
    let reply = initiator.receive().expect("a reject");
    assert_eq!((reply.opcode(), reply.data.len()), (Opcode::Reject, 48));
    assert_eq!(pdu::Reject::parse(&reply.bhs).reason, RejectReason::SnackReject);
}

#[test]
fn pitfall_08_by_default_nothing_is_unsolicited() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |builder| builder.settings = Default::default());
    let mut initiator = Initiator::connect(&*fabric, array.address(), &Terms::default());
    let told = initiator.log_in(&keys(512));
    let value = |key| told.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
    assert_eq!((value("InitialR2T"), value("ImmediateData")), (Some("Yes"), Some("No")));
    initiator.ready();
    let data = pattern(8192, 2);
    assert!(initiator.write(0, &data, 0).is_good());
    assert_eq!(initiator.read(0, 16).data, data);
    let copied = array.server.sessions()[0].rdma.unwrap().copied_bytes;
    assert_eq!(copied, 0);
}

#[test]
fn pitfall_09_commands_far_above_512_kib_are_moved_whole() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::login(&array, &*fabric, &Terms::default());
    let data = pattern(8 << 20, 7);
    assert!(initiator.write(0, &data, 0).is_good());
    let read = initiator.read(0, 16_384);
    assert!(read.is_good() && read.data == data);
}

#[test]
fn pitfall_10_odd_lengths_are_not_padded_either_way() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::login(&array, &*fabric, &Terms::default());
    for len in [1, 2, 3, 5, 127] {
        let mut nop = initiator.nop();
        nop.data_len = len;
        initiator.send(&nop.build(), &vec![9; len as usize]);
        // That nothing follows the data is looked at with every message that comes.
        assert_eq!(initiator.receive().expect("an echo").data.len(), len as usize);
    }
}

#[test]
fn pitfall_11_a_message_shorter_than_its_headers_say_ends_the_connection_before_data_is_touched() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    for cut in [0, 1, 27, 28, 75, 76, 76 + 511] {
        let mut initiator = Initiator::login(&array, &*fabric, &Terms::default());
        let mut command = initiator.command(&write10(0, 1), Direction::Write, 512);
        command.data_len = 512;
        let whole = [&Header::default().build()[..], &command.build(), &[1; 512]].concat();
        assert_eq!(frame::data_segment_length(&command.build()), 512);
        initiator.send_bytes(&whole[..cut]);
        initiator.expect_closed();
        array.await_sessions(0);
        let mut other = Initiator::login(&array, &*fabric, &Terms::default());
        assert_eq!(other.read(0, 1).data, [0; 512], "{cut}");
    }
}

#[test]
fn pitfall_12_listeners_of_both_families_stand_side_by_side() {
    let fabric = soft(|_| {});
    let mut array = array(&fabric, |_| {});
    let six = format!("[::1]:{}", array.address().port()).parse().unwrap();
    array.listen_rdma_on(&*fabric, six);
    let mut initiator = Initiator::connect(&*fabric, six, &Terms::default());
    initiator.log_in(&keys(512));
    initiator.ready();
    Initiator::login(&array, &*fabric, &Terms::default()).ping();
}

#[test]
fn pitfall_13_a_closed_portal_refuses_and_its_address_can_be_listened_on_again() {
    let fabric = soft(|_| {});
    let mut array = array(&fabric, |_| {});
    let mut initiator = Initiator::login(&array, &*fabric, &Terms::default());
    array.portals.pop();
    crate::array::await_that("the portal is closed", || {
        Initiator::try_connect(&*fabric, array.address(), &Terms::default()).is_err()
    });
    initiator.ping();
    array.listen_rdma(&*fabric);
    Initiator::login(&array, &*fabric, &Terms::default());
}

#[test]
fn pitfall_15_a_silent_initiator_is_pinged_and_its_session_ends() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |builder| {
        builder.settings.ping_after = std::time::Duration::from_millis(50);
        builder.settings.ping_timeout = std::time::Duration::from_millis(100);
    });
    let mut initiator = Initiator::login(&array, &*fabric, &Terms::default());
    let reply = initiator.receive().expect("a ping");
    assert_eq!(reply.opcode(), Opcode::NopIn);
    initiator.expect_closed();
    array.await_sessions(0);
}

#[test]
fn pitfall_17_a_login_costs_little_before_it_is_complete() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |builder| builder.settings.logins = 3);
    let connect = || Initiator::try_connect(&*fabric, array.address(), &Terms::default());
    let mut waiting: Vec<_> = (0..3).map(|_| connect().expect("room")).collect();
    assert!(connect().is_err(), "a fourth is refused");
    waiting[0].log_in(&keys(512));
    drop(waiting.pop());
    crate::array::await_that("room again", || connect().is_ok());
}

#[test]
fn pitfall_20_odd_depths_are_clamped_and_honoured() {
    for (offered, reads) in [(0, 1), (1, 1), (3, 3), (255, 5)] {
        let fabric = soft(|faults| faults.reads = 5);
        let array = array(&fabric, |_| {});
        let terms = Terms { responder_resources: offered, ..Terms::default() };
        let mut initiator = Initiator::login(&array, &*fabric, &terms);
        assert_eq!(initiator.accepted.initiator_depth, reads, "{offered}");
        let data = pattern(1 << 20, 3);
        // Who answers no reads at all can still read, and write what fits a command.
        if offered > 0 {
            assert!(initiator.write(0, &data, 0).is_good());
        } else {
            for (lba, piece) in data.chunks(8192).enumerate() {
                assert!(initiator.write(lba as u32 * 16, piece, 8192).is_good());
            }
        }
        assert_eq!(initiator.read(0, 2048).data, data);
    }
}

#[test]
fn a_buffer_that_begins_in_the_middle_of_a_region_is_written_there_and_nowhere_else() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::login(&array, &*fabric, &Terms::default());
    let data = pattern(1024, 8);
    assert!(initiator.write(0, &data, 1024).is_good());
    let (region, tag) = initiator.buffer(4096, Access::REMOTE_WRITE);
    let middle = Tag { address: tag.address + 1000, ..tag };
    let itt = initiator.send_read(0, 2, middle);
    assert!(initiator.end_of(itt).is_good());
    let now = bytes(&region, 4096);
    assert!(now[..1000].iter().chain(&now[2024..]).all(|byte| *byte == 0));
    assert_eq!(&now[1000..2024], &data);
    assert_eq!(fabric.name(), "soft");
}
