//! A hand-made site, load and plan, to write reports of without running the other stages.
//!
//! Numbers resemble a fit to published measurements and a public price list, but are invented.
//! Names are hostile on purpose: markup, formulas, control characters, very long ones.

#![allow(dead_code, reason = "shared by tests and an example, each of which uses a part")]

use jiff::civil::date;
use plimsoll_demand::{
    Assumption, Class, ClassId, Demand, DemandOptions, Load, Lognormal, VmDemand,
};
use plimsoll_ingest::rows::{PowerState, RowRef};
use plimsoll_ingest::{InputFile, Problem, Problems, Severity, SourceKind, TabSummary};
use plimsoll_inventory::{
    Cluster, Datastore, DatastoreId, DatastoreKind, Evidence, Exclusion, Finding, FindingSeverity,
    Host, HostId, Inventory, Population, PopulationStep, QualityCheck, Totals, UsedSource, Vm,
    VmId, VmIds,
};
use plimsoll_model::{Quantity, Resource};
use plimsoll_plan::{
    Carried, Ceiling, DerivationStep, FlowBudget, FrontierPoint, HostCurve, HostPoint, HostSetting,
    MarginOf, Placement, Plan, PlanOptions, PlannedDatastore, PriceBasis, Sensitivity,
    StripingAdvice, Tco, TierOption, WhatIf,
};
use plimsoll_report::ReportInput;
use plimsoll_units::{EvidenceGrade, Gib, Iops, Mib, MibPerSec, Milliseconds, Money};

/// All that a report is made from.
pub struct Sample {
    pub inventory: Inventory,
    pub demand: Demand,
    pub plan: Plan,
    pub problems: Problems,
    pub files: Vec<InputFile>,
}

impl Sample {
    pub fn input(&self) -> ReportInput<'_> {
        ReportInput {
            inventory: &self.inventory,
            demand: &self.demand,
            plan: &self.plan,
            problems: &self.problems,
            files: &self.files,
            options: serde_json::json!({
                "demand": self.demand.options,
                "plan": self.plan.options,
            }),
            tool_version: "0.1.0",
        }
    }
}

/// A site of 268 VMs whose plan holds.
pub fn sample() -> Sample {
    sized(268)
}

/// The same with a load that nothing carries.
pub fn infeasible() -> Sample {
    let mut sample = sized(268);
    let plan = &mut sample.plan;
    plan.feasible = false;
    plan.infeasible_because =
        vec!["343,000 IOPS are needed and 16 datastores carry 231,000 at the 95% level".to_owned()];
    for point in &mut plan.frontier {
        for carried in [&mut point.iops, &mut point.mibps] {
            for value in [
                &mut carried.p05,
                &mut carried.median,
                &mut carried.p95,
                &mut carried.at_certainty,
                &mut carried.median_no_failure,
            ] {
                *value *= 0.6;
            }
            carried.probability = 0.03;
        }
        point.feasible = false;
        point.violations = vec!["IOPS fall short of what is needed".to_owned()];
    }
    plan.datastores = 16;
    plan.datastore_size_gib = Gib(5_120.0);
    plan.headroom_pct = -19.0;
    plan.certainty = 0.03;
    plan.runner_up = None;
    for tier in &mut plan.tiers {
        tier.feasible = false;
        "IOPS fall short at every count".clone_into(&mut tier.note);
    }
    sample
}

/// A site of `count` VMs.
pub fn sized(count: u32) -> Sample {
    let inventory = inventory(count);
    let demand = demand(&inventory);
    let plan = plan(&inventory, &demand);
    Sample { plan, demand, problems: problems(), files: files(count), inventory }
}

fn name(index: u32) -> String {
    match index {
        0 => "sql-erp-01".to_owned(),
        1 => "ora-dwh-02".to_owned(),
        2 => "<script>alert('x')</script>".to_owned(),
        3 => "=HYPERLINK(\"http://x\",\"y\")".to_owned(),
        4 => "db\u{1}-\u{7}bell & \"quote\"".to_owned(),
        5 => "long-".repeat(400),
        6 => "仮想マシン-é-01".to_owned(),
        7 => "@sum(a1)|pipe".to_owned(),
        index => format!("app-{index:05}"),
    }
}

