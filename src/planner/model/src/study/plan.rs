//! What a study sets out to do: work, beliefs, candidates, purpose, budget.

use crate::beliefs::{PriorRow, PriorTable};
use crate::design::{Budget, Candidate};
use crate::generic::SHARED_EXPONENT;
use crate::hull::Hull;
use crate::model::{Ceiling, Exponent, Model, Prior, SCHEMA_VERSION, Series};
use crate::series::SeriesData;
use crate::solve::EXPONENT_SD;
use crate::study::StudyError;
use crate::types::{Configuration, Quantity, Resource};
use plimsoll_units::EvidenceGrade;
use serde::{Deserialize, Serialize};

/// Configurations that a study can choose from at most: each choice weighs all.
pub const MAX_CANDIDATES: usize = 4_096;

/// Samples of one workload at one point at most.
pub const MAX_RUNS: u32 = 20;

/// One kind of work that every point measures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// IOPS or throughput.
    pub quantity: Quantity,
    /// Block, KiB.
    pub block_kib: f64,
    /// Percent of reads, 0-100.
    pub read_pct: u8,
}

impl Workload {
    /// `random` for IOPS, `sequential` for throughput.
    #[must_use]
    pub fn pattern(&self) -> &'static str {
        match self.quantity {
            Quantity::Iops => "random",
            Quantity::Throughput => "sequential",
        }
    }

    /// Name of its series, as the fit gives it.
    #[must_use]
    pub fn name(&self) -> String {
        let read = match self.read_pct {
            100 => "read".to_owned(),
            0 => "write".to_owned(),
            other => format!("{other} % read"),
        };
        format!("{} {read} {} KiB", self.pattern(), self.block_kib)
    }

    fn series_data(&self, platform: &str) -> SeriesData {
        SeriesData {
            name: self.name(),
            platform: platform.to_owned(),
            protocol: String::new(),
            workload: String::new(),
            quantity: self.quantity,
            block_kib: Some(self.block_kib),
            pattern: self.pattern().to_owned(),
            read_pct: self.read_pct.to_string(),
            statistic: String::new(),
            observations: Vec::new(),
        }
    }
}

/// A load and where it may be put.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Need {
    /// Quantity; the first workload of it answers.
    pub quantity: Quantity,
    /// Rate with its headroom, IOPS or MiB/s.
    pub rate: f64,
    /// Hosts that carry it.
    pub hosts: f64,
    /// Connections of each host to each datastore.
    pub connections: f64,
    /// Most datastores.
    pub most_datastores: u32,
}

impl Need {
    /// Fewest datastores that carry the rate; `None` when the most do not.
    pub fn fewest(&self, carries: &dyn Fn(Quantity, &Configuration) -> f64) -> Option<u32> {
        (1..=self.most_datastores).find(|&datastores| {
            let at = Configuration::full(self.hosts, f64::from(datastores), self.connections);
            carries(self.quantity, &at) >= self.rate
        })
    }
}

/// What a study is for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Know the platform: every ceiling, over these configurations (none: all parameters alike).
    Fit(Vec<Configuration>),
    /// Know whether and with how many datastores a load can be carried.
    Carry(Need),
}

/// What a point takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunLength {
    /// Before each run until the rate is steady, seconds.
    pub settle_seconds: f64,
    /// Measured part of each run, seconds.
    pub measured_seconds: f64,
    /// Written to each datastore before it is first read, bytes.
    pub prefill_bytes: f64,
    /// Rate of prefilling all datastores together, bytes a second.
    pub prefill_rate: f64,
}

/// A study before it starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Id of the study and of its model, lower case with dashes.
    pub id: String,
    /// Platform measured.
    pub platform: String,
    /// Protocol.
    pub protocol: String,
    /// Work of every point.
    pub workloads: Vec<Workload>,
    /// What is believed before: one row a ceiling, as in `data/reference/priors.csv`.
    pub beliefs: Vec<PriorRow>,
    /// Configurations to choose from.
    pub candidates: Vec<Candidate>,
    /// Purpose.
    pub purpose: Purpose,
    /// Most that may be spent.
    pub budget: Budget,
    /// Samples of each workload at each point: as many as the scatter asks for, 1 below 3 %.
    pub runs: u32,
    /// How often a bad sample is measured again before it is set aside.
    pub repeats: u32,
    /// Exponent; `None` fits it.
    pub exponent: Option<f64>,
    /// Seed of the draws that say how sure a recommendation is.
    pub seed: u64,
}

