//! Tables of a fit report in Markdown, for docs/models.md and for people.

use crate::report::FitReport;
use std::fmt::Write;

impl FitReport {
    /// Families with their leave-one-out errors.
    #[must_use]
    pub fn families_table(&self) -> String {
        let mut text = String::from(
            "| family | parameters | median error | mean error |\n|---|---:|---:|---:|\n",
        );
        for family in &self.families {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| {} | {} | {:.1} % | {:.1} % |",
                family.name, family.parameters, family.median_pct, family.mean_pct
            );
        }
        text
    }

    /// Each point with what the model says, fitted with and without it.
    #[must_use]
    pub fn points_table(&self) -> String {
        let mut text = String::from(
            "| series | configuration | statistic | published | fitted | left out | 90 % interval | error |\n|---|---|---|---:|---:|---:|---|---:|\n",
        );
        for point in &self.points {
            let out = point.left_out.map_or("–".to_owned(), grouped);
            let interval = match (point.left_out_p05, point.left_out_p95) {
                (Some(low), Some(high)) => format!("{} to {}", grouped(low), grouped(high)),
                _ => "–".to_owned(),
            };
            let error = point.error_pct.map_or("–".to_owned(), |error| format!("{error:+.1} %"));
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {out} | {interval} | {error} |",
                point.series,
                point.configuration,
                point.statistic,
                grouped(point.published),
                grouped(point.fitted),
            );
        }
        text
    }

    /// The ceilings of the model with their priors.
    #[must_use]
    pub fn ceilings_table(&self) -> String {
        let mut text = String::from(
            "| series | ceiling | value | unit | sd of ln | prior | sd of ln | source of the prior |\n|---|---|---:|---|---:|---:|---:|---|\n",
        );
        for series in &self.model.series {
            for ceiling in &series.ceilings {
                let (value, sd, source) = ceiling.prior.as_ref().map_or_else(
                    || ("–".to_owned(), "–".to_owned(), String::new()),
                    |prior| {
                        let statistic = if prior.statistic.is_empty() {
                            String::new()
                        } else {
                            format!(" ({})", prior.statistic)
                        };
                        let value = format!("{}{statistic}", grouped(prior.value));
                        (value, format!("{:.2}", prior.sd_ln), prior.source.clone())
                    },
                );
                let _ = writeln!(
                    text,
                    "| {} | {}{} | {} | {} | {:.2} | {value} | {sd} | {source} |",
                    series.name,
                    ceiling.resource.name(),
                    if ceiling.one_sided { ", at least" } else { "" },
                    grouped(ceiling.value),
                    series.unit,
                    ceiling.sd_ln,
                );
            }
        }
        text
    }
}

/// A whole number with commas between thousands.
pub(crate) fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
