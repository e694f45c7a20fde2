//! One run's rounds: decide, judge, draw, pull, observe.

use banister::{Agent, Decision, Error};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::custom::Inspector;
use crate::delay::Mailbox;
use crate::experiment::Experiment;
use crate::judge::Judge;
use crate::runner::{checkpoints, stream};
use crate::scene::{Scene, tell};

/// What an agent plays against in one run.
pub(crate) struct Table<'a, S> {
    pub(crate) scene: S,
    rng: ChaCha8Rng,
    pub(crate) judge: Judge<'a>,
    mailbox: Mailbox,
    /// Looks at policies from outside before they are played.
    inspector: Option<Inspector>,
    pub(crate) pulls: Vec<u64>,
    /// Costs of the current round.
    costs: Vec<f64>,
}

impl<'a, S: Scene> Table<'a, S> {
    /// The table of a run of an agent, before the first round.
    pub(crate) fn new(experiment: &'a Experiment, scene: S, agent: usize, run: u64) -> Self {
        let config = &experiment.resolved.run;
        let guardrails = experiment.guardrails.len();
        let points = checkpoints(experiment).len();
        Self {
            judge: Judge::new(experiment, points, scene.knows_means()),
            scene,
            rng: stream(config.seed, run),
            mailbox: Mailbox::new(config.delay, config.batch, guardrails),
            inspector: experiment.agents[agent].1.inspector(guardrails),
            pulls: vec![0; experiment.seats().len()],
            costs: vec![0.0; guardrails],
        }
    }

    /// Plays some rounds. A function of its own, so that the hot loop has the registers.
    #[inline(never)]
    pub(crate) fn play(
        &mut self,
        agent: &mut dyn Agent,
        rounds: std::ops::Range<u64>,
    ) -> Result<(), Error> {
        let instant = self.mailbox.is_instant();
        for t in rounds {
            let optimum = self.scene.begin(agent)?;
            let decision = match &self.inspector {
                None => agent.decide(),
                Some(inspector) => inspector.decide(agent, t, self.scene.actions())?,
            };
            self.judge.round(&self.scene, optimum, decision);
            let arm = draw(decision, &mut self.rng);
            let reward = self.scene.pull(arm, &mut self.rng, &mut self.costs)?;
            if !self.scene.knows_means() {
                self.judge.outcome(reward, &self.costs);
            }
            self.pulls[self.scene.seat(arm)] += 1;
            if instant {
                agent.observe(arm, reward, &self.costs)?;
            } else {
                let outcome = (arm, self.scene.features(arm), reward, &self.costs[..]);
                self.mailbox.post(t, outcome, &mut self.rng);
                self.mailbox.deliver(t, |(arm, x, reward, costs)| {
                    tell(agent, arm, x, reward, costs)
                })?;
            }
        }
        Ok(())
    }
}

/// Draws the arm; a policy on one arm needs no random number.
#[inline]
fn draw(decision: &Decision, rng: &mut ChaCha8Rng) -> usize {
    match decision.policy[..] {
        [(arm, _)] => arm,
        _ => decision.draw((rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64),
    }
}
