//! The API's description: OpenAPI 3.1, written from the handlers.
//!
//! What holds for every operation is added here and not at each handler: the token, the answers
//! that any guarded operation can give, and that every error is a problem document.

use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    Components, ContentBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, Ref, RefOr,
    Response, ResponseBuilder, Server,
};
use utoipa::{PartialSchema, ToSchema};

use super::problem::{MEDIA_TYPE, Problem};

/// Name of the security scheme.
const SCHEME: &str = "token";

/// Text at the top of the document.
const DESCRIPTION: &str = "Datastore capacity and performance planning. Send an inventory, get the \
number of datastores, their size, tier and price, the limit that binds first, and how sure that is.\n\
\n\
Errors are problem documents (RFC 9457, `application/problem+json`) with a `code` to branch on and \
`errors` that name places. Lists are paged by `limit` and `after`. Times are RFC 3339 in UTC, sizes \
binary, names snake_case. Without a token file the service answers on its own machine only and asks \
for no token.";

/// The document before the handlers add to it.
pub(super) fn base() -> OpenApi {
    OpenApiBuilder::new()
        .info(
            InfoBuilder::new()
                .title("Plimsoll")
                .version(env!("CARGO_PKG_VERSION"))
                .description(Some(DESCRIPTION))
                .license(Some(
                    LicenseBuilder::new()
                        .name("Apache-2.0 OR MIT")
                        .identifier(Some("Apache-2.0 OR MIT"))
                        .build(),
                ))
                .build(),
        )
        .servers(Some([Server::new("/")]))
        .build()
}

/// The whole document.
#[must_use]
pub fn document() -> OpenApi {
    let (_, document) = super::router::documented().split_for_parts();
    finish(document)
}

/// The document as YAML: the file `openapi.yaml`.
///
/// # Errors
/// When a value cannot be written as YAML.
pub fn yaml() -> anyhow::Result<String> {
    to_yaml(&document())
}

pub(super) fn to_yaml(document: &OpenApi) -> anyhow::Result<String> {
    Ok(document.to_yaml()?)
}

/// Adds what holds for every operation.
pub(super) fn finish(mut document: OpenApi) -> OpenApi {
    let components = document.components.get_or_insert_with(Components::new);
    components.schemas.insert(Problem::name().into_owned(), Problem::schema());
    let mut schemas = Vec::new();
    Problem::schemas(&mut schemas);
    components.schemas.extend(schemas);
    components.add_security_scheme(SCHEME, SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
    for (path, item) in &mut document.paths.paths {
        let guarded = path.starts_with("/api/") || path == "/metrics";
        let writes = [&mut item.post, &mut item.put, &mut item.delete];
        for operation in writes.into_iter().filter_map(Option::as_mut) {
            complete(operation, guarded);
        }
        if let Some(operation) = &mut item.get {
            complete(operation, guarded);
        }
    }
    document
}

fn complete(operation: &mut Operation, guarded: bool) {
    let responses = &mut operation.responses.responses;
    let mut add = |status: &str, description: &str| {
        responses.entry(status.to_owned()).or_insert_with(|| RefOr::T(Response::new(description)));
    };
    if guarded {
        add("401", "The token is missing or wrong.");
        operation.security = Some(vec![SecurityRequirement::new(SCHEME, [] as [&str; 0])]);
    }
    add("403", "Refused for a foreign host name or origin.");
    add("500", "The service failed; the log says why.");
    for (status, response) in responses.iter_mut() {
        // What a stream carries is said in words: this version of OpenAPI cannot describe events.
        if let RefOr::T(response) = response
            && let Some(content) = response.content.get_mut("text/event-stream")
        {
            *content = RefOr::T(ContentBuilder::new().build());
        }
        let is_error = status.starts_with('4') || status.starts_with('5');
        if let RefOr::T(response) = response
            && is_error
            && response.content.is_empty()
        {
            let described = ResponseBuilder::from(response.clone()).content(
                MEDIA_TYPE,
                ContentBuilder::new()
                    .schema(Some(RefOr::Ref(Ref::from_schema_name(Problem::name()))))
                    .build(),
            );
            *response = described.build();
        }
    }
}