fn at(row: u32) -> RowRef {
    RowRef { file: 0, row }
}

fn exclusion(index: u32) -> Option<Exclusion> {
    match index % 30 {
        11 => Some(Exclusion::Template),
        17 | 23 => Some(Exclusion::PoweredOff),
        29 if index % 60 == 29 => Some(Exclusion::SrmPlaceholder),
        _ if index % 97 == 96 => Some(Exclusion::Vcls),
        _ => None,
    }
}

fn inventory(count: u32) -> Inventory {
    let datastores: Vec<Datastore> = (0..11)
        .map(|index| Datastore {
            name: format!("ds-old-{index:02}").into(),
            key: format!("addr:10.0.0.{index} /vol{index}"),
            at: vec![at(index + 2)],
            kind: DatastoreKind::Nfs,
            address: Some(format!("10.0.0.{index} /vol{index}").into()),
            nfs_server: Some(format!("10.0.0.{index}").into()),
            accessible: true,
            local: false,
            capacity: Some(Mib(8_388_608)),
            provisioned: Some(Mib(9_000_000)),
            in_use: Some(Mib(4_400_000)),
            free: Some(Mib(3_988_608)),
            hosts: (0..4).map(HostId).collect(),
            pod: None,
            tier_hint: None,
            vms: Vec::new(),
        })
        .collect();
    let hosts: Vec<Host> = (1..=4)
        .map(|index| Host {
            name: format!("esx-{index:02}.corp.example").into(),
            at: Some(at(index + 1)),
            cluster: Some("PRD-01".into()),
            esx_version: Some("VMware ESXi 8.0.2 build-22380479".into()),
            version: Some("8.0.2".to_owned()),
            maintenance: false,
            cores: Some(36),
            speed_mhz: Some(2_300),
            memory: Some(Mib(589_824)),
            fastest_nic_mbit: Some(25_000),
            model: Some("PowerEdge R650".into()),
        })
        .collect();
    let vms: Vec<Vm> = (0..count)
        .map(|index| {
            let exclusion = exclusion(index);
            let size = 40_000 + u64::from(index * 7_919 % 300_000);
            Vm {
                name: name(index).into(),
                key: format!("uuid:{index:032x}"),
                ids: VmIds::default(),
                at: at(index + 2),
                power: Some(match exclusion {
                    None => PowerState::PoweredOn,
                    Some(_) => PowerState::PoweredOff,
                }),
                exclusion,
                cpus: Some(4),
                memory: Some(Mib(16_384)),
                provisioned: Some(Mib(size * 2)),
                used: if exclusion == Some(Exclusion::SrmPlaceholder) { Mib(0) } else { Mib(size) },
                used_source: if index % 50 == 7 {
                    UsedSource::DiskCapacity
                } else {
                    UsedSource::InUse
                },
                disk_capacity: Some(Mib(size * 2)),
                partition_consumed: Some(Mib(size * 9 / 10)),
                snapshots: Mib(0),
                largest_disk: Some(Mib(size)),
                disks: (0, 0),
                datastores: vec![DatastoreId(index % 11)],
                cluster: Some("PRD-01".into()),
                host: Some(HostId(index % 4)),
                os: Some("Microsoft Windows Server 2019 (64-bit)".into()),
                rules: Vec::new(),
                custom: Vec::new(),
            }
        })
        .collect();
    let step = |reason, capacity_counts| PopulationStep {
        reason,
        vms: vms.iter().filter(|vm| vm.exclusion == Some(reason)).count() as u64,
        used: vms.iter().filter(|vm| vm.exclusion == Some(reason)).map(|vm| vm.used).sum(),
        capacity_counts,
    };
    let counted = vms.iter().filter(|vm| vm.exclusion.is_none()).count() as u64;
    let population = Population {
        in_file: count.into(),
        steps: vec![
            step(Exclusion::SrmPlaceholder, false),
            step(Exclusion::Vcls, false),
            step(Exclusion::Template, true),
            step(Exclusion::PoweredOff, true),
        ],
        counted,
    };
    let sum = |get: fn(&Vm) -> Mib| vms.iter().map(get).sum::<Mib>().0;
    let totals = Totals {
        vms_in_file: count.into(),
        vms_counted: counted,
        templates: 9,
        powered_off: 19,
        disks: u64::from(count) * 2,
        datastores: 11,
        hosts: 4,
        provisioned_mib: sum(|vm| vm.provisioned.unwrap_or_default()),
        in_use_mib: sum(|vm| match vm.used_source {
            UsedSource::InUse => vm.used,
            _ => Mib(0),
        }),
        disk_capacity_mib: sum(|vm| vm.disk_capacity.unwrap_or_default()),
        partition_consumed_mib: sum(|vm| vm.partition_consumed.unwrap_or_default()),
        datastore_capacity_mib: 11 * 8_388_608,
        datastore_in_use_mib: 11 * 4_400_000,
    };
    Inventory {
        files: vec!["RVTools_export_all_2026-11-23.xlsx".to_owned()],
        vcenters: vec!["vc01.corp.example".into()],
        taken: Some(date(2026, 11, 23).at(6, 0, 0, 0)),
        taken_from: "from vMetaData".to_owned(),
        vms,
        datastores,
        hosts,
        clusters: vec![Cluster {
            name: "PRD-01".into(),
            hosts: (0..4).map(HostId).collect(),
            ha: Some(true),
        }],
        totals,
        population,
        findings: findings(),
        quality: quality(),
        ..Inventory::default()
    }
}

