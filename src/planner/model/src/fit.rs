//! From points to a model with its report: fit, leave-one-out, coverage, families, suspects.

use crate::beliefs::{FitRow, PriorTable, shipped_fits};
use crate::card::significant;
use crate::error::ModelError;
use crate::families::Family;
use crate::generic::SHARED_EXPONENT;
use crate::model::{LeaveOneOut, Model};
use crate::points::{Point, select};
use crate::predict::student_t;
use crate::report::{FamilyReport, FitReport, PointReport};
use crate::series::{Observation, Prepared, SeriesData, prepare};
use crate::solution::Solution;
use crate::solve::{Curve, ExponentRule, Rules};
use crate::structure::resources_of;
use crate::types::Resource;
use plimsoll_units::EvidenceGrade;
use sha2::{Digest, Sha256};

/// Most points that one fit takes: cross-validation refits each family once for each, which takes
/// some ten seconds for so many in one series.
pub const MAX_FITTED_POINTS: usize = 500;

/// How the exponent p is found.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum ExponentChoice {
    /// As `data/reference/fits.csv` says for the platform, else the shared 2.5.
    #[default]
    Listed,
    /// This value.
    Fixed(f64),
    /// Fitted with the prior `ln(p - 0.5) ~ N(ln 2, 0.3)`.
    Fitted,
}

/// What to fit and how.
#[derive(Debug, Clone, Default)]
pub struct FitOptions {
    /// Platform name, pattern with `*`, or the id of a shipped fit; `None` when the file holds one.
    pub platform: Option<String>,
    /// Id of the model; `None` takes the listed one or one made from the platform's name.
    pub id: Option<String>,
    /// Title of the model; `None` as for the id.
    pub title: Option<String>,
    /// Exponent.
    pub exponent: ExponentChoice,
    /// Beliefs; `None` takes those that ship.
    pub priors: Option<PriorTable>,
    /// What the points are: `None` is C, published; A when measured by the user.
    pub grade: Option<EvidenceGrade>,
    /// Let hosts lose by their own queue in each series whose corrected Akaike criterion gains at
    /// least 4 by it.
    pub crosstalk: bool,
    /// Volume and pool are the same for series that differ in protocol alone.
    pub shared_array: bool,
}

/// Fits the recommended model and reports how good it is.
///
/// # Errors
/// A selection that is ambiguous or empty, too few or too many points, no finite optimum.
pub fn fit(points: &[Point], options: &FitOptions) -> Result<FitReport, ModelError> {
    let job = Job::new(points, options)?;
    let solutions = job.solve()?;
    let left_out = job.leave_one_out(job.exponent);
    let errors = |predictions: &[Vec<Option<Held>>]| -> Vec<f64> {
        job.errors(predictions.iter().map(|s| s.iter().map(|h| h.as_ref().map(|h| h.value))))
    };
    let mut report = FitReport {
        platforms: job.platforms.clone(),
        points_used: job.points_used(),
        leave_one_out: summary(&errors(&left_out)),
        coverage_90_pct: job.coverage(&left_out),
        families: Vec::new(),
        suspect_points: job.prepared.suspects.clone(),
        kept_out: job.prepared.kept_out.clone(),
        points: job.point_reports(&solutions, &left_out),
        model: job.model(&solutions),
    };
    report.families = job.families(&errors(&left_out));
    crate::checks::after_fit(&job.prepared.series, &mut report);
    report.model.leave_one_out = report.leave_one_out.map(|loo| LeaveOneOut {
        median_pct: significant(loo.median_pct, 4),
        mean_pct: significant(loo.mean_pct, 4),
    });
    report.model.coverage_90_pct = report.coverage_90_pct.map(|value| significant(value, 4));
    for suspect in &report.suspect_points {
        let note = format!("Suspect row {}: {} ({}).", suspect.row, suspect.detail, suspect.action);
        report.model.notes.push(note);
    }
    Ok(report)
}

/// Fits the recommended model alone, without cross-validation: what a bootstrap repeats.
///
/// # Errors
/// As [`fit`].
pub fn fit_model(points: &[Point], options: &FitOptions) -> Result<Model, ModelError> {
    let job = Job::new(points, options)?;
    Ok(job.model(&job.solve()?))
}

/// A prediction for a point that the fit has not seen.
struct Held {
    value: f64,
    p05: f64,
    p95: f64,
}

