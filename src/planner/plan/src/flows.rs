//! The flow budget: TCP connections between hosts and datastores.
//!
//! `flows = hosts x sum over target addresses of min(datastores on it, MaxConnPerIP) x nConnect`,
//! at most 256 connections a host. Mounts beyond MaxConnPerIP behind one address share connections,
//! so they add no flow.

use crate::catalog::{EsxiLimits, EsxiVersion, Platform};
use crate::types::{FlowBudget, HostSetting, PlanOptions};
use crate::{Error, words};

/// What bounds connections on the ESXi version in question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConnectionLimits {
    /// Connections to one address, as delivered.
    pub per_address: u32,
    /// Largest value of that setting.
    pub per_address_max: u32,
    /// Mounts of a host, as delivered.
    pub mounts: u32,
    /// Largest value of that setting.
    pub mounts_max: u32,
    /// Largest nConnect as delivered.
    pub nconnect_max: u32,
    /// Connections of a host.
    pub per_host: u32,
    /// NFS version 4.1.
    pub nfs41: bool,
}

impl ConnectionLimits {
    pub(crate) fn new(
        esxi: &EsxiLimits,
        platform: &Platform,
        options: &PlanOptions,
    ) -> Result<Self, Error> {
        let version = EsxiVersion::parse(&options.esxi_version).ok_or_else(|| Error::Option {
            option: "esxi_version",
            given: options.esxi_version.clone(),
            expected: "a version such as 8.0, 8.0.2 or 7.0 U3".to_owned(),
        })?;
        let nfs41 = platform.protocol == "nfs41";
        let (mounts, nconnect) = if nfs41 {
            ("NFS41.MaxVolumes", "nconnect.nfs41")
        } else {
            ("NFS.MaxVolumes", "nconnect.nfs3")
        };
        let per_address = esxi.setting("SunRPC.MaxConnPerIP", &version)?;
        let mounts = esxi.setting(mounts, &version)?;
        let nconnect_max = esxi.setting(nconnect, &version)?.max;
        if options.nconnect == 0 || options.nconnect > nconnect_max {
            return Err(Error::Option {
                option: "nconnect",
                given: options.nconnect.to_string(),
                expected: format!(
                    "ESXi {} opens 1 to {nconnect_max} connections for a mount; \
                     from 8.0 U1 on NFS version 3 mounts can have more",
                    options.esxi_version
                ),
            });
        }
        if !platform.nconnect.values.contains(&options.nconnect) {
            let known: Vec<String> = platform.nconnect.values.iter().map(u32::to_string).collect();
            return Err(Error::Option {
                option: "nconnect",
                given: options.nconnect.to_string(),
                expected: format!("{} offers {}", platform.name, known.join(" or ")),
            });
        }
        Ok(Self {
            per_address: per_address.default,
            per_address_max: per_address.max,
            mounts: mounts.default,
            mounts_max: mounts.max,
            nconnect_max,
            per_host: esxi.setting("nfs.connections_per_host", &version)?.max,
            nfs41,
        })
    }
}

/// Datastores behind each address: spread evenly, the first addresses one more.
pub(crate) fn datastores_per_address(datastores: u32, addresses: Option<u32>) -> Vec<u32> {
    let addresses = addresses.unwrap_or(datastores).clamp(1, datastores.max(1));
    (0..addresses)
        .map(|index| datastores / addresses + u32::from(index < datastores % addresses))
        .collect()
}

/// Connections of one host.
pub(crate) fn flows_per_host(
    datastores: u32,
    addresses: Option<u32>,
    nconnect: u32,
    limits: &ConnectionLimits,
) -> u32 {
    let connections: u32 = datastores_per_address(datastores, addresses)
        .iter()
        .map(|behind| (*behind).min(limits.per_address).saturating_mul(nconnect))
        .sum();
    connections.min(limits.per_host)
}

/// The budget of a plan.
pub(crate) fn budget(
    hosts: u32,
    hosts_lost: u32,
    datastores: u32,
    options: &PlanOptions,
    limits: &ConnectionLimits,
) -> FlowBudget {
    let behind = datastores_per_address(datastores, options.target_ips);
    let most = behind.iter().copied().max().unwrap_or(0);
    let per_host = flows_per_host(datastores, options.target_ips, options.nconnect, limits);
    FlowBudget {
        hosts,
        target_ips: u32::try_from(behind.len()).unwrap_or(u32::MAX),
        datastores_per_ip: behind,
        max_connections_per_ip: limits.per_address,
        nconnect: options.nconnect,
        flows_per_host: per_host,
        flows: hosts * per_host,
        flows_with_failure: hosts.saturating_sub(hosts_lost) * per_host,
        shared: most > limits.per_address,
        settings: settings(datastores, most, per_host, options, limits),
    }
}

