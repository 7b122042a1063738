//! vDatastore and vMultiPath.

use super::{Context, OfHost, Push, columns};
use crate::site::{Datastore, DatastoreKind, Site, Vcenter};

/// Whether there is a VMFS on it.
fn vmfs(store: &Datastore) -> bool {
    matches!(store.kind, DatastoreKind::Vmfs | DatastoreKind::Local)
}

fn hosts(site: &Site, store: &Datastore, vcenter: usize) -> Vec<String> {
    store
        .hosts
        .iter()
        .filter(|host| site.vcenter_of_host(**host) == vcenter)
        .map(|host| site.hosts[*host].name.clone())
        .collect()
}

/// Each vCenter has an id of its own for a datastore.
fn object_id(store: &Datastore, vcenter: usize) -> String {
    if store.vcenters.first() == Some(&vcenter) {
        store.id.clone()
    } else {
        store.id.replace("datastore-", "datastore-9")
    }
}

columns! { DATASTORE, datastore(store: &'a Datastore, hosts: &[String], id: &str, vcenter: &'a Vcenter) {
    "Name" => &store.name,
    "Config status" => "green",
    "Address" => &store.address,
    "Accessible" => store.accessible,
    "Type" => match store.kind {
        DatastoreKind::Nfs => "NFS",
        DatastoreKind::Vsan => "vsan",
        DatastoreKind::Vmfs | DatastoreKind::Local => "VMFS",
    },
    "# VMs total" => store.vms.0,
    "# VMs" => store.vms.1,
    "Capacity MiB" => store.capacity,
    "Provisioned MiB" => store.provisioned,
    "In Use MiB" => store.in_use,
    "Free MiB" => store.capacity - store.in_use,
    "Free %" => (store.capacity - store.in_use) * 100 / store.capacity,
    "SIOC enabled" => store.kind == DatastoreKind::Vmfs,
    "SIOC Threshold" => 30,
    "# Hosts" => hosts.len(),
    "Hosts" => hosts.join(", "),
    "Cluster name" => store.pod.as_ref().map(|pod| pod.0.as_str()),
    "Cluster capacity MiB" => store.pod.as_ref().map(|pod| pod.1),
    "Cluster free space MiB" => store.pod.as_ref().map(|pod| pod.2),
    "Block size" => u32::from(vmfs(store)),
    "Max Blocks" => if vmfs(store) { 63_963_136 } else { 0 },
    "# Extents" => u32::from(vmfs(store)),
    "Major Version" => if vmfs(store) { 6 } else { 0 },
    "Version" => vmfs(store).then_some("6.82"),
    "VMFS Upgradeable" => vmfs(store).then_some(false),
    "MHA" => store.kind != DatastoreKind::Local,
    "URL" => store.accessible.then_some(&store.url),
    "Object ID" => id.to_owned(),
    "VI SDK Server" => &vcenter.server,
    "VI SDK UUID" => &vcenter.uuid,
} }

/// Pushes the datastores in view; one seen from two vCenters comes twice in a merged export.
pub(super) fn datastores<'a>(context: &Context<'a>, push: Push<'_, 'a>) {
    let site = context.site();
    for vcenter in context.view.vcenters() {
        for store in site.datastores.iter().filter(|store| store.vcenters.contains(&vcenter)) {
            let hosts = hosts(site, store, vcenter);
            let id = object_id(store, vcenter);
            push(&mut |out| datastore(store, &hosts, &id, &site.vcenters[vcenter], out));
        }
    }
}

/// Text and state of one path.
type Path = Option<(String, &'static str)>;

columns! { MULTIPATH, multipath(of: OfHost<'a>, store: &'a Datastore, paths: &[Path; 8]) {
    "Host" => &of.host.name,
    "Cluster" => &of.cluster.name,
    "Datacenter" => &of.cluster.datacenter,
    "Datastore" => &store.name,
    "Disk" => &store.address,
    "Display name" => if store.kind == DatastoreKind::Local {
        format!("Local DELL Disk ({})", store.address)
    } else {
        format!("NETAPP Fibre Channel Disk ({})", store.address)
    },
    "Policy" => if store.kind == DatastoreKind::Local { "VMW_PSP_FIXED" } else { "VMW_PSP_RR" },
    "Oper. State" => "ok",
    "Path 1" => paths[0].as_ref().map(|path| path.0.clone()),
    "Path 1 state" => paths[0].as_ref().map(|path| path.1),
    "Path 2" => paths[1].as_ref().map(|path| path.0.clone()),
    "Path 2 state" => paths[1].as_ref().map(|path| path.1),
    "Path 3" => paths[2].as_ref().map(|path| path.0.clone()),
    "Path 3 state" => paths[2].as_ref().map(|path| path.1),
    "Path 4" => paths[3].as_ref().map(|path| path.0.clone()),
    "Path 4 state" => paths[3].as_ref().map(|path| path.1),
    "Path 5" => paths[4].as_ref().map(|path| path.0.clone()),
    "Path 5 state" => paths[4].as_ref().map(|path| path.1),
    "Path 6" => paths[5].as_ref().map(|path| path.0.clone()),
    "Path 6 state" => paths[5].as_ref().map(|path| path.1),
    "Path 7" => paths[6].as_ref().map(|path| path.0.clone()),
    "Path 7 state" => paths[6].as_ref().map(|path| path.1),
    "Path 8" => paths[7].as_ref().map(|path| path.0.clone()),
    "Path 8 state" => paths[7].as_ref().map(|path| path.1),
    "vStorage" => "vStorageSupported",
    "Queue depth" => if store.kind == DatastoreKind::Local { "128" } else { "64" },
    "Vendor" => if store.kind == DatastoreKind::Local { "DELL    " } else { "NETAPP  " },
    "Model" => if store.kind == DatastoreKind::Local { "PERC H755 Front " } else { "LUN C-Mode      " },
    "Revision" => "9131",
    "Level" => "6",
    "Serial #" => (),
    "UUID" => format!("0200000000{}", store.address.trim_start_matches("naa.")),
    "Object ID" => &of.host.id,
    "VI SDK Server" => &of.vcenter.server,
    "VI SDK UUID" => &of.vcenter.uuid,
} }

fn paths(of: OfHost<'_>, store: &Datastore, lun: usize) -> [Path; 8] {
    std::array::from_fn(|number| {
        if store.kind == DatastoreKind::Local {
            return (number == 0).then(|| ("vmhba0:C2:T0:L0".to_owned(), "active"));
        }
        let dead = store.dead_path_on == Some(of.index) && number == 1;
        let text = format!("vmhba{}:C0:T{}:L{lun}", 2 + number % 2, number / 2);
        (number < of.site.spec.paths as usize)
            .then_some((text, if dead { "dead" } else { "active" }))
    })
}

/// Pushes one row for each host and VMFS datastore; NFS and vSAN have none.
pub(super) fn multipaths<'a>(context: &Context<'a>, push: Push<'_, 'a>) {
    let site = context.site();
    for host in context.view.hosts() {
        let of = OfHost::new(site, host);
        for (lun, store) in site.datastores.iter().enumerate() {
            if vmfs(store) && store.hosts.contains(&host) {
                let paths = paths(of, store, lun);
                push(&mut |out| multipath(of, store, &paths, out));
            }
        }
    }
}
