//! Scaling models: how throughput and latency follow from hosts, datastores, flows, VMs and block.
//!
//! The recommended model is a smooth minimum (p-norm) of physical ceilings with a hard tier cap
//! outside; the same equation inverted gives latency. See docs/models.md.
//!
//! [`Model`] predicts; [`fit`] makes one from published or measured points and reports how well it
//! and simpler families predict points that they have not seen.

mod amva;
mod beliefs;
mod bootstrap;
mod built_in;
mod card;
mod checks;
mod crosstalk;
pub mod curve;
pub mod design;
mod diff;
mod error;
mod exchange;
mod families;
mod fit;
mod generic;
mod hull;
mod hybrid;
mod laws;
mod lm;
mod markdown;
mod matrix;
mod model;
mod model_card;
mod paths;
mod points;
mod pools;
mod posterior;
mod predict;
mod profile;
mod quality;
mod random;
mod report;
mod series;
mod solution;
mod solve;
mod structure;
pub mod study;
pub mod types;

pub use beliefs::{FitRow, PriorRow, PriorTable, PriorTarget, shipped_fits};
pub use bootstrap::{Bootstrap, bootstrap};
pub use diff::{CeilingChange, ModelDiff, SIGNIFICANT_DEVIATIONS};
pub use error::ModelError;
pub use exchange::{EXCHANGE_VERSION, Envelope, SIBLING_SD_LN};
pub use fit::{ExponentChoice, FitOptions, MAX_FITTED_POINTS, fit, fit_model};
pub use generic::{SHARED_EXPONENT, StatedCeilings};
pub use hull::{Axis, Hull};
pub use hybrid::{Hybrid, WorkingSetPoint};
pub use laws::{BlockLine, Work, mixed_rate};
pub use model::{
    Ceiling, Estimate, Exponent, LeaveOneOut, MAX_CEILINGS, Model, Prior, SCHEMA_VERSION, Series,
};
pub use model_card::{CeilingCard, CeilingEvidence, ModelCard, Residual, SOLE_LEVERAGE};
pub use paths::{PathPolicy, effective_paths};
pub use points::{MAX_ROWS, Measured, Point, Statistic, platforms, read_points, select};
pub use pools::{PoolCeilings, PoolLayout, pool_advice, pool_layout};
pub use predict::{Draw, LATENCY_UTILISATION_LIMIT};
pub use profile::{CeilingProfile, WIDEST_FACTOR, profile};
pub use quality::{CLIENT_BUSY, Sample, Verdict};
pub use report::{FamilyReport, FitReport, PointReport};
pub use series::{DISAGREEMENT_LN, KeptOut, SuspectPoint};
pub use types::*;
