//! Seek paging: `?limit=100&after=…`; `next` of an answer is the `after` of the next request.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::problem::Problem;

/// Entries of a page when the caller does not say.
const DEFAULT_LIMIT: u32 = 100;

/// Most entries of a page.
const HIGHEST_LIMIT: u32 = 1000;

/// Which page.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// Entries of the page.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
    /// `next` of the page before.
    #[param(max_length = 36)]
    after: Option<String>,
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

impl PageQuery {
    /// Entries of the page.
    pub fn limit(&self) -> Result<u32, Problem> {
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        if (1..=HIGHEST_LIMIT).contains(&limit) {
            return Ok(limit);
        }
        Err(Problem::unreadable("query_unreadable", format!("limit is {limit}"))
            .at("limit", format!("expected 1 to {HIGHEST_LIMIT}")))
    }

    /// Position in a list that is ordered by id.
    pub fn after_id(&self) -> Result<Option<Uuid>, Problem> {
        self.after(|text| Uuid::try_parse(text).ok())
    }

    /// Position in a list that is ordered by number.
    pub fn after_position(&self) -> Result<Option<u64>, Problem> {
        self.after(|text| text.parse().ok())
    }

    fn after<T>(&self, read: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Problem> {
        match self.after.as_deref() {
            None | Some("") => Ok(None),
            Some(text) => read(text).map(Some).ok_or_else(|| {
                Problem::unreadable("query_unreadable", "after is no position of this list")
                    .at("after", "expected the value next of the page before")
            }),
        }
    }
}
