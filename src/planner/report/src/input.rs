//! What a report is made from. Everything is borrowed but the options: nothing large is copied.

use jiff::civil::{Date, DateTime};
use plimsoll_demand::Demand;
use plimsoll_ingest::{InputFile, Problems};
use plimsoll_inventory::Inventory;
use plimsoll_plan::Plan;

/// The results of all stages, and what identifies the run.
#[derive(Debug, Clone)]
pub struct ReportInput<'a> {
    /// The site.
    pub inventory: &'a Inventory,
    /// Its load.
    pub demand: &'a Demand,
    /// The plan for it.
    pub plan: &'a Plan,
    /// What was not as expected in the files.
    pub problems: &'a Problems,
    /// The files.
    pub files: &'a [InputFile],
    /// All options of the run, as given.
    pub options: serde_json::Value,
    /// Version of the tool.
    pub tool_version: &'a str,
}

impl ReportInput<'_> {
    /// The date on the report: the day of the inventory, never the clock.
    #[must_use]
    pub fn date(&self) -> Option<Date> {
        self.inventory.taken.map(DateTime::date)
    }
}
