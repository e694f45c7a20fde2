//! Named arms that share a context, for linear agents.

use banister::{ContextArms, Error, Fields, Model, Problem};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

use crate::decision::{Labels, Naming};
use crate::error::invalid;

/// Longest feature vectors that contexts may make: the agent keeps a square matrix of them.
const LONGEST: usize = 10_000;

/// Named arms of an agent whose decisions bring a context.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Contextual {
    pub arms: Vec<String>,
    pub safe: usize,
    /// Length of the context.
    pub numbers: usize,
    /// Parameters of the arms.
    #[serde(default, skip_serializing_if = "Model::is_shared")]
    pub model: Model,
    /// Fields that the context is made from, where it has names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fields: Option<Fields>,
    /// Places of arms that are not offered any more.
    retired: Vec<usize>,
    /// Labels of the arms on offer, and of the safe one, which is alone before the first context.
    #[serde(skip)]
    labels: [Labels; 2],
}

impl Contextual {
    pub(crate) fn new(
        arms: Vec<String>,
        safe: usize,
        numbers: u64,
        model: Model,
        fields: Option<Fields>,
    ) -> PyResult<Self> {
        let names = Problem {
            arms: arms.clone(),
            safe,
            ..Problem::default()
        };
        names.check().map_err(crate::error::raise)?;
        let own = Self {
            arms,
            safe,
            numbers: usize::try_from(numbers).unwrap_or(usize::MAX),
            model,
            fields,
            retired: Vec::new(),
            labels: [Labels::Places, Labels::Places],
        };
        if numbers == 0 || own.features().dimension() > LONGEST {
            let allowed =
                format!("must be at least 1, and 1 + (arms − 1)·context at most {LONGEST}");
            return Err(invalid("context", numbers, &allowed));
        }
        Ok(own)
    }

    pub(crate) fn features(&self) -> ContextArms {
        ContextArms {
            arms: self.arms.len(),
            safe: self.safe,
            numbers: self.numbers,
            model: self.model,
        }
    }

    /// Features of every arm on offer in a context, in the order of the arms.
    pub(crate) fn offered(&self, context: &[f64]) -> Vec<f64> {
        let each = (0..self.arms.len()).filter(|arm| !self.retired.contains(arm));
        self.features().offer(each, context)
    }

    /// Prepares the labels of decisions.
    pub(crate) fn label(&mut self, naming: Naming) {
        let each = self.arms.iter().enumerate();
        // An agent that knows the arms numbers retired ones too.
        let offered =
            each.filter(|(arm, _)| !(self.model.is_shared() && self.retired.contains(arm)));
        let offered: Vec<String> = offered.map(|(_, name)| name.clone()).collect();
        let safe = [self.arms[self.safe].clone()];
        self.labels = [Labels::new(&offered, naming), Labels::new(&safe, naming)];
    }

    /// Labels of a number of actions.
    pub(crate) fn labels(&self, actions: usize) -> Labels {
        let is_alone = self.model.is_shared() && actions + self.retired.len() != self.arms.len();
        self.labels[usize::from(is_alone)].clone()
    }

    pub(crate) fn retire(&mut self, arm: usize) -> Result<(), Error> {
        self.check(arm)?;
        if arm == self.safe {
            let allowed = "the safe arm cannot be retired";
            return Err(Error::invalid("arm", &self.arms[arm], allowed));
        }
        if !self.retired.contains(&arm) {
            self.retired.push(arm);
        }
        Ok(())
    }

    /// Offers an arm that was retired; its number, if it was.
    pub(crate) fn offer_again(&mut self, name: &str) -> Option<usize> {
        let arm = self.arms.iter().position(|own| own == name)?;
        let place = self.retired.iter().position(|own| *own == arm)?;
        self.retired.remove(place);
        Some(arm)
    }

    /// Refuses a number that no arm has.
    pub(crate) fn check(&self, arm: usize) -> Result<(), Error> {
        let last = self.arms.len() - 1;
        if arm > last {
            return Err(Error::NoSuchArm { arm, last });
        }
        Ok(())
    }
}
