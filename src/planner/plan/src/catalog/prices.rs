//! List prices by region, read from a CSV with one row a region and the columns
//! `<tier>_usd_gib_hour` and `<tier>_usd_mibps_hour`. A blank means that the region does not sell it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Error;

/// Rates of one tier in one region, USD.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TierRates {
    /// A GiB of pool for an hour.
    pub usd_per_gib_hour: f64,
    /// A MiB/s beyond those included for an hour; `None` where throughput is not sold apart.
    pub usd_per_mibps_hour: Option<f64>,
}

/// Prices of one region.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RegionPrices {
    /// Region, as the provider spells it.
    pub region: String,
    /// Name for people.
    pub name: String,
    /// Rates by tier id; a tier that is absent is not sold there.
    pub tiers: BTreeMap<String, TierRates>,
    /// Day the prices were read.
    pub date: String,
    /// Where.
    pub source: String,
}

/// A table of prices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PriceTable {
    /// Stable id.
    pub id: String,
    /// Currency of all amounts, ISO 4217.
    pub currency: String,
    /// Regions, by id.
    pub regions: Vec<RegionPrices>,
}

/// Words for the keys of the `source` column.
fn source_words(key: &str) -> String {
    match key {
        "azure-retail-prices" => {
            "Azure Retail Prices API, list prices in USD, in the copy of the vendor's calculator"
                .to_owned()
        }
        other => other.to_owned(),
    }
}

impl PriceTable {
    /// Read a price file.
    ///
    /// # Errors
    /// [`Error::Catalog`] when a column is missing or a cell is not a number.
    pub fn parse(id: &str, file: &str, text: &str) -> Result<Self, Error> {
        let broken = |reason: String| Error::Catalog { file: file.to_owned(), reason };
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let headers = reader.headers().map_err(|error| broken(error.to_string()))?.clone();
        let mut regions = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| broken(error.to_string()))?;
            let cell = |name: &str| {
                headers.iter().position(|header| header == name).and_then(|at| record.get(at))
            };
            let words = |name: &str| {
                cell(name)
                    .map(str::to_owned)
                    .ok_or_else(|| broken(format!("column {name} is missing")))
            };
            let number = |name: &str| match cell(name) {
                None | Some("") => Ok(None),
                Some(text) => text
                    .parse::<f64>()
                    .map(Some)
                    .map_err(|error| broken(format!("column {name}: `{text}`: {error}"))),
            };
            let mut tiers = BTreeMap::new();
            for header in &headers {
                let Some(tier) = header.strip_suffix("_usd_gib_hour") else { continue };
                let Some(usd_per_gib_hour) = number(header)? else { continue };
                let usd_per_mibps_hour = number(&format!("{tier}_usd_mibps_hour"))?;
                tiers.insert(tier.to_owned(), TierRates { usd_per_gib_hour, usd_per_mibps_hour });
            }
            regions.push(RegionPrices {
                region: words("region")?,
                name: words("name")?,
                tiers,
                date: words("read")?,
                source: source_words(&words("source")?),
            });
        }
        regions.sort_by(|left, right| left.region.cmp(&right.region));
        Ok(Self { id: id.to_owned(), currency: "USD".to_owned(), regions })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TWO: &str = "region,name,gold_usd_gib_hour,flex_usd_gib_hour,flex_usd_mibps_hour,read,source\n\
                       b,Beta,0.5,,,2026-01-29,us\na,Alpha,0.25,0.1,0.01,2026-01-29,us\n";

    #[test]
    fn blank_is_not_sold_and_not_free() {
        let table = PriceTable::parse("t", "t.csv", TWO).unwrap();
        assert_eq!(table.regions[0].region, "a");
        assert_eq!(table.regions[0].tiers["flex"].usd_per_mibps_hour, Some(0.01));
        assert!(!table.regions[1].tiers.contains_key("flex"));
    }

    #[test]
    fn a_broken_cell_is_named() {
        let error = PriceTable::parse("t", "t.csv", &TWO.replace("0.25", "0,25")).unwrap_err();
        assert!(error.to_string().contains("t.csv"), "{error}");
        let error = PriceTable::parse("t", "t.csv", &TWO.replace("0.25", "free")).unwrap_err();
        assert!(error.to_string().contains("gold_usd_gib_hour"), "{error}");
    }
}
