//! Scaling models: how throughput and latency follow from hosts, datastores, flows, VMs and block.
//!
//! The recommended model is a smooth minimum (p-norm) of physical ceilings with a hard tier cap
//! outside; the same equation inverted gives latency. See docs/models.md.
//!
//! [`Model`] predicts; [`fit`] makes one from published or measured points and reports how well it
//! and simpler families predict points that they have not seen.

mod built_in;
pub mod curve;
mod error;
mod generic;
mod hull;
mod matrix;
mod model;
mod predict;
mod random;
pub mod types;

pub use error::ModelError;
pub use generic::{SHARED_EXPONENT, StatedCeilings};
pub use hull::{Axis, Hull};
pub use model::{
    Ceiling, Estimate, Exponent, LeaveOneOut, MAX_CEILINGS, Model, Prior, SCHEMA_VERSION, Series,
};
pub use predict::{Draw, LATENCY_UTILISATION_LIMIT};
pub use types::*;
