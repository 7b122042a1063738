//! What is told of a fit: errors by family, each point against the model, doubts, the model.

use crate::model::{LeaveOneOut, Model};
use crate::series::{KeptOut, SuspectPoint};
use crate::types::Resource;
use serde::Serialize;

/// How one family predicts points that it has not seen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FamilyReport {
    /// Name.
    pub name: String,
    /// Parameters over all series.
    pub parameters: usize,
    /// Median of |predicted / published - 1|, percent.
    pub median_pct: f64,
    /// Mean, percent.
    pub mean_pct: f64,
}

/// One point against the model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PointReport {
    /// Row in the file.
    pub row: usize,
    /// Series.
    pub series: String,
    /// Configuration in words.
    pub configuration: String,
    /// `mean`, `peak`, `at least` or empty.
    pub statistic: String,
    /// Published value in the series' unit.
    pub published: f64,
    /// Unit.
    pub unit: String,
    /// What the fit over all points says.
    pub fitted: f64,
    /// What a fit without this point says, with its 90 % interval.
    pub left_out: Option<f64>,
    /// Lower end.
    pub left_out_p05: Option<f64>,
    /// Upper end.
    pub left_out_p95: Option<f64>,
    /// `left_out / published - 1`, percent.
    pub error_pct: Option<f64>,
    /// How far the point alone decides the curve there, 0-1; from 0.8 its leave-one-out error is
    /// an extrapolation.
    pub leverage: f64,
    /// Share of each limit at the point.
    #[serde(skip)]
    pub shares: Vec<(Resource, f64)>,
}

/// All that is known of a fit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FitReport {
    /// Platforms fitted.
    pub platforms: Vec<String>,
    /// Points fitted.
    pub points_used: usize,
    /// Error on points left out, `None` when no point can be left out.
    pub leave_one_out: Option<LeaveOneOut>,
    /// Share of left-out points inside their 90 % interval, percent.
    pub coverage_90_pct: Option<f64>,
    /// The recommended model and simpler ones on the same points.
    pub families: Vec<FamilyReport>,
    /// Points that fail a data check.
    pub suspect_points: Vec<SuspectPoint>,
    /// Rows that are not in the fit, and why.
    pub kept_out: Vec<KeptOut>,
    /// Each point against the model.
    pub points: Vec<PointReport>,
    /// The model.
    pub model: Model,
}
