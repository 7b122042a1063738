//! Performance exports to time series, joined to the inventory: measured demand and growth.
//!
//! [`read`] recognises each file by its content, reads it ([`types`] says into what) and matches its
//! objects to the [`Inventory`](plimsoll_inventory::Inventory). [`load`] adds aligned intervals up to
//! the measured load that `plimsoll-demand` takes instead of class defaults. [`trend`] turns used
//! space over time into growth and the day a datastore is full.
//!
//! The way of a file: `table` splits text into columns (polars), the readers find counters and
//! objects by `catalog`, `time` and `number` read cells, `collect` keeps samples, `join` matches,
//! `finish` makes series.
//!
//! Invariants: missing is not zero; percentiles and peaks of different objects are never added;
//! lengths found in a file never size memory; what was decided about doubtful input is a problem.

mod catalog;
mod collect;
mod error;
mod finish;
mod join;
mod load;
mod number;
mod read;
mod readers;
mod report;
mod survey;
mod table;
mod time;
pub mod trend;
pub mod types;

pub use error::Error;
pub use load::{LoadOptions, load};
pub use read::{ReadOptions, read};
pub use survey::Survey;
pub use types::*;
