//! ESXi settings that bound the number of connections and mounts, by version.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::SourceNote;
use crate::Error;

/// One setting from a version on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EsxiSetting {
    /// Name, as `esxcli` spells it; lower-case names stand for facts that are no setting.
    pub name: String,
    /// First version this holds for, such as `8.0.1` for 8.0 U1.
    pub from: String,
    /// Value of a host that nobody has changed.
    pub default: u32,
    /// Largest value.
    pub max: u32,
    /// What it bounds.
    pub what: String,
    /// Key of the sources.
    pub source: String,
    /// Date.
    pub date: String,
    /// What to know about it.
    #[serde(default)]
    pub note: String,
}

/// All settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EsxiLimits {
    /// Where they come from.
    pub sources: BTreeMap<String, SourceNote>,
    /// Rows.
    pub settings: Vec<EsxiSetting>,
}

/// A version of ESXi as far as it was given: `8.0` leaves the update open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EsxiVersion(Vec<u32>);

impl EsxiVersion {
    /// Read `8.0`, `8.0.3`, `8.0 U3`, `8.0u3k` or `VMware ESXi 8.0.2 build-22380479`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let start = text.find(|letter: char| letter.is_ascii_digit())?;
        let version = text[start..].split("build").next()?;
        let numbers: Vec<u32> = version
            .split(|letter: char| !letter.is_ascii_digit())
            .filter(|part| !part.is_empty())
            .take(3)
            .map_while(|part| part.parse().ok())
            .collect();
        (numbers.len() >= 2).then_some(Self(numbers))
    }

    /// Whether this version is `other` or later. Parts that were not given count as late enough:
    /// `8.0` is taken to have whatever some update of 8.0 has.
    #[must_use]
    pub fn at_least(&self, other: &Self) -> bool {
        for (mine, theirs) in self.0.iter().zip(&other.0) {
            if mine != theirs {
                return mine > theirs;
            }
        }
        true
    }
}

impl EsxiLimits {
    /// Read the file.
    ///
    /// # Errors
    /// [`Error::Catalog`] with the parser's words.
    pub fn parse(file: &str, text: &str) -> Result<Self, Error> {
        toml::from_str(text)
            .map_err(|error| Error::Catalog { file: file.to_owned(), reason: error.to_string() })
    }

    /// The row of a setting for a version: the latest one that the version has reached.
    ///
    /// # Errors
    /// [`Error::Option`] when the version is older than the oldest row.
    pub fn setting(&self, name: &str, version: &EsxiVersion) -> Result<&EsxiSetting, Error> {
        let reached = |row: &&EsxiSetting| {
            row.name == name
                && EsxiVersion::parse(&row.from).is_some_and(|from| version.at_least(&from))
        };
        self.settings.iter().rfind(reached).ok_or_else(|| Error::Option {
            option: "esxi_version",
            given: version.0.iter().map(u32::to_string).collect::<Vec<_>>().join("."),
            expected: format!("the catalogue knows {name} from 6.0 on; give 6.0 or later"),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Catalog;

    #[test]
    fn versions_are_read_as_people_write_them() {
        let parse = |text| EsxiVersion::parse(text).unwrap().0;
        assert_eq!(parse("8.0"), [8, 0]);
        assert_eq!(parse("8.0 U3k"), [8, 0, 3]);
        assert_eq!(parse("VMware ESXi 8.0.2 build-22380479"), [8, 0, 2]);
        assert!(EsxiVersion::parse("eight").is_none());
    }

    #[test]
    fn connections_per_address_rose_with_seven() {
        let limits = Catalog::built_in().unwrap().esxi;
        let value = |name: &str, version: &str| {
            let row = limits.setting(name, &EsxiVersion::parse(version).unwrap()).unwrap();
            (row.default, row.max)
        };
        assert_eq!(value("SunRPC.MaxConnPerIP", "6.7 U3"), (4, 128));
        assert_eq!(value("SunRPC.MaxConnPerIP", "7.0"), (32, 256));
        assert_eq!(value("NFS.MaxVolumes", "6.7.0"), (8, 256));
        assert_eq!(value("nconnect.nfs3", "8.0.0"), (1, 1));
        assert_eq!(value("nconnect.nfs3", "8.0"), (1, 8));
        assert_eq!(value("nconnect.nfs41", "8.0.2"), (1, 1));
        assert!(limits.setting("NFS.MaxVolumes", &EsxiVersion::parse("5.5").unwrap()).is_err());
    }
}
