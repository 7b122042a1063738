//! Hosts that drive load from elsewhere: worker processes in network namespaces, speaking lines of JSON
//! over their standard input and output. An agent on another machine would speak the same.

pub mod netns;
mod process;
mod worker;

pub use process::{ProcessHost, Program};
pub use worker::work;

use serde::{Deserialize, Serialize};

use crate::{
    client::ClientOptions,
    measure::{Event, Seat},
};

/// The name of no namespace: a process beside this one.
pub const HERE: &str = "-";

/// What a worker process is told.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    /// First: what to do.
    Prepare {
        /// Namespace to enter.
        netns: Option<String>,
        /// URL and options of each target.
        places: Vec<(String, ClientOptions)>,
        /// Its workers.
        seats: Vec<Seat>,
        /// Bytes they may move together.
        budget_bytes: Option<u64>,
    },
    /// Begin in so many nanoseconds.
    Go {
        /// From now.
        in_nanos: u64,
    },
    /// End the measurement.
    Stop,
}

/// What a worker process says: events, in a field of their own so that stray lines are told apart.
#[derive(Debug, Serialize, Deserialize)]
struct Word {
    plimsoll_probe: Event,
}
