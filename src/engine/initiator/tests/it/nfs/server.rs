//! A small NFS server whose answers a script may bend: one file in memory, MOUNT on the same port.
//!
//! Unstable writes reach the file but not its durable copy; a restart goes back to the copy, changes the
//! verifier and drops every connection.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_wire::mount3::{self, MountOk, MountResult};
use plimsoll_wire::nfs3::*;
use plimsoll_wire::rpc::{Accepted, Call, accept};
use plimsoll_wire::xdr::{Writer, Xdr};

/// The handle of the root and of the file.
const ROOT: FileHandle<'static> = FileHandle(b"root");
const FILE: FileHandle<'static> = FileHandle(b"the file");

/// What a script sees of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    /// Connections before this one.
    pub connection: usize,
    pub xid: u32,
    pub program: u32,
    pub procedure: u32,
    /// Earlier calls of this procedure, over all connections.
    pub earlier: usize,
}

impl Asked {
    pub fn is(&self, procedure: Procedure) -> bool {
        self.program == PROGRAM && self.procedure == procedure as u32
    }
}

/// What goes out.
pub(crate) enum Out {
    /// A message as one record.
    Record(Vec<u8>),
    /// Bytes as they are.
    Raw(Vec<u8>),
    Pause(Duration),
    Close,
}

pub(crate) struct State {
    pub data: Vec<u8>,
    pub durable: Vec<u8>,
    pub verifier: Verifier,
    pub read_max: u32,
    pub write_max: u32,
    /// Calls in the order of arrival.
    pub asked: Vec<Asked>,
    connections: Vec<TcpStream>,
    /// Restarts so far: a call read before one is not executed after it.
    lives: usize,
}

type Script = dyn Fn(&Asked, Vec<u8>, &mut State) -> Vec<Out> + Send + Sync;

pub(crate) struct Server {
    pub address: SocketAddr,
    pub state: Arc<Mutex<State>>,
    stop: Arc<AtomicBool>,
}

/// The byte at an offset of a fresh file.
pub(crate) fn pattern(offset: u64) -> u8 {
    let word = (offset / 8).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word.to_le_bytes()[(offset % 8) as usize]
}

pub(crate) fn expected(offset: u64, len: usize) -> Vec<u8> {
    (offset..offset + len as u64).map(pattern).collect()
}

impl Server {
    /// A server that behaves.
    pub fn good(size: usize) -> Self {
        Self::scripted(size, |_, reply, _| vec![Out::Record(reply)])
    }

    pub fn scripted(
        size: usize,
        script: impl Fn(&Asked, Vec<u8>, &mut State) -> Vec<Out> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let data = expected(0, size);
        let state = Arc::new(Mutex::new(State {
            durable: data.clone(),
            data,
            verifier: [1; 8],
            read_max: 1 << 20,
            write_max: 1 << 20,
            asked: Vec::new(),
            connections: Vec::new(),
            lives: 0,
        }));
        let stop = Arc::new(AtomicBool::new(false));
        let script: Arc<Script> = Arc::new(script);
        let count = AtomicUsize::new(0);
        let (thread_state, thread_stop) = (Arc::clone(&state), Arc::clone(&stop));
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                if thread_stop.load(Ordering::Relaxed) {
                    return;
                }
                let socket = socket.unwrap();
                socket.set_nodelay(true).unwrap();
                let connection = count.fetch_add(1, Ordering::Relaxed);
                let life = {
                    let mut state = thread_state.lock().unwrap();
                    state.connections.push(socket.try_clone().unwrap());
                    state.lives
                };
                let (state, script) = (Arc::clone(&thread_state), Arc::clone(&script));
                std::thread::spawn(move || serve(socket, (connection, life), &state, &*script));
            }
        });
        Self { address, state, stop }
    }

    pub fn url(&self) -> String {
        format!("nfs://{}/export", self.address)
    }

    /// Forgets what is not durable and drops every connection.
    pub fn restart(&self) {
        let mut state = self.state.lock().unwrap();
        state.data = state.durable.clone();
        state.verifier[0] = state.verifier[0].wrapping_add(1);
        state.lives += 1;
        drop_connections(&mut state);
    }

    /// Refuses connections from now on and drops those there are.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        drop_connections(&mut self.state.lock().unwrap());
    }

    /// Calls of a procedure so far.
    pub fn asked(&self, procedure: Procedure) -> Vec<Asked> {
        let state = self.state.lock().unwrap();
        state.asked.iter().filter(|asked| asked.is(procedure)).copied().collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn drop_connections(state: &mut State) {
    for socket in state.connections.drain(..) {
        let _ = socket.shutdown(Shutdown::Both);
    }
}

/// A message behind its record mark.
pub(crate) fn framed(message: &[u8]) -> Vec<u8> {
    let mark = 0x8000_0000 | u32::try_from(message.len()).unwrap();
    [&mark.to_be_bytes()[..], message].concat()
}

fn serve(
    mut socket: TcpStream,
    (connection, life): (usize, usize),
    state: &Mutex<State>,
    script: &Script,
) {
    loop {
        let mut mark = [0; 4];
        if socket.read_exact(&mut mark).is_err() {
            return;
        }
        let mark = u32::from_be_bytes(mark);
        assert!(mark & 0x8000_0000 != 0, "this client sends single fragments");
        let mut record = vec![0; (mark & 0x7fff_ffff) as usize];
        if socket.read_exact(&mut record).is_err() {
            return;
        }
        let outs = {
            let mut state = state.lock().unwrap();
            if state.lives != life {
                return;
            }
            let (call, mut arguments) = Call::parse(&record).unwrap();
            let Call { xid, program, procedure, .. } = call;
            let earlier = state
                .asked
                .iter()
                .filter(|asked| (asked.program, asked.procedure) == (program, procedure))
                .count();
            let asked = Asked { connection, xid, program, procedure, earlier };
            state.asked.push(asked);
            let reply = answer(&call, &mut arguments, &mut state);
            script(&asked, reply, &mut state)
        };
        for out in outs {
            let sent = match out {
                Out::Record(message) => socket.write_all(&framed(&message)),
                Out::Raw(bytes) => socket.write_all(&bytes),
                Out::Pause(time) => {
                    std::thread::sleep(time);
                    Ok(())
                }
                Out::Close => {
                    let _ = socket.shutdown(Shutdown::Both);
                    return;
                }
            };
            if sent.is_err() {
                return;
            }
        }
    }
}

pub(crate) fn attributes(kind: FileKind, size_bytes: u64) -> Attributes {
    Attributes {
        kind,
        mode: 0o644,
        links: 1,
        uid: 0,
        gid: 0,
        size_bytes,
        used_bytes: size_bytes,
        device: DeviceNumber::default(),
        fsid: 1,
        fileid: 2,
        accessed: Time::default(),
        modified: Time::default(),
        changed: Time::default(),
    }
}

/// A whole reply message.
pub(crate) fn reply<'a>(xid: u32, results: &impl Xdr<'a>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut out = Writer::new(&mut bytes);
    accept(&mut out, xid, Accepted::Success);
    results.put(&mut out);
    bytes
}

