//! `segmented`: arms whose means differ by segment, under guardrails over all segments or in each; and the truth about
//! segments, also of those in a table.

use std::sync::Arc;

use banister::solve::{BlockLp, Status};
use banister::toolkit::CheckedProblem;
use banister::{Error, Problem, Scope};
use rand_chacha::ChaCha8Rng;

use super::custom::{CustomEnvironment, CustomRound, CustomRun};
use super::keys::keys;
use super::model::{
    ArmRef, Dynamics, Environment, Setting, arm_names, count, in_environment, safe_index,
};
use super::outcome::{Arms, Family};
use crate::results::GuardrailInfo;
use crate::stream::{stream, uniform};

/// Streams of contexts and outcomes, by run: apart from those of agents.
const CONTEXTS: u64 = 5 << 60;

keys! {
    /// Keys of `segmented`.
    SegmentedConfig {
        /// Names of the segments; default `segment 0`, `segment 1`, …
        segments: Vec<String>,
        /// Frequency of each segment; they sum to one. Default: all alike.
        frequencies: Vec<f64>,
        /// True if agents are told the names before the first round; default true.
        declared: bool,
        /// Names of the arms; default `arm 0`, `arm 1`, …
        arms: Vec<String>,
        /// The safe arm, by index or name; default 0.
        safe: ArmRef,
        /// Mean reward per arm, one row per segment. Outcomes are the two ends of the range.
        rewards: Vec<Vec<f64>>,
        /// Per guardrail, mean cost per arm, one row per segment.
        costs: Vec<Vec<Vec<f64>>>,
    }
}

impl SegmentedConfig {
    pub(super) fn build(&self, setting: &Setting<'_>) -> Result<Environment, Error> {
        let rewards = self.rewards.as_ref().filter(|rows| !rows.is_empty());
        let Some(rewards) = rewards else {
            let allowed = "give one mean per arm, one row per segment";
            return Err(Error::invalid("environment.rewards", "absent", allowed));
        };
        let k = rewards[0].len();
        let proposed = (0..rewards.len()).map(|s| format!("segment {s}"));
        let names = self.segments.clone().unwrap_or_else(|| proposed.collect());
        let costs = self.costs.as_deref().unwrap_or_default();
        if costs.len() != setting.guardrails.len() {
            let allowed = format!(
                "expected {}: one table per guardrail",
                setting.guardrails.len()
            );
            let value = count(costs.len(), "table");
            return Err(Error::invalid("environment.costs", value, allowed));
        }
        let check = |field: &str, length: usize, expected: usize, what: &str| {
            if length == expected {
                return Ok(());
            }
            let allowed = format!("expected {expected}: one per {what}, as `rewards` has them");
            Err(Error::invalid(
                format!("environment.{field}"),
                format!("{length} entries"),
                allowed,
            ))
        };
        check("segments", names.len(), rewards.len(), "segment")?;
        for (s, row) in rewards.iter().enumerate() {
            check(&format!("rewards[{s}]"), row.len(), k, "arm")?;
        }
        for (i, table) in costs.iter().enumerate() {
            check(
                &format!("costs[{i}]"),
                table.len(),
                rewards.len(),
                "segment",
            )?;
            for (s, row) in table.iter().enumerate() {
                check(&format!("costs[{i}][{s}]"), row.len(), k, "arm")?;
            }
        }
        let arms = arm_names(self.arms.as_ref(), (0..k).map(|a| format!("arm {a}")))?;
        let problem = Problem {
            safe: safe_index(self.safe.as_ref(), &arms)?,
            arms,
            reward: setting.reward.clone(),
            guardrails: setting.guardrails.clone(),
            segments: if self.declared.unwrap_or(true) {
                names.clone()
            } else {
                Vec::new()
            },
            ..Problem::default()
        };
        let checked = problem.check().map_err(in_environment)?;
        let frequencies = self.checked_frequencies(names.len())?;
        let mut by_segment = Vec::new();
        for (s, row) in rewards.iter().enumerate() {
            let costs: Vec<Vec<f64>> = costs.iter().map(|table| table[s].clone()).collect();
            let means: Vec<Vec<f64>> = std::iter::once(row.clone()).chain(costs).collect();
            let field = |j: usize| match j.checked_sub(1) {
                None => format!("environment.rewards[{s}]"),
                Some(i) => format!("environment.costs[{i}][{s}]"),
            };
            let fields: Vec<String> = (0..means.len()).map(field).collect();
            let signal = |a: usize, j: usize| *checked.own_signal(a, j);
            by_segment.push(Arms::new(Family::Bernoulli, &fields, signal, &means)?);
        }
        let signals = checked.guardrails.len() + 1;
        let table = |value: &dyn Fn(&Arms, usize, usize) -> f64| -> Vec<Vec<Vec<f64>>> {
            let rows = |arms: &Arms| {
                (0..signals)
                    .map(|j| (0..k).map(|a| value(arms, a, j)).collect())
                    .collect()
            };
            by_segment.iter().map(rows).collect()
        };
        let (means, sds) = (
            table(&|arms, a, j| arms.mean(a, j)),
            table(&|arms, a, j| arms.sd(a, j)),
        );
        let source = SegmentedDraws {
            frequencies: frequencies.clone(),
            arms: by_segment,
        };
        let world = SegmentWorld {
            names,
            frequencies,
            means,
            sds,
            source: Arc::new(source),
        };
        world.environment(problem, setting, "environment.costs")
    }

