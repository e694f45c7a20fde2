//! A driver that remembers the round: tests offer actions, decide and observe, one after another.

use super::verbs::Verbs as _;
use std::ops::{Deref, DerefMut};

use banister::monitor::Monitor;
use banister::toolkit::Guarded;
use banister::toolkit::{ContextLearner, FeatureLearner, Learner, SegmentLearner};
use banister::{
    Agent, AlarmAnswer, ArmEstimate, ArmRanges, Choice, Decision, Error, Fallback, Origin, Outcome,
    Pending, Problem, Round,
};

pub type Oplb = Player<Guarded<FeatureLearner>>;
pub type OplbPerArm = Player<Guarded<ContextLearner>>;
pub type Segmented = Player<Guarded<SegmentLearner>>;

/// An agent of any kind.
pub trait AsAgent {
    fn agent(&self) -> &dyn Agent;
    fn agent_mut(&mut self) -> &mut dyn Agent;
}

impl<L: Learner> AsAgent for Guarded<L> {
    fn agent(&self) -> &dyn Agent {
        self
    }

    fn agent_mut(&mut self) -> &mut dyn Agent {
        self
    }
}

impl AsAgent for Box<dyn Agent> {
    fn agent(&self) -> &dyn Agent {
        &**self
    }

    fn agent_mut(&mut self) -> &mut dyn Agent {
        &mut **self
    }
}

/// An agent and the round that it is in.
#[derive(Debug, Clone)]
pub struct Player<A> {
    pub agent: A,
    problem: Problem,
    given: Given,
    segment: Option<String>,
}

#[derive(Debug, Clone)]
enum Given {
    Arms,
    Features(Vec<f64>),
    Context(Vec<f64>),
}

impl<A> Deref for Player<A> {
    type Target = A;

    fn deref(&self) -> &A {
        &self.agent
    }
}

impl<A> DerefMut for Player<A> {
    fn deref_mut(&mut self) -> &mut A {
        &mut self.agent
    }
}

impl<L: Learner> Player<Guarded<L>> {
    pub fn new(problem: &Problem, config: &L::Config) -> Result<Self, Error> {
        Ok(Self::of(Guarded::new(problem, config)?, problem))
    }

    pub fn restore(json: &str) -> Result<Self, Error> {
        let agent = Guarded::restore(json)?;
        let problem = agent.problem().declared.clone();
        Ok(Self::of(agent, &problem))
    }
}

impl<A: AsAgent> Player<A> {
    pub fn of(agent: A, problem: &Problem) -> Self {
        Self {
            agent,
            problem: problem.clone(),
            given: Given::Arms,
            segment: None,
        }
    }

    /// Takes up features, or a context where the problem has one.
    pub fn offer(&mut self, numbers: &[f64]) -> Result<(), Error> {
        let given = if self.problem.context.is_some() {
            Given::Context(numbers.to_vec())
        } else {
            Given::Features(numbers.to_vec())
        };
        let round = round(&given, &self.segment);
        let agent = self.agent.agent_mut();
        // Agents that sample must not draw twice.
        if agent.estimate(&round, 0).is_none() {
            agent.decide(&round)?;
        }
        self.given = given;
        Ok(())
    }

    pub fn enter(&mut self, segment: &str) -> Result<(), Error> {
        let segment = Some(segment.to_string());
        self.agent
            .agent_mut()
            .decide(&round(&self.given, &segment))?;
        self.segment = segment;
        Ok(())
    }

    pub fn decide(&mut self) -> &Decision {
        let round = round(&self.given, &self.segment);
        self.agent.agent_mut().decide(&round).unwrap()
    }

    pub fn decide_safe(&mut self, reason: Fallback) -> &Decision {
        let round = Round {
            only_safe: Some(reason),
            ..round(&self.given, &self.segment)
        };
        self.agent.agent_mut().decide(&round).unwrap()
    }

    /// The policy in a segment, without entering it.
    pub fn policy_in(&mut self, segment: &str) -> &[(usize, f64)] {
        let round = Round::in_segment(segment);
        &self.agent.agent_mut().decide(&round).unwrap().policy
    }

    /// Takes an outcome of the round.
    pub fn observe(&mut self, action: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        self.observe_from(Origin::Immediate, action, reward, costs)
    }

    pub fn observe_from(
        &mut self,
        origin: Origin,
        action: usize,
        reward: f64,
        costs: &[f64],
    ) -> Result<(), Error> {
        let own = match &self.given {
            Given::Features(_) => self.features(action).map(<[f64]>::to_vec),
            _ => None,
        };
        let round = round(&self.given, &self.segment);
        let last = self.agent.agent().view().actions - 1;
        if matches!(round.choice, Choice::Offered(_)) && own.is_none() {
            return Err(Error::NoSuchArm { arm: action, last });
        }
        let outcome = Outcome {
            action,
            choice: own.as_deref().map_or(round.choice, Choice::Offered),
            segment: round.segment,
            reward,
            costs,
            origin,
            time: None,
            claims: None,
        };
        self.agent.agent_mut().observe(&outcome)
    }

