//! Login and discovery over RDMA (RFC 7145 sections 5.1 and 6).

use plimsoll_target_iscsi::Transport;
use plimsoll_wire::iscsi::discovery;
use plimsoll_wire::iscsi::pdu::{
    LogoutReason, LogoutRequest, LogoutResponse, LogoutResult, TextRequest, TextResponse,
};
use plimsoll_wire::iscsi::{Isid, NO_TAG, Opcode};
use plimsoll_wire::scsi::LunField;

use super::initiator::{Initiator, Terms, array, keys, soft};
use crate::array::{TARGET, await_that};
use crate::raw::Raw;

fn value<'a>(pairs: &'a [(String, String)], key: &str) -> Option<&'a str> {
    pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
}

fn text_request(initiator: &mut Initiator, ttt: u32, data: &[u8]) -> TextRequest {
    let cmd_sn = initiator.cmd_sn;
    initiator.cmd_sn += 1;
    TextRequest {
        immediate: false,
        is_final: true,
        more: false,
        data_len: data.len() as u32,
        lun: LunField::unit(0),
        itt: initiator.next_itt(),
        ttt,
        cmd_sn,
        exp_stat_sn: initiator.exp_stat_sn,
    }
}

/// SendTargets, however many pieces the answer comes in; the text, and the longest piece.
pub fn send_targets(initiator: &mut Initiator, which: &str) -> (Vec<u8>, usize) {
    let request = format!("SendTargets={which}\0");
    let (mut whole, mut longest, mut ttt) = (Vec::new(), 0, NO_TAG);
    let mut data = request.as_bytes();
    loop {
        let request = text_request(initiator, ttt, data);
        initiator.send(&request.build(), data);
        let reply = initiator.receive().expect("a text response");
        assert_eq!(reply.opcode(), Opcode::TextResponse);
        let response = TextResponse::parse(&reply.bhs);
        whole.extend_from_slice(&reply.data);
        longest = longest.max(reply.data.len());
        if response.is_final {
            return (whole, longest);
        }
        (ttt, data) = (response.ttt, &[]);
    }
}

#[test]
fn rfc7145_6_3_a_login_over_rdma_and_what_is_agreed() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::connect(&*fabric, array.address(), &Terms::default());
    let mut offered = keys(1024);
    offered.push(("HeaderDigest", "CRC32C,None".to_owned()));
    offered.push(("X-com.example.fast", "Yes".to_owned()));
    offered.push(("MaxOutstandingUnexpectedPDUs", "4".to_owned()));
    let told = initiator.log_in(&offered);
    assert_eq!(value(&told, "RDMAExtensions"), Some("Yes"));
    assert_eq!(value(&told, "InitiatorRecvDataSegmentLength"), Some("1024"));
    assert_eq!(value(&told, "TargetRecvDataSegmentLength"), Some("8192"));
    assert_eq!(value(&told, "HeaderDigest"), Some("None"));
    assert_eq!(value(&told, "InitialR2T"), Some("Yes"), "pitfall 8");
    assert_eq!(value(&told, "MaxOutstandingUnexpectedPDUs"), Some("16"));
    assert_eq!(value(&told, "X-com.example.fast"), Some("NotUnderstood"));
    initiator.ready();
    let info = array.server.sessions().remove(0);
    assert_eq!((info.transport, info.target.as_deref()), (Transport::Iser, Some(TARGET)));
    assert!(info.rdma.is_some());
}

#[test]
fn rfc7145_6_3_rdma_extensions_no_is_refused_on_rdma() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::connect(&*fabric, array.address(), &Terms::default());
    let (response, _) = initiator.try_login(&[("RDMAExtensions", "No".to_owned())]);
    assert_eq!((response.status.class, response.status.detail), (2, 0));
    initiator.expect_closed();
    assert!(array.server.sessions().is_empty());
}

#[test]
fn rfc7145_6_10_a_login_that_requires_hello_is_refused() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::connect(&*fabric, array.address(), &Terms::default());
    let (response, _) = initiator.try_login(&[("iSERHelloRequired", "Yes".to_owned())]);
    assert_eq!(response.status.class, 2);
    initiator.expect_closed();
}

