//! The sheets of the workbook: details row by row, and a summary of live formulas over them.

mod sheets;
mod summary;

use plimsoll_ingest::Problems;

use crate::compose::Report;
use crate::xlsx::Book;
use sheets::{
    assumptions, classes, datastores, findings, frontier, placement, problems, provenance, tiers,
    vms,
};
use summary::summary;

/// The workbook of a report.
pub fn compose<'a>(report: &'a Report<'a>) -> Book<'a> {
    let input = &report.input;
    let details = vec![
        frontier(input),
        tiers(input),
        classes(input),
        vms(input),
        datastores(input),
        placement(input),
        findings(input),
        problems(input.problems, "Problems"),
        assumptions(input),
        provenance(report),
    ];
    let mut sheets = vec![summary(report, &details)];
    sheets.extend(details);
    Book {
        title: report.title.clone(),
        author: format!("Plimsoll {}", input.tool_version),
        origin: format!(
            "model {}; catalogue {}; document sha256 {}",
            input.plan.model, input.plan.catalog_date, report.document_sha256,
        ),
        properties: vec![
            ("Model", input.plan.model.clone()),
            ("Catalogue", input.plan.catalog_date.clone()),
            ("Document SHA-256", report.document_sha256.clone()),
            ("Evidence grade", input.plan.grade.letter().to_string()),
        ],
        date: input.date(),
        sheets,
    }
}

/// The workbook of problems alone.
pub fn problems_only(problems: &Problems) -> Book<'_> {
    Book {
        title: "Rows left out or doubted".to_owned(),
        author: "Plimsoll".to_owned(),
        origin: String::new(),
        properties: Vec::new(),
        date: None,
        sheets: vec![self::problems(problems, "Rejected rows")],
    }
}
