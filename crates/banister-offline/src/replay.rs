//! Agents and a log: replay, as if an agent had been deployed, and warm start, before its first round.

use banister::interval::Mixture;
use banister::logs::{Frequencies, LogRows};
use banister::toolkit::Within;
use banister::{Agent, Decision, Error, Event, Outcome, Round};
use libm::log as log_of;
use serde::{Deserialize, Serialize};

use crate::features::Offering;
use crate::interval::{around, mean_and_variance};
use crate::log::CheckedLog;
use crate::options::check_confidence;
use crate::random::{Purpose, stream, unit};

/// Most checkpoints of a replay's curve.
pub const MAX_CHECKPOINTS: usize = 500;

/// Rounds between two calls of `stop`.
const PROGRESS: usize = 256;

/// Options of a replay.
///
/// | key | meaning | default |
/// |---|---|---|
/// | `max_weight` | M, a bound on π(a)/p(a); larger ratios are cut and counted | 1/(smallest pscore) |
/// | `seed` | of the rejection sampling | 0 |
/// | `confidence` | of the intervals | 0.95 |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReplayOptions {
    /// Bound M on π(a)/p(a).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_weight: Option<f64>,
    /// Seed of the rejection sampling.
    pub seed: u64,
    /// 1 − δ of the intervals.
    pub confidence: f64,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self {
            max_weight: None,
            seed: 0,
            confidence: 0.95,
        }
    }
}

/// Result of a replay: the agent's reward and costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Replay {
    /// Rounds of the log that were read.
    pub rows: u64,
    /// Rounds that the agent lived through.
    pub accepted: u64,
    /// Bound M that was used.
    pub max_weight: f64,
    /// Rounds whose ratio was above M. If there are many, the replayed law is not the agent's.
    pub cut: u64,
    /// Mean probability, over the rounds read, of actions that the log cannot contain: a safe action
    /// that was not among those offered. If it is not small, the replayed law is not the agent's.
    pub outside: f64,
    /// Mean reward of the accepted rounds; absent with fewer than two.
    pub reward: Option<Mean>,
    /// Mean cost per guardrail of the accepted rounds; empty with fewer than two.
    pub costs: Vec<Mean>,
    /// Running means over the accepted rounds.
    pub curve: ReplayCurve,
    /// Accepted rounds in which the certificate forced the safe action.
    pub fallbacks: u64,
    /// The agent's policy after the last round, on the actions of that round.
    pub policy: Vec<(usize, f64)>,
    /// True if `stop` ended it early.
    pub stopped: bool,
}

/// A mean over accepted rounds. The interval is for the average expectation under the policies that the agent played
/// in them: by bets where the signal has a range, at any number of rounds; else by a martingale's central limit
/// theorem.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Mean {
    /// Mean over the accepted rounds.
    pub mean: f64,
    /// Standard error of the mean.
    pub standard_error: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
}

/// Running means, one entry per checkpoint.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ReplayCurve {
    /// Accepted rounds at the checkpoint.
    pub round: Vec<u64>,
    /// Rows of the log read until then.
    pub row: Vec<u64>,
    /// Mean reward so far.
    pub reward: Vec<f64>,
    /// Per guardrail: mean cost so far.
    pub costs: Vec<Vec<f64>>,
}

