//! Procedures that change names or attributes: SETATTR, CREATE, MKDIR, SYMLINK, MKNOD, REMOVE, RMDIR,
//! RENAME, LINK (RFC 1813 section 3.3).
//!
//! A change is executed once (see [`crate::replies`]), on the I/O thread or, when it may block, in the pool
//! of threads; its answer is a record that can be kept and is sent when the change is durable.

use plimsoll_storage::namespace::{Around, Created, Done, How, Node, Ticket, Timestamp};
use plimsoll_wire::nfs3::{
    CreateArgs, CreateHow, CreateOk, CreateResult, DirOp, Failure, FileHandle, FileKind, LinkArgs,
    LinkOk, LinkResult, MakeDirArgs, MakeNode, MakeNodeArgs, Procedure, RemoveResult, RenameArgs,
    RenameOk, RenameResult, SetAttrArgs, SetAttrResult, Status, SymlinkArgs, WeakData,
};
use plimsoll_wire::xdr::{self, Reader};

use crate::access::Caller;
use crate::link::Target;
use crate::{convert, query, reply};

/// The arguments of a change.
pub(crate) enum Change<'a> {
    SetAttr(SetAttrArgs<'a>),
    Create(CreateArgs<'a>),
    MakeDir(MakeDirArgs<'a>),
    Symlink(SymlinkArgs<'a>),
    MakeNode(MakeNodeArgs<'a>),
    Remove(DirOp<'a>),
    RemoveDir(DirOp<'a>),
    Rename(RenameArgs<'a>),
    Link(LinkArgs<'a>),
}

/// What a change left.
pub(crate) struct Outcome {
    /// The answer.
    pub record: Vec<u8>,
    /// What the answer waits for.
    pub ticket: Ticket,
    /// The change was not tried: a repetition is to run.
    pub retry: bool,
}

impl<'a> Change<'a> {
    /// None when the procedure is no change.
    pub fn parse(procedure: Procedure, args: &mut Reader<'a>) -> Result<Option<Self>, xdr::Error> {
        Ok(Some(match procedure {
            Procedure::SetAttr => Self::SetAttr(args.value()?),
            Procedure::Create => Self::Create(args.value()?),
            Procedure::MakeDir => Self::MakeDir(args.value()?),
            Procedure::Symlink => Self::Symlink(args.value()?),
            Procedure::MakeNode => Self::MakeNode(args.value()?),
            Procedure::Remove => Self::Remove(args.value()?),
            Procedure::RemoveDir => Self::RemoveDir(args.value()?),
            Procedure::Rename => Self::Rename(args.value()?),
            Procedure::Link => Self::Link(args.value()?),
            _ => return Ok(None),
        }))
    }

    /// The object it is about, and the directory of the second name of RENAME and LINK.
    pub fn handles(&self) -> (FileHandle<'a>, Option<FileHandle<'a>>) {
        match self {
            Self::SetAttr(args) => (args.file, None),
            Self::Create(args) => (args.at.dir, None),
            Self::MakeDir(args) => (args.at.dir, None),
            Self::Symlink(args) => (args.at.dir, None),
            Self::MakeNode(args) => (args.at.dir, None),
            Self::Remove(args) | Self::RemoveDir(args) => (args.dir, None),
            Self::Rename(args) => (args.from.dir, Some(args.to.dir)),
            Self::Link(args) => (args.file, Some(args.at.dir)),
        }
    }

    /// Whether it may keep its thread waiting.
    pub fn may_block(&self, first: &Target) -> bool {
        match self {
            Self::SetAttr(args) => {
                let set = convert::set_attributes(&args.attributes);
                first.link.export.namespace().set_may_block(&first.inode, &set)
            }
            Self::Create(CreateArgs { how: CreateHow::Unchecked(set), .. }) => {
                set.size_bytes.is_some()
            }
            _ => false,
        }
    }

    fn failure(
        &self,
        xid: u32,
        status: Status,
        first: Option<&Target>,
        second: Option<&Target>,
    ) -> Vec<u8> {
        let now = |target: Option<&Target>| {
            target.filter(|target| !target.inode.is_gone()).map(query::attributes)
        };
        let weak = |target| WeakData { before: None, after: now(target) };
        match self {
            Self::Rename(_) => {
                let detail = RenameOk { from_dir: weak(first), to_dir: weak(second) };
                reply::build(xid, &RenameResult::Err(Failure::new(status, detail)))
            }
            Self::Link(_) => {
                let detail = LinkOk { attributes: now(first), dir: weak(second) };
                reply::build(xid, &LinkResult::Err(Failure::new(status, detail)))
            }
            // All others fail with one wcc_data.
            _ => reply::build(xid, &RemoveResult::Err(Failure::new(status, weak(first)))),
        }
    }

    /// Runs it.
    pub fn execute(
        &self,
        xid: u32,
        caller: &Caller,
        first: &Target,
        second: Option<&Target>,
        now: Timestamp,
    ) -> Outcome {
        match self.run(xid, caller, first, second, now) {
            Ok(Done { value: record, ticket }) => Outcome { record, ticket, retry: false },
            Err(status) => Outcome {
                record: self.failure(xid, status, Some(first), second),
                ticket: Ticket::STABLE,
                retry: status == Status::JUKEBOX,
            },
        }
    }

    fn run(
        &self,
        xid: u32,
        caller: &Caller,
        first: &Target,
        second: Option<&Target>,
        now: Timestamp,
    ) -> Result<Done<Vec<u8>>, Status> {
        if first.link.rule.read_only {
            return Err(Status::READ_ONLY);
        }
        let who = &caller.credential();
        let namespace = first.link.export.namespace();
        let inode = &first.inode;
        let fsid = first.fsid();
        let refused = convert::status;
        match self {
            Self::SetAttr(args) => {
                let set = convert::set_attributes(&args.attributes);
                let guard = args.guard.map(convert::timestamp);
                let done = namespace.set_attributes(who, inode, &set, guard, now);
                let done = done.map_err(refused)?;
                Ok(around(done, |weak| reply::build(xid, &SetAttrResult::Ok(weak)), fsid))
            }
            Self::Create(args) => {
                let how = match &args.how {
                    CreateHow::Unchecked(set) => How::Unchecked(convert::set_attributes(set)),
                    CreateHow::Guarded(set) => How::Guarded(convert::set_attributes(set)),
                    CreateHow::Exclusive(verifier) => How::Exclusive(*verifier),
                };
                let done = namespace.create(who, inode, args.at.name.0, how, now);
                Ok(created(xid, first, done.map_err(refused)?))
            }
            Self::MakeDir(args) => {
                let set = convert::set_attributes(&args.attributes);
                let name = args.at.name.0;
                let done = namespace.make_node(who, inode, name, Node::Directory, set, now);
                Ok(created(xid, first, done.map_err(refused)?))
            }
            Self::Symlink(args) => {
                let set = convert::set_attributes(&args.attributes);
                let (name, text) = (args.at.name.0, args.path.0);
                let done = namespace.make_symlink(who, inode, name, text, set, now);
                Ok(created(xid, first, done.map_err(refused)?))
            }
            Self::MakeNode(args) => {
                let (node, set) = node(&args.node)?;
                let set = convert::set_attributes(&set);
                let done = namespace.make_node(who, inode, args.at.name.0, node, set, now);
                Ok(created(xid, first, done.map_err(refused)?))
            }
            Self::Remove(at) => {
                let done = namespace.remove(who, inode, at.name.0, now).map_err(refused)?;
                Ok(around(done, |weak| reply::build(xid, &RemoveResult::Ok(weak)), fsid))
            }
            Self::RemoveDir(at) => {
                let done = namespace.remove_directory(who, inode, at.name.0, now);
                let done = done.map_err(refused)?;
                Ok(around(done, |weak| reply::build(xid, &RemoveResult::Ok(weak)), fsid))
            }
            Self::Rename(args) => {
                let to = same_export(first, second)?;
                let from = (&**inode, args.from.name.0);
                let done = namespace.rename(who, from, (&to.inode, args.to.name.0), now);
                let Done { value, ticket } = done.map_err(refused)?;
                let from_dir = convert::around(fsid, &value.from);
                let to_dir = convert::around(fsid, &value.to);
                let result = RenameResult::Ok(RenameOk { from_dir, to_dir });
                Ok(Done { value: reply::build(xid, &result), ticket })
            }
            Self::Link(args) => {
                let directory = &same_export(first, second)?.inode;
                let done = namespace.link(who, inode, directory, args.at.name.0, now);
                let Done { value: (attributes, dir), ticket } = done.map_err(refused)?;
                let result = LinkResult::Ok(LinkOk {
                    attributes: Some(convert::attributes(fsid, &attributes)),
                    dir: convert::around(fsid, &dir),
                });
                Ok(Done { value: reply::build(xid, &result), ticket })
            }
        }
    }
}

/// The answer to a change of which nothing is known but that it failed.
pub(crate) fn refusal(procedure: Procedure, xid: u32, status: Status) -> Vec<u8> {
    match procedure {
        Procedure::Rename => {
            reply::build(xid, &RenameResult::Err(Failure::new(status, RenameOk::default())))
        }
        Procedure::Link => {
            reply::build(xid, &LinkResult::Err(Failure::new(status, LinkOk::default())))
        }
        _ => reply::build(xid, &RemoveResult::Err(Failure::new(status, WeakData::default()))),
    }
}

fn around(done: Done<Around>, build: impl FnOnce(WeakData) -> Vec<u8>, fsid: u64) -> Done<Vec<u8>> {
    Done { value: build(convert::around(fsid, &done.value)), ticket: done.ticket }
}

fn created(xid: u32, directory: &Target, done: Done<Created>) -> Done<Vec<u8>> {
    let handle = directory.handle(done.value.inode.id());
    let fsid = directory.fsid();
    let result = CreateResult::Ok(CreateOk {
        file: Some(FileHandle(&handle)),
        attributes: Some(convert::attributes(fsid, &done.value.attributes)),
        dir: convert::around(fsid, &done.value.directory),
    });
    Done { value: reply::build(xid, &result), ticket: done.ticket }
}

/// The second object of RENAME and LINK, which must be of the same export.
fn same_export<'t>(first: &Target, second: Option<&'t Target>) -> Result<&'t Target, Status> {
    match second {
        Some(second) if second.fsid() == first.fsid() => Ok(second),
        Some(_) => Err(Status::CROSS_DEVICE),
        None => Err(Status::SERVER_FAULT),
    }
}

fn node(node: &MakeNode) -> Result<(Node, plimsoll_wire::nfs3::SetAttributes), Status> {
    match *node {
        MakeNode::Device { kind, attributes, device } => {
            let node = match kind {
                FileKind::Block => Node::BlockDevice(device.major, device.minor),
                FileKind::Character => Node::CharacterDevice(device.major, device.minor),
                _ => return Err(Status::BAD_TYPE),
            };
            Ok((node, attributes))
        }
        MakeNode::Pipe { kind: FileKind::Socket, attributes } => Ok((Node::Socket, attributes)),
        MakeNode::Pipe { kind: FileKind::Fifo, attributes } => Ok((Node::Fifo, attributes)),
        MakeNode::Pipe { .. } | MakeNode::Other(_) => Err(Status::BAD_TYPE),
    }
}
