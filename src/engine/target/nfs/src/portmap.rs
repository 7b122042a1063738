//! Portmap version 2 and rpcbind versions 3 and 4 (RFC 1833): everything is on the one port of the server.
//!
//! Answered on that port too, so that a client that asks there needs no portmapper; ESXi asks port 111,
//! which is listened on when configured. Nobody can register anything.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_fabric::SendQueue;
use plimsoll_wire::portmap::{
    IPPROTO_TCP, Mapping, NetworkId, Owner, PROC_DUMP, PROC_GETPORT, PROC_NULL, PROC_SET,
    PROC_UNSET, PROGRAM, RpcAddress, UniversalAddress, VERSION_2, VERSION_3, VERSION_4,
};
use plimsoll_wire::rpc::{self, Accepted, Call, Refusal};
use plimsoll_wire::xdr::{Reader, Writer, Xdr};
use plimsoll_wire::{mount3, nfs3};

use crate::reply::{self, Refused};

/// The programs of the server.
const PROGRAMS: [(u32, u32); 5] = [
    (PROGRAM, VERSION_2),
    (PROGRAM, VERSION_3),
    (PROGRAM, VERSION_4),
    (nfs3::PROGRAM, nfs3::VERSION),
    (mount3::PROGRAM, mount3::VERSION),
];
/// Largest call taken over UDP.
const DATAGRAM_MAX_BYTES: usize = 2048;
/// How often the UDP thread looks whether it is to end.
const STOP_CHECK: Duration = Duration::from_millis(500);

/// Answers a call that came over the connection-oriented transport.
pub(crate) fn answer(
    service: SocketAddr,
    call: &Call<'_>,
    args: &mut Reader<'_>,
    send: &mut SendQueue,
) -> Result<(), Refused> {
    let xid = call.xid;
    results(service, call, args, |value| match value {
        Results::Nothing => reply::send(send, xid, &()),
        Results::Word(word) => reply::send(send, xid, &word),
        Results::Text(text) => reply::send(send, xid, &UniversalAddress(text.as_bytes())),
        Results::Mappings(list) => reply::send(send, xid, &list),
        Results::Addresses(list) => reply::send(send, xid, &list),
    })
}

enum Results<'a> {
    Nothing,
    Word(u32),
    Text(String),
    Mappings(Vec<Mapping>),
    Addresses(Vec<RpcAddress<'a>>),
}

fn results(
    service: SocketAddr,
    call: &Call<'_>,
    args: &mut Reader<'_>,
    mut tell: impl FnMut(Results<'_>),
) -> Result<(), Refused> {
    let serves = |program, version| {
        // A client that asks for any version of a program gets an address and learns the version there.
        PROGRAMS.iter().any(|(known, only)| program == *known && (version == *only || version == 0))
    };
    let netid = if service.is_ipv4() { "tcp" } else { "tcp6" };
    match (call.procedure, call.version) {
        (PROC_NULL, _) => tell(Results::Nothing),
        (PROC_SET | PROC_UNSET, _) => tell(Results::Word(0)),
        (PROC_GETPORT, VERSION_2) => {
            let asked: Mapping = args.value()?;
            let known = asked.protocol == IPPROTO_TCP && serves(asked.program, asked.version);
            tell(Results::Word(if known { u32::from(service.port()) } else { 0 }));
        }
        (PROC_DUMP, VERSION_2) => tell(Results::Mappings(
            PROGRAMS
                .iter()
                .map(|&(program, version)| Mapping {
                    program,
                    version,
                    protocol: IPPROTO_TCP,
                    port: u32::from(service.port()),
                })
                .collect(),
        )),
        (PROC_GETPORT, _) => {
            let asked: RpcAddress<'_> = args.value()?;
            let known = asked.netid.0 == netid.as_bytes() && serves(asked.program, asked.version);
            let text = if known { UniversalAddress::format(service) } else { String::new() };
            tell(Results::Text(text));
        }
        (PROC_DUMP, _) => {
            let text = UniversalAddress::format(service);
            let list = PROGRAMS.iter().map(|&(program, version)| RpcAddress {
                program,
                version,
                netid: NetworkId(netid.as_bytes()),
                address: UniversalAddress(text.as_bytes()),
                owner: Owner(b"superuser"),
            });
            tell(Results::Addresses(list.collect()));
        }
        _ => return Err(Refused::Accepted(Accepted::ProcedureUnavailable)),
    }
    Ok(())
}

/// Portmap over UDP, which many clients ask first; a thread of its own. Dropping it ends it.
pub struct UdpPortmap {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl UdpPortmap {
    /// Answers on `socket` that the server is reached at `service`.
    pub fn start(socket: UdpSocket, service: SocketAddr) -> std::io::Result<Self> {
        socket.set_read_timeout(Some(STOP_CHECK))?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("portmap-udp".to_owned())
            .spawn(move || serve_datagrams(&socket, service, &stopped))?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for UdpPortmap {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve_datagrams(socket: &UdpSocket, service: SocketAddr, stop: &AtomicBool) {
    let mut buffer = [0; DATAGRAM_MAX_BYTES];
    let mut bytes = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let Ok((len, peer)) = socket.recv_from(&mut buffer) else { continue };
        bytes.clear();
        if datagram(service, &buffer[..len], &mut bytes) {
            let _ = socket.send_to(&bytes, peer);
        }
    }
}

/// Builds the answer to one datagram; false when there is none.
fn datagram(service: SocketAddr, message: &[u8], bytes: &mut Vec<u8>) -> bool {
    let mut out = Writer::new(bytes);
    let (call, mut args) = match Call::parse(message) {
        Ok(parsed) => parsed,
        Err(Refusal::Denied { xid, denial }) => {
            rpc::deny(&mut out, xid, denial);
            return true;
        }
        Err(_) => return false,
    };
    let refused = if call.program != PROGRAM {
        Err(Refused::Accepted(Accepted::ProgramUnavailable))
    } else if !(VERSION_2..=VERSION_4).contains(&call.version) {
        let mismatch = Accepted::ProgramMismatch { low: VERSION_2, high: VERSION_4 };
        Err(Refused::Accepted(mismatch))
    } else {
        results(service, &call, &mut args, |value| {
            rpc::accept(&mut out, call.xid, Accepted::Success);
            match value {
                Results::Nothing => {}
                Results::Word(word) => out.u32(word),
                Results::Text(text) => UniversalAddress(text.as_bytes()).put(&mut out),
                Results::Mappings(list) => list.put(&mut out),
                Results::Addresses(list) => list.put(&mut out),
            }
        })
    };
    match refused {
        Ok(()) => {}
        Err(Refused::Accepted(accepted)) => rpc::accept(&mut out, call.xid, accepted),
        Err(Refused::Denied(denial)) => rpc::deny(&mut out, call.xid, denial),
    }
    true
}
