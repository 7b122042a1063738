//! What can go wrong in a measurement, told so that the reader knows what to change.

use std::path::PathBuf;

use plimsoll_initiator::Error as ClientError;

/// Error of the probe.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A workload that cannot be run.
    #[error("workload {name:?}: {what}")]
    Workload {
        /// Name of the workload.
        name: String,
        /// What is wrong and what to change.
        what: String,
    },
    /// Text that is not a size, a share or a list of them.
    #[error("{text:?} is not {wanted}")]
    Text {
        /// The text.
        text: String,
        /// What was expected.
        wanted: &'static str,
    },
    /// A file of another tool that cannot be imported.
    #[error("{file}:{line}: {what}")]
    Import {
        /// Name of the file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// The datastore could not be opened or broke down.
    #[error("{url}: {source}")]
    Datastore {
        /// Its URL.
        url: String,
        /// What the client said.
        source: ClientError,
    },
    /// Writing to this target was not allowed.
    #[error("{url}: {what}")]
    WriteRefused {
        /// Its URL.
        url: String,
        /// Why.
        what: String,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file has not the expected form.
    #[error("{}: {what}", path.display())]
    Form {
        /// Its path.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A worker process of another host failed.
    #[error("host {host}: {what}")]
    Host {
        /// Name of the host.
        host: String,
        /// What it said.
        what: String,
    },
    /// The system refused a call.
    #[error("cannot {call}: {source}")]
    System {
        /// What was tried.
        call: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// Anything else that ended the run.
    #[error("{0}")]
    Run(String),
}

impl Error {
    /// Whether the input was refused, as against a failure while running.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Workload { .. }
                | Self::Text { .. }
                | Self::Import { .. }
                | Self::WriteRefused { .. }
                | Self::Form { .. }
        )
    }

    pub(crate) fn file(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::File { path: path.into(), source }
    }
}

/// Result of the probe's own functions.
pub type Result<T> = std::result::Result<T, Error>;
