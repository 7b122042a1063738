//! What is believed before any point is seen: prior tables and how each platform is to be fitted.
//!
//! Both are data with sources (`data/reference/priors.csv`, `data/reference/fits.csv`), embedded
//! so that the command and a test make the same model. A prior is always shown in the model card.

use crate::error::ModelError;
use crate::points::{matches, measured_in};
use crate::series::{SeriesData, value_in};
use crate::types::{Quantity, Resource};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

const SHIPPED_PRIORS: &str = include_str!("../../../../data/reference/priors.csv");
const SHIPPED_FITS: &str = include_str!("../../../../data/reference/fits.csv");

/// What a prior speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PriorTarget {
    /// Ceiling of one flow.
    Flow,
    /// Ceiling of one host.
    Host,
    /// Ceiling of one volume.
    Volume,
    /// Ceiling of one VM.
    Vm,
    /// Ceiling of the pool.
    Pool,
    /// Rate of one outstanding I/O.
    Concurrency,
    /// Peak over mean.
    PeakToMean,
}

impl PriorTarget {
    fn resource(self) -> Option<Resource> {
        Some(match self {
            Self::Flow => Resource::Flow,
            Self::Host => Resource::Host,
            Self::Volume => Resource::Volume,
            Self::Vm => Resource::Vm,
            Self::Pool => Resource::Pool,
            Self::Concurrency => Resource::Concurrency,
            Self::PeakToMean => return None,
        })
    }
}

/// One row of a prior table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriorRow {
    /// Platform name or pattern.
    pub platform: String,
    /// `iops`, `throughput` or blank for both.
    pub quantity: Option<Quantity>,
    /// Percent of reads of the series it is for, or blank for all.
    pub read_pct: String,
    /// What it is about.
    pub resource: PriorTarget,
    /// Centre.
    pub value: f64,
    /// Unit of the centre; blank for a ratio.
    pub unit: String,
    /// `mean`, `peak` or blank.
    pub statistic: String,
    /// Standard deviation of the logarithm.
    pub sd_ln: f64,
    /// Where it comes from.
    pub source: String,
}

/// A prior table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PriorTable {
    /// Rows; the first that matches counts.
    pub rows: Vec<PriorRow>,
}

impl PriorTable {
    /// Reads a table (columns of `data/reference/priors.csv`).
    ///
    /// # Errors
    /// A row that cannot be read, or a centre or deviation that is not positive.
    pub fn read(text: &[u8]) -> Result<Self, ModelError> {
        let mut rows = Vec::new();
        for (row, record) in read_rows::<PriorRow>(text)? {
            let refuse = |column: &str, value: String, expected: &str| ModelError::Cell {
                row,
                column: column.to_owned(),
                value,
                expected: format!("{expected} (priors table)"),
            };
            if !(record.value > 0.0 && record.value.is_finite()) {
                return Err(refuse("value", record.value.to_string(), "a number above 0"));
            }
            if !(record.sd_ln > 0.0 && record.sd_ln.is_finite()) {
                return Err(refuse("sd_ln", record.sd_ln.to_string(), "a number above 0"));
            }
            if record.resource != PriorTarget::PeakToMean
                && measured_in(1.0, &record.unit).is_none()
            {
                return Err(refuse("unit", record.unit.clone(), "IOPS, MB/s or MiB/s"));
            }
            rows.push(record);
        }
        Ok(Self { rows })
    }

    /// The table that ships with the program.
    ///
    /// # Errors
    /// When the embedded file is broken, which a test excludes.
    pub fn shipped() -> Result<Self, ModelError> {
        static READ: OnceLock<PriorTable> = OnceLock::new();
        if let Some(table) = READ.get() {
            return Ok(table.clone());
        }
        let table = Self::read(SHIPPED_PRIORS.as_bytes())?;
        Ok(READ.get_or_init(|| table).clone())
    }

    /// The belief about `resource` (or, with `None`, about peak over mean) for `series`, with its
    /// centre in the unit of the series.
    pub(crate) fn find(
        &self,
        series: &SeriesData,
        resource: Option<Resource>,
    ) -> Option<(f64, &PriorRow)> {
        self.rows.iter().find_map(|row| {
            let applies = row.resource.resource() == resource
                && row.quantity.is_none_or(|quantity| quantity == series.quantity)
                && (row.read_pct.is_empty() || row.read_pct == series.read_pct)
                && matches(&row.platform, &series.platform);
            if !applies {
                return None;
            }
            let centre = if resource.is_none() {
                row.value
            } else {
                let measured = measured_in(row.value, &row.unit)?;
                value_in(measured, series.quantity, series.block_kib)?
            };
            Some((centre, row))
        })
    }
}

/// How one platform is to be fitted.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitRow {
    /// Platform name or pattern.
    pub platform: String,
    /// Id of the model.
    pub id: String,
    /// Name for people.
    pub title: String,
    /// Ceilings to estimate, by name with spaces; blank for those that the axes tell apart.
    pub ceilings: String,
    /// Blank for the shared 2.5, `fitted` where the points bear it.
    pub exponent: String,
    /// `yes` when the platforms that the pattern matches are one system seen from several sides.
    pub join: String,
    /// What a reader of the model must know.
    pub note: String,
}

impl FitRow {
    /// The ceilings listed, `None` when blank.
    pub(crate) fn resources(&self) -> Option<Vec<Resource>> {
        let named: Vec<Resource> = self
            .ceilings
            .split_whitespace()
            .filter_map(|name| {
                [
                    Resource::Concurrency,
                    Resource::Pool,
                    Resource::Host,
                    Resource::Flow,
                    Resource::Volume,
                    Resource::Vm,
                ]
                .into_iter()
                .find(|resource| resource.name() == name)
            })
            .collect();
        (!named.is_empty()).then_some(named)
    }
}

/// The list of fits that ship, in the order of `models/`.
///
/// # Errors
/// When the embedded file is broken, which a test excludes.
pub fn shipped_fits() -> Result<Vec<FitRow>, ModelError> {
    static READ: OnceLock<Vec<FitRow>> = OnceLock::new();
    if let Some(rows) = READ.get() {
        return Ok(rows.clone());
    }
    let rows: Vec<FitRow> =
        read_rows(SHIPPED_FITS.as_bytes())?.into_iter().map(|(_, row)| row).collect();
    Ok(READ.get_or_init(|| rows).clone())
}

fn read_rows<T: for<'de> Deserialize<'de>>(text: &[u8]) -> Result<Vec<(usize, T)>, ModelError> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text);
    reader
        .deserialize()
        .enumerate()
        .map(|(index, row)| {
            let row_number = index + 2;
            row.map(|row| (row_number, row))
                .map_err(|error| ModelError::Csv { row: row_number, reason: error.to_string() })
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn shipped_tables_can_be_read() {
        assert!(!PriorTable::shipped().unwrap().rows.is_empty());
        assert!(!shipped_fits().unwrap().is_empty());
    }

    #[test]
    fn every_prior_has_a_source() {
        for row in PriorTable::shipped().unwrap().rows {
            assert!(row.source.len() > 10, "{row:?}");
        }
    }
}
