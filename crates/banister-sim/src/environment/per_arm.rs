//! Arms in contexts, each with parameters of its own, the safe one too.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};
use std::sync::Arc;

use banister::toolkit::Signal;
use banister::{Error, Link, Problem};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::changing::{dot, rounds_of, through, two_ends};
use super::draw::{direction, instance_stream};
use super::model::{Dynamics, Environment, Setting};
use super::outcome::{Pull, each_signal};
use super::world::{RunStart, World, WorldRound, WorldRun};

/// Arms in contexts x = (1, v)/√2 with v on the unit sphere: the mean of a signal of arm a is ⟨x, parameter_a⟩, or that
/// through a logistic link.
#[derive(Debug, Clone)]
struct PerArm {
    numbers: usize,
    /// Per signal and arm.
    parameters: Vec<Vec<Vec<f64>>>,
    signals: Vec<Signal>,
    link: Link,
}

impl PerArm {
    /// Length of the longest parameter, in units of the signals' ranges or in log-odds.
    fn longest(&self) -> f64 {
        let each = std::iter::zip(&self.parameters, &self.signals);
        let lengths = each.flat_map(|(arms, signal)| {
            let unit = match self.link {
                Link::Identity => signal.unit(),
                Link::Logistic => 1.0,
            };
            arms.iter().map(move |x| dot(x, x).sqrt() / unit)
        });
        lengths.fold(0.0, f64::max)
    }
}

impl World for PerArm {
    fn start<'a>(&'a self, start: &RunStart<'a>) -> Result<Box<dyn WorldRun + 'a>, Error> {
        Ok(Box::new(InContexts {
            arms: self,
            rng: rounds_of(start),
        }))
    }

    fn work(&self, arms: u64) -> Option<(u64, u64)> {
        Some((arms, 10 * arms * (self.numbers * self.numbers) as u64))
    }
}

/// One run in contexts.
struct InContexts<'a> {
    arms: &'a PerArm,
    rng: ChaCha8Rng,
}

impl WorldRun for InContexts<'_> {
    fn begin(&mut self, round: &mut WorldRound) -> Result<bool, Error> {
        let arms = self.arms;
        round.features.resize(arms.numbers, 0.0);
        round.features[0] = FRAC_1_SQRT_2;
        direction(&mut self.rng, &mut round.features[1..]);
        (round.features[1..].iter_mut()).for_each(|x| *x *= FRAC_1_SQRT_2);
        round.write_means(arms.signals.len(), |s, context, means| {
            let mean = |own: &Vec<f64>| through(arms.link, &arms.signals[s], dot(context, own));
            means.extend(arms.parameters[s].iter().map(mean));
        });
        Ok(true)
    }

    fn pull(&mut self, round: &WorldRound, pull: Pull<'_>) -> Result<f64, Error> {
        let signals = &self.arms.signals;
        Ok(each_signal(pull.costs, |signal| {
            let mean = pull.scale * round.means[signal][pull.action];
            two_ends(&signals[signal], mean, pull.rng)
        }))
    }
}

/// Draws an instance: means of every arm go some way up and down with the context, those of the safe arm between a
/// tenth and nine tenths of the way from the harmless end to the threshold.
pub(super) fn per_arm_environment(
    setting: &Setting<'_>,
    signals: &[Signal],
    (arms, numbers): (Vec<String>, usize),
    link: Link,
    seed: u64,
) -> Result<Environment, Error> {
    for (i, guardrail) in setting.guardrails.iter().enumerate() {
        for (key, given) in [
            ("safe_cost", guardrail.safe_cost.is_some()),
            ("relative", guardrail.relative),
        ] {
            if given {
                let allowed = "the safe arm's means depend on the context here: leave it out";
                let field = format!("guardrails[{i}].{key}");
                return Err(Error::invalid(field, "given", allowed));
            }
        }
    }
    let parameters = (0..signals.len()).map(|s| {
        let mut rng = instance_stream(seed, s as u64);
        let mut unit = || (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        // Lowest and highest share of the range.
        let ends: Vec<(f64, f64)> = (0..arms.len())
            .map(|arm| {
                let middle = 0.2 + 0.6 * unit();
                let bound = s.checked_sub(1).and_then(|i| setting.guardrails[i].bound());
                match bound {
                    Some((direction, bound)) if arm == 0 => {
                        let signal = &signals[s];
                        let (harmless, _) = direction.ordered(signal.lo, signal.hi);
                        let way = |part: f64| {
                            (harmless + part * (bound - harmless) - signal.lo) / signal.unit()
                        };
                        (way(0.1).min(way(0.9)), way(0.1).max(way(0.9)))
                    }
                    _ => {
                        let reach = 0.8 * middle.min(1.0 - middle);
                        (middle - reach, middle + reach)
                    }
                }
            })
            .collect();
        let mut one = |(low, high): (f64, f64)| {
            let map = |share: f64| match link {
                Link::Identity => signals[s].lo + signals[s].unit() * share,
                Link::Logistic => (share / (1.0 - share)).ln(),
            };
            let (low, high) = (map(low), map(high));
            let mut parameter = vec![0.0; numbers];
            direction(&mut rng, &mut parameter[1..]);
            let slope = 0.5 * (high - low) * SQRT_2;
            parameter[1..].iter_mut().for_each(|x| *x *= slope);
            parameter[0] = 0.5 * (high + low) * SQRT_2;
            parameter
        };
        ends.into_iter().map(&mut one).collect()
    });
    let per_arm = PerArm {
        numbers,
        parameters: parameters.collect(),
        signals: signals.to_vec(),
        link,
    };
    let problem = Problem {
        arms,
        context: Some(numbers),
        guardrails: setting.guardrails.clone(),
        reward: setting.reward.clone(),
        ..Problem::default()
    };
    Ok(Environment {
        link,
        parameter_norm: Some(per_arm.longest()),
        ..Environment::new(problem, Dynamics::General(Arc::new(per_arm)))
    })
}
