//! What every agent can do.

use crate::belief::Belief;
use crate::decision::{Decision, Fallback};
use crate::error::Error;
use crate::monitor::{Assumption, Monitor};

/// An agent: publishes policies, takes outcomes.
///
/// To add one, implement this trait and give it a variant in [`crate::AgentConfig`]; every face of
/// banister then knows it by its `kind`. The simulator also plays agents that are not registered.
pub trait Agent: Send {
    /// The policy for the next round, with its certificate.
    fn decide(&mut self) -> &Decision;

    /// The same for an agent that can fail at deciding, such as one written in another language. The
    /// simulator asks agents from outside this way, and stops at an error.
    fn try_decide(&mut self) -> Result<&Decision, Error> {
        Ok(self.decide())
    }

    /// The safe action alone, for a reason that lies outside: its declared safety vouches for it. `None`
    /// from an agent that cannot say what it costs.
    fn decide_safe(&mut self, reason: Fallback) -> Option<&Decision> {
        let _ = reason;
        None
    }

    /// Whether it draws random numbers to decide, so that every decision is another one even if nothing came
    /// in between.
    fn samples(&self) -> bool {
        false
    }

    /// Starts its random stream afresh, where it samples to decide: every seed and number of a stream
    /// give another one. Most agents compute their policies and have none.
    fn reseed(&mut self, seed: u64, stream: u64) {
        let _ = (seed, stream);
    }

    /// Whether an outcome would be taken after `more` others; nothing changes. An agent that does not
    /// say is one that takes everything.
    fn check_outcome(&self, reward: f64, costs: &[f64], more: u64) -> Result<(), Error> {
        let _ = (reward, costs, more);
        Ok(())
    }

    /// The same for an outcome that is taken by features.
    fn check_outcome_at(
        &self,
        features: &[f64],
        reward: f64,
        costs: &[f64],
        more: u64,
    ) -> Result<(), Error> {
        let _ = features;
        self.check_outcome(reward, costs, more)
    }

    /// Announces that an action was drawn from the policy last published and that its outcome will come
    /// later, under this number ([`Outcomes::decisions`]). Numbers increase. Outcomes that come at once
    /// need no announcement; of those that come late, in any order, the breach detectors restore the order
    /// of their decisions by it.
    fn decided(&mut self, number: u64, safe_probability: f64) {
        let _ = (number, safe_probability);
    }

    /// The tests of its assumptions, and their alarms; `None` for an agent that is not watched.
    fn monitor(&self) -> Option<&Monitor> {
        None
    }

    /// Clears the alarms, once a person has seen them.
    fn acknowledge(&mut self) {}

    /// The assumptions that its certificates rest on, and whether anything watches them.
    fn assumptions(&self) -> Vec<Assumption> {
        Vec::new()
    }

    /// Takes one outcome: the arm played, its reward and one cost per guardrail.
    fn observe(&mut self, arm: usize, reward: f64, costs: &[f64]) -> Result<(), Error>;

    /// Takes many outcomes. The agents here check all before they take any; one that does not say
    /// otherwise takes them one by one, and stops at the first that it refuses.
    fn observe_batch(&mut self, outcomes: &Outcomes) -> Result<(), Error> {
        let count = outcomes.rewards.len().max(1);
        let guardrails = outcomes.costs.len() / count;
        let dimension = match outcomes.played {
            Played::Arms(_) => None,
            Played::Features(x) => Some(x.len() / count),
        };
        outcomes.check(guardrails, dimension)?;
        for (i, &reward) in outcomes.rewards.iter().enumerate() {
            let costs = outcomes.costs_of(i, guardrails);
            match outcomes.played {
                Played::Arms(arms) => self.observe(arms[i], reward, costs)?,
                Played::Features(x) => {
                    let d = x.len() / count;
                    self.observe_at(&x[i * d..(i + 1) * d], reward, costs)?;
                }
            }
        }
        Ok(())
    }

    /// Replaces the actions to choose among from now on: feature vectors one after another. The
    /// safe action is always offered too; if it is not among them, its number is the next one.
    fn offer(&mut self, actions: &[f64]) -> Result<(), Error> {
        let _ = actions;
        Err(Error::NoFeatures)
    }

    /// Takes the outcome of an action by its features: late, when other actions are on offer.
    fn observe_at(&mut self, features: &[f64], reward: f64, costs: &[f64]) -> Result<(), Error> {
        let _ = (features, reward, costs);
        Err(Error::NoFeatures)
    }

    /// Features of an action on offer; `None` for arms, or if there is no such action.
    fn features(&self, action: usize) -> Option<&[f64]> {
        let _ = action;
        None
    }

