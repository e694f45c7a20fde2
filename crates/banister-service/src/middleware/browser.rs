//! Refusal of requests that a page of another site makes a browser send. Without tokens a browser on this
//! machine may do whatever its user may; no page but our own may borrow that.

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};

use crate::middleware::auth::host_of;
use crate::problem::Problem;

/// Header that stands for a content type where there is no body. Browsers send neither for another site
/// without asking us first, and we never allow it.
const OWN_HEADER: HeaderName = HeaderName::from_static("x-banister-request");
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Media types that browsers send to other sites without asking first.
const SIMPLE: [&str; 4] = [
    "",
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
];

/// Refuses a request that comes from a page of another site, or that such a page could make. Reading is
/// checked too where no token is needed.
pub fn check(request: &Parts, takes_file: bool, needs_no_token: bool) -> Result<(), Problem> {
    let changes = !matches!(request.method, Method::GET | Method::HEAD | Method::OPTIONS);
    if changes || needs_no_token {
        check_site(request)?;
    }
    if changes {
        check_type(&request.headers, takes_file)?;
    }
    Ok(())
}

/// Refuses requests that a browser says, or an origin shows, to be of another site.
fn check_site(request: &Parts) -> Result<(), Problem> {
    let headers = &request.headers;
    let said = |name: &HeaderName| {
        let value = headers.get(name)?;
        Some(value.to_str().unwrap_or("?"))
    };
    match said(&SITE) {
        // The browser vouches for it, also behind a proxy that changes the host's name.
        Some("same-origin" | "none") => return Ok(()),
        Some(site) => {
            return Err(foreign(
                "sec-fetch-site",
                site,
                "must be same-origin or none",
            ));
        }
        None => {}
    }
    let Some(origin) = said(&header::ORIGIN) else {
        return Ok(());
    };
    let host = host_of(request).unwrap_or_default();
    let from = origin.split_once("://").map(|(_, host)| host);
    if from.is_some_and(|from| from.eq_ignore_ascii_case(host)) {
        return Ok(());
    }
    Err(foreign(
        "origin",
        origin,
        "must be the host that the request is for",
    ))
}

fn foreign(field: &str, value: &str, allowed: &str) -> Problem {
    let allowed = format!("{allowed}: pages of other sites are not served");
    Problem::of_field(StatusCode::FORBIDDEN, field, value, allowed)
}

/// Refuses a content type that a page of another site may send. A file's own type is checked by its reader.
fn check_type(headers: &HeaderMap, takes_file: bool) -> Result<(), Problem> {
    let given = headers.get(header::CONTENT_TYPE);
    let given = given.map_or("", |value| value.to_str().unwrap_or(""));
    let kind = given.split(';').next().unwrap_or("").trim();
    let is_simple = SIMPLE
        .iter()
        .any(|simple| kind.eq_ignore_ascii_case(simple));
    let fits = if takes_file {
        !is_simple
    } else {
        kind.eq_ignore_ascii_case("application/json") || headers.contains_key(OWN_HEADER)
    };
    if fits {
        return Ok(());
    }
    Err(Problem::of_field(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "content-type",
        if given.is_empty() { "absent" } else { given },
        if takes_file {
            "must be text/csv"
        } else {
            "must be application/json, also without a body (or send the header `x-banister-request: 1`)"
        },
    ))
}
