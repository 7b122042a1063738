//! Why a target does not start, in words that say what to change.

use std::net::SocketAddr;
use std::path::PathBuf;

use plimsoll_fabric::rdma::RdmaError;
use plimsoll_storage::ArrayError;

/// Failure to start or to manage a target.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// A file of the configuration cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The configuration is not valid TOML, or has an unknown key or a value of the wrong type.
    #[error("{path}: {message}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line, column, what was wrong.
        message: String,
    },
    /// The configuration contradicts itself, or the array refuses what it asks for.
    #[error("{place}: {message}")]
    Config {
        /// File, line and table, or the flag.
        place: String,
        /// What is wrong and what to do.
        message: String,
    },
    /// The array cannot be opened, or an operation on it failed.
    #[error(transparent)]
    Array(#[from] ArrayError),
    /// An address cannot be listened on.
    #[error("cannot listen on {address}: {source}; is another server running there?")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// An address cannot be listened on for RDMA.
    #[error(
        "cannot listen on {address} for iSER: {source}; `plimsoll doctor` looks at the adapters"
    )]
    Rdma {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: RdmaError,
    },
    /// The iSCSI target cannot be set up.
    #[error("iscsi: {0}")]
    Iscsi(#[from] plimsoll_target_iscsi::ServerError),
    /// The NFS server cannot be set up.
    #[error("nfs: {0}")]
    Nfs(#[from] plimsoll_target_nfs::ServerError),
    /// The files of a volume cannot be opened.
    #[error("volume {volume}: {source}")]
    Files {
        /// The volume.
        volume: String,
        /// Why.
        source: plimsoll_storage::namespace::OpenError,
    },
    /// A part of the system could not be started.
    #[error("cannot start {what}: {source}")]
    Start {
        /// The part.
        what: &'static str,
        /// Why.
        source: std::io::Error,
    },
}
