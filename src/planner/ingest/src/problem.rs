//! Problems are data: what was found in a file, what was expected, what was done.

use serde::{Deserialize, Serialize};

/// How much a problem matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// For information; the result does not change.
    Note,
    /// The result may be less accurate.
    Warning,
    /// A value or row was left out.
    Error,
}

/// One thing that was not as expected, with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// How much it matters.
    pub severity: Severity,
    /// Stable kebab-case identifier of the rule, such as `number-unreadable`.
    pub code: String,
    /// Name of the input file (inside a zip: `archive.zip/inner.csv`).
    pub file: String,
    /// Tab (sheet) name; empty when the problem concerns the file.
    pub tab: String,
    /// 1-based row as a spreadsheet shows it; absent when it concerns the tab or file.
    pub row: Option<u32>,
    /// Column header as found; empty when it concerns the row.
    pub column: String,
    /// The value found, shortened to 80 characters; never a secret.
    pub value: String,
    /// What was expected, with the accepted spellings.
    pub expected: String,
    /// What was done about it.
    pub action: String,
}

/// All problems of a run, in the order of the input.
///
/// At most [`Problems::KEPT_PER_CODE`] of one code and tab are kept in full; the rest are counted,
/// so that a file with a million bad cells cannot fill the memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problems {
    /// Kept problems.
    pub items: Vec<Problem>,
    /// How many more were met of each `file|tab|code` beyond those kept.
    pub not_kept: std::collections::BTreeMap<String, u64>,
    #[serde(skip)]
    seen: std::collections::BTreeMap<String, u64>,
}

impl Problems {
    /// Kept in full for each file, tab and code.
    pub const KEPT_PER_CODE: u64 = 1_000;

    /// Adds one.
    pub fn push(&mut self, problem: Problem) {
        let key = format!("{}|{}|{}", problem.file, problem.tab, problem.code);
        let seen = self.seen.entry(key.clone()).or_insert(0);
        *seen += 1;
        if *seen <= Self::KEPT_PER_CODE {
            self.items.push(problem);
        } else {
            *self.not_kept.entry(key).or_insert(0) += 1;
        }
    }

    /// Adds those of another list, such as of one tab.
    pub fn append(&mut self, other: Self) {
        for problem in other.items {
            self.push(problem);
        }
        for (key, count) in other.not_kept {
            *self.seen.entry(key.clone()).or_insert(0) += count;
            *self.not_kept.entry(key).or_insert(0) += count;
        }
    }

    /// Number met, kept or not.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.items.len() as u64 + self.not_kept.values().sum::<u64>()
    }
}
