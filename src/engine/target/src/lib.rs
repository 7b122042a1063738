//! A running array: configuration, portals, exports, online management.
//!
//! [`Config`] (from `target.toml`, or from [`Quick`]) describes pools, volumes, portals and limits;
//! [`Target::start`] makes it run; [`Running`] tells the addresses and manages it.

mod config;
mod error;
mod quick;
mod running;
mod size;

pub use config::Config;
pub use error::TargetError;
pub use quick::{Backing, Quick};
pub use running::{Running, Served, Statistics, Target};
pub use size::{BadSize, Size};