fn finding(id: &str, severity: FindingSeverity, fact: &str, advice: &str, rows: u64) -> Finding {
    Finding {
        id: id.to_owned(),
        severity,
        fact: fact.to_owned(),
        advice: advice.to_owned(),
        source: "vendor guidance, catalogue row of 2026-01-29".to_owned(),
        evidence: (0..rows.min(200))
            .map(|row| Evidence {
                file: "RVTools_export_all_2026-11-23.xlsx".to_owned(),
                tab: "vSnapshot".to_owned(),
                row: u32::try_from(row).unwrap_or(0) + 2,
                what: format!("app-{row:05}: 2 snapshots, 48 days, <b>12 GiB</b>"),
            })
            .collect(),
        evidence_total: rows,
    }
}

fn findings() -> Vec<Finding> {
    vec![
        finding(
            "disk-above-file-limit",
            FindingSeverity::Stops,
            "Disk 2 of file-arch-01 is 17.2 TiB; a file on this platform holds at most 16 TiB.",
            "Split it in the guest, or keep it on a block datastore.",
            1,
        ),
        finding(
            "snapshots-old",
            FindingSeverity::Care,
            "61 snapshots are older than 30 days and hold 3.4 TiB, counted from the export’s date.",
            "Deleting them lowers the need from 79.5 to 73.6 TiB.",
            61,
        ),
        finding(
            "mtu-below-9000",
            FindingSeverity::Care,
            "2 of 4 hosts have a storage VMkernel port with an MTU of 1500.",
            "Set 9000 on the port, its switch and the path, then check with vmkping.",
            2,
        ),
        finding(
            "secrets-redacted",
            FindingSeverity::Note,
            "Three annotations looked like passwords and were redacted.",
            "",
            3,
        ),
        finding("paths-alive", FindingSeverity::Passed, "No path is dead.", "", 0),
        finding("esxi-builds", FindingSeverity::Passed, "All hosts run one ESXi build.", "", 0),
    ]
}

fn quality() -> Vec<QualityCheck> {
    vec![
        QualityCheck {
            id: "vms-on-both".to_owned(),
            what: "VMs of vDisk are in vInfo".to_owned(),
            result: "all 268".to_owned(),
            ok: true,
        },
        QualityCheck {
            id: "in-use-datastores".to_owned(),
            what: "In use of VMs against in use on datastores".to_owned(),
            result: "43.1 against 46.2 TiB: 6.7% are not explained by VMs".to_owned(),
            ok: false,
        },
    ]
}

