//! The summary: inputs as numbers, everything that can be counted or looked up as a formula over
//! the detail sheets, each with its result.

use plimsoll_inventory::{FindingSeverity, UsedSource};

use super::sheets::{FOR_BOTH, FOR_CAPACITY};
use crate::compose::{Report, plain_spaces};
use crate::input::ReportInput;
use crate::words;
use crate::xlsx::{Look, Sheet, Value};

/// MiB in a TiB.
const MIB_PER_TIB: f64 = 1_048_576.0;
/// A range of a detail sheet with the values in it, for formulas and their results.
struct Range<'s, 'a> {
    sheet: &'s Sheet<'a>,
    column: usize,
}

impl<'s, 'a> Range<'s, 'a> {
    fn of(sheets: &'s [Sheet<'a>], name: &str, head: &str) -> Option<Self> {
        let sheet = sheets.iter().find(|sheet| sheet.name == name)?;
        let column = sheet.columns.iter().position(|(one, _)| *one == head)?;
        Some(Self { sheet, column })
    }

    /// Such as `'VMs'!$H$2:$H$269`.
    fn address(&self) -> String {
        let column = column_letters(self.column);
        let last = self.sheet.rows.len() + 1;
        format!("'{}'!${column}$2:${column}${}", self.sheet.name, last.max(2))
    }

    fn numbers(&self) -> impl Iterator<Item = f64> {
        self.sheet.rows.iter().map(|row| match row.get(self.column) {
            Some(Value::Number(number, _) | Value::Formula(_, number, _)) => *number,
            _ => 0.0,
        })
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.sheet.rows.iter().map(|row| match row.get(self.column) {
            Some(Value::Text(text) | Value::Strong(text)) => text.as_ref(),
            _ => "",
        })
    }
}

fn column_letters(mut column: usize) -> String {
    let mut letters = Vec::new();
    loop {
        letters.push(char::from(b'A' + u8::try_from(column % 26).unwrap_or(0)));
        if column < 26 {
            break;
        }
        column = column / 26 - 1;
    }
    letters.iter().rev().collect()
}

/// The summary: inputs as numbers, everything that can be counted or looked up as a formula.
struct Summary<'s, 'a> {
    details: &'s [Sheet<'a>],
    rows: Vec<Vec<Value<'a>>>,
}

impl<'a> Summary<'_, 'a> {
    fn row(&mut self, name: &'static str, value: Value<'a>, unit: &'static str, note: String) {
        self.rows.push(vec![
            Value::text(name),
            value,
            Value::text(unit),
            if note.is_empty() { Value::Blank } else { Value::text(note) },
        ]);
    }

    fn head(&mut self, name: &'static str) {
        self.rows.push(Vec::new());
        self.rows.push(vec![Value::Strong(name.into())]);
    }

    fn range(&self, sheet: &str, head: &str) -> Option<Range<'_, 'a>> {
        Range::of(self.details, sheet, head)
    }

    /// Sum of a column over `divisor`.
    fn sum(
        &mut self,
        name: &'static str,
        place: (&str, &str),
        divisor: f64,
        unit: &'static str,
        note: &str,
    ) {
        let Some(range) = self.range(place.0, place.1) else { return };
        let total: f64 = range.numbers().sum();
        let formula = match divisor {
            1.0 => format!("=SUM({})", range.address()),
            divisor => format!("=SUM({})/{divisor}", range.address()),
        };
        let look = if unit == "TiB" { Look::Decimal } else { Look::Whole };
        self.row(name, Value::Formula(formula, total / divisor, look), unit, note.to_owned());
    }

    /// Sum of a column where another holds one of `words`.
    fn sum_where(
        &mut self,
        name: &'static str,
        (sheet, head): (&str, &str),
        (by, words): (&str, &[&str]),
        divisor: f64,
        unit: &'static str,
    ) {
        let (Some(values), Some(keys)) = (self.range(sheet, head), self.range(sheet, by)) else {
            return;
        };
        let total: f64 = values
            .numbers()
            .zip(keys.texts())
            .filter(|(_, key)| words.contains(key))
            .map(|(value, _)| value)
            .sum();
        let parts: Vec<_> = words
            .iter()
            .map(|word| format!("SUMIFS({},{},\"{word}\")", values.address(), keys.address()))
            .collect();
        let formula = format!("=({})/{divisor}", parts.join("+"));
        self.row(
            name,
            Value::Formula(formula, total / divisor, Look::Decimal),
            unit,
            String::new(),
        );
    }

    /// Rows of a sheet, or those where a column holds `word`.
    #[expect(clippy::cast_precision_loss, reason = "rows of a sheet")]
    fn count(
        &mut self,
        name: &'static str,
        place: (&str, &str),
        word: Option<&str>,
        unit: &'static str,
    ) {
        let Some(range) = self.range(place.0, place.1) else { return };
        let (formula, count) = match word {
            Some(word) => (
                format!("=COUNTIF({},\"{word}\")", range.address()),
                range.texts().filter(|text| *text == word).count(),
            ),
            None if range.sheet.rows.is_empty() => ("=0".to_owned(), 0),
            None => (format!("=ROWS({})", range.address()), range.sheet.rows.len()),
        };
        self.row(name, Value::Formula(formula, count as f64, Look::Whole), unit, String::new());
    }

    /// A column of the frontier at the planned count, which stands in `cell`.
    fn at_plan(
        &mut self,
        name: &'static str,
        head: &str,
        cell: &str,
        planned: f64,
        unit: &'static str,
    ) {
        let (Some(counts), Some(values)) =
            (self.range("Frontier", "Datastores"), self.range("Frontier", head))
        else {
            return;
        };
        let Some((_, value)) =
            counts.numbers().zip(values.numbers()).find(|(count, _)| *count == planned)
        else {
            return;
        };
        let formula = format!("=INDEX({},MATCH({cell},{},0))", values.address(), counts.address());
        self.row(name, Value::Formula(formula, value, Look::Whole), unit, String::new());
    }
}

