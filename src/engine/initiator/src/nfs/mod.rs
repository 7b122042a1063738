//! NFSv3 client (RFC 1813) over nconnect flows.
//!
//! ```text
//! open ─▶ Export (one call at a time: MOUNT, LOOKUP, FSINFO) ─▶ File ─▶ flows ─▶ server
//!                                                               │
//!                          Core: operations ─▶ calls ─▶ waiting ┘   Uncommitted: data without its COMMIT
//! ```
//!
//! A probe makes and removes its files with an [`Export`]; its load goes through [`open`], which takes one
//! file of the export as the datastore's address space.

mod caller;
mod calls;
mod commit;
mod core;
mod export;
mod file;
mod flow;
mod handle;
mod identity;
mod links;
mod listing;
mod locate;
mod uncommitted;

pub use export::{Export, Found};
pub use handle::Handle;
pub use listing::DirEntry;
pub use plimsoll_wire::nfs3::{Attributes, CreateHow, FileKind, SetAttributes, Stability, Status};

use self::core::Limits;
use crate::{Datastore, Error, NfsUrl, Options};
use file::{File, Opening};
use identity::Identity;

/// Most connections of one datastore (Linux's limit of nconnect).
pub const MAX_CONNECTIONS: u16 = 16;
/// Largest READ or WRITE this client sends, whatever the server allows.
const MAX_TRANSFER_BYTES: u32 = 4 << 20;

/// How calls are spread over the flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spread {
    /// To the flow with the fewest calls under way; in turn among equals.
    #[default]
    LeastOutstanding,
    /// In turn.
    RoundRobin,
}

/// Options of the NFS client.
#[derive(Debug, Clone)]
pub struct NfsOptions {
    /// File to open, as a path below the URL's; none: what the URL names, or the largest file in it.
    pub file: Option<String>,
    /// Spread over the flows.
    pub spread: Spread,
    /// How stable each write is to be before its answer. Unstable data is committed by flushes, and whenever
    /// `commit_bytes` of it are there.
    pub stability: Stability,
    /// Largest READ in bytes; the server's limit if that is lower.
    pub read_bytes: u32,
    /// Largest WRITE in bytes; the server's limit if that is lower.
    pub write_bytes: u32,
    /// Unstable bytes after which a COMMIT goes out by itself. Until then the data stays in memory.
    pub commit_bytes: u64,
    /// User of AUTH_SYS.
    pub uid: u32,
    /// Group of AUTH_SYS.
    pub gid: u32,
    /// Supplementary groups of AUTH_SYS; the first 16 count.
    pub gids: Vec<u32>,
}

impl Default for NfsOptions {
    fn default() -> Self {
        Self {
            file: None,
            spread: Spread::default(),
            stability: Stability::Unstable,
            read_bytes: 1 << 20,
            write_bytes: 1 << 20,
            commit_bytes: 32 << 20,
            uid: 0,
            gid: 0,
            gids: Vec::new(),
        }
    }
}

/// Mounts an export and opens a file of it.
pub fn open(url: &NfsUrl, options: &Options) -> Result<Box<dyn Datastore>, Error> {
    if !(1..=MAX_CONNECTIONS).contains(&options.connections) {
        let reason = format!("{} is not from 1 to {MAX_CONNECTIONS}", options.connections);
        return Err(Error::Option { option: "connections", reason });
    }
    let mut export = Export::mount(url, options)?;
    let found = pick(&mut export, url, options)?;
    let server = export.server();
    let limit = |server: u32, own: u32| server.min(own).clamp(1, MAX_TRANSFER_BYTES);
    let limits = Limits {
        read_bytes: limit(export.limits().read_max, options.nfs.read_bytes),
        write_bytes: limit(export.limits().write_max, options.nfs.write_bytes),
        commit_bytes: options.nfs.commit_bytes.max(1),
        stability: options.nfs.stability,
    };
    let (identity, export) = (export.identity, url.export.clone());
    let file = File::open(Opening { server, export, found, identity, limits, options })?;
    Ok(Box::new(file))
}

/// The file to open.
fn pick(export: &mut Export, url: &NfsUrl, options: &Options) -> Result<Found, Error> {
    let refuse = |reason: String| Error::Refused { peer: url.host.clone(), reason };
    let path = options.nfs.file.as_deref().unwrap_or("");
    let found = export
        .walk(path)?
        .ok_or_else(|| refuse(format!("there is no file {path} in {}", url.export)))?;
    match found.attributes.kind {
        FileKind::Regular => Ok(found),
        FileKind::Directory => {
            let largest = export.largest_file(&found.handle)?;
            largest.map(|(_, found)| found).ok_or_else(|| {
                refuse(format!("there is no file to read in {}; name or make one", url.export))
            })
        }
        kind => Err(refuse(format!("{path} is a {kind:?}, not a regular file"))),
    }
}

/// Four bytes nobody else has.
fn random() -> u32 {
    let mut bytes = [0; 4];
    if getrandom::fill(&mut bytes).is_err() {
        // Better than nothing: only the ids of calls depend on it.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        return now.map_or(1, |now| now.subsec_nanos()) ^ std::process::id();
    }
    u32::from_ne_bytes(bytes)
}