fn problems() -> Problems {
    let mut problems = Problems::default();
    for row in 0..140 {
        problems.push(Problem {
            severity: match row % 7 {
                0 => Severity::Error,
                1..=3 => Severity::Warning,
                _ => Severity::Note,
            },
            code: if row % 7 == 0 { "number-unreadable" } else { "column-unknown" }.to_owned(),
            file: "RVTools_export_all_2026-11-23.xlsx".to_owned(),
            tab: if row % 2 == 0 { "vInfo" } else { "vDisk" }.to_owned(),
            row: Some(row + 2),
            column: "In Use MiB".to_owned(),
            value: "=1+1 <i>n/a</i>".to_owned(),
            expected: "a whole number of MiB, such as 1,024".to_owned(),
            action: "the value was left out".to_owned(),
        });
    }
    problems
}

fn files(count: u32) -> Vec<InputFile> {
    vec![InputFile {
        name: "RVTools_export_all_2026-11-23.xlsx".to_owned(),
        sha256: "a3f071c288dea3f071c288dea3f071c288dea3f071c288dea3f071c288de0000".to_owned(),
        bytes: 63_963_136,
        kind: SourceKind::RvtoolsDisplay,
        reason: "sheet vInfo with the column VI SDK UUID, sizes headed MiB".to_owned(),
        tabs: vec![TabSummary {
            tab: "vInfo".to_owned(),
            found_as: "vInfo".to_owned(),
            rows: count.into(),
            custom_columns: Vec::new(),
            used: true,
        }],
    }]
}

fn class(id: &str, name: &str, iops: f64, mibps: f64, grade: EvidenceGrade) -> Class {
    Class {
        id: id.to_owned(),
        name: name.to_owned(),
        iops: Lognormal { median: iops, shape: 0.9 },
        mibps: Lognormal { median: mibps, shape: 0.8 },
        read_fraction: 0.7,
        block_kib: 8.0,
        correlation: 0.25,
        average_of_peak: 0.4,
        source: "published medians of the class, 2024".to_owned(),
        grade,
        rules: vec!["name matches the class".to_owned()],
        vms: 0,
        iops_p95: Iops(0.0),
        mibps_p95: MibPerSec(0.0),
    }
}

fn demand(inventory: &Inventory) -> Demand {
    let mut classes = vec![
        class("database", "Database", 1_900.0, 22.0, EvidenceGrade::B),
        class("application", "Application server", 420.0, 6.0, EvidenceGrade::C),
        class("unknown", "Unknown", 250.0, 4.0, EvidenceGrade::D),
    ];
    let mut vms = Vec::new();
    for (index, vm) in inventory.vms.iter().enumerate() {
        if vm.exclusion == Some(Exclusion::SrmPlaceholder) {
            continue;
        }
        let class = match index % 9 {
            0..=2 => 0,
            8 => 2,
            _ => 1,
        };
        let runs = vm.exclusion.is_none();
        let factor = match index {
            0 => 26.0,
            1 => 6.0,
            index => 0.7 + (index % 13) as f64 * 0.11,
        };
        let stream = if index == 1 { 60.0 } else { factor };
        let kind = &mut classes[class];
        if runs {
            kind.vms += 1;
            kind.iops_p95.0 += kind.iops.median * factor * 0.8;
            kind.mibps_p95.0 += kind.mibps.median * stream * 0.8;
        }
        let load = |median: f64, factor: f64| if runs { median * factor } else { 0.0 };
        vms.push(VmDemand {
            vm: VmId(u32::try_from(index).unwrap_or(0)),
            class: ClassId(u16::try_from(class).unwrap_or(0)),
            rule: 0,
            iops_p95: Iops(load(kind.iops.median, factor)),
            iops_mean: Iops(load(kind.iops.median, factor) * 0.4),
            mibps_p95: MibPerSec(load(kind.mibps.median, stream)),
            mibps_mean: MibPerSec(load(kind.mibps.median, stream) * 0.4),
            used: vm.used,
        });
    }
    let used: Mib = vms.iter().map(|vm| vm.used).sum();
    let load = |factor: f64| Load {
        iops_p95: Iops(260_000.0 * factor),
        iops_mean: Iops(150_000.0 * factor),
        mibps_p95: MibPerSec(3_150.0 * factor),
        mibps_mean: MibPerSec(1_800.0 * factor),
        read_fraction: 0.72,
        block_kib: 8.0,
        stream_block_kib: 64.0,
    };
    Demand {
        options: DemandOptions::default(),
        classes,
        vms,
        today: load(1.0),
        horizon: load(1.1),
        used_today: used.gib(),
        used_horizon: Gib(used.gib().0 * 1.18),
        provisioned_today: Gib(used.gib().0 * 2.0),
        vm_memory: Gib(4_000.0),
        grade: EvidenceGrade::C,
        separate: Vec::new(),
        assumptions: vec![
            assumption(
                "growth-load",
                "Growth of the load",
                "10% a year",
                "default",
                EvidenceGrade::D,
            ),
            assumption(
                "class-database",
                "Load of a database VM",
                "1,900 IOPS, 22 MiB/s (median)",
                "published medians of the class, 2024",
                EvidenceGrade::C,
            ),
        ],
    }
}

