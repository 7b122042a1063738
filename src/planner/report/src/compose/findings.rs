//! What the rules found in the inventory, worst first.

use plimsoll_inventory::{Finding, FindingSeverity};

use super::Context;
use crate::document::{Block, FindingItem, Section, Text};
use crate::words;

/// Evidence rows shown for each finding; the workbook holds up to 200.
const EVIDENCE: usize = 8;

/// The section.
pub fn section(context: &Context<'_>) -> Section {
    let mut findings: Vec<&Finding> = context.input.inventory.findings.iter().collect();
    findings.sort_by_key(|finding| finding.severity);
    let count =
        |severity| findings.iter().filter(|finding| finding.severity == severity).count() as u64;
    let stops = count(FindingSeverity::Stops);
    let care = count(FindingSeverity::Care);
    let finding = match (stops, care) {
        (0, 0) => "Nothing stops the plan, and nothing needs care.".to_owned(),
        (0, 1) => "Nothing stops the plan; one thing deserves care.".to_owned(),
        (0, care) => format!("Nothing stops the plan; {} things deserve care.", words::count(care)),
        (stops, care) => {
            let stops = words::sentence(&words::counted(stops, "thing stops", "things stop"));
            match care {
                0 => format!("{stops} the plan."),
                1 => format!("{stops} the plan, one deserves care."),
                care => format!("{stops} the plan, {} deserve care.", words::count(care)),
            }
        }
    };
    let mut items: Vec<FindingItem> = findings
        .iter()
        .filter(|finding| finding.severity != FindingSeverity::Passed)
        .map(|finding| item(finding))
        .collect();
    let passed: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.severity == FindingSeverity::Passed)
        .map(|finding| finding.fact.trim_end_matches('.'))
        .collect();
    if !passed.is_empty() {
        items.push(FindingItem {
            severity: FindingSeverity::Passed,
            fact: format!(
                "{} checked and in order.",
                words::sentence(&words::counted(passed.len() as u64, "rule was", "rules were")),
            )
            .into(),
            advice: Text::default(),
            source: String::new(),
            evidence: passed.iter().map(|fact| words::foreign(fact, 200)).collect(),
            evidence_total: passed.len() as u64,
        });
    }
    Section {
        id: "findings",
        topic: "Findings".to_owned(),
        finding,
        lead: Vec::new(),
        blocks: vec![Block::Findings(items)],
        notes: Vec::new(),
    }
}

fn item(finding: &Finding) -> FindingItem {
    FindingItem {
        severity: finding.severity,
        fact: Text::quoted(&words::foreign(&finding.fact, 600)),
        advice: Text::quoted(&words::foreign(&finding.advice, 600)),
        source: words::foreign(&finding.source, 200),
        evidence: finding
            .evidence
            .iter()
            .take(EVIDENCE)
            .map(|evidence| {
                format!(
                    "{}, {} row {}: {}",
                    words::foreign(&evidence.file, 60),
                    words::foreign(&evidence.tab, 30),
                    evidence.row,
                    words::foreign(&evidence.what, 160),
                )
            })
            .collect(),
        evidence_total: finding.evidence_total,
    }
}
