//! What a user can set, for all stages.

use plimsoll_demand::DemandOptions;
use plimsoll_ingest::{Limits, ManualAverages};
use plimsoll_plan::PlanOptions;
use serde::{Deserialize, Serialize};

/// Options of a sizing, as the API and the command line take them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SizingOptions {
    /// Fleet averages, when there is no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub averages: Option<ManualAverages>,
    /// Load and growth.
    pub demand: DemandOptions,
    /// Platform, failure, headroom, limits.
    pub plan: PlanOptions,
    /// Caps on what is read from files; the operator's, not the user's.
    #[serde(skip)]
    pub limits: Limits,
}
