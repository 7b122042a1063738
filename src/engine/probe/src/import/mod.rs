//! Workloads of other tools: IOmeter configurations and fio job files.
//!
//! What maps is mapped; what does not is said with its line. Nothing is dropped silently.

mod fio;
mod icf;

pub use fio::import as fio;
pub use icf::import as icf;

use crate::workload::Workload;

/// What was found in a file.
#[derive(Debug, Clone)]
pub struct Imported {
    /// Workloads, one after the other.
    pub workloads: Vec<Workload>,
    /// What was not taken over as it stands, `file:line: text`.
    pub notes: Vec<String>,
}

/// Text of a file in UTF-8 or Latin-1 (IOmeter writes the latter), without a byte order mark.
fn decode(bytes: &[u8]) -> String {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&byte| char::from(byte)).collect(),
    };
    text.trim_start_matches('\u{feff}').to_owned()
}
