//! Seek paging: `?limit=100&after=…`; `next` of an answer is the `after` of the next request.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::problem::Problem;

/// Entries of a page when the caller does not say.
const DEFAULT_LIMIT: u32 = 100;

/// Most entries of a page.
const HIGHEST_LIMIT: u32 = 1000;

/// Which page of a list that is ordered by id.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct NewestQuery {
    /// Entries of the page.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// `next` of the page before.
    pub after: Option<Uuid>,
}

/// Which page of a list that is ordered by position.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// Entries of the page.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// `next` of the page before.
    #[param(minimum = 0, maximum = 4_294_967_295_i64)]
    pub after: Option<u32>,
}

/// One page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct PageBody<T> {
    /// The entries.
    pub items: Vec<T>,
    /// What to ask for the next page `after`; absent on the last page.
    #[schema(nullable = false)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl NewestQuery {
    /// Entries of the page.
    pub fn limit(&self) -> Result<u32, Problem> {
        limit(self.limit)
    }
}

impl PageQuery {
    /// Entries of the page.
    pub fn limit(&self) -> Result<u32, Problem> {
        limit(self.limit)
    }
}

fn limit(asked: Option<u32>) -> Result<u32, Problem> {
    let limit = asked.unwrap_or(DEFAULT_LIMIT);
    if (1..=HIGHEST_LIMIT).contains(&limit) {
        return Ok(limit);
    }
    Err(Problem::unreadable("query_unreadable", format!("limit is {limit}"))
        .at("limit", format!("expected 1 to {HIGHEST_LIMIT}")))
}
