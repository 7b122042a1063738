//! Both sides of the negotiation, key by key.
#![allow(clippy::unwrap_used)]

use super::*;

fn target() -> Wishes {
    Wishes {
        parameters: Parameters {
            max_recv_data_segment_bytes: 262_144,
            max_burst_bytes: 1 << 20,
            first_burst_bytes: 131_072,
            initial_r2t: false,
            max_outstanding_r2t: 4,
            default_time2retain_s: 0,
            ..Parameters::default()
        },
        ..Wishes::default()
    }
}

fn answer(key: &str, value: &str) -> Option<String> {
    Negotiator::new(target()).receive(key, value).unwrap()
}

#[test]
fn rfc7143_13_result_functions_of_a_responder() {
    let expected = [
        ("HeaderDigest", "CRC32C,None", "CRC32C"),
        ("HeaderDigest", "None,CRC32C", "None"),
        ("DataDigest", "X-other,CRC32C", "CRC32C"),
        ("MaxConnections", "8", "1"),
        ("InitialR2T", "Yes", "Yes"),
        ("InitialR2T", "No", "No"),
        ("ImmediateData", "Yes", "Yes"),
        ("ImmediateData", "No", "No"),
        ("MaxBurstLength", "16776192", "1048576"),
        ("MaxBurstLength", "0x10000", "65536"),
        ("FirstBurstLength", "262144", "131072"),
        ("DefaultTime2Wait", "0", "2"),
        ("DefaultTime2Wait", "5", "5"),
        ("DefaultTime2Retain", "20", "0"),
        ("MaxOutstandingR2T", "1", "1"),
        ("MaxOutstandingR2T", "16", "4"),
        ("DataPDUInOrder", "No", "Yes"),
        ("ErrorRecoveryLevel", "2", "0"),
    ];
    for (key, offer, result) in expected {
        assert_eq!(answer(key, offer).as_deref(), Some(result), "{key}={offer}");
    }
}

#[test]
fn rfc7143_6_2_values_out_of_range_are_rejected_and_leave_the_default() {
    for (key, value) in [
        ("MaxBurstLength", "511"),
        ("MaxBurstLength", "16777216"),
        ("MaxBurstLength", "-1"),
        ("MaxBurstLength", "99999999999999999999"),
        ("MaxBurstLength", ""),
        ("MaxRecvDataSegmentLength", "1"),
        ("ImmediateData", "yes"),
        ("MaxOutstandingR2T", "0"),
        ("ErrorRecoveryLevel", "3"),
    ] {
        assert_eq!(answer(key, value).as_deref(), Some("Reject"), "{key}={value}");
    }
    let mut negotiator = Negotiator::new(target());
    negotiator.receive("MaxBurstLength", "1").unwrap();
    assert_eq!(negotiator.finish().unwrap().max_burst_bytes, 262_144);
}

#[test]
fn rfc7143_6_2_unknown_keys_are_not_understood_and_obsolete_ones_are_refused() {
    assert_eq!(answer("X-com.example.fast", "Yes").as_deref(), Some("NotUnderstood"));
    assert_eq!(answer("RDMAExtensions", "Yes").as_deref(), Some("NotUnderstood"));
    assert_eq!(answer("X-com.example.fast", "NotUnderstood"), None, "no answer to an answer");
    assert_eq!(answer("IFMarker", "Yes").as_deref(), Some("No"));
    assert_eq!(answer("OFMarkInt", "1~65535").as_deref(), Some("Reject"));
    assert_eq!(answer("iSCSIProtocolLevel", "2").as_deref(), Some("1"));
    assert_eq!(answer("TaskReporting", "FastAbort,RFC3720").as_deref(), Some("RFC3720"));
}

#[test]
fn rfc7143_6_3_a_key_negotiated_twice_ends_the_login() {
    let mut negotiator = Negotiator::new(target());
    negotiator.receive("MaxBurstLength", "4096").unwrap();
    assert_eq!(
        negotiator.receive("MaxBurstLength", "4096"),
        Err(NegotiationError::Repeated("MaxBurstLength"))
    );
}

