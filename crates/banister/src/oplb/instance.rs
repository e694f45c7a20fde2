//! One round of OPLB given by its numbers, for user-supplied data: what `banister solve` reads.

use crate::path::Within;
use banister_solve::{
    ConeLimits, ConeProblem, ConeSolution, LpError, Solution, Status, dense, solve_cone_once,
    solve_once,
};
use serde::{Deserialize, Serialize};

use super::Solver;
use crate::error::{Error, finite, positive};
use crate::linear::{Actions, Space};
use crate::problem::check_vector;

/// A confidence set: an estimate, and a radius in the Gram matrix's norm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ellipsoid {
    /// The estimated parameter, in R^d.
    pub estimate: Vec<f64>,
    /// ρ = α_r β for the reward, κ = α_c β⊥ for a cost.
    pub radius: f64,
}

/// One round: actions, what is known about them, and what to do with it. Numbers are used as given,
/// nothing is clipped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundInstance {
    /// One feature vector per action.
    pub actions: Vec<Vec<f64>>,
    /// Index of the safe action.
    pub safe: usize,
    /// Its cost per guardrail.
    pub safe_costs: Vec<f64>,
    /// Thresholds τ_i.
    pub thresholds: Vec<f64>,
    /// Gram matrix Σ.
    pub gram: Vec<Vec<f64>>,
    /// Confidence ellipsoid of the reward.
    pub reward: Ellipsoid,
    /// Confidence ellipsoid of each cost; only the part of the estimate across x_0 counts.
    pub costs: Vec<Ellipsoid>,
    /// Problem to solve.
    #[serde(default)]
    pub solver: Solver,
    /// Relative gap to which `exact` proves its policy best.
    #[serde(default = "default_gap")]
    pub relative_gap: f64,
    /// Multiplications after which `exact` settles for a feasible policy and its proven gap.
    #[serde(default = "default_work")]
    pub max_work: u64,
}

fn default_gap() -> f64 {
    super::OplbConfig::default().relative_gap
}

fn default_work() -> u64 {
    super::OplbConfig::default().max_work
}

/// The policy of a round.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundAnswer {
    /// Status: proven best to the gap asked for, or not.
    pub status: Status,
    /// The policy, as (action, probability).
    pub policy: Vec<(usize, f64)>,
    /// The objective at the policy (`linearised`: the linear program's value).
    pub value: f64,
    /// Proven upper bound on the objective.
    pub upper_bound: f64,
    /// Pessimistic cost per guardrail.
    pub costs: Vec<f64>,
    /// Shadow price per guardrail.
    pub prices: Vec<f64>,
    /// Linear problems solved for the proof.
    pub nodes: u64,
}

impl From<Solution> for RoundAnswer {
    fn from(solution: Solution) -> Self {
        Self {
            status: solution.status,
            policy: solution.support,
            value: solution.value,
            upper_bound: solution.upper_bound,
            costs: solution.costs,
            prices: solution.prices,
            nodes: solution.pivots as u64,
        }
    }
}

