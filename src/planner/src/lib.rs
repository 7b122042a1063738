//! The whole way from files to a report, as one pure call and as its single steps.

pub use plimsoll_demand as demand;
pub use plimsoll_ingest as ingest;
pub use plimsoll_inventory as inventory;
pub use plimsoll_model as model;
pub use plimsoll_plan as plan;
pub use plimsoll_report as report;