/// Everything that stays the same over refits.
pub(crate) struct Job {
    pub(crate) prepared: Prepared,
    pub(crate) resources: Vec<Vec<Resource>>,
    pub(crate) priors: PriorTable,
    pub(crate) exponent: ExponentRule,
    /// For each series, whether it has the term of [`crate::crosstalk`].
    pub(crate) crosstalk: Vec<bool>,
    pub(crate) shared_array: bool,
    pub(crate) platforms: Vec<String>,
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) grade: EvidenceGrade,
    pub(crate) sources: Vec<String>,
    pub(crate) hash: String,
    pub(crate) notes: Vec<String>,
}

impl Job {
    pub(crate) fn new(points: &[Point], options: &FitOptions) -> Result<Self, ModelError> {
        let fits = shipped_fits()?;
        let by_id = options
            .platform
            .as_ref()
            .and_then(|selector| fits.iter().find(|fit| fit.id == *selector));
        let selector = by_id.map(|fit| fit.platform.clone()).or_else(|| options.platform.clone());
        let chosen = select(points, selector.as_deref())?;
        let Some(first) = chosen.first() else {
            return Err(ModelError::TooFewPoints {
                platform: "the file".to_owned(),
                reason: "it holds no point".to_owned(),
            });
        };
        let mut platforms: Vec<String> = Vec::new();
        for point in &chosen {
            if !platforms.contains(&point.platform) {
                platforms.push(point.platform.clone());
            }
        }
        let listed = by_id.or_else(|| {
            fits.iter().find(|fit| {
                platforms.iter().all(|name| crate::points::matches(&fit.platform, name))
                    && (platforms.len() == 1) != (fit.join == "yes")
            })
        });
        let join = listed.is_some_and(|fit| fit.join == "yes");
        let prepared = prepare(&chosen, join);
        let name = platforms.join("; ");
        let used: usize = prepared.series.iter().map(|series| series.observations.len()).sum();
        if used < 2 {
            let mut reason =
                format!("{used} usable of {} rows, at least 2 rates are needed", chosen.len());
            for suspect in &prepared.suspects {
                reason += &format!("; row {}: {}", suspect.row, suspect.detail);
            }
            for kept in &prepared.kept_out {
                reason += &format!("; row {}: {}", kept.row, kept.reason);
            }
            return Err(ModelError::TooFewPoints { platform: name, reason });
        }
        if used > MAX_FITTED_POINTS {
            return Err(ModelError::Csv {
                row: first.row,
                reason: format!(
                    "{used} points of {name} are more than the {MAX_FITTED_POINTS} that one fit takes; split them by workload"
                ),
            });
        }
        let priors = match &options.priors {
            Some(table) => table.clone(),
            None => PriorTable::shipped()?,
        };
        let exponent = match options.exponent {
            ExponentChoice::Fixed(p) => ExponentRule::Fixed(p),
            ExponentChoice::Fitted => ExponentRule::Fitted,
            ExponentChoice::Listed => match listed {
                Some(fit) if fit.exponent == "fitted" => ExponentRule::Fitted,
                _ => ExponentRule::Fixed(SHARED_EXPONENT),
            },
        };
        let named = listed.and_then(FitRow::resources);
        let resources: Vec<Vec<Resource>> = prepared
            .series
            .iter()
            .map(|series| resources_of(series, &priors, named.as_deref()))
            .collect();
        let crosstalk = prepared
            .series
            .iter()
            .zip(&resources)
            .map(|(series, resources)| {
                options.crosstalk && crate::crosstalk::gains(series, resources, &priors, exponent)
            })
            .collect();
        let mut sources: Vec<String> = Vec::new();
        for point in &chosen {
            if !point.source.is_empty() && !sources.contains(&point.source) {
                sources.push(point.source.clone());
            }
        }
        let mut notes = Vec::new();
        if let Some(fit) = listed.filter(|fit| !fit.note.is_empty()) {
            notes.push(fit.note.clone());
        }
        Ok(Self {
            hash: hash_of(&chosen),
            prepared,
            resources,
            priors,
            exponent,
            crosstalk,
            shared_array: options.shared_array,
            id: options
                .id
                .clone()
                .or_else(|| listed.map(|fit| fit.id.clone()))
                .unwrap_or_else(|| slug(&name)),
            title: options
                .title
                .clone()
                .or_else(|| listed.map(|fit| fit.title.clone()))
                .unwrap_or_else(|| name.clone()),
            platforms,
            grade: options.grade.unwrap_or(EvidenceGrade::C),
            sources,
            notes,
        })
    }

    pub(crate) fn points_used(&self) -> usize {
        self.prepared.series.iter().map(|series| series.observations.len()).sum()
    }

    /// Series that must be solved together: all when they share a fitted exponent or an array.
    fn groups(&self, exponent: ExponentRule) -> Vec<Vec<usize>> {
        let all = 0..self.prepared.series.len();
        if exponent == ExponentRule::Fitted || self.shared_array {
            vec![all.collect()]
        } else {
            all.map(|index| vec![index]).collect()
        }
    }

