//! The largest VMs against what one datastore gives one VM, and striping advice.

use std::collections::BTreeMap;

use plimsoll_demand::VmDemand;

use super::Context;
use crate::document::{Block, Cell, Column, Note, Section, Table, Text};
use crate::lines;
use crate::number::{self, NBSP};
use crate::words;

/// VMs in the table.
const TOP: usize = 12;
/// Striping advice shown; the workbook and JSON hold all.
const ADVICE: usize = 50;

/// The section.
pub fn section(context: &Context<'_>) -> Section {
    let plan = context.input.plan;
    let mut blocks = vec![Block::Table(top(context))];
    if !plan.striping.is_empty() {
        blocks.push(Block::Heading("Striping".to_owned()));
        blocks.push(Block::Table(striping(context)));
    }
    let finding = match plan.striping.len() as u64 {
        0 => "No VM needs more than one datastore can give it.".to_owned(),
        1 => "One VM needs more than one datastore can give it.".to_owned(),
        many => format!(
            "{} VMs need more than one datastore can give them.",
            words::sentence(&words::count(many)),
        ),
    };
    let ceilings: Vec<_> = [
        plan.vm_ceiling_iops.map(|iops| format!("{} IOPS", number::modelled(iops.0))),
        plan.vm_ceiling_mibps.map(|rate| format!("{}{NBSP}MiB/s", number::modelled(rate.0))),
    ]
    .into_iter()
    .flatten()
    .collect();
    let lead = if ceilings.is_empty() {
        "No ceiling of a single VM is known for this platform.".to_owned()
    } else {
        format!(
            "One VM on one datastore gets {} at the 95% level. The bar shows each VM’s load {} \
             with {} headroom against whichever is tighter.",
            ceilings.join(" or "),
            context.when(),
            number::percent(plan.options.headroom_pct),
        )
    };
    Section {
        id: "vms",
        topic: "Top VMs and striping".to_owned(),
        finding,
        lead: vec![lead.into()],
        blocks,
        notes: vec![Note {
            heading: "Before you stripe".to_owned(),
            text: Text::default()
                .plain("All disks of a striped guest have to be frozen at the same moment. Use ")
                .code("fsfreeze")
                .plain(
                    " or VSS before a snapshot; snapshots of each datastore alone do not match.",
                ),
        }],
    }
}

/// Growth of the load to the horizon, a factor.
fn growth(context: &Context<'_>) -> f64 {
    let demand = context.input.demand;
    let today = demand.today.iops_p95.0;
    if today > 0.0 { demand.horizon.iops_p95.0 / today } else { 1.0 }
}

/// Load with growth and headroom over the ceiling of one VM, the tighter of both quantities.
fn ratio(context: &Context<'_>, vm: &VmDemand, growth: f64) -> Option<f64> {
    let plan = context.input.plan;
    let factor = growth * (1.0 + plan.options.headroom_pct / 100.0);
    let part = |load: f64, ceiling: Option<f64>| {
        ceiling.filter(|ceiling| *ceiling > 0.0).map(|ceiling| load * factor / ceiling)
    };
    let iops = part(vm.iops_p95.0, plan.vm_ceiling_iops.map(|iops| iops.0));
    let mibps = part(vm.mibps_p95.0, plan.vm_ceiling_mibps.map(|rate| rate.0));
    match (iops, mibps) {
        (Some(iops), Some(mibps)) => Some(iops.max(mibps)),
        (one, other) => one.or(other),
    }
}

fn top(context: &Context<'_>) -> Table {
    let input = context.input;
    let growth = growth(context);
    // What a VM takes of the whole load, the larger of both quantities, orders them.
    let weight = |vm: &VmDemand| {
        let total = &input.demand.today;
        (vm.iops_p95.0 / total.iops_p95.0.max(1e-9))
            .max(vm.mibps_p95.0 / total.mibps_p95.0.max(1e-9))
    };
    let mut largest: Vec<&VmDemand> = Vec::with_capacity(TOP + 1);
    for vm in &input.demand.vms {
        let place = largest.partition_point(|other| weight(other) >= weight(vm));
        if place < TOP {
            largest.insert(place, vm);
            largest.truncate(TOP);
        }
    }
    let advice: BTreeMap<_, _> = input.plan.striping.iter().map(|one| (one.vm, one)).collect();
    let placements = lines::placements(input);
    let mut table = Table::key(
        format!(
            "The {} largest of {} VMs; 95th percentile of each one’s own load today.",
            words::count(largest.len() as u64),
            number::count(input.inventory.totals.vms_counted),
        ),
        vec![
            Column::name("VM"),
            Column::word("Class"),
            Column::number("IOPS"),
            Column::number("MiB/s"),
            Column::number("TiB used"),
            Column::line("Load against one datastore"),
            Column::main(""),
            Column::line("Place on"),
        ],
    );
    for vm in largest {
        let over = ratio(context, vm, growth);
        let name = words::foreign(lines::vm_name(input.inventory, vm.vm), 60);
        let class = input.demand.classes.get(usize::from(vm.class.0));
        let place: Cell = match (advice.get(&vm.vm), placements.get(&vm.vm)) {
            (Some(advice), _) => {
                Cell::Strong(format!("{} disks on {} datastores", advice.vmdks, advice.datastores,))
            }
            (None, Some(placement)) => input
                .plan
                .capacity
                .get(placement.datastore as usize)
                .map_or(number::MISSING, |datastore| datastore.name.as_str())
                .into(),
            (None, None) => number::MISSING.into(),
        };
        table.row(vec![
            if advice.contains_key(&vm.vm) { Cell::Strong(name) } else { name.into() },
            class.map_or(String::new(), |class| class.name.clone()).into(),
            number::modelled(vm.iops_p95.0).into(),
            number::modelled(vm.mibps_p95.0).into(),
            number::tib(vm.used.gib()).into(),
            over.map_or_else(|| number::MISSING.into(), Cell::Bullet),
            over.map_or_else(String::new, number::share).into(),
            place,
        ]);
    }
    table
}

fn striping(context: &Context<'_>) -> Table {
    let input = context.input;
    let advice = &input.plan.striping;
    let mut table = Table::key(
        "Spread these over several virtual disks on several datastores.",
        vec![
            Column::name("VM"),
            Column::number("Disks"),
            Column::main("Datastores"),
            Column::line("Why"),
            Column::line("Mind"),
        ],
    );
    for one in advice.iter().take(ADVICE) {
        table.row(vec![
            Cell::Strong(words::foreign(lines::vm_name(input.inventory, one.vm), 60)),
            one.vmdks.to_string().into(),
            one.datastores.to_string().into(),
            words::foreign(&one.reason, 300).into(),
            words::foreign(&one.caveat, 300).into(),
        ]);
    }
    if advice.len() > ADVICE {
        table.left_out =
            Some(format!("{} more are in the workbook and the JSON form.", advice.len() - ADVICE,));
    }
    table
}
