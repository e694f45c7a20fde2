//! Leases: policies that clients draw from on their own, without a request per decision.
//!
//! A policy that was published stays certified until its time of use ends (math 1, 2): a draw in that time is from a
//! certified policy, wherever it is made. A [`Lease`] is such a policy with its certificate, its time, and the key of
//! the hash that draws. A unit's number in [0, 1) is SipHash-1-3 of the key and the unit: the same everywhere, so that
//! the issuer of the lease can check every draw. It is signed with Ed25519; nothing in it is secret but the key, which
//! lets its holders know who will get what.
//!
//! Without a valid lease the safe action is played. There is no network and no clock here: callers bring both. [`LeaseClient`]
//! holds the newest lease of an experiment, and what is to be reported.

mod client;

pub use client::{LeaseClient, LeasedArm};

use std::collections::BTreeMap;
use std::hash::Hasher as _;

use ed25519_dalek::{Signature, Signer as _, SigningKey, Verifier as _, VerifyingKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;

use crate::decision::drawn;
use crate::error::{Error, broken};

/// Number in [0, 1) of a text under a key: the first 53 bits of its hash.
#[inline]
pub fn uniform(key: [u64; 2], parts: [&str; 2]) -> f64 {
    let mut hash = SipHasher13::new_with_keys(key[0], key[1]);
    for part in parts {
        hash.write(part.as_bytes());
    }
    (hash.finish() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Second half of the hash's key, by what the number is for.
const ARM: u64 = 0;
const HOLDOUT: u64 = 1;
const GATE: u64 = 2;

/// Units that always get the safe action.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Holdout {
    /// Key of the hash.
    pub key: u64,
    /// Share of the units.
    pub share: f64,
}

/// Part of the units that an experiment decides for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// Key of the hash.
    pub key: u64,
    /// Least number of a unit inside.
    pub from: f64,
    /// Number from which on units are outside again.
    pub to: f64,
}

impl Gate {
    /// True if the experiment decides for a unit.
    pub fn admits(&self, unit: &str) -> bool {
        (self.from..self.to).contains(&uniform([self.key, GATE], [unit, ""]))
    }
}

impl Holdout {
    /// True if a unit always gets the safe action.
    pub fn holds(&self, unit: &str) -> bool {
        uniform([self.key, HOLDOUT], [unit, ""]) < self.share
    }
}

/// The number in [0, 1) that draws a unit's arm, from its policy as (arm, probability).
///
/// With a holdout h the first h of the safe action's interval [A, A + π_0) belongs to the units held out, which are the
/// same under every policy, and the number of another unit skips it: over all units it is uniform as ever, as long as
/// π_0 ≥ h.
#[inline]
pub fn draw(
    key: u64,
    id: [&str; 2],
    holdout: Option<(Holdout, &str)>,
    policy: &[(usize, f64)],
    safe: usize,
) -> f64 {
    let own = uniform([key, ARM], id);
    let Some((holdout, unit)) = holdout else {
        return own;
    };
    let before = policy.iter().take_while(|entry| entry.0 < safe);
    let before: f64 = before.map(|entry| entry.1).sum();
    let held = uniform([holdout.key, HOLDOUT], [unit, ""]);
    if held < holdout.share {
        return before + held;
    }
    let rest = own * (1.0 - holdout.share);
    if rest < before {
        rest
    } else {
        rest + holdout.share
    }
}

/// A policy to draw from, with its time and its certificate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lease {
    /// Name of the experiment.
    pub experiment: String,
    /// Number of the lease: exposures are reported under it.
    pub lease: u64,
    /// Time from which on it holds, in milliseconds since 1970.
    pub issued: i64,
    /// Time from which on it does not hold any more, in milliseconds since 1970.
    pub expires: i64,
    /// Most decisions that may be drawn from it.
    pub most: u64,
    /// Names of the arms.
    pub arms: Vec<String>,
    /// Number of the safe arm.
    pub safe: usize,
    /// Key of the hash.
    pub key: u64,
    /// Text before a unit in the hash.
    pub prefix: String,
    /// Units that always get the safe action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holdout: Option<Holdout>,
    /// Units that the experiment decides for; all by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
    /// Policies by segment, as (arm, probability); the one of an experiment without segments is the empty name's.
    pub policies: BTreeMap<String, Vec<(usize, f64)>>,
    /// Certificate of the policies.
    pub certificate: serde_json::Value,
}

