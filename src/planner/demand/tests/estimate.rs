//! Demands of small inventories against numbers worked out by hand.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::cast_precision_loss,
    clippy::print_stdout
)]

use std::time::Instant;

use plimsoll_demand::{Demand, DemandOptions, Error, PerVmOverride, estimate, rules_text};
use plimsoll_ingest::rows::{RowRef, Text};
use plimsoll_inventory::{
    Datastore, DatastoreId, DatastoreKind, Disk, Exclusion, Inventory, UsedSource, Vm, VmId, VmIds,
};
use plimsoll_units::{EvidenceGrade, Iops, Mib};

const GIB: u64 = 1024;

/// A running VM with 4 vCPUs, 8 GiB of memory, 200 GiB provisioned and 100 GiB used.
fn vm(name: &str) -> Vm {
    Vm {
        name: Text::from(name),
        key: format!("name:{name}"),
        ids: VmIds::default(),
        at: RowRef { file: 0, row: 2 },
        power: None,
        exclusion: None,
        cpus: Some(4),
        memory: Some(Mib(8 * GIB)),
        provisioned: Some(Mib(200 * GIB)),
        used: Mib(100 * GIB),
        used_source: UsedSource::InUse,
        disk_capacity: Some(Mib(200 * GIB)),
        partition_consumed: None,
        snapshots: Mib(0),
        largest_disk: Some(Mib(200 * GIB)),
        disks: (0, 0),
        datastores: Vec::new(),
        cluster: None,
        host: None,
        os: None,
        rules: Vec::new(),
        custom: Vec::new(),
    }
}

fn excluded(name: &str, reason: Exclusion) -> Vm {
    Vm { exclusion: Some(reason), ..vm(name) }
}

fn site(vms: Vec<Vm>) -> Inventory {
    Inventory { vms, ..Inventory::default() }
}

fn disk(owner: u32, gib: u64) -> Disk {
    Disk {
        vm: VmId(owner),
        at: RowRef { file: 0, row: 2 },
        label: Text::from("Hard disk 1"),
        capacity: Mib(gib * GIB),
        datastore: None,
        raw: false,
        shared: false,
        duplicate: false,
        thin: None,
    }
}

fn datastore(name: &str, tier: Option<&str>) -> Datastore {
    Datastore {
        name: Text::from(name),
        key: format!("name:{name}"),
        at: Vec::new(),
        kind: DatastoreKind::Nfs,
        address: None,
        nfs_server: None,
        accessible: true,
        local: false,
        capacity: None,
        provisioned: None,
        in_use: None,
        free: None,
        hosts: Vec::new(),
        pod: None,
        tier_hint: tier.map(str::to_owned),
        vms: Vec::new(),
    }
}

fn demand(inventory: &Inventory) -> Demand {
    estimate(inventory, None, &DemandOptions::default()).unwrap()
}

fn with_rules(inventory: &Inventory, rules: &str) -> Result<Demand, Error> {
    let options = DemandOptions { rules_toml: Some(rules.to_owned()), ..DemandOptions::default() };
    estimate(inventory, None, &options)
}

/// Class id and rule of a VM.
fn class_of(demand: &Demand, index: usize) -> (&str, &str) {
    let vm = &demand.vms[index];
    let class = &demand.classes[vm.class.0 as usize];
    (&class.id, &class.rules[vm.rule as usize])
}

fn close(a: f64, b: f64, relative: f64) {
    assert!((a / b - 1.0).abs() <= relative, "{a} against {b}");
}

