//! Who may use the iSCSI target, and the secrets of CHAP, which stand in files of their own.

use std::path::{Path, PathBuf};

use plimsoll_target_iscsi::{Access, Chap};
use plimsoll_wire::iscsi::chap::Credentials;
use serde::Deserialize;

use super::Config;
use crate::TargetError;

/// Shortest secret: the 96 bits that RFC 7143 section 9.2.1 asks for.
const SECRET_MIN: usize = 12;
/// Longest secret; a longer file is not one.
const SECRET_MAX: usize = 256;

/// One entry of `iscsi.access`; the first that matches decides.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rule {
    /// Initiator names; a `*` at the end stands for any rest. Empty: any name.
    pub initiators: Vec<String>,
    /// Networks the initiator may come from. Empty: any.
    pub networks: Vec<String>,
    /// CHAP to be passed; absent: none.
    pub chap: Option<ChapConfig>,
}

/// CHAP in one or both directions.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChapConfig {
    /// Any of them proves an initiator.
    pub users: Vec<User>,
    /// What the target proves when asked (mutual CHAP).
    pub mutual: Option<User>,
}

/// A CHAP name and where its secret is.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// CHAP name.
    pub name: String,
    /// A file whose first line is the secret.
    pub secret_file: PathBuf,
}

impl Rule {
    pub(crate) fn access(&self, config: &Config) -> Result<Access, TargetError> {
        let networks = self
            .networks
            .iter()
            .map(|text| text.parse().map_err(|error| config.error("iscsi", 0, format!("{error}"))))
            .collect::<Result<_, _>>()?;
        let chap = self.chap.as_ref().map(|chap| chap.load(config)).transpose()?;
        Ok(Access { initiators: self.initiators.clone(), networks, chap })
    }
}

impl ChapConfig {
    pub(crate) fn load(&self, config: &Config) -> Result<Chap, TargetError> {
        if self.users.is_empty() {
            return Err(config.error("iscsi", 0, "chap without users lets nobody in; add users"));
        }
        let users = self.users.iter().map(|user| user.load(config)).collect::<Result<_, _>>()?;
        let mutual = self.mutual.as_ref().map(|user| user.load(config)).transpose()?;
        let chap = Chap { users, mutual };
        chap.check().map_err(|error| config.error("iscsi", 0, error.to_string()))?;
        Ok(chap)
    }
}

impl User {
    fn load(&self, config: &Config) -> Result<Credentials, TargetError> {
        let path = config.resolve(&self.secret_file);
        let text = std::fs::read_to_string(&path)
            .map_err(|source| TargetError::Read { path: path.clone(), source })?;
        let secret = text.lines().next().unwrap_or_default();
        if !(SECRET_MIN..=SECRET_MAX).contains(&secret.len()) {
            return Err(config.error(
                "iscsi",
                0,
                format!(
                    "the first line of {} has {} bytes; a CHAP secret has {SECRET_MIN} to {SECRET_MAX}",
                    path.display(),
                    secret.len()
                ),
            ));
        }
        warn_if_readable(&path);
        Ok(Credentials::new(self.name.clone(), secret))
    }
}

fn warn_if_readable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0) {
        tracing::warn!(path = %path.display(), "a file of a CHAP secret can be read by others; chmod 600 it");
    }
}
