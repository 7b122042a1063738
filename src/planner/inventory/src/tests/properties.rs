//! Properties that hold for any export.

use plimsoll_ingest::Export;
use plimsoll_ingest::rows::{DiskRow, PowerState, VmRow};
use proptest::prelude::*;

use crate::testing::*;

fn any_vm() -> impl Strategy<Value = VmRow> {
    let flag = || proptest::option::of(any::<bool>());
    let size = || proptest::option::of(0_u64..1 << 30);
    let power = proptest::option::of(prop_oneof![
        Just(PowerState::PoweredOn),
        Just(PowerState::PoweredOff),
        Just(PowerState::Suspended)
    ]);
    let state = proptest::option::of(prop_oneof![Just("connected"), Just("orphaned")]);
    let name = prop_oneof![Just("web"), Just("db"), Just("vCLS (1)")];
    let ids = (proptest::option::of(0_u32..12), proptest::option::of(0_u32..12));
    (name, ids, flag(), flag(), power, state, size(), size()).prop_map(
        |(name, (id, uuid), template, placeholder, power, state, in_use, provisioned)| {
            let mut row = vm(1);
            row.vm.name = text(name);
            row.vm.id = id.map(|id| format!("vm-{id}").into());
            row.vm.uuid = uuid.map(|uuid| format!("uuid-{uuid}").into());
            row.template = template;
            row.srm_placeholder = placeholder;
            row.powerstate = power;
            row.connection_state = state.map(Into::into);
            row.in_use = in_use.map(plimsoll_units::Mib);
            row.provisioned = provisioned.map(plimsoll_units::Mib);
            row
        },
    )
}

fn any_disk() -> impl Strategy<Value = DiskRow> {
    (0_u32..16, 0_u64..1 << 30, 0_u32..6, any::<bool>()).prop_map(|(vm, size, file, raw)| {
        let mut row = disk(1, vm, size, &format!("[ds-{}] f/{file}.vmdk", file % 3));
        row.raw = Some(raw);
        row
    })
}

fn any_export() -> impl Strategy<Value = Export> {
    (proptest::collection::vec(any_vm(), 0..20), proptest::collection::vec(any_disk(), 0..30))
        .prop_map(|(vms, disks)| {
            let mut export = export();
            export.vms = vms;
            export.disks = disks;
            for (row, vm) in (2..).zip(&mut export.vms) {
                vm.at.row = row;
            }
            for (row, disk) in (2..).zip(&mut export.disks) {
                disk.at.row = row;
            }
            for row in 2..4 {
                export.datastores.push(datastore(row, &format!("ds-{row}"), 1 << 30, 1 << 20));
            }
            export
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn population_steps_sum_to_the_file(export in any_export()) {
        let inventory = inventory(&export);
        let population = &inventory.population;
        let out: u64 = population.steps.iter().map(|step| step.vms).sum();
        prop_assert_eq!(out + population.counted, population.in_file);
        prop_assert_eq!(population.in_file, inventory.vms.len() as u64);
        let counted = inventory.vms.iter().filter(|vm| vm.exclusion.is_none()).count() as u64;
        prop_assert_eq!(counted, population.counted);
        prop_assert_eq!(inventory.totals.vms_counted, counted);
    }

    #[test]
    fn every_vm_is_kept_or_reported(export in any_export()) {
        let (inventory, problems) = crate::build(&export, &crate::InventoryOptions::default());
        if inventory.vms.len() < export.vms.len() {
            prop_assert!(problems.items.iter().any(|one| one.code == "vm-listed-twice"));
        }
        let keys: std::collections::BTreeSet<&str> =
            inventory.vms.iter().map(|vm| vm.key.as_str()).collect();
        prop_assert_eq!(keys.len(), inventory.vms.len());
    }

    #[test]
    fn sums_over_rows_do_not_depend_on_their_order(export in any_export(), seed in any::<u64>()) {
        // VMs with ids of their own, so that no listing is left out.
        let mut export = export;
        for (index, vm) in export.vms.iter_mut().enumerate() {
            vm.vm.id = text(&format!("vm-{index}"));
        }
        let first = inventory(&export);
        let turn = |len: usize| if len == 0 { 0 } else { usize::try_from(seed % len as u64).unwrap_or(0) };
        let (vms, disks) = (turn(export.vms.len()), turn(export.disks.len()));
        export.vms.rotate_left(vms);
        export.disks.rotate_left(disks);
        export.disks.reverse();
        export.datastores.reverse();
        let second = inventory(&export);
        prop_assert_eq!(&first.totals, &second.totals);
        // Which of two VMs a shared disk is counted for does depend on it, and with it their used
        // space; how many VMs there are of each kind does not.
        let vms = |inventory: &crate::Inventory| -> Vec<u64> {
            inventory.population.steps.iter().map(|step| step.vms).collect()
        };
        prop_assert_eq!(vms(&first), vms(&second));
    }

    #[test]
    fn disks_are_grouped_by_vm_and_shared_ones_counted_once(export in any_export()) {
        let inventory = inventory(&export);
        let mut next = 0;
        for (index, vm) in inventory.vms.iter().enumerate() {
            prop_assert_eq!(vm.disks.0, next);
            for disk in &inventory.disks[vm.disks.0 as usize..vm.disks.1 as usize] {
                prop_assert_eq!(disk.vm.0 as usize, index);
                prop_assert!(!disk.duplicate || disk.shared);
                prop_assert!(!disk.raw || disk.datastore.is_none());
            }
            next = vm.disks.1;
        }
        prop_assert_eq!(next as usize, inventory.disks.len());
    }

    #[test]
    fn the_same_export_gives_the_same_bytes(export in any_export()) {
        let bytes = |export: &Export| serde_json::to_vec(&inventory(export)).unwrap_or_default();
        prop_assert_eq!(bytes(&export), bytes(&export));
    }
}
