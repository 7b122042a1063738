//! The demand of an inventory.

use std::collections::BTreeMap;

use plimsoll_inventory::{Exclusion, Inventory, Vm, VmId};
use plimsoll_units::{EvidenceGrade, Gib, Iops, Mib, MibPerSec};

use crate::assumed::{self, Fleet};
use crate::capacity;
use crate::error::Error;
use crate::matcher::Matcher;
use crate::measured::{self, AlignedSum, MeasuredLoad, MeasuredVm};
use crate::rules::{self, ClassNumbers, RuleSet};
use crate::separate;
use crate::sum::{self, Cohort};
use crate::types::{Class, ClassId, Demand, DemandOptions, Load, Lognormal, VmDemand};

/// Load of one VM as stated by the user for the whole fleet; what is `None` comes from the classes'
/// default. Both are planning peaks: the fleet's average of each VM's own 95th percentile.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PerVmOverride {
    /// IOPS of one VM.
    pub iops: Option<Iops>,
    /// MiB/s of one VM.
    pub mibps: Option<MibPerSec>,
}

/// What the datastores have to carry: classes, load today and at the horizon, and space.
///
/// # Errors
/// When an option is out of range, or the rules in `options.rules_toml` are wrong; the message says
/// which entry and what is expected.
pub fn estimate(
    inventory: &Inventory,
    stated: Option<PerVmOverride>,
    options: &DemandOptions,
) -> Result<Demand, Error> {
    make(inventory, stated, None, options)
}

/// The same with measured load in the place of class defaults, for the VMs that have it.
///
/// # Errors
/// As [`estimate`].
pub fn estimate_measured(
    inventory: &Inventory,
    measured: &MeasuredLoad,
    options: &DemandOptions,
) -> Result<Demand, Error> {
    make(inventory, None, Some(measured), options)
}

fn make(
    inventory: &Inventory,
    stated: Option<PerVmOverride>,
    measured: Option<&MeasuredLoad>,
    options: &DemandOptions,
) -> Result<Demand, Error> {
    check(options)?;
    let mut set = rules::load(options.rules_toml.as_deref())?;
    if let Some(stated) = stated.filter(|stated| stated.iops.is_some() || stated.mibps.is_some()) {
        put_stated_first(&mut set, stated)?;
    }
    let mut members = classify(inventory, &set, options);
    let found = measured.map(|measured| put_measured(&mut set, &mut members, measured));
    let counted = Counted::new(&set, &members);
    let (classes, loads, mut today) = add_up(&set, &counted, options);
    if let (Some(measured), Some(found)) = (measured, &found) {
        take_measured_sums(&mut today, measured, found, &members, &set, &counted, options);
    }
    let vms: Vec<VmDemand> = members
        .iter()
        .map(|member| {
            let used_class = counted.place_of_class[set.rules[member.rule].class];
            let mut load = if member.loads { loads[used_class] } else { OneVm::default() };
            if let Some(vm) = member.measured.zip(measured).map(|(at, all)| &all.vms[at]) {
                load.take(vm);
            }
            VmDemand {
                vm: member.vm,
                class: ClassId(to_u16(used_class)),
                rule: counted.place_of_rule[member.rule],
                iops_p95: Iops(load.iops_p95),
                iops_mean: Iops(load.iops_mean),
                mibps_p95: MibPerSec(load.mibps_p95),
                mibps_mean: MibPerSec(load.mibps_mean),
                used: member.used,
            }
        })
        .collect();
    let growth = capacity::growth(options.load_growth_pct_per_year, options.horizon_months);
    let horizon = Load {
        iops_p95: Iops(today.iops_p95.0 * growth),
        iops_mean: Iops(today.iops_mean.0 * growth),
        mibps_p95: MibPerSec(today.mibps_p95.0 * growth),
        mibps_mean: MibPerSec(today.mibps_mean.0 * growth),
        ..today
    };
    let of = |member: &Member| &inventory.vms[member.vm.0 as usize];
    let used_today: Gib = members.iter().map(|member| member.used).sum::<Mib>().gib();
    let provisioned: Mib =
        members.iter().map(|member| capacity::provisioned(of(member), member.used)).sum();
    let loading = || members.iter().filter(|member| member.loads);
    let memory: Mib = loading().filter_map(|member| of(member).memory).sum();
    let fleet = Fleet {
        vms: counted.by_class.iter().sum(),
        cpus: loading().filter_map(|member| of(member).cpus).map(u64::from).sum(),
        used_gib: used_today.0,
        load: today,
    };
    let mut assumptions = assumed::list(inventory, options, &classes, &fleet);
    if let (Some(measured), Some(found)) = (measured, &found) {
        assumptions.insert(0, assumed::measured(measured, found.vms, fleet.vms));
    }
    Ok(Demand {
        assumptions,
        grade: assumed::overall_grade(&classes, &today),
        separate: separate::groups(inventory, vms.iter().map(|vm| vm.vm), &set.separate),
        options: options.clone(),
        classes,
        vms,
        today,
        horizon,
        used_today,
        used_horizon: capacity::at_horizon(used_today, options),
        provisioned_today: provisioned.gib(),
        vm_memory: memory.gib(),
    })
}

