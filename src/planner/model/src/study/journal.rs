//! The journal of a study: one JSON object a line, enough to go on after a stop.
//!
//! The first line holds the plan, each further line what one attempt at a point brought. All else
//! (models, choices, the reason to stop) follows from them. A last line cut short by a crash is
//! dropped: its point is measured again.

use crate::quality::Sample;
use crate::study::{Plan, StudyError};
use serde::{Deserialize, Serialize};

/// Version of the journal's shape.
pub const JOURNAL_VERSION: u32 = 1;

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "entry")]
pub enum Entry {
    /// First line.
    Plan {
        /// Version of the shape.
        version: u32,
        /// The plan.
        plan: Box<Plan>,
    },
    /// One attempt at a point.
    Attempt {
        /// Index of the candidate.
        candidate: usize,
        /// Samples, one for each workload that was asked for.
        samples: Vec<Sample>,
        /// Why there are none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<String>,
    },
}

impl Entry {
    /// As a line with its end.
    ///
    /// # Errors
    /// When a value is not finite.
    pub fn line(&self) -> Result<String, StudyError> {
        Ok(format!("{}\n", serde_json::to_string(self)?))
    }
}

/// Reads a journal: its plan and the attempts.
///
/// # Errors
/// A line that is not an entry, save a last one without its end; a journal without a plan or of
/// another version.
pub fn read_journal(text: &str) -> Result<(Plan, Vec<Entry>), StudyError> {
    let mut entries = Vec::new();
    let mut lines = text.split_inclusive('\n').enumerate();
    let mut plan = None;
    for (index, line) in &mut lines {
        if line.trim().is_empty() || !line.ends_with('\n') {
            continue;
        }
        let entry: Entry = serde_json::from_str(line)
            .map_err(|error| StudyError::Journal { line: index + 1, reason: error.to_string() })?;
        match entry {
            Entry::Plan { version, plan: read } if plan.is_none() && entries.is_empty() => {
                if version != JOURNAL_VERSION {
                    let reason =
                        format!("its version is {version}, this program reads {JOURNAL_VERSION}");
                    return Err(StudyError::Journal { line: index + 1, reason });
                }
                plan = Some(*read);
            }
            Entry::Plan { .. } => {
                let reason = "a second plan; a journal holds one study".to_owned();
                return Err(StudyError::Journal { line: index + 1, reason });
            }
            attempt => entries.push(attempt),
        }
    }
    let missing =
        || StudyError::Journal { line: 1, reason: "it does not start with a plan".to_owned() };
    Ok((plan.ok_or_else(missing)?, entries))
}
