//! RPC messages against RFC 5531, and record marking with every split.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::record::{self, Extent};
use super::*;
use crate::xdr::check::round_trip;
use crate::xdr::{self, Writer, Xdr};

fn sys(gids: &[u32]) -> AuthSys<'static> {
    AuthSys { stamp: 7, machine: b"esx-1", uid: 0, gid: 5, gids: Gids::new(gids) }
}

fn bytes_of(put: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    put(&mut Writer::new(&mut bytes));
    bytes
}

/// A NULL call of NFSv3, word by word.
#[test]
fn rfc5531_9_call_on_the_wire() {
    let call = Call {
        xid: 0x0102_0304,
        program: 100_003,
        version: 3,
        procedure: 0,
        credential: Credential::None,
    };
    let bytes = bytes_of(|out| call.put(out));
    let words: Vec<u32> =
        bytes.chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect();
    assert_eq!(words, [0x0102_0304, 0, 2, 100_003, 3, 0, 0, 0, 0, 0]);
    let (parsed, arguments) = Call::parse(&bytes).unwrap();
    assert_eq!(parsed, call);
    assert_eq!(arguments.remaining(), 0);
}

#[test]
fn rfc5531_9_a_call_of_another_rpc_version_is_denied() {
    let mut bytes = bytes_of(|out| {
        let credential = Credential::None;
        Call { xid: 9, program: 1, version: 1, procedure: 0, credential }.put(out);
    });
    bytes[11] = 3;
    let denial = Denial::RpcMismatch { low: 2, high: 2 };
    assert_eq!(Call::parse(&bytes), Err(Refusal::Denied { xid: 9, denial }));
    let reply = bytes_of(|out| deny(out, 9, denial));
    let (xid, parsed, _) = Reply::parse(&reply).unwrap();
    assert_eq!((xid, parsed), (9, Reply::Denied(denial)));
}

#[test]
fn rfc5531_9_a_reply_is_not_a_call_and_the_reverse() {
    let reply = bytes_of(|out| accept(out, 1, Accepted::Success));
    assert!(matches!(Call::parse(&reply), Err(Refusal::Malformed(_))));
    let call = bytes_of(|out| {
        let credential = Credential::None;
        Call { xid: 9, program: 1, version: 1, procedure: 0, credential }.put(out);
    });
    assert!(Reply::parse(&call).is_err());
}

#[test]
fn rfc5531_9_every_accept_and_reject_status() {
    for accepted in [
        Accepted::Success,
        Accepted::ProgramUnavailable,
        Accepted::ProgramMismatch { low: 3, high: 4 },
        Accepted::ProcedureUnavailable,
        Accepted::GarbageArguments,
        Accepted::SystemError,
    ] {
        round_trip(&accepted, &mut Vec::new());
        let reply = bytes_of(|out| accept(out, 5, accepted));
        let (xid, parsed, results) = Reply::parse(&reply).unwrap();
        assert_eq!((xid, parsed), (5, Reply::Accepted(accepted)));
        assert_eq!(results.remaining(), 0);
    }
    for stat in AuthStat::ALL {
        round_trip(&Denial::Auth(*stat), &mut Vec::new());
    }
    round_trip(&Denial::RpcMismatch { low: 2, high: 2 }, &mut Vec::new());
}

#[test]
fn rfc5531_appendix_a_auth_sys_with_0_to_16_groups() {
    let ids: Vec<u32> = (100..116).collect();
    for count in 0..=16 {
        let credential = Credential::Sys(sys(&ids[..count]));
        round_trip(&credential, &mut Vec::new());
    }
    assert_eq!(Gids::new(&[1; 20]).as_slice().len(), MAX_GIDS);
}

#[test]
fn rfc5531_appendix_a_seventeen_groups_are_a_bad_credential() {
    let body = bytes_of(|out| {
        out.u32(0);
        out.opaque(b"host");
        out.u32(0);
        out.u32(0);
        out.length(17);
        for gid in 0..17 {
            out.u32(gid);
        }
    });
    let credential = Credential::Other { flavor: 1, body: &body };
    let bytes = bytes_of(|out| {
        Call { xid: 3, program: 1, version: 1, procedure: 0, credential }.put(out);
    });
    let denial = Denial::Auth(AuthStat::BadCredential);
    assert_eq!(Call::parse(&bytes), Err(Refusal::Denied { xid: 3, denial }));
}

