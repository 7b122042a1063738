//! What can be wrong with the options or the rules of a demand.

/// An error of [`crate::estimate`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option is outside what it may be.
    #[error("demand option {name} is {value}, must be {expected}")]
    Option {
        /// Its name as in the options.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What it may be.
        expected: &'static str,
    },
    /// The rules are not valid TOML or hold a key that does not exist.
    #[error("reading the class rules: {0}")]
    Syntax(#[from] toml::de::Error),
    /// The rules can be read but make no sense.
    #[error("class rules, {at}: {wrong}")]
    Rules {
        /// Which entry, such as ``rule 3 (class `web`)``.
        at: String,
        /// What is wrong and what is expected.
        wrong: String,
    },
}

/// An error in one entry of the rules.
pub(crate) fn rules(at: impl Into<String>, wrong: impl Into<String>) -> Error {
    Error::Rules { at: at.into(), wrong: wrong.into() }
}
