//! Truths that policies are judged by: thresholds in signal units, the best feasible policy, and the limit of
//! certified play.

use banister::Error;
use banister::solve::{Lp, LpSolver, Status};
use banister::theory::{CertifiedCost, CertifiedPlay, CostLaw, sum_of_losses, upper_quantile};
use banister::toolkit::CheckedProblem;

use crate::environment::{Environment, Segments};
use crate::results::{GuardrailInfo, Optimum};

/// Resolves thresholds to signal units (NaN: unknown, as the safe mean it is relative to), and checks that
/// the declared safe costs are true and leave a margin.
pub(crate) fn thresholds(
    problem: &CheckedProblem,
    environment: &Environment,
) -> Result<Vec<GuardrailInfo>, Error> {
    let mut infos = Vec::new();
    for (i, standard) in problem.guardrails.iter().enumerate() {
        let declared = &problem.declared.guardrails[i];
        let bound = declared.bound().map_or(0.0, |(_, bound)| bound);
        let info = |threshold: f64| GuardrailInfo {
            name: standard.name.clone(),
            direction: standard.direction,
            threshold,
            noise: standard.signal.r() * standard.signal.unit(),
        };
        let mean = environment.safe_means.as_ref().map(|means| means[i + 1]);
        // A declared safe cost has been checked against its own threshold.
        let base = mean.or(declared.safe_cost).unwrap_or(f64::NAN);
        let threshold = if declared.relative {
            bound * base
        } else {
            bound
        };
        let Some(mean) = mean else {
            infos.push(info(threshold));
            continue;
        };
        if environment.per_run.is_some() {
            // Every run has its own, checked where it is drawn.
            infos.push(info(f64::NAN));
            continue;
        }
        // Without the last digits, which may be those of a scalar product.
        let shown = (mean * 1e12).round() / 1e12;
        if !(standard.direction.excess(mean, threshold) < 0.0) {
            let allowed = format!(
                "the safe arm must meet guardrail `{}` (threshold {threshold}) with margin",
                standard.name
            );
            let field = environment.safe_field.replace("{i}", &i.to_string());
            let field = field.replace("{s}", &(i + 1).to_string());
            return Err(Error::invalid(field, shown, allowed));
        }
        if let Some(c) = declared.safe_cost
            && (c - mean).abs() > 1e-9 * standard.signal.unit()
        {
            let allowed = format!(
                "the environment's safe arm has mean {shown}; leave `safe_cost` out if it is unknown"
            );
            let field = format!("guardrails[{i}].safe_cost");
            return Err(Error::invalid(field, c, allowed));
        }
        infos.push(info(threshold));
    }
    if let Some(world) = environment.world() {
        world.check(problem, &infos)?;
    }
    Ok(infos)
}

/// Solves for the best feasible policy, from the same LP with the true means. Where actions or means change
/// there is one in every round, and their average is known only afterwards.
pub(crate) fn optimum(
    guardrails: &[GuardrailInfo],
    environment: &Environment,
) -> Result<Optimum, Error> {
    if let Some(segments) = environment.segments() {
        let best = segments.best(&environment.problem, guardrails, |_, _, _| 0.0);
        let (reward, costs) = best.ok_or_else(infeasible)?;
        return Ok(Optimum {
            reward,
            costs,
            policy: Vec::new(),
            averaged: true,
        });
    }
    let Some(arms) = environment.as_arms() else {
        return Ok(Optimum {
            reward: f64::NAN,
            costs: Vec::new(),
            policy: Vec::new(),
            averaged: true,
        });
    };
    let mut means = arms.by_signal();
    for (row, guardrail) in means[1..].iter_mut().zip(guardrails) {
        row.iter_mut()
            .for_each(|mean| *mean *= guardrail.direction.sign());
    }
    let thresholds: Vec<f64> = guardrails
        .iter()
        .map(|g| g.direction.sign() * g.threshold)
        .collect();
    let lp = Lp {
        reward: &means[0],
        costs: &means[1..],
        thresholds: &thresholds,
    };
    let mut solver = LpSolver::default();
    let solution = solver.solve(&lp, None);
    if solution.status == Status::Infeasible {
        return Err(infeasible());
    }
    Ok(Optimum {
        reward: solution.value,
        costs: solution
            .costs
            .iter()
            .zip(guardrails)
            .map(|(c, g)| g.direction.sign() * c)
            .collect(),
        policy: solution.support.clone(),
        averaged: false,
    })
}