fn assumption(id: &str, what: &str, value: &str, source: &str, grade: EvidenceGrade) -> Assumption {
    Assumption {
        id: id.to_owned(),
        what: what.to_owned(),
        value: value.to_owned(),
        source: source.to_owned(),
        grade,
    }
}

/// The smooth minimum of four ceilings.
fn carried(
    hosts: f64,
    all_hosts: f64,
    datastores: f64,
    scale: f64,
    needed: f64,
    cap: Option<f64>,
) -> Carried {
    const POWER: f64 = 4.45;
    let ceilings = |hosts: f64| {
        [
            (Resource::Flow, hosts * datastores * 74_700.0 * scale),
            (Resource::Host, hosts * 206_100.0 * scale),
            (Resource::Volume, datastores * 160_600.0 * scale),
            (Resource::Pool, 490_000.0 * scale),
        ]
    };
    let blend = |hosts: f64| {
        ceilings(hosts).iter().map(|(_, one)| one.powf(-POWER)).sum::<f64>().powf(-1.0 / POWER)
    };
    let hardware = blend(hosts);
    let capped = |value: f64| cap.map_or(value, |cap| value.min(cap));
    let mut shares: Vec<(Resource, f64)> = ceilings(hosts)
        .iter()
        .map(|(resource, one)| (*resource, (one / hardware).powf(-POWER)))
        .collect();
    if cap.is_some_and(|cap| cap < hardware) {
        shares = vec![(Resource::Tier, 1.0)];
    }
    shares.sort_by(|one, other| other.1.total_cmp(&one.1));
    let low = capped(hardware * 0.835);
    let deviation = (needed / hardware).ln() / 0.1;
    Carried {
        p05: low,
        median: capped(hardware),
        p95: capped(hardware * 1.14),
        at_certainty: low,
        hardware: hardware * 0.835,
        median_no_failure: capped(blend(all_hosts)),
        probability: if cap.is_some_and(|cap| cap < needed) {
            0.0
        } else {
            1.0 / (1.0 + (1.7 * deviation).exp())
        },
        binding: shares[0].0,
        binding_share: shares[0].1,
        shares,
        hard_cap: cap,
        extrapolated: datastores > 8.0,
    }
}