    /// The problem of `group`, without the observation `skip` (place in the group, observation).
    pub(crate) fn curve(
        &self,
        group: &[usize],
        exponent: ExponentRule,
        skip: Option<(usize, usize)>,
    ) -> Curve {
        let series: Vec<&SeriesData> =
            group.iter().map(|&index| &self.prepared.series[index]).collect();
        let resources: Vec<Vec<Resource>> =
            group.iter().map(|&index| self.resources[index].clone()).collect();
        let rules = Rules {
            exponent,
            crosstalk: group.iter().map(|&index| self.crosstalk[index]).collect(),
            shared_array: self.shared_array,
        };
        Curve::new(&series, &resources, &self.priors, &rules, skip)
    }

    fn solve_group(
        &self,
        group: &[usize],
        exponent: ExponentRule,
        skip: Option<(usize, usize)>,
    ) -> Option<Solution> {
        self.curve(group, exponent, skip).solve()
    }

    pub(crate) fn solve(&self) -> Result<Vec<(Vec<usize>, Solution)>, ModelError> {
        self.groups(self.exponent)
            .into_iter()
            .map(|group| {
                let solution = self.solve_group(&group, self.exponent, None);
                solution
                    .map(|solution| (group, solution))
                    .ok_or_else(|| ModelError::NoOptimum { platform: self.platforms.join("; ") })
            })
            .collect()
    }

    /// For each series and observation what a fit without it predicts; `None` where nothing of its
    /// series would be left.
    fn leave_one_out(&self, exponent: ExponentRule) -> Vec<Vec<Option<Held>>> {
        let mut held: Vec<Vec<Option<Held>>> = self
            .prepared
            .series
            .iter()
            .map(|series| series.observations.iter().map(|_| None).collect())
            .collect();
        for group in self.groups(exponent) {
            for (place, &index) in group.iter().enumerate() {
                let observations = &self.prepared.series[index].observations;
                if observations.len() < 2 {
                    continue;
                }
                for (k, observation) in observations.iter().enumerate() {
                    let Some(solution) = self.solve_group(&group, exponent, Some((place, k)))
                    else {
                        continue;
                    };
                    let predicted = solution.predict(place, observation);
                    let half =
                        student_t(0.95, solution.degrees_of_freedom) * predicted.variance.sqrt();
                    held[index][k] = Some(Held {
                        value: predicted.ln_value.exp(),
                        p05: (predicted.ln_value - half).exp(),
                        p95: (predicted.ln_value + half).exp(),
                    });
                }
            }
        }
        held
    }

    /// |predicted / published - 1| in percent over all points with a prediction. A point that is
    /// a lower bound counts in full: what exceeds it is not known to be right.
    fn errors<I, J>(&self, predictions: I) -> Vec<f64>
    where
        I: Iterator<Item = J>,
        J: Iterator<Item = Option<f64>>,
    {
        let mut errors = Vec::new();
        for (series, values) in self.prepared.series.iter().zip(predictions) {
            for (observation, value) in series.observations.iter().zip(values) {
                if let Some(value) = value {
                    errors.push(100.0 * (value / observation.value - 1.0).abs());
                }
            }
        }
        errors
    }

    fn coverage(&self, held: &[Vec<Option<Held>>]) -> Option<f64> {
        let (mut inside, mut all) = (0_u32, 0_u32);
        for (series, held) in self.prepared.series.iter().zip(held) {
            for (observation, held) in series.observations.iter().zip(held) {
                let Some(held) = held else { continue };
                all += 1;
                // Of a lower bound only the upper end of the interval can be wrong.
                let above = observation.one_sided || held.p05 <= observation.value;
                inside += u32::from(above && observation.value <= held.p95);
            }
        }
        (all > 0).then(|| 100.0 * f64::from(inside) / f64::from(all))
    }

