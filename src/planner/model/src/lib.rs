//! Scaling models: how throughput and latency follow from hosts, datastores, flows, VMs and block.
//!
//! The recommended model is a smooth minimum (p-norm) of physical ceilings with a hard tier cap
//! outside; the same equation inverted gives latency. See docs/models.md.

pub mod types;

pub use types::*;
