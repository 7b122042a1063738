//! The catalogue: platforms with limits, tiers, host types and gateways, prices by region, ESXi
//! settings by version. The files stand in `data/catalog` and are compiled in; every figure in them
//! has a source and a date.

mod esxi;
mod platform;
mod prices;

use serde::Serialize;

pub use esxi::{EsxiLimits, EsxiSetting, EsxiVersion};
pub use platform::{
    Choice, CountStatement, Fact, Gateway, HostType, Limits, Platform, SourceNote, Tier,
    TierThroughput,
};
pub use prices::{PriceTable, RegionPrices, TierRates};

use crate::Error;

/// Hours that a month of price counts (the vendor's own convention, cost page of 2026-06-15).
pub const HOURS_PER_MONTH: f64 = 730.0;

/// Files of the platforms, compiled in.
const PLATFORM_FILES: [(&str, &str); 2] = [
    (
        "platforms/azure-vmware-solution-av36-anf.toml",
        include_str!("../../../../data/catalog/platforms/azure-vmware-solution-av36-anf.toml"),
    ),
    (
        "platforms/generic-array.toml",
        include_str!("../../../../data/catalog/platforms/generic-array.toml"),
    ),
];

/// Everything that is known of vendors' limits and prices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Catalog {
    /// Platforms, the default one first.
    pub platforms: Vec<Platform>,
    /// Price tables.
    pub prices: Vec<PriceTable>,
    /// ESXi settings by version.
    pub esxi: EsxiLimits,
}

impl Catalog {
    /// The catalogue that comes with the program.
    ///
    /// # Errors
    /// When a compiled-in file does not parse; a test keeps that from happening.
    pub fn built_in() -> Result<Self, Error> {
        let platforms = PLATFORM_FILES
            .iter()
            .map(|(file, text)| Platform::parse(file, text))
            .collect::<Result<Vec<_>, Error>>()?;
        let prices = vec![PriceTable::parse(
            "anf",
            "anf_prices.csv",
            include_str!("../../../../data/catalog/anf_prices.csv"),
        )?];
        let esxi = EsxiLimits::parse(
            "esxi_limits.toml",
            include_str!("../../../../data/catalog/esxi_limits.toml"),
        )?;
        Ok(Self { platforms, prices, esxi })
    }

    /// A platform by its id.
    ///
    /// # Errors
    /// [`Error::Unknown`] with the ids there are.
    pub fn platform(&self, id: &str) -> Result<&Platform, Error> {
        self.platforms.iter().find(|platform| platform.id == id).ok_or_else(|| Error::Unknown {
            what: "platform",
            given: id.to_owned(),
            known: list(self.platforms.iter().map(|platform| platform.id.as_str())),
        })
    }

    /// Prices of a platform in a region; `None` for a platform whose prices are the user's.
    ///
    /// # Errors
    /// [`Error::Unknown`] with the regions there are.
    pub fn region(
        &self,
        platform: &Platform,
        region: &str,
    ) -> Result<Option<&RegionPrices>, Error> {
        let Some(id) = &platform.prices else { return Ok(None) };
        let table =
            self.prices.iter().find(|table| &table.id == id).ok_or_else(|| Error::Catalog {
                file: platform.id.clone(),
                reason: format!("it names the price table `{id}`, which does not exist"),
            })?;
        table.regions.iter().find(|prices| prices.region == region).map(Some).ok_or_else(|| {
            Error::Unknown {
                what: "region",
                given: region.to_owned(),
                known: list(table.regions.iter().map(|prices| prices.region.as_str())),
            }
        })
    }
}

/// Names in one line, for messages.
pub(crate) fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn built_in_files_parse_and_every_row_names_a_source_that_exists() {
        let catalog = Catalog::built_in().unwrap();
        for platform in &catalog.platforms {
            for key in platform.source_keys() {
                assert!(platform.sources.contains_key(&key), "{}: {key}", platform.id);
            }
        }
        for setting in &catalog.esxi.settings {
            assert!(catalog.esxi.sources.contains_key(&setting.source), "{}", setting.name);
        }
        assert_eq!(catalog.prices[0].regions.len(), 51);
    }

    #[test]
    fn unknown_names_are_answered_with_the_known_ones() {
        let catalog = Catalog::built_in().unwrap();
        let error = catalog.platform("avs").unwrap_err().to_string();
        assert!(error.contains("azure-vmware-solution-av36-anf"), "{error}");
        let platform = catalog.platform("azure-vmware-solution-av36-anf").unwrap();
        let error = catalog.region(platform, "mars").unwrap_err().to_string();
        assert!(error.contains("westeurope"), "{error}");
    }

    #[test]
    fn contradictory_datastore_limits_are_all_listed_and_one_is_in_force() {
        let catalog = Catalog::built_in().unwrap();
        let platform = catalog.platform("azure-vmware-solution-av36-anf").unwrap();
        let values: Vec<u32> =
            platform.datastores_per_cluster.iter().map(|statement| statement.value).collect();
        assert_eq!(values, [64, 8, 64, 256]);
        assert_eq!(platform.datastore_limit().unwrap().value, 64);
    }
}