fn check(options: &DemandOptions) -> Result<(), Error> {
    let ranges = [
        (
            "capacity_growth_pct_per_year",
            options.capacity_growth_pct_per_year,
            -99.0,
            1_000.0,
            "from -99 to 1000 percent",
        ),
        (
            "load_growth_pct_per_year",
            options.load_growth_pct_per_year,
            -99.0,
            1_000.0,
            "from -99 to 1000 percent",
        ),
        ("horizon_months", f64::from(options.horizon_months), 0.0, 240.0, "from 0 to 240 months"),
        ("correlation", options.correlation, 0.0, 1.0, "from 0 to 1"),
    ];
    for (name, value, min, max, expected) in ranges {
        if !(min..=max).contains(&value) {
            return Err(Error::Option { name, value, expected });
        }
    }
    Ok(())
}

/// Makes one class of what the user states, before every rule.
fn put_stated_first(set: &mut RuleSet, stated: PerVmOverride) -> Result<(), Error> {
    for (name, value) in [
        ("iops per VM", stated.iops.map(|rate| rate.0)),
        ("MiB/s per VM", stated.mibps.map(|rate| rate.0)),
    ] {
        if let Some(value) = value.filter(|value| !(0.0..=1e7).contains(value)) {
            return Err(Error::Option { name, value, expected: "from 0 to 10 million" });
        }
    }
    // The last rule is the one for VMs of which nothing is known.
    let Some(default) = set.rules.last().map(|rule| set.classes[rule.class].clone()) else {
        return Ok(());
    };
    let both = stated.iops.is_some() && stated.mibps.is_some();
    let source = match (stated.iops, stated.mibps) {
        (Some(_), Some(_)) => "stated by you as an average over the fleet".to_owned(),
        (Some(_), None) => {
            format!("IOPS stated by you as an average over the fleet; MiB/s: {}", default.source)
        }
        _ => format!("MiB/s stated by you as an average over the fleet; IOPS: {}", default.source),
    };
    set.classes.push(ClassNumbers {
        id: "stated".to_owned(),
        name: "As stated, averaged over the fleet".to_owned(),
        iops: stated.iops.map_or(default.iops, |rate| rate.0),
        mibps: stated.mibps.map_or(default.mibps, |rate| rate.0),
        source,
        grade: if both { EvidenceGrade::A } else { default.grade },
        ..default
    });
    let class = set.classes.len() - 1;
    let why = "load per VM stated for the whole fleet".to_owned();
    set.rules.insert(0, rules::Rule { class, conditions: rules::Conditions::default(), why });
    Ok(())
}

/// A VM whose space counts.
struct Member {
    vm: VmId,
    /// Index into the rules.
    rule: usize,
    /// Whether it causes load.
    loads: bool,
    used: Mib,
    /// Index into [`MeasuredLoad::vms`], when it was measured and causes load.
    measured: Option<usize>,
}

