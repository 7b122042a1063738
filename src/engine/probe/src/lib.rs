//! Measurements one can trust: workloads, histograms, steady state, sweeps, guards.

mod error;
pub mod generate;
pub mod measure;
pub mod random;
pub mod text;
pub mod workload;

pub use error::{Error, Result};
pub use workload::Workload;