    fn checked_frequencies(&self, segments: usize) -> Result<Vec<f64>, Error> {
        let Some(given) = &self.frequencies else {
            return Ok(vec![1.0 / segments as f64; segments]);
        };
        let field = "environment.frequencies";
        if given.len() != segments {
            let allowed = format!("expected {segments}: one per segment");
            return Err(Error::invalid(field, count(given.len(), "number"), allowed));
        }
        if let Some(bad) = given.iter().find(|p| !(p.is_finite() && **p >= 0.0)) {
            return Err(Error::invalid(
                field,
                bad,
                "must be a finite number, 0 or more",
            ));
        }
        let sum: f64 = given.iter().sum();
        if (sum - 1.0).abs() > 1e-9 {
            return Err(Error::invalid(field, sum, "must sum to one"));
        }
        Ok(given.clone())
    }
}

/// Segments with all that is true of them.
#[derive(Clone)]
pub struct SegmentWorld {
    /// Names of the segments.
    pub names: Vec<String>,
    /// Their true frequencies.
    pub frequencies: Vec<f64>,
    /// True means by segment, signal (0 the reward, 1 + i guardrail i) and arm.
    pub means: Vec<Vec<Vec<f64>>>,
    /// Standard deviations of outcomes, laid out as the means.
    pub sds: Vec<Vec<Vec<f64>>>,
    pub(crate) source: Arc<dyn CustomEnvironment>,
}

impl std::fmt::Debug for SegmentWorld {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SegmentWorld")
            .field("names", &self.names)
            .field("frequencies", &self.frequencies)
            .finish_non_exhaustive()
    }
}

impl SegmentWorld {
    /// The environment, once the safe arm is known to keep every guardrail with margin, where it holds in each
    /// segment in all of them.
    pub(super) fn environment(
        self,
        problem: Problem,
        setting: &Setting<'_>,
        field: &str,
    ) -> Result<Environment, Error> {
        let safe = problem.safe;
        for (i, guardrail) in setting.guardrails.iter().enumerate() {
            let Some((direction, bound)) = guardrail.bound() else {
                continue;
            };
            for (s, means) in self.means.iter().enumerate() {
                let mean = means[i + 1][safe];
                let limit = if guardrail.relative {
                    bound * mean
                } else {
                    bound
                };
                if guardrail.scope == Scope::Each && !(direction.excess(mean, limit) < 0.0) {
                    let allowed = format!(
                        "the safe arm must meet guardrail `{}` (threshold {limit}) with margin in segment `{}`",
                        guardrail.name, self.names[s]
                    );
                    return Err(Error::invalid(field, mean, allowed));
                }
                if let Some(declared) = guardrail.safe_cost
                    && (declared - mean).abs() > 1e-9 * (1.0 + mean.abs())
                {
                    let allowed = format!(
                        "the safe arm has mean {mean} in segment `{}`; leave `safe_cost` out unless it is the same in all",
                        self.names[s]
                    );
                    let field = format!("guardrail[{i}].safe_cost");
                    return Err(Error::invalid(field, declared, allowed));
                }
            }
        }
        let signals = self.means[0].len();
        Ok(Environment {
            changes: Vec::new(),
            safe_fields: (0..setting.guardrails.len())
                .map(|i| format!("{field}[{i}]"))
                .collect(),
            longest: 1.0,
            parameters: Vec::new(),
            safe_means: Some((0..signals).map(|j| self.overall(j, safe)).collect()),
            problem,
            dynamics: Dynamics::Segmented(self),
        })
    }

    /// Mean of a signal of an arm over all segments.
    pub fn overall(&self, signal: usize, arm: usize) -> f64 {
        let each = std::iter::zip(&self.frequencies, &self.means);
        each.map(|(p, means)| p * means[signal][arm]).sum()
    }

    /// Threshold of a guardrail in one segment, signed so that costs must stay below it: where it is relative, a
    /// multiple of the segment's own safe mean.
    pub(crate) fn limit(&self, problem: &Problem, info: &GuardrailInfo, i: usize, s: usize) -> f64 {
        let guardrail = &problem.guardrails[i];
        let threshold = match guardrail.bound() {
            Some((_, factor)) if guardrail.relative => factor * self.means[s][i + 1][problem.safe],
            _ => info.threshold,
        };
        info.direction.sign() * threshold
    }

