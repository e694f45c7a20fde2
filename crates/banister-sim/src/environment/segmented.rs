//! `segmented`: arms whose means differ by segment, under guardrails over all segments or in each; and the
//! world of segments, also of those in a table.

use banister::toolkit::Within;
use std::sync::Arc;

use banister::{Error, Problem, Scope};
use rand_chacha::ChaCha8Rng;

use super::custom::{CustomEnvironment, CustomRound, CustomRun};
use super::keys::keys;
use super::model::{
    ArmRef, Dynamics, Environment, Setting, arm_names, count, in_environment, safe_index,
};
use super::outcome::{Arms, Family, Pull};
use super::segments::Segments;
use super::world::{LoggedOutcome, RunStart, World, WorldRound, WorldRun};
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
        /// True if agents know the names before the first round; default true.
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
        let checked = problem.check().with_path(in_environment)?;
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
        let signals = costs.len() + 1;
        let segments = Segments {
            names,
            frequencies: frequencies.clone(),
            means: table(&by_segment, signals, Arms::mean),
            laws: table(&by_segment, signals, Arms::law),
        };
        let source = Arc::new(SegmentedDraws {
            frequencies,
            arms: by_segment,
        });
        let world = SegmentWorld { segments, source };
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

/// Segments, and the source of requests in them.
pub(super) struct SegmentWorld {
    pub segments: Segments,
    pub source: Arc<dyn CustomEnvironment>,
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
            for (s, means) in self.segments.means.iter().enumerate() {
                let mean = means[i + 1][safe];
                let limit = if guardrail.relative {
                    bound * mean
                } else {
                    bound
                };
                if guardrail.scope == Scope::Each && !(direction.excess(mean, limit) < 0.0) {
                    let allowed = format!(
                        "the safe arm must meet guardrail `{}` (threshold {limit}) with margin in segment `{}`",
                        guardrail.name, self.segments.names[s]
                    );
                    return Err(Error::invalid(field, mean, allowed));
                }
                if let Some(declared) = guardrail.safe_cost
                    && (declared - mean).abs() > 1e-9 * (1.0 + mean.abs())
                {
                    let allowed = format!(
                        "the safe arm has mean {mean} in segment `{}`; leave `safe_cost` out unless it is the same in all",
                        self.segments.names[s]
                    );
                    let field = format!("guardrails[{i}].safe_cost");
                    return Err(Error::invalid(field, declared, allowed));
                }
            }
        }
        let segments = &self.segments;
        let overall = |signal: usize| segments.overall(signal, safe);
        Ok(Environment {
            safe_field: format!("{field}[{{i}}]"),
            safe_means: Some((0..segments.means[0].len()).map(overall).collect()),
            ..Environment::new(problem, Dynamics::General(Arc::new(self)))
        })
    }
}

impl World for SegmentWorld {
    fn start<'a>(&'a self, start: &RunStart<'a>) -> Result<Box<dyn WorldRun + 'a>, Error> {
        Ok(Box::new(InSegments {
            segments: &self.segments,
            run: self.source.start(start.seed, start.run)?,
            round: CustomRound::default(),
        }))
    }

    fn segments(&self) -> Option<&Segments> {
        Some(&self.segments)
    }

    fn is_measured(&self) -> bool {
        true
    }

    fn rows(&self, horizon: u64, seed: u64, run: u64) -> Option<Vec<usize>> {
        self.source.rows(horizon, seed, run)
    }

    fn work(&self, arms: u64) -> Option<(u64, u64)> {
        Some((arms * self.segments.names.len() as u64, 0))
    }
}

/// One run in segments whose means stay.
struct InSegments<'a> {
    segments: &'a Segments,
    run: Box<dyn CustomRun>,
    round: CustomRound,
}

impl WorldRun for InSegments<'_> {
    fn logged(&mut self) -> Result<Vec<LoggedOutcome>, Error> {
        self.run.logged()
    }

    fn begin(&mut self, round: &mut WorldRound) -> Result<bool, Error> {
        self.run.begin(&mut self.round)?;
        round.segment = self.round.segment;
        let is_first = round.means.is_empty();
        if is_first {
            let (segments, arms) = (self.segments, 0..round.actions);
            round.write_means(segments.means[0].len(), |signal, _, means| {
                means.extend(arms.clone().map(|arm| segments.overall(signal, arm)));
            });
        }
        Ok(is_first)
    }

    fn pull(&mut self, _: &WorldRound, pull: Pull<'_>) -> Result<f64, Error> {
        self.run.pull(pull.action, pull.costs)
    }

    fn segments(&self) -> Option<&Segments> {
        Some(self.segments)
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

/// A number or a law of every segment, signal and arm.
fn table<T>(
    segments: &[Arms],
    signals: usize,
    value: fn(&Arms, usize, usize) -> T,
) -> Vec<Vec<Vec<T>>> {
    let row = |arms: &Arms, j: usize| (0..arms.count()).map(|a| value(arms, a, j)).collect();
    let rows = |arms: &Arms| (0..signals).map(|j| row(arms, j)).collect();
    segments.iter().map(rows).collect()
}