fn plan(inventory: &Inventory, demand: &Demand) -> Plan {
    let (load_iops, load_mibps) = (demand.horizon.iops_p95.0, demand.horizon.mibps_p95.0);
    let (needed_iops, needed_mibps) = (load_iops * 1.2, load_mibps * 1.2);
    let frontier: Vec<FrontierPoint> = (1..=16u32)
        .map(|count| {
            let n = f64::from(count);
            let tib = (79.48 / n).ceil();
            let iops = carried(3.0, 4.0, n, 1.0, needed_iops, None);
            let mibps = carried(3.0, 4.0, n, 0.02, needed_mibps, Some(64.0 * tib * n));
            let feasible = iops.at_certainty >= needed_iops && mibps.at_certainty >= needed_mibps;
            FrontierPoint {
                datastores: count,
                datastore_size_gib: Gib(tib * 1024.0),
                pool_size_gib: Gib(tib * n * 1024.0),
                flows: 4 * count,
                iops,
                mibps,
                latency_ms: (count > 2).then_some(Milliseconds(0.94)),
                monthly_cost: Some(Money::usd(tib * n * 1024.0 * 0.294_19)),
                feasible,
                violations: if feasible {
                    Vec::new()
                } else {
                    vec!["337,000 of 343,000 IOPS at the 95% level".to_owned()]
                },
            }
        })
        .collect();
    let chosen = frontier.iter().find(|point| point.feasible).unwrap_or(&frontier[3]).clone();
    let datastores = chosen.datastores;
    let placements: Vec<Placement> = demand
        .vms
        .iter()
        .enumerate()
        .map(|(index, vm)| Placement {
            vm: vm.vm,
            datastore: u32::try_from(index).unwrap_or(0) % datastores,
            from: inventory.vms[vm.vm.0 as usize].datastores.first().copied(),
            moved: vm.used,
        })
        .skip(1)
        .collect();
    let capacity = (0..datastores)
        .map(|index| {
            let vms = placements.iter().filter(|one| one.datastore == index).count();
            PlannedDatastore {
                name: format!("plan-{:02}", index + 1),
                size_gib: chosen.datastore_size_gib,
                used_gib: Gib(45.8 * 1024.0 / f64::from(datastores) - f64::from(index) * 40.0),
                growth_gib: Gib(8.24 * 1024.0 / f64::from(datastores)),
                snapshot_gib: Gib(9.5 * 1024.0 / f64::from(datastores)),
                vms: u32::try_from(vms).unwrap_or(0),
                iops: Iops(73_100.0 - f64::from(index) * 900.0),
                mibps: MibPerSec(871.0 - f64::from(index) * 4.0),
            }
        })
        .collect();
    let moved: Mib = placements.iter().map(|one| one.moved).sum();
    Plan {
        options: PlanOptions::default(),
        platform: "azure-vmware-solution-av36-anf".to_owned(),
        platform_name: "Azure VMware Solution with Azure NetApp Files".to_owned(),
        model: "azure-vmware-solution-av36-anf".to_owned(),
        catalog_date: "2026-01-29".to_owned(),
        feasible: true,
        infeasible_because: Vec::new(),
        tier: "premium".to_owned(),
        tier_name: "Premium".to_owned(),
        qos: "auto".to_owned(),
        hosts: 4,
        datastores,
        datastore_size_gib: chosen.datastore_size_gib,
        pool_size_gib: chosen.pool_size_gib,
        monthly_cost: chosen.monthly_cost.clone(),
        price: Some(PriceBasis {
            region: "westeurope".to_owned(),
            region_name: "West Europe".to_owned(),
            hours_per_month: 730.0,
            usd_per_gib_hour: 0.000_403,
            usd_per_mibps_hour: None,
            provisioned_mibps: None,
            included_mibps: None,
            discount_pct: 0.0,
            date: "2026-01-29".to_owned(),
            source: "public price list of the provider".to_owned(),
        }),
        binding_resource: chosen.iops.binding,
        binding_quantity: Quantity::Iops,
        headroom_pct: (chosen.iops.at_certainty / load_iops - 1.0) * 100.0,
        load_iops: Iops(load_iops),
        needed_iops: Iops(needed_iops),
        load_mibps: MibPerSec(load_mibps),
        needed_mibps: MibPerSec(needed_mibps),
        needed_capacity_gib: Gib(79.48 * 1024.0),
        certainty: chosen.iops.probability.min(chosen.mibps.probability),
        by_hosts: [1u32, 2, 4, 8]
            .into_iter()
            .map(|hosts| HostCurve {
                hosts,
                points: (1..=8)
                    .map(|count| HostPoint {
                        datastores: count,
                        iops: carried(
                            hosts.into(),
                            hosts.into(),
                            count.into(),
                            1.0,
                            needed_iops,
                            None,
                        ),
                    })
                    .collect(),
            })
            .collect(),
        vm_ceiling_iops: Some(Iops(66_000.0)),
        vm_ceiling_mibps: Some(MibPerSec(1_510.0)),
        latency_ms: Some(Milliseconds(0.94)),
        latency_limit_ms: Some(Milliseconds(2.0)),
        ceilings: vec![Ceiling {
            resource: Resource::Pool,
            instances: Some(1.0),
            iops_each: Some(Iops(490_000.0)),
            mibps_each: None,
            iops: Some(Iops(490_000.0)),
            mibps: None,
        }],
        what_if: vec![
            WhatIf {
                load_change_pct: -25.0,
                plan_holds: true,
                load_carried: true,
                feasible: true,
                tier: "premium".to_owned(),
                datastores: 2,
                monthly_cost: Some(Money::usd(24_100.0)),
            },
            WhatIf {
                load_change_pct: 25.0,
                plan_holds: false,
                load_carried: true,
                feasible: false,
                tier: String::new(),
                datastores: 0,
                monthly_cost: None,
            },
        ],
        frontier,
        tiers: tiers(),
        runner_up: Some(
            "Flexible with 4 datastores at 25,882 USD a month: 1,782 more, because throughput is \
             bought apart from size."
                .to_owned(),
        ),
        sensitivities: sensitivities(),
        flow_budget: FlowBudget {
            hosts: 4,
            target_ips: 2,
            datastores_per_ip: vec![2, 2],
            max_connections_per_ip: 4,
            nconnect: 1,
            flows_per_host: 4,
            flows: 16,
            flows_with_failure: 12,
            shared: false,
            settings: vec![
                HostSetting {
                    name: "SunRPC.MaxConnPerIP".to_owned(),
                    default: "4".to_owned(),
                    plan: "4".to_owned(),
                    why: "Enough for 4 datastores per address. From the fifth on, mounts share."
                        .to_owned(),
                },
                HostSetting {
                    name: "NFS.MaxVolumes".to_owned(),
                    default: "32".to_owned(),
                    plan: "64".to_owned(),
                    why: "15 datastores stay mounted during the move.".to_owned(),
                },
            ],
        },
        capacity,
        unplaced: vec![(
            VmId(0),
            "disk 2 of 17.2 TiB is above the file limit of 16 TiB".to_owned(),
        )],
        placements,
        moved_gib: moved.gib(),
        striping: vec![
            StripingAdvice {
                vm: VmId(0),
                reason: "49,400 IOPS with growth and headroom 65,200; one datastore gives 66,000"
                    .to_owned(),
                vmdks: 2,
                datastores: 2,
                caveat: "Freeze the guest before a snapshot of several disks.".to_owned(),
            },
            StripingAdvice {
                vm: VmId(1),
                reason: "1,320 MiB/s with growth and headroom 1,740; one datastore gives 1,510"
                    .to_owned(),
                vmdks: 2,
                datastores: 2,
                caveat: "Freeze the guest before a snapshot of several disks.".to_owned(),
            },
        ],
        derivation: derivation(),
        tco: Some(tco()),
        grade: EvidenceGrade::C,
        assumptions: vec![
            assumption("headroom", "Headroom", "20%", "default", EvidenceGrade::D),
            assumption(
                "pool-ceiling",
                "Ceiling of the pool",
                "490,000 IOPS",
                "one published point; no upper bound",
                EvidenceGrade::C,
            ),
        ],
        remarks: vec![
            "The pool’s ceiling rests on a single published measurement; measure it first."
                .to_owned(),
        ],
    }
}

