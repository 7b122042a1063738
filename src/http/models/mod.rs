//! Models: shipped and fitted ones, fitting, predicting.

pub mod body;
pub mod fit;
pub mod get;
pub mod list;
pub mod predict;
