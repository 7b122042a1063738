//! Nothing is written that the user did not name, and nothing that looks like somebody's data.

mod contents;
mod magic;
mod reservations;
pub mod workspace;

pub use contents::{look, read_at};
pub use magic::{Region, find as find_magic, regions};
pub use reservations::check as check_reservations;

use plimsoll_initiator::Datastore;

use crate::{Error, Result};

/// What the user allowed.
#[derive(Debug, Clone, Default)]
pub struct Permission {
    /// Serial numbers and export paths that may be written.
    pub names: Vec<String>,
    /// Write even where data of somebody was found.
    pub destroy_data: bool,
}

impl Permission {
    /// Whether a target of this identity may be written.
    #[must_use]
    pub fn covers(&self, identity: &str) -> bool {
        let plain = |text: &str| text.trim().trim_end_matches('/').to_owned();
        !identity.is_empty() && self.names.iter().any(|name| plain(name) == plain(identity))
    }

    /// Refuses a target that was not named.
    pub fn demand(&self, url: &str, identity: &str) -> Result<()> {
        if self.covers(identity) {
            return Ok(());
        }
        let what = if identity.is_empty() {
            "has no serial number by which writing could be allowed".to_owned()
        } else {
            format!(
                "writing was not allowed; if all its data may be lost, add --allow-write {identity}"
            )
        };
        Err(Error::WriteRefused { url: url.to_owned(), what })
    }

    /// Refuses a block device that holds something that looks like data.
    pub fn demand_unused(&self, url: &str, datastore: &mut dyn Datastore) -> Result<()> {
        let found = look(url, datastore)?;
        if found.is_empty() || self.destroy_data {
            return Ok(());
        }
        let what = format!(
            "holds {}; wipe it first, or add --destroy-data if nobody needs it",
            found.join(", ")
        );
        Err(Error::WriteRefused { url: url.to_owned(), what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_named_may_be_written() {
        let permission = Permission {
            names: vec!["0011aabb".to_owned(), "/ds1/".to_owned()],
            destroy_data: false,
        };
        assert!(permission.covers("0011aabb") && permission.covers("/ds1"));
        for other in ["", "0011AABB", "/ds", "/ds1/x", "0011aab"] {
            assert!(!permission.covers(other), "{other}");
        }
        let told = permission.demand("iscsi://h/i/0", "77").map_err(|error| error.to_string());
        assert!(told.is_err_and(|text| text.contains("--allow-write 77")));
    }
}