    fn families(&self, own: &[f64]) -> Vec<FamilyReport> {
        let mut families = Vec::new();
        let ceilings: usize = self
            .resources
            .iter()
            .zip(&self.prepared.series)
            .map(|(r, s)| r.len() + usize::from(s.observations.iter().any(|o| o.peak)))
            .sum::<usize>()
            + self.crosstalk.iter().filter(|&&present| present).count();
        let exponents = usize::from(self.exponent == ExponentRule::Fitted);
        let mut push = |name: &str, parameters: usize, errors: &[f64]| {
            if let Some(loo) = summary(errors) {
                families.push(FamilyReport {
                    name: name.to_owned(),
                    parameters,
                    median_pct: loo.median_pct,
                    mean_pct: loo.mean_pct,
                });
            }
        };
        push("smooth bottleneck (p-norm)", ceilings + exponents, own);
        for (name, p) in [("hard minimum", f64::INFINITY), ("linear latency (p = 1)", 1.0)] {
            let held = self.leave_one_out(ExponentRule::Fixed(p));
            let errors =
                self.errors(held.iter().map(|s| s.iter().map(|h| h.as_ref().map(|h| h.value))));
            push(name, ceilings, &errors);
        }
        if self.prepared.series.iter().all(crate::amva::applies) {
            let errors = self.errors(self.prepared.series.iter().zip(&self.resources).map(
                |(series, resources)| {
                    let several = series.observations.len() > 1;
                    (0..series.observations.len()).map(move |k| {
                        several.then(|| crate::amva::left_out(series, resources, k)).flatten()
                    })
                },
            ));
            let parameters = self.resources.iter().map(|r| crate::amva::size(r)).sum();
            push("mean value analysis", parameters, &errors);
        }
        for family in [Family::Usl, Family::Amdahl, Family::PowerLaw] {
            let errors = self.errors(self.prepared.series.iter().map(|series| {
                (0..series.observations.len()).map(move |k| {
                    if series.observations.len() < 2 { None } else { family.left_out(series, k) }
                })
            }));
            let parameters = self.prepared.series.iter().map(|series| family.size(series)).sum();
            push(family.name(), parameters, &errors);
        }
        families
    }

    fn point_reports(
        &self,
        solutions: &[(Vec<usize>, Solution)],
        held: &[Vec<Option<Held>>],
    ) -> Vec<PointReport> {
        let mut reports = Vec::new();
        for (group, solution) in solutions {
            let mut leverages = solution.leverage.iter();
            for (place, &index) in group.iter().enumerate() {
                let series = &self.prepared.series[index];
                for (k, observation) in series.observations.iter().enumerate() {
                    let out = held[index][k].as_ref();
                    reports.push(PointReport {
                        row: observation.row,
                        series: series.name.clone(),
                        configuration: describe(observation),
                        statistic: statistic_of(series, observation),
                        published: observation.value,
                        unit: series.quantity.unit().to_owned(),
                        fitted: solution.predict(place, observation).ln_value.exp(),
                        left_out: out.map(|h| h.value),
                        left_out_p05: out.map(|h| h.p05),
                        left_out_p95: out.map(|h| h.p95),
                        error_pct: out.map(|h| 100.0 * (h.value / observation.value - 1.0)),
                        leverage: leverages.next().copied().unwrap_or(0.0),
                        shares: solution.shares(place, observation),
                    });
                }
            }
        }
        reports.sort_by_key(|report| report.row);
        reports
    }
}

fn describe(observation: &Observation) -> String {
    let mut parts = Vec::new();
    for (value, name) in [
        (observation.hosts, "hosts"),
        (observation.datastores, "datastores"),
        (observation.flows, "flows"),
        (observation.vms, "VMs"),
        (observation.outstanding, "outstanding"),
    ] {
        if let Some(value) = value {
            parts.push(format!("{value} {name}"));
        }
    }
    parts.join(", ")
}

fn statistic_of(series: &SeriesData, observation: &Observation) -> String {
    let statistic = if observation.peak {
        "peak"
    } else if series.statistic == "as published" {
        ""
    } else {
        &series.statistic
    };
    match (observation.one_sided, statistic) {
        (true, "") => "at least".to_owned(),
        (true, other) => format!("{other}, at least"),
        (false, other) => other.to_owned(),
    }
}

/// Median and mean; `None` of nothing.
fn summary(errors: &[f64]) -> Option<LeaveOneOut> {
    if errors.is_empty() {
        return None;
    }
    let mut sorted = errors.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let median_pct = if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        0.5 * (sorted[middle - 1] + sorted[middle])
    };
    let mean_pct = sorted.iter().sum::<f64>() / sorted.len() as f64;
    Some(LeaveOneOut { median_pct, mean_pct })
}

/// SHA-256 over the numbers that were fitted, so that a model names its points.
fn hash_of(points: &[&Point]) -> String {
    let mut hasher = Sha256::new();
    for point in points {
        let line = format!(
            "{}|{:?}|{:?}|{}|{}\n",
            point.configuration_key(),
            point.statistic,
            point.measured,
            point.value,
            point.unit
        );
        hasher.update(line.as_bytes());
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn slug(name: &str) -> String {
    let mut slug = String::new();
    for character in name.to_lowercase().chars() {
        if character.is_ascii_alphanumeric() {
            slug.push(character);
        } else if !slug.ends_with('-') && !slug.is_empty() {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}
