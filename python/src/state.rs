//! An agent of the core with what Python keeps beside it.

use std::collections::HashMap;
use std::sync::Arc;

use banister::{AgentConfig, Problem};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use crate::build;
use crate::decision::{Decision, Labels, Stage};

/// Where draws come from unless a generator is given.
pub(crate) struct Sampler {
    pub seed: u64,
    pub rng: ChaCha8Rng,
}

impl Sampler {
    /// A uniform number in [0, 1), as simulations draw it.
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// An agent of the core with what Python keeps beside it.
pub(crate) struct State {
    pub agent: Box<dyn banister::Agent>,
    pub problem: Problem,
    pub config: AgentConfig,
    pub kind: String,
    pub sampler: Sampler,
    /// How often it forgot everything.
    pub resets: u64,
    /// Whether the user gave names.
    pub is_named: bool,
    pub stage: Arc<Stage>,
    pub index: HashMap<String, usize>,
    /// Whether a call failed half-way, by a mistake of ours.
    pub is_broken: bool,
}

impl State {
    pub(crate) fn new(
        agent: Box<dyn banister::Agent>,
        problem: Problem,
        config: AgentConfig,
        sampler: Sampler,
        is_named: bool,
    ) -> Self {
        let described = serde_json::to_value(&config).unwrap_or_default();
        let kind = described.get("kind").and_then(Value::as_str);
        let guardrails = problem.guardrails.iter().map(|g| g.name.clone());
        let mut state = Self {
            kind: kind.unwrap_or_default().to_string(),
            stage: Arc::new(Stage {
                labels: Labels::Numbers,
                guardrails: Arc::new(guardrails.collect()),
                actions: 0,
                safe: 0,
                offer: 0,
            }),
            index: HashMap::new(),
            agent,
            problem,
            config,
            sampler,
            resets: 0,
            is_named,
            is_broken: false,
        };
        state.set_stage();
        state
    }

    /// Starts the random stream of an agent that samples to decide: from the same seed as the draws of
    /// actions, but never the same stream as they, nor the same one again after a reset.
    pub(crate) fn seed_agent(&mut self) {
        self.agent.reseed(self.sampler.seed, 1 + self.resets);
    }

    /// Other actions are on offer.
    pub(crate) fn set_stage(&mut self) {
        let labels = match self.agent.names() {
            [] => Labels::Numbers,
            _ if !self.is_named => Labels::Numbers,
            names => Labels::Names(Arc::new(names.to_vec())),
        };
        self.index = build::index(&labels);
        let set = self.agent.actions();
        self.stage = Arc::new(Stage {
            labels,
            guardrails: Arc::clone(&self.stage.guardrails),
            actions: set.map_or(0, |set| set.count),
            safe: set.map_or(0, |set| set.safe),
            offer: self.stage.offer + 1,
        });
    }

    /// Replaces the actions on offer by new ones.
    pub(crate) fn offer(&mut self, actions: &[f64]) -> Result<(), banister::Error> {
        self.agent.offer(actions)?;
        self.set_stage();
        Ok(())
    }

    /// Decides and draws; `given` is a uniform number from outside.
    pub(crate) fn decide(&mut self, given: Option<f64>) -> Decision {
        let decision = self.agent.decide().clone();
        let drawn = match decision.policy[..] {
            // A policy on one arm needs no random number.
            [(only, _)] => only,
            _ => decision.draw(given.unwrap_or_else(|| self.sampler.uniform())),
        };
        Decision {
            features: self.agent.features(drawn).map(Box::from),
            decision: Arc::new(decision),
            stage: Arc::clone(&self.stage),
            drawn,
        }
    }
}
