//! Measurements one can trust: workloads, histograms, steady state, sweeps, guards.

mod collect;
mod error;
pub mod generate;
pub mod measure;
pub mod random;
pub mod result;
pub mod run;
pub mod text;
mod warnings;
pub mod workload;

pub use error::{Error, Result};
pub use run::run;
pub use workload::Workload;
