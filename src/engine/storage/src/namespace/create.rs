//! Making objects: CREATE, MKDIR, SYMLINK, MKNOD, LINK.

use std::sync::Arc;

use super::attributes::{Around, Attributes, FileId, Kind, SetAttributes, SetTime, Timestamp};
use super::credential::Credential;
use super::data::Data;
use super::directory::Directory;
use super::error::FileError;
use super::inode::{Content, Inode};
use super::journal::Change;
use super::name::Name;
use super::tree::Tree;
use super::{Done, LINK_MAX, LINKS_MAX, Namespace};

/// Size that a directory is shown with.
pub(super) const DIRECTORY_BYTES: u64 = 4096;

/// How a file is created (createhow3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// An existing file is taken as it is, but for a size that is to be set.
    Unchecked(SetAttributes),
    /// An existing name is an error.
    Guarded(SetAttributes),
    /// An existing name is an error unless this very request made it: it carries the same verifier.
    Exclusive([u8; 8]),
}

/// An object other than a file or a symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Node {
    /// A directory.
    Directory,
    /// A block device with major and minor number.
    BlockDevice(u32, u32),
    /// A character device with major and minor number.
    CharacterDevice(u32, u32),
    /// A socket.
    Socket,
    /// A named pipe.
    Fifo,
}

/// What was made, and its directory.
#[derive(Debug)]
pub struct Created {
    /// The object.
    pub inode: Arc<Inode>,
    /// Its attributes.
    pub attributes: Attributes,
    /// The directory around the change.
    pub directory: Around,
}

struct New<'a> {
    kind: Kind,
    device: (u32, u32),
    default_mode: u32,
    set: SetAttributes,
    exclusive: Option<[u8; 8]>,
    text: &'a [u8],
}

impl Namespace {
    /// Makes a regular file.
    pub fn create(
        &self,
        who: &Credential<'_>,
        directory: &Inode,
        name: &[u8],
        how: How,
        now: Timestamp,
    ) -> Result<Done<Created>, FileError> {
        let (set, exclusive) = match how {
            How::Unchecked(set) | How::Guarded(set) => (set, None),
            How::Exclusive(verifier) => (SetAttributes::default(), Some(verifier)),
        };
        let new = New {
            kind: Kind::Regular,
            device: (0, 0),
            default_mode: if exclusive.is_some() { 0o600 } else { 0o644 },
            set,
            exclusive,
            text: b"",
        };
        match self.make(who, directory, name, &new, now) {
            Err(FileError::Exists) if !matches!(how, How::Guarded(_)) => {
                self.reuse(who, directory, name, how, now)
            }
            other => other,
        }
    }

    /// Makes a directory or a special node.
    pub fn make_node(
        &self,
        who: &Credential<'_>,
        directory: &Inode,
        name: &[u8],
        node: Node,
        set: SetAttributes,
        now: Timestamp,
    ) -> Result<Done<Created>, FileError> {
        let (kind, device) = match node {
            Node::Directory => (Kind::Directory, (0, 0)),
            Node::BlockDevice(major, minor) => (Kind::BlockDevice, (major, minor)),
            Node::CharacterDevice(major, minor) => (Kind::CharacterDevice, (major, minor)),
            Node::Socket => (Kind::Socket, (0, 0)),
            Node::Fifo => (Kind::Fifo, (0, 0)),
        };
        let default_mode = if kind == Kind::Directory { 0o755 } else { 0o644 };
        let set = SetAttributes { size: None, ..set };
        let new = New { kind, device, default_mode, set, exclusive: None, text: b"" };
        self.make(who, directory, name, &new, now)
    }

    /// Makes a symbolic link.
    pub fn make_symlink(
        &self,
        who: &Credential<'_>,
        directory: &Inode,
        name: &[u8],
        text: &[u8],
        set: SetAttributes,
        now: Timestamp,
    ) -> Result<Done<Created>, FileError> {
        if text.len() > LINK_MAX {
            return Err(FileError::NameTooLong);
        }
        if text.is_empty() {
            return Err(FileError::Invalid);
        }
        let new = New {
            kind: Kind::Symlink,
            device: (0, 0),
            default_mode: 0o777,
            set: SetAttributes { size: Some(text.len() as u64), ..set },
            exclusive: None,
            text,
        };
        self.make(who, directory, name, &new, now)
    }

    /// Gives an object another name. The object's and the directory's attributes are told.
    pub fn link(
        &self,
        who: &Credential<'_>,
        inode: &Inode,
        directory: &Inode,
        name: &[u8],
        now: Timestamp,
    ) -> Result<Done<(Attributes, Around)>, FileError> {
        self.check_writable()?;
        let name = existing_or_new(name)?;
        if inode.kind() == Kind::Directory {
            return Err(FileError::IsDirectory);
        }
        let mut tree = self.tree_mut();
        let id = tree.find(inode.id())?.id();
        tree.changeable(who, directory)?;
        let entries = tree.entries_mut(directory)?;
        if entries.find(name.bytes()).is_some() {
            return Err(FileError::Exists);
        }
        {
            let mut state = inode.state();
            if state.attributes.links >= LINKS_MAX {
                return Err(FileError::TooManyLinks);
            }
            state.attributes.links += 1;
            state.attributes.changed = state.attributes.changed.advanced_to(now);
        }
        let name = name.keep();
        let cookie = entries.insert(Arc::clone(&name), id);
        let mut changes = vec![
            Change::Put(id, tree.record(inode)),
            Change::Link { directory: directory.id(), cookie, id, name },
        ];
        let around = tree.touch_directory(directory, 0, now, &mut changes);
        let ticket = self.push(changes);
        Ok(Done { value: (inode.attributes(), around), ticket })
    }

