//! A result as text for people, JSON, CSV, and the JSON of fio for the tools that read it.

mod csv;
mod fio;
mod text;

pub use text::line as progress_line;

use crate::{Error, Result, result::ResultSet};

/// A form of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// Everything (docs/probe-schema.json).
    Json,
    /// One row per result.
    Csv,
    /// What `fio --output-format=json` writes, one job per result.
    FioJson,
}

/// Writes a result.
pub fn render(set: &ResultSet, format: Format) -> Result<String> {
    let json = |value: serde_json::Result<String>| {
        value
            .map(|text| text + "\n")
            .map_err(|error| Error::Run(format!("result as JSON: {error}")))
    };
    match format {
        Format::Text => Ok(text::render(set)),
        Format::Json => json(serde_json::to_string_pretty(set)),
        Format::Csv => Ok(csv::render(set)),
        Format::FioJson => json(serde_json::to_string_pretty(&fio::document(set))),
    }
}
