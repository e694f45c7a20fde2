//! OPB behind the interface that all agents share.

use super::Opb;
use crate::agent::{ActionSet, Agent, Outcomes};
use crate::belief::{Belief, Estimate};
use crate::decision::Decision;
use crate::error::Error;

impl Agent for Opb {
    fn decide(&mut self) -> &Decision {
        Opb::decide(self)
    }

    fn observe(&mut self, arm: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        Opb::observe(self, arm, reward, costs)
    }

    fn observe_batch(&mut self, outcomes: &Outcomes) -> Result<(), Error> {
        let rows = outcomes.of_arms(self.problem.guardrails.len())?;
        Opb::observe_batch(self, rows)
    }

    fn actions(&self) -> Option<ActionSet> {
        Some(ActionSet {
            count: self.names.len(),
            safe: self.problem.declared.safe,
        })
    }

    fn outcomes(&self) -> u64 {
        Opb::outcomes(self)
    }

    fn names(&self) -> &[String] {
        self.arm_names()
    }

    fn add_arm(&mut self, name: &str, features: Option<&[f64]>) -> Result<usize, Error> {
        match features {
            None => Opb::add_arm(self, name),
            Some(_) => Err(Error::NoFeatures),
        }
    }

    fn retire_arm(&mut self, arm: usize) -> Result<(), Error> {
        Opb::retire_arm(self, arm)
    }

    fn beliefs(&mut self) -> Vec<Belief> {
        let belief = |arm: usize| {
            let (mean, ends) = self.estimates.belief(arm, 0);
            let guardrails = self.problem.guardrails.iter().enumerate();
            Belief {
                offered: self.is_offered(arm),
                pulls: self.pulls().get(arm).copied(),
                reward: Estimate::in_units(&self.problem.reward, false, mean, ends),
                costs: guardrails
                    .map(|(i, guardrail)| {
                        let (mean, ends) = self.estimates.belief(arm, i + 1);
                        Estimate::of_guardrail(guardrail, mean, ends)
                    })
                    .collect(),
            }
        };
        (0..self.names.len()).map(belief).collect()
    }

    fn save(&self) -> String {
        Opb::save(self)
    }
}
