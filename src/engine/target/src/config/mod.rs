//! `target.toml`: what the array consists of and how it is reached.
//!
//! Unknown keys are errors. Pools and volumes are created from here when they do not exist yet; what the
//! array remembers of them wins afterwards, because capacity alerts and people change it online, unless
//! `authority = "file"`.

mod access;
mod array;
mod check;
mod iscsi;
mod nfs;
mod remote;
mod server;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

pub use access::{ChapConfig, Rule, User};
pub use array::{
    ArrayConfig, Authority, DiskConfig, LimitsConfig, PhysicalBlock, PoolConfig, RulesConfig,
    Serve, VolumeConfig,
};
pub use iscsi::{IscsiConfig, PathState, PortalConfig};
pub use nfs::{ExportRule, NfsConfig};
pub use remote::RemoteConfig;
pub use server::ServerConfig;

use plimsoll_storage::Tier;
use plimsoll_target_scsi::UnitSettings;

use crate::TargetError;

/// The whole configuration.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The array itself.
    #[serde(default)]
    pub array: ArrayConfig,
    /// Threads.
    #[serde(default)]
    pub server: ServerConfig,
    /// What the provider allows.
    #[serde(default)]
    pub rules: RulesConfig,
    /// Limits that hold for every host and every flow.
    #[serde(default)]
    pub limits: LimitsConfig,
    /// Service levels.
    #[serde(default)]
    pub tiers: Vec<Tier>,
    /// Pools.
    #[serde(default)]
    pub pools: Vec<PoolConfig>,
    /// Volumes.
    #[serde(default)]
    pub volumes: Vec<VolumeConfig>,
    /// How block volumes are served.
    pub iscsi: Option<IscsiConfig>,
    /// How volumes of files are served.
    pub nfs: Option<NfsConfig>,
    /// Where it was read from: relative paths in it start there, messages name it.
    #[serde(skip)]
    pub source: Source,
}

/// Where a configuration came from.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// The file, unless it was made by a program.
    pub path: Option<PathBuf>,
    text: String,
}

impl Config {
    /// Reads and checks a configuration file.
    pub fn load(path: &Path) -> Result<Self, TargetError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| TargetError::Read { path: path.to_owned(), source })?;
        Self::parse(&text, Some(path))
    }

    /// Reads and checks a text as if it stood in the file `path`.
    pub fn parse(text: &str, path: Option<&Path>) -> Result<Self, TargetError> {
        let mut config: Self = toml::from_str(text).map_err(|error| TargetError::Syntax {
            path: path.unwrap_or(Path::new("configuration")).to_owned(),
            message: error.to_string().trim_end().to_owned(),
        })?;
        config.source = Source { path: path.map(Path::to_owned), text: text.to_owned() };
        config.check()?;
        Ok(config)
    }

    /// The first section that differs from `new` and cannot be changed in a running target.
    pub(crate) fn needs_restart(&self, new: &Self) -> Option<&'static str> {
        let differs = |old: &dyn std::fmt::Debug, new: &dyn std::fmt::Debug| {
            format!("{old:?}") != format!("{new:?}")
        };
        let sections: [(&'static str, &dyn std::fmt::Debug, &dyn std::fmt::Debug); 7] = [
            ("array", &self.array, &new.array),
            ("server", &self.server, &new.server),
            ("rules", &self.rules, &new.rules),
            ("limits", &self.limits.host, &new.limits.host),
            ("tiers", &self.tiers, &new.tiers),
            ("iscsi", &self.iscsi, &new.iscsi),
            ("nfs", &self.nfs, &new.nfs),
        ];
        let changed = |volume: &VolumeConfig| {
            let same_name = |old: &&VolumeConfig| old.name == volume.name;
            let old = self.volumes.iter().find(same_name);
            let fixed = |volume: &VolumeConfig| {
                (volume.serve, volume.read_only, volume.disk, volume.remote.clone())
            };
            old.is_some_and(|old| fixed(old) != fixed(volume))
        };
        let section = sections.into_iter().find(|(_, old, new)| differs(old, new));
        section
            .map(|(name, ..)| name)
            .or_else(|| new.volumes.iter().any(changed).then_some("volumes"))
    }

    /// How each block volume is presented, by its name.
    pub(crate) fn unit_settings(&self) -> BTreeMap<String, UnitSettings> {
        let blocks = self.volumes.iter().filter(|volume| volume.serve == Serve::Iscsi);
        blocks.map(|volume| (volume.name.clone(), volume.unit_settings())).collect()
    }

    /// The names of the exports that refuse writes.
    pub(crate) fn read_only_exports(&self) -> BTreeSet<String> {
        let files = self.volumes.iter().filter(|volume| volume.serve == Serve::Nfs);
        let chosen = files.filter(|volume| volume.read_only);
        chosen.map(|volume| volume.name.clone()).collect()
    }

    /// A path of the configuration: relative ones start at the folder of the file.
    pub(crate) fn resolve(&self, path: &Path) -> PathBuf {
        match self.source.path.as_deref().and_then(Path::parent) {
            Some(folder) => folder.join(path),
            None => path.to_owned(),
        }
    }

    /// An error about the table `header` (the one of that index, if it is an array of tables).
    pub(crate) fn error(
        &self,
        header: &str,
        index: usize,
        message: impl Into<String>,
    ) -> TargetError {
        let mut place = String::new();
        if let Some(path) = &self.source.path {
            place = format!("{}: ", path.display());
        }
        let lines = self.source.text.lines().enumerate();
        let mut headers = lines.filter(|(_, line)| {
            let line = line.trim();
            line.starts_with(&format!("[{header}]")) || line.starts_with(&format!("[[{header}]]"))
        });
        match headers.nth(index) {
            Some((line, _)) => place.push_str(&format!("line {}: [{header}]", line + 1)),
            None => place.push_str(&format!("[{header}]")),
        }
        TargetError::Config { place, message: message.into() }
    }
}
