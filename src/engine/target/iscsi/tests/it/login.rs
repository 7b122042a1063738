//! The login phase: RFC 7143 sections 6.3, 11.12 and 11.13.

use std::time::{Duration, Instant};

use plimsoll_target_iscsi::{Access, Server};
use plimsoll_wire::iscsi::pdu::{LoginStatus, Stage};
use plimsoll_wire::iscsi::{Isid, text};

use crate::array::{Array, TARGET};
use crate::raw::{INITIATOR, Raw};

fn value<'a>(pairs: &'a [(String, String)], key: &str) -> Option<&'a str> {
    pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
}

#[test]
fn rfc7143_6_3_a_login_in_one_request() {
    let array = Array::start();
    let mut raw = Raw::connect(array.address());
    let (response, pairs) = raw.try_login(&[
        ("HeaderDigest", "None"),
        ("MaxRecvDataSegmentLength", "65536"),
        ("MaxBurstLength", "16776192"),
        ("InitialR2T", "Yes"),
        ("MaxConnections", "4"),
        ("X-example.odd", "1"),
    ]);
    assert_eq!(response.status, LoginStatus::SUCCESS);
    assert!(response.transit && response.tsih != 0);
    assert_eq!(value(&pairs, "TargetPortalGroupTag"), Some("1"));
    assert_eq!(value(&pairs, "TargetAlias"), Some("a test"));
    assert_eq!(value(&pairs, "MaxRecvDataSegmentLength"), Some("262144"));
    assert_eq!(value(&pairs, "MaxBurstLength"), Some("1048576"));
    assert_eq!(value(&pairs, "InitialR2T"), Some("Yes"));
    assert_eq!(value(&pairs, "MaxConnections"), Some("1"));
    assert_eq!(value(&pairs, "HeaderDigest"), Some("None"));
    assert_eq!(value(&pairs, "X-example.odd"), Some("NotUnderstood"));
    let sessions = array.server.sessions();
    assert_eq!(sessions.len(), 1);
    assert_eq!((sessions[0].tsih, sessions[0].initiator.as_str()), (response.tsih, INITIATOR));
    raw.ready();
    drop(raw);
    array.await_sessions(0);
}

#[test]
fn rfc7143_6_3_a_login_through_both_stages() {
    let array = Array::start();
    let mut raw = Raw::connect(array.portals[1].address());
    let mut names = raw.names();
    text::append(&mut names, "AuthMethod", "CHAP,None");
    let request = raw.login_request(Stage::Security, Some(Stage::Operational));
    let (response, pairs) = raw.exchange_login(request, &names);
    assert!(response.transit && response.next_stage == Stage::Operational);
    assert_eq!(value(&pairs, "AuthMethod"), Some("None"));
    assert_eq!(value(&pairs, "TargetPortalGroupTag"), Some("2"));
    assert_eq!(response.tsih, 0, "the number comes with the last response");
    let mut keys = Vec::new();
    text::append(&mut keys, "ImmediateData", "No");
    let request = raw.login_request(Stage::Operational, None);
    let (response, pairs) = raw.exchange_login(request, &keys);
    assert!(!response.transit);
    assert_eq!(value(&pairs, "ImmediateData"), Some("No"));
    let request = raw.login_request(Stage::Operational, Some(Stage::FullFeature));
    let (response, _) = raw.exchange_login(request, &[]);
    assert!(response.transit && response.tsih != 0);
    raw.ready();
}

#[test]
fn rfc7143_11_13_5_refusals_say_why_and_close() {
    let mut rules =
        Access { initiators: vec!["iqn.2026-11.example.host:*".to_owned()], ..Access::default() };
    rules.networks = vec!["127.0.0.0/8".parse().unwrap()];
    let array = Array::with(|builder| builder.access = vec![rules]);
    type Change = fn(&mut Raw);
    let cases: [(&str, Change, LoginStatus); 6] = [
        ("unknown target", |raw| raw.target = Some(format!("{TARGET}x")), LoginStatus::NOT_FOUND),
        ("not a name", |raw| raw.initiator = "host one".into(), LoginStatus::INITIATOR_ERROR),
        ("not allowed", |raw| raw.initiator = "iqn.1999-01.other".into(), LoginStatus::FORBIDDEN),
        ("unknown session", |raw| raw.tsih = 77, LoginStatus::SESSION_DOES_NOT_EXIST),
        ("no target", |raw| raw.target = Some(String::new()), LoginStatus::NOT_FOUND),
        ("fine", |_| (), LoginStatus::SUCCESS),
    ];
    for (what, change, status) in cases {
        let mut raw = Raw::connect(array.address());
        change(&mut raw);
        let (response, _) = raw.try_login(&[]);
        assert_eq!(response.status, status, "{what}");
        if status != LoginStatus::SUCCESS {
            raw.expect_closed();
        }
    }
}

