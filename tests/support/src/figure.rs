//! One measured figure against its reference and its goal.

use serde::Serialize;

/// A figure.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// What was measured.
    pub name: String,
    /// Unit of `ours` and `reference_value`.
    pub unit: &'static str,
    /// Ours.
    pub ours: f64,
    /// What it is compared with.
    pub reference: String,
    /// Its value, measured in the same run; absent when it could not be.
    pub reference_value: Option<f64>,
    /// Ours over the reference, or the reference over ours where more is better (see `goal`).
    pub ratio: Option<f64>,
    /// What is to be reached.
    pub goal: String,
    /// Whether it was; absent when it could not be judged.
    pub met: Option<bool>,
    /// The command that gives our value.
    pub command: String,
}

impl Figure {
    /// One object on one line.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// A line to watch a long run by.
    pub fn progress(&self) -> String {
        format!("{}: {} {}", self.name, number(self.ours), self.unit)
    }

    fn verdict(&self) -> &'static str {
        match self.met {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "not measured",
        }
    }
}

/// Three significant digits are more than these measurements hold.
fn number(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// All figures as a Markdown table.
pub fn table(figures: &[Figure]) -> String {
    let mut out = String::from(
        "| figure | ours | reference | its value | ratio | goal | met |\n|---|--:|---|--:|--:|---|---|\n",
    );
    for figure in figures {
        let or_dash = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), number);
        out.push_str(&format!(
            "| {} | {} {} | {} | {} | {} | {} | {} |\n",
            figure.name,
            number(figure.ours),
            figure.unit,
            figure.reference,
            or_dash(figure.reference_value),
            or_dash(figure.ratio),
            figure.goal,
            figure.verdict()
        ));
    }
    out
}
