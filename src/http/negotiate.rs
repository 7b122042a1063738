//! Which format a caller wants: `?format=` first, then `Accept`.

use axum::http::{HeaderMap, header};
use plimsoll_planner::Format;
use serde::Deserialize;
use utoipa::ToSchema;

use super::problem::Problem;

/// A format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReportFormat {
    /// One self-contained page.
    Html,
    /// The documented JSON.
    Json,
    /// A workbook with live formulas.
    Xlsx,
    /// Figures and placement as comma-separated values.
    Csv,
    /// Markdown.
    Md,
}

/// What is offered, in the order of preference when the caller has none.
const OFFERED: [ReportFormat; 5] = [
    ReportFormat::Json,
    ReportFormat::Html,
    ReportFormat::Xlsx,
    ReportFormat::Csv,
    ReportFormat::Md,
];

impl ReportFormat {
    /// Media type without parameters.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Html => "text/html",
            Self::Json => "application/json",
            Self::Xlsx => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            Self::Csv => "text/csv",
            Self::Md => "text/markdown",
        }
    }

    /// The header as sent.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Html => "text/html; charset=utf-8",
            Self::Csv => "text/csv; charset=utf-8",
            Self::Md => "text/markdown; charset=utf-8",
            Self::Json | Self::Xlsx => self.media_type(),
        }
    }

    /// Id, which is also the ending of a file's name.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Json => "json",
            Self::Xlsx => "xlsx",
            Self::Csv => "csv",
            Self::Md => "md",
        }
    }

    /// The planner's word for it.
    #[must_use]
    pub fn format(self) -> Format {
        match self {
            Self::Html => Format::Html,
            Self::Json => Format::Json,
            Self::Xlsx => Format::Xlsx,
            Self::Csv => Format::Csv,
            Self::Md => Format::Md,
        }
    }
}

/// Chooses the format of a report.
pub fn report_format(
    asked: Option<ReportFormat>,
    headers: &HeaderMap,
) -> Result<ReportFormat, Problem> {
    if let Some(format) = asked {
        return Ok(format);
    }
    let types = OFFERED.map(ReportFormat::media_type);
    choose(headers, &types)
        .map(|index| OFFERED[index])
        .ok_or_else(|| Problem::not_acceptable(&types))
}

/// Index of the offered type that the caller prefers; without a header the first.
pub fn choose(headers: &HeaderMap, offered: &[&str]) -> Option<usize> {
    let accepted: Vec<&str> = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|range| !range.is_empty())
        .collect();
    if accepted.is_empty() {
        return Some(0);
    }
    // The most specific range that matches a type gives its quality (RFC 9110, 12.5.1).
    let quality = |offer: &str| {
        accepted
            .iter()
            .filter_map(|range| {
                let mut parts = range.split(';').map(str::trim);
                let specificity = specificity(parts.next().unwrap_or_default(), offer)?;
                let quality = parts
                    .find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")))
                    .map_or(1.0, |text| text.parse::<f32>().unwrap_or(0.0));
                Some((specificity, quality))
            })
            .max_by_key(|(specificity, _)| *specificity)
            .map_or(0.0, |(_, quality)| quality)
    };
    let mut best: Option<(usize, f32)> = None;
    for (index, offer) in offered.iter().enumerate() {
        let quality = quality(offer);
        if quality > best.map_or(0.0, |(_, quality)| quality) {
            best = Some((index, quality));
        }
    }
    best.map(|(index, _)| index)
}

fn specificity(range: &str, offer: &str) -> Option<u8> {
    if range == "*/*" || range == "*" {
        return Some(0);
    }
    if range.eq_ignore_ascii_case(offer) {
        return Some(2);
    }
    let family = range.strip_suffix("/*")?;
    let (offered_family, _) = offer.split_once('/')?;
    family.eq_ignore_ascii_case(offered_family).then_some(1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn chosen(accept: &str) -> Result<ReportFormat, u16> {
        let mut headers = HeaderMap::new();
        if !accept.is_empty() {
            headers.insert(header::ACCEPT, accept.parse().unwrap());
        }
        report_format(None, &headers).map_err(|problem| problem.status)
    }

    #[test]
    fn the_preferred_format_wins() {
        assert_eq!(chosen(""), Ok(ReportFormat::Json));
        assert_eq!(chosen("*/*"), Ok(ReportFormat::Json));
        assert_eq!(chosen("text/html"), Ok(ReportFormat::Html));
        // What a browser sends.
        assert_eq!(
            chosen("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
            Ok(ReportFormat::Html)
        );
        assert_eq!(chosen("text/csv;q=0.4, text/markdown;q=0.5"), Ok(ReportFormat::Md));
        assert_eq!(chosen("text/*"), Ok(ReportFormat::Html));
        assert_eq!(chosen("application/json;q=0, */*"), Ok(ReportFormat::Html));
    }

    #[test]
    fn a_format_that_cannot_be_made_is_refused() {
        assert_eq!(chosen("image/png"), Err(406));
        assert_eq!(chosen("application/json;q=0"), Err(406));
    }
}
