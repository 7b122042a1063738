//! What a configuration must not say, found before anything is started.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use super::{Config, Serve};
use crate::TargetError;

impl Config {
    /// Finds contradictions; what only the array can judge (rules, room) is found when it is built.
    pub fn check(&self) -> Result<(), TargetError> {
        let mut tiers = BTreeSet::new();
        for (index, tier) in self.tiers.iter().enumerate() {
            if !tiers.insert(tier.name.as_str()) {
                let message = format!("tier {:?} is there twice; rename one", tier.name);
                return Err(self.error("tiers", index, message));
            }
            if !(tier.mib_per_s_per_tib.is_finite() && tier.mib_per_s_per_tib > 0.0) {
                let message =
                    "mib_per_s_per_tib must be above zero; leave a pool's tier out for no limit";
                return Err(self.error("tiers", index, message));
            }
        }
        let mut pools = BTreeSet::new();
        for (index, pool) in self.pools.iter().enumerate() {
            if !pools.insert(pool.name.as_str()) {
                let message = format!("pool {:?} is there twice; rename one", pool.name);
                return Err(self.error("pools", index, message));
            }
            if let Some(tier) = &pool.tier
                && !tiers.contains(tier.as_str())
            {
                let message = format!(
                    "pool {:?} has tier {tier:?}, which is not there; add [[tiers]] with that name (there are: {})",
                    pool.name,
                    list(&tiers)
                );
                return Err(self.error("pools", index, message));
            }
        }
        let mut volumes = BTreeSet::new();
        for (index, volume) in self.volumes.iter().enumerate() {
            let name = &volume.name;
            if !volumes.insert(name.as_str()) {
                let message = format!("volume {name:?} is there twice; rename one");
                return Err(self.error("volumes", index, message));
            }
            if !pools.contains(volume.pool.as_str()) {
                let message = format!(
                    "volume {name:?} is in pool {:?}, which is not there; add [[pools]] with that name (there are: {})",
                    volume.pool,
                    list(&pools)
                );
                return Err(self.error("volumes", index, message));
            }
            let problem = match (&volume.remote, volume.serve) {
                (None, _) if volume.size.bytes() == 0 => "has no size; add size",
                (Some(_), Serve::Nfs) => {
                    "is remote, and only a logical unit can be; serve it by iscsi"
                }
                _ => "",
            };
            if !problem.is_empty() {
                return Err(self.error("volumes", index, format!("volume {name:?} {problem}")));
            }
            let missing = match volume.serve {
                Serve::Iscsi if self.iscsi.is_none() => Some("iscsi"),
                Serve::Nfs if self.nfs.is_none() => Some("nfs"),
                _ => None,
            };
            if let Some(section) = missing {
                let message = format!(
                    "volume {name:?} is served by {section}, but there is no [{section}]; add it"
                );
                return Err(self.error("volumes", index, message));
            }
        }
        self.check_addresses()
    }

    fn check_addresses(&self) -> Result<(), TargetError> {
        let mut taken: Vec<SocketAddr> = Vec::new();
        let mut take = |section: &str, address: SocketAddr| {
            if address.port() != 0 && taken.contains(&address) {
                return Err(self.error(section, 0, format!("{address} is listened on twice")));
            }
            taken.push(address);
            Ok(())
        };
        if let Some(iscsi) = &self.iscsi {
            if iscsi.portals.is_empty() {
                return Err(self.error(
                    "iscsi",
                    0,
                    "portals is empty; add one, or leave [iscsi] out",
                ));
            }
            for portal in &iscsi.portals {
                take("iscsi", portal.listen)?;
                if portal.group == 0 {
                    return Err(self.error("iscsi", 0, "portal groups are numbered from 1"));
                }
                let differs = |other: &&super::PortalConfig| {
                    other.group == portal.group && other.state != portal.state
                };
                if iscsi.portals.iter().any(|other| differs(&other)) {
                    let message = format!(
                        "portals of group {} have different states; ALUA has one per group",
                        portal.group
                    );
                    return Err(self.error("iscsi", 0, message));
                }
            }
        }
        if let Some(nfs) = &self.nfs {
            if nfs.listen.is_empty() {
                return Err(self.error(
                    "nfs",
                    0,
                    "listen is empty; add an address, or leave [nfs] out",
                ));
            }
            for &address in nfs.listen.iter().chain(&nfs.portmap) {
                take("nfs", address)?;
            }
            for rule in &nfs.access {
                let unknown =
                    rule.volumes.iter().find(|name| !self.volumes.iter().any(|v| v.name == **name));
                if let Some(name) = unknown {
                    let message = format!("access names volume {name:?}, which is not there");
                    return Err(self.error("nfs", 0, message));
                }
            }
        }
        Ok(())
    }
}

fn list(names: &BTreeSet<&str>) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.iter().copied().collect::<Vec<_>>().join(", ")
}