fn infeasible() -> Error {
    let allowed = "no policy meets the guardrails";
    Error::invalid("environment.costs", "infeasible", allowed)
}

/// Poses the limit of certified play for arms whose means stay. `None` for actions with features, whose outcomes inform
/// about one another, and where actions or means change or are unknown.
pub(crate) fn certified_play(
    problem: &CheckedProblem,
    guardrails: &[GuardrailInfo],
    environment: &Environment,
    horizon: u64,
    delta: f64,
) -> Option<CertifiedPlay> {
    let arms = environment.fixed_arms()?;
    if !problem.declared.features.is_empty() {
        return None;
    }
    let safe = problem.declared.safe;
    let cost = |(i, guardrail): (usize, &GuardrailInfo)| {
        let declared = &problem.declared.guardrails[i];
        let sign = guardrail.direction.sign();
        let known = declared.safe_cost.is_some();
        let law = |arm: usize| match arms.law(arm, i + 1) {
            _ if arm == safe && known => CostLaw::Known,
            CostLaw::TwoValued { low, high } => {
                let (a, b) = (sign * low, sign * high);
                CostLaw::TwoValued {
                    low: a.min(b),
                    high: a.max(b),
                }
            }
            law => law,
        };
        // Relative to a known cost is absolute.
        let (factor, threshold) = match declared.bound() {
            Some((_, factor)) if declared.relative && !known => (factor, 0.0),
            _ => (0.0, sign * guardrail.threshold),
        };
        CertifiedCost {
            means: (0..arms.count())
                .map(|a| sign * arms.mean(a, i + 1))
                .collect(),
            laws: (0..arms.count()).map(law).collect(),
            factor,
            threshold,
        }
    };
    Some(CertifiedPlay {
        rewards: (0..arms.count()).map(|a| arms.mean(a, 0)).collect(),
        guardrails: guardrails.iter().enumerate().map(cost).collect(),
        safe,
        delta,
        horizon,
    })
}

/// The limit of certified play in segments: as for arms, but what is known of a segment's arms by round t rests on
/// its own outcomes, p_s·t of them at most. `None` for guardrails relative to an unknown mean.
pub(crate) fn certified_segments(
    problem: &CheckedProblem,
    guardrails: &[GuardrailInfo],
    segments: &Segments,
    (horizon, delta): (u64, f64),
) -> Option<f64> {
    let declared = &problem.declared;
    if (declared.guardrails.iter()).any(|g| g.relative && g.safe_cost.is_none()) {
        return None;
    }
    let z = upper_quantile(delta);
    let safe: f64 = segments.overall(0, declared.safe);
    let value = |t: Option<u64>| {
        let wide = |s: usize, arm: usize, signal: usize| {
            let known = arm == declared.safe && declared.guardrails[signal - 1].safe_cost.is_some();
            match t {
                Some(t) if !known => {
                    let n = (segments.frequencies[s] * t as f64).max(1.0) as u64;
                    let (law, mean) = (
                        segments.laws[s][signal][arm],
                        segments.means[s][signal][arm],
                    );
                    let mirrored = guardrails[signal - 1].direction.sign() < 0.0;
                    law.width(mean, n, delta, z, mirrored)
                }
                _ => 0.0,
            }
        };
        let best = segments.best(declared, guardrails, wide);
        best.map_or(safe, |(reward, _)| reward.max(safe))
    };
    let optimum = value(None);
    sum_of_losses(horizon, |t| Ok((optimum - value(Some(t))).max(0.0))).ok()
}
