//! Authentication by bearer tokens, known by their digests.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use banister_engine::{Readers, Role, StoredToken, Token};

use crate::middleware::rate::Quota;
use crate::problem::Problem;

/// Time until a token that was made or revoked is noticed.
const REFRESH: Duration = Duration::from_secs(1);

/// Tokens, refreshed from the log's store.
pub struct TokenStore {
    known: RwLock<Known>,
    /// True if a token is needed even if none was made yet.
    required: bool,
}

#[derive(Default)]
enum Known {
    /// Not read yet: every request is refused.
    #[default]
    Unread,
    /// Principals by digest. Looking a digest up tells nothing about the secret behind any other.
    Read {
        principals: HashMap<[u8; 32], Principal>,
        /// True if a token was ever made; a revoked one counts.
        any: bool,
    },
}

/// Caller with a token, or any caller where none is needed.
#[derive(Debug, Clone, PartialEq)]
pub struct Principal {
    /// Name of the token; `None` where none is needed.
    pub name: Option<Arc<str>>,
    pub role: Role,
    /// Limits of its own, in place of those of the settings.
    pub quota: Option<Quota>,
}

impl TokenStore {
    pub fn new(required: bool) -> Self {
        Self {
            known: RwLock::default(),
            required,
        }
    }

    /// Replaces the tokens by those of the log.
    pub fn refresh(&self, tokens: Vec<StoredToken>) {
        let any = !tokens.is_empty();
        let principals = tokens.into_iter().filter_map(|token| {
            let role = token.role.parse().ok()?;
            let principal = Principal {
                name: Some(token.name.into()),
                role,
                quota: None,
            };
            Some((token.digest, principal))
        });
        let known = Known::Read {
            principals: principals.collect(),
            any,
        };
        if let Ok(mut place) = self.known.write() {
            *place = known;
        }
    }

    /// Returns true once the tokens were read.
    pub fn is_read(&self) -> bool {
        matches!(self.known.read().as_deref(), Ok(Known::Read { .. }))
    }

    /// Authenticates a request, and checks that its role is at least `needed`.
    pub fn authenticate(&self, request: &Parts, needed: Role) -> Result<Principal, Problem> {
        let headers = &request.headers;
        // The reason is for those who may read, and nobody can show yet that they may.
        let unread = || Problem::unavailable("the tokens cannot be read yet");
        let known = self.known.read().map_err(|_| unread())?;
        let Known::Read { principals, any } = &*known else {
            return Err(unread());
        };
        if !any && !self.required {
            check_host(request)?;
            return Ok(Principal {
                name: None,
                role: Role::Admin,
                quota: None,
            });
        }
        let Some(secret) = bearer(headers) else {
            let detail = "send a token: `Authorization: Bearer …`";
            return Err(Problem::new(StatusCode::UNAUTHORIZED, detail));
        };
        let Some(principal) = principals.get(&Token::digest(secret)) else {
            let mut problem = Problem::new(StatusCode::UNAUTHORIZED, "the token is not known");
            problem.had_token = true;
            return Err(problem);
        };
        if principal.role < needed {
            let detail = format!(
                "the token has the role {}, this needs {}",
                principal.role.name(),
                needed.name()
            );
            return Err(Problem::new(StatusCode::FORBIDDEN, detail));
        }
        Ok(principal.clone())
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, secret) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

/// The host that a request is for. The address in the request's first line, if it has one, counts before the
/// header.
pub fn host_of(request: &Parts) -> Option<&str> {
    let authority = request.uri.authority();
    let authority = authority.map(|authority| authority.as_str());
    let header = request.headers.get(header::HOST);
    authority.or(header.map(|host| host.to_str().unwrap_or("?")))
}

/// Without tokens, a page of another site must not reach us under a name of its own that leads here.
fn check_host(request: &Parts) -> Result<(), Problem> {
    let Some(host) = host_of(request) else {
        return Ok(());
    };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let local = name.eq_ignore_ascii_case("localhost")
        || (name.parse::<std::net::IpAddr>()).is_ok_and(|ip| ip.is_loopback());
    if local {
        return Ok(());
    }
    let allowed =
        "without tokens only this machine is served: make one with `banister token create`";
    let status = StatusCode::FORBIDDEN;
    Err(Problem::of_field(status, "host", host, allowed))
}

/// Starts the thread that refreshes the tokens, as long as their store is used.
pub fn start_refreshing(store: &Arc<TokenStore>, readers: &Arc<Readers>) -> std::io::Result<()> {
    let (store, readers) = (Arc::downgrade(store), readers.clone());
    let refresh = move || {
        while let Some(store) = store.upgrade() {
            // If they cannot be read now, those known before stay known.
            if let Ok(tokens) = readers.with_reserved(|log| log.tokens()) {
                store.refresh(tokens);
            }
            let unread = !store.is_read();
            drop(store);
            std::thread::sleep(if unread { REFRESH / 50 } else { REFRESH });
        }
    };
    std::thread::Builder::new()
        .name("banister-tokens".into())
        .spawn(refresh)
        .map(|_| ())
}
