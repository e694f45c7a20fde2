//! The suites `holdout` and `tuning`: instances drawn at random from one distribution, with seeds of their own. Grids
//! are tuned on the second, never on the first.

use std::path::Path;

use banister::{Error, Guardrail, SignalConfig};
use banister_rivals::AgentConfig;

use super::parts::{Draw, all, at_most, defaults, entry, on_sphere, run};
use crate::compare::entry::Entry;
use crate::environment::{
    Actions, BernoulliConfig, BetaConfig, Drawn, EnvironmentConfig, GaussianConfig, LinearConfig,
};

/// Seeds of the instances. Changing one makes another suite, whose pinned results have to be made anew. That of the
/// held-out ones is nobody's choice: the first eight digits of the commit before the one that drew them.
const HOLDOUT: u64 = 0x7238_cec0;
const TUNING: u64 = 19;

/// Instances on arms and on features.
const ARMS: u64 = 20;
const FEATURES: u64 = 8;

pub(super) fn holdout() -> Result<Vec<Entry>, Error> {
    drawn(HOLDOUT, &all(false)?, &all(true)?)
}

/// Every rival with a grid: its defaults and all points.
pub(super) fn tuning() -> Result<Vec<Entry>, Error> {
    let tried = |takes_features| -> Result<Vec<AgentConfig>, Error> {
        let mut list = Vec::new();
        for rival in defaults(takes_features)? {
            let grid = rival.grid();
            if !grid.is_empty() {
                list.push(rival);
                list.extend(grid);
            }
        }
        Ok(list)
    };
    drawn(TUNING, &tried(false)?, &tried(true)?)
}

fn drawn(
    seed: u64,
    on_arms: &[AgentConfig],
    on_features: &[AgentConfig],
) -> Result<Vec<Entry>, Error> {
    let arms = (0..ARMS).map(|number| worthwhile(|draw| arms(draw, number, on_arms), seed, number));
    let features = (0..FEATURES).map(|number| {
        let stream = ARMS + number;
        let agents = (on_arms, on_features);
        worthwhile(|draw| features(draw, number, agents), seed, stream)
    });
    arms.chain(features).collect()
}

/// Draws until the best feasible policy earns at least 0.05 more than the safe action: where it does not, there is
/// nothing to learn. Where actions change, that is unknown before they are played.
fn worthwhile(instance: impl Fn(Draw) -> Entry, seed: u64, stream: u64) -> Result<Entry, Error> {
    let mut stream = stream;
    loop {
        let entry = instance(Draw::new(seed, stream));
        let experiment = (entry.experiment.clone()).check_without_agents("", Path::new(""))?;
        let safe = experiment.environment().safe_means.as_ref();
        let safe = safe.and_then(|means| means.first()).copied().unwrap_or(0.0);
        let optimum = &experiment.optimum;
        if optimum.averaged || optimum.reward >= safe + 0.05 {
            return Ok(entry);
        }
        stream += 1000;
    }
}

