//! What requests that create something share: the key that makes them count once, the address of
//! the result.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::http::problem::Problem;
use crate::store::{Digest, IdempotencyKey};

/// Characters of a key.
const KEY_CHARACTERS: usize = 200;

/// The caller's key, if it sent one, with the hash of what it asks for.
pub fn idempotency_key(
    headers: &HeaderMap,
    scope: &str,
    request: &[u8],
) -> Result<Option<IdempotencyKey>, Problem> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let key = value
        .to_str()
        .ok()
        .filter(|key| (1..=KEY_CHARACTERS).contains(&key.len()))
        .filter(|key| key.bytes().all(|byte| byte.is_ascii_graphic()))
        .ok_or_else(|| {
            Problem::unreadable("idempotency_key_unreadable", "the header Idempotency-Key").at(
                "Idempotency-Key",
                format!("expected 1 to {KEY_CHARACTERS} characters from ! to ~"),
            )
        })?;
    Ok(Some(IdempotencyKey { key: format!("{scope}/{key}"), fingerprint: Digest::of(request) }))
}

/// The header Location.
pub fn location(path: &str) -> [(HeaderName, HeaderValue); 1] {
    // A path of fixed words and a UUID is a valid header.
    let value = HeaderValue::from_str(path).unwrap_or_else(|_| HeaderValue::from_static("/"));
    [(header::LOCATION, value)]
}
