//! Fleet averages typed in by hand instead of an export: the same rows, made up from the averages.

use std::sync::Arc;

use plimsoll_units::Mib;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, ErrorCode};
use crate::export::{Export, InputFile, SourceKind, TabSummary};
use crate::read::hex;
use crate::rows::{HostRow, PowerState, RowRef, VmRef, VmRow};

/// Averages of a fleet of VMs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManualAverages {
    /// Number of VMs, 1 to [`ManualAverages::MOST_VMS`].
    pub vm_count: u32,
    /// Virtual CPUs of a VM.
    pub vcpus_per_vm: f64,
    /// Memory of a VM in GiB.
    pub memory_gib_per_vm: f64,
    /// Provisioned storage of a VM in GiB.
    pub storage_gib_per_vm: f64,
    /// I/O operations a second of a VM, when known.
    #[serde(default)]
    pub iops_per_vm: Option<f64>,
    /// Throughput of a VM in MiB/s, when known.
    #[serde(default)]
    pub mibps_per_vm: Option<f64>,
    /// Hosts, when known.
    #[serde(default)]
    pub hosts: Option<u32>,
}

impl ManualAverages {
    /// The largest fleet; vCenter's own maximum is 40,000 powered-on VMs, linked ones hold more.
    pub const MOST_VMS: u32 = 1_000_000;
    /// Hosts at most.
    pub const MOST_HOSTS: u32 = 10_000;

    fn check(&self) -> Result<(), Error> {
        let refuse = |field: &str, value: String, expected: &str| {
            Err(Error::new(
                ErrorCode::NotAnInventory,
                "manual averages",
                format!("{field} is {value}"),
                expected.to_owned(),
                format!("correct {field}"),
            ))
        };
        if !(1..=Self::MOST_VMS).contains(&self.vm_count) {
            return refuse("vm_count", self.vm_count.to_string(), "1 to 1,000,000 VMs");
        }
        if let Some(hosts) = self.hosts
            && !(1..=Self::MOST_HOSTS).contains(&hosts)
        {
            return refuse("hosts", hosts.to_string(), "1 to 10,000 hosts");
        }
        // A VM of vSphere 8 has at most 768 CPUs, 24 TiB of memory and 256 disks of 62 TiB.
        for (field, value, largest) in [
            ("vcpus_per_vm", Some(self.vcpus_per_vm), 768.0),
            ("memory_gib_per_vm", Some(self.memory_gib_per_vm), 24_576.0),
            ("storage_gib_per_vm", Some(self.storage_gib_per_vm), 16_252_928.0),
            ("iops_per_vm", self.iops_per_vm, 1e7),
            ("mibps_per_vm", self.mibps_per_vm, 1e6),
        ] {
            if let Some(value) = value
                && !(0.0..=largest).contains(&value)
            {
                return refuse(field, value.to_string(), &format!("0 to {largest}"));
            }
        }
        if self.storage_gib_per_vm <= 0.0 {
            return refuse(
                "storage_gib_per_vm",
                self.storage_gib_per_vm.to_string(),
                "more than 0",
            );
        }
        Ok(())
    }
}

/// Rows that stand for the averages; the averages themselves are kept in [`Export::manual`].
///
/// # Errors
///
/// Values out of range.
pub fn manual(averages: ManualAverages) -> Result<Export, Error> {
    averages.check()?;
    let mib = |gib: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be not negative and far below 2^53"
        )]
        Mib((gib * 1024.0).round() as u64)
    };
    // Whole CPUs that add up to the average over the fleet.
    let cpus_of = |index: u32| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be not negative; at most 768 million"
        )]
        let upto = |count: u32| (averages.vcpus_per_vm * f64::from(count)).round() as u32;
        upto(index + 1) - upto(index)
    };
    let vms = (0..averages.vm_count)
        .map(|index| VmRow {
            at: RowRef { file: 0, row: index + 1 },
            vm: VmRef {
                name: Some(Arc::from(format!("vm-{:06}", index + 1))),
                id: Some(Arc::from(format!("vm-{}", index + 1))),
                ..VmRef::default()
            },
            powerstate: Some(PowerState::PoweredOn),
            template: Some(false),
            cpus: Some(cpus_of(index)),
            memory: Some(mib(averages.memory_gib_per_vm)),
            provisioned: Some(mib(averages.storage_gib_per_vm)),
            ..VmRow::default()
        })
        .collect();
    let hosts: Vec<HostRow> = (0..averages.hosts.unwrap_or(0))
        .map(|index| HostRow {
            at: RowRef { file: 0, row: index + 1 },
            host: Some(Arc::from(format!("host-{:04}", index + 1))),
            ..HostRow::default()
        })
        .collect();
    let text = serde_json::to_vec(&averages).unwrap_or_default();
    let tab = |tab: &str, rows: u64| TabSummary {
        tab: tab.to_owned(),
        found_as: "manual averages".to_owned(),
        rows,
        custom_columns: Vec::new(),
        used: true,
    };
    let mut tabs = vec![tab("vInfo", averages.vm_count.into())];
    if !hosts.is_empty() {
        tabs.push(tab("vHost", hosts.len() as u64));
    }
    Ok(Export {
        files: vec![InputFile {
            name: "manual averages".to_owned(),
            sha256: hex(&Sha256::digest(&text)),
            bytes: text.len() as u64,
            kind: SourceKind::ManualAverages,
            reason: "averages were given instead of an export".to_owned(),
            tabs,
        }],
        vms,
        hosts,
        manual: Some(averages),
        ..Export::default()
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const FLEET: ManualAverages = ManualAverages {
        vm_count: 1000,
        vcpus_per_vm: 2.5,
        memory_gib_per_vm: 8.0,
        storage_gib_per_vm: 100.5,
        iops_per_vm: Some(50.0),
        mibps_per_vm: None,
        hosts: Some(10),
    };

    #[test]
    fn rows_add_up_to_the_averages() {
        let export = manual(FLEET).unwrap();
        assert_eq!(export.vms.len(), 1000);
        assert_eq!(export.hosts.len(), 10);
        assert_eq!(export.vms.iter().filter_map(|vm| vm.cpus).sum::<u32>(), 2500);
        let provisioned: u64 = export.vms.iter().filter_map(|vm| vm.provisioned).map(|m| m.0).sum();
        assert_eq!(provisioned, 102_912_000);
        assert_eq!(export.manual, Some(FLEET));
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for wrong in [
            ManualAverages { vm_count: 0, ..FLEET },
            ManualAverages { vcpus_per_vm: -1.0, ..FLEET },
            ManualAverages { memory_gib_per_vm: f64::NAN, ..FLEET },
            ManualAverages { storage_gib_per_vm: 0.0, ..FLEET },
            ManualAverages { hosts: Some(0), ..FLEET },
        ] {
            assert!(manual(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn unknown_fields_are_refused() {
        let text =
            r#"{"vm_count":1,"vcpus_per_vm":1,"memory_gib_per_vm":1,"storage_gib_per_vm":1,"x":1}"#;
        assert!(serde_json::from_str::<ManualAverages>(text).is_err());
    }
}