#[test]
fn rfc7143_13_keys_of_normal_sessions_are_irrelevant_in_discovery() {
    let mut negotiator = Negotiator::new(target());
    negotiator.set_discovery();
    for key in ["MaxConnections", "InitialR2T", "FirstBurstLength", "MaxOutstandingR2T"] {
        let value = if key == "InitialR2T" { "No" } else { "1024" };
        assert_eq!(negotiator.receive(key, value).unwrap().as_deref(), Some("Irrelevant"));
    }
    assert_eq!(negotiator.receive("DefaultTime2Wait", "2").unwrap().as_deref(), Some("2"));
    assert_eq!(negotiator.receive("MaxRecvDataSegmentLength", "4096").unwrap(), None);
    let result = negotiator.finish().unwrap();
    assert_eq!(result.peer_max_recv_data_segment_bytes, 4096);
    assert_eq!(result.first_burst_bytes, 65_536, "untouched");
}

#[test]
fn rfc7143_6_2_two_ends_agree_on_the_same_parameters() {
    let wishes = Wishes {
        parameters: Parameters {
            max_recv_data_segment_bytes: 65_536,
            max_burst_bytes: 16_776_192,
            first_burst_bytes: 262_144,
            initial_r2t: false,
            max_outstanding_r2t: 8,
            ..Parameters::default()
        },
        data_digest: DigestWish::Prefer,
        header_digest: DigestWish::Never,
    };
    let mut initiator = Negotiator::new(wishes);
    let mut target = Negotiator::new(target());
    for (key, value) in initiator.offers() {
        if let Some(answer) = target.receive(key, &value).unwrap() {
            assert_eq!(initiator.receive(key, &answer).unwrap(), None, "{key}={answer}");
        }
    }
    let (key, value) = target.declaration();
    assert_eq!(initiator.receive(key, &value).unwrap(), None);
    let here = initiator.finish().unwrap();
    let there = target.finish().unwrap();
    assert!(here.data_digest && !here.header_digest && !here.initial_r2t);
    assert_eq!((here.max_burst_bytes, here.first_burst_bytes), (1 << 20, 131_072));
    assert_eq!(here.peer_max_recv_data_segment_bytes, 262_144);
    assert_eq!(there.peer_max_recv_data_segment_bytes, 65_536);
    let same = |mut one: Parameters| {
        one.max_recv_data_segment_bytes = 0;
        one.peer_max_recv_data_segment_bytes = 0;
        one
    };
    assert_eq!(same(here), same(there));
}

#[test]
fn rfc7143_6_2_impossible_answers_are_seen() {
    for (key, answer) in [
        ("MaxBurstLength", "16777215"),
        ("DefaultTime2Wait", "1"),
        ("HeaderDigest", "CRC32C"),
        ("DataPDUInOrder", "No"),
        ("ImmediateData", "Perhaps"),
    ] {
        let mut initiator =
            Negotiator::new(Wishes { header_digest: DigestWish::Never, ..Wishes::default() });
        initiator.offers();
        let error = initiator.receive(key, answer).unwrap_err();
        assert!(matches!(error, NegotiationError::Answer { .. }), "{key}={answer}: {error}");
    }
}

#[test]
fn rfc7143_13_1_a_required_digest_is_got_or_the_login_fails() {
    let wishes = Wishes { data_digest: DigestWish::Require, ..Wishes::default() };
    let mut negotiator = Negotiator::new(wishes.clone());
    let error = negotiator.receive("DataDigest", "None").unwrap_err();
    assert!(matches!(error, NegotiationError::Digest { key: "DataDigest", .. }));
    assert!(Negotiator::new(wishes).finish().is_err(), "the peer stays silent about it");
}

#[test]
fn rfc7143_13_14_first_burst_never_exceeds_max_burst() {
    let mut negotiator = Negotiator::new(target());
    negotiator.receive("MaxBurstLength", "8192").unwrap();
    let result = negotiator.finish().unwrap();
    assert_eq!((result.first_burst_bytes, result.max_burst_bytes), (8192, 8192));
}

#[test]
fn rfc7143_13_full_feature_phase_declares_the_segment_length_anew_and_nothing_else() {
    let mut negotiator = Negotiator::new(target());
    negotiator.receive("MaxRecvDataSegmentLength", "8192").unwrap();
    negotiator.enter_full_feature();
    assert_eq!(negotiator.receive("MaxRecvDataSegmentLength", "4096").unwrap(), None);
    assert_eq!(negotiator.finish().unwrap().peer_max_recv_data_segment_bytes, 4096);
    assert_eq!(negotiator.receive("MaxBurstLength", "512").unwrap().as_deref(), Some("Reject"));
}
