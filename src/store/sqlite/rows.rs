//! Between columns and records.

use jiff::Timestamp;
use serde::de::{DeserializeOwned, Error as _};
use uuid::Uuid;

use crate::store::{Digest, JobKind, JobState, StoreError};

fn unfit(operation: &'static str, message: impl std::fmt::Display) -> StoreError {
    StoreError::Document { operation, source: serde_json::Error::custom(message) }
}

pub(super) fn id(text: &str) -> Result<Uuid, StoreError> {
    Uuid::parse_str(text).map_err(|error| unfit("read an id", error))
}

pub(super) fn time(text: &str) -> Result<Timestamp, StoreError> {
    text.parse().map_err(|error| unfit("read a time", error))
}

pub(super) fn digest(text: String) -> Result<Digest, StoreError> {
    Digest::try_from(text).map_err(|error| unfit("read a hash", error))
}

pub(super) fn document<T: DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text)
        .map_err(|source| StoreError::Document { operation: "read a document", source })
}

pub(super) fn text<T: serde::Serialize>(value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value)
        .map_err(|source| StoreError::Document { operation: "write a document", source })
}

pub(super) fn kind(text: &str) -> Result<JobKind, StoreError> {
    [JobKind::Ingest, JobKind::Plan]
        .into_iter()
        .find(|kind| kind.id() == text)
        .ok_or_else(|| unfit("read a job", "unknown kind"))
}

pub(super) fn state(text: &str) -> Result<JobState, StoreError> {
    [JobState::Queued, JobState::Running, JobState::Done, JobState::Failed, JobState::Cancelled]
        .into_iter()
        .find(|state| state.id() == text)
        .ok_or_else(|| unfit("read a job", "unknown state"))
}

/// Cuts a list fetched with one row too many into a page.
pub(super) fn page<T>(
    mut items: Vec<T>,
    limit: u32,
    position: impl Fn(&T) -> String,
) -> crate::store::Page<T> {
    let limit = limit as usize;
    let more = items.len() > limit;
    items.truncate(limit);
    let next = if more { items.last().map(position) } else { None };
    crate::store::Page { items, next }
}
