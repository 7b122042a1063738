//! Data checks that need the whole series or the fit: falling throughput and points that no curve
//! of the others comes near. They report; the point stays in, its weight limited by the loss.

use crate::report::{FitReport, PointReport};
use crate::series::{DISAGREEMENT_LN, Observation, SeriesData, SuspectPoint};

/// A left-out point farther from its prediction than this factor is reported, when it also lies
/// outside the interval and the fit with it does not follow it. A point that the fit follows alone
/// decides its ceiling: then the left-out prediction is an extrapolation and says nothing.
const RESIDUAL_FACTOR: f64 = 2.0;
/// Adds what the fitted series show to the suspects of `report`.
pub(crate) fn after_fit(series: &[SeriesData], report: &mut FitReport) {
    let mut found = Vec::new();
    for (index, data) in series.iter().enumerate() {
        let scatter = report.model.series.get(index).map_or(0.0, |fitted| fitted.residual_sd_ln);
        for observation in &data.observations {
            if let Some(suspect) = falls(data, observation, scatter) {
                found.push(suspect);
            }
            let point = report.points.iter().find(|point| point.row == observation.row);
            if let Some(suspect) = point.and_then(|point| far_off(data, observation, point)) {
                found.push(suspect);
            }
        }
    }
    report.suspect_points.extend(found);
    report.suspect_points.sort_by_key(|suspect| suspect.row);
}

fn kept(data: &SeriesData, observation: &Observation, check: &str, detail: String) -> SuspectPoint {
    SuspectPoint {
        row: observation.row,
        platform: data.platform.clone(),
        workload: data.workload.clone(),
        value: observation.printed,
        unit: observation.printed_unit.clone(),
        check: check.to_owned(),
        detail,
        action: "kept, its weight limited by the robust loss".to_owned(),
    }
}

/// More of every resource must not carry much less: less by more than the disagreement that every
/// check allows and three times the scatter of the series.
fn falls(data: &SeriesData, observation: &Observation, scatter: f64) -> Option<SuspectPoint> {
    // Outstanding I/Os for each host too: eight hosts of one are not more than two of four.
    let counts = |o: &Observation| {
        let per_host = o.outstanding.zip(o.hosts).map(|(all, hosts)| all / hosts);
        [o.hosts, o.datastores, o.flows, o.vms, o.outstanding, per_host]
    };
    let own = counts(observation);
    let limit = DISAGREEMENT_LN.max(3.0 * scatter);
    let less = data.observations.iter().find(|other| {
        other.row != observation.row
            && other.peak == observation.peak
            && counts(other).iter().zip(&own).all(|(l, r)| match (l, r) {
                (Some(l), Some(r)) => l <= r,
                (None, None) => true,
                _ => false,
            })
            && other.ln_value - observation.ln_value > limit
    })?;
    let detail = format!(
        "row {} has no more of any resource and carries {:.0}, this one {:.0} {}",
        less.row,
        less.value,
        observation.value,
        data.quantity.unit()
    );
    Some(kept(data, observation, "monotone", detail))
}

fn far_off(
    data: &SeriesData,
    observation: &Observation,
    point: &PointReport,
) -> Option<SuspectPoint> {
    let (left_out, low, high) = (point.left_out?, point.left_out_p05?, point.left_out_p95?);
    let ratio = observation.value / left_out;
    let inside = low <= observation.value && observation.value <= high;
    let followed = (observation.value / point.fitted).ln().abs() <= DISAGREEMENT_LN;
    let beyond = observation.one_sided && ratio < 1.0;
    if ratio.ln().abs() <= RESIDUAL_FACTOR.ln() || inside || followed || beyond {
        return None;
    }
    let detail = format!(
        "the other points predict {left_out:.0} {}; what is published is {ratio:.2} times that",
        data.quantity.unit()
    );
    Some(kept(data, observation, "residual", detail))
}
