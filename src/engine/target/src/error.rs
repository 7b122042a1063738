//! Why a target does not start, in words that say what to change.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Failure to start or to manage a target.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The configuration file cannot be read.
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
    /// The configuration contradicts itself.
    #[error("{place}: {message}")]
    Config {
        /// The table or key, such as `volumes.vol0.pool`.
        place: String,
        /// What is wrong and what to do.
        message: String,
    },
    /// An address cannot be listened on.
    #[error("cannot listen on {address}: {source}; is another server running there?")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// A part of the system could not be started.
    #[error("cannot start {what}: {source}")]
    Start {
        /// The part.
        what: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// A protocol is not part of this build.
    #[error("{0} is not served by this build")]
    Unavailable(&'static str),
}