    /// How many arms there ever were, or actions are on offer, and which is the safe one. `None` if
    /// the agent does not say.
    fn actions(&self) -> Option<ActionSet> {
        None
    }

    /// Number of outcomes taken; 0 for an agent that does not count.
    fn outcomes(&self) -> u64 {
        0
    }

    /// Names by number: of all arms there ever were, or of the actions on offer. Empty where
    /// actions were offered by their features alone.
    fn names(&self) -> &[String] {
        &[]
    }

    /// Offers one more arm, with its features where arms have any. Its number is returned.
    fn add_arm(&mut self, name: &str, features: Option<&[f64]>) -> Result<usize, Error> {
        let _ = features;
        Err(Error::invalid(
            "arm",
            name,
            "the arms of this agent are fixed",
        ))
    }

    /// Stops offering an arm.
    fn retire_arm(&mut self, arm: usize) -> Result<(), Error> {
        Err(Error::invalid(
            "arm",
            arm,
            "the arms of this agent are fixed",
        ))
    }

    /// What it believes about every arm there ever was, or every action on offer, in their order.
    /// Empty if it does not say.
    fn beliefs(&mut self) -> Vec<Belief> {
        Vec::new()
    }

    /// The same about one of them.
    fn belief(&mut self, action: usize) -> Option<Belief> {
        self.beliefs().into_iter().nth(action)
    }

    /// The whole state as versioned JSON, for [`crate::AgentConfig::restore`].
    fn save(&self) -> String;

    /// The same without what only helps the next decision: warm starts, and actions that were offered
    /// by their features alone. It depends on the outcomes taken by arm or by features, in their order,
    /// and on the arms added and retired, but not on what was decided in between.
    fn save_learned(&self) -> String {
        self.save()
    }
}

/// The actions an agent numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionSet {
    /// How many.
    pub count: usize,
    /// Number of the safe one.
    pub safe: usize,
}

/// Outcomes in columns, one entry per outcome.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcomes<'a> {
    /// What was played.
    pub played: Played<'a>,
    /// The rewards.
    pub rewards: &'a [f64],
    /// One cost per guardrail, one outcome after another.
    pub costs: &'a [f64],
    /// Numbers of the decisions they belong to ([`Agent::decided`]); empty where outcomes come at once,
    /// in the order of their decisions.
    pub decisions: &'a [u64],
}

/// What was played, outcome by outcome.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Played<'a> {
    /// By number.
    Arms(&'a [usize]),
    /// By features, one vector after another.
    Features(&'a [f64]),
}

impl<'a> Outcomes<'a> {
    /// Checks the lengths against each other, given the number of guardrails.
    pub(crate) fn check(&self, guardrails: usize, dimension: Option<usize>) -> Result<(), Error> {
        let count = self.rewards.len();
        let (field, length, expected) = match (self.played, dimension) {
            (Played::Arms(arms), _) => ("actions", arms.len(), count),
            (Played::Features(_), None) => return Err(Error::NoFeatures),
            (Played::Features(x), Some(d)) => ("features", x.len(), count.saturating_mul(d)),
        };
        let costs = ("costs", self.costs.len(), count.saturating_mul(guardrails));
        let announced = if self.decisions.is_empty() { 0 } else { count };
        let decisions = ("decisions", self.decisions.len(), announced);
        for (field, length, expected) in [(field, length, expected), costs, decisions] {
            if length != expected {
                let allowed = format!("expected {expected}: there are {count} rewards");
                return Err(Error::invalid(field, format!("{length} entries"), allowed));
            }
        }
        Ok(())
    }

    /// The outcomes one by one, for agents that know arms by number; their lengths are checked.
    pub fn of_arms(
        &self,
        guardrails: usize,
    ) -> Result<impl Iterator<Item = (usize, f64, &'a [f64])> + Clone, Error> {
        self.check(guardrails, None)?;
        let Played::Arms(arms) = self.played else {
            return Err(Error::NoFeatures);
        };
        let outcomes = *self;
        let rows = std::iter::zip(arms, self.rewards).enumerate();
        Ok(rows.map(move |(i, (&arm, &reward))| (arm, reward, outcomes.costs_of(i, guardrails))))
    }

    /// Number of the decision of outcome i, where it has one.
    pub(crate) fn decision_of(&self, i: usize) -> Option<u64> {
        self.decisions.get(i).copied()
    }

    /// The costs of outcome i, given the number of guardrails.
    pub(crate) fn costs_of(&self, i: usize, guardrails: usize) -> &'a [f64] {
        &self.costs[i * guardrails..(i + 1) * guardrails]
    }
}
