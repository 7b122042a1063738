//! Why a connection ends.

use std::io;

/// Why a connection ends; said in logs and to the connection's `on_close`.
#[derive(Debug)]
#[non_exhaustive]
pub enum Close {
    /// Its work is done: what is queued is sent, then the connection is closed.
    Finished,
    /// The peer broke the protocol: what it did.
    Protocol(String),
    /// The peer closed the connection.
    Peer,
    /// Nothing was heard of the peer for too long.
    Idle,
    /// The operating system refused to go on.
    Error(io::Error),
    /// This process is stopping.
    Stopping,
}

impl std::fmt::Display for Close {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Finished => f.write_str("finished"),
            Self::Protocol(what) => write!(f, "protocol error: {what}"),
            Self::Peer => f.write_str("closed by the peer"),
            Self::Idle => f.write_str("no sign of the peer"),
            Self::Error(error) => write!(f, "{error}"),
            Self::Stopping => f.write_str("the server is stopping"),
        }
    }
}

impl From<io::Error> for Close {
    fn from(error: io::Error) -> Self {
        Self::Error(error)
    }
}
