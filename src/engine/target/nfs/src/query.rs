//! Procedures that only look: GETATTR, LOOKUP, ACCESS, READLINK, FSSTAT, FSINFO, PATHCONF, and READDIR and
//! READDIRPLUS as far as finding the directory (RFC 1813 section 3.3).

use plimsoll_fabric::Io;
use plimsoll_storage::namespace::{
    Credential, EXECUTE, FILE_SIZE_MAX, FileKind, LINKS_MAX, NAME_MAX, READ, WRITE,
};
use plimsoll_wire::nfs3::{
    AccessArgs, AccessOk, AccessResult, Attributes, DirOp, Failure, FileHandle, FsInfoOk,
    FsInfoResult, FsStatOk, FsStatResult, GetAttrResult, LookupOk, LookupResult, Name, Path,
    PathConfOk, PathConfResult, Procedure, ReadDirArgs, ReadDirPlusArgs, ReadDirResult, ReadLinkOk,
    ReadLinkResult, Status, Time, access, properties,
};
use plimsoll_wire::rpc::{Accepted, AuthSys};
use plimsoll_wire::xdr::Reader;

use crate::connection::NfsConnection;
use crate::convert;
use crate::handle::Handle;
use crate::link::Target;
use crate::list::Listing;
use crate::reply::{self, Refused};
use crate::settings::Settings;

impl NfsConnection {
    /// Procedures that look.
    pub(crate) fn query(
        &mut self,
        procedure: Procedure,
        xid: u32,
        caller: &AuthSys<'_>,
        args: &mut Reader<'_>,
        io: &mut Io<'_>,
    ) -> Result<(), Refused> {
        let send = &mut *io.send;
        let exports = &self.shared.exports;
        let failed = |status| Failure::new(status, None);
        macro_rules! target {
            ($handle:expr, $result:ident) => {
                match self.links.find($handle, exports) {
                    Ok(target) => target,
                    Err(status) => {
                        reply::send(send, xid, &$result::Err(failed(status)));
                        return Ok(());
                    }
                }
            };
        }
        match procedure {
            Procedure::GetAttr => {
                let handle: FileHandle<'_> = args.value()?;
                let result: GetAttrResult = match self.links.find(handle, exports) {
                    Ok(target) => Ok(attributes(target)),
                    Err(status) => Err(Failure::new(status, ())),
                };
                reply::send(send, xid, &result);
            }
            Procedure::Lookup => {
                let at: DirOp<'_> = args.value()?;
                let target = target!(at.dir, LookupResult);
                let who = target.link.rule.squash.apply(caller);
                match lookup(target, &who.credential(), at.name) {
                    Ok(found) => reply::send(send, xid, &LookupResult::Ok(found.result())),
                    Err(failure) => reply::send(send, xid, &LookupResult::Err(failure)),
                }
            }
            Procedure::Access => {
                let asked: AccessArgs<'_> = args.value()?;
                let target = target!(asked.file, AccessResult);
                let who = target.link.rule.squash.apply(caller);
                let result = check_access(target, &who.credential(), asked.access);
                reply::send(send, xid, &result);
            }
            Procedure::ReadLink => {
                let target = target!(args.value()?, ReadLinkResult);
                reply::send(send, xid, &read_link(target));
            }
            Procedure::ReadDir => {
                let asked: ReadDirArgs<'_> = args.value()?;
                let target = target!(asked.dir, ReadDirResult);
                let who = target.link.rule.squash.apply(caller);
                let listing = Listing::plain(&asked);
                send.append(|bytes| listing.answer(xid, target, &who.credential(), bytes));
            }
            Procedure::ReadDirPlus => {
                let asked: ReadDirPlusArgs<'_> = args.value()?;
                let target = target!(asked.dir, ReadDirResult);
                let who = target.link.rule.squash.apply(caller);
                let listing = Listing::plus(&asked);
                send.append(|bytes| listing.answer(xid, target, &who.credential(), bytes));
            }
            Procedure::FsStat => {
                let target = target!(args.value()?, FsStatResult);
                reply::send(send, xid, &FsStatResult::Ok(fs_stat(target)));
            }
            Procedure::FsInfo => {
                let target = target!(args.value()?, FsInfoResult);
                let info = fs_info(target, &self.shared.settings);
                reply::send(send, xid, &FsInfoResult::Ok(info));
            }
            Procedure::PathConf => {
                let target = target!(args.value()?, PathConfResult);
                reply::send(send, xid, &PathConfResult::Ok(path_conf(target)));
            }
            _ => return Err(Refused::Accepted(Accepted::ProcedureUnavailable)),
        }
        Ok(())
    }
}