    fn make(
        &self,
        who: &Credential<'_>,
        directory: &Inode,
        name: &[u8],
        new: &New<'_>,
        now: Timestamp,
    ) -> Result<Done<Created>, FileError> {
        self.check_writable()?;
        let name = existing_or_new(name)?;
        if new.set.size.is_some_and(|size| size > super::FILE_SIZE_MAX) {
            return Err(FileError::TooLarge);
        }
        let mut tree = self.tree_mut();
        let parent = tree.changeable(who, directory)?;
        if tree.entries(directory)?.find(name.bytes()).is_some() {
            return Err(FileError::Exists);
        }
        let objects = tree.inodes.len() as u64;
        if objects >= self.objects_max.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(FileError::NoSpace);
        }
        let id = FileId(tree.next);
        let attributes = first_attributes(who, &parent, id, new, now)?;
        let content = match new.kind {
            Kind::Regular => Content::Data(match &self.data_folder {
                Some(folder) => Data::host(folder, id, &self.space, &self.open_files, 0),
                None => Data::memory(&self.space),
            }),
            Kind::Symlink => Content::Symlink(new.text.into()),
            _ => Content::Nothing,
        };
        tree.next += 1;
        let inode = Arc::new(Inode::new(attributes, new.exclusive, content));
        let subdirectories = add_subdirectory(&mut tree, &inode, directory);
        tree.inodes.insert(id, Arc::clone(&inode));
        let name = name.keep();
        let cookie = tree.entries_mut(directory)?.insert(Arc::clone(&name), id);
        let mut changes = vec![
            Change::Put(id, tree.record(&inode)),
            Change::Link { directory: directory.id(), cookie, id, name },
        ];
        let directory = tree.touch_directory(directory, subdirectories, now, &mut changes);
        let ticket = self.push(changes);
        inode.state().recorded = ticket;
        Ok(Done { value: Created { attributes: inode.attributes(), inode, directory }, ticket })
    }

    /// CREATE of a name that exists: an answer to a repeated EXCLUSIVE request, or UNCHECKED.
    fn reuse(
        &self,
        who: &Credential<'_>,
        directory: &Inode,
        name: &[u8],
        how: How,
        now: Timestamp,
    ) -> Result<Done<Created>, FileError> {
        let inode = self.lookup(who, directory, name)?;
        let around = directory.attributes();
        let around = Around { before: around.before(), after: around };
        if inode.kind() != Kind::Regular {
            return Err(FileError::Exists);
        }
        let recorded = inode.state().recorded;
        let done = |ticket, attributes| {
            let value = Created { inode: Arc::clone(&inode), attributes, directory: around };
            Ok(Done { value, ticket })
        };
        match how {
            How::Exclusive(verifier) if inode.state().exclusive == Some(verifier) => {
                done(recorded, inode.attributes())
            }
            How::Unchecked(SetAttributes { size: Some(size), .. }) => {
                let set = SetAttributes { size: Some(size), ..SetAttributes::default() };
                let set = self.set_attributes(who, &inode, &set, None, now)?;
                done(set.ticket, set.value.after)
            }
            How::Unchecked(_) => done(recorded, inode.attributes()),
            How::Exclusive(_) | How::Guarded(_) => Err(FileError::Exists),
        }
    }
}

/// A new directory gets its place in the tree; tells how many directories its parent has more.
fn add_subdirectory(tree: &mut Tree, inode: &Inode, parent: &Inode) -> i32 {
    if inode.kind() != Kind::Directory {
        return 0;
    }
    tree.directories.insert(inode.id(), Directory::new(parent.id()));
    1
}

/// A name to be made: `.` and `..` exist already in every directory.
pub(super) fn existing_or_new(name: &[u8]) -> Result<Name<'_>, FileError> {
    match name {
        b"." | b".." => Err(FileError::Exists),
        _ => Name::new(name),
    }
}

fn first_attributes(
    who: &Credential<'_>,
    parent: &Attributes,
    id: FileId,
    new: &New<'_>,
    now: Timestamp,
) -> Result<Attributes, FileError> {
    let set = &new.set;
    // A directory with the set-group-id bit hands its group and the bit down.
    let inherits = parent.mode & 0o2000 != 0;
    let group = if inherits { parent.gid } else { who.gid };
    let uid = set.uid.unwrap_or(who.uid);
    let gid = set.gid.unwrap_or(group);
    if who.uid != 0 && (uid != who.uid || !(gid == group || who.in_group(gid))) {
        return Err(FileError::NotOwner);
    }
    let mut mode = set.mode.unwrap_or(new.default_mode) & 0o7777;
    if inherits && new.kind == Kind::Directory {
        mode |= 0o2000;
    }
    let time = |wanted| match wanted {
        SetTime::To(time) => time,
        SetTime::Keep | SetTime::Now => now,
    };
    Ok(Attributes {
        id,
        kind: new.kind,
        mode,
        links: if new.kind == Kind::Directory { 2 } else { 1 },
        uid,
        gid,
        size: match new.kind {
            Kind::Directory => DIRECTORY_BYTES,
            Kind::Regular | Kind::Symlink => set.size.unwrap_or(0),
            _ => 0,
        },
        used: 0,
        device: new.device,
        accessed: time(set.accessed),
        modified: time(set.modified),
        changed: now,
    })
}
