//! Thresholds and tables of the rules, read from the catalogue: each a dated row with its source.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::names::major_minor;

/// The catalogue's tables that the rules use.
#[derive(Debug)]
pub(crate) struct Catalog {
    thresholds: BTreeMap<String, Threshold>,
    words: BTreeMap<String, Words>,
    settings: Vec<Setting>,
}

/// A limit above or below which a rule fires.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Threshold {
    id: String,
    /// In `unit`.
    pub value: u64,
    #[expect(dead_code, reason = "for readers of the file; its presence is checked")]
    unit: String,
    date: String,
    source: String,
}

impl Threshold {
    /// Source and date in one line.
    pub fn cited(&self) -> String {
        format!("{} ({})", self.source, self.date)
    }
}

#[derive(Debug, Clone, Deserialize)]
struct Words {
    id: String,
    words: Vec<String>,
}

/// An advanced setting of ESXi from a version on.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Setting {
    name: String,
    from: String,
    /// Value on a host where nobody has changed it.
    pub default: u64,
}

#[derive(Deserialize)]
struct FindingsFile {
    thresholds: Vec<Threshold>,
    words: Vec<Words>,
}

#[derive(Deserialize)]
struct SettingsFile {
    settings: Vec<Setting>,
}

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the files are part of the binary and read by a test")]
    Catalog::read().expect("the embedded catalogue is well formed")
});

impl Catalog {
    /// The tables built into the binary.
    pub fn built_in() -> &'static Self {
        &CATALOG
    }

    fn read() -> Result<Self, toml::de::Error> {
        let findings: FindingsFile =
            toml::from_str(include_str!("../../../../../data/catalog/findings.toml"))?;
        let settings: SettingsFile =
            toml::from_str(include_str!("../../../../../data/catalog/esxi_limits.toml"))?;
        Ok(Self {
            thresholds: findings.thresholds.into_iter().map(|row| (row.id.clone(), row)).collect(),
            words: findings.words.into_iter().map(|row| (row.id.clone(), row)).collect(),
            settings: settings.settings,
        })
    }

    /// A threshold by its id.
    pub fn threshold(&self, id: &str) -> &Threshold {
        #[expect(clippy::expect_used, reason = "a test asks for every id that the rules use")]
        self.thresholds.get(id).expect("a threshold the rules use is in the catalogue")
    }

    /// Whether a port group's name marks it as one for storage. Words of up to four letters have
    /// to stand alone (`san`, not `sandbox`).
    pub fn is_storage_name(&self, name: &str) -> bool {
        let lower = name.to_lowercase();
        let parts: Vec<&str> = lower.split(|c: char| !c.is_ascii_alphabetic()).collect();
        let Some(row) = self.words.get("storage-port-group") else { return false };
        row.words.iter().any(|word| match word.len() {
            0..=4 => parts.contains(&word.as_str()),
            _ => lower.contains(word.as_str()),
        })
    }

    /// An advanced setting on a version of ESXi; `None` before the first known.
    pub fn setting(&self, name: &str, version: &str) -> Option<&Setting> {
        let rows: Vec<Setting> =
            self.settings.iter().filter(|row| row.name == name).cloned().collect();
        let row = latest(&rows, version, |row| &row.from)?;
        self.settings.iter().find(|one| one.name == row.name && one.from == row.from)
    }
}

/// The last row whose version is not above `version`.
fn latest<'r, R>(rows: &'r [R], version: &str, from: impl Fn(&R) -> &str) -> Option<&'r R> {
    let version = major_minor(version)?;
    let known = rows.iter().filter_map(|row| Some((major_minor(from(row))?, row)));
    known.filter(|(from, _)| *from <= version).max_by_key(|(from, _)| *from).map(|(_, row)| row)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_threshold_of_the_rules_is_there_with_its_source() {
        let catalog = Catalog::built_in();
        for id in [
            "space-note-pct",
            "space-care-pct",
            "overcommit-note-pct",
            "overcommit-care-pct",
            "space-without-vm-pct",
            "snapshot-note-days",
            "snapshot-care-days",
            "snapshot-share-pct",
            "jumbo-mtu",
            "file-limit-mib",
        ] {
            let row = catalog.threshold(id);
            assert!(!row.source.is_empty() && row.date.len() == 10, "{id}");
        }
    }

    #[test]
    fn connections_to_one_address_by_version() {
        let catalog = Catalog::built_in();
        let limit =
            |version| catalog.setting("SunRPC.MaxConnPerIP", version).map(|row| row.default);
        assert_eq!(limit("6.0.0"), Some(4));
        assert_eq!(limit("6.7.0"), Some(4));
        assert_eq!(limit("7.0.3"), Some(32));
        assert_eq!(limit("8.0.2"), Some(32));
        assert_eq!(limit("5.5.0"), None);
    }

    #[test]
    fn storage_port_groups() {
        let catalog = Catalog::built_in();
        for name in ["iSCSI-A", "pg_nfs_10", "VMK-Storage-2", "SAN 1", "vsan-data"] {
            assert!(catalog.is_storage_name(name), "{name}");
        }
        for name in ["Management Network", "sandbox", "vMotion", "Santiago"] {
            assert!(!catalog.is_storage_name(name), "{name}");
        }
    }
}
