//! The cone problem, its limits and its answer.

use crate::lp::{LpError, Status, exactly, finite};

/// One round of exact OPLB, whitened (math: "OPLB exactly", structure):
///
/// ```text
///   maximise   a'π + ρ √((s'π)² + ‖Zπ‖²)
///   subject to w_i'π + κ_i ‖Zπ‖ ≤ τ_i   for i = 1..m,     π ≥ 0,  Σ_a π_a = 1.
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ConeProblem<'a> {
    /// a: estimated reward, one entry per action.
    pub reward: &'a [f64],
    /// ρ ≥ 0: how much the reward's uncertainty is worth.
    pub reward_radius: f64,
    /// s: whitened coordinate along the safe action, one entry per action.
    pub along: &'a [f64],
    /// Z: whitened coordinates across the safe action, coordinate-major: coordinate j of action k
    /// is `across[j * stride + k]`.
    pub across: &'a [f64],
    /// Distance between two coordinates of one action; at least K, with zeros as padding.
    pub stride: usize,
    /// p: number of rows of Z; may be 0.
    pub dimension: usize,
    /// w_i: linear part of the cost, one row per guardrail, at least K long.
    pub costs: &'a [Vec<f64>],
    /// κ_i ≥ 0: how much the costs' uncertainty weighs; 0 makes a guardrail linear.
    pub cost_radii: &'a [f64],
    /// τ_i, one entry per guardrail.
    pub thresholds: &'a [f64],
    /// The safe action: its column of Z is zero and w_{i,safe} < τ_i.
    pub safe: usize,
}

/// Conditions that end a search.
pub struct ConeLimits<'a> {
    /// Certify until the proven gap is at most this share of the value (of its absolute value, or
    /// of a thousandth of the largest objective of any action should that be larger).
    pub relative_gap: f64,
    /// Stop after about this many multiplications.
    pub work: u64,
    /// The caller's clock, polled now and then; `true` ends the search. This crate reads no clock.
    pub stop: Option<&'a mut dyn FnMut() -> bool>,
}

impl Default for ConeLimits<'_> {
    fn default() -> Self {
        Self {
            relative_gap: 1e-3,
            work: u64::MAX,
            stop: None,
        }
    }
}

/// A policy, its value and the proof of how good it is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ConeSolution {
    /// [`Status::Optimal`]: certified to the relative gap asked for. [`Status::Budget`]: limits
    /// ended the search, or rounding did; the bound is valid all the same.
    pub status: Status,
    /// The policy as (action, probability), by increasing action; positive, summing to one.
    pub support: Vec<(usize, f64)>,
    /// The objective at the policy.
    pub value: f64,
    /// A proven upper bound on the objective of every feasible policy.
    pub upper_bound: f64,
    /// The policy's pessimistic cost per guardrail, recomputed from the support: never above τ_i.
    pub costs: Vec<f64>,
    /// Shadow price per guardrail: what one more unit of τ_i would earn to first order.
    pub prices: Vec<f64>,
    /// Linear cone problems solved.
    pub nodes: u64,
    /// Pairs of actions examined.
    pub pairs: u64,
    /// Work done, in multiplications (roughly).
    pub work: u64,
}

impl ConeSolution {
    /// Largest possible distance of the policy's value from the best one.
    #[inline]
    pub fn gap(&self) -> f64 {
        (self.upper_bound - self.value).max(0.0)
    }
}

impl ConeProblem<'_> {
    /// Number K of actions.
    #[inline]
    pub fn actions(&self) -> usize {
        self.reward.len()
    }

    /// True if every length fits, so that no index below can miss.
    pub(crate) fn fits(&self) -> bool {
        let (k, m) = (self.reward.len(), self.costs.len());
        self.safe < k
            && self.along.len() >= k
            && self.stride >= k
            && self.dimension.checked_mul(self.stride) <= Some(self.across.len())
            && self.costs.iter().all(|row| row.len() >= k)
            && self.cost_radii.len() == m
            && self.thresholds.len() == m
    }

    /// Checks sizes, signs and finiteness, for user-supplied problems.
    pub fn check(&self) -> Result<(), LpError> {
        let (k, m) = (self.reward.len(), self.costs.len());
        if k == 0 {
            return Err(LpError::NoActions);
        }
        at_least(
            "along",
            self.along.len(),
            k,
            "one per action, as in `reward`",
        )?;
        at_least("stride", self.stride, k, "at least the number of actions")?;
        let needed = self.dimension.saturating_mul(self.stride);
        at_least(
            "across",
            self.across.len(),
            needed,
            "`dimension` rows of `stride`",
        )?;
        exactly(
            "cost_radii",
            self.cost_radii.len(),
            m,
            "one per row of `costs`",
        )?;
        exactly(
            "thresholds",
            self.thresholds.len(),
            m,
            "one per row of `costs`",
        )?;
        finite("reward", self.reward)?;
        finite("along", self.along)?;
        finite("across", &self.across[..needed])?;
        finite("thresholds", self.thresholds)?;
        radius("reward_radius", self.reward_radius)?;
        for (i, (row, &kappa)) in self.costs.iter().zip(self.cost_radii).enumerate() {
            let field = format!("costs[{i}]");
            at_least(&field, row.len(), k, "one per action, as in `reward`")?;
            finite(&field, row)?;
            radius(&format!("cost_radii[{i}]"), kappa)?;
        }
        if self.safe >= k {
            return Err(LpError::Safe {
                action: self.safe,
                because: "there is no such action",
            });
        }
        let column = (0..self.dimension).map(|j| self.across[j * self.stride + self.safe]);
        if column.into_iter().any(|z| z != 0.0) {
            return Err(LpError::Safe {
                action: self.safe,
                because: "its column of `across` is not zero",
            });
        }
        let mut margins = self.costs.iter().zip(self.thresholds);
        if !margins.all(|(row, &tau)| row[self.safe] < tau) {
            return Err(LpError::Safe {
                action: self.safe,
                because: "it does not meet every threshold with margin",
            });
        }
        Ok(())
    }
}

fn at_least(field: &str, got: usize, least: usize, because: &'static str) -> Result<(), LpError> {
    if got >= least {
        return Ok(());
    }
    exactly(field, got, least, because)
}

fn radius(field: &str, value: f64) -> Result<(), LpError> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(LpError::Radius {
        field: field.into(),
        value,
    })
}
