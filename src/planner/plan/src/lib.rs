//! Demand, model and catalogue to a plan: how many datastores, how large, on which tier, at what
//! price, which limit binds, what would flip the answer, and where every VM goes.

pub mod catalog;
mod error;
mod price;
pub mod types;

pub use catalog::Catalog;
pub use error::Error;
pub use types::*;