#[test]
fn names_systems_sizes_and_tiers_decide_the_class() {
    let on = |name: &str, store: u32| Vm { datastores: vec![DatastoreId(store)], ..vm(name) };
    let os = |name: &str, os: &str| Vm { os: Some(Text::from(os)), ..vm(name) };
    let cases = [
        (vm("CRESTDB01"), "sql-oltp"),
        (vm("sample-db-01"), "sql-oltp"),
        (Vm { cpus: Some(16), memory: Some(Mib(128 * GIB)), ..vm("PRDSQL07") }, "sql-large"),
        (Vm { cpus: Some(16), memory: None, ..vm("PRDSQL08") }, "sql-oltp"),
        (vm("EXCHAP01"), "exchange"),
        (vm("ADDSDC02"), "infrastructure"),
        (vm("wadfs1"), "infrastructure"),
        (vm("IISAP01"), "web"),
        (vm("web-server-01"), "web"),
        (vm("hana-prd"), "sap-hana"),
        (vm("tomcat3"), "middleware"),
        (os("LEVACCDT", "Microsoft Windows 7 (64-bit)"), "vdi"),
        (os("box", "Ubuntu Linux (64-bit)"), "linux"),
        (Vm { cpus: Some(24), ..vm("huge") }, "generic-large"),
        (on("quiet", 0), "tier-low"),
        (on("busy", 1), "tier-busy"),
        (vm("something"), "generic"),
    ];
    let (vms, expected): (Vec<Vm>, Vec<&str>) = cases.into_iter().unzip();
    let inventory = Inventory {
        datastores: vec![
            datastore("VOLUME01-0.25IOPS", Some("0.25 IOPS/GB")),
            datastore("VOLUME02-4IOPS", Some("4 IOPS/GB")),
        ],
        ..site(vms)
    };
    let demand = demand(&inventory);
    for (index, expected) in expected.into_iter().enumerate() {
        assert_eq!(class_of(&demand, index).0, expected, "{}", inventory.vms[index].name);
    }
    assert_eq!(class_of(&demand, 0), ("sql-oltp", "named after a database"));
}

#[test]
fn user_rules_come_first_and_may_look_at_attributes_and_datastores() {
    let mut first = vm("prdsql01");
    first.custom = vec![(Text::from("Role"), Text::from("Front End"))];
    let inventory = Inventory {
        datastores: vec![datastore("gold-01", None)],
        ..site(vec![first, Vm { datastores: vec![DatastoreId(0)], ..vm("x") }, vm("prdsql02")])
    };
    let rules = r#"
        [[class]]
        id = "gold"
        iops = 900
        mibps = 30
        [[rule]]
        class = "web"
        why = "role attribute"
        attribute = { key = "role", value = ["*front*"] }
        [[rule]]
        class = "gold"
        datastore = ["gold-*"]
    "#;
    let demand = with_rules(&inventory, rules).unwrap();
    assert_eq!(class_of(&demand, 0), ("web", "role attribute"));
    assert_eq!(class_of(&demand, 1), ("gold", "your rule 2"));
    assert_eq!(class_of(&demand, 2).0, "sql-oltp");
    close(demand.vms[1].iops_mean.0, 0.7 * 900.0, 1e-12);
}

#[test]
fn wrong_rules_are_refused_with_the_entry_named() {
    let error = with_rules(&site(vec![]), "[[rule]]\nclass = \"nope\"").unwrap_err().to_string();
    assert!(error.starts_with("class rules, rule 1 (class `nope`): no such class"), "{error}");
}

#[test]
fn editing_the_built_in_text_is_the_same_as_not_giving_it() {
    let inventory = site(vec![vm("sql1"), vm("web-1")]);
    let edited = with_rules(&inventory, rules_text()).unwrap();
    assert_eq!(edited.classes, demand(&inventory).classes);
}

#[test]
fn one_vm_by_hand() {
    // Generic: planning peak 50, average 35, shape 1.2:
    // median 35 exp(-0.72) = 17.036, 95th percentile 17.036 exp(1.645 x 1.2) = 122.64.
    let demand = demand(&site(vec![vm("x")]));
    close(demand.today.iops_mean.0, 35.0, 1e-12);
    close(demand.today.iops_p95.0, 122.64, 1e-3);
    close(demand.vms[0].iops_p95.0, 122.64, 1e-3);
    // One year at 10 %.
    close(demand.horizon.iops_p95.0, 1.1 * demand.today.iops_p95.0, 1e-12);
    // IOPS and MiB/s are separate: 2.25 MiB/s, not 50 x 8 KiB = 0.39.
    close(demand.today.mibps_mean.0, 0.7 * 2.25, 1e-12);
}

