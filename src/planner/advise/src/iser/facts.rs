//! What is known of a host: from an export's tabs vHost, vNIC, vHBA, vSC_VMK and vSwitch, or typed in.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_ingest::Export;
use plimsoll_ingest::rows::{NicRow, Sdk};

/// A host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Host {
    /// Name.
    pub name: String,
    /// ESXi version, such as `7.0.3`.
    pub version: Option<String>,
    /// Physical adapters; `None` when nothing is known of them.
    pub nics: Option<Vec<Nic>>,
    /// VMkernel ports in use, such as `vmk0`.
    pub vmkernels: BTreeSet<String>,
    /// The software iSCSI adapter, such as `vmhba64`.
    pub software_adapter: Option<String>,
    /// iSER adapters that are there already.
    pub iser_adapters: Vec<String>,
}

/// A physical adapter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Nic {
    /// Name, such as `vmnic4`.
    pub device: Option<String>,
    /// Driver, or model as people write it.
    pub adapter: String,
    /// Virtual switch that it is an uplink of.
    pub switch: Option<String>,
    /// Whether that is a distributed switch.
    pub distributed: bool,
    /// Other uplinks of that switch.
    pub beside: Vec<String>,
}

/// Identity of a host: names repeat between vCenters.
type Key<'a> = (Option<&'a str>, &'a str);

