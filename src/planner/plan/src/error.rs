//! Errors of the plan stage: wrong options and a broken catalogue. A demand that nothing can carry
//! is not an error: it is a plan with `feasible` false that says why.

use thiserror::Error;

/// What can go wrong before a plan is made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of the catalogue does not parse.
    #[error("read {file} of the catalogue: {reason}")]
    Catalog {
        /// File name.
        file: String,
        /// What the parser said.
        reason: String,
    },
    /// An option names something that the catalogue does not hold.
    #[error("{what} `{given}` is not in the catalogue; there are: {known}")]
    Unknown {
        /// Kind of thing: platform, region, tier.
        what: &'static str,
        /// The name given.
        given: String,
        /// The names there are.
        known: String,
    },
    /// An option has a value outside its range.
    #[error("option {option} is {given}: {expected}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// The value given.
        given: String,
        /// What is expected, and what to do.
        expected: String,
    },
    /// No model for the platform.
    #[error("load the model of platform `{platform}`: {reason}")]
    Model {
        /// Platform id.
        platform: String,
        /// Why.
        reason: String,
    },
    /// A step after the choice failed.
    #[error("{step}: {reason}")]
    Step {
        /// The step, such as `place the machines`.
        step: &'static str,
        /// Why.
        reason: String,
    },
}
