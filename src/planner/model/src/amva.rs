//! Approximate mean value analysis of a closed network with a variability of its own, as one of the
//! families to compare with.
//!
//! `N` outstanding I/Os: `N = X R0 + sum n_k [u + s u^2 g / (1 - u g)]` with `u = X / (n_k C_k)` and
//! `g = (N - 1) / N`. `s = 0` is the hard minimum, `s = 1` exponential service (Schweitzer 1979,
//! Bard 1979). It needs N for every point; published tables rarely state it.

use crate::lm::{LinearPrior, Problem, Row, minimise};
use crate::series::{Observation, SeriesData};
use crate::types::Resource;

/// Whether every point states how much was outstanding.
pub(crate) fn applies(series: &SeriesData) -> bool {
    series.observations.iter().all(|observation| observation.outstanding.is_some())
}

/// Parameters for stations at `resources`: the unloaded time and the variability besides.
pub(crate) fn size(resources: &[Resource]) -> usize {
    resources.iter().filter(|resource| **resource != Resource::Concurrency).count() + 2
}

/// Predicts observation `index` from the others.
pub(crate) fn left_out(series: &SeriesData, resources: &[Resource], index: usize) -> Option<f64> {
    let network = Network::new(series, resources, Some(index));
    let parameters = network.solve()?;
    let row = network.customers(&series.observations[index])?;
    network.ln_rate(&row, &parameters, &mut Vec::new()).map(f64::exp)
}

/// One point: outstanding, instances of each station, logarithm of the rate.
struct Customers {
    outstanding: f64,
    instances: Vec<Option<f64>>,
    ln_value: f64,
}

struct Network {
    stations: Vec<Resource>,
    rows: Vec<Customers>,
    starts: Vec<f64>,
    walls: Vec<LinearPrior>,
}

impl Network {
    fn new(series: &SeriesData, resources: &[Resource], skip: Option<usize>) -> Self {
        let stations: Vec<Resource> =
            resources.iter().copied().filter(|r| *r != Resource::Concurrency).collect();
        let mut network =
            Self { stations, rows: Vec::new(), starts: Vec::new(), walls: Vec::new() };
        for (index, observation) in series.observations.iter().enumerate() {
            if skip != Some(index) {
                network.rows.extend(network.customers(observation));
            }
        }
        let most = |value: &dyn Fn(&Customers) -> Option<f64>| {
            network.rows.iter().filter_map(value).fold(f64::NEG_INFINITY, f64::max)
        };
        let mut starts: Vec<f64> = (0..network.stations.len())
            .map(|k| most(&|row| Some(row.ln_value - row.instances[k]?.ln())) + 1.2_f64.ln())
            .collect();
        // The unloaded time by the largest rate that one outstanding I/O was seen to bring.
        starts.push(-most(&|row| Some(row.ln_value - row.outstanding.ln())));
        starts.push(0.0);
        // Walls, not beliefs: a station that no point loads must not run off.
        network.walls = starts
            .iter()
            .enumerate()
            .map(|(k, &centre)| LinearPrior { terms: vec![(k, 1.0)], centre, sd: 2.0 })
            .collect();
        network.starts = starts;
        network
    }

    fn customers(&self, observation: &Observation) -> Option<Customers> {
        Some(Customers {
            outstanding: observation.outstanding?,
            instances: self.stations.iter().map(|&r| observation.instances(r)).collect(),
            ln_value: observation.ln_value,
        })
    }

    /// `ln X` by Newton in a bracket (the left side grows with X) and its gradient by the implicit function.
    fn ln_rate(
        &self,
        row: &Customers,
        parameters: &[f64],
        gradient: &mut Vec<(usize, f64)>,
    ) -> Option<f64> {
        let n = row.outstanding;
        let g = ((n - 1.0) / n).max(0.0);
        let stations = self.stations.len();
        let (unloaded, s) = (parameters[stations].exp(), parameters[stations + 1].exp());
        // (instances, what they carry together) of each station that the point states.
        let carried: Vec<Option<(f64, f64)>> = (0..stations)
            .map(|k| row.instances[k].map(|instances| (instances, instances * parameters[k].exp())))
            .collect();
        let loads = |x: f64, k: usize| carried[k].map(|(instances, all)| (instances, x / all));
        // What is held at a rate, and its derivative in ln X.
        let held = |x: f64| -> (f64, f64) {
            let (mut sum, mut slope) = (x * unloaded, x * unloaded);
            for (instances, u) in (0..stations).filter_map(|k| loads(x, k)) {
                let idle = 1.0 - u * g;
                if idle <= 0.0 {
                    return (f64::INFINITY, f64::INFINITY);
                }
                sum += instances * (u + s * u * u * g / idle);
                slope += instances * u * (1.0 + s * g * u * (2.0 - u * g) / (idle * idle));
            }
            (sum, slope)
        };
        // Newton on ln of what is held, kept within a bracket that halves when it would leave it.
        let mut high = (n / unloaded).ln();
        let mut low = high - 25.0;
        let mut at = high;
        for _ in 0..100 {
            let (sum, slope) = held(at.exp());
            if sum > n {
                high = at;
            } else {
                low = at;
            }
            let gap = (sum / n).ln();
            if gap.abs() < 1e-12 {
                break;
            }
            let next = at - gap * sum / slope;
            at = if next > low && next < high { next } else { 0.5 * (low + high) };
        }
        let x = at.exp();
        let mut slope_in_x = x * unloaded;
        let mut slope_in_s = 0.0;
        for k in 0..stations {
            let Some((instances, u)) = loads(x, k) else { continue };
            let idle = (1.0 - u * g).max(1e-12);
            let slope = instances * u * (1.0 + s * g * u * (2.0 - u * g) / (idle * idle));
            slope_in_x += slope;
            slope_in_s += instances * s * u * u * g / idle;
            gradient.push((k, slope));
        }
        if !slope_in_x.is_finite() || slope_in_x <= 0.0 {
            return None;
        }
        gradient.push((stations, -x * unloaded));
        gradient.push((stations + 1, -slope_in_s));
        gradient.iter_mut().for_each(|(_, slope)| *slope /= slope_in_x);
        Some(at)
    }

