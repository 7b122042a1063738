//! The tabs of an export in the columns of RVTools 4.7, the widest family.
//!
//! Each tab is a list of headers and a function that pushes one row in the same order; both come
//! out of one `columns!` block, so that they cannot drift apart. Families narrow and rename these
//! columns in [`crate::family`].

mod host;
mod other;
mod storage;
mod vm;

use crate::cell::Cell;
use crate::site::{Cluster, Datastore, Host, Site, Vcenter, View, Vm};

/// Declares the headers of a tab (or a part of one) and the function that fills a row.
macro_rules! columns {
    ($headers:ident, $row:ident($($argument:ident: $type:ty),*) { $($header:literal => $value:expr),* $(,)? }) => {
        pub(super) const $headers: &[&str] = &[$($header),*];
        pub(super) fn $row<'a>($($argument: $type,)* out: &mut Vec<$crate::cell::Cell<'a>>) {
            $(out.push($crate::cell::Cell::from($value));)*
        }
    };
}
use columns;

/// All tabs in workbook order.
pub const TABS: &[&str] = &[
    "vInfo",
    "vCPU",
    "vMemory",
    "vDisk",
    "vPartition",
    "vNetwork",
    "vCD",
    "vUSB",
    "vSnapshot",
    "vTools",
    "vSource",
    "vRP",
    "vCluster",
    "vHost",
    "vHBA",
    "vNIC",
    "vSwitch",
    "vPort",
    "dvSwitch",
    "dvPort",
    "vSC_VMK",
    "vDatastore",
    "vMultiPath",
    "vLicense",
    "vFileInfo",
    "vHealth",
    "vMetaData",
];

/// What a row may depend on besides its own object.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// What is in view.
    pub view: View<'a>,
    /// Before 4.3.1 the `VM UUID` column held the SMBIOS UUID.
    pub smbios_as_uuid: bool,
    /// Text of vMetaData `RVTools version`.
    pub version: &'static str,
}

impl<'a> Context<'a> {
    fn site(&self) -> &'a Site {
        self.view.site
    }
}

/// A VM with what it stands on.
#[derive(Clone, Copy)]
struct OfVm<'a> {
    vm: &'a Vm,
    host: &'a Host,
    cluster: &'a Cluster,
    vcenter: &'a Vcenter,
    datastore: &'a Datastore,
    site: &'a Site,
    uuid: &'a str,
}

impl<'a> OfVm<'a> {
    fn new(context: &Context<'a>, vm: &'a Vm) -> Self {
        let site = context.site();
        let host = &site.hosts[vm.host];
        let cluster = &site.clusters[host.cluster];
        Self {
            vm,
            host,
            cluster,
            vcenter: &site.vcenters[cluster.vcenter],
            datastore: &site.datastores[vm.datastore],
            site,
            uuid: if context.smbios_as_uuid { &vm.smbios } else { &vm.uuid },
        }
    }
}

/// A host with what it belongs to.
#[derive(Clone, Copy)]
struct OfHost<'a> {
    host: &'a Host,
    index: usize,
    cluster: &'a Cluster,
    vcenter: &'a Vcenter,
    site: &'a Site,
}

impl<'a> OfHost<'a> {
    fn new(site: &'a Site, index: usize) -> Self {
        let host = &site.hosts[index];
        let cluster = &site.clusters[host.cluster];
        Self { host, index, cluster, vcenter: &site.vcenters[cluster.vcenter], site }
    }
}

/// Headers of a tab; `None` for a name that is no tab.
#[must_use]
pub fn headers(tab: &str) -> Option<Vec<&'static str>> {
    let parts: &[&[&'static str]] = match tab {
        "vInfo" => &[vm::INFO],
        "vCPU" => &[vm::HEAD, vm::CPU, vm::TAIL],
        "vMemory" => &[vm::HEAD, vm::MEMORY, vm::TAIL],
        "vDisk" => &[vm::HEAD, vm::DISK, vm::TAIL],
        "vPartition" => &[vm::HEAD, vm::PARTITION, vm::TAIL],
        "vNetwork" => &[vm::HEAD, vm::NETWORK, vm::TAIL],
        "vCD" => &[vm::HEAD, other::CD, vm::TAIL_WITH_REF],
        "vUSB" => &[vm::HEAD, other::USB, vm::TAIL_WITH_REF],
        "vSnapshot" => &[vm::SNAPSHOT, vm::TAIL],
        "vTools" => &[vm::HEAD, vm::TOOLS, vm::TAIL_WITH_REF],
        "vSource" => &[other::SOURCE],
        "vRP" => &[other::POOL],
        "vCluster" => &[host::CLUSTER],
        "vHost" => &[host::HOST],
        "vHBA" => &[host::HEAD, host::HBA, host::TAIL],
        "vNIC" => &[host::HEAD, host::NIC, host::TAIL],
        "vSwitch" => &[host::HEAD, host::SWITCH, host::TAIL],
        "vPort" => &[host::HEAD, host::PORT, host::TAIL],
        "dvSwitch" => &[other::DV_SWITCH],
        "dvPort" => &[other::DV_PORT],
        "vSC_VMK" => &[host::HEAD, host::VMKERNEL, host::TAIL],
        "vDatastore" => &[storage::DATASTORE],
        "vMultiPath" => &[storage::MULTIPATH],
        "vLicense" => &[other::LICENSE],
        "vFileInfo" => &[other::FILE],
        "vHealth" => &[other::HEALTH],
        "vMetaData" => &[other::METADATA],
        _ => return None,
    };
    let mut headers = parts.concat();
    if tab == "vUSB" {
        // RVTools writes this one with a small t.
        for header in &mut headers {
            if *header == "OS according to the VMware Tools" {
                *header = "OS according to the VMware tools";
            }
        }
    }
    Some(headers)
}

/// Calls `emit` with each row of a tab, and the VM it is of when it is of one.
pub fn rows<'a>(
    context: &Context<'a>,
    tab: &str,
    emit: &mut dyn FnMut(&[Cell<'a>], Option<&'a Vm>),
) {
    let mut out = Vec::with_capacity(96);
    let mut push = |vm: Option<&'a Vm>, fill: &mut dyn FnMut(&mut Vec<Cell<'a>>)| {
        out.clear();
        fill(&mut out);
        emit(&out, vm);
    };
    match tab {
        "vInfo" | "vCPU" | "vMemory" | "vDisk" | "vPartition" | "vNetwork" | "vSnapshot"
        | "vTools" => {
            for vm in context.view.vms() {
                vm::rows(OfVm::new(context, vm), tab, &mut |fill| push(Some(vm), fill));
            }
        }
        "vHost" | "vHBA" | "vNIC" | "vSwitch" | "vPort" | "vSC_VMK" => {
            for index in context.view.hosts() {
                host::rows(OfHost::new(context.site(), index), tab, &mut |fill| push(None, fill));
            }
        }
        "vCluster" => host::clusters(context, &mut |fill| push(None, fill)),
        "vDatastore" => storage::datastores(context, &mut |fill| push(None, fill)),
        "vMultiPath" => storage::multipaths(context, &mut |fill| push(None, fill)),
        _ => other::rows(context, tab, &mut |fill| push(None, fill)),
    }
}

/// Pushes one row.
type Push<'p, 'a> = &'p mut dyn FnMut(&mut dyn FnMut(&mut Vec<Cell<'a>>));