/// What of the measurements counts.
struct Found {
    /// VMs measured that cause load.
    vms: u64,
    /// All VMs measured are among them, so that the measured sums are theirs.
    all: bool,
}

/// Gives measured VMs classes of their own, by bands of their mean.
fn put_measured(set: &mut RuleSet, members: &mut [Member], measured: &MeasuredLoad) -> Found {
    let mut bands: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, member) in members.iter_mut().enumerate().filter(|(_, member)| member.loads) {
        let found = measured.vms.binary_search_by_key(&member.vm, |measured| measured.vm);
        if let Ok(index) = found {
            member.measured = Some(index);
            bands.entry(measured::band(measured.vms[index].iops.mean)).or_default().push(at);
        }
    }
    let found: usize = bands.values().map(Vec::len).sum();
    let rates = || measured.vms.iter().map(|vm| vm.iops);
    let correlation = measured.iops.map(|sum| measured::correlation(&sum, rates()));
    for (band, places) in bands {
        let band_members: Vec<measured::Member<'_>> = places
            .iter()
            .filter_map(|&place| {
                let vm = &measured.vms[members[place].measured?];
                let by_rules = &set.classes[set.rules[members[place].rule].class];
                let of_class = by_rules.mibps * by_rules.average_of_peak;
                let mibps_mean = vm.mibps.map_or(of_class, |rate| rate.mean);
                Some(measured::Member { vm, mibps_mean, by_rules })
            })
            .collect();
        let class = measured::class(band, &band_members, correlation, &measured.source);
        set.classes.push(class);
        let why = "measured".to_owned();
        let class = set.classes.len() - 1;
        set.rules.push(rules::Rule { class, conditions: rules::Conditions::default(), why });
        for place in places {
            members[place].rule = set.rules.len() - 1;
        }
    }
    Found { vms: found as u64, all: found == measured.vms.len() }
}

/// Puts the percentile of the measured sum in the place of what the formula says of the same VMs.
fn take_measured_sums(
    today: &mut Load,
    measured: &MeasuredLoad,
    found: &Found,
    members: &[Member],
    set: &RuleSet,
    counted: &Counted,
    options: &DemandOptions,
) {
    let mut by_class = vec![0_u64; counted.used.len()];
    for member in members.iter().filter(|member| member.measured.is_some()) {
        by_class[counted.place_of_class[set.rules[member.rule].class]] += 1;
    }
    let formula = |peak: fn(&ClassNumbers) -> f64| {
        let cohorts = cohorts(set, counted, options, peak);
        sum::p95(&cohorts, &by_class, options.seed)
    };
    // A sum over other VMs than these says nothing of these.
    let whole = |sum: &&AlignedSum| found.all && sum.vms == found.vms;
    if let Some(sum) = measured.iops.as_ref().filter(whole) {
        let p95 = today.iops_p95.0 + sum.p95 - formula(|class| class.iops);
        today.iops_p95 = Iops(p95.max(today.iops_mean.0));
    }
    if let Some(sum) = measured.mibps.as_ref().filter(whole) {
        let p95 = today.mibps_p95.0 + sum.p95 - formula(|class| class.mibps);
        today.mibps_p95 = MibPerSec(p95.max(today.mibps_mean.0));
    }
}

fn classify(inventory: &Inventory, set: &RuleSet, options: &DemandOptions) -> Vec<Member> {
    let mut matcher = Matcher::new(set, inventory);
    let numbered = (0..).map(VmId).zip(&inventory.vms);
    numbered
        .filter(|(_, vm)| capacity::counts(inventory, vm))
        .map(|(id, vm)| Member {
            vm: id,
            rule: matcher.rule_of(vm),
            loads: loads(vm, options),
            used: capacity::used(inventory, vm),
            measured: None,
        })
        .collect()
}

