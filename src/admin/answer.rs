//! Which path is answered with what.

use std::time::SystemTime;

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    header::{self, HeaderName, HeaderValue},
};

use super::{Scope, View, page};
use crate::observe::metrics::CONTENT_TYPE;

const TEXT: &str = "text/plain; charset=utf-8";

/// On every answer: nothing is cached, guessed, framed or told to others.
const FIELDS: [(HeaderName, &str); 4] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// What a browser may do with an answer that is no page.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

/// Answers one request. Its body, if it has one, is never read.
pub(super) fn answer<B>(request: &Request<B>, scope: Scope, view: &View) -> Response<Full<Bytes>> {
    let path = request.uri().path();
    let known = matches!(path, "/livez" | "/readyz" | "/metrics")
        || (scope == Scope::Everything && matches!(path, "/" | "/status"));
    if !known {
        return response(StatusCode::NOT_FOUND, TEXT, "not found\n".to_owned());
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refused = response(StatusCode::METHOD_NOT_ALLOWED, TEXT, "GET or HEAD\n".to_owned());
        refused.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refused;
    }
    let now = SystemTime::now();
    match path {
        "/livez" => response(StatusCode::OK, TEXT, "alive\n".to_owned()),
        "/readyz" => {
            let readiness = view.observer.readiness(now);
            let status = if readiness.is_ready() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            response(status, TEXT, readiness.to_text(has(request, "verbose")))
        }
        "/metrics" => response(StatusCode::OK, CONTENT_TYPE, view.observer.expose(now)),
        "/status" => {
            let status = view.observer.status(now, (view.connections)());
            let body = if has(request, "pretty") {
                serde_json::to_string_pretty(&status)
            } else {
                serde_json::to_string(&status)
            };
            match body {
                Ok(body) => response(StatusCode::OK, "application/json", body + "\n"),
                // Only a map with keys that are no strings fails, and there is none.
                Err(_) => {
                    response(StatusCode::INTERNAL_SERVER_ERROR, TEXT, "the status cannot be written\n".to_owned())
                }
            }
        }
        _ => {
            let status = view.observer.status(now, (view.connections)());
            let mut answer = response(StatusCode::OK, "text/html; charset=utf-8", page::render(&status));
            let policy = HeaderValue::from_static(page::POLICY);
            answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
            answer
        }
    }
}

fn response(status: StatusCode, content_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(NOTHING));
    for (name, value) in FIELDS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Whether the query has this flag, with or without a value.
fn has<B>(request: &Request<B>, flag: &str) -> bool {
    let query = request.uri().query().unwrap_or_default();
    query.split('&').any(|part| part.split('=').next() == Some(flag))
}