/// A lease as it is sent: the text that was signed, and the signature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SignedLease {
    /// JSON of a [`Lease`].
    pub lease: String,
    /// Ed25519 signature of `now` in decimal digits, a line feed and that text, in hexadecimal digits.
    pub signature: String,
    /// Ed25519 key of the service, in hexadecimal digits.
    pub public_key: String,
    /// Time of the answer, in milliseconds since 1970: leases end by the service's clock.
    pub now: i64,
}

/// A unit that was given an arm under a lease.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exposure {
    /// The unit.
    #[schemars(length(min = 1, max = 128))]
    pub unit: String,
    /// Name of the arm that it was given.
    pub arm: String,
    /// Time at which, in milliseconds since 1970.
    pub at: i64,
    /// Its segment, where decisions have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<String>,
}

/// Bytes of hexadecimal digits.
pub fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    let mut bytes = [0; N];
    if digits.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        let digit = |d: u8| char::from(d).to_digit(16);
        *byte = (16 * digit(pair[0])? + digit(pair[1])?) as u8;
    }
    Some(bytes)
}

/// Bytes as hexadecimal digits.
fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Signs leases.
#[derive(Clone)]
pub struct LeaseSigner(SigningKey);

impl LeaseSigner {
    /// Signs with a secret of 32 random bytes.
    pub fn new(secret: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(secret))
    }

    /// The lease with its signature, at a time in milliseconds since 1970.
    pub fn sign(&self, lease: &Lease, now: i64) -> Result<SignedLease, Error> {
        let text = serde_json::to_string(lease).map_err(|e| broken(e.to_string()))?;
        let signature = self.0.sign(format!("{now}\n{text}").as_bytes());
        Ok(SignedLease {
            signature: to_hex(&signature.to_bytes()),
            lease: text,
            public_key: to_hex(self.0.verifying_key().as_bytes()),
            now,
        })
    }
}

impl SignedLease {
    /// The lease, once its signature by the public key is verified, and it says nothing impossible.
    pub fn verify(&self, public_key: &[u8; 32]) -> Result<Lease, Error> {
        let refuse = |allowed: &str| Err(Error::invalid("lease", "given", allowed));
        let Ok(key) = VerifyingKey::from_bytes(public_key) else {
            return refuse("not a valid Ed25519 public key");
        };
        let signature = from_hex(&self.signature).map(|bytes| Signature::from_bytes(&bytes));
        let text = format!("{}\n{}", self.now, self.lease);
        let signed = signature.is_some_and(|own| key.verify(text.as_bytes(), &own).is_ok());
        if !signed {
            return refuse("its signature is not by that key");
        }
        let Ok(lease) = serde_json::from_str::<Lease>(&self.lease) else {
            return refuse("it is of another form: use a client of this version");
        };
        let is_policy = |policy: &Vec<(usize, f64)>| {
            let total: f64 = policy.iter().map(|entry| entry.1).sum();
            let possible = |&(arm, p): &(usize, f64)| arm < lease.arms.len() && p > 0.0;
            let ordered = policy.is_sorted_by(|a, b| a.0 < b.0);
            ordered && policy.iter().all(possible) && (total - 1.0).abs() < 1e-6
        };
        if lease.safe < lease.arms.len() && lease.policies.values().all(is_policy) {
            Ok(lease)
        } else {
            refuse("it holds no policy of its arms")
        }
    }
}

/// Arm of a unit under a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leased {
    /// Number of the arm.
    pub arm: usize,
    /// False if it is the safe action for want of a policy: nothing is to be reported.
    pub is_drawn: bool,
}

impl Lease {
    /// True if it holds at a time, in milliseconds since 1970.
    #[inline]
    pub fn holds_at(&self, now: i64) -> bool {
        (self.issued..self.expires).contains(&now)
    }

    /// The arm of a unit in a segment (the empty name, where there are none), whatever the time: the safe one outside of
    /// the experiment, and in a segment without a policy.
    #[inline]
    pub fn arm(&self, segment: &str, unit: &str) -> Leased {
        let safe = Leased {
            arm: self.safe,
            is_drawn: false,
        };
        let Some(policy) = self.policies.get(segment) else {
            return safe;
        };
        if self.gate.is_some_and(|gate| !gate.admits(unit)) {
            return safe;
        }
        let holdout = self.holdout.map(|own| (own, unit));
        let id = [self.prefix.as_str(), unit];
        let uniform = draw(self.key, id, holdout, policy, self.safe);
        Leased {
            arm: drawn(policy, uniform),
            is_drawn: true,
        }
    }
}
