//! Why a sizing could not be made.

use serde::{Deserialize, Serialize};

/// Why a sizing could not be made: the input was refused, or it was cancelled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file was refused.
    #[error(transparent)]
    Ingest(#[from] plimsoll_ingest::Error),
    /// A performance export was refused.
    #[error(transparent)]
    Performance(#[from] plimsoll_performance::Error),
    /// A setting of an advice cannot be.
    #[error(transparent)]
    Setting(#[from] plimsoll_advise::iser::SettingError),
    /// The options for the load, or the rules file, are not usable.
    #[error(transparent)]
    Demand(#[from] plimsoll_demand::Error),
    /// The options for the plan are not usable.
    #[error(transparent)]
    Plan(#[from] plimsoll_plan::Error),
    /// Writing the report failed.
    #[error(transparent)]
    Report(#[from] plimsoll_report::Error),
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}

/// A refusal as data: what was wrong, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Stable kebab-case code.
    pub code: String,
    /// The whole sentence.
    pub message: String,
    /// File it concerns; empty when it concerns the options.
    pub file: String,
    /// What was expected.
    pub expected: String,
    /// What to do.
    pub action: String,
}

impl Error {
    /// Whether the caller asked for this end.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled)
    }

    /// Whether a file was refused, as against options that do not work.
    #[must_use]
    pub fn is_file_refused(&self) -> bool {
        match self {
            Self::Ingest(_) => true,
            Self::Performance(error) => !error.file().is_empty(),
            _ => false,
        }
    }

    /// The refusal as data.
    #[must_use]
    pub fn to_refusal(&self) -> Refusal {
        let message = self.to_string();
        let options = |code: &str, action: &str| Refusal {
            code: code.to_owned(),
            message: message.clone(),
            file: String::new(),
            expected: String::new(),
            action: action.to_owned(),
        };
        match self {
            Self::Ingest(error) => Refusal {
                code: error.code().to_owned(),
                message: message.clone(),
                file: error.file().to_owned(),
                expected: error.expected().to_owned(),
                action: error.action().to_owned(),
            },
            Self::Performance(error) => Refusal {
                file: error.file().to_owned(),
                ..options(error.code(), "export it in a format of docs/performance-data.md")
            },
            Self::Setting(_) => options("advice-settings", "correct the named setting"),
            Self::Demand(_) => options("demand-options", "correct the named option or rule"),
            Self::Plan(_) => options("plan-options", "correct the named option"),
            Self::Report(_) => options("report-failed", "report this with the input's problems"),
            Self::Cancelled => options("cancelled", "start it again when wanted"),
        }
    }
}