    /// Poses the program of the best table: true means, widened costs by `wide(segment, arm, signal)`.
    pub(crate) fn best(
        &self,
        problem: &Problem,
        guardrails: &[GuardrailInfo],
        wide: impl Fn(usize, usize, usize) -> f64,
    ) -> Option<(f64, Vec<f64>)> {
        let safe = problem.safe;
        let of = |scope: Scope| {
            let list = guardrails.iter().enumerate();
            list.filter(move |(i, _)| problem.guardrails[*i].scope == scope)
        };
        let (overall, each): (Vec<_>, Vec<_>) =
            (of(Scope::Overall).collect(), of(Scope::Each).collect());
        let mut lp = BlockLp::new(overall.len(), each.len());
        let local: Vec<f64> = vec![0.0; each.len()];
        for (s, (p, means)) in std::iter::zip(&self.frequencies, &self.means).enumerate() {
            let reward: Vec<f64> = means[0].iter().map(|r| p * r).collect();
            let signed = |i: usize, g: &GuardrailInfo, a: usize| {
                g.direction.sign() * means[i + 1][a] + wide(s, a, i + 1)
            };
            let rows: Vec<Vec<f64>> = overall
                .iter()
                .map(|&(i, g)| (0..reward.len()).map(|a| p * signed(i, g, a)).collect())
                .collect();
            // Excesses over the segment's own threshold, which differ where it is relative; the safe arm's own
            // promise vouches for it.
            let excess: Vec<Vec<f64>> = each
                .iter()
                .map(|&(i, g)| {
                    let limit = self.limit(problem, g, i, s);
                    let own = |a: usize| {
                        let excess = signed(i, g, a) - limit;
                        if a == safe { excess.min(0.0) } else { excess }
                    };
                    (0..reward.len()).map(own).collect()
                })
                .collect();
            lp.set(s, safe, &reward, &rows, &excess);
        }
        let thresholds: Vec<f64> = overall
            .iter()
            .map(|(_, g)| g.direction.sign() * g.threshold)
            .collect();
        let solution = lp.solve(&thresholds, &local);
        if solution.status == Status::Infeasible {
            return None;
        }
        let value = solution.value;
        let mean = |i: usize| {
            let each = std::iter::zip(&self.frequencies, &self.means).enumerate();
            each.map(|(s, (p, means))| {
                p * lp
                    .policy(s)
                    .iter()
                    .map(|&(a, q)| q * means[i + 1][a])
                    .sum::<f64>()
            })
            .sum()
        };
        Some((value, (0..guardrails.len()).map(mean).collect()))
    }
}

/// Draws of segments and outcomes.
struct SegmentedDraws {
    frequencies: Vec<f64>,
    arms: Vec<Arms>,
}

impl CustomEnvironment for SegmentedDraws {
    fn start(&self, seed: u64, run: u64) -> Result<Box<dyn CustomRun>, Error> {
        Ok(Box::new(SegmentedRun {
            frequencies: self.frequencies.clone(),
            arms: self.arms.clone(),
            rng: stream(seed, CONTEXTS + run),
            segment: 0,
        }))
    }
}

struct SegmentedRun {
    frequencies: Vec<f64>,
    arms: Vec<Arms>,
    rng: ChaCha8Rng,
    segment: usize,
}

impl CustomRun for SegmentedRun {
    fn begin(&mut self, round: &mut CustomRound) -> Result<(), Error> {
        let mut rest = uniform(&mut self.rng);
        let found = self.frequencies.iter().position(|p| {
            rest -= p;
            rest < 0.0
        });
        self.segment = found.unwrap_or(self.frequencies.len() - 1);
        round.segment = self.segment;
        Ok(())
    }

    fn pull(&mut self, action: usize, costs: &mut [f64]) -> Result<f64, Error> {
        Ok(self.arms[self.segment].pull(action, &mut self.rng, costs))
    }
}

/// Means of a table's rows by segment, and its segments.
pub(super) fn of_rows(
    problem: &CheckedProblem,
    segments: &[usize],
    names: Vec<String>,
    outcome: impl Fn(usize, usize) -> Vec<f64>,
    source: Arc<dyn CustomEnvironment>,
) -> SegmentWorld {
    let (k, signals) = (problem.declared.arms.len(), problem.guardrails.len() + 1);
    let zeros = || vec![vec![vec![0.0; k]; signals]; names.len()];
    let (mut means, mut sds) = (zeros(), zeros());
    let mut counts = vec![0.0_f64; names.len()];
    for (row, &s) in segments.iter().enumerate() {
        counts[s] += 1.0;
        for a in 0..k {
            for (j, x) in outcome(row, a).into_iter().enumerate() {
                means[s][j][a] += x;
                sds[s][j][a] += x * x;
            }
        }
    }
    for s in 0..names.len() {
        for j in 0..signals {
            for a in 0..k {
                let mean = means[s][j][a] / counts[s];
                means[s][j][a] = mean;
                sds[s][j][a] = (sds[s][j][a] / counts[s] - mean * mean).max(0.0).sqrt();
            }
        }
    }
    let rows = segments.len() as f64;
    SegmentWorld {
        names,
        frequencies: counts.iter().map(|n| n / rows).collect(),
        means,
        sds,
        source,
    }
}
