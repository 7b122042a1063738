//! The report as data for other programs: the documented JSON.
//!
//! Field names are a contract (`docs/report-schema.json`). Per-VM results are a table of columns
//! and rows, because objects would repeat the names for each of 100,000 VMs. Everything is
//! borrowed and written in one pass; a placement or a problem is never copied.

use std::io::Write;

use plimsoll_demand::{Assumption, Class, Demand, DemandOptions, Load};
use plimsoll_ingest::{InputFile, Problem};
use plimsoll_inventory::{Finding, Population, QualityCheck, Totals};
use plimsoll_model::{Quantity, Resource};
use plimsoll_plan::{
    Ceiling, DerivationStep, FlowBudget, FrontierPoint, HostCurve, Plan, PlannedDatastore,
    PriceBasis, Sensitivity, Tco, TierOption, WhatIf,
};
use plimsoll_units::{EvidenceGrade, Gib, Iops, MibPerSec, Milliseconds, Money};
use serde::ser::{SerializeSeq, SerializeTuple};
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::input::ReportInput;

/// Version of the JSON's shape: raised when a field changes its meaning or goes.
pub const SCHEMA_VERSION: u32 = 1;

/// The whole record.
#[derive(Debug, Serialize)]
pub struct Record<'a> {
    schema_version: u32,
    answer: &'a str,
    deck: &'a str,
    inventory: InventoryRecord<'a>,
    problems: &'a [Problem],
    problems_not_kept: &'a std::collections::BTreeMap<String, u64>,
    findings: &'a [Finding],
    demand: DemandRecord<'a>,
    plan: PlanRecord<'a>,
    vms: VmTable<'a>,
    provenance: Provenance<'a>,
}

#[derive(Debug, Serialize)]
struct InventoryRecord<'a> {
    taken: Option<String>,
    taken_from: &'a str,
    vcenters: &'a [plimsoll_ingest::rows::Text],
    totals: &'a Totals,
    population: &'a Population,
    quality: &'a [QualityCheck],
}

#[derive(Debug, Serialize)]
struct DemandRecord<'a> {
    options: &'a DemandOptions,
    today: &'a Load,
    horizon: &'a Load,
    used_today_gib: Gib,
    used_horizon_gib: Gib,
    provisioned_today_gib: Gib,
    vm_memory_gib: Gib,
    classes: &'a [Class],
    evidence_grade: EvidenceGrade,
    assumptions: &'a [Assumption],
}

#[derive(Debug, Serialize)]
struct PlanRecord<'a> {
    platform: &'a str,
    platform_name: &'a str,
    feasible: bool,
    infeasible_because: &'a [String],
    tier: &'a str,
    tier_name: &'a str,
    qos: &'a str,
    hosts: u32,
    datastores: u32,
    datastore_size_gib: Gib,
    pool_size_gib: Gib,
    monthly_cost: Option<&'a Money>,
    price: Option<&'a PriceBasis>,
    binding_resource: Resource,
    binding_quantity: Quantity,
    headroom_pct: f64,
    certainty: f64,
    load_iops: Iops,
    needed_iops: Iops,
    load_mibps: MibPerSec,
    needed_mibps: MibPerSec,
    needed_capacity_gib: Gib,
    latency_ms: Option<Milliseconds>,
    latency_limit_ms: Option<Milliseconds>,
    vm_ceiling_iops: Option<Iops>,
    vm_ceiling_mibps: Option<MibPerSec>,
    moved_gib: Gib,
    frontier: &'a [FrontierPoint],
    by_hosts: &'a [HostCurve],
    tiers: &'a [TierOption],
    runner_up: Option<&'a str>,
    ceilings: &'a [Ceiling],
    flow_budget: &'a FlowBudget,
    capacity: &'a [PlannedDatastore],
    unplaced: Unplaced<'a>,
    striping: Striping<'a>,
    sensitivities: &'a [Sensitivity],
    what_if: &'a [WhatIf],
    derivation: &'a [DerivationStep],
    tco: Option<&'a Tco>,
    evidence_grade: EvidenceGrade,
    assumptions: &'a [Assumption],
    remarks: &'a [String],
}

