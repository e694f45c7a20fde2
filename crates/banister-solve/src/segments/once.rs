//! User-supplied problems, in whatever units they come.

use super::problem::BlockLp;
use super::table::sum;
use crate::lp::{LpError, Status, exactly, finite, largest, unit};
use serde::{Deserialize, Serialize};

/// A policy per segment, by the numbers of the segments and their weights.
///
/// ```
/// use banister_solve::SegmentProblem;
///
/// let problem = SegmentProblem {
///     weights: vec![0.5, 0.5],
///     reward: vec![vec![0.0, 0.4], vec![0.0, 0.8]],
///     costs: vec![vec![vec![0.0, 1.0], vec![0.0, 1.0]]],
///     thresholds: vec![0.75],
///     scopes: vec![],
/// };
/// let solution = problem.solve()?;
/// assert_eq!(solution.policy[0], [(0, 0.5), (1, 0.5)]);
/// assert_eq!(solution.policy[1], [(1, 1.0)]);
/// # Ok::<(), banister_solve::LpError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SegmentProblem {
    /// Weight p_s per segment, zero or more; they need not sum to one.
    pub weights: Vec<f64>,
    /// Rewards per segment, one per action; segments may differ in their number of actions.
    pub reward: Vec<Vec<f64>>,
    /// Costs per guardrail and segment, one per action.
    pub costs: Vec<Vec<Vec<f64>>>,
    /// τ, one entry per guardrail.
    pub thresholds: Vec<f64>,
    /// Scope per guardrail; empty if all hold overall.
    #[serde(default)]
    pub scopes: Vec<Scope>,
}

/// Policies that a guardrail bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The weighted sum of the segments' costs.
    #[default]
    Overall,
    /// The cost of each segment.
    Each,
}

/// Policies of all segments, and their certificate.
#[derive(Debug, Clone, PartialEq)]
pub struct SegmentSolution {
    /// End of the solve.
    pub status: Status,
    /// Policy per segment, as (action, probability); none if infeasible.
    pub policy: Vec<Vec<(usize, f64)>>,
    /// Weighted sum of the segments' rewards.
    pub value: f64,
    /// A proven upper bound on it.
    pub upper_bound: f64,
    /// Cost per guardrail: the weighted sum, or the largest of the segments' costs.
    pub costs: Vec<f64>,
    /// Shadow prices per guardrail.
    pub prices: Vec<SegmentPrices>,
}

/// Shadow prices of a guardrail.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum SegmentPrices {
    /// That of the one row it is.
    Overall(f64),
    /// One per segment.
    Each(Vec<f64>),
}

