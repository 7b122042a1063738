//! How much the service works on at once.

use serde::Deserialize;

/// Section `jobs`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JobsConfig {
    /// Inventories read or plans made at the same time, one-shot reports included.
    #[serde(deserialize_with = "super::number")]
    pub concurrency: usize,
    /// How often a job that the process did not survive is started again before it fails.
    #[serde(deserialize_with = "super::number")]
    pub attempts: u32,
}

impl Default for JobsConfig {
    fn default() -> Self {
        Self { concurrency: 2, attempts: 3 }
    }
}
