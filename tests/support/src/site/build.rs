//! Makes a site: vCenters, clusters, hosts, then VMs, then what follows from them.

use std::collections::BTreeMap;

use super::profile::{PHOTON, PROFILES, Profile};
use super::{Cluster, Fault, Host, Site, SiteSpec, Vcenter, Vm, VmKind, disks, storage};
use crate::prng::Prng;
use crate::secrets;
use crate::stamp::Stamp;

/// Words that make names look like those of a company.
const SYSTEMS: &[&str] = &["erp", "crm", "hr", "billing", "portal", "dwh", "pos", "log", "ship"];

/// Annotations with what breaks careless readers: delimiters, quotes, letters outside ASCII.
const REMARKS: &[&str] = &[
    "Requested by finance; restart after 22:00",
    "Zust\u{e4}ndig: J\u{f6}rg M\u{fc}ller, Geb\u{e4}ude 7",
    "Cluster \"blue\", see wiki; do not move",
    "Derni\u{e8}re v\u{e9}rification: 1,5 To libre",
];

const OWNERS: &[&str] = &["Finance", "Sales", "Operations", "Research", "IT", ""];

pub(super) fn build(spec: SiteSpec) -> Site {
    let mut random = Prng::new(spec.seed);
    let vcenters: Vec<Vcenter> = (1..=spec.vcenters)
        .map(|number| Vcenter {
            server: format!("vc-{number:02}.corp.example"),
            uuid: random.uuid(),
        })
        .collect();
    // Names and ids repeat between vCenters on purpose: they are unique only within one.
    let clusters: Vec<Cluster> = (0..spec.clusters as usize)
        .map(|index| {
            let within = index / vcenters.len() + 1;
            Cluster {
                name: format!("PRD-{within:02}"),
                datacenter: "Datacenter".to_owned(),
                vcenter: index % vcenters.len(),
                id: format!("domain-c{}", within * 8),
            }
        })
        .collect();
    let mut host_ids = vec![9_u32; vcenters.len()];
    let hosts = (0..spec.hosts as usize)
        .map(|index| {
            let cluster = index % clusters.len();
            let id = &mut host_ids[clusters[cluster].vcenter];
            *id += 1;
            host(&spec, index, cluster, *id)
        })
        .collect();
    let mut site = Site {
        taken: Stamp::of(2026, 11, 27, 18, 30),
        vcenters,
        clusters,
        hosts,
        datastores: Vec::new(),
        vms: Vec::new(),
        vm_attributes: spec.attributes.clone(),
        spec,
    };
    site.datastores = storage::datastores(&site, &mut random);
    site.vms = vms(&site, &mut random);
    plant(&mut site, &mut random);
    for vm in &mut site.vms {
        disks::sum(vm);
    }
    storage::fill(&mut site, &mut random);
    site
}

fn host(spec: &SiteSpec, index: usize, cluster: usize, id: u32) -> Host {
    let odd_one = index + 1 == spec.hosts as usize;
    Host {
        name: format!("esx-{:02}.corp.example", index + 1),
        cluster,
        id: format!("host-{id}"),
        esx: if odd_one && spec.has(Fault::MixedBuilds) {
            "VMware ESXi 8.0.1 build-21813344"
        } else {
            "VMware ESXi 8.0.2 build-22380479"
        },
        cores: 64,
        memory: 1_572_538,
        storage_mtu: if odd_one && spec.has(Fault::MtuMismatch) { 1_500 } else { 9_000 },
        switch_mtu: 9_000,
        nic_driver: "nmlx5_core",
        nic_mbit: 25_000,
        address: index as u32 + 11,
    }
}

fn vms(site: &Site, random: &mut Prng) -> Vec<Vm> {
    let spec = &site.spec;
    let special = spec.templates + spec.placeholders + spec.vcls;
    let mut kinds = vec![VmKind::Ordinary; spec.vms.saturating_sub(special) as usize];
    kinds.extend(vec![VmKind::Template; spec.templates as usize]);
    kinds.extend(vec![VmKind::Placeholder; spec.placeholders as usize]);
    kinds.extend(vec![VmKind::Vcls; spec.vcls as usize]);
    shuffle(&mut kinds, random);

    let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
    let mut ids = vec![100_u32; site.vcenters.len()];
    let mut home = storage::Homes::new(site);
    let weight = |profile: &Profile| {
        profile.weight * if profile.folder == "Databases" { spec.databases } else { 1 }
    };
    let weights: Vec<u32> = PROFILES.iter().map(weight).collect();
    kinds
        .into_iter()
        .map(|kind| {
            let profile = &PROFILES[random.weighted(&weights)];
            let stem = match kind {
                VmKind::Ordinary if profile.data_gib.is_empty() => profile.stem.to_owned(),
                VmKind::Ordinary => format!("{}-{}", profile.stem, random.pick(SYSTEMS)),
                VmKind::Template => format!("tpl-{}", profile.stem),
                VmKind::Placeholder => format!("dr-{}", profile.stem),
                VmKind::Vcls => String::new(),
            };
            let name = if kind == VmKind::Vcls {
                format!("vCLS-{}", random.uuid())
            } else {
                let number = numbers.entry(stem.clone()).or_insert(0);
                *number += 1;
                format!("{stem}-{number:02}")
            };
            let host = random.between(0, u64::from(spec.hosts) - 1) as usize;
            let datastore = home.pick(site, host, kind, random);
            let id = &mut ids[site.vcenter_of_host(host)];
            *id += 1;
            vm(site, random, profile, kind, name, format!("vm-{id}"), host, datastore)
        })
        .collect()
}

