//! How well a number is supported.

use serde::{Deserialize, Serialize};

/// Evidence behind a number, best first.
///
/// A result has the weakest grade among the inputs that move it by more than 5 %.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum EvidenceGrade {
    /// Measured here, or read from the user's own file.
    A,
    /// Measured on the same class of system.
    B,
    /// Published by the vendor or in a paper.
    C,
    /// Assumed.
    D,
}

impl EvidenceGrade {
    /// The letter shown in reports.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Self::A => 'A',
            Self::B => 'B',
            Self::C => 'C',
            Self::D => 'D',
        }
    }

    /// What the letter means, in words.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::A => "measured here",
            Self::B => "measured on the same class",
            Self::C => "published",
            Self::D => "assumed",
        }
    }

    /// The weaker of two grades.
    #[must_use]
    pub fn weaker(self, other: Self) -> Self {
        self.max(other)
    }
}
