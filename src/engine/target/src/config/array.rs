//! The array: where its data lives, its rules, pools and volumes.

use plimsoll_storage::{Kind, Limit, Limits, PoolSettings, Qos, Rules, VolumeSettings};
use plimsoll_target_scsi::UnitSettings;
use serde::Deserialize;

use super::RemoteConfig;
use crate::{Backing, Size};

/// Who decides about pools and volumes that exist already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Authority {
    /// The array: what was changed online stays.
    #[default]
    Array,
    /// The file: sizes, tiers, pools and limits are brought to what it says at every start.
    File,
}

/// `[array]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ArrayConfig {
    /// Its name; part of the iSCSI name unless `iscsi.target` is set.
    pub name: String,
    /// `memory`, or a folder.
    pub backing: Backing,
    /// Who decides about what exists already.
    pub authority: Authority,
}

impl Default for ArrayConfig {
    fn default() -> Self {
        Self { name: "array".to_owned(), backing: Backing::Memory, authority: Authority::default() }
    }
}

/// `[rules]`: see [`Rules`] for what each of them means.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "the same names as in Rules")]
pub struct RulesConfig {
    pub pool_min: Option<Size>,
    pub pool_max: Option<Size>,
    pub pool_step: Option<Size>,
    pub volume_min: Option<Size>,
    pub volume_max: Option<Size>,
    pub volume_step: Option<Size>,
    pub volumes_per_pool: Option<u32>,
    pub overcommit: Option<f64>,
    pub retier_with_volumes: Option<bool>,
    pub decrease_cooldown_s: Option<u64>,
    pub thresholds_pct: Option<Vec<u8>>,
}

impl RulesConfig {
    /// The rules, with defaults for what is not set.
    pub fn rules(&self) -> Rules {
        let default = Rules::default();
        let size = |size: Option<Size>, default: u64| size.map_or(default, Size::bytes);
        Rules {
            pool_min_bytes: size(self.pool_min, default.pool_min_bytes),
            pool_max_bytes: size(self.pool_max, default.pool_max_bytes),
            pool_step_bytes: size(self.pool_step, default.pool_step_bytes),
            volume_min_bytes: size(self.volume_min, default.volume_min_bytes),
            volume_max_bytes: size(self.volume_max, default.volume_max_bytes),
            volume_step_bytes: size(self.volume_step, default.volume_step_bytes),
            volumes_per_pool: self.volumes_per_pool.unwrap_or(default.volumes_per_pool),
            overcommit: self.overcommit.unwrap_or(default.overcommit),
            retier_with_volumes: self.retier_with_volumes.unwrap_or(default.retier_with_volumes),
            decrease_cooldown_s: self.decrease_cooldown_s.unwrap_or(default.decrease_cooldown_s),
            thresholds_pct: self.thresholds_pct.clone().unwrap_or(default.thresholds_pct),
        }
    }
}

/// `[limits]`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsConfig {
    /// Each host on the whole array.
    pub host: Limit,
    /// Each flow (one TCP connection) to a volume that does not set its own.
    pub flow: Limit,
}

/// `[[pools]]`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolConfig {
    /// Its name.
    pub name: String,
    /// Its size.
    pub size: Size,
    /// Its tier.
    pub tier: Option<String>,
    /// How throughput reaches the volumes.
    #[serde(default)]
    pub qos: Qos,
    /// A limit on all its volumes together.
    #[serde(default)]
    pub limit: Limit,
}

impl PoolConfig {
    pub(crate) fn settings(&self) -> PoolSettings {
        PoolSettings {
            name: self.name.clone(),
            size_bytes: self.size.bytes(),
            tier: self.tier.clone(),
            qos: self.qos,
            limit: self.limit,
        }
    }
}

/// The protocol of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Serve {
    /// A logical unit.
    Iscsi,
    /// An export.
    Nfs,
}

/// `[[volumes]]`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VolumeConfig {
    /// Its name; an export is reached as `/name`.
    pub name: String,
    /// Its pool.
    pub pool: String,
    /// Its protocol.
    pub serve: Serve,
    /// Its quota. A remote volume has the size of the remote unit; given all the same, it is what is believed until the
    /// remote target is reached for the first time.
    #[serde(default)]
    pub size: Size,
    /// The unit of another target that holds its bytes.
    pub remote: Option<RemoteConfig>,
    /// A limit on all its traffic; with manual quality of service `mib_per_s` is its throughput.
    #[serde(default)]
    pub limit: Limit,
    /// A limit on each of its flows; `[limits] flow` when absent.
    pub flow: Option<Limit>,
    /// Whether writes are refused.
    #[serde(default)]
    pub read_only: bool,
    /// Size of a sparse file `probe.dat` that an export gets when it is first served, so that a probe which may
    /// not write has something to read. It counts against the quota only as far as it is written.
    pub probe_file: Option<Size>,
    /// What kind of disk a block volume shows itself as.
    #[serde(default)]
    pub disk: DiskConfig,
}

/// `disk = { … }` of a block volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskConfig {
    /// A medium that initiators can eject and lock in. Arrays have fixed ones.
    #[serde(default)]
    pub removable: bool,
    /// Size of the physical blocks behind the logical blocks of 512 bytes.
    #[serde(default)]
    pub physical_block: PhysicalBlock,
}

/// Size of a physical block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub enum PhysicalBlock {
    /// As the logical ones (512n).
    #[default]
    #[serde(rename = "512B")]
    Bytes512,
    /// 512e.
    #[serde(rename = "4KiB")]
    Kib4,
}

impl VolumeConfig {
    /// How the device server presents it.
    pub(crate) fn unit_settings(&self) -> UnitSettings {
        UnitSettings {
            read_only: self.read_only,
            removable: self.disk.removable,
            physical_exponent: match self.disk.physical_block {
                PhysicalBlock::Bytes512 => 0,
                PhysicalBlock::Kib4 => 3,
            },
            ..UnitSettings::default()
        }
    }

    pub(crate) fn settings(&self, limits: &LimitsConfig) -> VolumeSettings {
        VolumeSettings {
            name: self.name.clone(),
            kind: match self.serve {
                Serve::Iscsi => Kind::Block,
                Serve::Nfs => Kind::Files,
            },
            size_bytes: self.size.bytes(),
            limits: Limits { volume: self.limit, flow: self.flow.unwrap_or(limits.flow) },
            remote: self.remote.as_ref().map(|remote| remote.url.clone()),
        }
    }
}