#[test]
fn rfc5531_8_2_a_body_above_400_bytes_is_a_bad_credential() {
    let body = [0; 404];
    let credential = Credential::Other { flavor: 6, body: &body };
    let bytes = bytes_of(|out| {
        Call { xid: 3, program: 1, version: 1, procedure: 0, credential }.put(out);
    });
    let denial = Denial::Auth(AuthStat::BadCredential);
    assert_eq!(Call::parse(&bytes), Err(Refusal::Denied { xid: 3, denial }));
    round_trip(&Credential::Other { flavor: 6, body: &body[..400] }, &mut Vec::new());
}

#[test]
fn rfc5531_9_a_call_cut_anywhere_is_refused() {
    let bytes = bytes_of(|out| {
        let credential = Credential::Sys(sys(&[1, 2, 3]));
        Call { xid: 9, program: 1, version: 1, procedure: 0, credential }.put(out);
    });
    for len in 0..bytes.len() {
        assert!(Call::parse(&bytes[..len]).is_err(), "{len} bytes were taken for a call");
    }
    assert!(Call::parse(&bytes).is_ok());
}

#[test]
fn rfc5531_11_one_fragment_is_borrowed() {
    let mut bytes = Vec::new();
    let mut out = Writer::new(&mut bytes);
    out.u32(0xdead_beef);
    let at = record::begin(&mut out);
    out.u64(1);
    record::end(&mut out, at, 8);
    assert_eq!(bytes[4..8], [0x80, 0, 0, 16]);
    bytes.extend_from_slice(&[9; 8]);
    let record = &bytes[4..];
    assert_eq!(record::extent(record, 100), Ok(Extent::Whole(20)));
    let joined = record::join(record);
    assert!(matches!(joined, std::borrow::Cow::Borrowed(_)));
    assert_eq!(joined[8..], [9; 8]);
}

#[test]
fn rfc5531_11_the_cap_holds_before_the_bytes_are_there() {
    let huge = [0xff, 0xff, 0xff, 0xff];
    let error = record::extent(&huge, 1 << 20).unwrap_err();
    assert_eq!(error, record::Error::TooLong { len: 0x7fff_ffff + 4, max: 1 << 20 });
    let two = [0, 0, 0, 4, 1, 2, 3, 4, 0x80, 0, 0, 9];
    assert_eq!(record::extent(&two, 16), Err(record::Error::TooLong { len: 21, max: 16 }));
    assert_eq!(record::extent(&two, 21), Ok(Extent::Whole(21)));
    assert_eq!(record::extent(&two[..9], 21), Ok(Extent::Need(12)));
    assert_eq!(record::extent(&[], 21), Ok(Extent::Need(4)));
}

#[test]
fn rfc5531_11_empty_fragments_without_end_are_refused() {
    let endless = [0; 4 * (record::MAX_FRAGMENTS + 1)];
    assert_eq!(record::extent(&endless, 1 << 20), Err(record::Error::TooManyFragments));
}

proptest! {
    #[test]
    fn rfc5531_11_any_split_into_fragments_joins(
        message in proptest::collection::vec(any::<u8>(), 0..500),
        cuts in proptest::collection::vec(0_usize..500, 0..10),
    ) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(message.len())).collect();
        cuts.sort_unstable();
        cuts.push(message.len());
        let mut stream = Vec::new();
        let mut from = 0;
        for (index, cut) in cuts.iter().enumerate() {
            let last = if index + 1 == cuts.len() { record::LAST_FRAGMENT } else { 0 };
            let mark = u32::try_from(cut - from).unwrap() | last;
            stream.extend_from_slice(&mark.to_be_bytes());
            stream.extend_from_slice(&message[from..*cut]);
            from = *cut;
        }
        let whole = stream.len();
        stream.extend_from_slice(b"the next record");
        prop_assert_eq!(record::extent(&stream, whole), Ok(Extent::Whole(whole)));
        prop_assert_eq!(&*record::join(&stream[..whole]), &message[..]);
        for len in 0..whole {
            match record::extent(&stream[..len], whole).unwrap() {
                Extent::Need(need) => prop_assert!(need > len && need <= whole),
                Extent::Whole(length) => prop_assert_eq!(length, whole),
            }
        }
    }

    #[test]
    fn rfc5531_9_any_bytes_are_parsed_without_a_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        kind in 0_u8..2,
    ) {
        let mut bytes = bytes;
        if bytes.len() >= 12 {
            bytes[4..12].copy_from_slice(&[0, 0, 0, kind, 0, 0, 0, 2]);
        }
        let _ = Call::parse(&bytes);
        let _ = Reply::parse(&bytes);
        let mut from = xdr::Reader::new(&bytes);
        let _ = Credential::get(&mut from);
    }
}
