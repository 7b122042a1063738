//! Cross-tab checks.
use crate::build::Joined;
use crate::frames::Frames;
use crate::types::*;
use plimsoll_ingest::Export;
use polars::prelude::*;
pub(crate) fn checks(
    _: &Export,
    _: &Inventory,
    _: &Frames,
    _: &Joined<'_>,
    _: u64,
) -> PolarsResult<Vec<QualityCheck>> {
    Ok(Vec::new())
}
