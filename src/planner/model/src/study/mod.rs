//! A study: plan, point, sample, refit, and again until the answer is sure or the budget is used.
//!
//! The state machine is pure: [`Study::step`] says what to do, [`Study::record`] takes what came of
//! it. Whoever measures is a [`Runner`]; [`run`] joins the two. A study is the fold of its journal,
//! so one that was stopped goes on where it was; docs/models.md section 5.

mod journal;
mod plan;

pub use journal::{Entry, JOURNAL_VERSION, read_journal};
pub use plan::{MAX_CANDIDATES, MAX_RUNS, Need, Plan, Purpose, RunLength, Workload};

use crate::design::{Budget, Candidate, Choice, Design, change_probability};
use crate::error::ModelError;
use crate::fit::{ExponentChoice, FitOptions, fit_model};
use crate::model::Model;
use crate::points::{Measured, Point, Statistic};
use crate::quality::{Sample, Verdict};
use crate::types::{Configuration, Quantity};
use plimsoll_units::EvidenceGrade;
use serde::Serialize;

/// A recommendation that the truth would overturn with less than this probability stands.
pub const SURE_ENOUGH: f64 = 0.05;
/// Draws that the probability is counted over.
const DRAWS: usize = 2_000;
/// Points before a recommendation may end a study: fewer leave a ceiling to its belief alone.
const FEWEST_POINTS: usize = 2;

/// Why a study cannot be started, resumed or continued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// The plan cannot be run.
    #[error("study {id}: {reason}")]
    Plan {
        /// Its id.
        id: String,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The journal cannot be read.
    #[error("study journal line {line}: {reason}")]
    Journal {
        /// Line, counted from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// A result does not belong to what was asked.
    #[error("study {id}: a result for {found}, asked was {asked}")]
    Unasked {
        /// Study.
        id: String,
        /// What came.
        found: String,
        /// What was asked for.
        asked: String,
    },
    /// The journal could not be kept.
    #[error("study journal: {0}")]
    Keep(#[from] std::io::Error),
    /// An entry is not JSON.
    #[error("study journal: {0}")]
    Json(#[from] serde_json::Error),
    /// The points cannot be fitted.
    #[error(transparent)]
    Fit(#[from] ModelError),
}

/// What to measure now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Request {
    /// Index of the candidate.
    pub candidate: usize,
    /// Configuration.
    pub configuration: Configuration,
    /// Indices of the workloads to run.
    pub workloads: Vec<usize>,
    /// What each of them is expected to bring, in its unit: to choose a depth (see
    /// [`crate::design::deep_enough`]) and to show progress.
    pub expected: Vec<f64>,
    /// Samples of each.
    pub runs: u32,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// Why this point.
    pub why: String,
}

/// Why a study ended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The recommendation would change with less than [`SURE_ENOUGH`].
    Sure {
        /// Probability that it would.
        change_probability: f64,
    },
    /// The next point would cost more than is left.
    BudgetUsed,
    /// Every candidate was measured or set aside.
    NothingLeft,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Measure.
    Measure(Request),
    /// End.
    Stop(StopReason),
}

/// What happened, for whoever watches.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum Event {
    /// Before the first point: what the study will take unless it is sure earlier.
    Planned(Outlook),
    /// A point was chosen.
    Chosen(Request),
    /// A sample is used.
    Used {
        /// Workload's name.
        workload: String,
        /// Configuration.
        configuration: Configuration,
        /// Rate in the workload's unit.
        value: f64,
    },
    /// A sample is measured again.
    Again {
        /// Workload's name.
        workload: String,
        /// Why.
        reason: String,
    },
    /// A sample is not used.
    SetAside(Aside),
    /// The model was fitted again.
    Refitted {
        /// Samples that it rests on.
        points: usize,
        /// Mean over ceilings of the deviation of their logarithm.
        mean_sd_ln: f64,
        /// Recommended datastores, for a study of a load.
        recommended: Option<u32>,
        /// Probability that the truth would have it otherwise.
        change_probability: Option<f64>,
    },
    /// The end.
    Stopped(StopReason),
}

/// What a study will take if every point comes out as believed and none is measured again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outlook {
    /// Configurations in order.
    pub configurations: Vec<Configuration>,
    /// Seconds.
    pub seconds: f64,
    /// Bytes.
    pub bytes: f64,
}