/// The attributes of a target, as nearly every result carries them.
pub(crate) fn attributes(target: &Target) -> Attributes {
    convert::attributes(target.fsid(), &target.inode.attributes())
}

/// What LOOKUP found; the handle is built by the caller's buffer.
pub(crate) struct Found {
    handle: Handle,
    attributes: Attributes,
    directory: Attributes,
}

impl Found {
    pub fn result(&self) -> LookupOk<'_> {
        LookupOk {
            file: FileHandle(&self.handle),
            attributes: Some(self.attributes),
            dir_attributes: Some(self.directory),
        }
    }
}

pub(crate) fn lookup(
    target: &Target,
    who: &Credential<'_>,
    name: Name<'_>,
) -> Result<Found, Failure<Option<Attributes>>> {
    match target.link.export.namespace().lookup(who, &target.inode, name.0) {
        Ok(inode) => Ok(Found {
            handle: target.handle(inode.id()),
            attributes: convert::attributes(target.fsid(), &inode.attributes()),
            directory: attributes(target),
        }),
        Err(error) => Err(Failure::new(convert::status(error), Some(attributes(target)))),
    }
}

pub(crate) fn check_access(target: &Target, who: &Credential<'_>, asked: u32) -> AccessResult {
    let object = target.inode.attributes();
    let granted = who.granted(&object);
    let mut allowed = 0;
    if object.kind == FileKind::Directory {
        if granted & READ != 0 {
            allowed |= access::READ;
        }
        if granted & EXECUTE != 0 {
            allowed |= access::LOOKUP;
        }
        if granted & WRITE != 0 {
            allowed |= access::MODIFY | access::EXTEND | access::DELETE;
        }
    } else {
        if granted & READ != 0 {
            allowed |= access::READ;
        }
        if granted & EXECUTE != 0 {
            allowed |= access::EXECUTE;
        }
        if granted & WRITE != 0 {
            allowed |= access::MODIFY | access::EXTEND;
        }
    }
    if target.link.rule.read_only {
        allowed &= !(access::MODIFY | access::EXTEND | access::DELETE);
    }
    Ok(AccessOk { attributes: Some(attributes(target)), access: allowed & asked })
}

pub(crate) fn read_link(target: &Target) -> Result<ReadLinkOk<'_>, Failure<Option<Attributes>>> {
    let attributes = Some(attributes(target));
    match target.inode.link_text() {
        Some(text) => Ok(ReadLinkOk { attributes, path: Path(text) }),
        None => Err(Failure::new(Status::INVALID, attributes)),
    }
}

pub(crate) fn fs_stat(target: &Target) -> FsStatOk {
    let usage = target.link.export.namespace().usage();
    FsStatOk {
        attributes: Some(attributes(target)),
        total_bytes: usage.total_bytes,
        free_bytes: usage.free_bytes,
        available_bytes: usage.free_bytes,
        total_files: usage.total_objects,
        free_files: usage.free_objects,
        available_files: usage.free_objects,
        invariant_seconds: 0,
    }
}

pub(crate) fn fs_info(target: &Target, settings: &Settings) -> FsInfoOk {
    let transfer = settings.transfer_max_bytes;
    FsInfoOk {
        attributes: Some(attributes(target)),
        read_max: transfer,
        read_preferred: transfer,
        read_multiple: 4096,
        write_max: transfer,
        write_preferred: transfer,
        write_multiple: 4096,
        dir_preferred: 64 << 10,
        max_file_bytes: FILE_SIZE_MAX,
        time_delta: Time { seconds: 0, nanoseconds: 1 },
        properties: properties::LINK
            | properties::SYMLINK
            | properties::HOMOGENEOUS
            | properties::CAN_SET_TIME,
    }
}

pub(crate) fn path_conf(target: &Target) -> PathConfOk {
    PathConfOk {
        attributes: Some(attributes(target)),
        max_links: LINKS_MAX,
        max_name_bytes: NAME_MAX as u32,
        no_truncation: true,
        chown_restricted: true,
        case_insensitive: false,
        case_preserving: true,
    }
}
