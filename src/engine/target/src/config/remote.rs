//! `remote = { … }` of a volume: the unit of another target that holds its bytes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_fabric::rdma::Fabric;
use plimsoll_remote::{Chap, Credentials, Prefer, Return, Settings};
use serde::Deserialize;

use super::Config;
use crate::{Size, TargetError};

/// `remote = { url = "iser://host/iqn/lun" }`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteConfig {
    /// `iser://host[:port]/iqn/lun` or `iscsi://host[:port]/iqn/lun`.
    pub url: String,
    /// The transport that is used when both can be had.
    #[serde(default)]
    pub prefer: Prefer,
    /// Return to it by itself when it has answered for so many seconds; on request only when absent.
    pub return_after_s: Option<u64>,
    /// Bytes that may wait or be under way before more is answered as busy.
    #[serde(default = "queue")]
    pub queue: Size,
    /// Commands that may wait or be under way.
    #[serde(default = "queue_operations")]
    pub queue_operations: usize,
    /// How long commands wait for a connection before they fail.
    #[serde(default = "patience")]
    pub patience_s: u64,
    /// User of CHAP.
    pub user: Option<String>,
    /// File with the secret of CHAP, readable by nobody else.
    pub secret_file: Option<PathBuf>,
}

fn queue() -> Size {
    Size(64 << 20)
}

fn queue_operations() -> usize {
    1024
}

fn patience() -> u64 {
    60
}

impl RemoteConfig {
    /// What the engine is started with.
    pub(crate) fn settings(
        &self,
        config: &Config,
        index: usize,
        rdma: Result<Arc<dyn Fabric>, String>,
    ) -> Result<Settings, TargetError> {
        let chap = match (&self.user, &self.secret_file) {
            (None, None) => None,
            (Some(user), Some(file)) => {
                let path = config.resolve(file);
                let secret = std::fs::read_to_string(&path)
                    .map_err(|source| TargetError::Read { path, source })?;
                Some(Chap { user: user.clone(), secret: secret.trim_end().to_owned() })
            }
            _ => {
                let message = "remote needs both user and secret_file for CHAP, or neither";
                return Err(config.error("volumes", index, message));
            }
        };
        let back = self.return_after_s.map(Duration::from_secs);
        Ok(Settings {
            prefer: self.prefer,
            back: back.map_or(Return::OnRequest, Return::WhenHealthy),
            queue_bytes: self.queue.bytes(),
            queue_operations: self.queue_operations,
            patience: Duration::from_secs(self.patience_s),
            credentials: Credentials { chap, mutual: None },
            rdma,
            ..Settings::new(&self.url)
        })
    }
}
