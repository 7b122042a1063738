//! What can go wrong between a protocol server and its data, in words that say what to do.

use std::io;
use std::path::PathBuf;

/// Failure of a data command on a backing store.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The range leaves the store.
    #[error("range at byte {offset} of {len} bytes leaves the store of {size} bytes")]
    OutOfRange {
        /// First byte asked for.
        offset: u64,
        /// Bytes asked for.
        len: u64,
        /// Size of the store at that moment.
        size: u64,
    },
    /// The quota of the volume or the size of its thin pool is used up.
    #[error(
        "no space left: {used} of {limit} bytes are allocated; grow the volume's pool or quota, or unmap data"
    )]
    NoSpace {
        /// Bytes allocated.
        used: u64,
        /// Bytes that may be allocated.
        limit: u64,
    },
    /// An adapter is writing into the range, or too much waits for a remote volume: the command may be tried again.
    #[error("the range, or the remote volume, is busy; try again")]
    Busy,
    /// The host's file system failed.
    #[error("{operation} failed: {kind}")]
    Io {
        /// The operation that failed.
        operation: &'static str,
        /// Its kind as the operating system told it.
        kind: io::ErrorKind,
    },
    /// An earlier write-back failed: what was acknowledged may be lost, so no later flush may succeed.
    #[error(
        "an earlier flush failed ({kind}); data acknowledged before may be lost, restart the volume after checking the backing file system"
    )]
    FlushFailed {
        /// The kind of the first failure.
        kind: io::ErrorKind,
    },
}

impl StoreError {
    /// Wraps an error of the operating system.
    pub fn io(operation: &'static str, error: &io::Error) -> Self {
        Self::Io { operation, kind: error.kind() }
    }

    /// Whether growing a pool or a quota would have let the command pass.
    pub fn is_no_space(&self) -> bool {
        matches!(self, Self::NoSpace { .. } | Self::Io { kind: io::ErrorKind::StorageFull, .. })
    }
}

/// Why a pool or volume was not changed, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArrayError {
    /// No such object.
    #[error("there is no {what} named {name}")]
    NotFound {
        /// `pool`, `volume` or `tier`.
        what: &'static str,
        /// The name that was given.
        name: String,
    },
    /// The name is taken.
    #[error("a {what} named {name} exists already; choose another name")]
    Exists {
        /// `pool` or `volume`.
        what: &'static str,
        /// The name that was given.
        name: String,
    },
    /// The name cannot be part of an iSCSI name, a path and a URL.
    #[error(
        "{name:?} cannot be a name; use 1 to 64 of a-z, 0-9, '-', '_' and '.', starting with a letter or digit"
    )]
    BadName {
        /// The name that was given.
        name: String,
    },
    /// A rule of the provider about sizes.
    #[error("a {what} of {bytes} bytes is not allowed; choose between {min} and {max} bytes")]
    SizeOutOfRange {
        /// `pool` or `volume`.
        what: &'static str,
        /// The size that was asked for.
        bytes: u64,
        /// Smallest size.
        min: u64,
        /// Largest size.
        max: u64,
    },
    /// A rule of the provider about steps.
    #[error("a {what} of {bytes} bytes is not allowed; sizes are multiples of {step} bytes")]
    SizeStep {
        /// `pool` or `volume`.
        what: &'static str,
        /// The size that was asked for.
        bytes: u64,
        /// The step.
        step: u64,
    },
    /// The pool has no room for the quotas.
    #[error(
        "the volumes of pool {pool} would have quotas of {quota_bytes} bytes, {allowed_bytes} are allowed; grow the pool first, or shrink or move volumes"
    )]
    PoolTooSmall {
        /// The pool.
        pool: String,
        /// The sum of the quotas after the change.
        quota_bytes: u64,
        /// What they may add up to.
        allowed_bytes: u64,
    },
    /// The pool has no throughput left (manual quality of service).
    #[error(
        "the volumes of pool {pool} would have {wanted_mib_per_s} MiB/s, its size and tier give {allowed_mib_per_s}; grow the pool, choose a faster tier, or lower another volume first"
    )]
    NoThroughput {
        /// The pool.
        pool: String,
        /// The sum after the change.
        wanted_mib_per_s: f64,
        /// What the pool gives.
        allowed_mib_per_s: f64,
    },
    /// A volume in a pool with manual quality of service needs a throughput.
    #[error(
        "pool {pool} has manual quality of service: give volume {volume} a throughput (limits.volume.mib_per_s)"
    )]
    ThroughputMissing {
        /// The pool.
        pool: String,
        /// The volume.
        volume: String,
    },
    /// More is allocated than the new size holds.
    #[error(
        "{name} has {used_bytes} bytes allocated, more than {bytes}; unmap or delete data first"
    )]
    BelowUsed {
        /// The pool or volume.
        name: String,
        /// What is allocated.
        used_bytes: u64,
        /// The size that was asked for.
        bytes: u64,
    },
    /// A block volume has data where it would end.
    #[error(
        "block volume {name} has data at byte {at}, beyond the new end; shrink the file system on it first and unmap the rest"
    )]
    DataBeyondEnd {
        /// The volume.
        name: String,
        /// Where the first such data is.
        at: u64,
    },
    /// The pool still holds volumes.
    #[error("pool {pool} holds {volumes} volumes; {advice}")]
    PoolNotEmpty {
        /// The pool.
        pool: String,
        /// How many it holds.
        volumes: usize,
        /// What to do.
        advice: &'static str,
    },
    /// The pool holds as many volumes as the rules allow.
    #[error("pool {pool} holds {volumes} volumes, the most a pool may have; use another pool")]
    TooManyVolumes {
        /// The pool.
        pool: String,
        /// How many it holds.
        volumes: usize,
    },
    /// The throughput was raised too recently to be lowered.
    #[error(
        "the throughput of volume {volume} was raised recently and cannot be lowered for another {seconds} s"
    )]
    CoolDown {
        /// The volume.
        volume: String,
        /// How long to wait.
        seconds: u64,
    },
    /// A limit that makes no sense.
    #[error("the limit of {name} is not valid: {problem}")]
    BadLimit {
        /// The pool or volume.
        name: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// Another process has the folder.
    #[error("{path} is in use by another target; stop it or choose another folder")]
    InUse {
        /// The metadata file.
        path: PathBuf,
    },
    /// The metadata file failed.
    #[error(
        "the array's metadata cannot be kept: {source}; check the file system of the backing folder"
    )]
    Metadata {
        /// What failed.
        source: Box<redb::Error>,
    },
    /// Something in the metadata file makes no sense to this version.
    #[error("{what} cannot be read: {message}")]
    Unreadable {
        /// Which record.
        what: String,
        /// Why.
        message: String,
    },
    /// A volume is remembered but its data is gone.
    #[error(
        "the data of volume {volume} is missing: {path}; restore it, or start in another folder"
    )]
    DataMissing {
        /// The volume.
        volume: String,
        /// Where its data was.
        path: PathBuf,
    },
    /// A remote volume cannot be what was asked for.
    #[error("remote volume {volume}: {reason}")]
    Remote {
        /// The volume.
        volume: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The backing folder failed.
    #[error("{path}: {source}")]
    Folder {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A backing store failed.
    #[error("volume {volume}: {source}")]
    Store {
        /// The volume.
        volume: String,
        /// Why.
        source: StoreError,
    },
}
