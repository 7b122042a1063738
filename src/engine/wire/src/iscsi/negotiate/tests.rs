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

fn on_rdma(role: Role, wishes: Wishes) -> Wishes {
    let mut wishes = wishes;
    wishes.parameters.iser =
        IserParameters { role: Some(role), max_unexpected_pdus: 16, ..IserParameters::default() };
    wishes
}

/// A target whose receives take 8,192 bytes of data.
fn rdma_target() -> Negotiator {
    let mut wishes = on_rdma(Role::Target, target());
    wishes.parameters.max_recv_data_segment_bytes = 8192;
    Negotiator::new(wishes)
}

fn answers(negotiator: &mut Negotiator, keys: &[(&str, &str)]) -> Vec<Option<String>> {
    keys.iter().map(|(key, value)| negotiator.receive(key, value).unwrap()).collect()
}

#[test]
fn rfc7145_6_3_two_ends_agree_on_rdma_extensions_first_and_on_both_lengths() {
    let mut initiator = Negotiator::new(on_rdma(
        Role::Initiator,
        Wishes {
            parameters: Parameters {
                max_recv_data_segment_bytes: 1024,
                peer_max_recv_data_segment_bytes: 65_536,
                ..Parameters::default()
            },
            header_digest: DigestWish::Require,
            data_digest: DigestWish::Require,
        },
    ));
    let mut target = rdma_target();
    let offers = initiator.offers();
    assert_eq!(offers[0], ("RDMAExtensions", "Yes".to_owned()));
    let named = |key: &str| offers.iter().any(|(name, _)| *name == key);
    assert!(!named("HeaderDigest") && !named("DataDigest"), "section 6.1");
    assert!(!named("MaxRecvDataSegmentLength"), "section 6.2");
    assert!(!named("iSERHelloRequired") && !named("MaxAHSLength"));
    for (key, value) in offers {
        if let Some(answer) = target.receive(key, &value).unwrap() {
            assert_eq!(initiator.receive(key, &answer).unwrap(), None, "{key}={answer}");
        }
    }
    let (here, there) = (initiator.finish().unwrap(), target.finish().unwrap());
    assert!(here.iser.rdma_extensions && there.iser.rdma_extensions);
    assert_eq!(here.max_recv_data_segment_bytes, 1024);
    assert_eq!(here.peer_max_recv_data_segment_bytes, 8192);
    assert_eq!(there.max_recv_data_segment_bytes, 8192);
    assert_eq!(there.peer_max_recv_data_segment_bytes, 1024);
    assert!(!here.header_digest && !there.data_digest);
}

#[test]
fn rfc7145_6_1_digests_are_none_whatever_is_offered() {
    let mut target = rdma_target();
    let offered = [("HeaderDigest", "CRC32C,None"), ("DataDigest", "CRC32C")];
    let told: Vec<_> = answers(&mut target, &offered).into_iter().flatten().collect();
    assert_eq!(told, ["None", "Reject"]);
    let result = target.finish().unwrap();
    assert!(!result.header_digest && !result.data_digest);
}

#[test]
fn rfc7145_6_2_max_recv_data_segment_length_counts_for_nothing_beside_the_own_keys() {
    let mut target = rdma_target();
    let keys = [
        ("MaxRecvDataSegmentLength", "262144"),
        // The order of open-iscsi.
        ("InitiatorRecvDataSegmentLength", "4096"),
        ("TargetRecvDataSegmentLength", "262144"),
        ("RDMAExtensions", "Yes"),
    ];
    let told: Vec<_> = answers(&mut target, &keys).into_iter().flatten().collect();
    assert_eq!(told, ["4096", "8192", "Yes"]);
    let result = target.finish().unwrap();
    assert_eq!(result.peer_max_recv_data_segment_bytes, 4096);
    target.enter_full_feature();
    assert_eq!(target.receive("MaxRecvDataSegmentLength", "65536").unwrap(), None);
    assert_eq!(target.finish().unwrap().peer_max_recv_data_segment_bytes, 4096);
    let again = target.receive("RDMAExtensions", "Yes").unwrap();
    assert_eq!(again.as_deref(), Some("Reject"), "leading only");
}

