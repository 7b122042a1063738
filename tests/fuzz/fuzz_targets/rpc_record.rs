//! ONC RPC: record marking, calls and replies (RFC 5531 sections 8, 9 and 11).
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_wire::rpc::record::{self, Extent};
use plimsoll_wire::rpc::{Call, Refusal, Reply, accept, deny};
use plimsoll_wire::xdr::Writer;

const RECORD_CAP: usize = 8192;

fuzz_target!(|input: &[u8]| {
    plimsoll_fuzz::cap_allocations(input);
    let mut stream = input;
    while let Ok(Extent::Whole(length)) = record::extent(stream, RECORD_CAP) {
        assert!(length <= RECORD_CAP);
        let Some((whole, rest)) = stream.split_at_checked(length) else { return };
        stream = rest;
        let message = record::join(whole);
        assert!(message.len() < whole.len());
        match Call::parse(&message) {
            Ok((call, arguments)) => {
                let mut again = Vec::new();
                call.put(&mut Writer::new(&mut again));
                again.extend_from_slice(arguments.rest());
                let (parsed, rest) = Call::parse(&again).expect("a call that was built");
                assert_eq!((parsed, rest.rest()), (call, arguments.rest()));
            }
            Err(Refusal::Denied { xid, denial }) => {
                let mut answer = Vec::new();
                deny(&mut Writer::new(&mut answer), xid, denial);
                let (to, reply, _) = Reply::parse(&answer).expect("a denial that was built");
                assert_eq!((to, reply), (xid, Reply::Denied(denial)));
            }
            Err(_) => {}
        }
        if let Ok((xid, reply, _)) = Reply::parse(&message) {
            let mut again = Vec::new();
            let out = &mut Writer::new(&mut again);
            match reply {
                Reply::Accepted(accepted) => accept(out, xid, accepted),
                Reply::Denied(denial) => deny(out, xid, denial),
            }
            let (to, parsed, _) = Reply::parse(&again).expect("a reply that was built");
            assert_eq!((to, parsed), (xid, reply));
        }
    }
});
