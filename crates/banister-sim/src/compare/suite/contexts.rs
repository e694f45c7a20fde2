//! The suite `contexts`: segments, features, links, models that are wrong, and the routing table by class of request.

use banister::{Error, Guardrail, Scope};
use serde_json::{Value, json};

use super::parts::{Draw, agents, at_most, entry, run};
use super::routing;
use crate::compare::entry::Entry;
use crate::environment::{
    Actions, Drawn, EnvironmentConfig, LinearConfig, MisspecifiedConfig, SegmentedConfig, World,
};

/// Seed of the segmented worlds.
const SEED: u64 = 18;

/// S for log-odds of means from 1% to 99%, with features (1, v)/√2.
const LOG_ODDS: f64 = 7.0;

/// S for features (0, 1, v/√p)/√2 and parameters of means within the range.
const RANGES: f64 = 3.0;

/// Ceiling of dollars per request.
const CEILING: f64 = 3e-4;

/// Requests drawn from the table, in sizes of it.
const PASSES: u64 = 10;

pub(super) fn contexts() -> Result<Vec<Entry>, Error> {
    let ten = ("10 segments, 4 arms", 10, 4);
    let fifty = ("50 segments, 5 arms", 50, 5);
    Ok(vec![
        segmented(ten, Scope::Overall, run(50_000, 5))?,
        segmented(
            ("10 segments, 4 arms, in each", 10, 4),
            Scope::Each,
            run(50_000, 5),
        )?,
        segmented(fifty, Scope::Overall, run(100_000, 5))?,
        linear("linear", banister::Link::Identity)?,
        linear("logistic", banister::Link::Logistic)?,
        per_arm("per arm", banister::Link::Identity)?,
        per_arm("per arm, logistic", banister::Link::Logistic)?,
        misspecified("xor", World::Xor, 0.55)?,
        misspecified("quadratic", World::Quadratic, 0.45)?,
        routing::by_class(
            CEILING,
            PASSES,
            agents(&[
                json!({"kind": "segmented"}),
                json!({"kind": "opb"}),
                json!({"kind": "always", "arm": "mistral", "label": "always mistral"}),
            ])?,
        )?,
    ])
}

/// Segments that come alike often, with means drawn once and for all.
fn segmented(
    (name, segments, arms): (&str, usize, usize),
    scope: Scope,
    length: crate::config::RunConfig,
) -> Result<Entry, Error> {
    let mut draw = Draw::new(SEED, segments as u64);
    let mut row = |safe: [f64; 2]| -> Vec<f64> {
        let mut between = |[low, high]: [f64; 2]| draw.between(low, high);
        let ranges = (0..arms).map(|arm| if arm == 0 { safe } else { [0.05, 0.95] });
        ranges.map(&mut between).collect()
    };
    let (mut rewards, mut costs) = (Vec::new(), Vec::new());
    for _ in 0..segments {
        rewards.push(row([0.05, 0.3]));
        costs.push(row([0.02, 0.2]));
    }
    let environment = EnvironmentConfig::Segmented(SegmentedConfig {
        rewards: Some(rewards),
        costs: Some(vec![costs]),
        ..SegmentedConfig::default()
    });
    let cost = Guardrail {
        scope,
        ..at_most("cost", 0.4, None)
    };
    let kinds = ["segmented", "opb", "lin_ucb", "lin_ts"].map(|kind| json!({"kind": kind}));
    Ok(entry(
        name,
        length,
        environment,
        vec![cost],
        agents(&kinds)?,
    ))
}

/// Every agent with one parameter for all actions, with some more keys; then `more`.
fn on_features(keys: Value, more: &[Value]) -> Result<Vec<banister_rivals::AgentConfig>, Error> {
    let kinds = ["oplb", "lin_ucb", "lin_ts"].map(|kind| {
        let mut declared = keys.clone();
        declared["kind"] = kind.into();
        declared
    });
    let linked = json!({"kind": "oplb", "link": "logistic", "parameter_norm": LOG_ODDS});
    let mut all = agents(&kinds)?;
    all.extend(agents(&[linked])?);
    all.extend(agents(more)?);
    Ok(all)
}

/// Ten actions in every round, all with one parameter.
fn linear(name: &str, link: banister::Link) -> Result<Entry, Error> {
    let environment = LinearConfig {
        d: Some(4),
        k: Some(10),
        link: Some(link),
        ..LinearConfig::default()
    };
    Ok(entry(
        name,
        run(20_000, 10),
        EnvironmentConfig::Linear(environment),
        vec![at_most("cost", 0.5, Some(0.2))],
        on_features(json!({}), &[])?,
    ))
}

/// Four arms and a safe one in a context, each with parameters of its own.
fn per_arm(name: &str, link: banister::Link) -> Result<Entry, Error> {
    let environment = LinearConfig {
        d: Some(4),
        k: Some(4),
        actions: Some(Actions::Drawn(Drawn::PerArm)),
        link: Some(link),
        ..LinearConfig::default()
    };
    let own = json!({"kind": "oplb", "model": "per_arm"});
    let linked = json!({
        "kind": "oplb", "model": "per_arm", "link": "logistic", "parameter_norm": LOG_ODDS,
    });
    Ok(entry(
        name,
        run(20_000, 10),
        EnvironmentConfig::Linear(environment),
        vec![at_most("cost", 0.5, None)],
        agents(&[own, linked])?,
    ))
}

/// Costs that no parameter explains.
fn misspecified(name: &str, world: World, threshold: f64) -> Result<Entry, Error> {
    let environment = EnvironmentConfig::Misspecified(MisspecifiedConfig {
        world: Some(world),
        d: Some(6),
        k: Some(10),
        ..MisspecifiedConfig::default()
    });
    let ignored = json!({
        "kind": "oplb", "parameter_norm": RANGES, "on_breach": "alert", "label": "oplb (alarms ignored)",
    });
    Ok(entry(
        name,
        run(20_000, 10),
        environment,
        vec![at_most("cost", threshold, Some(0.1))],
        on_features(json!({"parameter_norm": RANGES}), &[ignored])?,
    ))
}