#[test]
fn rfc7145_6_3_no_on_an_rdma_connection_ends_the_login() {
    let mut target = rdma_target();
    assert_eq!(target.receive("RDMAExtensions", "No").unwrap().as_deref(), Some("No"));
    assert_eq!(target.finish(), Err(NegotiationError::RdmaExtensions));
    let mut initiator = Negotiator::new(on_rdma(Role::Initiator, Wishes::default()));
    initiator.offers();
    initiator.receive("RDMAExtensions", "No").unwrap();
    assert_eq!(initiator.finish(), Err(NegotiationError::RdmaExtensions));
}

#[test]
fn pitfall_06_peers_without_the_keys_get_no_more_than_their_buffers_are_known_to_take() {
    let declared = ("MaxRecvDataSegmentLength", "262144");
    let mut normal = rdma_target();
    answers(&mut normal, &[declared]);
    assert_eq!(normal.finish().unwrap().peer_max_recv_data_segment_bytes, 128, "libiscsi 1.19");
    let mut discovery = rdma_target();
    discovery.set_discovery();
    answers(&mut discovery, &[declared]);
    assert_eq!(discovery.finish().unwrap().peer_max_recv_data_segment_bytes, 8192, "open-iscsi");
    let mut initiator = Negotiator::new(on_rdma(Role::Initiator, Wishes::default()));
    initiator.offers();
    answers(&mut initiator, &[declared]);
    assert_eq!(initiator.finish().unwrap().peer_max_recv_data_segment_bytes, 8192);
}

#[test]
fn rfc7145_6_7_and_6_8_limits_are_answered_by_limits_and_never_told_unasked() {
    let mut target = rdma_target();
    let keys = [("MaxOutstandingUnexpectedPDUs", "4"), ("MaxAHSLength", "0")];
    let told: Vec<_> = answers(&mut target, &keys).into_iter().flatten().collect();
    assert_eq!(told, ["16", "256"]);
    let result = target.finish().unwrap();
    assert_eq!((result.iser.peer_max_unexpected_pdus, result.iser.peer_max_ahs_bytes), (4, 0));
    let odd = rdma_target().receive("MaxOutstandingUnexpectedPDUs", "1").unwrap();
    assert_eq!(odd.as_deref(), Some("Reject"));
}

#[test]
fn rfc7145_6_9_and_6_10_an_initiator_declares_its_tags_and_whether_it_says_hello() {
    let mut target = rdma_target();
    let keys = [("TaggedBufferForSolicitedDataOnly", "Yes"), ("iSERHelloRequired", "No")];
    assert_eq!(answers(&mut target, &keys), [None, None]);
    assert_eq!(target.finish().unwrap().iser.solicited_tags_only, Some(true));
    let mut target = rdma_target();
    answers(&mut target, &[("iSERHelloRequired", "Yes")]);
    assert_eq!(target.finish(), Err(NegotiationError::HelloRequired));
}

#[test]
fn rfc7145_6_unknown_keys_are_not_understood_on_rdma_either() {
    assert_eq!(
        rdma_target().receive("X-com.example.fast", "Yes").unwrap().as_deref(),
        Some("NotUnderstood")
    );
    let mut initiator = Negotiator::new(on_rdma(Role::Initiator, Wishes::default()));
    initiator.offers();
    for key in ["RDMAExtensions", "InitiatorRecvDataSegmentLength"] {
        assert_eq!(initiator.receive(key, "NotUnderstood").unwrap(), None, "an old target");
    }
    assert!(initiator.finish().is_ok());
}

#[test]
fn rfc7145_6_in_a_discovery_session_an_initiator_names_no_key_of_iser() {
    let mut initiator = Negotiator::new(on_rdma(Role::Initiator, Wishes::default()));
    initiator.set_discovery();
    let offers = initiator.offers();
    assert!(offers.iter().any(|(key, _)| *key == "MaxRecvDataSegmentLength"));
    assert!(!offers.iter().any(|(key, _)| key.contains("RDMA") || key.contains("Initiator")));
    assert!(initiator.finish().is_ok());
}