impl Plan {
    /// Whether the plan can be run.
    ///
    /// # Errors
    /// What is missing or out of range.
    pub fn check(&self) -> Result<(), StudyError> {
        let refuse = |reason: String| Err(StudyError::Plan { id: self.id.clone(), reason });
        if self.workloads.is_empty() {
            return refuse("it has no workload; name at least one".to_owned());
        }
        if self.candidates.is_empty() || self.candidates.len() > MAX_CANDIDATES {
            return refuse(format!(
                "it has {} candidates; it needs 1 to {MAX_CANDIDATES}",
                self.candidates.len()
            ));
        }
        for candidate in &self.candidates {
            let at = &candidate.configuration;
            let counts =
                [Some(at.hosts), Some(at.datastores), Some(at.flows), at.vms, at.outstanding];
            let positive = |x: &f64| *x >= 1.0 && x.is_finite();
            let paid = candidate.seconds >= 0.0 && candidate.bytes >= 0.0;
            if !(paid && counts.iter().flatten().all(positive)) {
                return refuse(format!("candidate {at:?} has a count below 1 or a negative cost"));
            }
        }
        for workload in &self.workloads {
            if !(workload.block_kib > 0.0 && workload.block_kib.is_finite())
                || workload.read_pct > 100
            {
                return refuse(format!("workload {:?} is out of range", workload.name()));
            }
            if self.ceilings(workload).is_empty() {
                return refuse(format!(
                    "nothing is believed of {}; state at least one ceiling, however unsure",
                    workload.name()
                ));
            }
        }
        if !(1..=MAX_RUNS).contains(&self.runs) {
            return refuse(format!("its runs are {}; it needs 1 to {MAX_RUNS}", self.runs));
        }
        if self.exponent.is_some_and(|p| p.is_nan() || p <= 0.5) {
            return refuse("its exponent is not above 0.5".to_owned());
        }
        Ok(())
    }

    /// Every combination of counts as a candidate, with the time and the bytes that its runs are
    /// expected to take by what is believed. Prefilling is counted for every point: the upper end.
    ///
    /// The plan needs its workloads, beliefs and runs; its candidates are not read.
    #[must_use]
    pub fn candidates_of(
        &self,
        hosts: &[u32],
        datastores: &[u32],
        connections: &[u32],
        length: &RunLength,
    ) -> Vec<Candidate> {
        let believed = self.believed();
        let runs = f64::from(self.runs);
        let mut candidates = Vec::new();
        for &h in hosts {
            for &d in datastores {
                for &c in connections {
                    let configuration =
                        Configuration::full(f64::from(h), f64::from(d), f64::from(c));
                    let prefill = f64::from(d) * length.prefill_bytes;
                    let each = length.settle_seconds + length.measured_seconds;
                    let moved: f64 = self
                        .workloads
                        .iter()
                        .enumerate()
                        .map(|(index, workload)| {
                            let rate = believed.predict_series(index, &configuration).median;
                            let bytes = match workload.quantity {
                                Quantity::Iops => workload.block_kib * 1024.0,
                                Quantity::Throughput => 1_048_576.0,
                            };
                            rate * bytes * each * runs
                        })
                        .sum();
                    candidates.push(Candidate {
                        configuration,
                        seconds: each * runs * self.workloads.len() as f64
                            + prefill / length.prefill_rate,
                        bytes: prefill + moved,
                    });
                }
            }
        }
        candidates
    }

    pub(super) fn table(&self) -> PriorTable {
        PriorTable { rows: self.beliefs.clone() }
    }

    fn ceilings(&self, workload: &Workload) -> Vec<(Resource, f64, PriorRow)> {
        let table = self.table();
        let data = workload.series_data(&self.platform);
        [
            Resource::Concurrency,
            Resource::Pool,
            Resource::Host,
            Resource::Flow,
            Resource::Volume,
            Resource::Vm,
        ]
        .into_iter()
        .filter_map(|resource| {
            let (value, row) = table.find(&data, Some(resource))?;
            Some((resource, value, row.clone()))
        })
        .collect()
    }

