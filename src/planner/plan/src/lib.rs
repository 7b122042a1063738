//! Demand, model and catalogue to a plan: how many datastores, how large, on which tier, at what
//! price, which limit binds, what would flip the answer, and where every VM goes.
//!
//! [`make_plan`] is the way in. `scenario` holds the question, `shape` one way of building it,
//! `carry` what a configuration carries by draws of the model, `choose` the choice, `arrange` the
//! machines on it, `sensitivity` what would flip it, `explain` and `tiers` the words.

mod arrange;
mod carry;
pub mod catalog;
mod choose;
mod error;
mod explain;
mod flows;
mod make;
pub mod placement;
mod price;
mod scenario;
mod sensitivity;
mod shape;
pub mod striping;
pub mod tco;
#[cfg(test)]
mod testing;
mod tiers;
pub mod types;
mod words;

pub use catalog::Catalog;
pub use error::Error;
pub use make::make_plan;
pub use types::*;