    /// Takes an outcome of an action by its features.
    pub fn observe_at(&mut self, x: &[f64], reward: f64, costs: &[f64]) -> Result<(), Error> {
        self.agent
            .agent_mut()
            .observe(&Outcome::of_features(x, reward, costs))
    }

    /// Takes an outcome of an arm in a context.
    pub fn observe_in(
        &mut self,
        arm: usize,
        context: &[f64],
        reward: f64,
        costs: &[f64],
    ) -> Result<(), Error> {
        let outcome = Outcome {
            choice: Choice::Context(context),
            ..Outcome::of_arm(arm, reward, costs)
        };
        self.agent.agent_mut().observe(&outcome)
    }

    /// Announces an action drawn in the round.
    pub fn announce(&mut self, decision: u64, action: usize, safe_probability: Option<f64>) {
        let pending = Pending {
            decision,
            action,
            segment: self.segment.as_deref(),
            safe_probability,
            time: None,
            excess: &[],
        };
        self.agent.agent_mut().announce(&pending).unwrap();
    }

    /// Gives up a decision of the round.
    pub fn give_up(&mut self, decision: u64, action: usize, safe_probability: Option<f64>) {
        let pending = Pending {
            decision,
            action,
            segment: self.segment.as_deref(),
            safe_probability,
            time: None,
            excess: &[],
        };
        self.agent.agent_mut().give_up(&pending).unwrap();
    }

    /// Features of an action on offer.
    pub fn features(&self, action: usize) -> Option<&[f64]> {
        let declared = &self.problem;
        let safe = declared.features.get(declared.safe)?;
        match &self.given {
            Given::Features(x) => {
                let (d, rows) = (safe.len(), x.len() / safe.len());
                let is_safe = action == rows && self.agent.agent().view().actions > rows;
                let own = x.get(action * d..(action + 1) * d);
                own.or(is_safe.then_some(safe))
            }
            _ => {
                let arm = self.agent.agent().view().arms.get(action)?;
                let declared = declared.features.get(action);
                declared.or(arm.features.as_ref()).map(Vec::as_slice)
            }
        }
    }

    /// Number of the safe action.
    pub fn safe(&self) -> usize {
        self.agent.agent().view().safe
    }

    /// Number of actions.
    pub fn offered(&self) -> usize {
        self.agent.agent().view().actions
    }

    pub fn estimates(&mut self) -> Vec<ArmEstimate> {
        banister::estimates(self.agent.agent_mut(), &round(&self.given, &self.segment))
    }

    pub fn add_arm(&mut self, name: &str, features: Option<&[f64]>) -> Result<usize, Error> {
        self.agent.agent_mut().add_arm(
            name,
            features,
            &ArmRanges::default(),
            &banister::ArmWeights::default(),
        )
    }

    pub fn save(&mut self) -> String {
        self.agent.agent_mut().save().unwrap()
    }
}

fn round<'a>(given: &'a Given, segment: &'a Option<String>) -> Round<'a> {
    Round {
        choice: match given {
            Given::Arms => Choice::Arms,
            Given::Features(x) => Choice::Offered(x),
            Given::Context(x) => Choice::Context(x),
        },
        segment: segment.as_deref(),
        ..Round::default()
    }
}

/// Calls of tests to any agent on arms.
pub trait Inspect: Agent {
    fn decide_arms(&mut self) -> &Decision {
        self.decide(&Round::default()).unwrap()
    }

    fn observe_arm(&mut self, arm: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        self.observe(&Outcome::of_arm(arm, reward, costs))
    }

    fn monitor(&self) -> &Monitor {
        self.view().monitor.expect("it is watched")
    }

    fn acknowledge(&mut self) {
        self.answer_alarms(AlarmAnswer::Acknowledge).unwrap();
    }

    fn announced(&mut self, decision: u64, action: usize, safe_probability: Option<f64>) {
        let pending = Pending {
            decision,
            action,
            segment: None,
            safe_probability,
            time: None,
            excess: &[],
        };
        self.announce(&pending).unwrap();
    }

    fn added(&mut self, name: &str, ranges: &ArmRanges) -> Result<usize, Error> {
        self.add_arm(name, None, ranges, &banister::ArmWeights::default())
    }

    fn arm_estimates(&mut self) -> Vec<ArmEstimate>
    where
        Self: Sized,
    {
        banister::estimates(self, &Round::default())
    }

    /// Takes the outcome of an arm that was announced, with what the last decision claims of it.
    fn observe_late(&mut self, decision: u64, arm: usize, reward: f64, costs: &[f64]) {
        let claims = self.decide_arms().claims(arm).map(<[_]>::to_vec);
        let outcome = Outcome {
            origin: Origin::Announced(decision),
            claims: claims.as_deref(),
            ..Outcome::of_arm(arm, reward, costs)
        };
        self.observe(&outcome).unwrap();
    }
}

impl<A: Agent + ?Sized> Inspect for A {}