/// A sample that is not used, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Aside {
    /// Workload's name.
    pub workload: String,
    /// Configuration.
    pub configuration: Configuration,
    /// Why.
    pub reason: String,
}

/// Whoever measures.
pub trait Runner {
    /// Measures each workload of `request` at its configuration, `runs` times.
    ///
    /// # Errors
    /// Why nothing could be measured; the study tries again as the plan allows.
    fn measure(&mut self, request: &Request) -> Result<Vec<Sample>, String>;
}

/// A point that is being measured.
#[derive(Debug, Clone, PartialEq)]
struct Open {
    choice: Choice,
    workloads: Vec<usize>,
    attempt: u32,
}

/// A study in some state.
#[derive(Debug, Clone)]
pub struct Study {
    plan: Plan,
    model: Model,
    points: Vec<Point>,
    done: Vec<usize>,
    aside: Vec<Aside>,
    left: Budget,
    open: Option<Open>,
}

impl Study {
    /// Starts a study.
    ///
    /// # Errors
    /// A plan that cannot be run.
    pub fn new(plan: Plan) -> Result<Self, StudyError> {
        plan.check()?;
        let mut study = Self {
            model: plan.believed(),
            left: plan.budget,
            plan,
            points: Vec::new(),
            done: Vec::new(),
            aside: Vec::new(),
            open: None,
        };
        study.open = study.choose();
        Ok(study)
    }