fn answer(
    call: &Call<'_>,
    arguments: &mut plimsoll_wire::xdr::Reader<'_>,
    state: &mut State,
) -> Vec<u8> {
    let xid = call.xid;
    if call.program == mount3::PROGRAM {
        let result: MountResult<'_> = Ok(MountOk { handle: ROOT, flavors: vec![1] });
        return reply(xid, &result);
    }
    let size = state.data.len() as u64;
    match Procedure::from_u32(call.procedure).unwrap() {
        Procedure::Null => reply(xid, &()),
        Procedure::GetAttr => {
            let file: FileHandle<'_> = arguments.value().unwrap();
            let kind = if file == ROOT { FileKind::Directory } else { FileKind::Regular };
            reply(xid, &GetAttrResult::Ok(attributes(kind, size)))
        }
        Procedure::FsInfo => {
            let info = FsInfoOk {
                attributes: None,
                read_max: state.read_max,
                read_preferred: state.read_max,
                read_multiple: 1,
                write_max: state.write_max,
                write_preferred: state.write_max,
                write_multiple: 1,
                dir_preferred: 4096,
                max_file_bytes: u64::MAX,
                time_delta: Time::default(),
                properties: 0,
            };
            reply(xid, &FsInfoResult::Ok(info))
        }
        Procedure::ReadDirPlus => {
            let entry = EntryPlus {
                fileid: 2,
                name: Name(b"file"),
                cookie: 1,
                attributes: Some(attributes(FileKind::Regular, size)),
                file: Some(FILE),
            };
            let ok = ReadDirPlusOk {
                dir_attributes: None,
                verifier: [0; 8],
                entries: vec![entry],
                eof: true,
            };
            reply(xid, &ReadDirPlusResult::Ok(ok))
        }
        Procedure::Read => {
            let ReadArgs { offset, count, .. } = arguments.value().unwrap();
            let count = count.min(state.read_max);
            let start = usize::try_from(offset.min(size)).unwrap();
            let end = state.data.len().min(start + count as usize);
            let data = &state.data[start..end];
            let ok = ReadOk {
                attributes: Some(attributes(FileKind::Regular, size)),
                count: u32::try_from(data.len()).unwrap(),
                eof: end == state.data.len(),
                data,
            };
            reply(xid, &ReadResult::Ok(ok))
        }
        Procedure::Write => {
            let WriteArgs { offset, data, stable, .. } = arguments.value().unwrap();
            let start = usize::try_from(offset).unwrap();
            state.data[start..start + data.len()].copy_from_slice(data);
            if stable != Stability::Unstable {
                state.durable[start..start + data.len()].copy_from_slice(data);
            }
            let ok = WriteOk {
                file: WeakData::default(),
                count: u32::try_from(data.len()).unwrap(),
                committed: stable,
                verifier: state.verifier,
            };
            reply(xid, &WriteResult::Ok(ok))
        }
        Procedure::Commit => {
            state.durable = state.data.clone();
            let ok = CommitOk { file: WeakData::default(), verifier: state.verifier };
            reply(xid, &CommitResult::Ok(ok))
        }
        other => panic!("the client sent {other:?}"),
    }
}
