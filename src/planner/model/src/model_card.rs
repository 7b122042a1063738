//! The card of a model: what it rests on, how far off it was on points not seen, which points alone
//! decide a ceiling, and the data of its residual plot.

use crate::error::ModelError;
use crate::hull::Hull;
use crate::model::LeaveOneOut;
use crate::report::{FamilyReport, FitReport};
use crate::series::{KeptOut, SuspectPoint};
use crate::types::Resource;
use plimsoll_units::EvidenceGrade;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// Leverage from which a point decides the curve where it stands; its leave-one-out error is then
/// an extrapolation and the measurement should be repeated.
pub const SOLE_LEVERAGE: f64 = 0.8;
/// Share of all that the points tell of a ceiling from which one point tells it alone.
const SOLE_INFORMATION: f64 = 0.8;
/// Share in a point's limit from which the point touches a ceiling.
const TOUCHES: f64 = 0.1;

/// What a ceiling's number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CeilingEvidence {
    /// Points decide it.
    Measured,
    /// Points bound it from below.
    AtLeast,
    /// The belief decides it.
    Believed,
}

/// One ceiling of the card.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CeilingCard {
    /// Series.
    pub series: String,
    /// Resource.
    pub resource: Resource,
    /// Value of one instance.
    pub value: f64,
    /// Unit.
    pub unit: String,
    /// Deviation of its logarithm, the discrepancy within.
    pub sd_ln: f64,
    /// What it is.
    pub evidence: CeilingEvidence,
    /// Rows of the points that touch it.
    pub touched_by: Vec<usize>,
    /// Row of the point that alone identifies it.
    pub sole_point: Option<usize>,
}

/// One point of the residual plot.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Residual {
    /// Row in the file.
    pub row: usize,
    /// Series.
    pub series: String,
    /// Configuration in words.
    pub configuration: String,
    /// What the fit says, in the series' unit: the abscissa.
    pub fitted: f64,
    /// `ln(published / fitted)`: the ordinate.
    pub residual_ln: f64,
    /// The same over the deviation that it has, the point's own pull taken out.
    pub standardised: f64,
    /// Leverage, 0-1.
    pub leverage: f64,
    /// `left out / published - 1`, percent.
    pub left_out_error_pct: Option<f64>,
}

/// The card.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelCard {
    /// Model id.
    pub id: String,
    /// Title.
    pub title: String,
    /// What the numbers rest on.
    pub grade: EvidenceGrade,
    /// Points fitted.
    pub points: usize,
    /// SHA-256 of the rows fitted.
    pub points_sha256: String,
    /// SHA-256 of the model's JSON.
    pub model_sha256: String,
    /// Error on points not seen.
    pub leave_one_out: Option<LeaveOneOut>,
    /// Share of them inside their 90 % interval, percent.
    pub coverage_90_pct: Option<f64>,
    /// This family and others on the same points.
    pub families: Vec<FamilyReport>,
    /// Ceilings.
    pub ceilings: Vec<CeilingCard>,
    /// Residuals.
    pub residuals: Vec<Residual>,
    /// Measured configurations by series.
    pub hulls: Vec<(String, Hull)>,
    /// Points that fail a check.
    pub suspect_points: Vec<SuspectPoint>,
    /// Rows not in the fit.
    pub kept_out: Vec<KeptOut>,
    /// Sources of the points.
    pub sources: Vec<String>,
    /// Notes.
    pub notes: Vec<String>,
}

/// SHA-256 in hexadecimal.
pub(crate) fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl FitReport {
    /// The card of the fitted model.
    ///
    /// # Errors
    /// When the model holds a value that JSON cannot.
    pub fn card(&self) -> Result<ModelCard, ModelError> {
        let model = &self.model;
        let mut ceilings = Vec::new();
        for series in &model.series {
            for ceiling in &series.ceilings {
                let share = |point: &&crate::report::PointReport| -> f64 {
                    let of =
                        point.shares.iter().find(|(resource, _)| *resource == ceiling.resource);
                    of.map_or(0.0, |(_, share)| *share)
                };
                let own = || self.points.iter().filter(|point| point.series == series.name);
                let told: f64 = own().map(|point| share(&point).powi(2)).sum();
                let sole_point = own()
                    .find(|point| {
                        point.leverage >= SOLE_LEVERAGE
                            && share(point).powi(2) >= SOLE_INFORMATION * told
                    })
                    .map(|point| point.row);
                let unprobed =
                    ceiling.posterior_to_prior.is_some_and(|r| r > crate::solve::UNPROBED);
                ceilings.push(CeilingCard {
                    series: series.name.clone(),
                    resource: ceiling.resource,
                    value: ceiling.value,
                    unit: series.unit.clone(),
                    sd_ln: ceiling.sd_ln.hypot(ceiling.discrepancy_sd_ln),
                    evidence: if ceiling.one_sided {
                        CeilingEvidence::AtLeast
                    } else if unprobed {
                        CeilingEvidence::Believed
                    } else {
                        CeilingEvidence::Measured
                    },
                    touched_by: own()
                        .filter(|point| share(point) >= TOUCHES)
                        .map(|point| point.row)
                        .collect(),
                    sole_point,
                });
            }
        }
        let residuals = self
            .points
            .iter()
            .map(|point| {
                let residual_ln = (point.published / point.fitted).ln();
                let spread = model
                    .series
                    .iter()
                    .find(|series| series.name == point.series)
                    .map_or(f64::NAN, |series| series.residual_sd_ln);
                let own = spread * (1.0 - point.leverage.min(0.99)).sqrt();
                Residual {
                    row: point.row,
                    series: point.series.clone(),
                    configuration: point.configuration.clone(),
                    fitted: point.fitted,
                    residual_ln,
                    standardised: residual_ln / own,
                    leverage: point.leverage,
                    left_out_error_pct: point.error_pct,
                }
            })
            .collect();
        Ok(ModelCard {
            id: model.id.clone(),
            title: model.title.clone(),
            grade: model.grade,
            points: model.points,
            points_sha256: model.points_sha256.clone(),
            model_sha256: sha256(&model.to_json()?),
            leave_one_out: self.leave_one_out,
            coverage_90_pct: self.coverage_90_pct,
            families: self.families.clone(),
            ceilings,
            residuals,
            hulls: model.series.iter().map(|s| (s.name.clone(), s.hull.clone())).collect(),
            suspect_points: self.suspect_points.clone(),
            kept_out: self.kept_out.clone(),
            sources: model.sources.clone(),
            notes: model.notes.clone(),
        })
    }
}
