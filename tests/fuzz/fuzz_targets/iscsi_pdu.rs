//! A stream of iSCSI PDUs: frames, digests, additional segments, every PDU type in both directions
//! (RFC 7143 sections 11.2 to 11.17). What a PDU says must survive building it again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_wire::iscsi::{self, Bhs, Digests, Opcode, Pdu, pdu};

const DATA_CAP: usize = 4096;

macro_rules! again {
    ($type:ty, $bhs:expr) => {{
        let value = <$type>::parse($bhs);
        assert_eq!(<$type>::parse(&value.build()), value);
    }};
}

fn typed(bhs: &Bhs) {
    let opcode = Opcode::of(bhs);
    let mut bhs = *bhs;
    if matches!(opcode, Some(Opcode::LoginRequest | Opcode::LoginResponse)) && bhs[1] & 0x80 == 0 {
        bhs[1] &= !3; // NSG is reserved unless T is set
    }
    let bhs = &bhs;
    match opcode {
        Some(Opcode::NopOut) => again!(pdu::NopOut, bhs),
        Some(Opcode::ScsiCommand) => again!(pdu::ScsiCommand, bhs),
        Some(Opcode::TaskRequest) => again!(pdu::TaskRequest, bhs),
        Some(Opcode::LoginRequest) => again!(pdu::LoginRequest, bhs),
        Some(Opcode::TextRequest) => again!(pdu::TextRequest, bhs),
        Some(Opcode::DataOut) => again!(pdu::DataOut, bhs),
        Some(Opcode::LogoutRequest) => again!(pdu::LogoutRequest, bhs),
        Some(Opcode::Snack) => again!(pdu::Snack, bhs),
        Some(Opcode::NopIn) => again!(pdu::NopIn, bhs),
        Some(Opcode::ScsiResponse) => again!(pdu::ScsiResponse, bhs),
        Some(Opcode::TaskResponse) => again!(pdu::TaskResponse, bhs),
        Some(Opcode::LoginResponse) => again!(pdu::LoginResponse, bhs),
        Some(Opcode::TextResponse) => again!(pdu::TextResponse, bhs),
        Some(Opcode::DataIn) => again!(pdu::DataIn, bhs),
        Some(Opcode::LogoutResponse) => again!(pdu::LogoutResponse, bhs),
        Some(Opcode::R2t) => again!(pdu::R2t, bhs),
        Some(Opcode::Async) => again!(pdu::Async, bhs),
        Some(Opcode::Reject) => again!(pdu::Reject, bhs),
        None => {}
    }
}

fuzz_target!(|input: &[u8]| {
    plimsoll_fuzz::cap_allocations(input);
    let Some((flags, mut stream)) = input.split_first() else { return };
    let digests = Digests { header: flags & 1 != 0, data: flags & 2 != 0 };
    while let Ok(Some(length)) = iscsi::frame_length(stream, digests, DATA_CAP) {
        // A real sender's digests are right; a fuzzer's never are. Without them the PDU is reached anyway.
        let _ = Pdu::split(stream, digests);
        let Ok(pdu) = Pdu::split(stream, Digests::default()) else { return };
        assert!(pdu.data.len() <= DATA_CAP);
        typed(pdu.bhs);
        for segment in iscsi::ahs::iter(pdu.ahs) {
            let _ = segment;
        }
        let _ = pdu::sense_of(pdu.data);
        let mut built = Vec::new();
        iscsi::frame::append(&mut built, pdu.bhs, pdu.ahs, pdu.data, digests);
        let again = Pdu::split(&built, digests).expect("a frame that was built");
        assert!(again.data_is_sound);
        assert_eq!((again.bhs, again.ahs, again.data), (pdu.bhs, pdu.ahs, pdu.data));
        let Some(rest) = stream.get(length..) else { return };
        stream = rest;
    }
});
