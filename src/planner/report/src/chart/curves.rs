//! What the curves over datastore counts have in common: band, level, median, ribbon.

use plimsoll_model::Resource;

use super::canvas::{Plot, Style};
use super::{limit_class, limit_outline};
use crate::figure::CurvePoint;

/// Band with its upper and lower edge.
pub fn band(plot: &Plot<'_, '_>, counts: &[f64], points: &[CurvePoint]) {
    let low: Vec<_> = counts.iter().zip(points).map(|(x, point)| (*x, point.low)).collect();
    let high: Vec<_> = counts.iter().zip(points).map(|(x, point)| (*x, point.high)).collect();
    plot.band(Style("band"), &low, &high);
    plot.line(Style("bandtop"), &high);
}

/// The 95 % level.
pub fn level(plot: &Plot<'_, '_>, counts: &[f64], points: &[CurvePoint]) {
    let low: Vec<_> = counts.iter().zip(points).map(|(x, point)| (*x, point.low)).collect();
    plot.line(Style("floor"), &low);
}

/// The median, cut midway between counts and coloured by the limit, with its mark on each count
/// that has room for one.
pub fn median(plot: &Plot<'_, '_>, counts: &[f64], points: &[CurvePoint]) {
    let at = |index: usize| (counts[index], points[index].median);
    let midway = |one: (f64, f64), other: (f64, f64)| {
        (f64::midpoint(one.0, other.0), f64::midpoint(one.1, other.1))
    };
    for (limit, start, end) in runs(points) {
        let mut line = Vec::new();
        if start > 0 {
            line.push(midway(at(start - 1), at(start)));
        }
        line.extend((start..=end).map(at));
        if end + 1 < points.len() {
            line.push(midway(at(end), at(end + 1)));
        }
        if line.len() > 1 {
            plot.line(Style(limit_class(limit).0), &line);
        }
    }
    let step = match counts {
        [first, second, ..] => plot.at(*second, 0.0).0 - plot.at(*first, 0.0).0,
        _ => f64::INFINITY,
    };
    // A mark is 11 pixels wide; closer counts get every second, third … one.
    let every = (1..).find(|every| f64::from(*every) * step >= 12.0).unwrap_or(1) as usize;
    for (limit, start, end) in runs(points) {
        let marks: Vec<_> =
            (start..=end).filter(|index| index % every == 0 || start == end).map(at).collect();
        plot.marks(Style(limit_class(limit).1), &limit_outline(limit), &marks);
    }
}

/// Runs of points with the same limit: (limit, first, last).
pub fn runs(points: &[CurvePoint]) -> Vec<(Resource, usize, usize)> {
    let mut runs: Vec<(Resource, usize, usize)> = Vec::new();
    for (index, point) in points.iter().enumerate() {
        match runs.last_mut() {
            Some((limit, _, end)) if *limit == point.limit => *end = index,
            _ => runs.push((point.limit, index, index)),
        }
    }
    runs
}
