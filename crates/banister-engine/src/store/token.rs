//! Bearer tokens: random, shown once, kept as a digest.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use rand::RngExt;

use super::StoredToken;
use crate::time::Timestamp;

/// Role of a token. All may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    Read,
    /// Reports outcomes.
    Report,
    /// Asks for decisions.
    DecideOnly,
    /// Asks for decisions and reports outcomes.
    Decide,
    /// Everything: creates and changes experiments, too.
    Admin,
}

impl Role {
    pub const ALL: [Self; 5] = [
        Self::Read,
        Self::Report,
        Self::DecideOnly,
        Self::Decide,
        Self::Admin,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Report => "report",
            Self::DecideOnly => "decide-only",
            Self::Decide => "decide",
            Self::Admin => "admin",
        }
    }

    /// Returns true if it may ask for decisions.
    pub fn may_decide(self) -> bool {
        matches!(self, Self::DecideOnly | Self::Decide | Self::Admin)
    }

    /// Returns true if it may report outcomes.
    pub fn may_report(self) -> bool {
        matches!(self, Self::Report | Self::Decide | Self::Admin)
    }

    /// Returns true if it may create and change experiments.
    pub fn may_admin(self) -> bool {
        self == Self::Admin
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
            .ok_or_else(|| {
                let names = Self::ALL.map(Self::name).join(", ");
                format!("`{name}` is no role: one of {names}")
            })
    }
}

/// Longest pattern of a scope; names of experiments are not longer.
const LONGEST_PATTERN: usize = 64;

/// Experiments that a token may see: patterns of their names, in which `*` stands for any text and `?` for
/// any character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope(Arc<str>);

impl Scope {
    /// As the log keeps it.
    pub fn new(patterns: &str) -> Self {
        Self(patterns.into())
    }

    /// Checks user-supplied patterns, separated by commas.
    pub fn parse(patterns: &str) -> Result<Self, String> {
        let refused = |reason: &str| Err(format!("`experiments` is {patterns:?}: {reason}"));
        for pattern in patterns.split(',') {
            if pattern.trim().is_empty() || pattern.len() > LONGEST_PATTERN {
                return refused("must be patterns of 1 to 64 characters, separated by commas");
            }
            let plain = |c: char| c.is_ascii_alphanumeric() || "._-*?".contains(c);
            if !pattern.trim().chars().all(plain) {
                return refused("patterns have letters, digits, `.`, `_`, `-`, `*` and `?`");
            }
        }
        Ok(Self::new(patterns))
    }

    /// Returns true if one of the patterns fits an experiment's name.
    pub fn covers(&self, experiment: &str) -> bool {
        let name: Vec<char> = experiment.chars().collect();
        self.0.split(',').any(|pattern| {
            let pattern: Vec<char> = pattern.trim().chars().collect();
            fits(&pattern, &name)
        })
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns true if a pattern fits a whole name. A later `*` makes up for everything that an earlier one took
/// too little of, so only the last one is ever tried again.
fn fits(pattern: &[char], name: &[char]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut again: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&'*') {
            again = Some((p + 1, n));
            p += 1;
        } else if pattern.get(p).is_some_and(|c| *c == '?' || *c == name[n]) {
            (p, n) = (p + 1, n + 1);
        } else if let Some((after, taken)) = again {
            again = Some((after, taken + 1));
            (p, n) = (after, taken + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// Parses the end of a token's life: a time (2027-01-01T00:00:00Z), or how long it lives (30d).
pub fn parse_expiry(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let time = humantime::parse_rfc3339(text).ok().map(Timestamp::from);
    let lives = || {
        let lives = humantime::parse_duration(text).ok()?;
        Some(now.minus_seconds(-lives.as_secs_f64()))
    };
    let expires = time.or_else(lives).ok_or_else(|| {
        format!("`expires` is {text:?}: must be a time (2027-01-01T00:00:00Z) or a span (30d, 12h)")
    })?;
    if expires <= now {
        return Err(format!("`expires` is {text:?}: must be in the future"));
    }
    Ok(expires)
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
            rate: None,
        };
        Self { secret, stored }
    }

    /// The digest under which a secret is known.
    pub fn digest(secret: &str) -> [u8; 32] {
        *blake3::hash(secret.as_bytes()).as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::{Scope, parse_expiry};
    use crate::time::Timestamp;

    #[test]
    fn patterns_fit_whole_names() {
        let scope = Scope::parse("checkout-*, ranking,a?c,*-x*-end").unwrap();
        for name in [
            "checkout-",
            "checkout-a-b",
            "ranking",
            "abc",
            "a-x-x-end",
            "-x-end",
        ] {
            assert!(scope.covers(name), "{name}");
        }
        for name in [
            "checkout",
            "ranking-2",
            "ac",
            "abbc",
            "x-end",
            "a-x-endless",
            "",
        ] {
            assert!(!scope.covers(name), "{name}");
        }
        assert!(Scope::parse("*").unwrap().covers("anything"));
        // Many stars take no longer than the name is long, times the pattern.
        let stars = Scope::parse(&"*a".repeat(32)).unwrap();
        assert!(!stars.covers(&"a".repeat(31)) && stars.covers(&"a".repeat(64)));
        for wrong in ["", "a,,b", "a b", "a/b", &"x".repeat(65)] {
            assert!(Scope::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_life_is_a_time_or_a_span() {
        let now = Timestamp(1_000_000);
        assert_eq!(parse_expiry("2s", now), Ok(Timestamp(3_000_000)));
        let later = parse_expiry("2027-01-01T00:00:00Z", now).unwrap();
        assert_eq!(later.to_string(), "2027-01-01T00:00:00.000000Z");
        for wrong in ["", "soon", "1970-01-01T00:00:00Z", "0s", "-3d"] {
            assert!(parse_expiry(wrong, now).is_err(), "{wrong:?}");
        }
    }
}
