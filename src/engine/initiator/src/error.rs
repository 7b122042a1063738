//! What can go wrong outside of single operations (those end in an [`crate::Outcome`]).

use std::io;

use crate::Outcome;

/// Failure to open, to submit, or of the datastore as a whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The URL cannot be understood.
    #[error("url `{url}`: {reason}")]
    Url {
        /// The URL, without a password.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// An option cannot be understood or does not fit.
    #[error("option {option}: {reason}")]
    Option {
        /// The option.
        option: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A host name has no address.
    #[error("host `{host}` cannot be resolved: {source}")]
    Resolve {
        /// The name.
        host: String,
        /// Cause.
        source: io::Error,
    },
    /// A connection cannot be made.
    #[error("connection to {peer} failed: {source}")]
    Connect {
        /// The remote end.
        peer: String,
        /// Cause.
        source: io::Error,
    },
    /// The server refused the login or mount.
    #[error("{peer} refused: {reason}")]
    Refused {
        /// The remote end.
        peer: String,
        /// Its words, translated.
        reason: String,
    },
    /// User or secret is wrong, on either side.
    #[error("authentication with {peer} failed: {reason}")]
    Authentication {
        /// The remote end.
        peer: String,
        /// Which side failed and why.
        reason: String,
    },
    /// The peer broke the protocol.
    #[error("{peer} broke the protocol: {reason}")]
    Protocol {
        /// The remote end.
        peer: String,
        /// What it did.
        reason: String,
    },
    /// No answer in time.
    #[error("{peer} did not answer {what} in time")]
    Timeout {
        /// The remote end.
        peer: String,
        /// What was asked.
        what: &'static str,
    },
    /// The connection was lost.
    #[error("connection to {peer} lost: {source}")]
    Lost {
        /// The remote end.
        peer: String,
        /// Cause.
        source: io::Error,
    },
    /// A single command of the set-up failed.
    #[error("{what} failed: {outcome:?}")]
    Command {
        /// The command.
        what: &'static str,
        /// Its outcome.
        outcome: Outcome,
    },
    /// The operation does not fit the datastore.
    #[error("operation at offset {offset} of {len} bytes: {reason}")]
    Operation {
        /// Offset in bytes.
        offset: u64,
        /// Length in bytes.
        len: u32,
        /// Why it was not accepted.
        reason: &'static str,
    },
    /// As many operations as allowed are under way; poll first.
    #[error("as many operations as allowed are under way")]
    Full,
    /// Every path is gone and the time allowed for its return is over.
    #[error("no path to {target} is left: {reason}")]
    NoPath {
        /// The target or server.
        target: String,
        /// The last cause.
        reason: String,
    },
    /// Local resources.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Cause.
        source: io::Error,
    },
}