/// Replays a log through an agent by rejection sampling.
///
/// In each logged round (x, a, y, p) the agent decides π; the round is accepted with probability
/// π(a)/(M·p), and only then the agent observes its outcome. An accepted round thus has the law of a
/// round that the agent played itself, whatever it learnt before (Dudík, Erhan, Langford and Li 2012,
/// without their bias: M bounds all ratios). One round in M is accepted. With uniform logging and the
/// default M = K a round is accepted with probability π(a), as in Li, Chu, Langford and Wang (2011).
///
/// An agent that takes features is offered those of the round, a context as
/// [`disjoint_features`](crate::disjoint_features) unless it was made for contexts; a K-armed agent ignores them. `stop` is called
/// every few hundred rows with the number of rows read; `true` ends the replay there.
pub fn replay(
    log: &CheckedLog,
    agent: &mut dyn Agent,
    options: &ReplayOptions,
    stop: &mut dyn FnMut(u64) -> bool,
) -> Result<Replay, Error> {
    check_confidence(options.confidence)?;
    let pscores = log.pscores("replay")?;
    let max_weight = max_weight(pscores, options)?;
    let mut rng = stream(options.seed, Purpose::Replay);
    let offering = log.offering(agent)?;
    let mut stopped = false;
    let (mut cut, mut fallbacks, mut outside) = (0, 0, 0.0);
    let mut accepted: Vec<usize> = Vec::new();
    let mut rows = 0;
    for (t, (&action, p)) in std::iter::zip(log.declared().actions, pscores).enumerate() {
        if t % PROGRESS == 0 && stop(t as u64) {
            stopped = true;
            break;
        }
        let decision = decide(agent, log, t, offering)?;
        if decision.scale != 1.0 {
            let value = "one that plays parts of actions";
            let allowed = "the log has whole actions: give the agent `play = \"mixed\"`";
            return Err(Error::invalid("agent", value, allowed));
        }
        let is_fallback = decision.fallback.is_some();
        let unlogged = decision
            .policy
            .iter()
            .filter(|(a, _)| *a >= log.declared().arms);
        outside += unlogged.map(|(_, p)| p).sum::<f64>();
        let ratio = decision.probability(action) / (max_weight * p);
        // M·p may round to just below a probability that it bounds.
        cut += u64::from(ratio > 1.0 + 1e-12);
        rows += 1;
        // One number a row, whatever the agent does: replays of two agents share their luck.
        if unit(&mut rng) < ratio {
            let reward = log.declared().rewards[t];
            let taken = agent.apply(&Event::Outcome(&Outcome {
                choice: log.played(t, offering).view(),
                segment: log.declared().segments.get(t).copied(),
                ..Outcome::of_arm(action, reward, log.costs(t))
            }));
            taken.within(("round", t))?;
            accepted.push(t);
            fallbacks += u64::from(is_fallback);
        }
    }
    let mut means = (0..log.signals()).map_while(|signal| mean(log, signal, &accepted, options));
    Ok(Replay {
        rows,
        accepted: accepted.len() as u64,
        max_weight,
        cut,
        outside: outside / rows.max(1) as f64,
        reward: means.next(),
        costs: means.collect(),
        curve: curve(log, &accepted),
        fallbacks,
        policy: decide(agent, log, (rows as usize).saturating_sub(1), offering)?
            .policy
            .clone(),
        stopped,
    })
}

/// The agent's decision in a round of the log.
fn decide<'a>(
    agent: &'a mut dyn Agent,
    log: &CheckedLog,
    t: usize,
    offering: Offering,
) -> Result<&'a Decision, Error> {
    let offered = log.offered(t, offering);
    let round = Round {
        choice: offered.view(),
        segment: log.declared().segments.get(t).copied(),
        ..Round::default()
    };
    agent.decide(&round).within(("round", t))
}

fn max_weight(pscores: &[f64], options: &ReplayOptions) -> Result<f64, Error> {
    match options.max_weight {
        Some(m) if m > 0.0 && m.is_finite() => Ok(m),
        Some(m) => Err(Error::invalid(
            "max_weight",
            m,
            "must be finite and above 0",
        )),
        None => {
            let least = pscores.iter().copied().fold(1.0, f64::min);
            let bound = 1.0 / least;
            if bound.is_finite() {
                return Ok(bound);
            }
            let allowed = "too small to bound the ratios by: give `max_weight`";
            Err(Error::invalid(
                "pscores",
                format!("as small as {least:e}"),
                allowed,
            ))
        }
    }
}

