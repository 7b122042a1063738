//! The MOUNT protocol (RFC 1813 appendix I): from the path of an export to its first handle.
//!
//! A path below an export mounts that directory; symbolic links on the way are not followed. What clients
//! have mounted is remembered for DUMP only, and means nothing: access is decided at every request.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use plimsoll_fabric::Io;
use plimsoll_storage::namespace::{Credential, FileError};
use plimsoll_wire::mount3::{
    self, DirPath, ExportNode, HostName, MountEntry, MountOk, MountResult, MountStatus,
};
use plimsoll_wire::nfs3::FileHandle;
use plimsoll_wire::rpc::{Accepted, Call};
use plimsoll_wire::xdr::Reader;

use crate::connection::NfsConnection;
use crate::handle::Handle;
use crate::reply::{self, Refused};

/// Mounts remembered; the oldest are forgotten.
const MOUNTS_MAX: usize = 4096;

/// Who mounted what.
#[derive(Default)]
pub(crate) struct Mounts(Mutex<VecDeque<(IpAddr, String)>>);

impl Mounts {
    fn change<T>(&self, change: impl FnOnce(&mut VecDeque<(IpAddr, String)>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, host: IpAddr, path: &str) {
        self.change(|mounts| {
            if mounts.iter().any(|(other, mounted)| *other == host && mounted == path) {
                return;
            }
            if mounts.len() >= MOUNTS_MAX {
                mounts.pop_front();
            }
            mounts.push_back((host, path.to_owned()));
        });
    }

    fn remove(&self, host: IpAddr, path: Option<&str>) {
        self.change(|mounts| {
            mounts.retain(|(other, mounted)| {
                *other != host || path.is_some_and(|path| path != mounted)
            });
        });
    }

    /// All of them.
    pub fn all(&self) -> Vec<(IpAddr, String)> {
        self.change(|mounts| mounts.iter().cloned().collect())
    }
}

impl NfsConnection {
    pub(crate) fn mount(
        &mut self,
        call: &Call<'_>,
        args: &mut Reader<'_>,
        io: &mut Io<'_>,
    ) -> Result<(), Refused> {
        let xid = call.xid;
        let send = &mut *io.send;
        match call.procedure {
            mount3::PROC_NULL => reply::send(send, xid, &()),
            mount3::PROC_MNT => {
                let path: DirPath<'_> = args.value()?;
                match self.mount_path(path) {
                    Ok(handle) => {
                        let flavors = vec![mount3::FLAVOR_AUTH_SYS];
                        let ok = MountOk { handle: FileHandle(&handle), flavors };
                        reply::send(send, xid, &MountResult::Ok(ok));
                    }
                    Err(status) => reply::send(send, xid, &MountResult::Err(status)),
                }
            }
            mount3::PROC_UMNT => {
                let path: DirPath<'_> = args.value()?;
                self.shared.mounts.remove(self.peer, Some(&String::from_utf8_lossy(path.0)));
                reply::send(send, xid, &());
            }
            mount3::PROC_UMNTALL => {
                self.shared.mounts.remove(self.peer, None);
                reply::send(send, xid, &());
            }
            mount3::PROC_DUMP => {
                let mounts: Vec<_> = self.shared.mounts.all();
                let mounts: Vec<_> =
                    mounts.iter().map(|(host, path)| (host.to_string(), path)).collect();
                let entries: Vec<MountEntry<'_>> = mounts
                    .iter()
                    .map(|(host, path)| MountEntry {
                        host: HostName(host.as_bytes()),
                        path: DirPath(path.as_bytes()),
                    })
                    .collect();
                reply::send(send, xid, &entries);
            }
            mount3::PROC_EXPORT => self.exports(xid, io),
            _ => return Err(Refused::Accepted(Accepted::ProcedureUnavailable)),
        }
        Ok(())
    }

    /// The exports that the peer may use, and the networks that may.
    fn exports(&self, xid: u32, io: &mut Io<'_>) {
        let mut exports = self.shared.exports.all();
        exports.retain(|export| export.access().rule_for(self.peer).is_some());
        let networks: Vec<Vec<String>> = exports
            .iter()
            .map(|export| export.access().networks().map(|network| network.to_string()).collect())
            .collect();
        let nodes: Vec<ExportNode<'_>> = exports
            .iter()
            .zip(&networks)
            .map(|(export, networks)| ExportNode {
                path: DirPath(export.path().as_bytes()),
                groups: networks.iter().map(|network| HostName(network.as_bytes())).collect(),
            })
            .collect();
        reply::send(io.send, xid, &nodes);
    }

    fn mount_path(&mut self, path: DirPath<'_>) -> Result<Handle, MountStatus> {
        let path = std::str::from_utf8(path.0).map_err(|_| MountStatus::NOT_FOUND)?;
        let (export, below) = self.shared.exports.by_path(path).ok_or(MountStatus::NOT_FOUND)?;
        // Who may not use an export does not learn what is below it.
        self.links.link(&export).ok_or(MountStatus::ACCESS)?;
        let inode = export.namespace().lookup_path(&Credential::ROOT, below.as_bytes());
        let inode = inode.map_err(|error| match error {
            FileError::NotDirectory => MountStatus::NOT_DIRECTORY,
            FileError::NameTooLong => MountStatus::NAME_TOO_LONG,
            FileError::Io => MountStatus::IO,
            _ => MountStatus::NOT_FOUND,
        })?;
        if inode.kind() != plimsoll_storage::namespace::FileKind::Directory {
            return Err(MountStatus::NOT_DIRECTORY);
        }
        self.shared.mounts.add(self.peer, path);
        Ok(export.signer.handle(inode.id()))
    }
}