/// What the report stands on.
#[derive(Debug, Serialize)]
struct Provenance<'a> {
    inputs: Vec<Source<'a>>,
    model: &'a str,
    catalog_date: &'a str,
    tool_version: &'a str,
    options: &'a serde_json::Value,
    evidence_grade: EvidenceGrade,
    /// SHA-256 of this document with this field empty.
    document_sha256: String,
}

#[derive(Debug, Serialize)]
struct Source<'a> {
    name: &'a str,
    sha256: &'a str,
    bytes: u64,
    kind: plimsoll_ingest::SourceKind,
}

/// VMs with their place: columns named once.
#[derive(Debug)]
struct VmTable<'a>(&'a ReportInput<'a>);

const VM_COLUMNS: [&str; 9] =
    ["name", "key", "class", "iops_p95", "mibps_p95", "used_mib", "datastore", "from", "moved_mib"];

impl Serialize for VmTable<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut table = serializer.serialize_struct("VmTable", 2)?;
        table.serialize_field("columns", &VM_COLUMNS)?;
        table.serialize_field("rows", &VmRows(self.0))?;
        table.end()
    }
}

struct VmRows<'a>(&'a ReportInput<'a>);

impl Serialize for VmRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(None)?;
        for line in crate::lines::vm_lines(self.0) {
            rows.serialize_element(&VmRow(&line))?;
        }
        rows.end()
    }
}

struct VmRow<'a>(&'a crate::lines::VmLine<'a>);

impl Serialize for VmRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let line = self.0;
        let mut row = serializer.serialize_tuple(VM_COLUMNS.len())?;
        row.serialize_element(line.name)?;
        row.serialize_element(line.key)?;
        row.serialize_element(line.class)?;
        row.serialize_element(&rounded(line.iops))?;
        row.serialize_element(&rounded(line.mibps))?;
        row.serialize_element(&line.used.0)?;
        row.serialize_element(&line.datastore)?;
        row.serialize_element(&line.from)?;
        row.serialize_element(&line.moved.map(|moved| moved.0))?;
        row.end()
    }
}

/// Per-VM loads to a thousandth: the digits beyond mean nothing and fill the file.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[derive(Debug)]
struct Unplaced<'a>(&'a ReportInput<'a>);

impl Serialize for Unplaced<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Item<'a> {
            vm: &'a str,
            reason: &'a str,
        }
        serializer.collect_seq(
            self.0.plan.unplaced.iter().map(|(vm, reason)| Item {
                vm: crate::lines::vm_name(self.0.inventory, *vm),
                reason,
            }),
        )
    }
}

#[derive(Debug)]
struct Striping<'a>(&'a ReportInput<'a>);

impl Serialize for Striping<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Item<'a> {
            vm: &'a str,
            reason: &'a str,
            vmdks: u32,
            datastores: u32,
            caveat: &'a str,
        }
        serializer.collect_seq(self.0.plan.striping.iter().map(|advice| Item {
            vm: crate::lines::vm_name(self.0.inventory, advice.vm),
            reason: &advice.reason,
            vmdks: advice.vmdks,
            datastores: advice.datastores,
            caveat: &advice.caveat,
        }))
    }
}