impl RoundInstance {
    /// Checks everything, then solves. `stop` is the caller's clock.
    pub fn solve(&self, stop: Option<&mut dyn FnMut() -> bool>) -> Result<RoundAnswer, Error> {
        self.check()?;
        let safe_action = &self.actions[self.safe];
        let space = Space::around(safe_action);
        if space.safe_length == 0.0 {
            self.check_zero_costs()?;
        }
        let mut actions = Actions::default();
        actions.replace(&self.actions.concat(), safe_action, f64::INFINITY);
        let factor = self.factor(&space)?;
        let stride = dense::stride(space.dimension);
        actions.whiten(&space, &factor, stride, (true, false));
        let means = |estimate: &[f64]| -> Vec<f64> {
            let each = self.actions.iter().map(|x| dense::dot(x, estimate));
            each.collect()
        };
        let reward = means(&self.reward.estimate);
        let shares: Vec<f64> = actions.shares(&space).collect();
        let costs: Vec<Vec<f64>> = std::iter::zip(&self.costs, &self.safe_costs)
            .map(|(cost, &safe_cost)| {
                // Only the part across x_0 is an estimate; along it the cost is known.
                let estimated = dense::dot(&cost.estimate, safe_action);
                let mut row = means(&cost.estimate);
                for (w, share) in row.iter_mut().zip(&shares) {
                    *w += share * (safe_cost - estimated);
                }
                row[actions.safe] = safe_cost;
                row
            })
            .collect();
        let tables = [&reward, &actions.columns.squares[1]];
        if !tables
            .into_iter()
            .chain(&costs)
            .flatten()
            .all(|x| x.is_finite())
        {
            return Err(too_large(
                "their squared lengths in the Gram matrix's inverse must be finite",
            ));
        }
        match self.solver {
            Solver::Linearised => self.linearised(&actions, &reward, &costs),
            Solver::Exact => self.exact(&actions, &space, &reward, &costs, stop),
        }
    }

    fn linearised(
        &self,
        actions: &Actions,
        reward: &[f64],
        costs: &[Vec<f64>],
    ) -> Result<RoundAnswer, Error> {
        let [across, full] = &actions.columns.squares;
        let mut v = vec![0.0; actions.count];
        dense::reach(reward, 0.0, full, self.reward.radius, &mut v);
        let mut upper = vec![vec![0.0; actions.count]; costs.len()];
        for (i, row) in upper.iter_mut().enumerate() {
            dense::reach(&costs[i], 0.0, across, self.costs[i].radius, row);
        }
        let solution = solve_once(&v, &upper, &self.thresholds).map_err(overflow)?;
        Ok(solution.into())
    }

    fn exact(
        &self,
        actions: &Actions,
        space: &Space,
        reward: &[f64],
        costs: &[Vec<f64>],
        stop: Option<&mut dyn FnMut() -> bool>,
    ) -> Result<RoundAnswer, Error> {
        let (p, stride, count) = (space.across, actions.stride, actions.count);
        let whitened = &actions.columns.whitened;
        let zeros = vec![0.0; count];
        let radii: Vec<f64> = self.costs.iter().map(|cost| cost.radius).collect();
        let problem = ConeProblem {
            reward: &reward[..count],
            reward_radius: self.reward.radius,
            along: if p < space.dimension {
                &whitened[p * stride..][..count]
            } else {
                &zeros
            },
            across: &whitened[..p * stride],
            stride,
            dimension: p,
            costs,
            cost_radii: &radii,
            thresholds: &self.thresholds,
            safe: actions.safe,
        };
        let mut limits = ConeLimits {
            relative_gap: self.relative_gap,
            work: self.max_work,
            stop,
        };
        let ConeSolution {
            status,
            support,
            value,
            upper_bound,
            costs,
            prices,
            nodes,
            ..
        } = solve_cone_once(&problem, &mut limits).map_err(overflow)?;
        Ok(RoundAnswer {
            status,
            policy: support,
            value,
            upper_bound,
            costs,
            prices,
            nodes,
        })
    }

    /// W of the turned Gram matrix.
    fn factor(&self, space: &Space) -> Result<Vec<f64>, Error> {
        let d = space.dimension;
        let stride = dense::stride(d);
        // HΣH, one side after the other.
        let mut half = vec![vec![0.0; d]; d];
        for (j, row) in self.gram.iter().enumerate() {
            space.turn(row, &mut half[j]);
        }
        let mut sigma = vec![0.0; d * stride];
        let mut turned = vec![0.0; d];
        for k in 0..d {
            let column: Vec<f64> = half.iter().map(|row| row[k]).collect();
            space.turn(&column, &mut turned);
            for j in 0..d {
                sigma[j * stride + k] = turned[j];
            }
        }
        let mut factor = vec![0.0; d * stride];
        let mut room = Vec::new();
        if !dense::inverse_factor(&sigma, stride, d, &mut room, &mut factor) {
            return Err(Error::invalid(
                "gram",
                "not positive definite",
                "must be a symmetric positive definite matrix, such as λI + Σ xxᵀ",
            ));
        }
        Ok(factor)
    }

