//! Bearer tokens: random, shown once, kept as a digest.

use std::fmt;
use std::str::FromStr;

use rand::RngExt;

use super::{Quota, StoredToken};
use crate::time::Timestamp;

/// Rights of a token; each role includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    Read,
    /// Ask for decisions and report outcomes.
    Decide,
    /// Create and change experiments.
    Admin,
}

impl Role {
    /// Weakest first.
    pub const ALL: [Self; 3] = [Self::Read, Self::Decide, Self::Admin];

    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Decide => "decide",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|role| role.name() == name)
            .ok_or_else(|| format!("`{name}` is no role: read, decide or admin"))
    }
}

/// Fresh token, before its secret is shown and forgotten.
pub struct Token {
    /// The secret, to be shown once.
    pub secret: String,
    /// Part that the log keeps.
    pub stored: StoredToken,
}

impl Token {
    /// Makes one from the operating system's random numbers.
    pub fn new(name: &str, role: Role) -> Self {
        const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
        let mut rng = rand::rng();
        // 32 letters of 5 bits: nobody guesses 160 bits, so a fast digest is enough at rest.
        let random: String = (0..32)
            .map(|_| char::from(LETTERS[rng.random_range(0..LETTERS.len())]))
            .collect();
        let secret = format!("bnst_{random}");
        let stored = StoredToken {
            name: name.to_string(),
            role: role.name().to_string(),
            digest: Self::digest(&secret),
            created: Timestamp::now(),
            scope: None,
            expires: None,
            quota: Quota::default(),
        };
        Self { secret, stored }
    }

    /// The digest under which a secret is known.
    pub fn digest(secret: &str) -> [u8; 32] {
        *blake3::hash(secret.as_bytes()).as_bytes()
    }
}
