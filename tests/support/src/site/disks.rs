//! Disks, guest file systems and snapshots of one VM.

use super::profile::Profile;
use super::{Disk, Partition, Snapshot, Vm, VmKind};
use crate::prng::Prng;
use crate::stamp::Stamp;

const GIB: u64 = 1_024;

/// The first virtual disk has this key.
const FIRST_DISK_KEY: u32 = 2_000;

pub(super) fn of_profile(vm: &mut Vm, profile: &Profile, data_pct: u64, random: &mut Prng) {
    let mut sizes = vec![profile.system_gib * GIB];
    sizes.extend(profile.data_gib.iter().map(|(low, high)| {
        (random.between(low.div_ceil(10), high / 10) * data_pct / 100).max(1) * 10 * GIB
    }));
    let windows = profile.os_config.contains("Windows");
    let thin = random.chance(0.75);
    let tools = !vm.os_tools.is_empty();
    for capacity in sizes {
        let number = vm.disks.len() as u32 + 1;
        let share = random.between(profile.used_pct.0, profile.used_pct.1);
        let consumed = capacity * share / 100;
        let used = if thin {
            (consumed + consumed * random.between(1, 12) / 100).min(capacity)
        } else {
            capacity
        };
        add(vm, capacity, used, thin, random);
        if vm.kind == VmKind::Ordinary && tools {
            partitions(vm, number, windows, capacity, consumed, random);
        }
    }
}

fn partitions(
    vm: &mut Vm,
    number: u32,
    windows: bool,
    capacity: u64,
    consumed: u64,
    random: &mut Prng,
) {
    // Older guests and Tools do not say which virtual disk a file system is on.
    let disk_key = random.chance(0.65).then_some(FIRST_DISK_KEY + number - 1);
    let mut push = |name: String, capacity: u64, consumed: u64| {
        vm.partitions.push(Partition { name, disk_key, capacity, consumed });
    };
    match (windows, number) {
        (true, _) => {
            let drive = char::from(b'C' + (number - 1) as u8);
            push(format!("{drive}:\\"), capacity - 500, consumed.min(capacity - 500));
        }
        (false, 1) => {
            push("/boot".to_owned(), 1_014, 280);
            push("/".to_owned(), capacity - 1_100, consumed.min(capacity - 1_100));
        }
        (false, _) => push(format!("/data{}", number - 1), capacity - 100, consumed - 50),
    }
}

pub(super) fn vcls(vm: &mut Vm, random: &mut Prng) {
    add(vm, 2 * GIB, 620, true, random);
}

fn add(vm: &mut Vm, capacity: u64, used: u64, thin: bool, random: &mut Prng) {
    let number = vm.disks.len() as u32 + 1;
    let suffix = if number == 1 { String::new() } else { format!("_{}", number - 1) };
    vm.disks.push(Disk {
        number,
        capacity,
        used,
        datastore: vm.datastore,
        file: format!("{}/{}{suffix}.vmdk", vm.name, vm.name),
        uuid: format!("6000C29{:09x}-{:016x}", random.next_u64() >> 28, random.next_u64()),
        thin,
        raw_lun: None,
        shared: false,
    });
}

pub(super) fn add_raw(vm: &mut Vm, random: &mut Prng) {
    add(vm, 500 * GIB, 0, false, random);
    let lun = format!("naa.60002ac0{:016x}{:08x}", random.next_u64(), 0x0002_1f6b_u32);
    if let Some(disk) = vm.disks.last_mut() {
        disk.raw_lun = Some(lun);
    }
}

/// Adds a shared disk and returns it for the second VM's list.
pub(super) fn shared(vm: &mut Vm, random: &mut Prng) -> Disk {
    add(vm, 200 * GIB, 200 * GIB, false, random);
    let last = vm.disks.len() - 1;
    vm.disks[last].shared = true;
    vm.disks[last].clone()
}

pub(super) fn add_snapshots(vm: &mut Vm, taken: Stamp, random: &mut Prng) {
    let count = random.between(1, 3);
    let capacity: u64 = vm.disks.iter().map(|disk| disk.capacity).sum();
    for number in 1..=count {
        let days = *random.pick(&[2, 4, 9, 16, 25, 48, 70, 133, 210]);
        let vmsn = if random.chance(0.3) { vm.memory } else { 1 };
        let delta = capacity * random.between(1, 9) / 100;
        vm.snapshots.push(Snapshot {
            name: format!("before change {number}"),
            taken: taken.minus_days(days),
            vmsn,
            total: vmsn + delta,
        });
    }
    vm.snapshots.sort_by_key(|snapshot| snapshot.taken);
}

/// A file archive with one virtual disk above 16 TiB.
pub(super) fn make_archive(vm: &mut Vm, datastore: usize) {
    let mut random = Prng::new(17);
    vm.disks.clear();
    vm.partitions.clear();
    vm.os_config = "Microsoft Windows Server 2019 (64-bit)";
    vm.os_tools = vm.os_config;
    vm.datastore = datastore;
    add(vm, 90 * GIB, 41 * GIB, true, &mut random);
    partitions(vm, 1, true, 90 * GIB, 40 * GIB, &mut random);
    add(vm, 17_613 * GIB, 4_260 * GIB, true, &mut random);
    partitions(vm, 2, true, 17_613 * GIB, 4_198 * GIB, &mut random);
}

pub(super) fn move_to(vm: &mut Vm, datastore: usize) {
    vm.datastore = datastore;
    for disk in &mut vm.disks {
        if !disk.shared && disk.raw_lun.is_none() {
            disk.datastore = datastore;
        }
    }
}

/// Sums of the VM from its parts. A raw mapping's LUN is not on a datastore.
pub(super) fn sum(vm: &mut Vm) {
    if vm.kind == VmKind::Placeholder || !vm.connected {
        return;
    }
    let on_datastore = || vm.disks.iter().filter(|disk| disk.raw_lun.is_none());
    let capacity: u64 = on_datastore().map(|disk| disk.capacity).sum();
    let used: u64 = on_datastore().map(|disk| disk.used).sum();
    let shared: u64 = on_datastore().filter(|disk| disk.shared).map(|disk| disk.used).sum();
    let snapshots: u64 = vm.snapshots.iter().map(|snapshot| snapshot.total).sum();
    let swap = if vm.on { vm.memory } else { 0 };
    vm.provisioned = capacity + vm.memory + snapshots;
    vm.in_use = used + swap + snapshots + 1;
    vm.unshared = vm.in_use - shared;
}
