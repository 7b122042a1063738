//! READDIR and READDIRPLUS (RFC 1813 sections 3.3.16 and 3.3.17).
//!
//! Entries are written straight into the send queue while the directory is walked; the answer stops before
//! it would exceed what the client asked for. Cookies stay good whatever happens to the directory, so the
//! verifier changes only with the directory itself.

use plimsoll_storage::Namespace;
use plimsoll_storage::namespace::{Credential, FileError, ListItem};
use plimsoll_wire::nfs3::{
    Attributes, Entry, EntryPlus, Failure, FileHandle, Name, ReadDirArgs, ReadDirOk,
    ReadDirPlusArgs, Status,
};
use plimsoll_wire::rpc::{self, Accepted, record};
use plimsoll_wire::xdr::{Writer, Xdr};

use crate::convert;
use crate::link::Target;
use crate::query;

/// Largest answer built, whatever a client asks for.
const ANSWER_MAX_BYTES: usize = 256 << 10;

type Failed = Failure<Option<Attributes>>;

/// What is asked of a directory; READDIR sets no limit on names alone.
pub(crate) struct Listing {
    cookie: u64,
    verifier: [u8; 8],
    names_max: usize,
    answer_max: usize,
    plus: bool,
}

impl Listing {
    pub fn plain(args: &ReadDirArgs<'_>) -> Self {
        Self {
            cookie: args.cookie,
            verifier: args.verifier,
            names_max: usize::MAX,
            answer_max: (args.count as usize).min(ANSWER_MAX_BYTES),
            plus: false,
        }
    }

    pub fn plus(args: &ReadDirPlusArgs<'_>) -> Self {
        // Some clients send no limit on names.
        let names = if args.dir_count == 0 { usize::MAX } else { args.dir_count as usize };
        Self {
            cookie: args.cookie,
            verifier: args.verifier,
            names_max: names,
            answer_max: (args.max_count as usize).min(ANSWER_MAX_BYTES),
            plus: true,
        }
    }

    /// Appends the whole answer to `bytes`.
    pub fn answer(&self, xid: u32, target: &Target, who: &Credential<'_>, bytes: &mut Vec<u8>) {
        let mut out = Writer::new(bytes);
        let at = record::begin(&mut out);
        rpc::accept(&mut out, xid, Accepted::Success);
        let results = out.len();
        if let Err(failed) = self.entries(target, who, &mut out) {
            out.truncate(results);
            failed.status.put(&mut out);
            failed.detail.put(&mut out);
        }
        record::end(&mut out, at, 0);
    }

    fn entries(
        &self,
        target: &Target,
        who: &Credential<'_>,
        out: &mut Writer<'_>,
    ) -> Result<(), Failed> {
        let directory = query::attributes(target);
        let fail = |error| Failed::new(convert::status(error), Some(directory));
        if target.inode.kind() != plimsoll_storage::namespace::FileKind::Directory {
            return Err(fail(FileError::NotDirectory));
        }
        let verifier = Namespace::list_verifier(&target.inode).to_be_bytes();
        if self.cookie != 0 && self.verifier != verifier {
            return Err(fail(FileError::BadCookie));
        }
        Status::OK.put(out);
        Some(directory).put(out);
        out.fixed(&verifier);
        let (mut answer, mut names) = (ReadDirOk::FRAME_BYTES, 0);
        let mut any = false;
        let mut each = |item: ListItem<'_>| {
            let (answer_bytes, name_bytes) =
                self.put_entry(target, &item, out, |answer_bytes, name_bytes| {
                    answer + answer_bytes <= self.answer_max
                        && (names + name_bytes <= self.names_max || !any)
                });
            answer += answer_bytes;
            names += name_bytes;
            any |= answer_bytes > 0;
            answer_bytes > 0
        };
        let namespace = target.link.export.namespace();
        let end = namespace.list(who, &target.inode, self.cookie, &mut each).map_err(fail)?;
        if !any && !end {
            return Err(Failed::new(Status::TOO_SMALL, Some(directory)));
        }
        out.bool(false);
        out.bool(end);
        Ok(())
    }

    /// Writes an entry if it fits; tells its bytes in the answer and of the name alone, 0 if it does not.
    fn put_entry(
        &self,
        target: &Target,
        item: &ListItem<'_>,
        out: &mut Writer<'_>,
        fits: impl Fn(usize, usize) -> bool,
    ) -> (usize, usize) {
        let fileid = item.inode.id().0;
        let (name, cookie) = (Name(item.name), item.cookie);
        if !self.plus {
            let entry = Entry { fileid, name, cookie };
            let bytes = entry.wire_bytes();
            if !fits(bytes, 0) {
                return (0, 0);
            }
            out.bool(true);
            entry.put(out);
            return (bytes, 0);
        }
        let handle = target.handle(item.inode.id());
        let entry = EntryPlus {
            fileid,
            name,
            cookie,
            attributes: Some(convert::attributes(target.fsid(), &item.inode.attributes())),
            file: Some(FileHandle(&handle)),
        };
        let sizes = (entry.wire_bytes(), entry.dir_bytes());
        if !fits(sizes.0, sizes.1) {
            return (0, 0);
        }
        out.bool(true);
        entry.put(out);
        sizes
    }
}
