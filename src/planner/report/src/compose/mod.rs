//! From the results of all stages to the report document: every word and number is chosen here.
//!
//! One file a section. Sections follow the order in which a reader asks: the answer, the picture,
//! the tables, where it comes from, how it was reached.

mod answer;
mod assumptions;
mod capacity;
mod derivation;
mod findings;
mod flows;
mod frontier;
mod hosts;
mod inventory;
mod machines;
mod placement;
mod provenance;
mod tco;
mod tiers;

use plimsoll_plan::FrontierPoint;

use crate::document::{Answer, Block, Fact, Section};
use crate::input::ReportInput;
use crate::number;
use crate::record::Record;
use crate::words;

/// A report, ready for any format.
#[derive(Debug, Clone)]
pub struct Report<'a> {
    /// What it was made from.
    pub(crate) input: ReportInput<'a>,
    /// Title, without the product's name.
    pub title: String,
    /// Day of the inventory in words, empty when unknown.
    pub date: String,
    /// The first screen.
    pub answer: Answer,
    /// Key figures.
    pub facts: Vec<Fact>,
    /// The sections.
    pub sections: Vec<Section>,
    /// SHA-256 of the JSON form with its own hash left empty; every format shows it.
    pub document_sha256: String,
}

/// What several sections need.
pub(crate) struct Context<'a> {
    pub input: &'a ReportInput<'a>,
    /// Position of the plan in the frontier.
    pub chosen: Option<usize>,
}

impl<'a> Context<'a> {
    /// The planned point of the frontier.
    pub fn point(&self) -> Option<&'a FrontierPoint> {
        self.input.plan.frontier.get(self.chosen?)
    }

    /// The next smaller count.
    pub fn smaller(&self) -> Option<&'a FrontierPoint> {
        self.input.plan.frontier.get(self.chosen?.checked_sub(1)?)
    }

    /// The next larger count.
    pub fn larger(&self) -> Option<&'a FrontierPoint> {
        self.input.plan.frontier.get(self.chosen? + 1)
    }

    /// `with one of four hosts down` or `with every host up`.
    pub fn failure(&self) -> String {
        let options = &self.input.plan.options;
        match options.hosts_lost {
            0 => "with every host up".to_owned(),
            lost => format!(
                "with {} of {} {} down",
                words::count(lost.into()),
                words::count(self.input.plan.hosts.into()),
                if self.input.plan.hosts == 1 { "host" } else { "hosts" },
            ),
        }
    }

    /// `one host down` or `all hosts up`, for captions.
    pub fn failure_short(&self) -> String {
        match self.input.plan.options.hosts_lost {
            0 => "all hosts up".to_owned(),
            lost => format!("{} down", words::counted(lost.into(), "host", "hosts")),
        }
    }

    /// `in 12 months` or `today`.
    pub fn when(&self) -> String {
        match self.input.demand.options.horizon_months {
            0 => "today".to_owned(),
            1 => "in one month".to_owned(),
            months => format!("in {months} months"),
        }
    }

    /// Name of the tier, or of the platform where there is only one.
    pub fn tier(&self) -> &'a str {
        let plan = self.input.plan;
        if plan.tier_name.is_empty() { &plan.platform_name } else { &plan.tier_name }
    }

    /// The level that decides, such as `95% level`.
    pub fn level(&self) -> String {
        format!("{} level", number::percent(self.input.plan.options.certainty_pct))
    }
}

/// Composes the report.
#[must_use]
pub fn compose<'a>(input: &ReportInput<'a>) -> Report<'a> {
    let plan = input.plan;
    let chosen = plan.frontier.iter().position(|point| point.datastores == plan.datastores);
    let context = Context { input, chosen };
    let answer = answer::answer(&context);
    let facts = answer::facts(&context);
    let mut sections: Vec<Section> = [
        frontier::section(&context),
        hosts::section(&context),
        Some(flows::section(&context)),
        capacity::section(&context),
        Some(tiers::section(&context)),
        Some(machines::section(&context)),
        Some(placement::section(&context)),
        Some(findings::section(&context)),
        Some(inventory::section(&context)),
        Some(assumptions::section(&context)),
        derivation::section(&context),
        tco::section(&context),
    ]
    .into_iter()
    .flatten()
    .collect();
    let sentence = plain_spaces(&answer.sentence);
    let deck = plain_spaces(&answer.deck);
    // A record that cannot be hashed shows no hash; writing it then reports the cause.
    let document_sha256 = Record::new(input, &sentence, &deck, "").sha256().unwrap_or_default();
    sections.push(provenance::section(&context, &document_sha256));
    number_figures(&mut sections);
    Report {
        title: title(input),
        date: input.date().map(words::date).unwrap_or_default(),
        answer,
        facts,
        sections,
        document_sha256,
        input: input.clone(),
    }
}

/// No-break spaces are for pages; data and plain text have ordinary ones.
#[must_use]
pub(crate) fn plain_spaces(text: &str) -> String {
    text.replace(number::NBSP, " ")
}

fn title(input: &ReportInput<'_>) -> String {
    let inventory = input.inventory;
    match (inventory.clusters.as_slice(), inventory.vcenters.as_slice()) {
        ([only], _) => format!("Sizing report, cluster {}", words::foreign(&only.name, 60)),
        (_, [only]) => format!("Sizing report, {}", words::foreign(only, 60)),
        _ => "Sizing report".to_owned(),
    }
}

fn number_figures(sections: &mut [Section]) {
    let mut number = 0;
    for block in sections.iter_mut().flat_map(|section| section.blocks.iter_mut()) {
        if let Block::Figure(figure) = block {
            number += 1;
            figure.number = number;
        }
    }
}
