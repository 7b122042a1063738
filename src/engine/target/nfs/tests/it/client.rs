//! A server for one test, and a client that sends what it is told.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use plimsoll_fabric::{Listening, Loops};
use plimsoll_storage::{Blocking, Kind, Limits, Namespace, Volume, VolumeSettings};
use plimsoll_target_nfs::{Access, Export, Server, Settings};
use plimsoll_wire::mount3::{self, DirPath, MountResult};
use plimsoll_wire::nfs3::{
    self, Attributes, CreateArgs, CreateHow, CreateResult, DirOp, FileHandle, GetAttrResult,
    LookupResult, Name, Procedure, ReadArgs, ReadResult, SetAttributes, Stability, Status,
    WriteArgs, WriteOk, WriteResult,
};
use plimsoll_wire::rpc::{AuthSys, Call, Credential, Reply, record};
use plimsoll_wire::xdr::{Reader, Writer, Xdr};

pub const QUOTA: u64 = 64 << 20;

/// What a test serves; stopped when dropped.
pub struct Running {
    pub server: Server,
    pub volume: Arc<Volume>,
    pub namespace: Arc<Namespace>,
    pub address: SocketAddr,
    _listening: Listening,
    _loops: Loops,
}

#[derive(Default)]
pub struct Setup<'a> {
    pub folder: Option<&'a Path>,
    pub settings: Settings,
    pub limits: Limits,
    pub access: Option<Access>,
}

pub fn start(setup: Setup<'_>) -> Running {
    let blocking = Arc::new(Blocking::start(2, 256).unwrap());
    let settings = VolumeSettings {
        name: "vol0".to_owned(),
        kind: Kind::Files,
        size_bytes: QUOTA,
        limits: setup.limits,
        remote: None,
    };
    let volume = Volume::memory(settings, "0123456789abcdef");
    let space = Arc::clone(volume.space());
    let namespace = match setup.folder {
        Some(folder) => Namespace::open(folder, space, blocking).unwrap(),
        None => Namespace::memory(space, blocking).unwrap(),
    };
    let server = Server::new(setup.settings).unwrap();
    let access = setup.access.unwrap_or_else(Access::everybody);
    let (v, n) = (Arc::clone(&volume), Arc::clone(&namespace));
    server.export(Export::new("/vol0", v, n, access));
    let loops = Loops::start(2, Duration::ZERO, "nfs-test").unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let listening = loops.serve(listener, server.service(None)).unwrap();
    Running { server, volume, namespace, address, _listening: listening, _loops: loops }
}

/// A running server with everything as it is by default.
pub fn memory() -> Running {
    start(Setup::default())
}

/// A client's connection.
pub struct Client {
    pub stream: TcpStream,
    pub caller: AuthSys<'static>,
    xid: u32,
}

