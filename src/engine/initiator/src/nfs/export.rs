//! A mounted export, used one call at a time: looking around, making and removing files.
//!
//! This is what a probe needs before and after its run. The run itself goes through [`super::open`].

use std::net::SocketAddr;

use plimsoll_wire::mount3::{self, DirPath, MountOk, MountResult, MountStatus};
use plimsoll_wire::nfs3::{
    self, Attributes, CommitArgs, CommitResult, CreateArgs, CreateHow, CreateOk, CreateResult,
    DirOp, Failure, FsInfoOk, FsInfoResult, FsStatOk, FsStatResult, GetAttrResult, LookupOk,
    LookupResult, MakeDirArgs, Name, Procedure, ReadArgs, ReadOk, ReadResult, RemoveResult,
    RenameArgs, RenameResult, SetAttrArgs, SetAttrResult, SetAttributes, Stability, Status,
    Verifier, WriteArgs, WriteOk, WriteResult,
};
use plimsoll_wire::rpc::Credential;
use plimsoll_wire::xdr::{Reader, Xdr};

use super::caller::{Caller, Fault, Target, owned};
use super::{Handle, Identity, locate};
use crate::{Error, NfsUrl, Options, Outcome, tcp};

/// What [`Export::lookup`] and the creating calls find.
#[derive(Debug, Clone, Copy)]
pub struct Found {
    /// Handle of the file or directory.
    pub handle: Handle,
    /// Its attributes.
    pub attributes: Attributes,
}

/// A mounted export.
pub struct Export {
    pub(super) caller: Caller,
    pub(super) identity: Identity,
    mount: SocketAddr,
    path: String,
    root: Handle,
    limits: FsInfoOk,
}

impl Export {
    /// Mounts what a URL names: an export, or a file or folder within one.
    pub fn mount(url: &NfsUrl, options: &Options) -> Result<Self, Error> {
        let mut last = None;
        for address in tcp::resolve(&url.host, url.port.unwrap_or(nfs3::PORT))? {
            match Self::mount_at(address, url, options) {
                Ok(export) => return Ok(export),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| Error::Resolve {
            host: url.host.clone(),
            source: std::io::ErrorKind::NotFound.into(),
        }))
    }

    fn mount_at(address: SocketAddr, url: &NfsUrl, options: &Options) -> Result<Self, Error> {
        let identity = Identity::new(&options.nfs);
        let credential = identity.credential();
        let caller = |peer| Caller::new(peer, options.connect_timeout, options.op_timeout);
        let by_portmap = |program, version| locate::ask(address.ip(), program, version, options);
        let (server, mut mount) = match url.port {
            Some(_) => (address, address),
            None => (
                by_portmap(nfs3::PROGRAM, nfs3::VERSION)?,
                by_portmap(mount3::PROGRAM, mount3::VERSION)?,
            ),
        };
        let mounted = match mount_path(&mut caller(mount), credential, &url.export) {
            Err(Fault::NotServed(_)) => {
                mount = by_portmap(mount3::PROGRAM, mount3::VERSION)?;
                mount_path(&mut caller(mount), credential, &url.export)
            }
            answer => answer,
        };
        let (path, root) = mounted.map_err(|fault| failed(fault, mount))?;
        let mut caller = caller(server);
        let target = nfs(Procedure::FsInfo, "FSINFO");
        let limits: FsInfoResult = caller
            .call(target, credential, &root.wire(), owned)
            .map_err(|fault| failed(fault, server))?;
        let limits = limits.map_err(|failure| status_error("FSINFO", &failure))?;
        let mut export = Self { caller, identity, mount, path: path.to_owned(), root, limits };
        let below = &url.export[path.len()..];
        match export.walk(below)? {
            Some(found) => export.root = found.handle,
            None => {
                let reason = format!("there is no {below} in the export {path}");
                return Err(export.caller.refused(reason));
            }
        }
        Ok(export)
    }

