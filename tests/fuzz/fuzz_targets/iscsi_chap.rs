//! CHAP of both ends (RFC 7143 section 12.1.3): whatever the peer says without knowing the secret, it is
//! never taken for who it claims to be.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_wire::iscsi::chap::{self, Credentials, Prover, Verifier};
use plimsoll_wire::iscsi::text;

fn credentials(name: &str) -> Credentials {
    Credentials::new(name, *b"a secret of 128b")
}

fuzz_target!(|input: &[u8]| {
    plimsoll_fuzz::cap_allocations(input);
    let Some((flags, rest)) = input.split_first() else { return };
    let own = (flags & 1 != 0).then(|| Credentials::new("target", *b"another secret.."));
    let mut verifier = Verifier::new(vec![credentials("user"), credentials("other")], own);
    let mut prover = Prover::new(credentials("user"), Some(credentials("target")));
    for part in plimsoll_fuzz::parts(rest) {
        let Ok(keys) = text::pairs(part).collect::<Result<Vec<_>, _>>() else { return };
        for (_, value) in &keys {
            if let Some(bytes) = chap::decode(value) {
                assert_eq!(chap::decode(&chap::encode(&bytes)), Some(bytes));
            }
        }
        // A fresh challenge each time, and none that an input could hold an answer to.
        let mut random = |out: &mut [u8]| {
            let mut state = part.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
            });
            for byte in out {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *byte = (state >> 56) as u8;
            }
        };
        let _ = verifier.receive(&keys, &mut random);
        let _ = prover.receive(&keys, &mut random);
        assert_eq!(verifier.user(), None);
        assert!(!prover.is_done());
    }
});