    fn solve(&self) -> Option<Vec<f64>> {
        let stations = self.stations.len();
        [(0.0, 0.0), (0.7, -1.5), (0.0, -3.0)]
            .into_iter()
            .filter_map(|(up, variability)| {
                let mut start = self.starts.clone();
                start[..stations].iter_mut().for_each(|value| *value += up);
                start[stations + 1] = variability;
                minimise(self, &start)
            })
            .min_by(|left, right| left.cost.total_cmp(&right.cost))
            .map(|optimum| optimum.parameters)
    }
}

impl Problem for Network {
    fn size(&self) -> usize {
        self.stations.len() + 2
    }

    fn residuals(&self) -> usize {
        self.rows.len()
    }

    fn row(&self, index: usize, parameters: &[f64], row: &mut Row) {
        let customers = &self.rows[index];
        let ln_rate = self.ln_rate(customers, parameters, &mut row.gradient);
        row.residual = ln_rate.map_or(f64::NAN, |ln| ln - customers.ln_value);
    }

    fn priors(&self) -> &[LinearPrior] {
        &self.walls
    }

    fn sigma(&self) -> f64 {
        0.05
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn network() -> Network {
        Network {
            stations: vec![Resource::Pool],
            rows: Vec::new(),
            starts: Vec::new(),
            walls: Vec::new(),
        }
    }

    fn at(outstanding: f64) -> Customers {
        Customers { outstanding, instances: vec![Some(1.0)], ln_value: 0.0 }
    }

    #[test]
    fn exponential_service_is_schweitzers_approximation() {
        // One station of 1 ms and a delay of 4 ms, 5 customers, s = 1: R = D (1 + Q (N - 1) / N)
        // iterated to its fixed point.
        let (d, z, n) = (0.001_f64, 0.004_f64, 5.0_f64);
        let mut q = 0.5;
        for _ in 0..10_000 {
            let r = d * (1.0 + q * (n - 1.0) / n);
            q = n * r / (z + r);
        }
        let x = n / (z + d * (1.0 + q * (n - 1.0) / n));
        let parameters = [1000.0_f64.ln(), z.ln(), 0.0];
        let own = network().ln_rate(&at(n), &parameters, &mut Vec::new()).unwrap().exp();
        assert!((own / x - 1.0).abs() < 1e-9, "{own} {x}");
    }

    #[test]
    fn no_variability_is_the_hard_minimum() {
        let parameters = [1000.0_f64.ln(), 0.004_f64.ln(), -40.0];
        let rate = |n: f64| network().ln_rate(&at(n), &parameters, &mut Vec::new()).unwrap().exp();
        // N / (R0 + D) below the station's rate, the station's N / (N - 1) above it at most.
        assert!((rate(2.0) / (2.0 / 0.005) - 1.0).abs() < 1e-9);
        assert!((rate(1000.0) / 1000.0 - 1.0).abs() < 2e-3);
    }

    #[test]
    fn gradient_matches_differences() {
        let parameters = [900.0_f64.ln(), 0.003_f64.ln(), -0.7];
        let mut gradient = Vec::new();
        network().ln_rate(&at(6.0), &parameters, &mut gradient).unwrap();
        for &(k, slope) in &gradient {
            let moved = |by: f64| {
                let mut other = parameters;
                other[k] += by;
                network().ln_rate(&at(6.0), &other, &mut Vec::new()).unwrap()
            };
            let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((slope - difference).abs() < 1e-6, "{k}: {slope} {difference}");
        }
    }
}
