//! iSER on ESXi: who can do it, why others cannot, and what to type.
//!
//! [`hosts`] takes the facts out of an export; by hand a [`Host`] is made of flags. [`advise`] judges each
//! and puts hosts with the same steps together. Sources: the founding paper on iSER for a NAS, VMware's
//! documentation of 6.7 to 8.0, and package lists; each row of the catalogue is dated.

mod advice;
mod catalog;
mod facts;
mod judge;
mod render;
mod settings;
mod steps;

pub use advice::{Advice, Check, Group, Requirement, SCHEMA_VERSION, Step, Verdict};
pub use catalog::{
    Catalog, Contradiction, Driver, DriverSource, Gain, Published, Rdma, Results, Statement,
    Version,
};
pub use facts::{Host, Nic, hosts};
pub use judge::advise;
pub use settings::{SettingError, Settings};
