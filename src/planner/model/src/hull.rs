//! The convex hull of the measured configurations in logarithms of hosts, datastores and flows.
//!
//! Membership is decided by the distance from the query to the hull (Gilbert's method: walk from a
//! hull point towards the query along the best vertex), which needs no hull construction and works
//! when the points lie in a plane or on a line.

use crate::types::Configuration;
use serde::{Deserialize, Serialize};

/// A query nearer than this to the hull, in logarithms, counts as inside (about 5 %).
const TOLERANCE: f64 = 0.05;

/// Measured configurations.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hull {
    /// Axes of the vertices, out of `hosts`, `datastores`, `flows`, `outstanding`.
    pub axes: Vec<Axis>,
    /// Distinct measured configurations, one value for each axis, not in logarithms.
    pub vertices: Vec<Vec<f64>>,
}

/// One axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// Hosts.
    Hosts,
    /// Datastores.
    Datastores,
    /// Flows in all.
    Flows,
    /// Outstanding I/Os in all.
    Outstanding,
}

impl Axis {
    /// Value of the axis; `None` when it is not stated.
    #[must_use]
    pub fn of(self, configuration: &Configuration) -> Option<f64> {
        match self {
            Self::Hosts => Some(configuration.hosts),
            Self::Datastores => Some(configuration.datastores),
            Self::Flows => Some(configuration.flows),
            Self::Outstanding => configuration.outstanding,
        }
    }
}

impl Hull {
    /// Whether `configuration` lies within the measured ones, over the axes that it states.
    ///
    /// A hull without vertices contains nothing.
    #[must_use]
    pub fn contains(&self, configuration: &Configuration) -> bool {
        let mut query = Vec::with_capacity(self.axes.len());
        let mut columns = Vec::with_capacity(self.axes.len());
        for (column, axis) in self.axes.iter().enumerate() {
            if let Some(value) = axis.of(configuration) {
                query.push(value.ln());
                columns.push(column);
            }
        }
        let vertices: Vec<Vec<f64>> = self
            .vertices
            .iter()
            .map(|vertex| columns.iter().map(|&column| vertex[column].ln()).collect())
            .collect();
        near_hull(&vertices, &query)
    }
}

fn near_hull(vertices: &[Vec<f64>], query: &[f64]) -> bool {
    let Some(first) = vertices.first() else { return false };
    let mut at = first.clone();
    for _ in 0..400 {
        let gap: Vec<f64> = query.iter().zip(&at).map(|(q, a)| q - a).collect();
        let distance = gap.iter().map(|g| g * g).sum::<f64>().sqrt();
        if distance <= TOLERANCE {
            return true;
        }
        // The vertex farthest along the gap; when even it falls short of the query by more than
        // the tolerance, a plane separates them.
        let reach = |vertex: &[f64]| -> f64 {
            vertex.iter().zip(&at).zip(&gap).map(|((v, a), g)| (v - a) * g).sum::<f64>() / distance
        };
        let Some((best, advance)) = vertices
            .iter()
            .map(|vertex| (vertex, reach(vertex)))
            .max_by(|left, right| left.1.total_cmp(&right.1))
        else {
            return false;
        };
        if advance < distance - TOLERANCE {
            return false;
        }
        let direction: Vec<f64> = best.iter().zip(&at).map(|(v, a)| v - a).collect();
        let length: f64 = direction.iter().map(|d| d * d).sum();
        let step =
            (gap.iter().zip(&direction).map(|(g, d)| g * d).sum::<f64>() / length).clamp(0.0, 1.0);
        for (a, d) in at.iter_mut().zip(&direction) {
            *a += step * d;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hosts: f64, datastores: f64) -> Configuration {
        Configuration { hosts, datastores, flows: hosts * datastores, vms: None, outstanding: None }
    }

    fn avs() -> Hull {
        Hull {
            axes: vec![Axis::Hosts, Axis::Datastores],
            vertices: [[1., 1.], [1., 2.], [1., 4.], [1., 8.], [4., 1.], [4., 4.]]
                .iter()
                .map(|v| v.to_vec())
                .collect(),
        }
    }

    #[test]
    fn measured_and_between_are_inside() {
        for (h, d) in [(1., 1.), (4., 4.), (2., 2.), (2., 4.), (1., 6.), (3., 1.)] {
            assert!(avs().contains(&at(h, d)), "{h} x {d}");
        }
    }

    #[test]
    fn beyond_and_across_the_corner_are_outside() {
        for (h, d) in [(8., 4.), (4., 8.), (1., 16.), (2., 8.), (5., 1.)] {
            assert!(!avs().contains(&at(h, d)), "{h} x {d}");
        }
        assert!(!Hull::default().contains(&at(1., 1.)));
    }
}
