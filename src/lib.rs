//! Plimsoll: datastore capacity and performance planning.
//!
//! The map of the system: [`cli`] and [`http`] are the two ways in. Both call
//! [`plimsoll_planner`], which takes files to a report through its stages (ingest, inventory,
//! demand, model, plan, report; a crate each). [`jobs`] runs that in the background for the
//! service, [`store`] keeps what must survive a restart, [`config`] says how.
//!
//! The engine stands beside: [`cli`] starts targets and probes, [`rdma`] gives them their adapters, [`doctor`]
//! says what a machine can do.

pub mod cli;
pub mod config;
pub mod doctor;
pub mod http;
pub mod jobs;
pub mod rdma;
pub mod store;
