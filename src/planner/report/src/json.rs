//! JSON: the record of the report, described by `docs/report-schema.json`.

use std::io::Write;

use crate::Error;
use crate::compose::{Report, plain_spaces};
use crate::record::Record;

/// The report as JSON.
///
/// # Errors
/// When serialising fails.
pub fn json(report: &Report<'_>) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    json_to(report, &mut out)?;
    Ok(out)
}

/// Writes the report as JSON in one pass.
///
/// # Errors
/// When the writer or serialising fails.
pub fn json_to(report: &Report<'_>, writer: impl Write) -> Result<(), Error> {
    let sentence = plain_spaces(&report.answer.sentence);
    let deck = plain_spaces(&report.answer.deck);
    let record = Record::new(&report.input, &sentence, &deck, &report.document_sha256);
    Ok(serde_json::to_writer(writer, &record)?)
}
