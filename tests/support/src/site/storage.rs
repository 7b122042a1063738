//! Datastores of a site: which there are, which VM goes where, how full they get.

use super::{Datastore, DatastoreKind, Fault, Site, VmKind};
use crate::prng::Prng;

const GIB: u64 = 1_024;

pub(super) fn datastores(site: &Site, random: &mut Prng) -> Vec<Datastore> {
    let spec = &site.spec;
    let mut ids = vec![20_u32; site.vcenters.len()];
    let mut made: Vec<Datastore> = Vec::new();
    let shared = [
        (DatastoreKind::Vmfs, spec.vmfs),
        (DatastoreKind::Nfs, spec.nfs),
        (DatastoreKind::Vsan, spec.vsan),
    ];
    for (kind, count) in shared {
        for number in 1..=count as usize {
            let cluster = (number - 1) % site.clusters.len();
            let everywhere =
                kind == DatastoreKind::Nfs && number == 1 && spec.shared_between_vcenters;
            let hosts: Vec<usize> = (0..site.hosts.len())
                .filter(|host| everywhere || site.hosts[*host].cluster == cluster)
                .collect();
            let vcenters = if everywhere {
                (0..site.vcenters.len()).collect()
            } else {
                vec![site.clusters[cluster].vcenter]
            };
            let id = &mut ids[site.clusters[cluster].vcenter];
            *id += 1;
            made.push(datastore(kind, number, hosts, vcenters, *id, random));
        }
    }
    if spec.has(Fault::Inaccessible)
        && let Some(last) = made.iter_mut().rfind(|store| store.kind == DatastoreKind::Nfs)
    {
        last.accessible = false;
    }
    if spec.has(Fault::DeadPath)
        && let Some(first) = made.iter_mut().find(|store| store.kind == DatastoreKind::Vmfs)
    {
        first.dead_path_on = first.hosts.get(1).copied();
    }
    if spec.local {
        for host in 0..site.hosts.len() {
            let vcenter = site.vcenter_of_host(host);
            ids[vcenter] += 1;
            made.push(datastore(
                DatastoreKind::Local,
                host + 1,
                vec![host],
                vec![vcenter],
                ids[vcenter],
                random,
            ));
        }
    }
    made
}

fn datastore(
    kind: DatastoreKind,
    number: usize,
    hosts: Vec<usize>,
    vcenters: Vec<usize>,
    id: u32,
    random: &mut Prng,
) -> Datastore {
    let uuid = random.uuid();
    let (name, address, url) = match kind {
        DatastoreKind::Vmfs => (
            format!("san-lun{number:02}"),
            format!("naa.600a0980{:016x}{:08x}", random.next_u64(), number),
            format!("ds:///vmfs/volumes/{uuid}/"),
        ),
        DatastoreKind::Nfs => {
            let server = format!("10.20.0.{}", 200 + number % 2);
            (
                format!("nfs-vol{number:02}"),
                format!("{server} /vol{number:02}"),
                format!("ds:///vmfs/volumes/{:08x}-{:08x}/", number * 7_919, number),
            )
        }
        DatastoreKind::Vsan => (
            if number == 1 { "vsanDatastore".into() } else { format!("vsanDatastore ({number})") },
            format!("vsan:{}", uuid.replace('-', "")),
            format!("ds:///vmfs/volumes/vsan:{uuid}/"),
        ),
        DatastoreKind::Local => (
            format!("esx-{number:02}_local"),
            format!("naa.61866da0{:016x}{:08x}", random.next_u64(), number),
            format!("ds:///vmfs/volumes/{uuid}/"),
        ),
    };
    Datastore {
        name,
        kind,
        address,
        url,
        id: format!("datastore-{id}"),
        vcenters,
        hosts,
        pod: None,
        capacity: 0,
        provisioned: 0,
        in_use: 0,
        vms: (0, 0),
        accessible: true,
        dead_path_on: None,
    }
}

/// Chooses datastores for VMs.
pub(super) struct Homes {
    /// For each cluster its usable shared datastores.
    shared: Vec<Vec<usize>>,
}

