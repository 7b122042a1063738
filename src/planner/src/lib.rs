//! The whole way from files to a report, as one call.
//!
//! [`survey`] reads files into an inventory; [`add_performance`] joins measurements to it; [`size`] goes on to a plan; [`render`] writes a report;
//! [`advise_iser`] says which hosts can do iSER and what to type.
//! Every arrow between them is a pure function of its inputs: identical files and options give
//! identical bytes. Files are the only thing read, and no clock is asked.

mod error;
mod options;
mod pipeline;

pub use error::{Error, Refusal};
pub use options::SizingOptions;
pub use pipeline::{
    Format, Progress, Sizing, Stage, Survey, add_performance, advise_iser, plan, render, size,
    survey,
};
pub use plimsoll_performance::ReadOptions as PerformanceOptions;
