//! NOP, text, logout, asynchronous messages, reject: RFC 7143 sections 11.9 to 11.19.

use std::time::Duration;

use plimsoll_target_iscsi::{Access, TargetSettings};
use plimsoll_wire::iscsi::discovery::{TargetRecord, records};
use plimsoll_wire::iscsi::pdu::{
    Async, AsyncEvent, LogoutReason, LogoutRequest, LogoutResponse, LogoutResult, NopIn, NopOut,
    Reject, RejectReason, Snack, SnackKind, TextRequest, TextResponse,
};
use plimsoll_wire::iscsi::{Isid, NO_TAG, Opcode, text};
use plimsoll_wire::scsi::LunField;

use crate::array::{Array, TARGET, device};
use crate::raw::{Direction, Raw, read10};

const LUN: LunField = LunField::unit(0);

impl Raw {
    /// A text exchange to its end; the whole answer and how many responses it took.
    fn text(&mut self, data: &[u8]) -> (Vec<u8>, usize) {
        let mut request = TextRequest {
            immediate: true,
            is_final: true,
            more: false,
            data_len: data.len() as u32,
            lun: LUN,
            itt: self.next_itt(),
            ttt: NO_TAG,
            cmd_sn: self.cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
        };
        self.send(&request.build(), data);
        let mut whole = Vec::new();
        for count in 1.. {
            let reply = self.receive().unwrap();
            assert_eq!(reply.opcode(), Opcode::TextResponse, "{:02x?}", reply.bhs);
            let response = TextResponse::parse(&reply.bhs);
            whole.extend_from_slice(&reply.data);
            assert_ne!(response.is_final, response.more);
            if response.is_final {
                assert_eq!(response.ttt, NO_TAG);
                return (whole, count);
            }
            request.data_len = 0;
            request.ttt = response.ttt;
            request.exp_stat_sn = self.exp_stat_sn;
            self.send(&request.build(), &[]);
        }
        unreachable!()
    }

    fn send_targets(&mut self, value: &str) -> Vec<TargetRecord> {
        let mut data = Vec::new();
        text::append(&mut data, "SendTargets", value);
        records(&self.text(&data).0).unwrap()
    }

    fn logout(&mut self, reason: LogoutReason, cid: u16) -> LogoutResult {
        let request = LogoutRequest {
            immediate: true,
            reason,
            itt: self.next_itt(),
            cid,
            cmd_sn: self.cmd_sn,
            exp_stat_sn: self.exp_stat_sn,
        };
        self.send(&request.build(), &[]);
        let reply = self.receive().unwrap();
        assert_eq!(reply.opcode(), Opcode::LogoutResponse);
        LogoutResponse::parse(&reply.bhs).result
    }

    fn rejected(&mut self) -> RejectReason {
        let reply = self.receive().unwrap();
        assert_eq!(reply.opcode(), Opcode::Reject, "{:02x?}", reply.bhs);
        assert_eq!(reply.data.len(), 48);
        Reject::parse(&reply.bhs).reason
    }
}

#[test]
fn rfc7143_appendix_c_send_targets_in_a_discovery_session() {
    let array = Array::start();
    let hidden = "iqn.2026-11.example.plimsoll:hidden";
    let access = vec![Access { initiators: vec!["iqn.2000-01.other".into()], ..Access::default() }];
    let settings = TargetSettings { name: hidden.to_owned(), access, ..TargetSettings::default() };
    array.server.add_target(settings, device(hidden)).unwrap();
    let mut raw = Raw::discovery(array.address());
    let all = raw.send_targets("All");
    assert_eq!(all.len(), 1, "what it may not use it does not see");
    assert_eq!(all[0].name, TARGET);
    let mut addresses: Vec<_> =
        all[0].addresses.iter().map(|address| (address.port, address.group)).collect();
    addresses.sort_by_key(|(_, group)| *group);
    let portals: Vec<_> = array.portals.iter().map(|portal| portal.address().port()).collect();
    assert_eq!(addresses, [(portals[0], 1), (portals[1], 2)]);
    assert!(all[0].addresses.iter().all(|address| address.host == "127.0.0.1"));
    assert_eq!(raw.send_targets(TARGET), all);
    assert!(raw.send_targets("iqn.2026-11.example:none").is_empty());
    assert_eq!(raw.text(b"SendTargets=\0").0, b"SendTargets=Reject\0");
}

