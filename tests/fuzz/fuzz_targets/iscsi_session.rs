//! A session with a whole target: after a sound login arbitrary PDUs, with the CmdSN set right or not. The
//! target answers or hangs up, and closes when its peer has closed.
#![no_main]

use std::io::Read;

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::target::{connect, hang_up, send, target};
use plimsoll_wire::iscsi::{Digests, frame, text};

fn login(text_more: &[u8]) -> Vec<u8> {
    let mut keys = Vec::new();
    text::append(&mut keys, "InitiatorName", "iqn.2026-11.test:host");
    text::append(&mut keys, "SessionType", "Normal");
    text::append(&mut keys, "TargetName", "iqn.2026-11.org.plimsoll:quick");
    keys.extend_from_slice(text_more);
    let request = plimsoll_fuzz::login_request(keys.len() as u32);
    let mut out = Vec::new();
    frame::append(&mut out, &request.build(), &[], &keys, Digests::default());
    out
}

fuzz_target!(|input: &[u8]| {
    let (_, portal, _, _) = target();
    let mut parts = plimsoll_fuzz::parts(input);
    // The first part is text that the login has beside the names.
    let Some(more) = parts.next() else { return };
    let mut stream = connect(*portal);
    let mut head = [0; 48];
    if !send(&mut stream, &login(more)) || stream.read_exact(&mut head).is_err() {
        return hang_up(stream);
    }
    let mut cmd_sn = 1_u32;
    for part in parts {
        // A byte of flags, a header, data: the header's length is made to fit, its CmdSN if bit 0 says so.
        let Some((flags, part)) = part.split_first() else { continue };
        let Some((bhs, data)) = part.split_first_chunk::<48>() else { continue };
        let mut bhs = *bhs;
        bhs[4] = 0;
        bhs[5..8].copy_from_slice(&(data.len() as u32).to_be_bytes()[1..]);
        if flags & 1 != 0 {
            bhs[24..28].copy_from_slice(&cmd_sn.to_be_bytes());
            cmd_sn += u32::from(bhs[0] & 0x40 == 0);
        }
        let mut out = Vec::new();
        frame::append(&mut out, &bhs, &[], data, Digests::default());
        if !send(&mut stream, &out) {
            break;
        }
    }
    hang_up(stream);
});
