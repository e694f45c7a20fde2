//! Authentication by bearer tokens, known by their digests.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use banister_engine::{Readers, Role, Scope, StoredToken, Timestamp, Token};

use crate::problem::Problem;

/// Time until a token that was made or revoked is noticed.
const REFRESH: Duration = Duration::from_secs(1);

/// Tokens, refreshed from the log's store.
pub struct TokenStore {
    cache: RwLock<TokenCache>,
    /// True if a token is needed even if none was made yet.
    required: bool,
    /// Age from which on they are not trusted: one of them may be revoked by now.
    most_age: Duration,
}

#[derive(Default)]
enum TokenCache {
    /// Not read yet: every request is refused.
    #[default]
    Unread,
    /// Principals by digest. Looking a digest up reveals nothing about the secret behind any other.
    Read {
        principals: HashMap<[u8; 32], Principal>,
        /// True if a token was ever made; a revoked one counts.
        any: bool,
        /// Moment of the reading.
        at: Instant,
    },
}

/// Caller with a token, or any caller where none is needed.
#[derive(Debug, Clone, PartialEq)]
pub struct Principal {
    /// Name of the token; `None` where none is needed.
    pub name: Option<Arc<str>>,
    pub role: Role,
    /// Experiments that it may see; `None`: all.
    pub scope: Option<Scope>,
    /// End of the token's life.
    pub expires: Option<Timestamp>,
    /// Limits of its own, in place of those of the settings.
    pub rate: Option<f64>,
}

impl Principal {
    /// Returns true if it may know of an experiment.
    pub fn may_see(&self, experiment: &str) -> bool {
        (self.scope.as_ref()).is_none_or(|scope| scope.covers(experiment))
    }

    /// Refuses an experiment that it may not see, in the same words whether there is one or not.
    pub fn check_sees(&self, experiment: &str) -> Result<(), Problem> {
        if self.may_see(experiment) {
            return Ok(());
        }
        let detail = "the token is for other experiments";
        Err(Problem::new(StatusCode::FORBIDDEN, detail))
    }
}

impl TokenStore {
    pub fn new(required: bool, most_age: Duration) -> Self {
        Self {
            cache: RwLock::default(),
            required,
            most_age,
        }
    }

    /// Replaces the tokens by those of the log, as it was when they were asked for.
    pub fn refresh(&self, tokens: Vec<StoredToken>, at: Instant) {
        let any = !tokens.is_empty();
        let principals = tokens.into_iter().filter_map(|token| {
            let role = token.role.parse().ok()?;
            let principal = Principal {
                name: Some(token.name.into()),
                role,
                scope: token.scope.as_deref().map(Scope::new),
                expires: token.expires,
                rate: token.rate,
            };
            Some((token.digest, principal))
        });
        let cache = TokenCache::Read {
            principals: principals.collect(),
            any,
            at,
        };
        if let Ok(mut place) = self.cache.write() {
            *place = cache;
        }
    }

    /// Returns true once the tokens were read.
    pub fn is_read(&self) -> bool {
        matches!(self.cache.read().as_deref(), Ok(TokenCache::Read { .. }))
    }

    /// Returns true if they were read lately.
    pub fn is_fresh(&self) -> bool {
        matches!(self.cache.read().as_deref(), Ok(TokenCache::Read { at, .. }) if at.elapsed() <= self.most_age)
    }

    /// Authenticates a request, by tokens of any age if need be.
    pub fn authenticate(&self, request: &Parts, any_age: bool) -> Result<Principal, Problem> {
        let headers = &request.headers;
        // The reason is for callers that may read, and none can prove yet that it may.
        let unread = || Problem::unavailable("the tokens cannot be read yet");
        let cache = self.cache.read().map_err(|_| unread())?;
        let TokenCache::Read {
            principals,
            any,
            at,
        } = &*cache
        else {
            return Err(unread());
        };
        let age = at.elapsed();
        if age > self.most_age && !any_age {
            let detail = format!("the tokens could not be read for {} seconds", age.as_secs());
            return Err(Problem::unavailable(detail));
        }
        if !any && !self.required {
            check_host(request)?;
            return Ok(Principal {
                name: None,
                role: Role::Admin,
                scope: None,
                expires: None,
                rate: None,
            });
        }
        let Some(secret) = bearer(headers) else {
            let detail = "send a token: `Authorization: Bearer …`";
            return Err(Problem::new(StatusCode::UNAUTHORIZED, detail));
        };
        let refused = |detail: &str| {
            let mut problem = Problem::new(StatusCode::UNAUTHORIZED, detail);
            problem.had_token = true;
            Err(problem)
        };
        let Some(principal) = principals.get(&Token::digest(secret)) else {
            return refused("the token is not known");
        };
        if (principal.expires).is_some_and(|expires| expires <= Timestamp::now()) {
            return refused("the token has expired");
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

/// Without tokens, a page of another site must not reach us under a host name of its own that resolves to this machine.
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
        "without tokens only this machine is served: make one with `banisterd token create`";
    let status = StatusCode::FORBIDDEN;
    Err(Problem::of_field(status, "host", host, allowed))
}

/// Starts the thread that refreshes the tokens, as long as their store is used.
pub fn start_refreshing(store: &Arc<TokenStore>, readers: &Arc<Readers>) -> std::io::Result<()> {
    let (store, readers) = (Arc::downgrade(store), readers.clone());
    let refresh = move || {
        while let Some(store) = store.upgrade() {
            // If they cannot be read now, those known before stay known for a while.
            let at = Instant::now();
            if let Ok(tokens) = readers.with_reserved(|log| log.tokens()) {
                store.refresh(tokens, at);
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