fn loads(vm: &Vm, options: &DemandOptions) -> bool {
    match vm.exclusion {
        None => true,
        Some(Exclusion::PoweredOff) => options.include_powered_off,
        Some(_) => false,
    }
}

/// Classes and rules in use.
struct Counted {
    /// Classes that have a member, in the order of the table.
    used: Vec<usize>,
    /// For each class of the table, its place in `used` (0 when it has no member).
    place_of_class: Vec<usize>,
    /// For each rule, its place among the rules in use of its class.
    place_of_rule: Vec<u16>,
    /// Why texts of the rules in use, by place in `used`.
    rules_by_class: Vec<Vec<String>>,
    /// VMs that cause load, by place in `used`.
    by_class: Vec<u64>,
}

impl Counted {
    fn new(set: &RuleSet, members: &[Member]) -> Self {
        let mut by_rule = vec![(0_u64, 0_u64); set.rules.len()];
        for member in members {
            by_rule[member.rule].0 += 1;
            by_rule[member.rule].1 += u64::from(member.loads);
        }
        let mut has_member = vec![false; set.classes.len()];
        for (rule, (vms, _)) in set.rules.iter().zip(&by_rule) {
            has_member[rule.class] |= *vms > 0;
        }
        let used: Vec<usize> = (0..set.classes.len()).filter(|&class| has_member[class]).collect();
        let mut place_of_class = vec![0; set.classes.len()];
        for (place, &class) in used.iter().enumerate() {
            place_of_class[class] = place;
        }
        let mut counted = Self {
            place_of_class,
            place_of_rule: vec![0; set.rules.len()],
            rules_by_class: vec![Vec::new(); used.len()],
            by_class: vec![0; used.len()],
            used,
        };
        for (index, (rule, &(vms, loading))) in set.rules.iter().zip(&by_rule).enumerate() {
            if vms > 0 {
                let place = counted.place_of_class[rule.class];
                counted.place_of_rule[index] = to_u16(counted.rules_by_class[place].len());
                counted.rules_by_class[place].push(rule.why.clone());
                counted.by_class[place] += loading;
            }
        }
        counted
    }
}

/// Load of one VM of a class.
#[derive(Clone, Copy, Default)]
struct OneVm {
    iops_p95: f64,
    iops_mean: f64,
    mibps_p95: f64,
    mibps_mean: f64,
}

impl OneVm {
    fn take(&mut self, vm: &MeasuredVm) {
        (self.iops_p95, self.iops_mean) = (vm.iops.p95, vm.iops.mean);
        if let Some(rate) = vm.mibps {
            (self.mibps_p95, self.mibps_mean) = (rate.p95, rate.mean);
        }
    }
}

/// The classes in use as cohorts, by IOPS or MiB/s.
fn cohorts(
    set: &RuleSet,
    counted: &Counted,
    options: &DemandOptions,
    peak: fn(&ClassNumbers) -> f64,
) -> Vec<Cohort> {
    let site = options.correlation;
    let classes = counted.used.iter().map(|&class| &set.classes[class]);
    classes
        .map(|class| {
            let inside = class.correlation.unwrap_or(site);
            Cohort::new(peak(class), class.average_of_peak, class.shape, inside, site)
        })
        .collect()
}

