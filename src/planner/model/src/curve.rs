//! The smooth bottleneck: a p-norm of ceilings, its shares, gradient and latency inverse.
//!
//! `X = [ sum_k (n_k C_k)^-p ]^(-1/p)`. With p = 1 service times add, with p to infinity the
//! smallest ceiling alone counts. Everything is computed in logarithms, so that ceilings of 1 and
//! of 10^6 do not lose digits. References: docs/models.md, section 1.

/// Logarithm of the smooth minimum of `ln_ceilings` (each `ln(n_k C_k)`), and through `shares`
/// each limit's share `w_k`, which is also `d ln X / d ln C_k`.
///
/// `exponent` may be infinite: then the smallest ceiling has share 1. Empty input gives infinity.
pub fn ln_smooth_minimum(ln_ceilings: &[f64], exponent: f64, shares: &mut [f64]) -> f64 {
    let smallest = ln_ceilings.iter().copied().fold(f64::INFINITY, f64::min);
    if !smallest.is_finite() {
        shares.fill(0.0);
        return smallest;
    }
    if exponent.is_infinite() {
        let binding = ln_ceilings.iter().position(|&value| value <= smallest).unwrap_or(0);
        for (index, share) in shares.iter_mut().enumerate() {
            *share = if index == binding { 1.0 } else { 0.0 };
        }
        return smallest;
    }
    let mut sum = 0.0;
    for (share, &value) in shares.iter_mut().zip(ln_ceilings) {
        *share = (-exponent * (value - smallest)).exp();
        sum += *share;
    }
    for share in shares.iter_mut() {
        *share /= sum;
    }
    smallest - sum.ln() / exponent
}

/// `d ln X / d p` at the point where `ln_smooth_minimum` gave `ln_x` and `shares`.
pub fn exponent_gradient(ln_ceilings: &[f64], exponent: f64, ln_x: f64, shares: &[f64]) -> f64 {
    if exponent.is_infinite() {
        return 0.0;
    }
    // ln X = -(1/p) ln S with S = sum exp(-p l_k); d/dp = ln S / p^2 + (1/p) sum w_k l_k.
    let mean: f64 = shares.iter().zip(ln_ceilings).map(|(w, l)| w * l).sum();
    (mean - ln_x) / exponent
}

/// Second-order terms of the delta method: how far the median of `ln X` lies below its value at
/// the centre when the ceilings vary, and the variance that the curvature adds.
///
/// The smooth minimum is concave in `ln C`, with Hessian `-p (diag w - w w^T)`: where two limits
/// are near each other, the lower of two uncertain ones is lower than either alone.
/// `covariance(i, j)` is that of the terms `i` and `j`.
pub fn curvature(
    shares: &[f64],
    exponent: f64,
    first_order_variance: f64,
    covariance: impl Fn(usize, usize) -> f64,
) -> (f64, f64) {
    if exponent.is_infinite() {
        return (0.0, 0.0);
    }
    let n = shares.len();
    let hessian = |i: usize, j: usize| {
        let diagonal = if i == j { shares[i] } else { 0.0 };
        -exponent * (diagonal - shares[i] * shares[j])
    };
    let product =
        |i: usize, j: usize| (0..n).map(|k| hessian(i, k) * covariance(k, j)).sum::<f64>();
    let mut shift = 0.0;
    let mut variance = 0.0;
    for i in 0..n {
        shift += 0.5 * product(i, i);
        for j in 0..n {
            variance += 0.5 * product(i, j) * product(j, i);
        }
    }
    // Second order is only a correction: beyond half a deviation it is not trusted further.
    let limit = 0.5 * first_order_variance.max(0.0).sqrt();
    (shift.clamp(-limit, limit), variance.clamp(0.0, first_order_variance.max(0.0)))
}

/// Utilisation `[ sum_k (load / (n_k C_k))^p ]^(1/p)` of the joint limit: load over the smooth
/// minimum.
pub fn utilisation(ln_ceilings: &[f64], exponent: f64, load: f64) -> f64 {
    let mut shares = vec![0.0; ln_ceilings.len()];
    let ln_x = ln_smooth_minimum(ln_ceilings, exponent, &mut shares);
    if load <= 0.0 { 0.0 } else { (load.ln() - ln_x).exp() }
}

/// Response time over the unloaded response time at `utilisation` of the limits (the outstanding
/// limit left out): `(1 - u^p)^(-1/p)`; infinite from 1 on.
pub fn latency_factor(utilisation: f64, exponent: f64) -> f64 {
    if utilisation >= 1.0 {
        return f64::INFINITY;
    }
    if exponent.is_infinite() {
        return 1.0;
    }
    (1.0 - utilisation.powf(exponent)).powf(-1.0 / exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_one_adds_service_times() {
        let ln = [100.0_f64.ln(), 50.0_f64.ln()];
        let mut shares = [0.0; 2];
        let x = ln_smooth_minimum(&ln, 1.0, &mut shares).exp();
        assert!((x - 1.0 / (1.0 / 100.0 + 1.0 / 50.0)).abs() < 1e-9);
        assert!((shares[1] - 2.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn infinite_p_is_the_hard_minimum() {
        let ln = [100.0_f64.ln(), 50.0_f64.ln()];
        let mut shares = [0.0; 2];
        assert!((ln_smooth_minimum(&ln, f64::INFINITY, &mut shares).exp() - 50.0).abs() < 1e-9);
        assert_eq!(shares, [0.0, 1.0]);
    }

    #[test]
    fn gradient_in_p_matches_a_difference() {
        let ln = [1.0, 1.3, 2.0];
        let mut shares = [0.0; 3];
        let x = ln_smooth_minimum(&ln, 2.5, &mut shares);
        let gradient = exponent_gradient(&ln, 2.5, x, &shares);
        let up = ln_smooth_minimum(&ln, 2.5 + 1e-6, &mut shares);
        let down = ln_smooth_minimum(&ln, 2.5 - 1e-6, &mut shares);
        assert!((gradient - (up - down) / 2e-6).abs() < 1e-7);
    }

    #[test]
    fn closed_and_open_forms_agree() {
        // Closed loop with N outstanding: X from the norm with the extra term N/R0, R = N/X. The
        // open form at that X must give the same R.
        let (r0, n, p) = (0.5e-3_f64, 64.0_f64, 2.5);
        let ceilings = [200_000.0_f64.ln(), 150_000.0_f64.ln()];
        let with_n = [ceilings[0], ceilings[1], (n / r0).ln()];
        let mut shares = [0.0; 3];
        let x = ln_smooth_minimum(&with_n, p, &mut shares).exp();
        let open = r0 * latency_factor(utilisation(&ceilings, p, x), p);
        assert!((open - n / x).abs() / open < 1e-9);
    }
}
