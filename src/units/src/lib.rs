//! Quantities, identifiers and evidence grades that cross module borders.
//!
//! Sizes of inventories are binary MiB whatever an old header says: the rename from "MB" to "MiB"
//! in RVTools 4.1.2 changed the label only. Rates are IOPS (with their block size stated where the
//! number is used) and MiB/s. A bare `f64` never crosses a module border.

mod evidence;
mod money;
mod rate;
mod size;

pub use evidence::EvidenceGrade;
pub use money::Money;
pub use rate::{Iops, MibPerSec, Milliseconds};
pub use size::{Gib, Mib, Tib};
