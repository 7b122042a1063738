//! One platform: what a provider or an array offers and how far it goes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Error;

/// Where figures come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceNote {
    /// Title and publisher.
    pub what: String,
    /// Date that the source states, or the day it was read.
    pub date: String,
}

/// A figure with its source and date.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// The figure; its unit is in the name of the field.
    pub value: f64,
    /// Key of the platform's sources.
    pub source: String,
    /// Date.
    pub date: String,
    /// What to know about it.
    #[serde(default)]
    pub note: String,
}

/// Allowed values with their source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// The values.
    pub values: Vec<u32>,
    /// Key of the platform's sources.
    pub source: String,
    /// Date.
    pub date: String,
    /// What to know about it.
    #[serde(default)]
    pub note: String,
}

/// One statement of a count, among several that may disagree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CountStatement {
    /// The count.
    pub value: u32,
    /// The statement that is used.
    #[serde(default)]
    pub in_force: bool,
    /// Key of the platform's sources.
    pub source: String,
    /// Date.
    pub date: String,
    /// What to know about it.
    #[serde(default)]
    pub note: String,
}

/// Limits of sizes and counts; what is absent has no limit that is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Smallest pool, TiB.
    pub pool_min_tib: Option<Fact>,
    /// Largest pool, TiB.
    pub pool_max_tib: Option<Fact>,
    /// Step in which a pool is sold, TiB; absent where nothing is pooled.
    pub pool_step_tib: Option<Fact>,
    /// Smallest volume, GiB.
    pub volume_min_gib: Option<Fact>,
    /// Largest volume, GiB.
    pub volume_max_gib: Option<Fact>,
    /// Most throughput of one volume, MiB/s.
    pub volume_max_mibps: Option<Fact>,
    /// Largest file, so largest virtual disk, TiB.
    pub file_max_tib: Option<Fact>,
    /// Volumes in a pool.
    pub volumes_per_pool: Option<Fact>,
    /// Snapshots of a volume.
    pub snapshots_per_volume: Option<Fact>,
    /// Capacity that a subscription starts with in a region, TiB: raised on request.
    pub regional_quota_tib: Option<Fact>,
    /// Fewest hosts of a cluster.
    pub hosts_min: Option<Fact>,
    /// Most hosts of a cluster.
    pub hosts_per_cluster: Option<Fact>,
    /// Most hosts in all.
    pub hosts_max: Option<Fact>,
}

impl Limits {
    fn facts(&self) -> impl Iterator<Item = &Fact> {
        [
            &self.pool_min_tib,
            &self.pool_max_tib,
            &self.pool_step_tib,
            &self.volume_min_gib,
            &self.volume_max_gib,
            &self.volume_max_mibps,
            &self.file_max_tib,
            &self.volumes_per_pool,
            &self.snapshots_per_volume,
            &self.regional_quota_tib,
            &self.hosts_min,
            &self.hosts_per_cluster,
            &self.hosts_max,
        ]
        .into_iter()
        .flatten()
    }
}

/// How a tier gives throughput.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum TierThroughput {
    /// In proportion to the size.
    WithSize {
        /// MiB/s for each TiB.
        mibps_per_tib: f64,
    },
    /// Bought apart from the size.
    Bought {
        /// MiB/s included whatever the size.
        included_mibps: f64,
        /// Most MiB/s for each TiB of pool.
        max_mibps_per_tib: f64,
        /// Step, MiB/s.
        step_mibps: f64,
    },
    /// Not limited by the tier.
    None,
}

/// A service tier.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tier {
    /// Stable id.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// Ways of sharing throughput, the simplest first: `auto`, `manual`; empty where there is no
    /// such choice.
    pub qos: Vec<String>,
    /// Throughput.
    pub throughput: TierThroughput,
    /// Largest pool on this tier, TiB, when below the platform's.
    #[serde(default)]
    pub pool_max_tib: Option<f64>,
    /// In preview: shown, never chosen.
    #[serde(default)]
    pub preview: bool,
    /// Key of the platform's sources.
    pub source: String,
    /// Date.
    pub date: String,
    /// What to know about it.
    #[serde(default)]
    pub note: String,
}

/// A type of host that the platform rents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostType {
    /// Stable id.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// Physical cores.
    pub cores: u32,
    /// Clock, GHz.
    pub ghz: f64,
    /// Memory, GiB.
    pub memory_gib: f64,
    /// vSAN architecture.
    pub vsan: String,
    /// Raw capacity of vSAN, TB.
    pub vsan_capacity_tb: f64,
    /// Network port, Gbit/s.
    pub nic_gbit: f64,
    /// Key of the platform's sources.
    pub source: String,
    /// Date.
    pub date: String,
    /// What to know about it.
    #[serde(default)]
    pub note: String,
}

