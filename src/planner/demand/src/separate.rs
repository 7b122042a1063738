//! VMs that should not share a datastore.
//!
//! Only where something says so: a DRS rule that several VMs are under, or a `[[separate]]` entry
//! of the rules, which joins names that differ in the number at their end (`dc-01`, `dc-02`).

use std::collections::BTreeMap;

use plimsoll_inventory::{Inventory, VmId};

use crate::matcher::name_matches;
use crate::rules::Separate;
use crate::types::Separation;

/// Groups among `vms`, by rule name and then by the order of the entries.
pub(crate) fn groups(
    inventory: &Inventory,
    vms: impl Iterator<Item = VmId>,
    entries: &[Separate],
) -> Vec<Separation> {
    let mut by_rule: BTreeMap<&str, Vec<VmId>> = BTreeMap::new();
    let mut by_stem: BTreeMap<(usize, String), Vec<VmId>> = BTreeMap::new();
    for id in vms {
        let Some(vm) = inventory.vms.get(id.0 as usize) else { continue };
        for rule in &vm.rules {
            by_rule.entry(rule).or_default().push(id);
        }
        let entry = entries.iter().position(|entry| name_matches(&entry.name, &vm.name));
        if let (Some(entry), Some(stem)) = (entry, stem(&vm.name)) {
            by_stem.entry((entry, stem)).or_default().push(id);
        }
    }
    let rules = by_rule.into_iter().map(|(rule, vms)| (format!("DRS rule {rule}"), vms));
    let stems = by_stem.into_iter().map(|((entry, stem), vms)| {
        let why = &entries[entry].why;
        (
            if why.is_empty() {
                format!("numbered names {stem}")
            } else {
                format!("{why}: {stem}")
            },
            vms,
        )
    });
    rules
        .chain(stems)
        .filter(|(_, vms)| vms.len() > 1)
        .map(|(why, vms)| Separation { why, vms })
        .collect()
}

/// The name without the number at its end; `None` when there is none.
fn stem(name: &str) -> Option<String> {
    let stem = name.trim_end_matches(|sign: char| sign.is_ascii_digit());
    (stem.len() < name.len() && !stem.is_empty()).then(|| stem.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems() {
        assert_eq!(stem("DC-01").as_deref(), Some("dc-"));
        assert_eq!(stem("dc"), None);
        assert_eq!(stem("42"), None);
    }
}