#[test]
fn pitfall_18_a_login_without_any_key_of_iser_works_with_small_receives() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::connect(&*fabric, array.address(), &Terms::default());
    let told = initiator.log_in(&[("MaxRecvDataSegmentLength", "262144".to_owned())]);
    assert_eq!(value(&told, "RDMAExtensions"), None, "not told unasked");
    initiator.ready();
    let (text, longest) = send_targets(&mut initiator, "");
    assert!(longest <= 128 && !text.is_empty());
    assert!(initiator.read(0, 16).is_good());
}

#[test]
fn pitfall_19_discovery_over_either_transport_tells_the_same_portals() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::connect(&*fabric, array.address(), &Terms::default());
    initiator.target = None;
    initiator.log_in(&[("MaxRecvDataSegmentLength", "32768".to_owned())]);
    let (text, _) = send_targets(&mut initiator, "All");
    let over_rdma = discovery::records(&text).unwrap();
    assert_eq!(over_rdma[0].name, TARGET);
    assert_eq!(over_rdma[0].addresses.len(), 2, "one address takes both and is told once");
    let mut tcp = Raw::connect(array.address());
    tcp.isid = Isid::random([7, 7, 7], 7);
    tcp.log_in(&[]);
    tcp.ready();
    let mut second = Initiator::login(&array, &*fabric, &Terms::default());
    assert!(tcp.write(0, &[7; 512]).is_good());
    assert_eq!(second.read(0, 1).data, [7; 512], "both kinds of sessions reach one LUN");
    let transports: Vec<_> = array.server.sessions().iter().map(|s| s.transport).collect();
    assert!(transports.contains(&Transport::Tcp) && transports.contains(&Transport::Iser));
}

#[test]
fn rfc7145_a_logout_is_answered_before_the_connection_ends() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::login(&array, &*fabric, &Terms::default());
    let request = LogoutRequest {
        immediate: false,
        reason: LogoutReason::CloseSession,
        itt: initiator.next_itt(),
        cid: 1,
        cmd_sn: initiator.cmd_sn,
        exp_stat_sn: initiator.exp_stat_sn,
    };
    initiator.send(&request.build(), &[]);
    let reply = initiator.receive().expect("a logout response");
    assert_eq!(LogoutResponse::parse(&reply.bhs).result, LogoutResult::Closed);
    initiator.expect_closed();
    array.await_sessions(0);
}

#[test]
fn rfc7143_6_3_5_reinstatement_ends_the_older_session_across_transports() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let mut tcp = Raw::login(array.address(), &[]);
    let mut first = Initiator::login(&array, &*fabric, &Terms::default());
    tcp.expect_closed();
    let mut second = Initiator::login(&array, &*fabric, &Terms::default());
    first.expect_closed();
    second.ping();
    assert_eq!(array.server.sessions().len(), 1);
}

#[test]
fn a_session_that_is_asked_to_log_out_is_told_and_dropped() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::login(&array, &*fabric, &Terms::default());
    assert_eq!(array.server.request_logout(None, 0), 1);
    let reply = initiator.receive().expect("an asynchronous message");
    assert_eq!(reply.opcode(), Opcode::Async);
    initiator.expect_closed();
    array.await_sessions(0);
}

#[test]
fn a_removed_adapter_and_a_changed_address_end_sessions_and_new_ones_log_in() {
    let fabric = soft(|_| {});
    let array = array(&fabric, |_| {});
    let mut initiator = Initiator::login(&array, &*fabric, &Terms::default());
    fabric.remove_device();
    initiator.expect_closed();
    array.await_sessions(0);
    fabric.restore_device();
    let mut initiator = Initiator::login(&array, &*fabric, &Terms::default());
    fabric.change_address();
    array.await_sessions(0);
    initiator.expect_closed();
    Initiator::login(&array, &*fabric, &Terms::default()).ping();
    await_that("one connection", || fabric.connections() == 0);
}
