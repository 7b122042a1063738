//! The steady-state verdict over the series of whole seconds: how far the highest and the lowest second
//! lie apart, and how much the line of best fit rises or falls over the window, both against the mean.
//!
//! The limits of 20 % and 10 % follow the solid-state performance test specification of SNIA. "Not
//! attained" is a result, not an error.

use serde::{Deserialize, Serialize};

use crate::workload::SteadyRule;

/// Fewest seconds of a verdict.
pub const FEWEST_SECONDS: usize = 5;

/// Window of a run that ends when it is steady, unless another is given.
const STOP_WINDOW_SECONDS: usize = 10;

/// The verdict.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SteadyState {
    /// Whether both limits were kept.
    pub attained: bool,
    /// `attained`, `not attained` or `too short`.
    pub verdict: String,
    /// Seconds looked at.
    pub window_seconds: u32,
    /// Mean IOPS of the window.
    pub mean_iops: f64,
    /// Distance of the highest and the lowest second, percent of the mean.
    pub excursion_pct: f64,
    /// Change of the line of best fit over the window, percent of the mean.
    pub slope_pct: f64,
    /// Limit of `excursion_pct`.
    pub excursion_limit_pct: f64,
    /// Limit of `slope_pct`, either sign.
    pub slope_limit_pct: f64,
}

/// Judges a series of IOPS, one value a second.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "statistics of seconds")]
pub fn judge(series: &[f64], rule: &SteadyRule) -> SteadyState {
    let wanted = match rule.window_seconds {
        // A run that ends when it is steady would look at its beginning for ever.
        0 if rule.stop => STOP_WINDOW_SECONDS,
        0 => series.len(),
        seconds => (seconds as usize).max(FEWEST_SECONDS),
    };
    let window = &series[series.len().saturating_sub(wanted)..];
    let count = window.len() as f64;
    let mean = window.iter().sum::<f64>() / count.max(1.0);
    let high = window.iter().copied().fold(f64::MIN, f64::max);
    let low = window.iter().copied().fold(f64::MAX, f64::min);
    let middle = (count - 1.0) / 2.0;
    let (mut up, mut down) = (0.0, 0.0);
    for (index, value) in window.iter().enumerate() {
        let distance = index as f64 - middle;
        up += distance * (value - mean);
        down += distance * distance;
    }
    let slope = if down > 0.0 { up / down } else { 0.0 };
    let percent = |value: f64| if mean > 0.0 { value / mean * 100.0 } else { 0.0 };
    let excursion_pct = if window.is_empty() { 0.0 } else { percent(high - low) };
    let slope_pct = percent(slope * (count - 1.0).max(0.0));
    let long_enough = window.len() >= wanted.max(FEWEST_SECONDS);
    let attained = long_enough
        && mean > 0.0
        && excursion_pct <= rule.excursion_pct
        && slope_pct.abs() <= rule.slope_pct;
    let verdict = match (long_enough, attained) {
        (false, _) => "too short",
        (true, true) => "attained",
        (true, false) => "not attained",
    };
    SteadyState {
        attained,
        verdict: verdict.to_owned(),
        window_seconds: u32::try_from(window.len()).unwrap_or(u32::MAX),
        mean_iops: mean,
        excursion_pct,
        slope_pct,
        excursion_limit_pct: rule.excursion_pct,
        slope_limit_pct: rule.slope_pct,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(window_seconds: u32) -> SteadyRule {
        SteadyRule { window_seconds, ..SteadyRule::default() }
    }

    #[test]
    fn a_flat_series_is_steady() {
        let state = judge(&[1000.0, 1010.0, 990.0, 1005.0, 995.0], &rule(0));
        assert!(state.attained, "{state:?}");
        assert!((state.excursion_pct - 2.0).abs() < 1e-9);
        assert_eq!(state.window_seconds, 5);
    }

    #[test]
    fn a_slope_within_the_excursion_is_found() {
        // 15 % from end to end: inside the excursion of 20 %, beyond the slope of 10 %.
        let series: Vec<f64> =
            (0..30).map(|second| 1000.0 + 150.0 * f64::from(second) / 29.0).collect();
        let state = judge(&series, &rule(0));
        assert!(state.excursion_pct < 20.0 && !state.attained);
        assert!((state.slope_pct - 150.0 / 1075.0 * 100.0).abs() < 1e-6, "{}", state.slope_pct);
        assert_eq!(state.verdict, "not attained");
    }

    #[test]
    fn a_saw_without_slope_is_found() {
        let series: Vec<f64> =
            (0..20).map(|second| if second % 2 == 0 { 800.0 } else { 1200.0 }).collect();
        let state = judge(&series, &rule(0));
        assert!(!state.attained && state.slope_pct.abs() < 10.0);
        assert!((state.excursion_pct - 40.0).abs() < 1e-9);
    }

    #[test]
    fn the_window_forgets_the_beginning() {
        let mut series = vec![200.0, 400.0, 800.0];
        series.extend([1000.0; 10]);
        assert!(!judge(&series, &rule(0)).attained);
        assert!(judge(&series, &rule(10)).attained);
    }

    #[test]
    fn too_short_and_idle_are_not_steady() {
        assert_eq!(judge(&[1000.0; 4], &rule(0)).verdict, "too short");
        assert_eq!(judge(&[1000.0; 8], &rule(10)).verdict, "too short");
        assert_eq!(judge(&[], &rule(0)).verdict, "too short");
        assert_eq!(judge(&[0.0; 10], &rule(0)).verdict, "not attained");
    }
}