#[test]
fn rfc7143_11_13_5_malformed_requests_are_refused() {
    let array = Array::start();
    let refused = |data: &[u8], change: fn(&mut plimsoll_wire::iscsi::pdu::LoginRequest)| {
        let mut raw = Raw::connect(array.address());
        let mut request = raw.login_request(Stage::Operational, Some(Stage::FullFeature));
        change(&mut request);
        let (response, _) = raw.exchange_login(request, data);
        raw.expect_closed();
        response.status
    };
    let names = Raw::connect(array.address()).names();
    let with = |extra: &[u8]| [&names[..], extra].concat();
    assert_eq!(refused(b"TargetName=x\0", |_| ()), LoginStatus::MISSING_PARAMETER);
    assert_eq!(refused(b"InitiatorName=iqn.2026-11.a:b\0", |_| ()), LoginStatus::MISSING_PARAMETER);
    assert_eq!(refused(&with(b"nonsense\0"), |_| ()), LoginStatus::INITIATOR_ERROR);
    assert_eq!(
        refused(&with(b"MaxBurstLength=512\0MaxBurstLength=512\0"), |_| ()),
        LoginStatus::INITIATOR_ERROR
    );
    assert_eq!(
        refused(&with(b"SessionType=Other\0"), |_| ()),
        LoginStatus::SESSION_TYPE_NOT_SUPPORTED
    );
    assert_eq!(refused(&with(b"CHAP_A=5\0"), |_| ()), LoginStatus::AUTHENTICATION_FAILED);
    assert_eq!(
        refused(&names, |request| request.version_min = 1),
        LoginStatus::UNSUPPORTED_VERSION
    );
    assert_eq!(
        refused(&names, |request| request.next_stage = Stage::Operational),
        LoginStatus::INITIATOR_ERROR,
        "a stage cannot lead to itself"
    );
    assert_eq!(
        refused(&names, |request| request.stage = Stage::FullFeature),
        LoginStatus::INITIATOR_ERROR
    );
    assert_eq!(refused(&names, |request| request.more = true), LoginStatus::INITIATOR_ERROR);
}

#[test]
fn rfc7143_11_12_requests_of_one_login_must_agree() {
    let array = Array::start();
    let mut raw = Raw::connect(array.address());
    let names = raw.names();
    let request = raw.login_request(Stage::Operational, None);
    raw.exchange_login(request, &names);
    raw.isid = Isid::random([9, 9, 9], 9);
    let request = raw.login_request(Stage::Operational, Some(Stage::FullFeature));
    let (response, _) = raw.exchange_login(request, &[]);
    assert_eq!(response.status, LoginStatus::INITIATOR_ERROR);
}

#[test]
fn rfc7143_11_12_2_text_of_a_login_goes_on_over_requests() {
    let array = Array::start();
    let mut raw = Raw::connect(array.address());
    let mut data = raw.names();
    text::append(&mut data, "MaxBurstLength", "65536");
    let count = data.len().div_ceil(10);
    for (index, piece) in data.chunks(10).enumerate() {
        let last = index + 1 == count;
        let next = last.then_some(Stage::FullFeature);
        let mut request = raw.login_request(Stage::Operational, next);
        request.more = !last;
        let (response, pairs) = raw.exchange_login(request, piece);
        assert_eq!(response.transit, last);
        assert_eq!(value(&pairs, "MaxBurstLength"), last.then_some("65536"));
    }
    raw.ready();
}

#[test]
fn rfc7143_6_1_a_long_answer_comes_in_pieces() {
    let array = Array::start();
    let mut raw = Raw::connect(array.address());
    let mut data = raw.names();
    for index in 0..600 {
        text::append(&mut data, &format!("X-k{index}"), "1");
    }
    let count = data.len().div_ceil(8192);
    let mut answers = 0;
    let mut more = false;
    for (index, piece) in data.chunks(8192).enumerate() {
        let mut request = raw.login_request(Stage::Operational, None);
        request.more = index + 1 < count;
        let (response, pairs) = raw.exchange_login(request, piece);
        answers += pairs.len();
        more = response.more;
    }
    assert!(more, "600 answers do not fit 8,192 bytes");
    // Pairs are cut anywhere, so only the end is sure to be whole.
    let mut last = Vec::new();
    while more {
        let request = raw.login_request(Stage::Operational, None);
        raw.send(&request.build(), &[]);
        let reply = raw.receive().unwrap();
        more = reply.bhs[1] & 0x40 != 0;
        last = reply.data;
    }
    assert!(answers > 0 && last.ends_with(b"=262144\0"), "ends with the declaration");
    let request = raw.login_request(Stage::Operational, Some(Stage::FullFeature));
    let (response, _) = raw.exchange_login(request, &[]);
    assert!(response.transit);
}

