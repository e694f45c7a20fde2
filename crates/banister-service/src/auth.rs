//! Who may come in: bearer tokens, known by their digests.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use banister_engine::{Role, StoredToken, Token};

use crate::app::Readers;
use crate::health::Health;
use crate::problem::Problem;

/// How soon a token that was made or taken away is noticed.
const REFRESH: Duration = Duration::from_secs(1);

/// The tokens that are known, refreshed from the log's store.
pub struct Guests {
    known: RwLock<Known>,
    /// Whether nobody is let in without a token, even if none was made yet.
    required: bool,
    health: Arc<Health>,
}

#[derive(Default)]
enum Known {
    /// Not read yet: nobody comes in.
    #[default]
    Unread,
    /// By digest. Looking a digest up tells nothing about the secret behind any other.
    Read {
        guests: HashMap<[u8; 32], Guest>,
        /// Whether a token was ever made; a revoked one counts.
        any: bool,
    },
}

/// Somebody with a token, or anybody where none is needed.
#[derive(Debug, Clone, PartialEq)]
pub struct Guest {
    /// The token's name.
    pub name: Option<Arc<str>>,
    /// What it may do.
    pub role: Role,
}

impl Guests {
    /// With nothing read yet.
    pub fn new(required: bool, health: Arc<Health>) -> Self {
        Self {
            known: RwLock::default(),
            required,
            health,
        }
    }

    /// Takes up what the store knows.
    pub fn refresh(&self, tokens: Vec<StoredToken>) {
        let any = !tokens.is_empty();
        let guests = tokens.into_iter().filter_map(|token| {
            let role = token.role.parse().ok()?;
            let name = Some(token.name.into());
            Some((token.digest, Guest { name, role }))
        });
        let known = Known::Read {
            guests: guests.collect(),
            any,
        };
        if let Ok(mut place) = self.known.write() {
            *place = known;
        }
    }

    /// Whether the tokens were read at all.
    pub fn is_read(&self) -> bool {
        matches!(self.known.read().as_deref(), Ok(Known::Read { .. }))
    }

    /// Lets somebody in, or says why not.
    pub fn admit(&self, request: &Request, needed: Role) -> Result<Guest, Problem> {
        let headers = request.headers();
        let unread = || {
            let reason = self.health.trouble().map(|reason| format!(": {reason}"));
            let reason = reason.unwrap_or_default();
            Problem::unavailable(format!("the tokens cannot be read yet{reason}"))
        };
        let known = self.known.read().map_err(|_| unread())?;
        let Known::Read { guests, any } = &*known else {
            return Err(unread());
        };
        if !any && !self.required {
            check_host(request)?;
            return Ok(Guest {
                name: None,
                role: Role::Admin,
            });
        }
        let Some(secret) = bearer(headers) else {
            return Err(unauthorised("send a token: `Authorization: Bearer …`"));
        };
        let Some(guest) = guests.get(&Token::digest(secret)) else {
            return Err(unauthorised("the token is not known"));
        };
        if guest.role < needed {
            let detail = format!(
                "the token has the role {}, this needs {}",
                guest.role.name(),
                needed.name()
            );
            return Err(Problem::new(StatusCode::FORBIDDEN, detail));
        }
        Ok(guest.clone())
    }
}

fn unauthorised(detail: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, detail)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, secret) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

/// Without tokens, a page of another site must not reach us under a name of its own that leads here.
fn check_host(request: &Request) -> Result<(), Problem> {
    // The address in the request's first line, if it has one, counts before the header.
    let authority = request
        .uri()
        .authority()
        .map(|authority| authority.as_str());
    let header = (request.headers().get(header::HOST)).map(|host| host.to_str().unwrap_or("?"));
    let host = authority.or(header);
    let Some(host) = host else {
        return Ok(());
    };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let local = name.eq_ignore_ascii_case("localhost")
        || (name.parse::<std::net::IpAddr>()).is_ok_and(|ip| ip.is_loopback());
    match local {
        true => Ok(()),
        false => Err(Problem::of_field(
            StatusCode::FORBIDDEN,
            "host",
            host,
            "without tokens only this machine is served: make one with `banister token create`",
        )),
    }
}

/// Keeps the tokens fresh, as long as the guests are needed.
pub fn follow(guests: &Arc<Guests>, readers: &Arc<Readers>) -> std::io::Result<()> {
    let (guests, readers) = (Arc::downgrade(guests), readers.clone());
    let refresh = move || {
        while let Some(guests) = guests.upgrade() {
            // If they cannot be read now, those known before stay known.
            if let Ok(tokens) = readers.with(|store| store.tokens()) {
                guests.refresh(tokens);
            }
            let unread = !guests.is_read();
            drop(guests);
            std::thread::sleep(if unread { REFRESH / 50 } else { REFRESH });
        }
    };
    std::thread::Builder::new()
        .name("banister-tokens".into())
        .spawn(refresh)
        .map(|_| ())
}
