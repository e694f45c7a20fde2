//! Runs in segments: the table of policies is judged as a whole, before it is known which segment comes.

use banister::{Agent, Error, Origin, Outcome, Round, Scope};
use rand_chacha::ChaCha8Rng;

use super::environment::RunEnvironment;
use crate::environment::{CustomRound, CustomRun, SegmentWorld};
use crate::experiment::Experiment;

/// One run in segments.
pub(crate) struct SegmentedActions<'a> {
    experiment: &'a Experiment,
    world: &'a SegmentWorld,
    run: Box<dyn CustomRun>,
    round: CustomRound,
    /// Policies of an agent that tells segments apart; empty for one that does not.
    table: Vec<Vec<(usize, f64)>>,
    /// Expected signals of that table.
    judged: Vec<f64>,
    /// Means over all segments, by signal and arm.
    means: Vec<Vec<f64>>,
    asked: bool,
}

impl<'a> SegmentedActions<'a> {
    pub(crate) fn new(
        experiment: &'a Experiment,
        world: &'a SegmentWorld,
        run: u64,
    ) -> Result<Self, Error> {
        let (arms, signals) = (experiment.problem.declared.arms.len(), world.means[0].len());
        let row = |signal: usize| (0..arms).map(|arm| world.overall(signal, arm)).collect();
        Ok(Self {
            run: (world.source).start(experiment.resolved.run.seed, run)?,
            experiment,
            world,
            round: CustomRound::default(),
            table: Vec::new(),
            judged: vec![0.0; signals],
            means: (0..signals).map(row).collect(),
            asked: false,
        })
    }

    /// Expected signal of a table of policies: over all segments, or where its guardrail holds in each, as far beyond
    /// the threshold as in the worst of them.
    fn signal<'p>(&self, policy: impl Fn(usize) -> &'p [(usize, f64)], signal: usize) -> f64 {
        let world = self.world;
        let mean = |s: usize| -> f64 {
            let means = &world.means[s][signal];
            policy(s).iter().map(|&(arm, p)| p * means[arm]).sum()
        };
        let problem = &self.experiment.problem.declared;
        if let Some(i) = signal.checked_sub(1)
            && problem.guardrails[i].scope == Scope::Each
        {
            let info = &self.experiment.guardrails[i];
            let sign = info.direction.sign();
            let excess = |s: usize| sign * mean(s) - world.limit(problem, info, i, s);
            let met = (0..world.names.len()).filter(|&s| world.frequencies[s] > 0.0);
            let worst = met.map(excess).fold(f64::NEG_INFINITY, f64::max);
            return info.threshold + sign * worst;
        }
        let each = world.frequencies.iter().enumerate();
        each.map(|(s, p)| p * mean(s)).sum()
    }
}

impl RunEnvironment for SegmentedActions<'_> {
    fn is_measured(&self) -> bool {
        true
    }

    fn warm(&mut self, agent: &mut dyn Agent) -> Result<(), Error> {
        for outcome in self.run.logged()? {
            let name = self.world.names[outcome.segment].as_str();
            agent.observe(&Outcome {
                segment: Some(name),
                origin: Origin::Logged,
                ..Outcome::of_arm(outcome.action, outcome.reward, &outcome.costs)
            })?;
        }
        Ok(())
    }

    fn safe(&self) -> usize {
        self.experiment.problem.declared.safe
    }

    fn begin(&mut self, agent: &mut dyn Agent) -> Result<f64, Error> {
        // The table stands before the segment is known.
        if !self.asked || agent.view().is_stale {
            self.asked = true;
            for (s, name) in self.world.names.iter().enumerate() {
                let decision = agent.decide(&Round::in_segment(name))?;
                if decision.segment.is_none() {
                    // One policy for all.
                    break;
                }
                if self.table.len() == s {
                    self.table.push(Vec::new());
                }
                self.table[s].clear();
                self.table[s].extend_from_slice(&decision.policy);
            }
            if !self.table.is_empty() {
                for signal in 0..self.judged.len() {
                    self.judged[signal] = self.signal(|s| &self.table[s], signal);
                }
            }
        }
        self.run.begin(&mut self.round)?;
        Ok(self.experiment.optimum.reward)
    }

    fn round(&self) -> Round<'_> {
        Round::in_segment(&self.world.names[self.round.segment])
    }

    fn actions(&self) -> usize {
        self.means[0].len()
    }

    fn mean(&self, action: usize, signal: usize) -> f64 {
        self.means[signal][action]
    }

    fn judge(&self, policy: &[(usize, f64)], signal: usize) -> f64 {
        if self.table.is_empty() {
            self.signal(|_| policy, signal)
        } else {
            self.judged[signal]
        }
    }

    fn segment(&self) -> Option<usize> {
        Some(self.round.segment)
    }

    fn segments(&self) -> &[String] {
        &self.world.names
    }

    fn pull(
        &mut self,
        action: usize,
        _: f64,
        _: &mut ChaCha8Rng,
        costs: &mut [f64],
    ) -> Result<f64, Error> {
        self.run.pull(action, costs)
    }

    fn pull_slot(&self, action: usize) -> usize {
        action
    }

    fn features(&self, _: usize) -> &[f64] {
        &[]
    }

    fn average_optimum(&self) -> Option<(f64, Vec<f64>)> {
        let best = &self.experiment.optimum;
        Some((best.reward, best.costs.clone()))
    }
}
