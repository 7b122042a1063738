//! Procedures that only look: GETATTR, LOOKUP, ACCESS, READLINK, FSSTAT, FSINFO, PATHCONF (RFC 1813 section
//! 3.3).

use plimsoll_storage::namespace::{
    Credential, EXECUTE, FILE_SIZE_MAX, FileKind, LINKS_MAX, NAME_MAX, READ, WRITE,
};
use plimsoll_wire::nfs3::{
    AccessOk, AccessResult, Attributes, Failure, FileHandle, FsInfoOk, FsStatOk, LookupOk, Name,
    Path, PathConfOk, ReadLinkOk, Status, Time, access, properties,
};

use crate::convert;
use crate::handle::Handle;
use crate::link::Target;
use crate::settings::Settings;

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
