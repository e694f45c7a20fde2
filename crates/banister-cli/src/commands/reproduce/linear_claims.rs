//! Claims about OPLB, each with its verdict.

use banister::theory::LinearSetting;
use banister_sim::Coverage;
use banister_sim::results::{AgentResult, InstanceResult};

use super::claims::{Claim, NO_VIOLATION, UNKNOWN_LEARNED, unknown_detail};
use super::linear::{ARM_COUNTS, BANISTER, EXACT, LINEARISED, Linear, MARGINS, Watched};
use banister_report::tables::final_regret;
use banister_report::tables::words::{count, number, percent};

/// "Linearised is as good as exact": at most this much more regret.
const CLOSE: f64 = 1.05;

/// Judges every claim about OPLB.
pub fn check(linear: &Linear) -> Vec<Claim> {
    let mut claims = vec![no_violation(linear)];
    claims.extend(
        (linear.contextual.agents.iter()).map(|a| below_the_theorem(&linear.contextual, a)),
    );
    claims.extend(coverage(linear));
    claims.extend(as_good_as_exact(linear));
    claims.extend(margin(linear));
    claims.extend(unknown_cost(linear));
    claims.extend(arms(linear));
    claims
}

fn no_violation(linear: &Linear) -> Claim {
    let (mut broken, mut rounds) = (Some(0), 0);
    for instance in linear.instances() {
        for agent in &instance.agents {
            broken = broken.zip(agent.violations()).map(|(a, b)| a + b);
            rounds += agent.runs.len() as u64 * instance.horizon;
        }
    }
    Claim {
        claim: NO_VIOLATION,
        agent: "all of OPLB".into(),
        seen: broken == Some(0),
        detail: format!("{} of {} rounds", count(broken), number(rounds as f64)),
    }
}

/// The contextual instance as the theorem sees it: features and parameters at most 1 long.
fn theorem(instance: &InstanceResult) -> Option<banister::theory::LinearBounds> {
    LinearSetting {
        dimension: 4,
        horizon: instance.horizon,
        margins: vec![0.25],
        delta: 0.01,
        r: 0.5,
        norm: 1.0,
        parameter_norm: 1.0,
        lambda: 1.0,
    }
    .bounds()
    .ok()
}

fn below_the_theorem(instance: &InstanceResult, agent: &AgentResult) -> Claim {
    let worst = agent
        .runs
        .iter()
        .map(|run| run.regret)
        .fold(f64::NEG_INFINITY, f64::max);
    let bounds = theorem(instance);
    let bound = bounds.map_or(f64::NAN, |b| {
        if agent.name.contains("radii") {
            b.regret_paper_radius
        } else {
            b.regret
        }
    });
    let vacuous = if bound >= instance.horizon as f64 {
        ", itself above T"
    } else {
        ""
    };
    Claim {
        claim: "Regret stays below Theorem 2's bound, corrected",
        agent: agent.name.clone(),
        seen: worst <= bound,
        detail: format!(
            "worst run at {} of the bound{vacuous}",
            percent(worst, bound)
        ),
    }
}

fn coverage(linear: &Linear) -> Vec<Claim> {
    let judge = |watched: &Watched| {
        let Coverage { runs, left, .. } = watched.coverage;
        Claim {
            claim: "Confidence sets hold in all rounds of 1 − δ of the runs",
            agent: format!("{} radius", watched.radius),
            seen: left as f64 <= watched.delta * runs as f64,
            detail: format!("left in {left} of {runs} runs, δ = {}", watched.delta),
        }
    };
    linear.coverage.iter().map(judge).collect()
}

fn regret_of(instance: &InstanceResult, name: &str) -> Option<f64> {
    let agent = instance.agents.iter().find(|agent| agent.name == name)?;
    Some(final_regret(agent).0)
}

/// With the paper's constants on both sides, then with the optimism that the lemma needs.
fn as_good_as_exact(linear: &Linear) -> Vec<Claim> {
    let judge = |name: &str| {
        let exact = regret_of(&linear.contextual, EXACT)?;
        let ours = regret_of(&linear.contextual, name)?;
        Some(Claim {
            claim: "One linear program a round is as good as exact OPLB",
            agent: name.into(),
            seen: ours <= CLOSE * exact,
            detail: format!("{:+.1}% regret against exact", 100.0 * (ours / exact - 1.0)),
        })
    };
    [LINEARISED, BANISTER]
        .into_iter()
        .filter_map(judge)
        .collect()
}

fn margin(linear: &Linear) -> Vec<Claim> {
    let judge = |name: &str| {
        let regrets: Option<Vec<f64>> = linear.margins.iter().map(|i| regret_of(i, name)).collect();
        let regrets = regrets?;
        let shown: Vec<String> = regrets.iter().map(|x| number(*x)).collect();
        Some(Claim {
            claim: "Regret falls as the margin τ − c₀ grows",
            agent: name.into(),
            seen: regrets.windows(2).all(|w| w[0] > w[1]),
            detail: format!(
                "{} for Δ = {} to {}",
                shown.join(", "),
                MARGINS[0],
                MARGINS[MARGINS.len() - 1]
            ),
        })
    };
    [EXACT, LINEARISED, BANISTER]
        .into_iter()
        .filter_map(judge)
        .collect()
}

fn unknown_cost(linear: &Linear) -> Vec<Claim> {
    let judge = |agent: &AgentResult| {
        let base = regret_of(&linear.contextual, &agent.name)
            .or_else(|| regret_of(&linear.contextual, EXACT));
        let ratio = final_regret(agent).0 / base.unwrap_or(f64::NAN);
        let broken = agent.violations();
        Claim {
            claim: UNKNOWN_LEARNED,
            agent: format!("{} (linear)", agent.name),
            seen: broken == Some(0),
            detail: unknown_detail(broken, ratio),
        }
    };
    linear.unknown.agents.iter().map(judge).collect()
}

/// OPLB's regret over OPB's, per number of arms.
pub fn arm_ratios(linear: &Linear) -> Vec<f64> {
    let ratio = |instance: &InstanceResult| match &instance.agents[..] {
        [opb, oplb, ..] => final_regret(oplb).0 / final_regret(opb).0,
        _ => f64::NAN,
    };
    linear.arms.iter().map(ratio).collect()
}

fn arms(linear: &Linear) -> Option<Claim> {
    let ratios = arm_ratios(linear);
    let shown: Vec<String> = ratios.iter().map(|x| format!("{x:.1}×")).collect();
    Some(Claim {
        claim: "On arms OPB beats OPLB, the more so the more arms",
        agent: "OPLB".into(),
        seen: ratios.first()? > &1.0 && ratios.windows(2).all(|w| w[0] < w[1]),
        detail: format!(
            "{} the regret of OPB for K = {} to {}",
            shown.join(", "),
            ARM_COUNTS[0],
            ARM_COUNTS[ARM_COUNTS.len() - 1]
        ),
    })
}
