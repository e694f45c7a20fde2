//! The rounds of a run: decide, judge, draw, pull, observe.

use banister::{Agent, Choice, Claim, Decision, Error, Event, Origin, Outcome, Pending};
use rand_chacha::ChaCha8Rng;

use super::delay::DelayQueue;
use super::environment::RunEnvironment;
use super::metrics::Metrics;
use crate::agents::Inspector;
use crate::environment::Pull;
use crate::experiment::Experiment;
use crate::stream::{stream, uniform};

/// First of the streams of common outcomes, by run: above those of runs themselves.
const COMMON: u64 = 1 << 32;

/// One run of one agent, round by round.
pub(crate) struct Episode {
    rng: ChaCha8Rng,
    pub(crate) metrics: Metrics,
    queue: DelayQueue,
    /// Checks the policies of user-supplied agents before they are played.
    inspector: Option<Inspector>,
    pub(crate) pulls: Vec<u64>,
    /// Costs of the current round.
    costs: Vec<f64>,
    /// Streams of outcomes that agents share: the n-th pull of an arm, by any agent at any time, brings the n-th
    /// outcome of its stream.
    common: Vec<ChaCha8Rng>,
    /// Room for the features of a scaled action.
    scaled: Vec<f64>,
    /// Claims about the action drawn, and the segment's own excess.
    claims: Vec<Claim>,
    excess: Vec<f64>,
}

impl Episode {
    /// Prepares a run of an agent.
    pub(crate) fn new(
        experiment: &Experiment,
        environment: &impl RunEnvironment,
        agent: usize,
        run: u64,
    ) -> Self {
        let config = &experiment.resolved.run;
        let guardrails = experiment.guardrails.len();
        let points = experiment.checkpoints().len();
        let streams = if config.coupled {
            environment.outcome_streams()
        } else {
            0
        };
        let mut metrics = Metrics::new(experiment, points, environment.knows_means());
        if environment.is_measured() {
            metrics.measure();
        }
        Self {
            metrics,
            common: (0..streams as u64)
                .map(|number| stream(config.seed, COMMON * (run + 1) + number))
                .collect(),
            scaled: Vec::new(),
            claims: Vec::new(),
            excess: Vec::new(),
            rng: stream(config.seed, experiment.first_stream() + run),
            queue: DelayQueue::new(
                config,
                &experiment.problem.declared.arms,
                environment.segments(),
            ),
            inspector: experiment.agents[agent].1.inspector(guardrails),
            pulls: vec![0; experiment.pull_slots().len()],
            costs: vec![0.0; guardrails],
        }
    }

    /// Plays some rounds. A function of its own, so that the hot loop has the registers.
    #[inline(never)]
    pub(crate) fn play<E: RunEnvironment>(
        &mut self,
        environment: &mut E,
        agent: &mut dyn Agent,
        rounds: std::ops::Range<u64>,
    ) -> Result<(), Error> {
        let instant = self.queue.is_instant();
        // The agent knows what it claimed of an arm last.
        let is_plain = !matches!(environment.choice(&[]), Choice::Offered(_));
        for t in rounds {
            let optimum = environment.begin(agent)?;
            let stands = t > 0 && environment.is_fixed() && !agent.view().is_stale;
            let decision = agent.decide(&environment.round())?;
            if let Some(inspector) = &self.inspector {
                inspector.check(decision, t, environment.actions())?;
            }
            if stands {
                self.metrics.repeat();
            } else {
                self.metrics.round(environment, optimum, decision);
            }
            let scale = decision.scale;
            let safe_probability = if instant {
                0.0
            } else {
                decision.probability(environment.safe())
            };
            let (action, rng) = if self.common.is_empty() {
                (draw(decision, &mut self.rng), &mut self.rng)
            } else {
                // One number a round for every agent, whether its policy needs it or not.
                let action = decision.draw(uniform(&mut self.rng));
                let is_shared = self.common.len() == 1;
                (action, &mut self.common[if is_shared { 0 } else { action }])
            };
            self.claims.clear();
            self.excess.clear();
            if !(instant && is_plain) {
                (self.claims).extend_from_slice(decision.claims(action).unwrap_or_default());
                let segment = decision.segment.as_ref();
                (self.excess).extend(segment.iter().flat_map(|own| &own.excess));
            }
            let reward = environment.pull(Pull {
                action,
                scale,
                rng,
                costs: &mut self.costs,
            })?;
            if !environment.knows_means() {
                self.metrics.outcome(reward, &self.costs);
            }
            if environment.is_measured() {
                let drawn = (reward, &self.costs[..]);
                self.metrics.drawn(environment, optimum, drawn);
            }
            self.pulls[environment.pull_slot(action)] += 1;
            if scale != 1.0 {
                let x = environment.vector(action);
                self.scaled.clear();
                self.scaled.extend(x.iter().map(|x| scale * x));
            }
            let features = if scale == 1.0 {
                environment.features(action)
            } else {
                &self.scaled
            };
            let segment = environment.segment();
            let segments = environment.segments();
            let outcome = Outcome {
                action,
                choice: if scale == 1.0 {
                    environment.choice(features)
                } else {
                    Choice::Offered(features)
                },
                segment: segment.map(|segment| segments[segment].as_str()),
                reward,
                costs: &self.costs,
                origin: Origin::Immediate,
                time: None,
                claims: (!self.claims.is_empty()).then_some(&self.claims),
            };
            if !environment.is_learned() {
                self.queue.deliver(t, agent, segments)?;
                continue;
            }
            if instant {
                agent.apply(&Event::Outcome(&outcome))?;
                continue;
            }
            agent.apply(&Event::Drawn(&Pending {
                decision: t + 1,
                action,
                segment: outcome.segment,
                safe_probability: Some(safe_probability),
                excess: &self.excess,
                time: None,
            }))?;
            (self.queue).push(t, &outcome, segment, &mut self.rng);
            self.queue.deliver(t, agent, segments)?;
        }
        Ok(())
    }
}

/// Draws the arm; a policy on one arm needs no random number.
#[inline]
fn draw(decision: &Decision, rng: &mut ChaCha8Rng) -> usize {
    match decision.policy[..] {
        [(arm, _)] => arm,
        _ => decision.draw(uniform(rng)),
    }
}