#[expect(clippy::too_many_arguments, reason = "one call; a struct would only repeat the names")]
fn vm(
    site: &Site,
    random: &mut Prng,
    profile: &Profile,
    kind: VmKind,
    name: String,
    id: String,
    host: usize,
    datastore: usize,
) -> Vm {
    let smbios = random.uuid();
    let created = site.taken.minus_seconds(random.between(40 * 86_400, 2_200 * 86_400));
    let mut vm = Vm {
        name,
        kind,
        on: matches!(kind, VmKind::Ordinary | VmKind::Vcls),
        connected: true,
        id,
        uuid: random.uuid(),
        smbios,
        host,
        datastore,
        cpus: *random.pick(profile.cpus),
        memory: random.pick(profile.memory_gib) * 1_024,
        disks: Vec::new(),
        partitions: Vec::new(),
        snapshots: Vec::new(),
        provisioned: 0,
        in_use: 0,
        unshared: 0,
        os_config: profile.os_config,
        os_tools: if kind == VmKind::Ordinary { profile.os_tools } else { "" },
        folder: profile.folder,
        annotation: String::new(),
        attributes: Vec::new(),
        rule: None,
        created,
    };
    vm.attributes = site
        .vm_attributes
        .iter()
        .map(|name| match name.as_str() {
            "Datacenter" => format!("Room {}", random.between(1, 3)),
            "Backup policy" => (*random.pick(&["Gold", "Silver", ""])).to_owned(),
            _ => (*random.pick(OWNERS)).to_owned(),
        })
        .collect();
    match kind {
        VmKind::Vcls => {
            vm.cpus = 1;
            vm.memory = 128;
            vm.os_config = PHOTON;
            vm.os_tools = PHOTON;
            vm.folder = "vCLS";
            disks::vcls(&mut vm, random);
        }
        VmKind::Placeholder => {}
        VmKind::Ordinary | VmKind::Template => {
            disks::of_profile(&mut vm, profile, site.spec.data_pct, random);
        }
    }
    if random.chance(0.25) && vm.annotation.is_empty() && kind == VmKind::Ordinary {
        vm.annotation = format!("{} ({})", random.pick(REMARKS), random.pick(SYSTEMS));
    }
    vm
}

/// Turns some ordinary VMs into the exact numbers of special cases the spec asks for.
fn plant(site: &mut Site, random: &mut Prng) {
    let mut ordinary: Vec<usize> =
        (0..site.vms.len()).filter(|vm| site.vms[*vm].kind == VmKind::Ordinary).collect();
    shuffle(&mut ordinary, random);
    let mut ordinary = ordinary.into_iter();
    let spec = site.spec.clone();
    let taken = site.taken;

    for index in ordinary.by_ref().take(spec.powered_off as usize) {
        let vm = &mut site.vms[index];
        vm.on = false;
        vm.os_tools = "";
        vm.partitions.clear();
    }
    for index in ordinary.by_ref().take(spec.orphaned as usize) {
        let vm = &mut site.vms[index];
        vm.connected = false;
        vm.disks.clear();
        vm.partitions.clear();
    }
    let running: Vec<usize> = ordinary.collect();
    for index in running.iter().take(spec.raw as usize) {
        disks::add_raw(&mut site.vms[*index], random);
    }
    let mut taken_for_pairs = Vec::new();
    for pair in 0..spec.shared_pairs {
        // A pair shares a disk, so both stand in one cluster.
        let found = running.iter().enumerate().find_map(|(position, first)| {
            let free = |vm: &usize| !taken_for_pairs.contains(vm);
            let cluster = |vm: &usize| site.hosts[site.vms[*vm].host].cluster;
            running[position + 1..]
                .iter()
                .find(|second| free(first) && free(second) && cluster(first) == cluster(second))
                .map(|second| (*first, *second))
        });
        if let Some((first, second)) = found {
            taken_for_pairs.extend([first, second]);
            let rule = format!("keep-apart-{:02}", pair + 1);
            let mut disk = disks::shared(&mut site.vms[first], random);
            disk.number = site.vms[second].disks.len() as u32 + 1;
            site.vms[second].disks.push(disk);
            site.vms[first].rule = Some(rule.clone());
            site.vms[second].rule = Some(rule);
        }
    }
    for pair in running.chunks_exact(2).take(spec.clones as usize) {
        site.vms[pair[1]].smbios = site.vms[pair[0]].smbios.clone();
    }
    for index in running.iter().rev().take(spec.with_snapshots as usize) {
        disks::add_snapshots(&mut site.vms[*index], taken, random);
    }
    if spec.has(Fault::HugeDisk)
        && let Some(archive) = storage::archive(site)
        && let Some(index) = running.first()
    {
        let vm = &mut site.vms[*index];
        vm.name = "file-arch-01".to_owned();
        vm.folder = "File services";
        disks::make_archive(vm, archive);
    }
    if spec.has(Fault::VmOnLocal)
        && let Some(index) = running.last()
        && let Some(local) = storage::local_of(site, site.vms[*index].host)
    {
        disks::move_to(&mut site.vms[*index], local);
    }
    if spec.has(Fault::Secrets) {
        for (position, (_, annotation)) in secrets::ANNOTATIONS.iter().enumerate() {
            if let Some(index) = running.get(position * 3 + 1) {
                site.vms[*index].annotation = (*annotation).to_owned();
            }
        }
    }
}

fn shuffle<T>(items: &mut [T], random: &mut Prng) {
    for last in (1..items.len()).rev() {
        items.swap(last, random.between(0, last as u64) as usize);
    }
}
