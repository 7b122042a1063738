//! Negotiation on an RDMA connection, both ends (RFC 7145 section 6): every order of keys and values leads to
//! lengths that both ends can live with, to no digest, or to an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_wire::iscsi::negotiate::{IserParameters, Negotiator, Parameters, Role, Wishes};
use plimsoll_wire::iscsi::text;

fuzz_target!(|input: &[u8]| {
    plimsoll_fuzz::cap_allocations(input);
    let Some((flags, rest)) = input.split_first() else { return };
    let role = if flags & 1 != 0 { Role::Initiator } else { Role::Target };
    let iser = IserParameters { role: Some(role), ..IserParameters::default() };
    let parameters = Parameters { iser, ..Parameters::default() };
    let mut end = Negotiator::new(Wishes { parameters, ..Wishes::default() });
    if flags & 4 != 0 {
        end.set_discovery();
    }
    if role == Role::Initiator {
        let _ = end.offers();
    }
    for pair in text::pairs(rest) {
        let Ok((key, value)) = pair else { break };
        if let Ok(Some(answer)) = end.receive(key, value) {
            assert!(answer.len() <= 255, "{answer}");
        }
    }
    if let Ok(result) = end.finish() {
        assert!(!result.header_digest && !result.data_digest && !result.iser.hello_required);
        assert!(result.max_recv_data_segment_bytes <= 8192);
        assert!((128..=8192).contains(&result.peer_max_recv_data_segment_bytes));
    }
});
