//! Runs in worlds: whatever a round brings, it is judged against the best policy of its own.

use banister::{Agent, Choice, Error, Event, Origin, Outcome, Round};

use super::best::BestPolicy;
use super::environment::RunEnvironment;
use super::policy_table::PolicyTable;
use crate::environment::{Pull, RunStart, Segments, World, WorldRound, WorldRun};
use crate::experiment::Experiment;

/// One run in a world.
pub(crate) struct GeneralActions<'a> {
    experiment: &'a Experiment,
    world: &'a dyn World,
    run: Box<dyn WorldRun + 'a>,
    round: WorldRound,
    /// x_0; empty without features.
    safe_action: &'a [f64],
    /// Rounds begun.
    t: u64,
    best: BestPolicy,
    table: PolicyTable,
    actions_change: bool,
    knows_means: bool,
    is_measured: bool,
    has_segments: bool,
}

impl<'a> GeneralActions<'a> {
    pub(crate) fn new(
        experiment: &'a Experiment,
        world: &'a dyn World,
        run: u64,
        floor: f64,
    ) -> Result<Self, Error> {
        let problem = &experiment.problem.declared;
        let start = RunStart {
            problem: &experiment.problem,
            safe_means: experiment.environment.safe_means.as_deref(),
            seed: experiment.resolved.run.seed,
            run,
        };
        let is_measured = world.is_measured();
        let floor = if is_measured { 0.0 } else { floor };
        Ok(Self {
            experiment,
            world,
            run: world.start(&start)?,
            round: WorldRound {
                actions: problem.arms.len(),
                safe: problem.safe,
                ..WorldRound::default()
            },
            safe_action: problem.features.get(problem.safe).map_or(&[], |x| x),
            t: 0,
            best: BestPolicy::new(&experiment.guardrails, floor),
            table: PolicyTable::default(),
            actions_change: world.actions_change(),
            knows_means: world.knows_means(),
            is_measured,
            has_segments: world.segments().is_some(),
        })
    }

    /// The true segments, where there are any.
    #[inline]
    fn truth(&self) -> Option<&Segments> {
        if self.has_segments {
            self.run.segments()
        } else {
            None
        }
    }

    /// Solves for the best policy of a round whose actions or means are new; false where there is none.
    fn solve(&mut self) -> bool {
        let Some(segments) = self.run.segments() else {
            return self.best.solve(&self.round.means, self.round.safe);
        };
        let problem = &self.experiment.problem.declared;
        let best = segments.best(problem, &self.experiment.guardrails, |_, _, _| 0.0);
        if let Some((reward, costs)) = &best {
            self.best.set(*reward, costs);
        }
        best.is_some()
    }
}

impl RunEnvironment for GeneralActions<'_> {
    fn is_measured(&self) -> bool {
        self.is_measured
    }

    fn warm(&mut self, agent: &mut dyn Agent) -> Result<(), Error> {
        for outcome in self.run.logged()? {
            let segment = self.segments().get(outcome.segment);
            agent.apply(&Event::Outcome(&Outcome {
                choice: self.choice(&outcome.features),
                segment: segment.map(String::as_str),
                origin: Origin::Sampled {
                    is_first: outcome.action == 0,
                    is_blind: true,
                },
                ..Outcome::of_arm(outcome.action, outcome.reward, &outcome.costs)
            }))?;
        }
        Ok(())
    }

    fn safe(&self) -> usize {
        self.round.safe
    }

    fn begin(&mut self, agent: &mut dyn Agent) -> Result<f64, Error> {
        // The table of policies stands before the segment is known.
        let is_other_table = match self.run.segments() {
            Some(segments) => self.table.ask(&segments.names, agent)?,
            None => false,
        };
        self.t += 1;
        let is_new = self.run.begin(&mut self.round)?;
        if !self.knows_means {
            return Ok(f64::NAN);
        }
        if is_new && !self.solve() {
            let field = format!("means of round {}", self.t);
            let allowed = "no policy meets the guardrails";
            return Err(Error::invalid(field, "infeasible", allowed));
        }
        if (is_new || is_other_table)
            && let Some(segments) = self.run.segments()
        {
            self.table.judge(self.experiment, segments);
        }
        Ok(self.best.count())
    }

    fn round(&self) -> Round<'_> {
        Round {
            choice: self.choice(&self.round.features),
            segment: self.segments().get(self.round.segment).map(String::as_str),
            ..Round::default()
        }
    }

    fn knows_means(&self) -> bool {
        self.knows_means
    }

    fn actions(&self) -> usize {
        self.round.actions
    }

    #[inline]
    fn mean(&self, action: usize, signal: usize) -> f64 {
        self.round.means[signal][action]
    }

    fn judge(&self, policy: &[(usize, f64)], signal: usize) -> f64 {
        match self.truth() {
            None => self.expected(policy, signal),
            Some(segments) => (self.table).expected(self.experiment, segments, policy, signal),
        }
    }

    fn segment(&self) -> Option<usize> {
        self.truth().map(|_| self.round.segment)
    }

    fn segments(&self) -> &[String] {
        self.truth().map_or(&[], |segments| &segments.names)
    }

    fn choice<'b>(&self, features: &'b [f64]) -> Choice<'b> {
        if self.experiment.problem.declared.context.is_some() {
            Choice::Context(features)
        } else if self.actions_change {
            Choice::Offered(features)
        } else {
            Choice::Arms
        }
    }

    fn is_learned(&self) -> bool {
        !self.round.is_known
    }

    fn pull(&mut self, pull: Pull<'_>) -> Result<f64, Error> {
        self.run.pull(&self.round, pull)
    }

    fn outcome_streams(&self) -> usize {
        self.world.arms().map_or(1, |arms| arms.count())
    }

    #[inline]
    fn pull_slot(&self, action: usize) -> usize {
        if self.actions_change {
            usize::from(action != self.round.safe)
        } else {
            action
        }
    }

    fn features(&self, action: usize) -> &[f64] {
        if !self.actions_change {
            return &self.round.features;
        }
        let d = self.safe_action.len();
        let offered = self.round.features.get(action * d..(action + 1) * d);
        offered.unwrap_or(self.safe_action)
    }

    fn average_optimum(&self) -> Option<(f64, Vec<f64>)> {
        // Of a table that stays, without the rounding of a sum.
        let only = || self.truth().and_then(|_| self.best.only());
        (self.knows_means).then(|| only().unwrap_or_else(|| self.best.average()))
    }
}
