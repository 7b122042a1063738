//! Why an input was refused: one sentence each for what it is, what was expected and what to do.
//!
//! Everything that leaves rows to work with is a [`Problem`](crate::Problem) instead.

use serde::{Deserialize, Serialize};

/// A refused input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{file}: {message}; expected {expected}; {action}")]
#[non_exhaustive]
pub struct Error {
    /// Which kind of refusal, for programs.
    pub code: ErrorCode,
    /// Name of the file (inside a zip: `archive.zip/inner.xlsx`).
    pub file: String,
    /// What the file is, or what is wrong with it.
    pub message: String,
    /// What would have been accepted.
    pub expected: String,
    /// What to do about it.
    pub action: String,
}

/// The kinds of refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ErrorCode {
    /// Nothing was given, or a file of no bytes.
    Empty,
    /// More bytes, entries or text than the limits allow.
    TooLarge,
    /// Inflates to far more than it should: a decompression bomb.
    Bomb,
    /// Password or sensitivity label.
    Encrypted,
    /// Damaged: cannot be opened.
    Damaged,
    /// An archive with names or nesting that are not accepted.
    UnsafeArchive,
    /// A format that is not read.
    UnsupportedFormat,
    /// Another tool's export, recognised by name; reading it is a later step.
    OtherSource,
    /// Readable, but no tab of an RVTools export.
    NotAnInventory,
    /// RVTools, but without the least that sizing needs.
    MinimumSet,
    /// The file could not be read from disk.
    Io,
    /// The caller asked to stop.
    Cancelled,
}

impl ErrorCode {
    /// Stable kebab-case identifier, as it is serialised.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::TooLarge => "too-large",
            Self::Bomb => "bomb",
            Self::Encrypted => "encrypted",
            Self::Damaged => "damaged",
            Self::UnsafeArchive => "unsafe-archive",
            Self::UnsupportedFormat => "unsupported-format",
            Self::OtherSource => "other-source",
            Self::NotAnInventory => "not-an-inventory",
            Self::MinimumSet => "minimum-set",
            Self::Io => "io",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Error {
    pub(crate) fn new(
        code: ErrorCode,
        file: &str,
        message: impl Into<String>,
        expected: impl Into<String>,
        action: impl Into<String>,
    ) -> Self {
        Self {
            code,
            file: file.to_owned(),
            message: message.into(),
            expected: expected.into(),
            action: action.into(),
        }
    }

    pub(crate) fn cancelled(file: &str) -> Self {
        Self::new(
            ErrorCode::Cancelled,
            file,
            "reading was cancelled",
            "reading to go on to the end of the file",
            "start again",
        )
    }

    pub(crate) fn io(file: &str, source: &std::io::Error) -> Self {
        Self::new(
            ErrorCode::Io,
            file,
            format!("cannot be read: {source}"),
            "a readable file or folder",
            "check that the file exists and may be read",
        )
    }

    pub(crate) fn damaged(file: &str, detail: impl std::fmt::Display) -> Self {
        Self::new(
            ErrorCode::Damaged,
            file,
            format!("damaged or cut short: {detail}"),
            "a whole file",
            "copy or export it again, then open it once in a spreadsheet program to check",
        )
    }

    /// The kind of refusal as a stable kebab-case identifier.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.code.as_str()
    }

    /// Name of the file.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// What would have been accepted.
    #[must_use]
    pub fn expected(&self) -> &str {
        &self.expected
    }

    /// What to do about it.
    #[must_use]
    pub fn action(&self) -> &str {
        &self.action
    }

    /// True when the caller asked to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.code == ErrorCode::Cancelled
    }

    /// True when the input is larger than the limits allow.
    #[must_use]
    pub fn is_too_large(&self) -> bool {
        self.code == ErrorCode::TooLarge
    }
}
