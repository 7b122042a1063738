//! How block volumes are served.

use std::net::SocketAddr;
use std::time::Duration;

use plimsoll_target_iscsi::Settings;
use plimsoll_target_scsi::AccessState;
use plimsoll_wire::iscsi::negotiate::DigestWish;
use serde::Deserialize;

use super::{ChapConfig, Config, Rule};
use crate::{Size, TargetError};

/// What ALUA tells about the paths of a portal group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathState {
    /// To be used.
    #[default]
    ActiveOptimized,
    /// To be used when there is no better one.
    ActiveNonOptimized,
    /// Not to be used now.
    Standby,
}

impl From<PathState> for AccessState {
    fn from(state: PathState) -> Self {
        match state {
            PathState::ActiveOptimized => Self::ActiveOptimized,
            PathState::ActiveNonOptimized => Self::ActiveNonOptimized,
            PathState::Standby => Self::Standby,
        }
    }
}

/// An entry of `iscsi.portals`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortalConfig {
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Its portal group, from 1 on; a group is a target port of its own to ALUA.
    #[serde(default = "first_group")]
    pub group: u16,
    /// What ALUA tells about the group; the entries of one group agree.
    #[serde(default)]
    pub state: PathState,
    /// Takes iSER (iSCSI over RDMA) too, on the same address and port.
    #[serde(default)]
    pub iser: bool,
}

fn first_group() -> u16 {
    1
}

/// Whether digests are used.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Digest {
    /// Never.
    Never,
    /// If the initiator wants them.
    Allow,
    /// If the initiator can.
    Prefer,
    /// Or no session.
    Require,
}

impl From<Digest> for DigestWish {
    fn from(digest: Digest) -> Self {
        match digest {
            Digest::Never => Self::Never,
            Digest::Allow => Self::Allow,
            Digest::Prefer => Self::Prefer,
            Digest::Require => Self::Require,
        }
    }
}

/// `[iscsi]`; what is absent has the default of the iSCSI server.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "the caps are those of the iSCSI server's Settings")]
pub struct IscsiConfig {
    /// iSCSI name of the target; made from the array's name when absent.
    pub target: Option<String>,
    /// A name for people.
    pub alias: Option<String>,
    /// Where it listens; two groups on loopback when absent.
    pub portals: Vec<PortalConfig>,
    /// Who may log in; without entries everybody.
    pub access: Vec<Rule>,
    /// CHAP of discovery sessions.
    pub discovery_chap: Option<ChapConfig>,
    /// Header digests.
    pub header_digest: Digest,
    /// Data digests.
    pub data_digest: Digest,
    pub commands_per_session: Option<u16>,
    pub sessions: Option<usize>,
    pub sessions_per_initiator: Option<usize>,
    pub logins: Option<usize>,
    pub memory: Option<Size>,
    pub login_timeout_s: Option<u64>,
    pub ping_after_s: Option<u64>,
    pub ping_timeout_s: Option<u64>,
}

impl Default for IscsiConfig {
    fn default() -> Self {
        let portal = |port, group| PortalConfig {
            listen: SocketAddr::from(([127, 0, 0, 1], port)),
            group,
            state: PathState::default(),
            iser: false,
        };
        Self {
            target: None,
            alias: None,
            portals: vec![portal(3260, 1), portal(3261, 2)],
            access: Vec::new(),
            discovery_chap: None,
            header_digest: Digest::Allow,
            data_digest: Digest::Allow,
            commands_per_session: None,
            sessions: None,
            sessions_per_initiator: None,
            logins: None,
            memory: None,
            login_timeout_s: None,
            ping_after_s: None,
            ping_timeout_s: None,
        }
    }
}

impl IscsiConfig {
    /// The iSCSI name of the target.
    pub(crate) fn target_name(&self, config: &Config) -> String {
        match &self.target {
            Some(name) => name.clone(),
            None => format!("iqn.2026-11.org.plimsoll:{}", config.array.name),
        }
    }

    pub(crate) fn settings(&self, config: &Config) -> Result<Settings, TargetError> {
        let mut settings = Settings::default();
        settings.wishes.header_digest = self.header_digest.into();
        settings.wishes.data_digest = self.data_digest.into();
        let chap = self.discovery_chap.as_ref().map(|chap| chap.load(config)).transpose()?;
        let seconds = |s: Option<u64>, default| s.map_or(default, Duration::from_secs);
        Ok(Settings {
            commands_per_session: self
                .commands_per_session
                .unwrap_or(settings.commands_per_session),
            sessions: self.sessions.unwrap_or(settings.sessions),
            sessions_per_initiator: self
                .sessions_per_initiator
                .unwrap_or(settings.sessions_per_initiator),
            logins: self.logins.unwrap_or(settings.logins),
            memory_bytes: self.memory.map_or(settings.memory_bytes, |size| size.bytes() as usize),
            login_timeout: seconds(self.login_timeout_s, settings.login_timeout),
            ping_after: seconds(self.ping_after_s, settings.ping_after),
            ping_timeout: seconds(self.ping_timeout_s, settings.ping_timeout),
            discovery_chap: chap,
            ..settings
        })
    }
}
