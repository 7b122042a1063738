//! Errors of reading points, fitting and loading models. Each says where and what to do.

/// Why a model could not be made, read or asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A cell of the points file cannot be read.
    #[error("points file row {row}, column {column}: {value:?} is not {expected}")]
    Cell {
        /// Row, counted from 1 with the header as row 1.
        row: usize,
        /// Column name.
        column: String,
        /// What was found.
        value: String,
        /// What was expected.
        expected: String,
    },
    /// A required column is absent.
    #[error("points file has no column {column}; its header must hold {needed}")]
    MissingColumn {
        /// The column.
        column: String,
        /// All required columns.
        needed: String,
    },
    /// The file is not readable as CSV.
    #[error("points file row {row}: {reason}")]
    Csv {
        /// Row, counted from 1.
        row: usize,
        /// Parser's words.
        reason: String,
    },
    /// The file holds several platforms and none was selected.
    #[error(
        "the points file holds {} platforms: {}; select one by name, or several with a pattern such as 'CubeFS*'",
        .names.len(), .names.join("; ")
    )]
    SeveralPlatforms {
        /// Names in file order.
        names: Vec<String>,
    },
    /// The selection matches nothing.
    #[error("no platform of the points file matches {selector:?}; it holds: {}", .names.join("; "))]
    NoSuchPlatform {
        /// What was asked for.
        selector: String,
        /// Names in file order.
        names: Vec<String>,
    },
    /// Too little to fit.
    #[error("too few points to fit {platform}: {reason}")]
    TooFewPoints {
        /// Platform or selection.
        platform: String,
        /// What is there and what is needed.
        reason: String,
    },
    /// The optimiser found no finite optimum.
    #[error(
        "fit of {platform} found no finite optimum from any start; check the points for values that are all equal or zero"
    )]
    NoOptimum {
        /// Platform or selection.
        platform: String,
    },
    /// A model file is not JSON of the expected shape.
    #[error("model file: {0}")]
    Json(#[from] serde_json::Error),
    /// A model file is well-formed and still cannot be used.
    #[error("model {id}: {reason}")]
    Invalid {
        /// Model id.
        id: String,
        /// What is wrong.
        reason: String,
    },
}