/// The sheet.
pub fn summary<'a>(report: &'a Report<'a>, details: &[Sheet<'a>]) -> Sheet<'a> {
    let input = &report.input;
    let plan = input.plan;
    let mut summary = Summary { details, rows: Vec::new() };
    summary.rows.push(vec![
        Value::Strong("Answer".into()),
        Value::Blank,
        Value::Blank,
        Value::Strong(plain_spaces(&report.answer.sentence).into()),
    ]);
    summary.rows.push(vec![
        Value::Blank,
        Value::Blank,
        Value::Blank,
        Value::text(plain_spaces(&report.answer.deck)),
    ]);
    summary.head("Plan");
    summary.row("Platform", Value::text(plan.platform_name.as_str()), "", String::new());
    summary.row("Tier", Value::text(plan.tier_name.as_str()), "", plan.qos.clone());
    let planned = f64::from(plan.datastores);
    summary.row(
        "Datastores",
        Value::Number(planned, Look::Whole),
        "",
        "change it to look up another count below".to_owned(),
    );
    // The row just written; the first row of the sheet holds the heads.
    let cell = format!("$B${}", summary.rows.len() + 1);
    summary.at_plan("Size of each", "Size, GiB", &cell, planned, "GiB");
    summary.at_plan("Pool", "Pool, GiB", &cell, planned, "GiB");
    summary.at_plan("Price a month", "Price a month", &cell, planned, currency(input));
    summary.at_plan("Carried IOPS, 95% level", "IOPS, 95% level", &cell, planned, "IOPS");
    let carried = summary.rows.len() + 1;
    summary.row(
        "Load",
        Value::Number(plan.load_iops.0, Look::Whole),
        "IOPS",
        "p95 at the horizon".to_owned(),
    );
    let load = summary.rows.len() + 1;
    if let Some(point) = plan.frontier.iter().find(|point| point.datastores == plan.datastores)
        && plan.load_iops.0 > 0.0
    {
        let room = point.iops.p05 / plan.load_iops.0 - 1.0;
        summary.row(
            "Room above the load",
            Value::Formula(format!("=B{carried}/B{load}-1"), room, Look::Share),
            "",
            String::new(),
        );
    }
    summary.at_plan("Carried MiB/s, 95% level", "MiB/s, 95% level", &cell, planned, "MiB/s");
    summary.row(
        "Load",
        Value::Number(plan.load_mibps.0, Look::Whole),
        "MiB/s",
        "p95 at the horizon".to_owned(),
    );
    summary.row("Certainty", Value::Number(plan.certainty, Look::Share), "", String::new());
    summary.row("First limit", Value::text(words::limit(plan.binding_resource)), "", String::new());
    summary.row(
        "Capacity needed",
        Value::Number(plan.needed_capacity_gib.tib().0, Look::Decimal),
        "TiB",
        "with growth, snapshot reserve and slack".to_owned(),
    );
    summary.head("Planned datastores");
    summary.count("Datastores", ("Datastores plan", "Datastore"), None, "");
    summary.sum("Size in all", ("Datastores plan", "Size, GiB"), 1024.0, "TiB", "");
    summary.sum("Filled at the horizon", ("Datastores plan", "Filled, GiB"), 1024.0, "TiB", "");
    summary.sum("To move", ("Placement", "Moved, MiB"), MIB_PER_TIB, "TiB", "");
    summary.head("Inventory");
    summary.count("VMs in the file", ("VMs", "VM"), None, "");
    summary.count("VMs that carry load", ("VMs", "Counts for"), Some(FOR_BOTH), "");
    summary.sum(
        "Provisioned",
        ("VMs", "Provisioned, MiB"),
        MIB_PER_TIB,
        "TiB",
        "all VMs of the file",
    );
    summary.sum_where(
        "In use, vInfo",
        ("VMs", "Used, MiB"),
        ("Used from", &[words::used_source(UsedSource::InUse)]),
        MIB_PER_TIB,
        "TiB",
    );
    summary.sum_where(
        "Used space that counts",
        ("VMs", "Used, MiB"),
        ("Counts for", &[FOR_BOTH, FOR_CAPACITY]),
        MIB_PER_TIB,
        "TiB",
    );
    summary.head("Findings and problems");
    for (name, severity) in [
        ("Findings that stop", FindingSeverity::Stops),
        ("Findings that need care", FindingSeverity::Care),
    ] {
        summary.count(name, ("Findings", "Severity"), Some(words::severity(severity)), "");
    }
    summary.count("Problems kept", ("Problems", "File"), None, "");
    Sheet {
        name: "Summary",
        columns: vec![("Item", 28.0), ("Value", 18.0), ("Unit", 10.0), ("Note", 90.0)],
        rows: summary.rows,
        filter: false,
    }
}

fn currency<'a>(input: &ReportInput<'a>) -> &'static str {
    match input.plan.monthly_cost.as_ref().map(|cost| cost.currency.as_str()) {
        Some("EUR") => "EUR",
        Some("GBP") => "GBP",
        Some("JPY") => "JPY",
        Some("USD") => "USD",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_lettered_like_a_spreadsheet() {
        assert_eq!(column_letters(0), "A");
        assert_eq!(column_letters(25), "Z");
        assert_eq!(column_letters(26), "AA");
        assert_eq!(column_letters(701), "ZZ");
        assert_eq!(column_letters(702), "AAA");
    }
}
