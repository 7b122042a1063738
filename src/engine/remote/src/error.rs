//! Why a remote volume cannot be had.

/// Why a remote volume cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The URL is none of a unit.
    #[error("{url}: {reason}; use iser://host[:port]/iqn/lun or iscsi://host[:port]/iqn/lun")]
    Url {
        /// As it was given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A setting makes no sense.
    #[error("{setting}: {reason}")]
    Setting {
        /// Which.
        setting: &'static str,
        /// Why.
        reason: String,
    },
    /// It could not be reached to learn its size.
    #[error(
        "{url} cannot be reached: {reason}; a new remote volume needs its target once, to learn its size"
    )]
    Unreachable {
        /// As it was given.
        url: String,
        /// Why.
        reason: String,
    },
    /// It would make a chain or a loop.
    #[error("{url} is refused: {reason}")]
    Chain {
        /// As it was given.
        url: String,
        /// What it points at.
        reason: String,
    },
    /// No thread could be started.
    #[error("no thread for a remote volume: {0}")]
    Thread(std::io::Error),
}
