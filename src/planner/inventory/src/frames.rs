//! The column store: rows as frames with integer keys, joined and summed by polars.
//!
//! Text is turned into numbers before it gets here (VM, datastore, host and cluster codes), so that
//! joins and groups work on `u32` columns. Nulls are left out before sums: a VM without rows in a
//! tab has no sum there, which is not the same as zero. Frames never leave the crate.

use plimsoll_ingest::Severity;
use plimsoll_ingest::rows::RowRef;
use plimsoll_units::Mib;
use polars::prelude::*;

use crate::report::{Kind, Report};

/// The frames of one run.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    /// `vm`, `host`, `cluster`, `reason`, `provisioned`, `in_use`, `total_disk`.
    pub vms: DataFrame,
    /// vDisk: `vm`, `datastore`, `capacity`, `stored` (on a datastore and counted once), `file`
    /// (size of its file on a datastore).
    pub disks: DataFrame,
    /// vPartition: `vm`, `capacity`, `consumed`.
    pub partitions: DataFrame,
    /// vSnapshot: `vm`, `size`.
    pub snapshots: DataFrame,
    /// vMemory: `vm`.
    pub memories: DataFrame,
    /// vDatastore after merging: `datastore`, `capacity`, `in_use`.
    pub datastores: DataFrame,
}

/// Sizes above one exbibyte are no inventory; below it, sums over all rows stay within `u64`.
const LARGEST_MIB: u64 = 1 << 40;

const IMPLAUSIBLE: Kind = Kind {
    code: "size-implausible",
    severity: Severity::Error,
    tab: "",
    column: "",
    expected: "a size below 1 EiB, in MiB",
    action: "taken as missing",
};

/// A size that a sum may hold.
pub(crate) fn plausible(
    size: Option<Mib>,
    (tab, column): (&'static str, &'static str),
    at: RowRef,
    report: &mut Report,
) -> Option<u64> {
    let size = size?.0;
    if size > LARGEST_MIB {
        report.row(Kind { tab, column, ..IMPLAUSIBLE }, at, || size.to_string());
        return None;
    }
    Some(size)
}

/// Result of a polars operation on frames that were made here.
///
/// Every frame is built with columns of one length and fixed names, and every operation names those
/// columns and fits their types, whatever the input holds; the tests run each of them.
#[expect(clippy::expect_used, reason = "proof above")]
pub(crate) fn proven<T>(result: PolarsResult<T>) -> T {
    result.expect("frames have the columns they were made with")
}

/// Sums of `value` for each `key`, as `<value>_sum`; rows without either are left out.
#[expect(deprecated, reason = "the lazy engine would add minutes to the build for the same sums")]
pub(crate) fn sums(frame: &DataFrame, key: &str, value: &str) -> PolarsResult<DataFrame> {
    let present = frame.select([key, value])?.drop_nulls::<String>(None)?;
    present.group_by([key])?.select([value]).sum()
}

/// Largest `value` for each `key`, as `<value>_max`; rows without either are left out.
#[expect(deprecated, reason = "the lazy engine would add minutes to the build for the same result")]
pub(crate) fn largest(frame: &DataFrame, key: &str, value: &str) -> PolarsResult<DataFrame> {
    let present = frame.select([key, value])?.drop_nulls::<String>(None)?;
    present.group_by([key])?.select([value]).max()
}

/// Adds the columns of `right` to `left` by `key`, keeping the rows and order of `left`.
pub(crate) fn look_up(left: &DataFrame, right: &DataFrame, key: &str) -> PolarsResult<DataFrame> {
    let how = JoinArgs { maintain_order: MaintainOrderJoin::Left, ..JoinArgs::new(JoinType::Left) };
    left.join(right, [key], [key], how, None)
}

/// Each value of `key` once, as a frame.
pub(crate) fn distinct(frame: &DataFrame, key: &str) -> PolarsResult<DataFrame> {
    let keys = frame.select([key])?.drop_nulls::<String>(None)?;
    if keys.height() == 0 {
        return Ok(keys);
    }
    let column = keys.column(key)?.as_materialized_series().unique()?;
    DataFrame::new(column.len(), vec![column.into()])
}

/// Number of values of `key` in `left` that `right` does not have.
pub(crate) fn missing(left: &DataFrame, right: &DataFrame, key: &str) -> PolarsResult<usize> {
    let left = distinct(left, key)?;
    Ok(left
        .join(&distinct(right, key)?, [key], [key], JoinArgs::new(JoinType::Anti), None)?
        .height())
}

/// Rows of `left` whose `key` is in `right`.
pub(crate) fn within(left: &DataFrame, right: &DataFrame, key: &str) -> PolarsResult<DataFrame> {
    left.join(right, [key], [key], JoinArgs::new(JoinType::Semi), None)
}

/// Sum of a column, nulls left out.
pub(crate) fn total(frame: &DataFrame, column: &str) -> PolarsResult<u64> {
    Ok(frame.column(column)?.u64()?.sum().unwrap_or(0))
}

/// A `u64` column as optional values.
pub(crate) fn values(frame: &DataFrame, column: &str) -> PolarsResult<Vec<Option<u64>>> {
    Ok(frame.column(column)?.u64()?.iter().collect())
}

/// The values of `value` laid out by `key`, a code below `len`; missing where there is no row.
pub(crate) fn by_code(
    frame: &DataFrame,
    key: &str,
    value: &str,
    len: usize,
) -> PolarsResult<Vec<Option<u64>>> {
    let mut laid_out = vec![None; len];
    let keys = frame.column(key)?.u32()?;
    let values = frame.column(value)?.u64()?;
    for (key, value) in keys.iter().zip(values.iter()) {
        if let Some(place) = key.and_then(|key| laid_out.get_mut(key as usize)) {
            *place = value;
        }
    }
    Ok(laid_out)
}
