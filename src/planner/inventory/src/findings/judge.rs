//! What the rules share: the rows, the catalogue, and how a result is written down.

use std::collections::BTreeSet;

use plimsoll_ingest::Export;
use plimsoll_ingest::rows::{RowRef, Sdk};

use super::catalog::Catalog;
use crate::build::Joined;
use crate::frames::Frames;
use crate::report::file_name;
use crate::taken::Taken;
use crate::types::{Evidence, Finding, FindingSeverity, HostId, Inventory};

/// A rule: its id, what to do when it fires, and where it comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule {
    pub id: &'static str,
    pub advice: &'static str,
    /// Where the rule comes from; the sources of its thresholds are added.
    pub source: &'static str,
    /// Ids of the thresholds it uses.
    pub thresholds: &'static [&'static str],
}

/// Rows a finding stands on.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    kept: Vec<Evidence>,
    pub total: u64,
}

impl Rows {
    /// Kept in full; the rest are counted.
    const KEPT: usize = 200;

    /// One more row; `what` is made only when the row is kept.
    pub fn push(&mut self, export: &Export, tab: &str, at: RowRef, what: impl FnOnce() -> String) {
        self.total += 1;
        if self.kept.len() < Self::KEPT {
            self.kept.push(Evidence {
                file: file_name(export, at.file),
                tab: tab.to_owned(),
                row: at.row,
                what: what(),
            });
        }
    }

    pub fn is_empty(&self) -> bool {
        self.total == 0
    }
}

/// Everything a rule looks at, and the results so far.
pub(crate) struct Judge<'a> {
    pub export: &'a Export,
    pub inventory: &'a Inventory,
    pub joined: &'a Joined<'a>,
    pub frames: &'a Frames,
    pub taken: &'a Taken,
    pub catalog: &'static Catalog,
    found: Vec<Finding>,
    not_checked: Vec<(&'static str, &'static str)>,
}

impl<'a> Judge<'a> {
    pub fn new(
        export: &'a Export,
        inventory: &'a Inventory,
        joined: &'a Joined<'a>,
        frames: &'a Frames,
        taken: &'a Taken,
    ) -> Self {
        Self {
            export,
            inventory,
            joined,
            frames,
            taken,
            catalog: Catalog::built_in(),
            found: Vec::new(),
            not_checked: Vec::new(),
        }
    }

    /// The value of a threshold.
    pub fn limit(&self, id: &str) -> u64 {
        self.catalog.threshold(id).value
    }

    /// The host of a row of a host tab.
    pub fn host(&self, at: RowRef, sdk: &Sdk, name: Option<&str>) -> Option<HostId> {
        self.joined.hosts.find(self.joined.vcenters.code(at.file, sdk), name?)
    }

    /// Whether a row comes from a file that is left out.
    pub fn left_out(&self, at: RowRef) -> bool {
        self.joined.duplicates.is_repeated(at.file)
    }

    /// Whether a tab was in the files, with rows or without.
    pub fn has_tab(&self, tab: &str) -> bool {
        self.export.files.iter().any(|file| file.tabs.iter().any(|one| one.used && one.tab == tab))
    }

    /// A rule fired.
    pub fn fired(&mut self, rule: Rule, severity: FindingSeverity, fact: String, rows: Rows) {
        self.found.push(Finding {
            id: rule.id.to_owned(),
            severity,
            fact,
            advice: rule.advice.to_owned(),
            source: self.source(rule),
            evidence: rows.kept,
            evidence_total: rows.total,
        });
    }

    /// A rule was judged and is in order.
    pub fn passed(&mut self, rule: Rule, fact: String) {
        let source = self.source(rule);
        self.found.push(Finding {
            id: rule.id.to_owned(),
            severity: FindingSeverity::Passed,
            fact,
            advice: String::new(),
            source,
            evidence: Vec::new(),
            evidence_total: 0,
        });
    }

    fn source(&self, rule: Rule) -> String {
        let own = (!rule.source.is_empty()).then(|| rule.source.to_owned());
        let cited = rule.thresholds.iter().map(|id| self.catalog.threshold(id).cited());
        own.into_iter().chain(cited).collect::<Vec<_>>().join("; ")
    }

    /// A rule could not be judged for want of data.
    pub fn not_checked(&mut self, rule: Rule, needs: &'static str) {
        self.not_checked.push((rule.id, needs));
    }

    /// All results, the gravest first.
    pub fn into_findings(mut self) -> Vec<Finding> {
        if !self.not_checked.is_empty() {
            let rules: Vec<&str> = self.not_checked.iter().map(|(id, _)| *id).collect();
            let needs: BTreeSet<&str> = self.not_checked.iter().map(|(_, needs)| *needs).collect();
            let needs: Vec<&str> = needs.into_iter().collect();
            let (rules, needs) = (rules.join(", "), needs.join("; "));
            self.fired(
                Rule {
                    id: "rules-not-checked",
                    advice: "Export all tabs to have these judged; what is not judged is not in order by that.",
                    source: "Plimsoll: absence of data is not absence of a fault",
                    thresholds: &[],
                },
                FindingSeverity::Note,
                format!("Not judged for want of data: {rules}. Missing: {needs}."),
                Rows::default(),
            );
        }
        self.found.sort_by_key(|finding| finding.severity);
        self.found
    }
}