impl SegmentProblem {
    /// Checks the problem, brings it to unit scale, solves it, and scales back.
    pub fn solve(&self) -> Result<SegmentSolution, LpError> {
        self.check()?;
        let scope = |i: usize| self.scopes.get(i).copied().unwrap_or_default();
        let (overall, each): (Vec<usize>, Vec<usize>) =
            (0..self.costs.len()).partition(|&i| scope(i) == Scope::Overall);
        let reward_unit = unit(self.reward.iter().map(|row| largest(row)));
        let weight_unit = unit([largest(&self.weights)]);
        let threshold = |i: usize| self.thresholds[i].abs();
        let cost = |i: usize| unit(self.costs[i].iter().map(|row| largest(row)));
        // In two factors: their product may be out of range.
        let units: Vec<(f64, f64)> = (0..self.costs.len())
            .map(|i| match scope(i) {
                Scope::Overall => (cost(i), weight_unit),
                Scope::Each => (cost(i).max(unit([threshold(i)])), 1.0),
            })
            .collect();
        let scaled = |rows: &[usize]| -> Vec<f64> {
            let scaled = |&i: &usize| self.thresholds[i] / units[i].0 / units[i].1;
            // A threshold far beyond all costs is as good as none.
            rows.iter()
                .map(|i| scaled(i).clamp(-1e300, 1e300))
                .collect()
        };
        let (thresholds, local_thresholds) = (scaled(&overall), scaled(&each));

        let mut lp = BlockLp::new(overall.len(), each.len());
        for (s, reward) in self.reward.iter().enumerate() {
            let weight = self.weights[s] / weight_unit;
            let reward: Vec<f64> = reward.iter().map(|r| weight * (r / reward_unit)).collect();
            let rows = |indices: &[usize], weight: f64| -> Vec<Vec<f64>> {
                let row = |&i: &usize| {
                    let row = self.costs[i][s].iter();
                    row.map(|c| weight * (c / units[i].0)).collect()
                };
                indices.iter().map(row).collect()
            };
            let (costs, local) = (rows(&overall, weight), rows(&each, 1.0));
            let safe = safest(&costs, &local, &local_thresholds, reward.len());
            let costs: Vec<&[f64]> = costs.iter().map(|row| &row[..]).collect();
            let local: Vec<&[f64]> = local.iter().map(|row| &row[..]).collect();
            lp.set(s, safe, &reward, &costs, &local);
        }
        let solution = lp.solve(&thresholds, &local_thresholds).clone();
        if solution.status == Status::Infeasible {
            return Ok(SegmentSolution {
                status: solution.status,
                policy: vec![],
                value: solution.value,
                upper_bound: solution.upper_bound,
                costs: vec![],
                prices: vec![],
            });
        }
        let segments = 0..self.weights.len();
        let mut costs = vec![0.0; self.costs.len()];
        let mut prices = vec![SegmentPrices::Overall(0.0); self.costs.len()];
        for (row, &i) in overall.iter().enumerate() {
            costs[i] = solution.costs[row] * units[i].0 * units[i].1;
            prices[i] = SegmentPrices::Overall(solution.prices[row] / units[i].0 * reward_unit);
        }
        for (row, &i) in each.iter().enumerate() {
            let cost = |s: usize| sum(&self.costs[i][s], lp.policy(s));
            costs[i] = segments.clone().map(cost).fold(f64::NEG_INFINITY, f64::max);
            let price = |s: usize| lp.block_prices(s)[row] / units[i].0;
            let price = |s: usize| price(s) * reward_unit * weight_unit;
            prices[i] = SegmentPrices::Each(segments.clone().map(price).collect());
        }
        Ok(SegmentSolution {
            status: solution.status,
            policy: segments.map(|s| lp.policy(s).to_vec()).collect(),
            value: solution.value * reward_unit * weight_unit,
            upper_bound: solution.upper_bound * reward_unit * weight_unit,
            costs,
            prices,
        })
    }

    fn check(&self) -> Result<(), LpError> {
        let segments = self.weights.len();
        if segments == 0 || self.reward.iter().any(Vec::is_empty) {
            let empty = self.reward.iter().position(Vec::is_empty);
            let field = empty.map_or("weights".into(), |s| format!("reward[{s}]"));
            return Err(LpError::Empty { field });
        }
        let negative = |w: &f64| !(*w >= 0.0 && w.is_finite());
        if let Some(s) = self.weights.iter().position(negative) {
            return Err(LpError::Weight {
                field: format!("weights[{s}]"),
                value: self.weights[s],
            });
        }
        let guardrails = self.costs.len();
        exactly("reward", self.reward.len(), segments, "one row per weight")?;
        let (each, scopes) = ("one per guardrail in `costs`", self.scopes.len());
        exactly("thresholds", self.thresholds.len(), guardrails, each)?;
        if scopes > 0 {
            exactly("scopes", scopes, guardrails, each)?;
        }
        finite("thresholds", &self.thresholds)?;
        for (s, row) in self.reward.iter().enumerate() {
            finite(&format!("reward[{s}]"), row)?;
        }
        for (i, rows) in self.costs.iter().enumerate() {
            let field = format!("costs[{i}]");
            exactly(&field, rows.len(), segments, "one row per weight")?;
            for (s, row) in rows.iter().enumerate() {
                let field = format!("costs[{i}][{s}]");
                let actions = self.reward[s].len();
                exactly(&field, row.len(), actions, "one per action, as in `reward`")?;
                finite(&field, row)?;
            }
        }
        Ok(())
    }
}

/// The action furthest within the local thresholds, then the cheapest.
fn safest(
    costs: &[Vec<f64>],
    local: &[Vec<f64>],
    local_thresholds: &[f64],
    actions: usize,
) -> usize {
    let key = |a: usize| {
        let excess = local
            .iter()
            .zip(local_thresholds)
            .map(|(row, t)| row[a] - t);
        let excess = excess.fold(f64::NEG_INFINITY, f64::max);
        (excess, costs.iter().map(|row| row[a]).sum::<f64>())
    };
    let order = |a: &usize, b: &usize| {
        let (a, b) = (key(*a), key(*b));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    (0..actions).min_by(order).unwrap_or(0)
}