impl Homes {
    pub(super) fn new(site: &Site) -> Self {
        let mut shared = vec![Vec::new(); site.clusters.len()];
        for (index, store) in site.datastores.iter().enumerate() {
            if store.kind == DatastoreKind::Local || !store.accessible {
                continue;
            }
            let mut clusters: Vec<usize> =
                store.hosts.iter().map(|host| site.hosts[*host].cluster).collect();
            clusters.sort_unstable();
            clusters.dedup();
            for cluster in clusters {
                shared[cluster].push(index);
            }
        }
        Self { shared }
    }

    pub(super) fn pick(
        &mut self,
        site: &Site,
        host: usize,
        kind: VmKind,
        random: &mut Prng,
    ) -> usize {
        if kind == VmKind::Vcls
            && let Some(local) = local_of(site, host)
        {
            return local;
        }
        *random.pick(&self.shared[site.hosts[host].cluster])
    }
}

/// The local datastore of a host.
pub(super) fn local_of(site: &Site, host: usize) -> Option<usize> {
    site.datastores
        .iter()
        .position(|store| store.kind == DatastoreKind::Local && store.hosts.contains(&host))
}

/// Where a huge archive goes: the last usable NFS datastore.
pub(super) fn archive(site: &Site) -> Option<usize> {
    site.datastores.iter().rposition(|store| store.kind == DatastoreKind::Nfs && store.accessible)
}

/// Fills the datastores from their VMs, then sizes them to a plausible level.
pub(super) fn fill(site: &mut Site, random: &mut Prng) {
    let mut seen_shared = std::collections::BTreeSet::new();
    let mut on_store: Vec<std::collections::BTreeSet<usize>> =
        vec![std::collections::BTreeSet::new(); site.datastores.len()];
    for (index, vm) in site.vms.iter().enumerate() {
        if vm.kind == VmKind::Placeholder || !vm.connected {
            continue;
        }
        let home = &mut site.datastores[vm.datastore];
        let snapshots: u64 = vm.snapshots.iter().map(|snapshot| snapshot.total).sum();
        home.in_use += snapshots + if vm.on { vm.memory } else { 0 };
        home.provisioned += snapshots + vm.memory;
        on_store[vm.datastore].insert(index);
        for disk in vm.disks.iter().filter(|disk| disk.raw_lun.is_none()) {
            if disk.shared && !seen_shared.insert(disk.uuid.clone()) {
                continue;
            }
            let store = &mut site.datastores[disk.datastore];
            store.in_use += disk.used;
            store.provisioned += disk.capacity;
            on_store[disk.datastore].insert(index);
        }
    }
    let mut nearly_full = site.spec.has(Fault::NearlyFull);
    for (store, vms) in site.datastores.iter_mut().zip(on_store) {
        let running = vms.iter().filter(|vm| site.vms[**vm].on).count();
        store.vms = (vms.len() as u32, running as u32);
        if store.kind == DatastoreKind::Local {
            store.capacity = 446 * GIB;
            store.in_use += 2 * GIB;
            store.provisioned += 2 * GIB;
            continue;
        }
        if !store.accessible {
            // What the vCenter remembers of it.
            store.capacity = 1_024 * GIB;
            store.in_use = 300 * GIB;
            store.provisioned = 300 * GIB;
            continue;
        }
        // Files of no VM, such as images and leftovers.
        let loose = store.in_use * random.between(1, 3) / 100 + 40 * GIB;
        store.in_use += loose;
        store.provisioned += loose;
        let full = std::mem::take(&mut nearly_full);
        let (level, step) = if full { (94, 16 * GIB) } else { (random.between(58, 76), 512 * GIB) };
        store.capacity = (store.in_use * 100 / level).div_ceil(step) * step;
    }
    if site.spec.pod {
        let members = || site.datastores.iter().filter(|store| store.kind == DatastoreKind::Vmfs);
        let capacity = members().map(|store| store.capacity).sum();
        let in_use: u64 = members().map(|store| store.in_use).sum();
        let pod = ("POD-01".to_owned(), capacity, capacity - in_use);
        for store in &mut site.datastores {
            if store.kind == DatastoreKind::Vmfs {
                store.pod = Some(pod.clone());
            }
        }
    }
}