#[test]
fn a_thousand_vms_by_hand() {
    // 1,000 of the generic class: mean 35,000; variance of one 1225 (exp(1.44) - 1) = 3,945.3;
    // covariance 1225 (exp(0.25 x 0.2334^2) - 1) = 16.796;
    // sqrt(1000 x 3945.3 + 999,000 x 16.796) = 4,553; 35,000 + 1.645 x 4,553 = 42,489.
    let demand = demand(&site((0..1_000).map(|index| vm(&format!("x{index}y"))).collect()));
    close(demand.today.iops_mean.0, 35_000.0, 1e-12);
    close(demand.today.iops_p95.0, 42_489.0, 1e-3);
    assert!(demand.today.iops_p95.0 < 1_000.0 * demand.vms[0].iops_p95.0);
    assert_eq!(demand.today.block_kib, 8.0);
}

#[test]
fn more_correlation_means_more_to_carry() {
    let inventory = site((0..400).map(|index| vm(&format!("x{index}y"))).collect());
    let p95 = |correlation: f64| {
        let options = DemandOptions { correlation, ..DemandOptions::default() };
        estimate(&inventory, None, &options).unwrap().today.iops_p95.0
    };
    assert!(p95(0.0) < p95(0.25) && p95(0.25) < p95(1.0));
}