/// Hosts of an export, in the order in which its tabs name them.
#[must_use]
pub fn hosts(export: &Export) -> Vec<Host> {
    let mut found = Found::default();
    for row in &export.hosts {
        let Some(host) = found.host(&row.sdk, row.host.as_deref()) else { continue };
        if host.version.is_none() {
            host.version = row.esx_version.as_deref().and_then(version).map(str::to_owned);
        }
    }
    let distributed: BTreeSet<&str> =
        export.dv_switches.iter().filter_map(|row| row.switch.as_deref()).collect();
    let mut uplinks: BTreeMap<(Key<'_>, &str), BTreeSet<&str>> = BTreeMap::new();
    for row in &export.nics {
        if let (Some(key), Some(switch), Some(device)) =
            (key(&row.sdk, row.host.as_deref()), row.switch.as_deref(), row.device.as_deref())
        {
            uplinks.entry((key, switch)).or_default().insert(device);
        }
    }
    for row in &export.nics {
        let Some(host) = found.host(&row.sdk, row.host.as_deref()) else { continue };
        let nics = host.nics.get_or_insert_default();
        if row.device.is_none()
            || nics.iter().all(|nic| nic.device.as_deref() != row.device.as_deref())
        {
            nics.push(nic(row, &uplinks, &distributed));
        }
    }
    for row in &export.vmkernels {
        let Some(host) = found.host(&row.sdk, row.host.as_deref()) else { continue };
        host.vmkernels.extend(row.device.as_deref().map(str::to_owned));
    }
    for row in &export.hbas {
        let Some(host) = found.host(&row.sdk, row.host.as_deref()) else { continue };
        let (Some(device), Some(driver)) = (row.device.as_deref(), row.driver.as_deref()) else {
            continue;
        };
        match driver {
            "iscsi_vmk" => host.software_adapter = Some(device.to_owned()),
            "iser" if !host.iser_adapters.iter().any(|known| known == device) => {
                host.iser_adapters.push(device.to_owned());
            }
            _ => {}
        }
    }
    found.hosts
}

#[derive(Default)]
struct Found {
    hosts: Vec<Host>,
    places: BTreeMap<(Option<String>, String), usize>,
}

impl Found {
    fn host(&mut self, sdk: &Sdk, name: Option<&str>) -> Option<&mut Host> {
        let (vcenter, name) = key(sdk, name)?;
        let place = *self
            .places
            .entry((vcenter.map(str::to_owned), name.to_owned()))
            .or_insert_with(|| {
                self.hosts.push(Host { name: name.to_owned(), ..Host::default() });
                self.hosts.len() - 1
            });
        self.hosts.get_mut(place)
    }
}

fn key<'a>(sdk: &'a Sdk, name: Option<&'a str>) -> Option<Key<'a>> {
    Some((sdk.uuid.as_deref().or(sdk.server.as_deref()), name?))
}

fn nic(
    row: &NicRow,
    uplinks: &BTreeMap<(Key<'_>, &str), BTreeSet<&str>>,
    distributed: &BTreeSet<&str>,
) -> Nic {
    let device = row.device.as_deref();
    let switch = row.switch.as_deref().filter(|switch| !switch.is_empty());
    let all = key(&row.sdk, row.host.as_deref())
        .zip(switch)
        .and_then(|(key, switch)| uplinks.get(&(key, switch)));
    Nic {
        device: device.map(str::to_owned),
        adapter: row.driver.as_deref().unwrap_or_default().to_owned(),
        switch: switch.map(str::to_owned),
        distributed: switch.is_some_and(|switch| distributed.contains(switch)),
        beside: all
            .into_iter()
            .flatten()
            .filter(|other| Some(**other) != device)
            .map(|other| (*other).to_owned())
            .collect(),
    }
}

/// `8.0.2` out of `VMware ESXi 8.0.2 build-22380479`.
fn version(text: &str) -> Option<&str> {
    text.split_whitespace().find(|word| {
        let mut parts = word.split('.');
        parts.clone().count() >= 2
            && parts.all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use plimsoll_ingest::rows::{DvSwitchRow, HbaRow, HostRow, Text, VmkernelRow};

    use super::*;

    fn text(text: &str) -> Option<Text> {
        Some(text.into())
    }

    fn nic_row(host: &str, device: &str, driver: &str, switch: &str) -> NicRow {
        NicRow {
            host: text(host),
            device: text(device),
            driver: text(driver),
            switch: text(switch),
            ..NicRow::default()
        }
    }

    #[test]
    fn hosts_come_together_from_the_tabs() {
        let export = Export {
            hosts: vec![HostRow {
                host: text("esx-1"),
                esx_version: text("VMware ESXi 7.0.3 build-19193900"),
                ..HostRow::default()
            }],
            nics: vec![
                nic_row("esx-1", "vmnic4", "nmlx5_core", "vSwitch1"),
                nic_row("esx-1", "vmnic5", "nmlx5_core", "vSwitch1"),
                nic_row("esx-1", "vmnic4", "nmlx5_core", "vSwitch1"),
                nic_row("esx-2", "vmnic0", "ixgben", "dvs"),
            ],
            dv_switches: vec![DvSwitchRow { switch: text("dvs"), ..DvSwitchRow::default() }],
            vmkernels: vec![VmkernelRow {
                host: text("esx-1"),
                device: text("vmk0"),
                ..VmkernelRow::default()
            }],
            hbas: vec![HbaRow {
                host: text("esx-1"),
                device: text("vmhba64"),
                driver: text("iscsi_vmk"),
                ..HbaRow::default()
            }],
            ..Export::default()
        };
        let hosts = hosts(&export);
        let [one, two] = hosts.as_slice() else { panic!("{hosts:?}") };
        assert_eq!((one.name.as_str(), one.version.as_deref()), ("esx-1", Some("7.0.3")));
        let nics = one.nics.as_ref().unwrap();
        assert_eq!(nics.len(), 2);
        assert_eq!(nics[0].beside, ["vmnic5"]);
        assert_eq!(one.software_adapter.as_deref(), Some("vmhba64"));
        assert!(one.vmkernels.contains("vmk0"));
        assert_eq!(two.version, None);
        assert!(two.nics.as_ref().unwrap()[0].distributed);
    }

    #[test]
    fn a_host_of_two_vcenters_is_two_hosts() {
        let row = |server: &str| HostRow {
            host: text("esx-1"),
            sdk: Sdk { server: text(server), uuid: None },
            ..HostRow::default()
        };
        let export = Export { hosts: vec![row("a"), row("b"), row("a")], ..Export::default() };
        assert_eq!(hosts(&export).len(), 2);
    }
}
