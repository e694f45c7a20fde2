//! Runs of user-supplied environments, with every number checked.

use banister::solve::Status;
use banister::toolkit::CheckedProblem;
use banister::{Agent, Choice, Error, Origin, Outcome, Round};
use rand_chacha::ChaCha8Rng;

use super::best::{BestPolicy, Floor};
use super::environment::RunEnvironment;
use crate::environment::{Custom, CustomRound, CustomRun};
use crate::experiment::Experiment;

/// Rounding that a true mean may be off by, in units of its signal's range.
const ROUNDING: f64 = 1e-9;

/// One run of a user-supplied environment.
pub(crate) struct CustomActions<'a> {
    custom: &'a Custom,
    run: Box<dyn CustomRun>,
    /// Rounds begun.
    t: u64,
    round: CustomRound,
    /// Actions on offer as rows, where actions change.
    offered: Option<Vec<f64>>,
    /// x_0; empty without features.
    safe_action: &'a [f64],
    /// Actions on offer, and which of them is the safe one.
    count: usize,
    safe: usize,
    problem: &'a CheckedProblem,
    /// The safe action's means as far as they were declared.
    declared: Vec<Option<f64>>,
    /// The means that were solved for, costs with the sign that makes them upper-bounded.
    means: Vec<Vec<f64>>,
    best: BestPolicy,
}

impl<'a> CustomActions<'a> {
    pub(crate) fn new(
        experiment: &'a Experiment,
        custom: &'a Custom,
        run: u64,
    ) -> Result<Self, Error> {
        let problem = &experiment.problem;
        let safe = problem.declared.safe;
        let declared = match &experiment.environment.safe_means {
            Some(means) => means.iter().map(|mean| Some(*mean)).collect(),
            None => std::iter::once(None)
                .chain(problem.declared.guardrails.iter().map(|g| g.safe_cost))
                .collect(),
        };
        Ok(Self {
            custom,
            run: (custom.environment).start(experiment.resolved.run.seed, run)?,
            t: 0,
            round: CustomRound::default(),
            offered: None,
            safe_action: problem.declared.features.get(safe).map_or(&[], |x| x),
            count: problem.declared.arms.len(),
            safe,
            problem,
            declared,
            means: Vec::new(),
            best: BestPolicy::new(&experiment.guardrails, Floor::default()),
        })
    }

    /// Checks the round's actions; returns true where they are new.
    fn check_actions(&mut self) -> Result<bool, Error> {
        let actions = &self.round.actions;
        if !self.custom.actions_change {
            if actions.is_empty() {
                return Ok(false);
            }
            let field = format!("actions of round {}", self.t);
            let allowed = "the environment says that its actions do not change";
            return Err(Error::invalid(field, "given", allowed));
        }
        if self.offered.as_ref() == Some(actions) {
            return Ok(false);
        }
        let d = self.safe_action.len();
        if !actions.len().is_multiple_of(d) {
            let value = format!("{} numbers", actions.len());
            let allowed = format!("expected rows of {d} features each");
            let field = format!("actions of round {}", self.t);
            return Err(Error::invalid(field, value, allowed));
        }
        if let Some(j) = actions.iter().position(|x| !x.is_finite()) {
            let field = format!("actions[{}][{}] of round {}", j / d, j % d, self.t);
            let allowed = "only finite numbers are allowed";
            return Err(Error::invalid(field, actions[j], allowed));
        }
        // As agents number them.
        let rows = actions.len() / d;
        let place = actions.chunks_exact(d).position(|x| x == self.safe_action);
        self.safe = place.unwrap_or(rows);
        self.count = rows + usize::from(place.is_none());
        self.offered.get_or_insert_default().clone_from(actions);
        Ok(true)
    }

    /// Returns r* of the round, solved for only where the actions or their means have changed.
    fn optimum(&mut self, other_actions: bool) -> Result<f64, Error> {
        let same = !other_actions
            && self.means.len() == self.round.means.len()
            && std::iter::zip(&self.means, &self.round.means)
                .enumerate()
                .all(|(s, (old, new))| {
                    let sign = self.best.sign(s);
                    old.len() == new.len()
                        && std::iter::zip(old, new).all(|(old, new)| *old == sign * new)
                });
        if !same {
            self.check_means()?;
            // A warm start speaks of actions by number.
            if self.means.first().map(Vec::len) != Some(self.count) {
                self.best.reset();
            }
            self.means.resize(self.declared.len(), Vec::new());
            for (s, (row, means)) in std::iter::zip(&mut self.means, &self.round.means).enumerate()
            {
                row.clear();
                row.extend(means.iter().map(|mean| self.best.sign(s) * mean));
            }
            let start = self.best.admits(&self.means, self.safe);
            let status = self.best.solve(&self.means, start.then_some(self.safe));
            if status == Status::Infeasible {
                let field = format!("means of round {}", self.t);
                let allowed = "no policy meets the guardrails";
                return Err(Error::invalid(field, "infeasible", allowed));
            }
        }
        Ok(self.best.count())
    }

