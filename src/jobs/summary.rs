//! What an inventory holds and what a plan answers, in short: stored with the record and served.

use plimsoll_ingest::Severity;
use plimsoll_planner::{Sizing, Survey};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::lists::id;
use crate::store::StoreError;

/// What an inventory holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InventorySummary {
    /// When it was taken: local time of the machine that exported it, zone unknown.
    #[schema(example = "2026-11-23T18:04:00")]
    pub taken: Option<String>,
    /// Where that date comes from.
    pub taken_from: String,
    /// Sums over all rows of the files, before anything is left out.
    pub totals: TotalsBody,
    /// From all VMs in the files to those that count for performance.
    pub population: Vec<PopulationBody>,
    /// Problems met on reading.
    pub problems: ProblemCounts,
    /// Cross-checks between sheets.
    pub quality: Vec<QualityBody>,
    /// What each file turned out to be.
    pub sources: Vec<SourceBody>,
}

/// Sums over all rows of the files; sizes in MiB.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TotalsBody {
    /// Rows of vInfo that are VMs.
    pub vms_in_file: u64,
    /// VMs that count for performance.
    pub vms_counted: u64,
    /// Templates.
    pub templates: u64,
    /// Powered off, templates left out.
    pub powered_off: u64,
    /// Virtual disks.
    pub disks: u64,
    /// Datastores, merged.
    pub datastores: u64,
    /// Hosts.
    pub hosts: u64,
    /// vInfo `Provisioned`.
    pub provisioned_mib: u64,
    /// vInfo `In Use`.
    pub in_use_mib: u64,
    /// vDisk `Capacity`.
    pub disk_capacity_mib: u64,
    /// vPartition `Consumed`.
    pub partition_consumed_mib: u64,
    /// vDatastore `Capacity`.
    pub datastore_capacity_mib: u64,
    /// vDatastore `In Use`.
    pub datastore_in_use_mib: u64,
}

/// One step from the file to what counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PopulationBody {
    /// What was taken out: `template`, `srm_placeholder`, `vcls`, `powered_off`, `orphaned`.
    pub reason: String,
    /// VMs.
    pub vms: u64,
    /// Their space, MiB.
    pub used_mib: u64,
    /// Whether that space still counts for capacity.
    pub capacity_counts: bool,
}

/// Problems by severity.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProblemCounts {
    /// All that were met; of each kind the first thousand are kept in full.
    pub total: u64,
    /// Those kept in full.
    pub kept: u64,
    /// Of those kept: values or rows left out.
    pub errors: u64,
    /// Of those kept: the result may be less accurate.
    pub warnings: u64,
    /// Of those kept: for information.
    pub notes: u64,
}

/// One cross-check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QualityBody {
    /// Stable id.
    pub id: String,
    /// What was compared.
    pub what: String,
    /// The result, with numbers.
    pub result: String,
    /// Whether it is as expected.
    pub ok: bool,
}

/// What a file turned out to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceBody {
    /// File.
    pub name: String,
    /// `rvtools_display`, `rvtools_db_names` or `manual_averages`.
    pub kind: String,
    /// Why it was taken for that.
    pub reason: String,
    /// Its sheets.
    pub tabs: u64,
    /// Rows used.
    pub rows: u64,
}