/// K from 3 to 20, one to three guardrails; the law, tight margins and unknown safe costs take turns. Rewards are
/// uniform, the safe arm's in the lower half. Costs are uniform, or rare: between 0.1% and 20% on a logarithmic scale,
/// under thresholds of 1% to 5%. The safe arm has 30 to 90% of the threshold left; where margins are tight 5 to 15%,
/// while other arms may have more.
fn arms(mut draw: Draw, number: u64, agents: &[AgentConfig]) -> Entry {
    let (k, m) = (draw.whole(3, 20), draw.whole(1, 3));
    let law = ["Bernoulli", "Beta", "rare", "Gaussian"][(number % 4) as usize];
    let noise = (law == "Gaussian").then_some(0.2);
    let is_rare = law == "rare";
    let is_tight = number.is_multiple_of(3);
    let is_unknown = number % 10 == 9;
    let mut rewards: Vec<f64> = (0..k).map(|_| draw.between(0.05, 0.95)).collect();
    rewards[0] = draw.between(0.05, 0.5);
    let (mut costs, mut guardrails) = (Vec::new(), Vec::new());
    for i in 0..m {
        let (mut row, threshold): (Vec<f64>, f64) = if is_rare {
            let row = (0..k).map(|_| draw.small(0.001, 0.2)).collect();
            (row, draw.small(0.01, 0.05))
        } else {
            let row = (0..k).map(|_| draw.between(0.02, 0.95)).collect();
            (row, draw.between(0.2, 0.6))
        };
        let left = if is_tight {
            draw.between(0.05, 0.15)
        } else {
            draw.between(0.3, 0.9)
        };
        row[0] = (10_000.0 * threshold * (1.0 - left)).round() / 10_000.0;
        let known = (!is_unknown).then_some(row[0]);
        guardrails.push(Guardrail {
            signal: SignalConfig {
                sub_gaussian: noise,
                ..at_most(&format!("cost {}", i + 1), threshold, known)
                    .signal
                    .clone()
            },
            ..at_most(&format!("cost {}", i + 1), threshold, known)
        });
        costs.push(row);
    }
    let rows: Vec<&[f64]> = costs.iter().map(Vec::as_slice).collect();
    let environment = match law {
        "Beta" => EnvironmentConfig::Beta(BetaConfig::new(&rewards, &rows)),
        "Gaussian" => EnvironmentConfig::Gaussian(GaussianConfig {
            sd: noise,
            ..GaussianConfig::new(&rewards, &rows)
        }),
        _ => EnvironmentConfig::Bernoulli(BernoulliConfig::new(&rewards, &rows)),
    };
    let tight = if is_tight { ", tight" } else { "" };
    let unknown = if is_unknown {
        ", safe cost unknown"
    } else {
        ""
    };
    let mut entry = entry(
        format!(
            "arms {}: K = {k}, m = {m}, {law}{tight}{unknown}",
            number + 1
        ),
        run(20_000, 5),
        environment,
        guardrails,
        agents.to_vec(),
    );
    entry.experiment.reward.sub_gaussian = noise;
    entry
}

/// Directions with x_0 = 0 (where most rivals play), other actions in every round, a fixed set, whose actions are arms to
/// those who ignore their features; d from 2 to 6 (from 3 where the first is constant, as there are two actions otherwise),
/// 5 to 20 actions, parameters from a seed.
fn features(
    mut draw: Draw,
    number: u64,
    (on_arms, on_features): (&[AgentConfig], &[AgentConfig]),
) -> Entry {
    let (mut d, k) = (draw.whole(2, 6), draw.whole(5, 20));
    let (actions, words) = [
        (Drawn::Sphere, "sphere"),
        (Drawn::Contextual, "contextual"),
        (Drawn::Sphere, "sphere"),
        (Drawn::Fixed, "fixed"),
    ][(number % 4) as usize];
    let mut agents = on_features.to_vec();
    let (range, guardrail) = if matches!(actions, Drawn::Sphere) {
        agents = on_sphere(agents);
        let range = Some([-1.0, 1.0].into());
        let guardrail = Guardrail {
            signal: SignalConfig {
                range: range.clone(),
                ..at_most("cost", draw.between(0.1, 0.5), Some(0.0))
                    .signal
                    .clone()
            },
            ..at_most("cost", draw.between(0.1, 0.5), Some(0.0))
        };
        (range, guardrail)
    } else {
        d = d.max(3);
        if matches!(actions, Drawn::Fixed) {
            agents.extend_from_slice(on_arms);
        }
        let threshold = draw.between(0.3, 0.6);
        let safe_cost = (100.0 * threshold * draw.between(0.3, 0.8)).round() / 100.0;
        (None, at_most("cost", threshold, Some(safe_cost)))
    };
    let environment = EnvironmentConfig::Linear(LinearConfig {
        d: Some(d),
        k: Some(k),
        actions: Some(Actions::Drawn(actions)),
        instance_seed: Some(draw.whole(1, 1_000_000) as u64),
        ..LinearConfig::default()
    });
    let mut entry = entry(
        format!("features {}: {words}, d = {d}, K = {k}", number + 1),
        run(20_000, 5),
        environment,
        vec![guardrail],
        agents,
    );
    entry.experiment.reward.range = range;
    entry
}
