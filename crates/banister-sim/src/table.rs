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

/// Streams of outcome tables are numbered by run from here on, above those of runs themselves.
const TABLES: u64 = 1 << 32;

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
    /// Where agents meet the same outcomes: one stream per table of them. Row n of an arm's table is what
    /// its n-th pull brings, whoever pulls and when.
    tables: Vec<ChaCha8Rng>,
    /// Room for the features of a scaled action.
    scaled: Vec<f64>,
}

impl<'a, S: Scene> Table<'a, S> {
    /// The table of a run of an agent, before the first round.
    pub(crate) fn new(experiment: &'a Experiment, scene: S, agent: usize, run: u64) -> Self {
        let config = &experiment.resolved.run;
        let guardrails = experiment.guardrails.len();
        let points = checkpoints(experiment).len();
        let tables = match config.coupled {
            true => scene.tables(),
            false => 0,
        };
        Self {
            judge: Judge::new(experiment, points, scene.knows_means()),
            tables: (0..tables as u64)
                .map(|table| stream(config.seed, TABLES * (run + 1) + table))
                .collect(),
            scaled: Vec::new(),
            scene,
            rng: stream(config.seed, experiment.first_stream() + run),
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
            let safe = match instant {
                true => None,
                false => agent.actions().map(|set| set.safe),
            };
            let decision = match &self.inspector {
                None => agent.decide(),
                Some(inspector) => inspector.decide(agent, t, self.scene.actions())?,
            };
            self.judge.round(&self.scene, optimum, decision);
            let scale = decision.scale;
            let safe_probability = safe.map_or(0.0, |safe| decision.probability(safe));
            let (arm, reward) = if self.tables.is_empty() {
                let arm = draw(decision, &mut self.rng);
                let rng = &mut self.rng;
                (arm, self.scene.pull(arm, scale, rng, &mut self.costs)?)
            } else {
                // One number a round for every agent, whether its policy needs it or not.
                let arm = decision.draw(uniform(&mut self.rng));
                let rng = &mut self.tables[self.scene.table(arm)];
                (arm, self.scene.pull(arm, scale, rng, &mut self.costs)?)
            };
            if !self.scene.knows_means() {
                self.judge.outcome(reward, &self.costs);
            }
            self.pulls[self.scene.seat(arm)] += 1;
            if scale != 1.0 {
                let x = self.scene.vector(arm);
                self.scaled.clear();
                self.scaled.extend(x.iter().map(|x| scale * x));
            }
            if instant {
                match scale == 1.0 {
                    true => agent.observe(arm, reward, &self.costs)?,
                    false => agent.observe_at(&self.scaled, reward, &self.costs)?,
                }
            } else {
                let features = match scale == 1.0 {
                    true => self.scene.features(arm),
                    false => &self.scaled,
                };
                let number = t + 1;
                agent.decided(number, Some(safe_probability));
                let outcome = (number, arm, features, reward, &self.costs[..]);
                self.mailbox.post(t, outcome, &mut self.rng);
                self.mailbox.deliver(t, |outcome| tell(agent, outcome))?;
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
        _ => decision.draw(uniform(rng)),
    }
}

/// A uniform number in [0, 1).
#[inline]
fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}
