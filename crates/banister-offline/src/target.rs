//! The policy to be judged.

use std::collections::{BTreeMap, BTreeSet};

use banister::Error;

use crate::log::{CheckedLog, count};

/// Largest distance from one of a row's sum of probabilities.
const SUM_TOLERANCE: f64 = 1e-6;

/// The policy π to be judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target<'a> {
    /// One arm for all rounds.
    Arm(usize),
    /// One distribution over the K arms, the same in every round.
    Fixed(&'a [f64]),
    /// One distribution per round, n × K.
    Rows(&'a [f64]),
    /// Only the probability of the action that was played, one per round. Enough for IPS and SNIPS.
    Taken(&'a [f64]),
}

impl Target<'_> {
    /// Refuses anything but distributions over the arms of the log.
    pub(crate) fn check(&self, log: &CheckedLog) -> Result<(), Error> {
        let (n, arms) = (log.rounds(), log.declared().arms);
        match *self {
            Self::Arm(arm) if arm >= arms => {
                let allowed = format!("arms are numbered 0 to {}", arms - 1);
                Err(Error::invalid("policy", format!("arm {arm}"), allowed))
            }
            Self::Arm(_) => Ok(()),
            Self::Fixed(row) => {
                count("policy", row.len(), Some(arms), "one probability per arm")?;
                check_row(row, "policy")
            }
            Self::Rows(rows) => {
                let shape = format!("one row per round, {n} × {arms}");
                count("policy", rows.len(), n.checked_mul(arms), &shape)?;
                let mut rows = rows.chunks_exact(arms).enumerate();
                rows.try_for_each(|(i, row)| check_row(row, &format!("policy[{i}]")))
            }
            Self::Taken(probabilities) => {
                let what = "one probability per round";
                count("policy", probabilities.len(), Some(n), what)?;
                check_probabilities(probabilities, "policy")
            }
        }
    }

    /// π_t(a) of the action that was played.
    pub(crate) fn of_played(&self, round: usize, action: usize, arms: usize) -> f64 {
        match *self {
            Self::Arm(arm) => f64::from(u8::from(arm == action)),
            Self::Fixed(row) => row[action],
            Self::Rows(rows) => rows[round * arms + action],
            Self::Taken(probabilities) => probabilities[round],
        }
    }

    /// The highest probability the policy may give to any action, before the log is looked at.
    pub(crate) fn highest(&self) -> f64 {
        match *self {
            Self::Fixed(numbers) | Self::Rows(numbers) => {
                numbers.iter().copied().fold(0.0, f64::max)
            }
            Self::Arm(_) | Self::Taken(_) => 1.0,
        }
    }

    /// Arms that the policy plays in some round and the log in none.
    pub(crate) fn never_played(&self, log: &CheckedLog) -> Vec<usize> {
        let played: BTreeSet<usize> = log.declared().actions.iter().copied().collect();
        let arms = log.declared().arms;
        let mut missing = BTreeSet::new();
        match *self {
            Self::Arm(arm) => missing.extend([arm]),
            Self::Fixed(rows) | Self::Rows(rows) => {
                let played = rows.iter().enumerate().filter(|(_, p)| **p > 0.0);
                missing.extend(played.map(|(i, _)| i % arms));
            }
            Self::Taken(_) => {}
        }
        missing.difference(&played).copied().collect()
    }

    /// Σ_a π_t(a) q(a); 0 if the policy is known on the actions played alone, which
    /// [`Part::new`](crate::weights::Part::new) refuses where it matters.
    pub(crate) fn expect(&self, round: usize, arms: usize, q: impl Fn(usize) -> f64) -> f64 {
        let over = |row: &[f64]| -> f64 {
            // Arms without weight are not asked for: their models may not exist.
            let rows = row.iter().enumerate().filter(|(_, p)| **p > 0.0);
            rows.map(|(a, p)| p * q(a)).sum()
        };
        match *self {
            Self::Arm(arm) => q(arm),
            Self::Fixed(row) => over(row),
            Self::Rows(rows) => over(&rows[round * arms..(round + 1) * arms]),
            Self::Taken(_) => 0.0,
        }
    }
}

/// The smallest probability of a logging policy that was the same in all rounds, if the log shows it to
/// be so: each arm has one propensity, and these sum to 1.
///
/// In a round with other probabilities some arm has one that is neither 0 nor its usual one (usual ones
/// sum to 1), and shows it when it is drawn. So such rounds can be few at most.
pub(crate) fn fixed_policy(log: &CheckedLog, pscores: &[f64]) -> Option<f64> {
    if log.declared().adaptive {
        return None;
    }
    let mut usual: BTreeMap<usize, f64> = BTreeMap::new();
    for (&action, &p) in std::iter::zip(log.declared().actions, pscores) {
        if (*usual.entry(action).or_insert(p) - p).abs() > SUM_TOLERANCE {
            return None;
        }
    }
    let sum: f64 = usual.values().sum();
    let is_whole = (sum - 1.0).abs() <= SUM_TOLERANCE;
    is_whole.then(|| usual.values().copied().fold(1.0, f64::min))
}

fn check_probabilities(row: &[f64], field: &str) -> Result<(), Error> {
    match row.iter().position(|p| !(*p >= 0.0 && *p <= 1.0)) {
        None => Ok(()),
        Some(a) => {
            let allowed = "a probability lies between 0 and 1";
            Err(Error::invalid(format!("{field}[{a}]"), row[a], allowed))
        }
    }
}

fn check_row(row: &[f64], field: &str) -> Result<(), Error> {
    check_probabilities(row, field)?;
    let sum: f64 = row.iter().sum();
    if (sum - 1.0).abs() <= SUM_TOLERANCE {
        return Ok(());
    }
    let allowed = "probabilities of a policy sum to 1";
    Err(Error::invalid(
        field,
        format!("a row with sum {sum}"),
        allowed,
    ))
}
