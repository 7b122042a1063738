//! Why performance data were refused. What leaves anything to work with is a problem instead.

/// A refused file or option.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// None of the formats.
    #[error(
        "{file}: {found}; expected {EXPECTED}; export one of these, or check that it is the right file"
    )]
    Unrecognised {
        /// Name of the file.
        file: String,
        /// What was found.
        found: String,
    },
    /// A format, but nothing in it that can be used.
    #[error("{file}: recognised as {format}, but {wrong}; {action}")]
    Unusable {
        /// Name of the file.
        file: String,
        /// The format.
        format: String,
        /// What is wrong.
        wrong: String,
        /// What to do.
        action: &'static str,
    },
    /// Beyond what is read.
    #[error("{file}: {wrong}; export fewer counters, objects or days at a time")]
    TooLarge {
        /// Name of the file.
        file: String,
        /// By what.
        wrong: String,
    },
    /// The file could not be read.
    #[error("{file}: cannot be read: {source}")]
    Io {
        /// Name of the file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// A workbook that could not be opened.
    #[error(transparent)]
    Workbook(#[from] plimsoll_ingest::Error),
    /// The stated time zone is not one.
    #[error(
        "time zone `{0}` is not known; give a name of the IANA database such as Europe/Paris, or UTC"
    )]
    TimeZone(String),
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
}

const EXPECTED: &str = "PowerCLI Get-Stat, Aria Operations or Azure Monitor (CSV or JSON), esxtop batch, \
Prometheus range query, Live Optics, Nutanix Collector, Azure Migrate, fio JSON or IOmeter results";

impl Error {
    pub(crate) fn too_large(file: &str, wrong: String) -> Self {
        Self::TooLarge { file: file.to_owned(), wrong }
    }

    pub(crate) fn io(file: &str, source: std::io::Error) -> Self {
        Self::Io { file: file.to_owned(), source }
    }

    /// Name of the file it concerns; empty when it concerns the options.
    #[must_use]
    pub fn file(&self) -> &str {
        match self {
            Self::Unrecognised { file, .. }
            | Self::Unusable { file, .. }
            | Self::TooLarge { file, .. }
            | Self::Io { file, .. } => file,
            Self::Workbook(error) => error.file(),
            Self::TimeZone(_) | Self::Cancelled => "",
        }
    }

    /// Stable kebab-case identifier.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unrecognised { .. } => "performance-unrecognised",
            Self::Unusable { .. } => "performance-unusable",
            Self::TooLarge { .. } => "too-large",
            Self::Io { .. } => "io",
            Self::Workbook(error) => error.code(),
            Self::TimeZone(_) => "time-zone",
            Self::Cancelled => "cancelled",
        }
    }
}