impl InventorySummary {
    /// Of what was read.
    #[must_use]
    pub fn of(survey: &Survey) -> Self {
        let inventory = &survey.inventory;
        let totals = &inventory.totals;
        let kept = &survey.problems.items;
        let count = |severity: Severity| {
            kept.iter().filter(|problem| problem.severity == severity).count() as u64
        };
        Self {
            taken: inventory.taken.map(|taken| taken.to_string()),
            taken_from: inventory.taken_from.clone(),
            totals: TotalsBody {
                vms_in_file: totals.vms_in_file,
                vms_counted: totals.vms_counted,
                templates: totals.templates,
                powered_off: totals.powered_off,
                disks: totals.disks,
                datastores: totals.datastores,
                hosts: totals.hosts,
                provisioned_mib: totals.provisioned_mib,
                in_use_mib: totals.in_use_mib,
                disk_capacity_mib: totals.disk_capacity_mib,
                partition_consumed_mib: totals.partition_consumed_mib,
                datastore_capacity_mib: totals.datastore_capacity_mib,
                datastore_in_use_mib: totals.datastore_in_use_mib,
            },
            population: inventory
                .population
                .steps
                .iter()
                .map(|step| PopulationBody {
                    reason: id(step.reason),
                    vms: step.vms,
                    used_mib: step.used.0,
                    capacity_counts: step.capacity_counts,
                })
                .collect(),
            problems: ProblemCounts {
                total: survey.problems.total(),
                kept: kept.len() as u64,
                errors: count(Severity::Error),
                warnings: count(Severity::Warning),
                notes: count(Severity::Note),
            },
            quality: inventory
                .quality
                .iter()
                .map(|check| QualityBody {
                    id: check.id.clone(),
                    what: check.what.clone(),
                    result: check.result.clone(),
                    ok: check.ok,
                })
                .collect(),
            sources: survey
                .files
                .iter()
                .map(|file| SourceBody {
                    name: file.name.clone(),
                    kind: id(file.kind),
                    reason: file.reason.clone(),
                    tabs: file.tabs.len() as u64,
                    rows: file.tabs.iter().map(|tab| tab.rows).sum(),
                })
                .collect(),
        }
    }
}

/// What a plan answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlanSummary {
    /// The answer in one sentence.
    pub answer: String,
    /// False when nothing fits; the rest is then the nearest plan.
    pub feasible: bool,
    /// Why nothing fits.
    pub infeasible_because: Vec<String>,
    /// Platform id.
    pub platform: String,
    /// Platform name.
    pub platform_name: String,
    /// Tier id.
    pub tier: String,
    /// Tier name.
    pub tier_name: String,
    /// Hosts.
    pub hosts: u32,
    /// Datastores.
    pub datastores: u32,
    /// Size of each, GiB.
    pub datastore_size_gib: f64,
    /// Price a month; absent where the catalogue has none.
    pub monthly_cost: Option<MoneyBody>,
    /// Limit that binds first.
    pub binding_resource: String,
    /// Room of the 95 % level over the load, percent.
    pub headroom_pct: f64,
    /// Probability that the plan carries what is needed, 0-1.
    pub certainty: f64,
    /// Weakest evidence among the inputs that matter: `A` measured here to `D` assumed.
    pub grade: String,
    /// VMs that could not be placed.
    pub unplaced: u64,
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MoneyBody {
    /// In units of the currency.
    pub amount: f64,
    /// ISO 4217 code.
    #[schema(example = "USD")]
    pub currency: String,
}

impl PlanSummary {
    /// The answer's sentence out of a JSON report.
    pub(super) fn answer(report: &[u8]) -> Result<String, StoreError> {
        #[derive(Deserialize)]
        struct Answer {
            answer: String,
        }
        serde_json::from_slice::<Answer>(report)
            .map(|report| report.answer)
            .map_err(|source| StoreError::Document { operation: "read a report", source })
    }

    /// Of a sizing.
    #[must_use]
    pub fn of(sizing: &Sizing, answer: String) -> Self {
        let plan = &sizing.plan;
        Self {
            answer,
            feasible: plan.feasible,
            infeasible_because: plan.infeasible_because.clone(),
            platform: plan.platform.clone(),
            platform_name: plan.platform_name.clone(),
            tier: plan.tier.clone(),
            tier_name: plan.tier_name.clone(),
            hosts: plan.hosts,
            datastores: plan.datastores,
            datastore_size_gib: plan.datastore_size_gib.0,
            monthly_cost: plan
                .monthly_cost
                .as_ref()
                .map(|money| MoneyBody { amount: money.amount, currency: money.currency.clone() }),
            binding_resource: plan.binding_resource.name().to_owned(),
            headroom_pct: plan.headroom_pct,
            certainty: plan.certainty,
            grade: plan.grade.letter().to_string(),
            unplaced: plan.unplaced.len() as u64,
        }
    }
}
