//! Estimates by segment of users or requests.

use std::collections::HashMap;

use banister::Error;

use crate::estimate::{Estimates, estimate};
use crate::log::{CheckedLog, Features, Log};
use crate::model::Model;
use crate::options::Options;
use crate::target::Target;

/// Estimates of a policy in one segment.
#[derive(Debug, Clone, PartialEq)]
pub struct SegmentEstimates {
    /// Name of the segment.
    pub segment: String,
    /// Rounds of the log in it.
    pub n: u64,
    /// Its estimates; an error where it has too few rounds for the estimator, or none of an action that the policy
    /// plays.
    pub estimates: Result<Estimates, Error>,
}

/// Estimates the reward and every cost of a policy in each segment of a log, those with the most rounds first.
///
/// A segment is known before the action is chosen, so what holds for a log holds for its rounds in one segment. Each
/// interval covers with the given confidence on its own, not all of them at once.
pub fn estimate_by_segment(
    log: &CheckedLog,
    target: Target,
    model: Model,
    options: &Options,
) -> Result<Vec<SegmentEstimates>, Error> {
    let declared = log.declared();
    if declared.segments.is_empty() {
        let allowed = "the log needs the segment of every round";
        return Err(Error::invalid("segments", "not given", allowed));
    }
    options.check(log)?;
    target.check(log)?;
    let mut rounds: Vec<(&str, Vec<usize>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (t, &segment) in declared.segments.iter().enumerate() {
        let place = *places.entry(segment).or_insert(rounds.len());
        if place == rounds.len() {
            rounds.push((segment, Vec::new()));
        }
        rounds[place].1.push(t);
    }
    // The order of their first rounds where they have as many.
    rounds.sort_by_key(|(_, own)| std::cmp::Reverse(own.len()));
    let each = rounds.into_iter().map(|(segment, own)| SegmentEstimates {
        segment: segment.to_string(),
        n: own.len() as u64,
        estimates: estimate_in(log, &own, target, model, options),
    });
    Ok(each.collect())
}

/// Estimates from some rounds of a log alone.
fn estimate_in(
    log: &CheckedLog,
    rounds: &[usize],
    target: Target,
    model: Model,
    options: &Options,
) -> Result<Estimates, Error> {
    let declared = log.declared();
    let (n, arms, m) = (log.rounds(), declared.arms, declared.guardrails.len());
    let rows = |numbers: &[f64], width: usize| -> Vec<f64> {
        let each = rounds.iter().map(|&t| &numbers[t * width..(t + 1) * width]);
        each.flatten().copied().collect()
    };
    let actions: Vec<usize> = rounds.iter().map(|&t| declared.actions[t]).collect();
    let (rewards, costs) = (rows(declared.rewards, 1), rows(declared.costs, m));
    let pscores = declared.pscores.map(|numbers| rows(numbers, 1));
    let described = match declared.features {
        Features::None => Vec::new(),
        Features::Context { dimension, rows: x } | Features::Played { dimension, rows: x } => {
            rows(x, dimension)
        }
        Features::Offered { dimension, sets } => rows(sets, arms * dimension),
    };
    let part = Log {
        actions: &actions,
        rewards: &rewards,
        costs: &costs,
        reward_expression: None,
        pscores: pscores.as_deref(),
        features: match declared.features {
            Features::None => Features::None,
            Features::Context { dimension, .. } => Features::Context {
                dimension,
                rows: &described,
            },
            Features::Played { dimension, .. } => Features::Played {
                dimension,
                rows: &described,
            },
            Features::Offered { dimension, .. } => Features::Offered {
                dimension,
                sets: &described,
            },
        },
        segments: Vec::new(),
        requests: Vec::new(),
        arms,
        guardrails: declared.guardrails.clone(),
        reward_range: declared.reward_range,
        cost_ranges: declared.cost_ranges.clone(),
        caps: declared.caps.clone(),
        arm_names: declared.arm_names.clone(),
        adaptive: declared.adaptive,
    };
    let probabilities = match target {
        Target::Rows(numbers) => rows(numbers, arms),
        Target::Taken(numbers) => rows(numbers, 1),
        Target::Arm(_) | Target::Fixed(_) => Vec::new(),
    };
    let target = match target {
        Target::Rows(_) => Target::Rows(&probabilities),
        Target::Taken(_) => Target::Taken(&probabilities),
        other => other,
    };
    let predictions: Vec<f64> = match model {
        Model::Given(numbers) => (numbers.chunks_exact(n * arms))
            .flat_map(|table| rows(table, arms))
            .collect(),
        Model::Fitted => Vec::new(),
    };
    let model = match model {
        Model::Given(_) => Model::Given(&predictions),
        Model::Fitted => Model::Fitted,
    };
    estimate(&part.check()?, target, model, options)
}