    /// The beliefs as a model, before any point.
    #[must_use]
    pub fn believed(&self) -> Model {
        let mut variances = Vec::new();
        let series = self
            .workloads
            .iter()
            .map(|workload| {
                let ceilings = self
                    .ceilings(workload)
                    .into_iter()
                    .map(|(resource, value, row)| {
                        variances.push(row.sd_ln.powi(2));
                        Ceiling {
                            resource,
                            value,
                            sd_ln: row.sd_ln,
                            discrepancy_sd_ln: 0.0,
                            posterior_to_prior: Some(1.0),
                            one_sided: false,
                            prior: Some(Prior {
                                value,
                                sd_ln: row.sd_ln,
                                statistic: String::new(),
                                source: row.source,
                            }),
                        }
                    })
                    .collect();
                Series {
                    name: workload.name(),
                    quantity: workload.quantity,
                    unit: workload.quantity.unit().to_owned(),
                    block_kib: Some(workload.block_kib),
                    pattern: workload.pattern().to_owned(),
                    read_pct: workload.read_pct.to_string(),
                    statistic: "as published".to_owned(),
                    ceilings,
                    peak_to_mean: None,
                    peak_to_mean_prior: None,
                    crosstalk: None,
                    residual_sd_ln: crate::solve::SIGMA,
                    degrees_of_freedom: 1000.0,
                    points: 0,
                    hull: Hull::default(),
                }
            })
            .collect();
        if self.exponent.is_none() {
            variances.push(EXPONENT_SD.powi(2));
        }
        let covariance = (0..variances.len())
            .map(|row| {
                (0..variances.len()).map(|k| if k == row { variances[k] } else { 0.0 }).collect()
            })
            .collect();
        Model {
            schema_version: SCHEMA_VERSION,
            id: self.id.clone(),
            title: self.platform.clone(),
            grade: EvidenceGrade::D,
            exponent: Exponent {
                value: self.exponent.unwrap_or(SHARED_EXPONENT),
                fitted: self.exponent.is_none(),
                sd_ln: self.exponent.is_none().then_some(EXPONENT_SD),
                prior: None,
            },
            series,
            covariance,
            leave_one_out: None,
            coverage_90_pct: None,
            points: 0,
            points_sha256: String::new(),
            sources: Vec::new(),
            notes: vec!["Beliefs only; no point was measured.".to_owned()],
        }
    }

    /// `fitted` with the series in the order of the workloads, and the belief where a workload has
    /// no series because none of its samples could be used.
    pub(super) fn completed(&self, fitted: &Model) -> Model {
        let believed = self.believed();
        let mut model = Model { series: Vec::new(), covariance: Vec::new(), ..fitted.clone() };
        // For each parameter where its covariance stands: in the fit, or alone with its variance.
        let mut places: Vec<Result<usize, f64>> = Vec::new();
        for (index, workload) in self.workloads.iter().enumerate() {
            let name = workload.name();
            match fitted.series.iter().position(|series| series.name == name) {
                Some(found) => {
                    let offset = fitted.offset(found);
                    let series = &fitted.series[found];
                    places.extend((offset..offset + series.parameters()).map(Ok));
                    model.series.push(series.clone());
                }
                None => {
                    let series = &believed.series[index];
                    places.extend(series.ceilings.iter().map(|c| Err(c.sd_ln.powi(2))));
                    model.series.push(series.clone());
                    model.notes.push(format!("{name}: belief only; no sample could be used."));
                }
            }
        }
        if fitted.exponent.fitted {
            places.push(Ok(fitted.covariance.len() - 1));
        }
        model.covariance = places
            .iter()
            .enumerate()
            .map(|(row, left)| {
                places
                    .iter()
                    .enumerate()
                    .map(|(column, right)| match (left, right) {
                        (Ok(left), Ok(right)) => fitted.covariance[*left][*right],
                        (Err(variance), _) if row == column => *variance,
                        _ => 0.0,
                    })
                    .collect()
            })
            .collect();
        model
    }
}