impl<'a> Record<'a> {
    /// Borrows everything from the input; the hash is computed here.
    ///
    /// # Errors
    /// When serialising fails, which no valid input causes.
    pub fn new(
        input: &'a ReportInput<'a>,
        answer: &'a str,
        deck: &'a str,
        document_sha256: &str,
    ) -> Self {
        let ReportInput { inventory, demand, plan, problems, files, .. } = *input;
        Self {
            schema_version: SCHEMA_VERSION,
            answer,
            deck,
            inventory: InventoryRecord {
                taken: inventory.taken.map(|taken| taken.to_string()),
                taken_from: &inventory.taken_from,
                vcenters: &inventory.vcenters,
                totals: &inventory.totals,
                population: &inventory.population,
                quality: &inventory.quality,
            },
            problems: &problems.items,
            problems_not_kept: &problems.not_kept,
            findings: &inventory.findings,
            demand: demand_record(demand),
            plan: plan_record(input, plan),
            vms: VmTable(input),
            provenance: Provenance {
                inputs: files.iter().map(source).collect(),
                model: &plan.model,
                catalog_date: &plan.catalog_date,
                tool_version: input.tool_version,
                options: &input.options,
                evidence_grade: plan.grade,
                document_sha256: document_sha256.to_owned(),
            },
        }
    }

    /// SHA-256 of the record as it would be written, lower-case hex.
    ///
    /// # Errors
    /// When serialising fails.
    pub fn sha256(&self) -> Result<String, serde_json::Error> {
        let mut hasher = HashWriter(Sha256::new());
        {
            let mut buffered = std::io::BufWriter::with_capacity(1 << 16, &mut hasher);
            serde_json::to_writer(&mut buffered, self)?;
            buffered.flush().map_err(serde_json::Error::io)?;
        }
        Ok(hasher.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

struct HashWriter(Sha256);

impl Write for HashWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn source(file: &InputFile) -> Source<'_> {
    Source { name: &file.name, sha256: &file.sha256, bytes: file.bytes, kind: file.kind }
}

fn demand_record(demand: &Demand) -> DemandRecord<'_> {
    DemandRecord {
        options: &demand.options,
        today: &demand.today,
        horizon: &demand.horizon,
        used_today_gib: demand.used_today,
        used_horizon_gib: demand.used_horizon,
        provisioned_today_gib: demand.provisioned_today,
        vm_memory_gib: demand.vm_memory,
        classes: &demand.classes,
        evidence_grade: demand.grade,
        assumptions: &demand.assumptions,
    }
}

fn plan_record<'a>(input: &'a ReportInput<'a>, plan: &'a Plan) -> PlanRecord<'a> {
    PlanRecord {
        platform: &plan.platform,
        platform_name: &plan.platform_name,
        feasible: plan.feasible,
        infeasible_because: &plan.infeasible_because,
        tier: &plan.tier,
        tier_name: &plan.tier_name,
        qos: &plan.qos,
        hosts: plan.hosts,
        datastores: plan.datastores,
        datastore_size_gib: plan.datastore_size_gib,
        pool_size_gib: plan.pool_size_gib,
        monthly_cost: plan.monthly_cost.as_ref(),
        price: plan.price.as_ref(),
        binding_resource: plan.binding_resource,
        binding_quantity: plan.binding_quantity,
        headroom_pct: plan.headroom_pct,
        certainty: plan.certainty,
        load_iops: plan.load_iops,
        needed_iops: plan.needed_iops,
        load_mibps: plan.load_mibps,
        needed_mibps: plan.needed_mibps,
        needed_capacity_gib: plan.needed_capacity_gib,
        latency_ms: plan.latency_ms,
        latency_limit_ms: plan.latency_limit_ms,
        vm_ceiling_iops: plan.vm_ceiling_iops,
        vm_ceiling_mibps: plan.vm_ceiling_mibps,
        moved_gib: plan.moved_gib,
        frontier: &plan.frontier,
        by_hosts: &plan.by_hosts,
        tiers: &plan.tiers,
        runner_up: plan.runner_up.as_deref(),
        ceilings: &plan.ceilings,
        flow_budget: &plan.flow_budget,
        capacity: &plan.capacity,
        unplaced: Unplaced(input),
        striping: Striping(input),
        sensitivities: &plan.sensitivities,
        what_if: &plan.what_if,
        derivation: &plan.derivation,
        tco: plan.tco.as_ref(),
        evidence_grade: plan.grade,
        assumptions: &plan.assumptions,
        remarks: &plan.remarks,
    }
}