fn mean(
    log: &CheckedLog,
    signal: usize,
    accepted: &[usize],
    options: &ReplayOptions,
) -> Option<Mean> {
    let values = accepted.iter().map(|&t| log.value(signal, t));
    let (mean, variance, n) = mean_and_variance(values);
    let standard_error = (variance / n as f64).sqrt();
    let (lower, upper) = match log.range(signal) {
        None => around(mean, standard_error, options.confidence),
        Some([lo, hi]) => {
            let mut terms = Mixture::default();
            for &t in accepted {
                terms.push(((log.value(signal, t) - lo) / (hi - lo)).clamp(0.0, 1.0));
            }
            let log_term = log_of(2.0 / (1.0 - options.confidence));
            let (lower, upper) = (terms.lower(log_term, 0.0), terms.upper(log_term, 1.0));
            (lo + (hi - lo) * lower, lo + (hi - lo) * upper)
        }
    };
    (n >= 2).then_some(Mean {
        mean,
        standard_error,
        lower,
        upper,
    })
}

/// Running means at up to 500 accepted rounds, evenly spaced, the last one included.
fn curve(log: &CheckedLog, accepted: &[usize]) -> ReplayCurve {
    let n = accepted.len();
    let points = n.min(MAX_CHECKPOINTS);
    let rounds: Vec<usize> = (1..=points)
        .map(|k| (k as u128 * n as u128 / points as u128) as usize)
        .collect();
    let running = |signal: usize| -> Vec<f64> {
        let (mut sum, mut done) = (0.0, 0);
        let mut at = |&round: &usize| {
            sum += accepted[done..round]
                .iter()
                .map(|&t| log.value(signal, t))
                .sum::<f64>();
            done = round;
            sum / round as f64
        };
        rounds.iter().map(&mut at).collect()
    };
    ReplayCurve {
        reward: running(0),
        costs: (1..log.signals()).map(running).collect(),
        row: rounds.iter().map(|&k| accepted[k - 1] as u64 + 1).collect(),
        round: rounds.iter().map(|&k| k as u64).collect(),
    }
}

/// Feeds every logged outcome to an agent; returns what the log cannot teach of segments, and why.
///
/// A K-armed agent takes outcomes by arm, and in their segments where the log has them. A linear agent takes them by the
/// features of the action played (a context becomes a block vector, see [`disjoint_features`](crate::disjoint_features),
/// unless the agent was made for contexts), or by arm if the log has no features and the agent's actions are fixed.
/// An agent that tells segments apart also learns how frequent they are, if `frequencies` are declared the same
/// ([`banister::logs`]).
///
/// **Why the guarantee survives.** The agents' intervals bound, for every arm at once, how far a sum
/// of outcomes strays from its expectation when each outcome, given the past and the action chosen,
/// has that action's mean: martingale arguments that hold under any rule of choosing, hence also
/// under the logging policy. No weights are needed. It fails if the logging policy, or whoever
/// selected the rows, looked at the outcome itself (say, logs of sales only), if something unlogged
/// moved both the choice and the outcome, or if the means have changed since. The costs of the logging
/// policy say nothing about the agent's own policies, so they raise no alarm of a breach.
///
/// **Errors.** The log itself was checked as a whole before; declare the problem's ranges with
/// [`Log::declare`](crate::Log::declare), and no number can be refused half-way. Should the agent
/// refuse a row all the same (an arm it does not have, a horizon used up), rows before it have been
/// taken: start again from a fresh agent.
pub fn warm_start(
    agent: &mut dyn Agent,
    log: &CheckedLog,
    frequencies: Frequencies,
) -> Result<Vec<String>, Error> {
    let declared = log.declared();
    let offering = log.offering(agent)?;
    let view = agent.view();
    let names: Vec<&str> = view.arms.iter().map(|arm| &arm.name[..]).collect();
    let rows = LogRows {
        segments: &declared.segments[..declared.segments.len() * view.segment_policies.min(1)],
        actions: declared.actions,
        requests: &declared.requests,
        pscores: declared.pscores,
    };
    let (origins, not_taught) = rows.lesson(frequencies, &names)?;
    for (t, (&action, &reward)) in std::iter::zip(declared.actions, declared.rewards).enumerate() {
        let taken = agent.apply(&Event::Outcome(&Outcome {
            choice: log.played(t, offering).view(),
            segment: declared.segments.get(t).copied(),
            origin: origins[t],
            ..Outcome::of_arm(action, reward, log.costs(t))
        }));
        taken.within(("round", t))?;
    }
    Ok(not_taught)
}