    fn check_means(&self) -> Result<(), Error> {
        let (means, t) = (&self.round.means, self.t);
        if means.len() != self.declared.len() {
            let value = format!("{} rows", means.len());
            let expected = self.declared.len();
            let allowed = format!("expected {expected}: the reward's, then one per guardrail");
            let field = format!("means of round {t}");
            return Err(Error::invalid(field, value, allowed));
        }
        for (s, row) in means.iter().enumerate() {
            if row.len() != self.count {
                let value = format!("{} numbers", row.len());
                let allowed = format!(
                    "expected {}: one per action on offer, the safe one included",
                    self.count
                );
                let field = format!("means[{s}] of round {t}");
                return Err(Error::invalid(field, value, allowed));
            }
            for (a, &mean) in row.iter().enumerate() {
                let signal = self.problem.own_signal(a, s);
                let rounding = ROUNDING * signal.unit();
                // NaN fails both.
                if !(mean >= signal.lo - rounding && mean <= signal.hi + rounding) {
                    let allowed = format!(
                        "a mean must lie in its range [{}, {}]",
                        signal.lo, signal.hi
                    );
                    let field = format!("means[{s}][{a}] of round {t}");
                    return Err(Error::invalid(field, mean, allowed));
                }
            }
            let unit = self.problem.own_signal(self.safe, s).unit();
            if let Some(declared) = self.declared[s]
                && (row[self.safe] - declared).abs() > ROUNDING * unit
            {
                let allowed = format!("the safe action was declared to have mean {declared}");
                let field = format!("means[{s}][{}] of round {t}", self.safe);
                return Err(Error::invalid(field, row[self.safe], allowed));
            }
        }
        Ok(())
    }

    fn check_outcome(&self, action: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        let refuse = |what: String, x: f64| {
            let field = format!("{what} of round {}", self.t);
            Err(Error::invalid(field, x, "only finite numbers are allowed"))
        };
        if !reward.is_finite() {
            return refuse("reward".into(), reward);
        }
        match costs.iter().position(|cost| !cost.is_finite()) {
            // An environment keeps its own declaration.
            None => self.problem.refuse(Some(action), reward, costs),
            Some(i) => refuse(format!("cost[{i}]"), costs[i]),
        }
    }
}

impl RunEnvironment for CustomActions<'_> {
    fn is_measured(&self) -> bool {
        true
    }

    fn warm(&mut self, agent: &mut dyn Agent) -> Result<(), Error> {
        for outcome in self.run.logged()? {
            self.check_outcome(outcome.action, outcome.reward, &outcome.costs)?;
            agent.observe(&Outcome {
                choice: self.choice(&outcome.features),
                origin: Origin::Logged,
                ..Outcome::of_arm(outcome.action, outcome.reward, &outcome.costs)
            })?;
        }
        Ok(())
    }

    fn safe(&self) -> usize {
        self.safe
    }

    fn begin(&mut self, _: &mut dyn Agent) -> Result<f64, Error> {
        self.t += 1;
        self.run.begin(&mut self.round)?;
        let other_actions = self.check_actions()?;
        if self.custom.knows_means {
            self.optimum(other_actions)
        } else {
            Ok(f64::NAN)
        }
    }

    fn round(&self) -> Round<'_> {
        let choice = self.offered.as_deref();
        Round {
            choice: choice.map_or(Choice::Arms, Choice::Offered),
            ..Round::default()
        }
    }

    fn knows_means(&self) -> bool {
        self.custom.knows_means
    }

    fn actions(&self) -> usize {
        self.count
    }

    fn mean(&self, action: usize, signal: usize) -> f64 {
        self.round.means[signal][action]
    }

    fn pull(
        &mut self,
        action: usize,
        scale: f64,
        _: &mut ChaCha8Rng,
        costs: &mut [f64],
    ) -> Result<f64, Error> {
        if scale != 1.0 {
            let allowed = "a user-supplied environment plays whole actions: use `play = \"mixed\"`";
            return Err(Error::invalid("scale", scale, allowed));
        }
        // A cost that is not written is not the last round's.
        costs.fill(f64::NAN);
        let reward = self.run.pull(action, costs)?;
        self.check_outcome(action, reward, costs)?;
        Ok(reward)
    }

    fn pull_slot(&self, action: usize) -> usize {
        if self.custom.actions_change {
            usize::from(action != self.safe)
        } else {
            action
        }
    }

    fn features(&self, action: usize) -> &[f64] {
        let d = self.safe_action.len();
        match &self.offered {
            None => &[],
            Some(rows) => (rows.get(action * d..(action + 1) * d)).unwrap_or(self.safe_action),
        }
    }

    fn average_optimum(&self) -> Option<(f64, Vec<f64>)> {
        self.custom.knows_means.then(|| self.best.average())
    }
}