/// A gateway between hosts and storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gateway {
    /// Stable id.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// Throughput, Mbit/s.
    pub mbit: f64,
    /// Data does not pass through it.
    pub fast_path: bool,
    /// Key of the platform's sources.
    pub source: String,
    /// Date.
    pub date: String,
    /// What to know about it.
    #[serde(default)]
    pub note: String,
}

/// A platform that datastores are planned on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Platform {
    /// Stable id.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// Model that predicts it; `None` where the user gives the ceilings.
    pub model: Option<String>,
    /// `nfs3`, `nfs41`, `iscsi`.
    pub protocol: String,
    /// Date of the newest review of these facts.
    pub date: String,
    /// Price table; `None` where the price is the user's.
    pub prices: Option<String>,
    /// Host type taken when none is asked for.
    pub default_host_type: Option<String>,
    /// Gateway taken when none is asked for.
    pub default_gateway: Option<String>,
    /// Connections that a mount can have.
    pub nconnect: Choice,
    /// Where the figures come from.
    pub sources: BTreeMap<String, SourceNote>,
    /// Limits.
    pub limits: Limits,
    /// What is said of the number of datastores of a cluster; statements may disagree.
    #[serde(default)]
    pub datastores_per_cluster: Vec<CountStatement>,
    /// Tiers, cheapest rate first.
    pub tiers: Vec<Tier>,
    /// Host types.
    #[serde(default)]
    pub host_types: Vec<HostType>,
    /// Gateways.
    #[serde(default)]
    pub gateways: Vec<Gateway>,
}

impl Platform {
    /// Read one platform file.
    ///
    /// # Errors
    /// [`Error::Catalog`] with the parser's words.
    pub fn parse(file: &str, text: &str) -> Result<Self, Error> {
        toml::from_str(text)
            .map_err(|error| Error::Catalog { file: file.to_owned(), reason: error.to_string() })
    }

    /// The statement on the number of datastores that is used.
    #[must_use]
    pub fn datastore_limit(&self) -> Option<&CountStatement> {
        self.datastores_per_cluster.iter().find(|statement| statement.in_force)
    }

    /// A host type by its id, or the default one; `None` where the platform has none.
    ///
    /// # Errors
    /// [`Error::Unknown`] with the ids there are.
    pub fn host_type(&self, id: Option<&str>) -> Result<Option<&HostType>, Error> {
        let wanted = id.or(self.default_host_type.as_deref());
        find("host type", wanted, &self.host_types, |host| &host.id)
    }

    /// A gateway by its id, or the default one; `None` where the platform has none.
    ///
    /// # Errors
    /// [`Error::Unknown`] with the ids there are.
    pub fn gateway(&self, id: Option<&str>) -> Result<Option<&Gateway>, Error> {
        let wanted = id.or(self.default_gateway.as_deref());
        find("gateway", wanted, &self.gateways, |gateway| &gateway.id)
    }

    /// A tier by its id.
    ///
    /// # Errors
    /// [`Error::Unknown`] with the ids there are.
    pub fn tier(&self, id: &str) -> Result<&Tier, Error> {
        find("tier", Some(id), &self.tiers, |tier| &tier.id)?.ok_or_else(|| Error::Unknown {
            what: "tier",
            given: id.to_owned(),
            known: String::new(),
        })
    }

    /// Every source key that a row of this file names.
    #[must_use]
    pub fn source_keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = vec![self.nconnect.source.clone()];
        keys.extend(self.limits.facts().map(|fact| fact.source.clone()));
        keys.extend(self.datastores_per_cluster.iter().map(|row| row.source.clone()));
        keys.extend(self.tiers.iter().map(|row| row.source.clone()));
        keys.extend(self.host_types.iter().map(|row| row.source.clone()));
        keys.extend(self.gateways.iter().map(|row| row.source.clone()));
        keys.sort();
        keys.dedup();
        keys
    }

    /// Source of a row in words: title and date.
    #[must_use]
    pub fn source_text(&self, key: &str, date: &str) -> String {
        match self.sources.get(key) {
            Some(source) => format!("{} ({date})", source.what),
            None => format!("{key} ({date})"),
        }
    }
}

fn find<'a, T>(
    what: &'static str,
    wanted: Option<&str>,
    rows: &'a [T],
    id: impl Fn(&T) -> &String,
) -> Result<Option<&'a T>, Error> {
    let Some(wanted) = wanted else { return Ok(None) };
    match rows.iter().find(|row| id(row).eq_ignore_ascii_case(wanted)) {
        Some(row) => Ok(Some(row)),
        None => Err(Error::Unknown {
            what,
            given: wanted.to_owned(),
            known: super::list(rows.iter().map(|row| id(row).as_str())),
        }),
    }
}
