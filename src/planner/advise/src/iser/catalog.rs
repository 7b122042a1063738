//! Which ESXi and which adapter can do iSER: dated rows of the catalogue with their sources.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// The tables built into the binary.
#[derive(Debug)]
pub struct Catalog {
    versions: Vec<Version>,
    drivers: Vec<Driver>,
    last_seen: LastSeen,
    contradictions: Vec<Contradiction>,
    network: Network,
    results: Results,
}

/// Frame sizes of a path.
#[derive(Debug, Clone, Deserialize)]
pub struct Network {
    /// VMkernel port and virtual switch, in bytes.
    pub mtu: u16,
    /// Physical switch, in bytes.
    pub switch_mtu: u16,
    /// Date of the source.
    pub date: String,
    /// Source.
    pub source: String,
}

/// What a version of ESXi needs for iSER.
#[derive(Debug, Clone, Deserialize)]
pub struct Version {
    from: String,
    /// Where the driver comes from.
    pub driver: DriverSource,
    /// Packages of older drivers that go first.
    pub remove: Vec<String>,
    /// What else is said of it; may be empty.
    pub note: String,
    /// Date of the source.
    pub date: String,
    /// Source.
    pub source: String,
}

/// Where the iSER driver of an ESXi version comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriverSource {
    /// A bundle of the adapter's vendor has to be installed.
    Vendor,
    /// ESXi carries it.
    Inbox,
}

/// An adapter family by its driver.
#[derive(Debug, Clone, Deserialize)]
pub struct Driver {
    prefix: String,
    /// Whether its adapters do RDMA.
    pub rdma: Rdma,
    /// The adapters.
    pub family: String,
    models: Vec<String>,
    /// Package that brings RDMA.
    pub module: String,
    inbox_from: String,
    gone_from: String,
    /// Date of the source.
    pub date: String,
    /// Source.
    pub source: String,
}

/// Whether the adapters of a driver do RDMA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rdma {
    /// All of them.
    Yes,
    /// Some of them.
    Some,
}

/// The last version of ESXi that was looked at.
#[derive(Debug, Clone, Deserialize)]
pub struct LastSeen {
    /// Version.
    pub version: String,
    /// Package of the initiator.
    pub package: String,
    /// Date of the source.
    pub date: String,
    /// Source.
    pub source: String,
}

/// What sources say against each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contradiction {
    /// The question.
    pub about: String,
    /// The answers.
    pub statements: Vec<Statement>,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// What is said.
    pub says: String,
    /// Date of the source.
    pub date: String,
    /// Source.
    pub source: String,
    /// Whether the steps follow it.
    pub in_force: bool,
}

/// Published comparisons of iSCSI and iSER.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Source of all.
    pub source: String,
    /// Date of the source.
    pub date: String,
    /// What was measured with.
    pub setting: String,
    /// Each measurement.
    pub results: Vec<Published>,
}

/// A published measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Published {
    /// Number in the source.
    pub id: String,
    /// Array.
    pub system: String,
    /// Load.
    pub load: String,
    /// IOPS over iSER, when printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iser_iops: Option<f64>,
    /// Milliseconds over iSCSI and iSER, when printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<[f64; 2]>,
    /// Gains as claimed; several for one quantity contradict each other.
    pub gain_pct: Vec<Gain>,
    /// What else is to be known.
    pub note: String,
}

/// A claimed gain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// Of what.
    pub quantity: String,
    /// Percent.
    pub pct: f64,
    /// Where in the source.
    pub place: String,
}

#[derive(Deserialize)]
struct VersionsFile {
    versions: Vec<Version>,
    last_seen: LastSeen,
    contradictions: Vec<Contradiction>,
    network: Network,
}

#[derive(Deserialize)]
struct DriversFile {
    drivers: Vec<Driver>,
}

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the files are part of the binary and read by a test")]
    Catalog::read().expect("the embedded catalogue is well formed")
});

impl Catalog {
    /// The tables.
    #[must_use]
    pub fn built_in() -> &'static Self {
        &CATALOG
    }

    fn read() -> Result<Self, toml::de::Error> {
        let versions: VersionsFile =
            toml::from_str(include_str!("../../../../../data/catalog/iser_esxi.toml"))?;
        let drivers: DriversFile =
            toml::from_str(include_str!("../../../../../data/catalog/iser_nic_drivers.toml"))?;
        let results: Results =
            toml::from_str(include_str!("../../../../../data/reference/iser_results.toml"))?;
        Ok(Self {
            versions: versions.versions,
            drivers: drivers.drivers,
            last_seen: versions.last_seen,
            contradictions: versions.contradictions,
            network: versions.network,
            results,
        })
    }

    /// What iSER needs on a version of ESXi; `None` before the first known, or when it is no version.
    #[must_use]
    pub fn version(&self, version: &str) -> Option<&Version> {
        let version = major_minor(version)?;
        let known = self.versions.iter().filter_map(|row| Some((major_minor(&row.from)?, row)));
        known.filter(|(from, _)| *from <= version).max_by_key(|(from, _)| *from).map(|(_, row)| row)
    }

    /// The last version looked at, when `version` is after it.
    #[must_use]
    pub fn not_looked_at(&self, version: &str) -> Option<&LastSeen> {
        let last = major_minor(&self.last_seen.version)?;
        (major_minor(version)? > last).then_some(&self.last_seen)
    }

    /// The adapter family of a driver.
    #[must_use]
    pub fn driver(&self, driver: &str) -> Option<&Driver> {
        let driver = driver.trim().to_lowercase();
        self.drivers.iter().find(|row| driver.starts_with(&row.prefix))
    }

    /// The adapter family of a driver or of a model as people write it.
    #[must_use]
    pub fn adapter(&self, name: &str) -> Option<&Driver> {
        let lower = name.trim().to_lowercase().replace("connectx ", "connectx-");
        self.driver(&lower).or_else(|| {
            self.drivers
                .iter()
                .find(|row| row.models.iter().any(|model| lower.contains(model.as_str())))
        })
    }

    /// Names of the families, for whoever named none of them.
    pub fn families(&self) -> impl Iterator<Item = &str> {
        self.drivers.iter().map(|row| row.family.as_str())
    }

    /// Frame sizes.
    #[must_use]
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// What the sources say against each other.
    #[must_use]
    pub fn contradictions(&self) -> &[Contradiction] {
        &self.contradictions
    }

    /// Published comparisons.
    #[must_use]
    pub fn results(&self) -> &Results {
        &self.results
    }
}

