//! Where the service keeps data.

use std::path::PathBuf;

use serde::Deserialize;

/// Section `data`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DataConfig {
    /// Folder of the database and of the files by content; made when missing.
    pub dir: PathBuf,
}

impl Default for DataConfig {
    fn default() -> Self {
        Self { dir: PathBuf::from("./var") }
    }
}
