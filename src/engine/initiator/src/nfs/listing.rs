//! Listing a directory: READDIRPLUS, or READDIR with GETATTRs where the server has only that.

use plimsoll_wire::nfs3::{
    Attributes, Entry, EntryPlus, FileKind, Procedure, ReadDirArgs, ReadDirOk, ReadDirPlusArgs,
    ReadDirPlusOk, ReadDirPlusResult, ReadDirResult, Status,
};

use super::{Export, Found, Handle};
use crate::{Error, Outcome};

/// Bytes asked for at once.
const PIECE_BYTES: u32 = 64 << 10;
/// Entries a listing may have: a probe's own directory and the root of a datastore have few.
const MAX_ENTRIES: usize = 1_000_000;

/// An entry of a directory.
#[derive(Debug, Clone)]
pub struct DirEntry {
    /// Name, in the server's bytes.
    pub name: Vec<u8>,
    /// Identity of the file.
    pub fileid: u64,
    /// Handle, if the server gave it.
    pub handle: Option<Handle>,
    /// Attributes, if the server gave them.
    pub attributes: Option<Attributes>,
}

/// Where a listing goes on.
#[derive(Default)]
struct Position {
    cookie: u64,
    verifier: [u8; 8],
}

impl Export {
    /// All entries of a directory without `.` and `..`.
    pub fn list(&mut self, dir: &Handle) -> Result<Vec<DirEntry>, Error> {
        match self.list_by(dir, Self::plus) {
            Err(Error::Command { outcome: Outcome::Nfs(status), .. })
                if status == Status::NOT_SUPPORTED.0 || status == Status::TOO_SMALL.0 =>
            {
                self.list_by(dir, Self::plain)
            }
            answer => answer,
        }
    }

    fn list_by(
        &mut self,
        dir: &Handle,
        piece: fn(&mut Self, &Handle, &mut Position, &mut Vec<DirEntry>) -> Result<bool, Error>,
    ) -> Result<Vec<DirEntry>, Error> {
        let mut position = Position::default();
        let mut entries = Vec::new();
        loop {
            let before = entries.len();
            let eof = piece(self, dir, &mut position, &mut entries)?;
            if eof {
                break;
            }
            if entries.len() == before || entries.len() > MAX_ENTRIES {
                let reason = "a directory listing does not come to an end".to_owned();
                return Err(Error::Protocol { peer: self.server().to_string(), reason });
            }
        }
        entries.retain(|entry| entry.name != b"." && entry.name != b"..");
        Ok(entries)
    }

    fn plus(
        &mut self,
        dir: &Handle,
        position: &mut Position,
        entries: &mut Vec<DirEntry>,
    ) -> Result<bool, Error> {
        let Position { cookie, verifier } = *position;
        let (dir_count, max_count) = (PIECE_BYTES / 8, PIECE_BYTES);
        let arguments = ReadDirPlusArgs { dir: dir.wire(), cookie, verifier, dir_count, max_count };
        self.call(Procedure::ReadDirPlus, "READDIRPLUS", &arguments, |results| {
            let result: ReadDirPlusResult<'_> = results.value()?;
            Ok(result.map(|ReadDirPlusOk { verifier, entries: piece, eof, .. }| {
                position.verifier = verifier;
                for EntryPlus { fileid, name, cookie, attributes, file } in piece {
                    position.cookie = cookie;
                    let (name, handle) = (name.0.to_vec(), file.map(Handle::from));
                    entries.push(DirEntry { name, fileid, handle, attributes });
                }
                eof
            }))
        })
    }

    fn plain(
        &mut self,
        dir: &Handle,
        position: &mut Position,
        entries: &mut Vec<DirEntry>,
    ) -> Result<bool, Error> {
        let Position { cookie, verifier } = *position;
        let arguments = ReadDirArgs { dir: dir.wire(), cookie, verifier, count: PIECE_BYTES };
        self.call(Procedure::ReadDir, "READDIR", &arguments, |results| {
            let result: ReadDirResult<'_> = results.value()?;
            Ok(result.map(|ReadDirOk { verifier, entries: piece, eof, .. }| {
                position.verifier = verifier;
                for Entry { fileid, name, cookie } in piece {
                    position.cookie = cookie;
                    let name = name.0.to_vec();
                    entries.push(DirEntry { name, fileid, handle: None, attributes: None });
                }
                eof
            }))
        })
    }

    /// The largest regular file of a directory: what a probe that may only read reads.
    pub fn largest_file(&mut self, dir: &Handle) -> Result<Option<(Vec<u8>, Found)>, Error> {
        let mut largest: Option<(Vec<u8>, Found)> = None;
        for entry in self.list(dir)? {
            let found = match (entry.handle, entry.attributes) {
                (Some(handle), Some(attributes)) => Some(Found { handle, attributes }),
                _ => self.lookup(dir, &entry.name)?,
            };
            let Some(found) = found else { continue };
            let size = |found: &Found| found.attributes.size_bytes;
            if found.attributes.kind == FileKind::Regular
                && largest.as_ref().is_none_or(|(_, best)| size(best) < size(&found))
            {
                largest = Some((entry.name, found));
            }
        }
        Ok(largest)
    }
}
