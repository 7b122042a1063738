//! A message of an RDMA connection and the private data before it (RFC 7145 section 9, Annex A12): what is
//! taken survives being built again, and nothing is read beyond what came.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_wire::iscsi::frame;
use plimsoll_wire::iser::{Abilities, Header, LOGIN_DATA_MAX, Message};

fuzz_target!(|input: &[u8]| {
    plimsoll_fuzz::cap_allocations(input);
    let abilities = Abilities::parse(input);
    if abilities != (Abilities { zero_based: true, remote_invalidation: true }) {
        assert_eq!(Abilities::parse(&abilities.build()), abilities);
    }
    let Ok(Message { header, pdu }) = Message::split(input, LOGIN_DATA_MAX) else { return };
    assert!(pdu.data.len() <= LOGIN_DATA_MAX);
    assert_eq!(pdu.data.len(), frame::data_segment_length(pdu.bhs));
    let mut again = header.build().to_vec();
    assert_eq!(Header::parse(&header.build()), Ok(header));
    again.extend_from_slice(pdu.bhs);
    again.extend_from_slice(pdu.ahs);
    again.extend_from_slice(pdu.data);
    assert_eq!(again[28..], input[28..again.len()]);
    let second = Message::split(&again, LOGIN_DATA_MAX).expect("a message that was built");
    assert_eq!((second.header, second.pdu.data), (header, pdu.data));
});
