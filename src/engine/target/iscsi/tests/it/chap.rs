//! CHAP at login: RFC 7143 section 12.1.3.

use plimsoll_target_iscsi::{Access, AccessError, Chap, ServerError, TargetSettings};
use plimsoll_wire::iscsi::chap::{Credentials, Prover};
use plimsoll_wire::iscsi::pdu::{LoginResponse, LoginStatus, Stage};
use plimsoll_wire::iscsi::text;

use crate::array::{Array, device};
use crate::raw::Raw;

fn user() -> Credentials {
    Credentials::new("host", "twelve bytes or more")
}

fn target() -> Credentials {
    Credentials::new("array", "and another of that size")
}

fn protected() -> Array {
    Array::with(|builder| {
        let chap = Some(Chap { users: vec![user()], mutual: Some(target()) });
        builder.access = vec![Access { chap: chap.clone(), ..Access::default() }];
        builder.settings.discovery_chap = chap;
    })
}

fn random(bytes: &mut [u8]) {
    bytes.iter_mut().enumerate().for_each(|(at, byte)| *byte = at as u8 ^ 0x5a);
}

/// A whole login with CHAP; the response in which it ended.
fn login(raw: &mut Raw, prover: &mut Prover, algorithms: &str) -> LoginResponse {
    let mut data = raw.names();
    text::append(&mut data, "AuthMethod", "CHAP,None");
    let request = raw.login_request(Stage::Security, Some(Stage::Operational));
    let (response, pairs) = raw.exchange_login(request, &data);
    assert!(!response.transit, "not before the proof");
    assert!(pairs.contains(&("AuthMethod".to_owned(), "CHAP".to_owned())));
    let mut answer = vec![("CHAP_A", algorithms.to_owned())];
    loop {
        let mut data = Vec::new();
        answer.iter().for_each(|(key, value)| text::append(&mut data, key, value));
        // The initiator is ready to go on with its last word.
        let last = answer.iter().any(|(key, _)| *key == "CHAP_N");
        let next = last.then_some(Stage::FullFeature);
        let request = raw.login_request(Stage::Security, next);
        let (response, pairs) = raw.exchange_login(request, &data);
        if response.status != LoginStatus::SUCCESS {
            return response;
        }
        let chap: Vec<_> = pairs
            .iter()
            .filter(|(key, _)| key.starts_with("CHAP_"))
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect();
        if !chap.is_empty() {
            answer = prover.receive(&chap, &mut random).unwrap();
        }
        if last {
            assert!(prover.is_done());
            return response;
        }
    }
}

#[test]
fn rfc7143_12_1_3_one_way_and_mutual_with_every_algorithm() {
    let array = protected();
    for discovery in [false, true] {
        for mutual in [None, Some(target())] {
            for algorithms in ["5", "7", "8", "7,8,5"] {
                let mut raw = Raw::connect(array.address());
                if discovery {
                    raw.target = None;
                }
                let mut prover = Prover::new(user(), mutual.clone());
                let response = login(&mut raw, &mut prover, algorithms);
                assert_eq!(response.status, LoginStatus::SUCCESS);
                assert!(response.transit && response.tsih != 0);
                raw.ping();
            }
        }
    }
}

#[test]
fn rfc7143_9_2_wrong_secret_wrong_name_no_common_algorithm_are_refused() {
    let array = protected();
    let refused = |credentials: Credentials, algorithms: &str| {
        let mut raw = Raw::connect(array.address());
        let mut prover = Prover::new(credentials, None);
        let response = login(&mut raw, &mut prover, algorithms);
        raw.expect_closed();
        response.status
    };
    let failed = LoginStatus::AUTHENTICATION_FAILED;
    assert_eq!(refused(Credentials::new("host", "twelve bytes or less"), "5"), failed);
    assert_eq!(refused(Credentials::new("guest", "twelve bytes or more"), "5"), failed);
    assert_eq!(refused(user(), "6,99"), failed);
    assert!(array.server.sessions().is_empty());
}

#[test]
fn rfc7143_12_1_there_is_no_way_around_chap() {
    let array = protected();
    // Straight to the operational stage.
    let mut raw = Raw::connect(array.address());
    assert_eq!(raw.try_login(&[]).0.status, LoginStatus::AUTHENTICATION_FAILED);
    for (auth, transit) in [("AuthMethod=None\0", false), ("", true)] {
        let mut raw = Raw::connect(array.address());
        let data = [raw.names(), auth.as_bytes().to_vec()].concat();
        let next = transit.then_some(Stage::FullFeature);
        let request = raw.login_request(Stage::Security, next);
        let (response, _) = raw.exchange_login(request, &data);
        assert_eq!(response.status, LoginStatus::AUTHENTICATION_FAILED, "{auth}");
    }
    // AuthMethod=CHAP, then on without a proof: the target does not follow.
    let mut raw = Raw::connect(array.address());
    let data = [raw.names(), b"AuthMethod=CHAP\0".to_vec()].concat();
    let request = raw.login_request(Stage::Security, None);
    raw.exchange_login(request, &data);
    let request = raw.login_request(Stage::Security, Some(Stage::FullFeature));
    let (response, _) = raw.exchange_login(request, &[]);
    assert!(!response.transit);
    let request = raw.login_request(Stage::Operational, Some(Stage::FullFeature));
    let (response, _) = raw.exchange_login(request, &[]);
    assert_eq!(response.status, LoginStatus::INITIATOR_ERROR);
}

#[test]
fn rfc7143_9_2_1_a_reflected_challenge_is_refused() {
    let array = protected();
    let mut raw = Raw::connect(array.address());
    let data = [raw.names(), b"AuthMethod=CHAP\0".to_vec()].concat();
    let request = raw.login_request(Stage::Security, None);
    raw.exchange_login(request, &data);
    let request = raw.login_request(Stage::Security, None);
    let (_, pairs) = raw.exchange_login(request, b"CHAP_A=5\0");
    let chap: Vec<_> = pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let mut prover = Prover::new(user(), None);
    let mut answer = prover.receive(&chap, &mut random).unwrap();
    let challenge = chap.iter().find(|(key, _)| *key == "CHAP_C").unwrap().1;
    answer.push(("CHAP_I", "1".to_owned()));
    answer.push(("CHAP_C", challenge.to_owned()));
    let mut data = Vec::new();
    answer.iter().for_each(|(key, value)| text::append(&mut data, key, value));
    let request = raw.login_request(Stage::Security, Some(Stage::FullFeature));
    let (response, _) = raw.exchange_login(request, &data);
    assert_eq!(response.status, LoginStatus::AUTHENTICATION_FAILED);
}

#[test]
fn rfc7143_9_2_1_one_secret_for_both_directions_is_refused() {
    let array = Array::start();
    let name = "iqn.2026-11.example.plimsoll:unsafe";
    let same = Credentials::new("array", "twelve bytes or more");
    let chap = Some(Chap { users: vec![user()], mutual: Some(same) });
    let settings = TargetSettings {
        name: name.to_owned(),
        access: vec![Access { chap, ..Access::default() }],
        ..TargetSettings::default()
    };
    let error = array.server.add_target(settings, device(name)).unwrap_err();
    assert!(
        matches!(error, ServerError::Access { source: AccessError::SameSecret(_), .. }),
        "{error}"
    );
}
