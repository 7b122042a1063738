//! CSV: every VM with its planned datastore.

use std::borrow::Cow;
use std::io::Write;

use crate::Error;
use crate::compose::Report;
use crate::lines;

/// Columns of the file.
const COLUMNS: [&str; 10] = [
    "vm",
    "key",
    "class",
    "iops_p95",
    "mibps_p95",
    "used_mib",
    "datastore_today",
    "planned_datastore",
    "moved_mib",
    "remark",
];

/// The placement as comma-separated values, UTF-8, one VM a line.
///
/// # Errors
/// When writing fails.
pub fn csv(report: &Report<'_>) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    csv_to(report, &mut out)?;
    Ok(out)
}

/// Writes the placement.
///
/// # Errors
/// When the writer fails.
pub fn csv_to(report: &Report<'_>, writer: impl Write) -> Result<(), Error> {
    let input = &report.input;
    let reasons: std::collections::BTreeMap<_, _> =
        input.plan.unplaced.iter().map(|(vm, reason)| (*vm, reason.as_str())).collect();
    let mut csv = ::csv::Writer::from_writer(writer);
    csv.write_record(COLUMNS)?;
    for line in lines::vm_lines(input) {
        csv.write_record([
            harmless(line.name).as_ref(),
            harmless(line.key).as_ref(),
            harmless(line.class).as_ref(),
            &format!("{:.3}", line.iops),
            &format!("{:.3}", line.mibps),
            &line.used.0.to_string(),
            harmless(line.from.unwrap_or_default()).as_ref(),
            harmless(line.datastore.unwrap_or_default()).as_ref(),
            &line.moved.map_or_else(String::new, |moved| moved.0.to_string()),
            harmless(reasons.get(&line.vm).copied().unwrap_or_default()).as_ref(),
        ])?;
    }
    csv.flush().map_err(::csv::Error::from)?;
    Ok(())
}

/// Text that a spreadsheet does not take for a formula.
pub fn harmless(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_quoted() {
        assert_eq!(harmless("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
        assert_eq!(harmless("-1"), "'-1");
        assert_eq!(harmless("\t=1"), "'\t=1");
        assert_eq!(harmless("db-01"), "db-01");
    }
}