#[test]
fn rfc7143_appendix_c_send_targets_in_a_normal_session() {
    let array = Array::start();
    let mut raw = Raw::login(array.address(), &[]);
    let own = raw.send_targets("");
    assert_eq!((own.len(), own[0].name.as_str(), own[0].addresses.len()), (1, TARGET, 2));
    assert_eq!(raw.send_targets(TARGET), own);
    assert!(raw.send_targets("iqn.2026-11.example:none").is_empty());
    assert_eq!(raw.text(b"SendTargets=All\0").0, b"SendTargets=Reject\0");
    raw.ready();
}

#[test]
fn rfc7143_11_11_a_long_answer_comes_in_pieces() {
    let array = Array::start();
    for number in 0..300 {
        let name = format!("iqn.2026-11.example.plimsoll:many.{number:04}");
        let settings = TargetSettings { name: name.clone(), ..TargetSettings::default() };
        array.server.add_target(settings, device(&name)).unwrap();
    }
    let mut raw = Raw::connect(array.address());
    raw.target = None;
    raw.log_in(&[("MaxRecvDataSegmentLength", "512")]);
    let (answer, count) = raw.text(b"SendTargets=All\0");
    assert_eq!(records(&answer).unwrap().len(), 301);
    assert_eq!(count, answer.len().div_ceil(512));
}

#[test]
fn rfc7143_13_12_the_segment_length_is_declared_anew() {
    let array = Array::start();
    let mut raw = Raw::login(array.address(), &[]);
    raw.ready();
    for (declared, len) in [("1024", 1024), ("4096", 4096), ("512", 512)] {
        let key = format!("MaxRecvDataSegmentLength={declared}\0");
        assert!(raw.text(key.as_bytes()).0.is_empty());
        let command = raw.command(&read10(0, 16), Direction::Read, 8192);
        raw.send_command(command, &[]);
        let first = raw.receive().unwrap();
        assert_eq!(first.data.len(), len);
        raw.skip_data(8192 - len);
    }
    assert_eq!(
        raw.text(b"MaxBurstLength=512\0X-a=b\0").0,
        b"MaxBurstLength=Reject\0X-a=NotUnderstood\0"
    );
}

impl Raw {
    fn skip_data(&mut self, mut left: usize) {
        while left > 0 {
            left -= self.receive().unwrap().data.len();
        }
    }
}

#[test]
fn rfc7143_11_18_a_ping_is_answered_with_its_data() {
    let array = Array::start();
    let mut raw = Raw::login(array.address(), &[("MaxRecvDataSegmentLength", "512")]);
    for len in [0usize, 1, 511, 512, 2000] {
        let data: Vec<u8> = (0..len).map(|at| at as u8).collect();
        let nop = NopOut { data_len: len as u32, ..raw.nop(true) };
        raw.send(&nop.build(), &data);
        let reply = raw.receive().unwrap();
        assert_eq!(NopIn::parse(&reply.bhs).itt, nop.itt);
        assert_eq!(reply.data, &data[..len.min(512)], "as much as the initiator takes");
    }
    // No answer to a NOP-Out that wants none.
    let nop = NopOut { itt: NO_TAG, ..raw.nop(true) };
    raw.send(&nop.build(), &[]);
    assert!(raw.is_silent());
}

#[test]
fn rfc7143_11_19_a_silent_initiator_is_pinged_and_dropped_when_it_does_not_answer() {
    let array = Array::with(|builder| {
        builder.settings.ping_after = Duration::from_millis(150);
        builder.settings.ping_timeout = Duration::from_millis(300);
    });
    let mut raw = Raw::login(array.address(), &[]);
    for _ in 0..3 {
        let reply = raw.receive().unwrap();
        let ping = NopIn::parse(&reply.bhs);
        assert_eq!((reply.opcode(), ping.itt), (Opcode::NopIn, NO_TAG));
        assert_ne!(ping.ttt, NO_TAG, "it wants an answer");
        let answer = NopOut { itt: NO_TAG, ttt: ping.ttt, lun: ping.lun, ..raw.nop(true) };
        raw.send(&answer.build(), &[]);
    }
    raw.expect_closed(); // no answer to the fourth
    array.await_sessions(0);
}

