//! How the number was reached, with the numbers put in.

use super::Context;
use crate::document::{Block, Section, Step};

/// The section; absent when the plan has no derivation.
pub fn section(context: &Context<'_>) -> Option<Section> {
    let steps: Vec<Step> = context
        .input
        .plan
        .derivation
        .iter()
        .map(|step| Step {
            what: step.what.clone(),
            formula: step.formula.clone(),
            result: step.result.clone(),
        })
        .collect();
    if steps.is_empty() {
        return None;
    }
    Some(Section {
        id: "derivation",
        topic: "Derivation".to_owned(),
        finding: "How the number was reached.".to_owned(),
        lead: Vec::new(),
        blocks: vec![Block::Derivation(steps)],
        notes: Vec::new(),
    })
}
