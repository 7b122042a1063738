//! Login and text exchanges: pairs, continuation, negotiation of both ends, SendTargets records, names
//! (RFC 7143 sections 6 and 13).
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_wire::iscsi::negotiate::{DigestWish, Negotiator, Wishes};
use plimsoll_wire::iscsi::{discovery, name, text};

fuzz_target!(|input: &[u8]| {
    plimsoll_fuzz::cap_allocations(input);
    let Some((flags, rest)) = input.split_first() else { return };
    let wish = |bit| if flags & bit != 0 { DigestWish::Require } else { DigestWish::default() };
    let wishes = Wishes { header_digest: wish(1), data_digest: wish(2), ..Wishes::default() };
    let mut end = Negotiator::new(wishes);
    if flags & 4 != 0 {
        end.set_discovery();
    }
    if flags & 8 != 0 {
        let _ = end.offers();
    }
    let mut assembler = text::Assembler::default();
    let mut whole = Vec::new();
    for part in plimsoll_fuzz::parts(rest) {
        // The first byte of a part stands for the C bit.
        let (more, data) = part.split_first().map_or((false, part), |(b, data)| (b & 1 != 0, data));
        let Ok(Some(exchange)) = assembler.push(data, more) else { continue };
        for pair in text::pairs(&exchange) {
            let Ok((key, value)) = pair else { break };
            let _ = name::is_valid(value);
            let _ = discovery::TargetAddress::parse(value);
            if let Ok(Some(answer)) = end.receive(key, value) {
                assert!(answer.len() <= 255, "{answer}");
            }
        }
        if let Ok(records) = discovery::records(&exchange) {
            whole.clear();
            for record in &records {
                record.append(&mut whole);
            }
            assert_eq!(discovery::records(&whole).as_ref(), Ok(&records));
        }
        if let Ok(result) = end.finish() {
            assert!(result.first_burst_bytes <= result.max_burst_bytes);
            assert!(result.peer_max_recv_data_segment_bytes >= 512);
        }
    }
});
