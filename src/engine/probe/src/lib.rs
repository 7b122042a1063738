//! Measurements one can trust: workloads, histograms, steady state, sweeps, guards.
//!
//! ```text
//! flags, profile, import ─▶ Workload ─┐                    generate: places, data, stamps
//!                        guard ───────┤                            │
//!                                     ▼                            ▼
//! command::execute ─▶ Runner (run) ─▶ Host: threads or processes ─▶ worker ─▶ Datastore
//!                        ▲  │                                        │
//!                        │  └─ guards, steady state ◀── seconds ─────┘
//!          sweep, curve ─┘
//!                           └─▶ ResultSet ─▶ output: text, JSON, CSV, fio's JSON
//! ```
//!
//! [`run()`] measures one workload on one datastore with threads of this process; [`command::execute`] is the
//! whole of `plimsoll probe`, [`compare`] measures several ways to one array in turns. docs/probe.md says what a
//! figure means.

pub mod client;
mod collect;
pub mod command;
pub mod compare;
pub mod curve;
mod error;
pub mod flags;
pub mod generate;
pub mod guard;
pub mod host;
pub mod import;
pub mod interrupt;
pub mod measure;
pub mod output;
pub mod preflight;
pub mod profile;
pub mod random;
pub mod result;
pub mod run;
pub mod sweep;
pub mod text;
mod warnings;
pub mod workload;

pub use error::{Error, Result};
pub use run::run;
pub use workload::Workload;