#[test]
fn rfc7143_11_14_logout() {
    let array = Array::start();
    let mut raw = Raw::login(array.address(), &[]);
    assert_eq!(raw.logout(LogoutReason::CloseConnection, 9), LogoutResult::CidNotFound);
    assert_eq!(raw.logout(LogoutReason::RemoveForRecovery, 1), LogoutResult::RecoveryNotSupported);
    raw.ready();
    assert_eq!(raw.logout(LogoutReason::CloseConnection, 1), LogoutResult::Closed);
    raw.expect_closed();
    let mut raw = Raw::discovery(array.address());
    assert_eq!(raw.logout(LogoutReason::CloseSession, 1), LogoutResult::Closed);
    raw.expect_closed();
    array.await_sessions(0);
}

#[test]
fn rfc7143_11_9_the_target_asks_for_a_logout_and_drops_who_does_not_follow() {
    let array = Array::start();
    let mut follows = Raw::login(array.address(), &[]);
    let mut stays = Raw::connect(array.address());
    stays.isid = Isid::random([5, 5, 5], 5);
    stays.log_in(&[]);
    assert_eq!(array.server.request_logout(Some("iqn.other"), 1), 0);
    assert_eq!(array.server.request_logout(Some(TARGET), 1), 2);
    for raw in [&mut follows, &mut stays] {
        let reply = raw.receive().unwrap();
        assert_eq!(reply.opcode(), Opcode::Async);
        assert_eq!(Async::parse(&reply.bhs).event, AsyncEvent::LogoutRequested { seconds: 1 });
    }
    assert_eq!(follows.logout(LogoutReason::CloseSession, 1), LogoutResult::Closed);
    let reply = stays.receive().unwrap();
    assert!(matches!(Async::parse(&reply.bhs).event, AsyncEvent::DropSession { .. }));
    stays.expect_closed();
    array.await_sessions(0);
}

#[test]
fn rfc7143_11_9_removing_a_target_ends_its_sessions_and_no_others() {
    let array = Array::start();
    let mut raw = Raw::login(array.address(), &[]);
    let mut discovery = Raw::discovery(array.address());
    assert!(array.server.remove_target(TARGET).is_some());
    let reply = raw.receive().unwrap();
    assert!(matches!(Async::parse(&reply.bhs).event, AsyncEvent::DropSession { .. }));
    raw.expect_closed();
    assert!(discovery.send_targets("All").is_empty());
}

#[test]
fn rfc7143_11_17_what_has_no_place_is_rejected() {
    let array = Array::start();
    let mut raw = Raw::login(array.address(), &[]);
    raw.ready();
    let snack = Snack {
        kind: SnackKind::Status,
        lun: LUN,
        itt: NO_TAG,
        ttt: NO_TAG,
        exp_stat_sn: raw.exp_stat_sn,
        first: 0,
        count: 1,
    };
    raw.send(&snack.build(), &[]);
    assert_eq!(raw.rejected(), RejectReason::SnackReject);
    let mut unknown = [0; 48];
    unknown[0] = 0x1c;
    raw.send(&unknown, &[]);
    assert_eq!(raw.rejected(), RejectReason::CommandNotSupported);
    unknown[0] = 0x25; // a Data-In from an initiator
    raw.send(&unknown, &[]);
    assert_eq!(raw.rejected(), RejectReason::ProtocolError);
    raw.ready();
    let mut discovery = Raw::discovery(array.address());
    let command = discovery.command(&[0; 6], Direction::None, 0);
    discovery.send_command(command, &[]);
    assert_eq!(discovery.rejected(), RejectReason::ProtocolError);
    discovery.ping();
}

#[test]
fn rfc7143_11_2_1_8_a_tag_that_is_in_use_is_rejected() {
    let array = Array::start();
    let mut raw = Raw::login(array.address(), &[("ImmediateData", "No")]);
    raw.ready();
    let first = raw.command(&crate::raw::write10(0, 1), Direction::Write, 512);
    raw.send_command(first, &[]);
    let r2t = raw.r2t(first.itt);
    let mut second = raw.command(&read10(0, 1), Direction::Read, 512);
    second.itt = first.itt;
    raw.send_command(second, &[]);
    assert_eq!(raw.rejected(), RejectReason::TaskInProgress);
    raw.answer(&r2t, &[3; 512], 512);
    assert!(raw.end_of(first.itt).is_good());
}