fn add_up(
    set: &RuleSet,
    counted: &Counted,
    options: &DemandOptions,
) -> (Vec<Class>, Vec<OneVm>, Load) {
    let site = options.correlation;
    let numbers: Vec<&ClassNumbers> =
        counted.used.iter().map(|&class| &set.classes[class]).collect();
    let iops = cohorts(set, counted, options, |class| class.iops);
    let mibps = cohorts(set, counted, options, |class| class.mibps);
    let alone = |cohorts: &[Cohort], place: usize| {
        sum::p95(&cohorts[place..=place], &counted.by_class[place..=place], options.seed)
    };
    let lognormal = |cohort: &Cohort| Lognormal { median: cohort.median(), shape: cohort.shape };
    let classes = numbers
        .iter()
        .enumerate()
        .map(|(place, class)| Class {
            id: class.id.clone(),
            name: class.name.clone(),
            iops: lognormal(&iops[place]),
            mibps: lognormal(&mibps[place]),
            read_fraction: class.read_fraction,
            block_kib: class.block_kib,
            correlation: class.correlation.unwrap_or(site),
            average_of_peak: class.average_of_peak,
            source: class.source.clone(),
            grade: class.grade,
            rules: counted.rules_by_class[place].clone(),
            vms: counted.by_class[place],
            iops_p95: Iops(alone(&iops, place)),
            mibps_p95: MibPerSec(alone(&mibps, place)),
        })
        .collect();
    let loads = iops
        .iter()
        .zip(&mibps)
        .map(|(iops, mibps)| OneVm {
            iops_p95: iops.p95_of_one(),
            iops_mean: iops.mean,
            mibps_p95: mibps.p95_of_one(),
            mibps_mean: mibps.mean,
        })
        .collect();
    (classes, loads, total(&numbers, &iops, &mibps, &counted.by_class, options.seed))
}

/// Sum over all classes. The time of an operation is linear in its block and in the mix, so the
/// IOPS are stated at the mean block over operations; the MiB/s at the block that gives the same
/// number of operations (a harmonic mean).
fn total(
    numbers: &[&ClassNumbers],
    iops: &[Cohort],
    mibps: &[Cohort],
    vms: &[u64],
    seed: u64,
) -> Load {
    let iops_mean = sum::mean(iops, vms);
    let mibps_mean = sum::mean(mibps, vms);
    #[expect(clippy::cast_precision_loss, reason = "numbers of VMs stay far below 2^53")]
    let weighted = |cohorts: &[Cohort], value: fn(&ClassNumbers) -> f64| -> f64 {
        numbers
            .iter()
            .zip(cohorts)
            .zip(vms)
            .map(|((class, cohort), &vms)| cohort.mean * vms as f64 * value(class))
            .sum()
    };
    let ratio =
        |part: f64, whole: f64, otherwise: f64| if whole > 0.0 { part / whole } else { otherwise };
    Load {
        iops_p95: Iops(sum::p95(iops, vms, seed)),
        iops_mean: Iops(iops_mean),
        mibps_p95: MibPerSec(sum::p95(mibps, vms, seed)),
        mibps_mean: MibPerSec(mibps_mean),
        read_fraction: ratio(weighted(iops, |class| class.read_fraction), iops_mean, 0.7),
        block_kib: ratio(weighted(iops, |class| class.block_kib), iops_mean, 8.0),
        stream_block_kib: ratio(
            mibps_mean,
            weighted(mibps, |class| 1.0 / class.stream_block_kib),
            64.0,
        ),
    }
}

fn to_u16(index: usize) -> u16 {
    u16::try_from(index).unwrap_or(u16::MAX)
}

impl Demand {
    /// 95th percentile of the summed load today of some of the VMs: how many there are of each
    /// class ([`Demand::classes`]), counting only those that cause load.
    ///
    /// By the normal formula (one VM: exact), so that it can be asked for every datastore of a
    /// layout; for few VMs that is from 5 % below to 12 % above the simulation.
    #[must_use]
    pub fn p95_of(&self, vms_by_class: &[u64]) -> (Iops, MibPerSec) {
        let cohorts = |load: fn(&Class) -> Lognormal| -> Vec<Cohort> {
            self.classes
                .iter()
                .map(|class| {
                    let Lognormal { median, shape } = load(class);
                    let peak = median * (shape * shape / 2.0).exp() / class.average_of_peak;
                    let site = self.options.correlation;
                    Cohort::new(peak, class.average_of_peak, shape, class.correlation, site)
                })
                .collect()
        };
        let (iops, mibps) = (cohorts(|class| class.iops), cohorts(|class| class.mibps));
        (
            Iops(sum::p95_by_formula(&iops, vms_by_class)),
            MibPerSec(sum::p95_by_formula(&mibps, vms_by_class)),
        )
    }
}
