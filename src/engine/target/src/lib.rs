//! A running array: configuration, portals, exports, online management.
//!
//! [`Config`] (from `target.toml`, or from [`Quick`]) describes pools, volumes, portals and limits;
//! [`Target::start`] makes it run; [`Running`] tells the addresses and manages it.

pub mod config;
mod error;
mod exports;
mod listen;
mod metrics;
mod protocols;
mod quick;
mod reconcile;
mod remotes;
mod running;
mod size;
mod statistics;
mod units;

pub use config::Config;
pub use error::TargetError;
pub use plimsoll_remote::{Connection, Prefer, Status as RemoteStatus};
pub use quick::{Backing, Quick};
pub use running::{Running, Served, Target};
pub use size::{BadSize, Size};
pub use statistics::{PoolStatistics, SessionStatistics, Statistics, VolumeStatistics};
