//! SETATTR: mode, owner, times, and the size of a file.

use std::sync::Arc;

use super::attributes::{Around, Attributes, Kind, SetAttributes, SetTime, Timestamp};
use super::credential::{Credential, WRITE};
use super::error::FileError;
use super::inode::Inode;
use super::journal::{Change, Ticket};
use super::{Done, FILE_SIZE_MAX, Namespace};

/// A truncation that lets go of at least so many bytes is work for the pool of threads.
const LARGE_CUT_BYTES: u64 = 64 << 20;

impl Namespace {
    /// Whether these changes may keep a thread waiting, so that they belong on the pool of threads.
    pub fn set_may_block(&self, inode: &Inode, set: &SetAttributes) -> bool {
        let (Some(size), Some(data)) = (set.size, inode.data()) else { return false };
        let large =
            size < inode.state().attributes.size && data.allocated_bytes() >= LARGE_CUT_BYTES;
        large || data.needs_flush()
    }

    /// Sets attributes; with a `guard` only if it is the time of the last change.
    ///
    /// A change of size is exclusive towards reads and writes of the file. What is cut off is durably gone
    /// before the new size is, so that no later growth can bring it back.
    pub fn set_attributes(
        &self,
        who: &Credential<'_>,
        inode: &Arc<Inode>,
        set: &SetAttributes,
        guard: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Done<Around>, FileError> {
        self.check_writable()?;
        if let Some(size) = set.size {
            match inode.kind() {
                Kind::Regular => {}
                Kind::Directory => return Err(FileError::IsDirectory),
                _ => return Err(FileError::Invalid),
            }
            if size > FILE_SIZE_MAX {
                return Err(FileError::TooLarge);
            }
        }
        let value = {
            let _gate = set.size.map(|_| inode.gate_exclusive());
            let size = {
                let state = inode.state();
                check(who, &state.attributes, set, guard)?;
                state.attributes.size
            };
            if let (Some(smaller), Some(data)) = (set.size.filter(|new| *new < size), inode.data())
            {
                data.cut(size, smaller)?;
            }
            let mut state = inode.state();
            if inode.is_gone() {
                return Err(FileError::Stale);
            }
            let before = state.attributes.before();
            apply(who, &mut state.attributes, set, now);
            state.dirty = true;
            Around { before, after: inode.with_used(state.attributes) }
        };
        let ticket = match inode.data().filter(|_| set.size.is_some()) {
            Some(_) => self.flush_once(inode)?,
            None => self.write_down(inode),
        };
        Ok(Done { value, ticket })
    }

    /// Queues the attributes of an object as they are now.
    pub(super) fn write_down(&self, inode: &Inode) -> Ticket {
        let Some(journal) = &self.journal else { return Ticket::STABLE };
        // The entries of a directory stand in the tree, which is locked before the object's state.
        let tree = (inode.kind() == Kind::Directory).then(|| self.tree());
        let entries = tree.as_ref().and_then(|tree| tree.directories.get(&inode.id()));
        let mut state = inode.state();
        if state.dirty && !inode.is_gone() {
            state.dirty = false;
            let record = inode.record(&state, entries);
            state.recorded = journal.push(vec![Change::Put(inode.id(), record)]);
        }
        state.recorded
    }
}

fn check(
    who: &Credential<'_>,
    object: &Attributes,
    set: &SetAttributes,
    guard: Option<Timestamp>,
) -> Result<(), FileError> {
    if guard.is_some_and(|guard| guard != object.changed) {
        return Err(FileError::NotInSync);
    }
    if who.uid == 0 {
        return Ok(());
    }
    let owner = who.uid == object.uid;
    if set.size.is_some() && !who.may_write_data(object) {
        return Err(FileError::Denied);
    }
    let gives_away = set.uid.is_some_and(|uid| uid != object.uid);
    let regroups = set.gid.is_some_and(|gid| gid != object.gid && !(owner && who.in_group(gid)));
    let own_times = [set.accessed, set.modified].iter().any(|time| matches!(time, SetTime::To(_)));
    if gives_away || regroups || (!owner && (set.mode.is_some() || own_times)) {
        return Err(FileError::NotOwner);
    }
    let touches = [set.accessed, set.modified].contains(&SetTime::Now);
    if touches && !owner && !who.may(object, WRITE) {
        return Err(FileError::Denied);
    }
    Ok(())
}

fn apply(who: &Credential<'_>, object: &mut Attributes, set: &SetAttributes, now: Timestamp) {
    object.changed = object.changed.advanced_to(now);
    if let Some(size) = set.size {
        if size != object.size {
            object.modified = object.changed;
        }
        object.size = size;
    }
    object.uid = set.uid.unwrap_or(object.uid);
    object.gid = set.gid.unwrap_or(object.gid);
    if who.uid != 0 && (set.uid.is_some() || set.gid.is_some() || set.size.is_some()) {
        drop_privilege(object);
    }
    if let Some(mode) = set.mode {
        object.mode = mode & 0o7777;
    }
    let set_time = |time: &mut Timestamp, wanted| match wanted {
        SetTime::Keep => {}
        SetTime::Now => *time = now,
        SetTime::To(value) => *time = value,
    };
    set_time(&mut object.accessed, set.accessed);
    set_time(&mut object.modified, set.modified);
}

/// A file changed by somebody without privilege does not keep what runs with another's.
pub(super) fn drop_privilege(object: &mut Attributes) {
    if object.kind == Kind::Regular && object.mode & 0o111 != 0 {
        object.mode &= !0o4000;
        if object.mode & 0o010 != 0 {
            object.mode &= !0o2000;
        }
    }
}
