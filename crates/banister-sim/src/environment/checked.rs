//! User-supplied environments as worlds, with every number checked.

use std::sync::Arc;

use banister::Error;
use banister::toolkit::CheckedProblem;

use super::custom::{CustomEnvironment, CustomRound, CustomRun};
use super::outcome::Pull;
use super::world::{LoggedOutcome, RunStart, World, WorldRound, WorldRun};

/// Rounding that a true mean may be off by, in units of its signal's range.
const ROUNDING: f64 = 1e-9;

/// Rough cost of a call to user-supplied code, which may be in a slow language, in nanoseconds.
pub(crate) const CUSTOM_CALL: u64 = 5_000;

/// A user-supplied environment and its answers about itself, which may be slow to give.
pub(crate) struct Custom {
    environment: Arc<dyn CustomEnvironment>,
    knows_means: bool,
    actions_change: bool,
}

impl Custom {
    pub(crate) fn new(environment: Arc<dyn CustomEnvironment>) -> Self {
        Self {
            knows_means: environment.knows_means(),
            actions_change: environment.actions_change(),
            environment,
        }
    }
}

impl World for Custom {
    fn start<'a>(&'a self, start: &RunStart<'a>) -> Result<Box<dyn WorldRun + 'a>, Error> {
        let problem = &start.problem.declared;
        let declared = match start.safe_means {
            Some(means) => means.iter().map(|mean| Some(*mean)).collect(),
            None => std::iter::once(None)
                .chain(problem.guardrails.iter().map(|g| g.safe_cost))
                .collect(),
        };
        Ok(Box::new(CheckedRun {
            custom: self,
            run: self.environment.start(start.seed, start.run)?,
            t: 0,
            given: CustomRound::default(),
            safe_action: problem.features.get(problem.safe).map_or(&[], |x| x),
            problem: start.problem,
            declared,
        }))
    }

    fn actions_change(&self) -> bool {
        self.actions_change
    }

    fn knows_means(&self) -> bool {
        self.knows_means
    }

    fn is_measured(&self) -> bool {
        true
    }

    fn rows(&self, horizon: u64, seed: u64, run: u64) -> Option<Vec<usize>> {
        self.environment.rows(horizon, seed, run)
    }

    fn work(&self, arms: u64) -> Option<(u64, u64)> {
        Some((arms, CUSTOM_CALL))
    }
}

/// One run of a user-supplied environment.
struct CheckedRun<'a> {
    custom: &'a Custom,
    run: Box<dyn CustomRun>,
    /// Rounds begun.
    t: u64,
    /// The round as the environment gives it.
    given: CustomRound,
    /// x_0; empty without features.
    safe_action: &'a [f64],
    problem: &'a CheckedProblem,
    /// The safe action's means as far as they were declared.
    declared: Vec<Option<f64>>,
}

impl CheckedRun<'_> {
    /// Checks the round's actions and copies them; returns true where they are new.
    fn copy_actions(&mut self, round: &mut WorldRound) -> Result<bool, Error> {
        let actions = &self.given.actions;
        if !self.custom.actions_change {
            if actions.is_empty() {
                return Ok(false);
            }
            let field = format!("actions of round {}", self.t);
            let allowed = "the environment says that its actions do not change";
            return Err(Error::invalid(field, "given", allowed));
        }
        if self.t > 1 && round.features == *actions {
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
        round.safe = place.unwrap_or(rows);
        round.actions = rows + usize::from(place.is_none());
        round.features.clone_from(actions);
        Ok(true)
    }

    fn check_means(&self, round: &WorldRound) -> Result<(), Error> {
        let (means, t) = (&self.given.means, self.t);
        if means.len() != self.declared.len() {
            let value = format!("{} rows", means.len());
            let expected = self.declared.len();
            let allowed = format!("expected {expected}: the reward's, then one per guardrail");
            let field = format!("means of round {t}");
            return Err(Error::invalid(field, value, allowed));
        }
        for (s, row) in means.iter().enumerate() {
            if row.len() != round.actions {
                let value = format!("{} numbers", row.len());
                let allowed = format!(
                    "expected {}: one per action on offer, the safe one included",
                    round.actions
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
            let unit = self.problem.own_signal(round.safe, s).unit();
            if let Some(declared) = self.declared[s]
                && (row[round.safe] - declared).abs() > ROUNDING * unit
            {
                let allowed = format!("the safe action was declared to have mean {declared}");
                let field = format!("means[{s}][{}] of round {t}", round.safe);
                return Err(Error::invalid(field, row[round.safe], allowed));
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

impl WorldRun for CheckedRun<'_> {
    fn logged(&mut self) -> Result<Vec<LoggedOutcome>, Error> {
        let logged = self.run.logged()?;
        for outcome in &logged {
            self.check_outcome(outcome.action, outcome.reward, &outcome.costs)?;
        }
        Ok(logged)
    }

    fn begin(&mut self, round: &mut WorldRound) -> Result<bool, Error> {
        self.t += 1;
        self.run.begin(&mut self.given)?;
        let is_new = self.copy_actions(round)?;
        let is_same = self.t > 1 && !is_new && round.means == self.given.means;
        if is_same || !self.custom.knows_means {
            return Ok(is_new);
        }
        self.check_means(round)?;
        round.means.clone_from(&self.given.means);
        Ok(true)
    }

    fn pull(&mut self, _: &WorldRound, pull: Pull<'_>) -> Result<f64, Error> {
        let (action, scale, costs) = (pull.action, pull.scale, pull.costs);
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
}
