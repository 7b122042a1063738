//! What the files of a run hold together.

use plimsoll_ingest::Problems;
use serde::{Deserialize, Serialize};

use crate::types::{Benchmark, Entity, Match, ReadFile, Series, Summary};

/// Series, summaries and benchmarks of all files, joined to the inventory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Survey {
    /// The files, in their order.
    pub files: Vec<ReadFile>,
    /// Objects as the files name them.
    pub entities: Vec<Entity>,
    /// What each is in the inventory; same order.
    pub matches: Vec<Match>,
    /// Series. Objects that are one in the inventory are one here, under the first of them.
    pub series: Vec<Series>,
    /// Statistics without a time.
    pub summaries: Vec<Summary>,
    /// Results of load generators.
    pub benchmarks: Vec<Benchmark>,
    /// Everything that was not as expected.
    pub problems: Problems,
}
