//! Rules over the inventory: each says what it found, on which rows, and what to do.
//!
//! One file a topic. A rule that finds nothing gives one `Passed` finding; a rule whose tabs are
//! missing is named in `rules-not-checked`, because absence of data is not absence of a fault.
//! Every threshold is a dated row of the catalogue.

mod catalog;
mod hosts;
mod iser;
mod judge;
mod network;
mod paths;
mod snapshots;
mod space;
mod vms;

use plimsoll_ingest::{Export, SourceKind};

use crate::build::Joined;
use crate::frames::Frames;
use crate::taken::Taken;
use crate::types::{Finding, Inventory};
use judge::Judge;

/// Judges every rule. Averages typed in by hand describe no site, so that there is nothing to judge.
pub(crate) fn all(
    export: &Export,
    inventory: &Inventory,
    joined: &Joined<'_>,
    frames: &Frames,
    taken: &Taken,
) -> Vec<Finding> {
    if export.files.iter().all(|file| file.kind == SourceKind::ManualAverages) {
        return Vec::new();
    }
    let mut judge = Judge::new(export, inventory, joined, frames, taken);
    space::judge(&mut judge);
    snapshots::judge(&mut judge);
    vms::judge(&mut judge);
    paths::judge(&mut judge);
    network::judge(&mut judge);
    hosts::judge(&mut judge);
    iser::judge(&mut judge);
    judge.into_findings()
}