#[test]
fn rfc7143_6_3_3_no_second_connection_joins_a_session() {
    let array = Array::start();
    let first = Raw::login(array.address(), &[]);
    let mut second = Raw::connect(array.address());
    second.tsih = first.tsih;
    let (response, _) = second.try_login(&[]);
    assert_eq!(response.status, LoginStatus::TOO_MANY_CONNECTIONS);
}

#[test]
fn rfc7143_6_3_5_a_login_of_the_same_name_takes_the_place_of_the_session() {
    let array = Array::start();
    let mut first = Raw::login(array.address(), &[]);
    first.ready();
    let mut other = Raw::connect(array.address());
    other.isid = Isid::random([1, 2, 3], 5);
    other.log_in(&[]);
    let mut group = Raw::login(array.portals[1].address(), &[]);
    let mut second = Raw::login(array.address(), &[]);
    first.expect_closed();
    second.ready();
    other.ready();
    group.ready();
    assert_eq!(array.server.sessions().len(), 3, "another ISID or portal group is another session");
    assert_ne!(first.tsih, second.tsih);
}

#[test]
fn rfc7143_6_3_5_ten_logins_of_the_same_name_at_once_leave_one_session() {
    let array = Array::start();
    let address = array.address();
    let threads: Vec<_> = (0..10)
        .map(|_| {
            std::thread::spawn(move || {
                let mut raw = Raw::connect(address);
                raw.send(
                    &plimsoll_wire::iscsi::pdu::LoginRequest {
                        data_len: raw.names().len() as u32,
                        ..raw.login_request(Stage::Operational, Some(Stage::FullFeature))
                    }
                    .build(),
                    &raw.names(),
                );
                // Displaced while it waits, or logged in and displaced, or the last.
                let won = raw.receive().is_some();
                std::thread::sleep(Duration::from_millis(300));
                won
            })
        })
        .collect();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(array.server.sessions().len(), 1);
    let won = threads.into_iter().filter_map(|thread| thread.join().ok()).filter(|won| *won);
    assert!(won.count() >= 1);
    array.await_sessions(0);
}

#[test]
fn rfc7143_4_2_7_names_of_targets_are_checked() {
    let array = Array::start();
    let server: &Server = &array.server;
    let add = |name: &str| {
        let settings =
            plimsoll_target_iscsi::TargetSettings { name: name.to_owned(), ..Default::default() };
        server.add_target(settings, crate::array::device(name))
    };
    assert!(add("disk1").is_err() && add(TARGET).is_err());
    assert!(add("iqn.2026-11.example.plimsoll:another").is_ok());
}

#[test]
fn a_login_that_does_not_come_to_an_end_is_cut_off() {
    let array = Array::start();
    let mut raw = Raw::connect(array.address());
    let names = raw.names();
    let mut requests = 0;
    let status = loop {
        let request = raw.login_request(Stage::Operational, None);
        let data = if requests == 0 { &names[..] } else { &[] };
        let (response, _) = raw.exchange_login(request, data);
        requests += 1;
        if response.status != LoginStatus::SUCCESS {
            break response.status;
        }
        assert!(requests < 100);
    };
    assert_eq!(status, LoginStatus::INITIATOR_ERROR);
    raw.expect_closed();
}

#[test]
fn a_peer_that_does_not_log_in_is_dropped_in_time() {
    let array = Array::with(|builder| {
        builder.settings.login_timeout = Duration::from_millis(200);
    });
    let start = Instant::now();
    let mut silent = Raw::connect(array.address());
    let mut half = Raw::connect(array.address());
    let mut stalled = Raw::connect(array.address());
    let names = half.names();
    let request = half.login_request(Stage::Operational, None);
    half.exchange_login(request, &names);
    stalled.send_bytes(&[0x43; 20]);
    silent.expect_closed();
    half.expect_closed();
    stalled.expect_closed();
    assert!(start.elapsed() < Duration::from_secs(3));
}