fn tier(id: &str, name: &str, pool: f64, cap: f64, cost: f64, sized_by: &str) -> TierOption {
    TierOption {
        tier: id.to_owned(),
        name: name.to_owned(),
        qos: "auto".to_owned(),
        datastores: 4,
        pool_size_gib: Gib(pool * 1024.0),
        cap_mibps: Some(MibPerSec(cap)),
        monthly_cost: Some(Money::usd(cost)),
        feasible: true,
        sized_by: sized_by.to_owned(),
        note: String::new(),
    }
}

fn tiers() -> Vec<TierOption> {
    vec![
        tier("standard", "Standard", 260.0, 4_160.0, 39_260.0, "throughput"),
        tier("premium", "Premium", 80.0, 5_120.0, 24_100.0, "capacity"),
        tier("ultra", "Ultra", 80.0, 10_240.0, 32_173.0, "capacity"),
        tier("flexible", "Flexible", 80.0, 4_158.0, 25_882.0, "both"),
    ]
}

fn sensitivities() -> Vec<Sensitivity> {
    let one = |assumption: &str, unit: &str, value, low, high, margins: (f64, f64), flips| {
        let (smaller_at, fails_at) = flips;
        Sensitivity {
            assumption: assumption.to_owned(),
            unit: unit.to_owned(),
            of: MarginOf::Performance,
            value,
            low,
            high,
            margin_low_pct: margins.0,
            margin_high_pct: margins.1,
            fails_at,
            smaller_at,
        }
    };
    vec![
        one("Headroom asked", "%", 20.0, 10.0, 30.0, (13.8, -3.7), (Some(17.8), Some(25.2))),
        one("Hosts that may fail", "", 1.0, 0.0, 2.0, (6.6, -10.3), (Some(0.0), Some(2.0))),
        one(
            "Block of the random load",
            "KiB",
            8.0,
            6.0,
            10.0,
            (12.9, -3.4),
            (Some(7.7), Some(9.1)),
        ),
        one("Load of unmeasured VMs", "×", 1.0, 0.8, 1.25, (11.2, -3.2), (Some(0.94), None)),
        one("Growth of the load", "% a year", 10.0, 5.0, 20.0, (9.3, -4.4), (None, Some(14.7))),
        one("Share of reads", "%", 72.0, 60.0, 85.0, (1.0, 7.0), (Some(81.0), Some(56.0))),
    ]
}