/// A handle or other bytes that outlive their answer.
pub type Bytes = Vec<u8>;

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // As real clients do: transaction ids of two connections do not meet.
        static CLIENTS: AtomicU32 = AtomicU32::new(1);
        let xid = CLIENTS.fetch_add(1, Ordering::Relaxed) << 16;
        Self { stream, caller: AuthSys { machine: b"test", ..AuthSys::default() }, xid }
    }

    /// The record of a call, with the next transaction id.
    pub fn record(&mut self, program: u32, version: u32, procedure: u32, args: &[u8]) -> Bytes {
        self.xid += 1;
        let credential = Credential::Sys(self.caller);
        let call = Call { xid: self.xid, program, version, procedure, credential };
        let mut bytes = Vec::new();
        let mut out = Writer::new(&mut bytes);
        let at = record::begin(&mut out);
        call.put(&mut out);
        out.raw(args);
        record::end(&mut out, at, 0);
        bytes
    }

    pub fn nfs_record<'a>(&mut self, procedure: Procedure, args: &impl Xdr<'a>) -> Bytes {
        let mut bytes = Vec::new();
        args.put(&mut Writer::new(&mut bytes));
        self.record(nfs3::PROGRAM, nfs3::VERSION, procedure as u32, &bytes)
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// The next record: a whole RPC reply.
    pub fn receive(&mut self) -> Bytes {
        let mut mark = [0; 4];
        self.stream.read_exact(&mut mark).unwrap();
        let mark = u32::from_be_bytes(mark);
        assert!(mark & record::LAST_FRAGMENT != 0, "one fragment is sent");
        let mut bytes = vec![0; (mark & !record::LAST_FRAGMENT) as usize];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// The transaction id of a reply, its header and its results.
    pub fn split(reply: &[u8]) -> (u32, Reply, Bytes) {
        let (xid, header, results) = Reply::parse(reply).unwrap();
        (xid, header, results.rest().to_vec())
    }

    /// A call and the results of its answer.
    pub fn call(&mut self, program: u32, version: u32, procedure: u32, args: &[u8]) -> Bytes {
        let record = self.record(program, version, procedure, args);
        self.send(&record);
        let reply = self.receive();
        let (xid, header, results) = Self::split(&reply);
        assert_eq!(xid, self.xid);
        assert_eq!(header, Reply::Accepted(plimsoll_wire::rpc::Accepted::Success));
        results
    }

    pub fn nfs<'a>(&mut self, procedure: Procedure, args: &impl Xdr<'a>) -> Bytes {
        let mut bytes = Vec::new();
        args.put(&mut Writer::new(&mut bytes));
        self.call(nfs3::PROGRAM, nfs3::VERSION, procedure as u32, &bytes)
    }

    pub fn mount(&mut self, path: &str) -> Result<Bytes, mount3::MountStatus> {
        let mut bytes = Vec::new();
        DirPath(path.as_bytes()).put(&mut Writer::new(&mut bytes));
        let results = self.call(mount3::PROGRAM, mount3::VERSION, mount3::PROC_MNT, &bytes);
        let result: MountResult<'_> = parse(&results);
        result.map(|ok| ok.handle.0.to_vec())
    }

    pub fn root(&mut self) -> Bytes {
        self.mount("/vol0").unwrap()
    }

    pub fn lookup(&mut self, dir: &[u8], name: &[u8]) -> Result<(Bytes, Attributes), Status> {
        let at = DirOp { dir: FileHandle(dir), name: Name(name) };
        let results = self.nfs(Procedure::Lookup, &at);
        match parse::<LookupResult<'_>>(&results) {
            Ok(ok) => Ok((ok.file.0.to_vec(), ok.attributes.unwrap())),
            Err(failure) => Err(failure.status),
        }
    }

    pub fn create(&mut self, dir: &[u8], name: &[u8], how: CreateHow) -> Result<Bytes, Status> {
        let at = DirOp { dir: FileHandle(dir), name: Name(name) };
        let results = self.nfs(Procedure::Create, &CreateArgs { at, how });
        made(&results)
    }

    pub fn file(&mut self, dir: &[u8], name: &[u8]) -> Bytes {
        self.create(dir, name, CreateHow::Guarded(SetAttributes::default())).unwrap()
    }

    pub fn attributes(&mut self, file: &[u8]) -> Result<Attributes, Status> {
        let results = self.nfs(Procedure::GetAttr, &FileHandle(file));
        parse::<GetAttrResult>(&results).map_err(|failure| failure.status)
    }

    pub fn write(
        &mut self,
        file: &[u8],
        offset: u64,
        data: &[u8],
        stable: Stability,
    ) -> Result<WriteOk, Status> {
        let count = u32::try_from(data.len()).unwrap();
        let args = WriteArgs { file: FileHandle(file), offset, count, stable, data };
        let results = self.nfs(Procedure::Write, &args);
        parse::<WriteResult>(&results).map_err(|failure| failure.status)
    }

    /// Bytes and whether the end was reached.
    pub fn read(&mut self, file: &[u8], offset: u64, count: u32) -> Result<(Bytes, bool), Status> {
        let args = ReadArgs { file: FileHandle(file), offset, count };
        let results = self.nfs(Procedure::Read, &args);
        match parse::<ReadResult<'_>>(&results) {
            Ok(ok) => {
                assert_eq!(ok.count as usize, ok.data.len());
                Ok((ok.data.to_vec(), ok.eof))
            }
            Err(failure) => Err(failure.status),
        }
    }

    pub fn remove(&mut self, dir: &[u8], name: &[u8]) -> Result<(), Status> {
        let at = DirOp { dir: FileHandle(dir), name: Name(name) };
        let results = self.nfs(Procedure::Remove, &at);
        parse::<nfs3::RemoveResult>(&results).map(|_| ()).map_err(|failure| failure.status)
    }
}

/// The handle of what CREATE, MKDIR, SYMLINK or MKNOD made.
pub fn made(results: &[u8]) -> Result<Bytes, Status> {
    match parse::<CreateResult<'_>>(results) {
        Ok(ok) => {
            assert!(ok.dir.before.is_some() && ok.dir.after.is_some());
            Ok(ok.file.unwrap().0.to_vec())
        }
        Err(failure) => Err(failure.status),
    }
}

/// Results, of which nothing may be left over.
pub fn parse<'a, T: Xdr<'a>>(results: &'a [u8]) -> T {
    let mut from = Reader::new(results);
    let value = T::get(&mut from).unwrap();
    assert_eq!(from.remaining(), 0, "bytes after the results");
    value
}