fn settings(
    datastores: u32,
    most: u32,
    per_host: u32,
    options: &PlanOptions,
    limits: &ConnectionLimits,
) -> Vec<HostSetting> {
    let per_address = limits.per_address;
    let mounts_name = if limits.nfs41 { "NFS41.MaxVolumes" } else { "NFS.MaxVolumes" };
    vec![
        HostSetting {
            name: "SunRPC.MaxConnPerIP".to_owned(),
            default: per_address.to_string(),
            plan: most.min(limits.per_address_max).max(per_address).to_string(),
            why: if most > per_address {
                format!(
                    "{} behind one address, {per_address} connections allowed: mounts share \
                     connections until this is raised to {}. The plan counts on the default only.",
                    words::count(most, "datastore"),
                    most.min(limits.per_address_max)
                )
            } else {
                format!(
                    "Enough for {} behind one address. Sharing starts beyond {per_address}.",
                    words::count(most, "datastore")
                )
            },
        },
        HostSetting {
            name: mounts_name.to_owned(),
            default: limits.mounts.to_string(),
            plan: datastores.max(limits.mounts).to_string(),
            why: if datastores > limits.mounts {
                format!(
                    "{} are planned, the default allows {}; at most {}. Mounts that stay come on top.",
                    words::count(datastores, "mount"),
                    limits.mounts,
                    limits.mounts_max
                )
            } else {
                format!(
                    "{datastores} of {} mounts in use; mounts that stay come on top.",
                    limits.mounts
                )
            },
        },
        HostSetting {
            name: "nConnect".to_owned(),
            default: "1".to_owned(),
            plan: options.nconnect.to_string(),
            why: if options.nconnect == 1 {
                "One TCP connection for a host and datastore.".to_owned()
            } else {
                format!(
                    "{} TCP connections for a host and datastore; set on every mount of every host.",
                    options.nconnect
                )
            },
        },
        HostSetting {
            name: "All NFS connections".to_owned(),
            default: limits.per_host.to_string(),
            plan: per_host.to_string(),
            why: format!("At most {} for a host over all mounts.", limits.per_host),
        },
    ]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Catalog;

    fn limits(version: &str, nconnect: u32) -> Result<ConnectionLimits, Error> {
        let catalog = Catalog::built_in().unwrap();
        let platform = catalog.platform("azure-vmware-solution-av36-anf").unwrap();
        let options =
            PlanOptions { esxi_version: version.to_owned(), nconnect, ..PlanOptions::default() };
        ConnectionLimits::new(&catalog.esxi, platform, &options)
    }

    #[test]
    fn the_worked_budget_of_two_addresses() {
        let limits = limits("6.7 U3", 1).unwrap();
        let options = PlanOptions { target_ips: Some(2), ..PlanOptions::default() };
        let budget = budget(4, 1, 4, &options, &limits);
        assert_eq!((budget.flows, budget.flows_with_failure, budget.shared), (16, 12, false));
        assert_eq!(budget.datastores_per_ip, [2, 2]);
    }

    #[test]
    fn eight_datastores_behind_one_address_stay_at_four_flows_a_host_on_old_defaults() {
        let options = PlanOptions { target_ips: Some(1), ..PlanOptions::default() };
        let old = budget(4, 0, 8, &options, &limits("6.7 U3", 1).unwrap());
        assert_eq!((old.flows, old.shared), (16, true));
        assert_eq!(old.settings[0].plan, "8");
        let new = budget(4, 0, 8, &options, &limits("8.0", 1).unwrap());
        assert_eq!((new.flows, new.shared), (32, false));
    }

    #[test]
    fn connections_of_a_host_stop_at_256() {
        let limits = limits("8.0", 4).unwrap();
        assert_eq!(flows_per_host(64, None, 4, &limits), 256);
        assert_eq!(flows_per_host(100, None, 4, &limits), 256);
    }

    #[test]
    fn nconnect_needs_the_version_and_the_platform() {
        assert!(limits("7.0", 4).unwrap_err().to_string().contains("8.0 U1"));
        assert!(limits("8.0", 2).unwrap_err().to_string().contains("1 or 4"));
        assert!(limits("8.0.2", 4).is_ok());
    }
}
