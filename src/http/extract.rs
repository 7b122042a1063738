//! Extractors whose rejections are problem documents with the place of the fault.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use uuid::Uuid;

use super::problem::Problem;
use crate::store::Fault;

/// Largest JSON body: options and averages are small, a rules file is the largest part.
pub const JSON_LIMIT_BYTES: usize = 1 << 20;

/// Largest CSV body of measured points.
pub const CSV_LIMIT_BYTES: usize = 4 << 20;

/// A JSON body.
pub struct Json<T>(pub T);

/// A CSV body.
pub struct Csv(pub Bytes);

/// A query string.
pub struct Query<T>(pub T);

/// The id in the path.
pub struct Id(pub Uuid);

/// The text in the path.
pub struct Name(pub String);

/// Whether the body's type is one of these.
pub fn has_type(headers: &HeaderMap, accepted: &[&str]) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .is_some_and(|value| {
            accepted.iter().any(|accepted| value.trim().eq_ignore_ascii_case(accepted))
        })
}

async fn bytes(request: Request, limit: usize) -> Result<Bytes, Problem> {
    axum::body::to_bytes(request.into_body(), limit)
        .await
        .map_err(|_| Problem::too_large(limit as u64, "the body"))
}

/// Reads JSON and says where it does not fit, as a JSON pointer under `root`.
pub fn json<T: DeserializeOwned>(bytes: &[u8], root: &str) -> Result<T, Problem> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let Object(value) = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let pointer = pointer(root, error.path());
        let cause = error.into_inner();
        let message = cause.to_string();
        if cause.is_data() {
            Problem::unfit("values_do_not_fit", format!("{}: {message}", named(&pointer)))
                .at(pointer, message)
        } else {
            Problem::unreadable("json_unreadable", format!("not JSON: {message}"))
                .at(pointer, message)
        }
    })?;
    deserializer
        .end()
        .map_err(|error| Problem::unreadable("json_unreadable", format!("not JSON: {error}")))?;
    Ok(value)
}

/// A value that is written as an object. Derived readers of structs take an array of the fields'
/// values too, which the API's description does not offer.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = T;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(members))
            }
        }

        deserializer.deserialize_map(Members(std::marker::PhantomData)).map(Self)
    }
}

/// Reads a member that is an object.
pub fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Object::deserialize(deserializer).map(|Object(value)| value)
}

/// Reads a member that is an object or `null`.
pub fn optional_object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Option::<Object<T>>::deserialize(deserializer).map(|member| member.map(|Object(value)| value))
}

/// Reads a list of objects.
pub fn objects<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    Vec::<Object<T>>::deserialize(deserializer)
        .map(|list| list.into_iter().map(|Object(value)| value).collect())
}

fn named(pointer: &str) -> &str {
    if pointer.is_empty() { "the body" } else { pointer }
}

fn pointer(root: &str, path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let mut pointer = root.to_owned();
    for segment in path {
        let part = match segment {
            Segment::Seq { index } => index.to_string(),
            Segment::Map { key } => key.replace('~', "~0").replace('/', "~1"),
            Segment::Enum { variant } => variant.clone(),
            Segment::Unknown => continue,
        };
        pointer.push('/');
        pointer.push_str(&part);
    }
    pointer
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        if !has_type(request.headers(), &["application/json"]) {
            return Err(Problem::unsupported_media_type("application/json"));
        }
        let bytes = bytes(request, JSON_LIMIT_BYTES).await?;
        json(&bytes, "").map(Self)
    }
}

impl<S: Send + Sync> FromRequest<S> for Csv {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        if !has_type(request.headers(), &["text/csv"]) {
            return Err(Problem::unsupported_media_type("text/csv"));
        }
        bytes(request, CSV_LIMIT_BYTES).await.map(Self)
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        axum::extract::Query::<T>::try_from_uri(&parts.uri)
            .map(|axum::extract::Query(value)| Self(value))
            .map_err(|rejection| {
                Problem::unreadable("query_unreadable", rejection.body_text())
                    .with(vec![Fault::new("query", rejection.body_text())])
            })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Name(text) = Name::from_request_parts(parts, state).await?;
        // Only the usual form: one object has one address.
        match Uuid::try_parse(&text) {
            Ok(id) if text.len() == 36 => Ok(Self(id)),
            _ => Err(Problem::unreadable("id_unreadable", "the id in the path is no UUID")
                .at("id", "expected a UUID such as 0199b3d2-7c11-7cc3-98d4-0a9be1f4a2c7")),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        axum::extract::Path::<String>::from_request_parts(parts, state)
            .await
            .map(|axum::extract::Path(name)| Self(name))
            .map_err(|rejection| Problem::unreadable("path_unreadable", rejection.body_text()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[expect(dead_code, reason = "only its reading is looked at")]
    struct Outer {
        plan: Inner,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its reading is looked at")]
    struct Inner {
        hosts: u32,
    }

    #[test]
    fn faults_are_placed_by_pointer() {
        let problem = json::<Outer>(br#"{"plan":{"hosts":"four"}}"#, "").unwrap_err();
        assert_eq!((problem.status, problem.errors[0].at.as_str()), (422, "/plan/hosts"));
        let problem = json::<Outer>(br#"{"plan":{"host":4}}"#, "/options").unwrap_err();
        assert_eq!((problem.status, problem.errors[0].at.as_str()), (422, "/options/plan/host"));
        let problem = json::<Outer>(br#"{"plan":{"#, "").unwrap_err();
        assert_eq!((problem.status, problem.code.as_ref()), (400, "json_unreadable"));
        assert_eq!(json::<Outer>(br#"{"plan":{"hosts":4}} x"#, "").unwrap_err().status, 400);
        assert_eq!(json::<Outer>(br#"[{"hosts":4}]"#, "").unwrap_err().status, 422);
    }
}
