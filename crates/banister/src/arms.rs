//! Arms by number; a number is never given to another arm.

use crate::path::Within;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::event::ArmOffer;
use crate::problem::{ArmRanges, ArmWeights, check_name};

/// An arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// Name of the arm.
    pub name: String,
    /// False once it is retired.
    pub offered: bool,
    /// Features that it brought when it was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<f64>>,
    /// Ranges that it brought when it was added.
    #[serde(default, skip_serializing_if = "ArmRanges::is_empty")]
    pub ranges: ArmRanges,
    /// Weights that it brought, or that were set since.
    #[serde(default, skip_serializing_if = "ArmWeights::is_empty")]
    pub weights: ArmWeights,
}

impl Arm {
    /// The event that offers it.
    pub(crate) fn offer(&self) -> ArmOffer<'_> {
        ArmOffer {
            name: &self.name,
            features: self.features.as_deref(),
            ranges: &self.ranges,
            weights: &self.weights,
        }
    }
}

/// All arms, retired ones too, and the columns of those on offer.
#[derive(Debug, Clone, Default)]
pub struct Arms {
    list: Vec<Arm>,
    /// Column of each arm among those on offer; `None` once retired.
    column: Vec<Option<usize>>,
    /// Arm of each column, by increasing number.
    offered: Vec<usize>,
}

impl Arms {
    pub(crate) fn new(names: &[String]) -> Self {
        let arm = |name: &String| Arm {
            name: name.clone(),
            offered: true,
            features: None,
            ranges: ArmRanges::default(),
            weights: ArmWeights::default(),
        };
        let mut own = Self {
            list: names.iter().map(arm).collect(),
            ..Self::default()
        };
        own.place();
        own
    }

    pub(crate) fn push(&mut self, arm: Arm) {
        self.list.push(arm);
        self.place();
    }

    /// All arms, retired ones too.
    pub fn list(&self) -> &[Arm] {
        &self.list
    }

    /// Number of arms, retired ones too.
    #[inline]
    #[allow(clippy::len_without_is_empty)] // A problem has at least one arm.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Arms on offer, by increasing number.
    #[inline]
    pub fn offered(&self) -> &[usize] {
        &self.offered
    }

    /// Place of an arm among those on offer.
    #[inline]
    pub fn column(&self, arm: usize) -> Option<usize> {
        self.column[arm]
    }

    /// Name of an arm.
    pub fn name(&self, arm: usize) -> &str {
        &self.list[arm].name
    }

    /// Number of a retired arm, by its name.
    pub(crate) fn retired(&self, name: &str) -> Option<usize> {
        (self.list.iter()).position(|arm| arm.name == name && !arm.offered)
    }

    pub(crate) fn check_new(&self, name: &str) -> Result<(), Error> {
        let names: Vec<String> = self.list.iter().map(|arm| arm.name.clone()).collect();
        check_name(&names, name).within("arm")
    }

    pub(crate) fn offer(&mut self, arm: usize, offered: bool) {
        self.list[arm].offered = offered;
        self.place();
    }

    pub(crate) fn set_weights(&mut self, arm: usize, weights: ArmWeights) {
        self.list[arm].weights = weights;
    }

    fn place(&mut self) {
        self.offered.clear();
        self.column.clear();
        for (number, arm) in self.list.iter().enumerate() {
            self.column.push(arm.offered.then_some(self.offered.len()));
            if arm.offered {
                self.offered.push(number);
            }
        }
    }
}
