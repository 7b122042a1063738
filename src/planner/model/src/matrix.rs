//! Dense symmetric matrices of a dozen rows: Cholesky factor, solve, inverse.
//!
//! The fits here have at most a few dozen parameters, so a linear-algebra library would cost more
//! to build than it saves.

/// A square matrix in row-major order.
#[derive(Debug, Clone, PartialEq)]
pub struct Square {
    /// Rows and columns.
    pub size: usize,
    /// Values, row by row.
    pub values: Vec<f64>,
}

impl Square {
    /// All zeros.
    #[must_use]
    pub fn zeros(size: usize) -> Self {
        Self { size, values: vec![0.0; size * size] }
    }

    /// Value at `row`, `column`.
    #[must_use]
    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.size + column]
    }

    /// Adds `value` at `row`, `column`.
    pub fn add(&mut self, row: usize, column: usize, value: f64) {
        self.values[row * self.size + column] += value;
    }

    /// Lower Cholesky factor; `None` when the matrix is not positive definite.
    #[must_use]
    pub fn cholesky(&self) -> Option<Self> {
        let n = self.size;
        let mut factor = self.clone();
        for row in 0..n {
            for column in 0..=row {
                let mut sum = self.at(row, column);
                for k in 0..column {
                    sum -= factor.values[row * n + k] * factor.values[column * n + k];
                }
                if row == column {
                    if sum <= 0.0 || !sum.is_finite() {
                        return None;
                    }
                    factor.values[row * n + row] = sum.sqrt();
                } else {
                    factor.values[row * n + column] = sum / factor.values[column * n + column];
                }
            }
            for column in row + 1..n {
                factor.values[row * n + column] = 0.0;
            }
        }
        Some(factor)
    }

    /// Solves `L Lᵀ x = b` in place, `self` being the lower factor `L`.
    pub fn solve_factored(&self, b: &mut [f64]) {
        let n = self.size;
        for row in 0..n {
            let known: f64 = b[..row].iter().enumerate().map(|(k, x)| self.at(row, k) * x).sum();
            b[row] = (b[row] - known) / self.at(row, row);
        }
        for row in (0..n).rev() {
            let known: f64 =
                b.iter().enumerate().skip(row + 1).map(|(k, x)| self.at(k, row) * x).sum();
            b[row] = (b[row] - known) / self.at(row, row);
        }
    }

    /// Inverse of a positive definite matrix; `None` when it is not.
    #[must_use]
    pub fn inverse(&self) -> Option<Self> {
        let factor = self.cholesky()?;
        let n = self.size;
        let mut inverse = Self::zeros(n);
        let mut unit = vec![0.0; n];
        for column in 0..n {
            unit.fill(0.0);
            unit[column] = 1.0;
            factor.solve_factored(&mut unit);
            for (row, &value) in unit.iter().enumerate() {
                inverse.values[row * n + column] = value;
            }
        }
        Some(inverse)
    }

    /// `vᵀ A v`.
    #[must_use]
    pub fn quadratic(&self, v: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (row, &left) in v.iter().enumerate() {
            if left == 0.0 {
                continue;
            }
            for (column, &right) in v.iter().enumerate() {
                sum += left * right * self.at(row, column);
            }
        }
        sum
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn inverse_times_matrix_is_identity() {
        let a = Square { size: 3, values: vec![4.0, 1.0, 0.5, 1.0, 3.0, 0.2, 0.5, 0.2, 2.0] };
        let inverse = a.inverse().unwrap();
        for row in 0..3 {
            for column in 0..3 {
                let value: f64 = (0..3).map(|k| a.at(row, k) * inverse.at(k, column)).sum();
                let identity = if row == column { 1.0 } else { 0.0 };
                assert!((value - identity).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn indefinite_is_refused() {
        assert!(Square { size: 2, values: vec![1.0, 2.0, 2.0, 1.0] }.cholesky().is_none());
    }
}
