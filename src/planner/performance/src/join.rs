//! Objects of performance files to objects of the inventory.
//!
//! VMs: by UUID, then by managed object id within its vCenter, then by name; a key that several VMs
//! share decides nothing, and the next is tried. Datastores: by name. Counts are in the problems.

use std::collections::BTreeMap;

use plimsoll_ingest::Severity;
use plimsoll_inventory::{DatastoreId, Inventory, VmId};
use polars::prelude::{InitHashMaps, PlHashMap};

use crate::catalog::normalise;
use crate::collect::Collector;
use crate::report::Kind;
use crate::types::{Entity, EntityKind, Match, MatchedBy};

const MATCHED: Kind = Kind {
    code: "performance-matched",
    severity: Severity::Note,
    expected: "objects of the file to be in the inventory",
    action: "matched by UUID, then object id within the vCenter, then name",
};
const AMBIGUOUS: Kind = Kind {
    code: "performance-object-ambiguous",
    severity: Severity::Warning,
    expected: "a UUID, an object id with its vCenter, or a name that one object has",
    action: "its measurements were not used; export UUIDs or object ids",
};
const UNMATCHED: Kind = Kind {
    code: "performance-object-unmatched",
    severity: Severity::Warning,
    expected: "an object of the inventory: the files may be of different sites or days",
    action: "its measurements were not used",
};

/// Several objects have the key.
const MANY: u32 = u32::MAX;

/// Keys of the inventory's objects.
struct Index {
    by_uuid: PlHashMap<String, u32>,
    by_id: PlHashMap<(String, String), u32>,
    by_id_alone: PlHashMap<String, u32>,
    by_name: PlHashMap<String, u32>,
    stores: PlHashMap<String, u32>,
}

impl Index {
    fn of(inventory: &Inventory) -> Self {
        let mut index = Self {
            by_uuid: PlHashMap::new(),
            by_id: PlHashMap::new(),
            by_id_alone: PlHashMap::new(),
            by_name: PlHashMap::new(),
            stores: PlHashMap::new(),
        };
        let many = |seen: &mut u32| *seen = MANY;
        for (at, vm) in (0_u32..).zip(&inventory.vms) {
            if let Some(uuid) = &vm.ids.uuid {
                index.by_uuid.entry(uuid.to_lowercase()).and_modify(many).or_insert(at);
            }
            if let Some(id) = &vm.ids.id {
                index.by_id_alone.entry(id.to_string()).and_modify(many).or_insert(at);
                for vcenter in [&vm.ids.vcenter_uuid, &vm.ids.vcenter].into_iter().flatten() {
                    let key = (normalise(vcenter), id.to_string());
                    index.by_id.entry(key).and_modify(many).or_insert(at);
                }
            }
            if !vm.name.is_empty() {
                index.by_name.entry(normalise(&vm.name)).and_modify(many).or_insert(at);
            }
        }
        for (at, store) in (0_u32..).zip(&inventory.datastores) {
            index.stores.entry(normalise(&store.name)).and_modify(many).or_insert(at);
        }
        index
    }

    fn vm(&self, entity: &Entity) -> Match {
        let by_uuid = entity.uuid.as_ref().and_then(|uuid| self.by_uuid.get(uuid));
        let by_id = entity.id.as_ref().and_then(|id| match &entity.vcenter {
            Some(vcenter) => self.by_id.get(&(normalise(vcenter), id.clone())),
            // Without a vCenter an id holds where only one vCenter has it.
            None => self.by_id_alone.get(id),
        });
        let by_name = self.by_name.get(&normalise(&entity.name));
        let mut found = Match::Unmatched;
        for (key, by) in
            [(by_uuid, MatchedBy::Uuid), (by_id, MatchedBy::Id), (by_name, MatchedBy::Name)]
        {
            match key {
                Some(&MANY) => found = Match::Ambiguous,
                Some(&vm) => return Match::Vm(VmId(vm), by),
                None => {}
            }
        }
        found
    }

    fn store(&self, entity: &Entity) -> Match {
        match self.stores.get(&normalise(&entity.name)) {
            Some(&MANY) => Match::Ambiguous,
            Some(&store) => Match::Datastore(DatastoreId(store)),
            None => Match::Unmatched,
        }
    }
}

/// What each object is in the inventory, in their order; says the counts.
pub(crate) fn matches(out: &mut Collector, inventory: &Inventory) -> Vec<Match> {
    let index = Index::of(inventory);
    let matches: Vec<Match> = out
        .entities
        .iter()
        .map(|entity| match entity.kind {
            EntityKind::Vm => index.vm(entity),
            EntityKind::Datastore => index.store(entity),
            EntityKind::Host => Match::NotSought,
        })
        .collect();
    let mut counts: BTreeMap<(u32, EntityKind), [u64; 6]> = BTreeMap::new();
    for (entity, found) in out.entities.iter().zip(&matches) {
        let place = match found {
            Match::Vm(_, MatchedBy::Uuid) => 0,
            Match::Vm(_, MatchedBy::Id) => 1,
            Match::Vm(_, MatchedBy::Name) | Match::Datastore(_) => 2,
            Match::Ambiguous => 3,
            Match::Unmatched => 4,
            Match::NotSought => 5,
        };
        counts.entry((entity.file, entity.kind)).or_default()[place] += 1;
        let file = out.files.get(entity.file as usize).map_or("", |file| &file.name);
        let row = (entity.row > 0).then_some(entity.row);
        let shown = || {
            if entity.name.is_empty() {
                entity.id.clone().unwrap_or_default()
            } else {
                entity.name.clone()
            }
        };
        match found {
            Match::Ambiguous => out.report.note(AMBIGUOUS, file, row, "", shown),
            Match::Unmatched => out.report.note(UNMATCHED, file, row, "", shown),
            _ => {}
        }
    }
    for ((file, kind), [uuid, id, name, ambiguous, unmatched, _]) in counts {
        let what = match kind {
            EntityKind::Vm => "VMs",
            EntityKind::Datastore => "datastores",
            EntityKind::Host => continue,
        };
        let matched = uuid + id + name;
        let total = matched + ambiguous + unmatched;
        let file = out.files.get(file as usize).map(|file| file.name.clone()).unwrap_or_default();
        out.report.tell(
            MATCHED,
            &file,
            format!(
                "{matched} of {total} {what} (UUID {uuid}, id {id}, name {name}), ambiguous {ambiguous}, unmatched {unmatched}"
            ),
        );
    }
    matches
}