#[test]
fn excluded_vms_count_for_space_only_and_placeholders_not_at_all() {
    let inventory = site(vec![
        vm("a"),
        excluded("b", Exclusion::PoweredOff),
        excluded("c", Exclusion::Template),
        excluded("d", Exclusion::SrmPlaceholder),
    ]);
    let demand = demand(&inventory);
    assert_eq!(demand.vms.iter().map(|vm| vm.vm.0).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(demand.vms[1].iops_mean, Iops(0.0));
    assert_eq!(demand.used_today.0, 300.0);
    close(demand.used_horizon.0, 354.0, 1e-12);
    assert_eq!(demand.provisioned_today.0, 600.0);
    assert_eq!(demand.vm_memory.0, 8.0);
    close(demand.today.iops_mean.0, 35.0, 1e-12);
    let options = DemandOptions { include_powered_off: true, ..DemandOptions::default() };
    let with_off = estimate(&inventory, None, &options).unwrap();
    close(with_off.today.iops_mean.0, 70.0, 1e-12);
    assert_eq!(with_off.vm_memory.0, 16.0);
}

#[test]
fn raw_and_shared_disks() {
    let by_disks = |first: u32, last: u32, gib: u64| Vm {
        disks: (first, last),
        used: Mib(gib * GIB),
        used_source: UsedSource::DiskCapacity,
        ..vm("n")
    };
    let inventory = Inventory {
        disks: vec![
            disk(0, 50),
            Disk { raw: true, ..disk(0, 500) },
            Disk { shared: true, ..disk(0, 80) },
            disk(1, 40),
            Disk { shared: true, duplicate: true, ..disk(1, 80) },
        ],
        ..site(vec![by_disks(0, 3, 630), by_disks(3, 5, 120)])
    };
    // 50 + 80 and 40: the mapped LUN is elsewhere, the shared disk counts once.
    assert_eq!(demand(&inventory).used_today.0, 170.0);
}

#[test]
fn stated_averages_replace_the_classes() {
    let inventory = site((0..100).map(|index| vm(&format!("sql{index}"))).collect());
    let stated = PerVmOverride { iops: Some(Iops(120.0)), mibps: None };
    let demand = estimate(&inventory, Some(stated), &DemandOptions::default()).unwrap();
    assert_eq!(demand.classes.len(), 1);
    close(demand.today.iops_mean.0, 100.0 * 0.7 * 120.0, 1e-12);
    // MiB/s are not stated: those of a VM of which nothing is known.
    close(demand.today.mibps_mean.0, 100.0 * 0.7 * 2.25, 1e-12);
    assert_eq!(demand.grade, EvidenceGrade::D);
    let wrong = PerVmOverride { iops: Some(Iops(f64::NAN)), mibps: None };
    assert!(estimate(&inventory, Some(wrong), &DemandOptions::default()).is_err());
}

#[test]
fn every_class_in_use_is_an_assumption_with_its_source() {
    let demand = demand(&site(vec![vm("sql1"), vm("x"), excluded("t", Exclusion::Template)]));
    for class in &demand.classes {
        let id = format!("class-{}", class.id);
        let found = demand.assumptions.iter().find(|assumption| assumption.id == id).unwrap();
        assert_eq!((&found.source, found.grade), (&class.source, class.grade));
    }
    let sql =
        demand.assumptions.iter().find(|assumption| assumption.id == "class-sql-oltp").unwrap();
    assert_eq!(sql.value, "500 IOPS of 8 KiB, 9.4 MiB/s, 70 % reads");
    assert!(demand.assumptions.iter().any(|assumption| assumption.what.starts_with("templates")));
    assert!(demand.assumptions.iter().all(|assumption| !assumption.source.is_empty()));
}

#[test]
fn grade_is_the_weakest_of_classes_that_matter() {
    // Web servers (C) with one machine of an assumed class (D) that is under 5 % of the load.
    let mut vms: Vec<Vm> = (0..300).map(|index| vm(&format!("web{index}"))).collect();
    assert_eq!(demand(&site(vms.clone())).grade, EvidenceGrade::C);
    vms.push(vm("x"));
    assert_eq!(demand(&site(vms.clone())).grade, EvidenceGrade::C);
    vms.extend((0..100).map(|index| vm(&format!("x{index}y"))));
    assert_eq!(demand(&site(vms)).grade, EvidenceGrade::D);
}

#[test]
fn drs_rules_and_separate_entries_keep_vms_apart() {
    let ruled = |name: &str| Vm { rules: vec![Text::from("Separate DCs")], ..vm(name) };
    let inventory = site(vec![ruled("dc1"), vm("web-01"), ruled("dc2"), vm("web-02"), vm("web")]);
    let groups = demand(&inventory).separate;
    assert_eq!(groups.len(), 1, "numbers alone separate nothing");
    assert_eq!(
        (groups[0].why.as_str(), &groups[0].vms),
        ("DRS rule Separate DCs", &vec![VmId(0), VmId(2)])
    );
    let rules = "[[separate]]\nname = [\"web*\"]\nwhy = \"cluster nodes\"";
    let groups = with_rules(&inventory, rules).unwrap().separate;
    assert_eq!(
        (groups[1].why.as_str(), &groups[1].vms),
        ("cluster nodes: web-", &vec![VmId(1), VmId(3)])
    );
}

#[test]
fn options_out_of_range_are_refused() {
    for options in [
        DemandOptions { correlation: 1.5, ..DemandOptions::default() },
        DemandOptions { load_growth_pct_per_year: f64::NAN, ..DemandOptions::default() },
        DemandOptions { horizon_months: 9_000, ..DemandOptions::default() },
    ] {
        assert!(estimate(&site(vec![]), None, &options).is_err(), "{options:?}");
    }
}

#[test]
fn nothing_in_the_file_is_no_load() {
    let demand = demand(&site(vec![]));
    assert_eq!((demand.today.iops_p95.0, demand.used_today.0), (0.0, 0.0));
    assert_eq!(demand.grade, EvidenceGrade::A);
}

#[test]
fn load_of_some_vms_is_that_of_the_whole_when_all_are_asked() {
    let vms = (0..300).map(|index| vm(&format!("{}{index}", ["sql", "x-"][index % 2]))).collect();
    let demand = demand(&site(vms));
    let all: Vec<u64> = demand.classes.iter().map(|class| class.vms).collect();
    let (iops, mibps) = demand.p95_of(&all);
    close(iops.0, demand.today.iops_p95.0, 1e-9);
    close(mibps.0, demand.today.mibps_p95.0, 1e-9);
}

#[test]
fn same_input_same_bytes_and_fast() {
    let names = ["sql", "web-", "x", "dc", "hana", "srv-app-", "exch", "nginx", "file", "vdi-"];
    let os = ["Microsoft Windows Server 2016 (64-bit)", "Ubuntu Linux (64-bit)"];
    let vms = (0..100_000)
        .map(|index| Vm {
            os: Some(Text::from(os[index % 2])),
            ..vm(&format!("{}{index}", names[index % names.len()]))
        })
        .collect();
    let inventory = site(vms);
    let started = Instant::now();
    let first = demand(&inventory);
    let took = started.elapsed();
    println!("100,000 VMs: {took:?}");
    assert!(took.as_millis() < 500, "{took:?}");
    let bytes = |demand: &Demand| serde_json::to_vec(demand).unwrap();
    assert_eq!(bytes(&first), bytes(&demand(&inventory)));
}