    fn check(&self) -> Result<(), Error> {
        let Some(first) = self.actions.first() else {
            return Err(Error::invalid(
                "actions",
                "empty",
                "a policy needs at least one action",
            ));
        };
        let d = first.len();
        if d == 0 {
            return Err(Error::invalid(
                "actions[0]",
                "empty",
                "a feature vector needs at least one number",
            ));
        }
        for (a, x) in self.actions.iter().enumerate() {
            check_vector(x, d).within(("actions", a))?;
        }
        if self.safe >= self.actions.len() {
            let allowed = format!(
                "must be the index of an action, 0 to {}",
                self.actions.len() - 1
            );
            return Err(Error::invalid("safe", self.safe, allowed));
        }
        positive("relative_gap", self.relative_gap)?;
        self.check_gram(d)?;
        check_ellipsoid(&self.reward, d).within("reward")?;
        let m = self.thresholds.len();
        for (field, length) in [
            ("safe_costs", self.safe_costs.len()),
            ("costs", self.costs.len()),
        ] {
            if length != m {
                let allowed = format!("expected {m}: one per threshold");
                return Err(Error::invalid(field, format!("{length} entries"), allowed));
            }
        }
        for i in 0..m {
            check_ellipsoid(&self.costs[i], d).within(("costs", i))?;
            let threshold = finite(("thresholds", i), self.thresholds[i])?;
            let field = ("safe_costs", i);
            if finite(field, self.safe_costs[i])? >= threshold {
                let allowed = format!(
                    "the safe action must meet its guardrail with margin: strictly below {threshold}"
                );
                return Err(Error::invalid(field, self.safe_costs[i], allowed));
            }
        }
        Ok(())
    }

    fn check_gram(&self, d: usize) -> Result<(), Error> {
        if self.gram.len() != d {
            let value = format!("{} rows", self.gram.len());
            let allowed = format!("expected {d}: the actions have {d} features");
            return Err(Error::invalid("gram", value, allowed));
        }
        for (j, row) in self.gram.iter().enumerate() {
            check_vector(row, d).within(("gram", j))?;
        }
        for j in 0..d {
            for k in 0..j {
                let (a, b) = (self.gram[j][k], self.gram[k][j]);
                if (a - b).abs() > 1e-9 * (a.abs() + b.abs()) {
                    let value = format!("{a} where gram[{k}][{j}] is {b}");
                    return Err(Error::invalid(
                        format!("gram[{j}][{k}]"),
                        value,
                        "the matrix must be symmetric",
                    ));
                }
            }
        }
        Ok(())
    }

    fn check_zero_costs(&self) -> Result<(), Error> {
        match self.safe_costs.iter().position(|&c| c != 0.0) {
            None => Ok(()),
            Some(i) => Err(Error::invalid(
                ("safe_costs", i),
                self.safe_costs[i],
                "the safe action's features are all zero, so its cost is 0",
            )),
        }
    }
}

fn check_ellipsoid(ellipsoid: &Ellipsoid, d: usize) -> Result<(), Error> {
    check_vector(&ellipsoid.estimate, d).within("estimate")?;
    let radius = finite("radius", ellipsoid.radius)?;
    if radius < 0.0 {
        return Err(Error::invalid("radius", radius, "must not be negative"));
    }
    Ok(())
}

/// Input that is finite can still overflow when it is multiplied.
fn overflow(error: LpError) -> Error {
    too_large(&error.to_string())
}

fn too_large(why: &str) -> Error {
    Error::invalid("actions", "too large", format!("numbers overflow: {why}"))
}