    /// Tells the server that the export is not used any more; it is a courtesy that may fail.
    pub fn unmount(self) -> Result<(), Error> {
        let mut caller = self.caller.sibling(self.mount);
        let target = mount_target(mount3::PROC_UMNT, "UMNT");
        let path = DirPath(self.path.as_bytes());
        let answer = caller.call(target, self.identity.credential(), &path, |_| Ok(()));
        answer.map_err(|fault| failed(fault, self.mount))
    }

    /// What the URL names: a directory, mostly the root of the export, or a file.
    pub fn root(&self) -> Handle {
        self.root
    }

    /// Path of the export as it was mounted.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Where NFS is served.
    pub fn server(&self) -> SocketAddr {
        self.caller.peer()
    }

    /// What the server says of its limits.
    pub fn limits(&self) -> &FsInfoOk {
        &self.limits
    }

    /// One NFS procedure; a failure's status ends up in [`Error::Command`].
    pub(super) fn call<'a, T, F>(
        &mut self,
        procedure: Procedure,
        what: &'static str,
        arguments: &impl Xdr<'a>,
        parse: impl FnOnce(&mut Reader<'_>) -> plimsoll_wire::xdr::Result<Result<T, Failure<F>>>,
    ) -> Result<T, Error> {
        let credential = self.identity.credential();
        match self.caller.call(nfs(procedure, what), credential, arguments, parse) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(failure)) => Err(status_error(what, &failure)),
            Err(fault) => Err(failed(fault, self.caller.peer())),
        }
    }

    /// Attributes of a file (GETATTR).
    pub fn attributes(&mut self, file: &Handle) -> Result<Attributes, Error> {
        self.call(Procedure::GetAttr, "GETATTR", &file.wire(), owned::<GetAttrResult>)
    }

    /// Sets the size of a file (SETATTR).
    pub fn set_size(&mut self, file: &Handle, size_bytes: u64) -> Result<(), Error> {
        let attributes = SetAttributes { size_bytes: Some(size_bytes), ..SetAttributes::default() };
        self.set_attributes(file, attributes)
    }

    /// Sets attributes of a file (SETATTR).
    pub fn set_attributes(
        &mut self,
        file: &Handle,
        attributes: SetAttributes,
    ) -> Result<(), Error> {
        let arguments = SetAttrArgs { file: file.wire(), attributes, guard: None };
        self.call(Procedure::SetAttr, "SETATTR", &arguments, owned::<SetAttrResult>)?;
        Ok(())
    }

    /// Looks a name up in a directory (LOOKUP); none if it is not there.
    pub fn lookup(&mut self, dir: &Handle, name: &[u8]) -> Result<Option<Found>, Error> {
        let arguments = DirOp { dir: dir.wire(), name: Name(name) };
        let found = self.call(Procedure::Lookup, "LOOKUP", &arguments, |results| {
            let result: LookupResult<'_> = results.value()?;
            Ok(result.map(|LookupOk { file, attributes, .. }| (Handle::from(file), attributes)))
        });
        match found {
            Ok((handle, attributes)) => self.found(handle, attributes).map(Some),
            Err(Error::Command { outcome: Outcome::Nfs(status), .. })
                if status == Status::NOT_FOUND.0 =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Makes a file that must not be there yet (CREATE EXCLUSIVE). `verifier` tells this request from those of
    /// others, so that sending it twice makes one file; it is to be unique.
    pub fn create_exclusive(
        &mut self,
        dir: &Handle,
        name: &[u8],
        verifier: [u8; 8],
    ) -> Result<Found, Error> {
        self.create(dir, name, CreateHow::Exclusive(verifier))
    }

    /// Makes a file (CREATE).
    pub fn create(&mut self, dir: &Handle, name: &[u8], how: CreateHow) -> Result<Found, Error> {
        let arguments = CreateArgs { at: DirOp { dir: dir.wire(), name: Name(name) }, how };
        let made = self.call(Procedure::Create, "CREATE", &arguments, made)?;
        self.made(dir, name, made)
    }

    /// Makes a directory (MKDIR).
    pub fn make_dir(&mut self, dir: &Handle, name: &[u8], mode: u32) -> Result<Found, Error> {
        let attributes = SetAttributes { mode: Some(mode), ..SetAttributes::default() };
        let arguments = MakeDirArgs { at: DirOp { dir: dir.wire(), name: Name(name) }, attributes };
        let made = self.call(Procedure::MakeDir, "MKDIR", &arguments, made)?;
        self.made(dir, name, made)
    }

    /// Removes a file (REMOVE).
    pub fn remove(&mut self, dir: &Handle, name: &[u8]) -> Result<(), Error> {
        let arguments = DirOp { dir: dir.wire(), name: Name(name) };
        self.call(Procedure::Remove, "REMOVE", &arguments, owned::<RemoveResult>)?;
        Ok(())
    }

    /// Removes an empty directory (RMDIR).
    pub fn remove_dir(&mut self, dir: &Handle, name: &[u8]) -> Result<(), Error> {
        let arguments = DirOp { dir: dir.wire(), name: Name(name) };
        self.call(Procedure::RemoveDir, "RMDIR", &arguments, owned::<RemoveResult>)?;
        Ok(())
    }

    /// Renames within or between directories (RENAME).
    pub fn rename(&mut self, from: (&Handle, &[u8]), to: (&Handle, &[u8])) -> Result<(), Error> {
        let arguments = RenameArgs {
            from: DirOp { dir: from.0.wire(), name: Name(from.1) },
            to: DirOp { dir: to.0.wire(), name: Name(to.1) },
        };
        self.call(Procedure::Rename, "RENAME", &arguments, owned::<RenameResult>)?;
        Ok(())
    }

    /// Space of the datastore (FSSTAT).
    pub fn space(&mut self) -> Result<FsStatOk, Error> {
        let root = self.root;
        self.call(Procedure::FsStat, "FSSTAT", &root.wire(), owned::<FsStatResult>)
    }

    /// Reads a piece of a file (READ), at most what the server gives at once; and whether it is the last.
    pub fn read(
        &mut self,
        file: &Handle,
        offset: u64,
        count: u32,
    ) -> Result<(Vec<u8>, bool), Error> {
        let count = count.min(self.limits.read_max).min(1 << 20);
        let arguments = ReadArgs { file: file.wire(), offset, count };
        self.call(Procedure::Read, "READ", &arguments, |results| {
            let result: ReadResult<'_> = results.value()?;
            Ok(result.map(|ReadOk { data, eof, .. }| (data.to_vec(), eof)))
        })
    }

    /// Writes to a file (WRITE) until all of `data` is stable.
    pub fn write(&mut self, file: &Handle, offset: u64, data: &[u8]) -> Result<(), Error> {
        let most = self.limits.write_max.clamp(1, 1 << 20) as usize;
        let (mut offset, mut rest) = (offset, data);
        while !rest.is_empty() {
            let piece = &rest[..rest.len().min(most)];
            let written = self.write_piece(file, offset, piece)?;
            offset += written as u64;
            rest = &rest[written..];
        }
        Ok(())
    }

    fn write_piece(&mut self, file: &Handle, offset: u64, data: &[u8]) -> Result<usize, Error> {
        #[expect(clippy::cast_possible_truncation, reason = "a piece has at most a megabyte")]
        let count = data.len() as u32;
        let stable = Stability::FileSync;
        let arguments = WriteArgs { file: file.wire(), offset, count, stable, data };
        let ok: WriteOk = self.call(Procedure::Write, "WRITE", &arguments, owned::<WriteResult>)?;
        if ok.count == 0 || ok.count > count || ok.committed == Stability::Unstable {
            let reason = format!(
                "WRITE of {count} stable bytes took {} with stability {:?}",
                ok.count, ok.committed
            );
            return Err(Error::Protocol { peer: self.caller.peer().to_string(), reason });
        }
        Ok(ok.count as usize)
    }

    /// Makes all of a file stable (COMMIT); gives the verifier of the server's present life.
    pub fn commit(&mut self, file: &Handle) -> Result<Verifier, Error> {
        let arguments = CommitArgs { file: file.wire(), offset: 0, count: 0 };
        let ok = self.call(Procedure::Commit, "COMMIT", &arguments, owned::<CommitResult>)?;
        Ok(ok.verifier)
    }

    /// Walks a path of names below the root; none if a part is not there.
    pub fn walk(&mut self, path: &str) -> Result<Option<Found>, Error> {
        let root = self.root;
        let mut found = Found { handle: root, attributes: self.attributes(&root)? };
        for name in path.split('/').filter(|name| !name.is_empty()) {
            match self.lookup(&found.handle, name.as_bytes())? {
                Some(next) => found = next,
                None => return Ok(None),
            }
        }
        Ok(Some(found))
    }

    /// What was made, asked for again where the server did not tell.
    fn made(
        &mut self,
        dir: &Handle,
        name: &[u8],
        (handle, attributes): (Option<Handle>, Option<Attributes>),
    ) -> Result<Found, Error> {
        match handle {
            Some(handle) => self.found(handle, attributes),
            None => self.lookup(dir, name)?.ok_or_else(|| Error::Protocol {
                peer: self.caller.peer().to_string(),
                reason: "what was just made cannot be found".to_owned(),
            }),
        }
    }

    fn found(&mut self, handle: Handle, attributes: Option<Attributes>) -> Result<Found, Error> {
        let attributes = match attributes {
            Some(attributes) => attributes,
            None => self.attributes(&handle)?,
        };
        Ok(Found { handle, attributes })
    }
}

type Made = (Option<Handle>, Option<Attributes>);

fn made(
    results: &mut Reader<'_>,
) -> plimsoll_wire::xdr::Result<Result<Made, Failure<nfs3::WeakData>>> {
    let result: CreateResult<'_> = results.value()?;
    Ok(result.map(|CreateOk { file, attributes, .. }| (file.map(Handle::from), attributes)))
}

/// Mounts the path or, where only a folder above it is exported, that: gives what was mounted and its handle.
fn mount_path<'p>(
    caller: &mut Caller,
    credential: Credential<'_>,
    path: &'p str,
) -> Result<(&'p str, Handle), Fault> {
    let mut shorter = path;
    let mut first = None;
    loop {
        let status = match mnt(caller, credential, shorter)? {
            Ok(handle) => return Ok((shorter, handle)),
            Err(status) => status,
        };
        // What the server says of the whole path tells more than what it says of a part.
        let first = first.get_or_insert(status);
        match shorter.rfind('/') {
            Some(at) if at > 0 => shorter = &shorter[..at],
            _ => return Err(caller.refused(format!("mount of {path}: {first}")).into()),
        }
    }
}