    /// Goes on from a journal.
    ///
    /// # Errors
    /// A journal that cannot be read or that another program version would have led elsewhere.
    pub fn resume(journal: &str) -> Result<Self, StudyError> {
        let (plan, entries) = read_journal(journal)?;
        let mut study = Self::new(plan)?;
        for entry in &entries {
            study.record(entry)?;
        }
        Ok(study)
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What is known now, one series a workload in the plan's order: beliefs alone before the first
    /// fit, and for a workload of which no sample could be used.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Samples that are used.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Samples that are not, and why.
    #[must_use]
    pub fn set_aside(&self) -> &[Aside] {
        &self.aside
    }

    /// Configurations measured or set aside.
    #[must_use]
    pub fn configurations(&self) -> usize {
        self.done.len()
    }

    /// First line of the journal.
    #[must_use]
    pub fn header(&self) -> Entry {
        Entry::Plan { version: JOURNAL_VERSION, plan: Box::new(self.plan.clone()) }
    }

    /// For a study of a load: fewest datastores by the medians, and the probability that the truth
    /// would have it otherwise.
    #[must_use]
    pub fn recommendation(&self) -> Option<(Option<u32>, f64)> {
        let Purpose::Carry(need) = &self.plan.purpose else { return None };
        Some(change_probability(&self.model, DRAWS, self.plan.seed, |carries| need.fewest(carries)))
    }

    /// What to do now.
    #[must_use]
    pub fn step(&self) -> Step {
        if let Some(open) = &self.open {
            return Step::Measure(Request {
                candidate: open.choice.candidate,
                configuration: self.plan.candidates[open.choice.candidate].configuration,
                expected: open
                    .workloads
                    .iter()
                    .map(|&workload| {
                        let at = &self.plan.candidates[open.choice.candidate].configuration;
                        self.model.predict_series(workload, at).median
                    })
                    .collect(),
                workloads: open.workloads.clone(),
                runs: self.plan.runs,
                attempt: open.attempt,
                why: open.choice.why.clone(),
            });
        }
        if let Some(change_probability) = self.sure() {
            return Step::Stop(StopReason::Sure { change_probability });
        }
        if self.done.len() == self.plan.candidates.len() {
            Step::Stop(StopReason::NothingLeft)
        } else {
            Step::Stop(StopReason::BudgetUsed)
        }
    }

    /// The probability of change, when it is low enough to stop.
    fn sure(&self) -> Option<f64> {
        if self.done.len() < FEWEST_POINTS {
            return None;
        }
        self.recommendation().map(|(_, probability)| probability).filter(|p| *p < SURE_ENOUGH)
    }

    /// The points to come if each came out as expected, with what they take.
    #[must_use]
    pub fn outlook(&self) -> Outlook {
        let targets = self.targets();
        let coming: Vec<&Candidate> = self
            .design(&targets)
            .outlook()
            .iter()
            .map(|choice| &self.plan.candidates[choice.candidate])
            .collect();
        Outlook {
            configurations: coming.iter().map(|candidate| candidate.configuration).collect(),
            seconds: coming.iter().map(|candidate| candidate.seconds).sum(),
            bytes: coming.iter().map(|candidate| candidate.bytes).sum(),
        }
    }

    /// Configurations that matter.
    fn targets(&self) -> Vec<Configuration> {
        match &self.plan.purpose {
            Purpose::Fit(targets) => targets.clone(),
            Purpose::Carry(need) => {
                // About the recommended count: there the answer is decided.
                let now = need.fewest(&|quantity, at| self.model.predict(quantity, at).median);
                let now = now.unwrap_or(need.most_datastores);
                (now.saturating_sub(1).max(1)..=(now + 1).min(need.most_datastores))
                    .map(|d| Configuration::full(need.hosts, f64::from(d), need.connections))
                    .collect()
            }
        }
    }

    fn design<'a>(&'a self, targets: &'a [Configuration]) -> Design<'a> {
        Design {
            model: &self.model,
            candidates: &self.plan.candidates,
            done: &self.done,
            targets,
            budget: self.left,
        }
    }

    fn choose(&self) -> Option<Open> {
        if self.sure().is_some() {
            return None;
        }
        let targets = self.targets();
        let choice = self.design(&targets).next()?;
        Some(Open { choice, workloads: (0..self.plan.workloads.len()).collect(), attempt: 1 })
    }

    /// Takes what an attempt brought.
    ///
    /// # Errors
    /// A result that was not asked for; points that cannot be fitted.
    pub fn record(&mut self, entry: &Entry) -> Result<Vec<Event>, StudyError> {
        let Entry::Attempt { candidate, samples, failure } = entry else {
            let reason = "a plan amid attempts".to_owned();
            return Err(StudyError::Journal { line: 1, reason });
        };
        let unasked = |found: String, asked: String| {
            Err(StudyError::Unasked { id: self.plan.id.clone(), found, asked })
        };
        let Some(mut open) = self.open.take() else {
            return unasked(format!("candidate {candidate}"), "nothing".to_owned());
        };
        let asked = format!("candidate {}, workloads {:?}", open.choice.candidate, open.workloads);
        let found: Vec<usize> = samples.iter().map(|sample| sample.workload).collect();
        if *candidate != open.choice.candidate
            || !found.iter().all(|workload| open.workloads.contains(workload))
        {
            self.open = Some(open);
            return unasked(format!("candidate {candidate}, workloads {found:?}"), asked);
        }
        let chosen = self.plan.candidates[*candidate];
        if open.attempt == 1 {
            self.left = self.left.less(&chosen);
        }
        let mut events = Vec::new();
        let mut again = Vec::new();
        for &workload in &open.workloads {
            let name = self.plan.workloads[workload].name();
            let mut faults = Vec::new();
            let mut used = 0;
            for sample in samples.iter().filter(|sample| sample.workload == workload) {
                match sample.verdict() {
                    Verdict::Use => {
                        used += 1;
                        self.points.push(self.point(sample, &chosen.configuration));
                        events.push(Event::Used {
                            workload: name.clone(),
                            configuration: chosen.configuration,
                            value: sample.value,
                        });
                    }
                    fault => faults.push(fault),
                }
            }
            if used == 0 && faults.is_empty() {
                let reason = failure.clone().unwrap_or_else(|| "no result was given".to_owned());
                faults.push(Verdict::Again(reason));
            }
            let once_more = used == 0
                && open.attempt <= self.plan.repeats
                && faults.iter().all(|fault| matches!(fault, Verdict::Again(_)));
            if once_more {
                again.push(workload);
            }
            for fault in faults {
                let (Verdict::Again(reason) | Verdict::SetAside(reason)) = fault else { continue };
                events.push(if once_more {
                    Event::Again { workload: name.clone(), reason }
                } else {
                    let configuration = chosen.configuration;
                    let aside = Aside { workload: name.clone(), configuration, reason };
                    self.aside.push(aside.clone());
                    Event::SetAside(aside)
                });
            }
        }
        if !again.is_empty() {
            open.workloads = again;
            open.attempt += 1;
            self.open = Some(open);
            return Ok(events);
        }
        self.done.push(*candidate);
        self.refit()?;
        let recommendation = self.recommendation();
        let ceilings = || self.model.series.iter().flat_map(|series| &series.ceilings);
        events.push(Event::Refitted {
            points: self.points.len(),
            mean_sd_ln: ceilings().map(|c| c.sd_ln).sum::<f64>() / ceilings().count().max(1) as f64,
            recommended: recommendation.and_then(|(count, _)| count),
            change_probability: recommendation.map(|(_, probability)| probability),
        });
        self.open = self.choose();
        if let Step::Stop(reason) = self.step() {
            events.push(Event::Stopped(reason));
        }
        Ok(events)
    }

    fn refit(&mut self) -> Result<(), StudyError> {
        let options = FitOptions {
            platform: Some(self.plan.platform.clone()),
            id: Some(self.plan.id.clone()),
            title: Some(self.plan.platform.clone()),
            exponent: self.plan.exponent.map_or(ExponentChoice::Fitted, ExponentChoice::Fixed),
            priors: Some(self.plan.table()),
            grade: Some(EvidenceGrade::A),
            ..FitOptions::default()
        };
        match fit_model(&self.points, &options) {
            Ok(model) => self.model = self.plan.completed(&model),
            // A single sample or none: the beliefs stand.
            Err(ModelError::TooFewPoints { .. } | ModelError::NoSuchPlatform { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// A sample as a point of the fit.
    fn point(&self, sample: &Sample, configuration: &Configuration) -> Point {
        let workload = &self.plan.workloads[sample.workload];
        let (metric, unit) = match workload.quantity {
            Quantity::Iops => (Measured::Operations(sample.value), "IOPS"),
            Quantity::Throughput => (Measured::Bytes(sample.value * 1_048_576.0), "MiB/s"),
        };
        Point {
            row: self.points.len() + 1,
            source: format!("study {}", self.plan.id),
            platform: self.plan.platform.clone(),
            protocol: self.plan.protocol.clone(),
            workload: String::new(),
            hosts: Some(configuration.hosts),
            datastores: Some(configuration.datastores),
            flows: Some(configuration.flows),
            vms: configuration.vms,
            vmdks: None,
            outstanding: configuration.outstanding,
            block_kib: Some(workload.block_kib),
            pattern: workload.pattern().to_owned(),
            read_pct: workload.read_pct.to_string(),
            statistic: Statistic::AsPublished,
            value: sample.value,
            unit: unit.to_owned(),
            measured: metric,
            note: String::new(),
        }
    }
}

/// Runs a study to its end: each attempt is kept before it is used, each event told.
///
/// # Errors
/// What [`Study::record`] refuses, and what `keep` does.
pub fn run(
    study: &mut Study,
    runner: &mut dyn Runner,
    keep: &mut dyn FnMut(&Entry) -> std::io::Result<()>,
    tell: &mut dyn FnMut(&Event),
) -> Result<StopReason, StudyError> {
    if study.configurations() == 0 {
        tell(&Event::Planned(study.outlook()));
    }
    loop {
        let request = match study.step() {
            Step::Stop(reason) => return Ok(reason),
            Step::Measure(request) => request,
        };
        tell(&Event::Chosen(request.clone()));
        let (samples, failure) = match runner.measure(&request) {
            Ok(samples) => (samples, None),
            Err(reason) => (Vec::new(), Some(reason)),
        };
        let entry = Entry::Attempt { candidate: request.candidate, samples, failure };
        keep(&entry)?;
        for event in study.record(&entry)? {
            tell(&event);
        }
    }
}
