//! Who may call.
//!
//! With a token file every address but the pages and the health checks asks for the token, as
//! `Authorization: Bearer …` or as the cookie that `POST /api/v1/session` sets (a browser cannot
//! add headers to a link or an event stream). Without one only this machine is served, and then
//! the danger is a page of another site in a local browser: a host name that is not this machine
//! (DNS rebinding) and a write from another origin are refused.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::App;
use super::problem::Problem;
use crate::config::Token;

/// Name of the cookie that carries the token.
pub const COOKIE: &str = "plimsoll_token";

/// Lets a request through or answers it.
pub async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    match refusal(app.token.as_ref(), &request) {
        Some(problem) => problem.into_response(),
        None => next.run(request).await,
    }
}

fn refusal(token: Option<&Token>, request: &Request) -> Option<Problem> {
    let headers = request.headers();
    let host = headers.get(header::HOST).and_then(|value| value.to_str().ok());
    if token.is_none() && host.is_some_and(|host| !is_this_machine(host)) {
        return Some(Problem::forbidden(
            "host_not_local",
            "without a token file only localhost, 127.0.0.1 and [::1] are served, and the header \
             Host names another",
        ));
    }
    let reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let origin = headers.get(header::ORIGIN).and_then(|value| value.to_str().ok());
    if let (false, Some(origin), Some(host)) = (reads, origin, host) {
        let authority = origin.split_once("://").map_or(origin, |(_, authority)| authority);
        if !authority.eq_ignore_ascii_case(host) {
            return Some(Problem::forbidden(
                "cross_origin",
                "a page of another origin may not change anything here",
            ));
        }
    }
    match token {
        Some(token) if is_guarded(request.uri().path()) && !presents(token, headers) => {
            Some(Problem::unauthorized())
        }
        _ => None,
    }
}

/// What needs the token: all data. Pages hold none.
fn is_guarded(path: &str) -> bool {
    path.starts_with("/api/") || path == "/metrics"
}

fn presents(token: &Token, headers: &HeaderMap) -> bool {
    let bearer = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, candidate)| candidate.trim());
    let cookie = headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(name, _)| *name == COOKIE)
        .map(|(_, candidate)| candidate);
    [bearer, cookie].into_iter().flatten().any(|candidate| token.matches(candidate))
}

fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.to_ascii_lowercase().ends_with(".localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn code(with_token: bool, method: &str, path: &str, headers: &[(&str, &str)]) -> String {
        let token = with_token.then(|| Token::new(TOKEN).unwrap());
        let mut builder = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        let request = builder.body(axum::body::Body::empty()).unwrap();
        refusal(token.as_ref(), &request)
            .map_or("passed".to_owned(), |problem| problem.code.into_owned())
    }

    #[test]
    fn data_needs_the_token_and_pages_do_not() {
        let bearer = format!("Bearer {TOKEN}");
        let cookie = format!("theme=dark; {COOKIE}={TOKEN}");
        let host = ("host", "plan.example:8080");
        let api = "/api/v1/inventories";
        assert_eq!(code(true, "GET", api, &[host]), "unauthorized");
        assert_eq!(code(true, "GET", "/metrics", &[host]), "unauthorized");
        assert_eq!(code(true, "GET", api, &[host, ("authorization", "Bearer x")]), "unauthorized");
        assert_eq!(code(true, "GET", api, &[host, ("authorization", TOKEN)]), "unauthorized");
        assert_eq!(code(true, "GET", api, &[host, ("authorization", &bearer)]), "passed");
        assert_eq!(code(true, "GET", api, &[host, ("cookie", &cookie)]), "passed");
        assert_eq!(code(true, "GET", "/healthz", &[host]), "passed");
        assert_eq!(code(true, "GET", "/", &[host]), "passed");
    }

    #[test]
    fn without_a_token_only_this_machine_is_served() {
        for host in ["localhost:8080", "127.0.0.1", "[::1]:8080", "plan.localhost"] {
            assert_eq!(code(false, "GET", "/", &[("host", host)]), "passed", "{host}");
        }
        for host in ["rebound.example", "192.0.2.1:8080", "localhost.example", "[2001:db8::1]"] {
            assert_eq!(code(false, "GET", "/", &[("host", host)]), "host_not_local", "{host}");
        }
    }

    #[test]
    fn a_page_of_another_origin_cannot_write() {
        let api = "/api/v1/inventories";
        let host = ("host", "localhost:8080");
        let own = ("origin", "http://localhost:8080");
        let other = ("origin", "https://elsewhere.example");
        assert_eq!(code(false, "POST", api, &[host, own]), "passed");
        assert_eq!(code(false, "POST", api, &[host]), "passed");
        assert_eq!(code(false, "POST", api, &[host, other]), "cross_origin");
        assert_eq!(code(false, "POST", api, &[host, ("origin", "null")]), "cross_origin");
        assert_eq!(code(false, "GET", api, &[host, other]), "passed");
    }
}