fn mnt(
    caller: &mut Caller,
    credential: Credential<'_>,
    path: &str,
) -> Result<Result<Handle, MountStatus>, Fault> {
    let target = mount_target(mount3::PROC_MNT, "MNT");
    let answer = caller.call(target, credential, &DirPath(path.as_bytes()), |results| {
        let result: MountResult<'_> = results.value()?;
        Ok(result.map(|MountOk { handle, flavors }| (Handle::from(handle), flavors)))
    })?;
    match answer {
        Ok((_, flavors)) if !flavors.is_empty() && !flavors.iter().any(|flavor| *flavor <= 1) => {
            let reason = format!(
                "{path} wants authentication flavours {flavors:?}; this client offers AUTH_SYS (1)"
            );
            Err(caller.refused(reason).into())
        }
        other => Ok(other.map(|(handle, _)| handle)),
    }
}

fn nfs(procedure: Procedure, what: &'static str) -> Target {
    let (program, version) = (nfs3::PROGRAM, nfs3::VERSION);
    Target { program, version, procedure: procedure as u32, what }
}

fn mount_target(procedure: u32, what: &'static str) -> Target {
    Target { program: mount3::PROGRAM, version: mount3::VERSION, procedure, what }
}

fn status_error<F>(what: &'static str, failure: &Failure<F>) -> Error {
    Error::Command { what, outcome: Outcome::Nfs(failure.status.0) }
}

fn failed(fault: Fault, peer: SocketAddr) -> Error {
    match fault {
        Fault::Failed(error) => error,
        Fault::NotServed(reason) => Error::Refused { peer: peer.to_string(), reason },
    }
}
