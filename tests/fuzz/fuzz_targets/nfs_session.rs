//! A client of a whole target's export: arbitrary calls whose file handles are real, so that the procedures
//! themselves are reached. Every call is answered by a whole reply, or the connection ends.
#![no_main]

use std::io::Read;
use std::net::TcpStream;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use plimsoll_fuzz::target::{connect, hang_up, send, target};
use plimsoll_wire::rpc::{AuthSys, Call, Credential, record};
use plimsoll_wire::xdr::{Reader, Writer};
use plimsoll_wire::{mount3, nfs3};

fn call(program: u32, procedure: u32, handle: Option<&[u8]>, rest: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let out = &mut Writer::new(&mut bytes);
    let at = record::begin(out);
    let credential = Credential::Sys(AuthSys::default());
    Call { xid: 7, program, version: 3, procedure, credential }.put(out);
    if let Some(handle) = handle {
        out.opaque(handle);
    }
    out.raw(rest);
    record::end(out, at, 0);
    bytes
}

/// The results of the reply, without its header.
fn reply(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut mark = [0; 4];
    stream.read_exact(&mut mark).ok()?;
    let length = (u32::from_be_bytes(mark) & !record::LAST_FRAGMENT) as usize;
    assert!((24..=2 << 20).contains(&length) || length == 20, "a reply of {length} bytes");
    let mut body = vec![0; length];
    stream.read_exact(&mut body).expect("the rest of a reply");
    assert_eq!(body[..4], 7_u32.to_be_bytes(), "the reply to another call");
    Some(body.split_off(24.min(length)))
}

fn root(stream: &mut TcpStream) -> &'static [u8] {
    static ROOT: OnceLock<Vec<u8>> = OnceLock::new();
    ROOT.get_or_init(|| {
        let path = target().3.as_bytes();
        send(stream, &call(mount3::PROGRAM, mount3::PROC_MNT, Some(path), &[]));
        let answer = reply(stream).expect("an answer to MNT");
        let result = Reader::new(&answer).value::<mount3::MountResult<'_>>();
        result.expect("a sound answer").expect("a mount").handle.0.to_vec()
    })
}

fuzz_target!(|input: &[u8]| {
    let mut stream = connect(target().2);
    let root = root(&mut stream);
    let mut last = root.to_vec();
    for part in plimsoll_fuzz::parts(input) {
        // Which program and procedure, which handle goes before the rest.
        let Some((choice, rest)) = part.split_first() else { continue };
        let (program, handle) = match choice >> 5 {
            0 => (mount3::PROGRAM, None),
            1 => (nfs3::PROGRAM, None),
            2..=4 => (nfs3::PROGRAM, Some(root)),
            _ => (nfs3::PROGRAM, Some(last.as_slice())),
        };
        let procedure = u32::from(choice & 0x1f);
        if !send(&mut stream, &call(program, procedure, handle, rest)) {
            break;
        }
        let Some(answer) = reply(&mut stream) else { break };
        // CREATE, MKDIR, SYMLINK and MKNOD give a handle to go on with; LOOKUP as well.
        if program == nfs3::PROGRAM && matches!(procedure, 8..=11) {
            if let Ok(Ok(made)) = Reader::new(&answer).value::<nfs3::CreateResult<'_>>() {
                last = made.file.map_or(last, |handle| handle.0.to_vec());
            }
        } else if program == nfs3::PROGRAM
            && procedure == 3
            && let Ok(Ok(found)) = Reader::new(&answer).value::<nfs3::LookupResult<'_>>()
        {
            last = found.file.0.to_vec();
        }
    }
    hang_up(stream);
});
