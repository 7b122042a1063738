//! Findings.
use crate::build::Joined;
use crate::taken::Taken;
use crate::types::*;
use plimsoll_ingest::Export;
pub(crate) fn all(_: &Export, _: &Inventory, _: &Joined<'_>, _: &Taken) -> Vec<Finding> {
    Vec::new()
}