fn derivation() -> Vec<DerivationStep> {
    let step = |what: &str, formula: &str, result: &str| DerivationStep {
        what: what.to_owned(),
        formula: formula.to_owned(),
        result: result.to_owned(),
    };
    vec![
        step("Load in twelve months", "260,000 × 1.10", "286,000 IOPS"),
        step("Needed: the load plus headroom", "286,000 × (1 + 0.20)", "343,200 IOPS"),
        step("Capacity needed", "45.80 × 1.18 / (1 − 0.15) / (1 − 0.20)", "79.5 TiB"),
        step(
            "Ceilings with one host down",
            "flow 12 × 74,700 = 896,400 · host 3 × 206,100 = 618,300 · volume 4 × 160,600 = \
             642,400 · pool 1 × 490,000",
            "490,000 IOPS the lowest",
        ),
        step("Price", "80 TiB · 1,024 · 0.29419 USD per GiB and month", "24,100 USD a month"),
    ]
}

fn tco() -> Tco {
    Tco {
        host_type: "AV36".to_owned(),
        hosts_without: 12,
        hosts_with: 4,
        hosts_by: [4, 3, 12],
        monthly_without: Money::usd(78_840.0),
        monthly_with: Money::usd(51_500.0),
        parts: vec![
            ("hosts".to_owned(), Money::usd(26_280.0)),
            ("storage".to_owned(), Money::usd(24_100.0)),
            ("gateway".to_owned(), Money::usd(1_120.0)),
        ],
        saving_pct: 34.7,
        source: "public price list of the provider, 29 January 2026".to_owned(),
        notes: Vec::new(),
    }
}