impl Driver {
    /// Whether ESXi of this version carries its RDMA package; `None` when that is not known.
    #[must_use]
    pub fn carried_by(&self, version: &str) -> Option<bool> {
        let version = major_minor(version)?;
        if major_minor(&self.gone_from).is_some_and(|gone| version >= gone) {
            return Some(false);
        }
        // Before the first version seen to carry it, the lists were not looked at or had it not.
        (version >= major_minor(&self.inbox_from)?).then_some(true)
    }

    /// The first version of ESXi seen without it again.
    #[must_use]
    pub fn gone_from(&self) -> Option<&str> {
        (!self.gone_from.is_empty()).then_some(&self.gone_from)
    }
}

/// Major and minor number of a version, comparable.
fn major_minor(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    let major = parts.next()?.trim().parse().ok()?;
    let minor = parts.next().map_or(Some(0), |part| part.trim().parse().ok())?;
    Some((major, minor))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn versions_and_drivers() {
        let catalog = Catalog::built_in();
        let source = |version| catalog.version(version).map(|row| row.driver);
        assert_eq!(source("5.5.0"), Some(DriverSource::Vendor));
        assert_eq!(source("6.5.0"), Some(DriverSource::Vendor));
        assert!(!catalog.version("6.5.0").unwrap().note.is_empty());
        assert_eq!(source("6.7.0"), Some(DriverSource::Inbox));
        assert_eq!(source("8.0.2"), Some(DriverSource::Inbox));
        assert_eq!(source("5.1.0"), None);
        assert_eq!(catalog.driver("nmlx5_core").unwrap().rdma, Rdma::Yes);
        assert_eq!(catalog.driver("i40en").unwrap().rdma, Rdma::Some);
        assert!(catalog.driver("ixgben").is_none());
        assert!(catalog.not_looked_at("8.0.3").is_none());
        assert!(catalog.not_looked_at("9.0.1").is_some());
    }

    #[test]
    fn adapters_are_known_by_model_as_well() {
        let catalog = Catalog::built_in();
        for (name, module) in [
            ("LAN-10G2SF-MLX", "nmlx4-rdma"),
            ("Mellanox ConnectX-3 Pro EN", "nmlx4-rdma"),
            ("MT27700 Family [ConnectX-4]", "nmlx5-rdma"),
            ("bnxtnet", "bnxtroce"),
        ] {
            assert_eq!(catalog.adapter(name).unwrap().module, module, "{name}");
        }
        assert!(catalog.adapter("Intel I350").is_none());
    }

    #[test]
    fn which_esxi_carries_the_rdma_package() {
        let catalog = Catalog::built_in();
        let carried = |driver: &str, version| catalog.driver(driver).unwrap().carried_by(version);
        assert_eq!(carried("nmlx4_en", "6.7.0"), Some(true));
        assert_eq!(carried("nmlx4_en", "8.0.2"), Some(false));
        assert_eq!(carried("nmlx5_core", "6.5.0"), None);
        assert_eq!(carried("nmlx5_core", "8.0.2"), Some(true));
    }

    #[test]
    fn every_row_has_its_date_and_source() {
        let catalog = Catalog::built_in();
        let dated = |date: &str, source: &str| date.len() == 10 && !source.is_empty();
        assert!(catalog.versions.iter().all(|row| dated(&row.date, &row.source)));
        assert!(catalog.drivers.iter().all(|row| dated(&row.date, &row.source)));
        let statements = catalog.contradictions.iter().flat_map(|one| &one.statements);
        assert!(statements.clone().all(|one| dated(&one.date, &one.source)));
        assert!(statements.clone().any(|one| !one.in_force));
        assert!(dated(&catalog.results.date, &catalog.results.source));
    }

    #[test]
    fn the_all_flash_result_keeps_both_of_its_gains() {
        let results = Catalog::built_in().results();
        let flash = results.results.iter().find(|result| result.id == "6-3").unwrap();
        let gains: Vec<f64> = flash.gain_pct.iter().map(|gain| gain.pct).collect();
        assert_eq!(gains, [60.0, 80.0]);
    }
}
