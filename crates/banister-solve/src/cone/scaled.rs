//! The problem with one guardrail, in the form the search works in.
//!
//! ```text
//!   maximise a'π + ρ √((s'π)² + ‖Zπ‖²)   subject to   k‖Zπ‖ ≤ u'π,  π in the simplex,
//! ```
//!
//! with k = 1 and u = (τ − w)/κ, or k = 0 and u = τ − w where the guardrail has no norm. Lengths
//! are in units of the longest Z_a, so that tolerances mean the same whatever the caller's units.

use super::pair_passes::{End, PairRows};
use super::passes::{self, BLOCK};
use super::problem::ConeProblem;

/// Largest u in units of the longest Z_a at which several guardrails take one of them as the cone.
const MAX_REACH: f64 = 64.0;

/// Largest uncertainty of any action's cost, in units of the safe action's margin, that is taken for none. Without it
/// more policies are allowed, so every bound holds; and this share of the safe action makes any of them meet the
/// guardrail as it is.
const NEGLIGIBLE: f64 = 1e-7;

/// The problem's rows, padded to whole blocks; the padding has reward −∞.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScaledProblem {
    pub actions: usize,
    pub dimension: usize,
    pub safe: usize,
    pub rho: f64,
    /// True if the guardrail has a norm (k = 1).
    pub cone: bool,
    pub reward: Vec<f64>,
    pub along: Vec<f64>,
    pub u: Vec<f64>,
    /// Z, block by block (see `passes.rs`).
    pub z: Vec<f64>,
    pub squares: Vec<f64>,
    pub norms: Vec<f64>,
    /// f_a: the objective at each action.
    pub value: Vec<f64>,
    /// Slack u_a − k‖Z_a‖ of the guardrail at each action, not negative where the action meets it.
    pub slack: Vec<f64>,
    /// The largest |f_a|: the size of the numbers at hand.
    pub size: f64,
    /// The caller's length that is one here; a power of two.
    pub unit: f64,
    /// κ in these units; 1 without a norm. One unit of u is worth this much of τ.
    pub kappa: f64,
    /// Largest |u_a| of all actions.
    pub reach: f64,
    /// True if the numbers make sense: finite, ρ ≥ 0, the safe action certain.
    pub sound: bool,
    /// Several guardrails: rows E of `linear.rs`, each with the entries of the left-overs y behind
    /// those of the actions. Row 0 is for x, which the search sets.
    rows: Vec<f64>,
    /// Part of y_t that each row takes, and the largest number that went into it.
    pub of_t: Vec<f64>,
    pub row_reach: Vec<f64>,
}

impl ScaledProblem {
    /// Reads the part of the problem that does not depend on the guardrails.
    pub(crate) fn load(&mut self, problem: &ConeProblem<'_>) {
        let (k, p) = (problem.actions(), problem.dimension);
        let width = k.div_ceil(BLOCK) * BLOCK;
        self.actions = k;
        self.dimension = p;
        self.safe = problem.safe;
        for row in [
            &mut self.along,
            &mut self.u,
            &mut self.squares,
            &mut self.norms,
            &mut self.slack,
        ] {
            row.clear();
            row.resize(width, 0.0);
        }
        for row in [&mut self.reward, &mut self.value] {
            row.clear();
            row.resize(width, f64::NEG_INFINITY);
        }
        self.z.clear();
        self.z.resize(width * p, 0.0);
        self.reward[..k].copy_from_slice(problem.reward);
        self.along[..k].copy_from_slice(&problem.along[..k]);
        for j in 0..p {
            let row = &problem.across[j * problem.stride..][..k];
            for (b, part) in row.chunks(BLOCK).enumerate() {
                self.z[(b * p + j) * BLOCK..][..part.len()].copy_from_slice(part);
            }
        }
        passes::squares(&self.z, p, &mut self.squares);
        let longest = passes::top(&self.squares).sqrt();
        // A power of two: scaling by it rounds nothing.
        self.unit = power_of_two(longest);
        self.rho = problem.reward_radius * self.unit;
        let scale = 1.0 / self.unit;
        self.z.iter_mut().for_each(|z| *z *= scale);
        self.along.iter_mut().for_each(|s| *s *= scale);
        for a in 0..k {
            self.squares[a] *= scale * scale;
            self.norms[a] = self.squares[a].sqrt();
            let s = self.along[a];
            self.value[a] = self.reward[a] + self.rho * (s * s + self.squares[a]).sqrt();
        }
        self.size = self.value[..k].iter().fold(0.0, |x, f| f.abs().max(x));
        // A sum of finite numbers may overflow; such a problem is not sound either.
        let rows = [&self.value[..k], &self.norms[..k], &self.along[..k]];
        let finite = rows.iter().all(|row| row.iter().sum::<f64>().is_finite());
        let mut radii = problem.cost_radii.iter();
        let radii = radii.all(|kappa| *kappa >= 0.0) && self.rho >= 0.0;
        self.sound = finite && radii && self.norms[self.safe] == 0.0;
    }

    /// κ_i in these units, or 0 if it is negligible.
    fn cost_radius(&self, problem: &ConeProblem<'_>, i: usize) -> f64 {
        let longest = self.norms[..self.actions]
            .iter()
            .fold(0.0, |x: f64, y| x.max(*y));
        let (kappa, margin) = (
            problem.cost_radii[i] * self.unit,
            problem.thresholds[i] - problem.costs[i][problem.safe],
        );
        if kappa * longest <= NEGLIGIBLE * margin {
            0.0
        } else {
            kappa
        }
    }

    /// Takes the problem's only guardrail; false if that makes no sense.
    pub(crate) fn guard(&mut self, problem: &ConeProblem<'_>) -> bool {
        let k = self.actions;
        self.of_t.clear();
        let kappa = self.cost_radius(problem, 0);
        self.cone = kappa > 0.0;
        self.kappa = if self.cone { kappa } else { 1.0 };
        let (tau, row) = (problem.thresholds[0], &problem.costs[0]);
        for a in 0..k {
            self.u[a] = (tau - row[a]) / self.kappa;
            let norm = if self.cone { self.norms[a] } else { 0.0 };
            self.slack[a] = self.u[a] - norm;
        }
        self.reach = self.u[..k].iter().fold(0.0, |x, u| u.abs().max(x));
        let finite = self.u.iter().map(|u| u * u).sum::<f64>().is_finite();
        finite && kappa.is_finite() && self.u[self.safe] > 0.0
    }

    /// Takes all of several guardrails, one of them as ‖Zπ‖ ≤ u'π and the others as rows; false if
    /// that makes no sense.
    pub(crate) fn guard_all(&mut self, problem: &ConeProblem<'_>) -> bool {
        let (k, m) = (self.actions, problem.costs.len());
        let margin = |i: usize| problem.thresholds[i] - problem.costs[i][problem.safe];
        let sound = |i: usize| {
            let kappa = problem.cost_radii[i] * self.unit;
            let sum: f64 = problem.costs[i][..k].iter().map(|w| w * w).sum();
            margin(i) > 0.0 && (sum + kappa + problem.thresholds[i].powi(2)).is_finite()
        };
        if !(0..m).all(sound) {
            return false;
        }
        // The one that the safe action is closest to. Should costs be all but certain, u would be out of
        // proportion: then ‖Zπ‖ ≤ 2, which always holds, and every guardrail is a row.
        let closeness = |&i: &usize| problem.cost_radii[i] / margin(i);
        let closest = (0..m).max_by(|i, j| closeness(i).total_cmp(&closeness(j)));
        let reach_of = |i: usize| {
            let room = |w: &f64| (problem.thresholds[i] - w).abs();
            let most = problem.costs[i][..k].iter().map(room).fold(0.0, f64::max);
            most / self.cost_radius(problem, i)
        };
        let pivot = closest.filter(|&i| reach_of(i) <= MAX_REACH);
        self.cone = true;
        self.kappa = pivot.map_or(1.0, |i| self.cost_radius(problem, i));
        let rows = 1 + m - usize::from(pivot.is_some());
        let width = self.reward.len();
        for list in [&mut self.u, &mut self.norms, &mut self.squares] {
            list.resize(width + rows + 2, 0.0);
        }
        for a in 0..k {
            let of = |i: usize| (problem.thresholds[i] - problem.costs[i][a]) / self.kappa;
            self.u[a] = pivot.map_or(2.0, of);
        }
        self.u[width] = -1.0;
        self.reach = self.u[..k].iter().fold(0.0, |x, u| u.abs().max(x));
        self.of_t.clear();
        self.of_t.push(1.0);
        self.row_reach.clear();
        self.row_reach.push(2.0 + self.reach);
        self.rows.clear();
        self.rows.resize(rows * (width + rows + 2), 0.0);
        for i in (0..m).filter(|&i| Some(i) != pivot) {
            self.set_row(problem, i);
        }
        let stride = self.row_stride();
        for (r, row) in self.rows.chunks_exact_mut(stride).enumerate() {
            row[width] = self.of_t[r];
            row[width + 1 + r] = -1.0;
        }
        self.rows[width + 1 + rows] = 1.0;
        true
    }

    /// Adds guardrail i as a row, in units of its largest entry.
    fn set_row(&mut self, problem: &ConeProblem<'_>, i: usize) {
        let (k, r) = (self.actions, self.of_t.len());
        let kappa = self.cost_radius(problem, i);
        let (tau, costs) = (problem.thresholds[i], &problem.costs[i]);
        let entry = |a: usize| (tau - costs[a]) - kappa * self.u[a];
        let unit = (0..k).map(|a| entry(a).abs()).fold(kappa, f64::max);
        let reach = |a: usize| (tau.abs() + costs[a].abs() + kappa * self.u[a].abs()) / unit;
        self.row_reach.push((0..k).map(reach).fold(0.0, f64::max));
        self.of_t.push(kappa / unit);
        let start = r * self.row_stride();
        for a in 0..k {
            let entry = (tau - costs[a]) - kappa * self.u[a];
            self.rows[start + a] = entry / unit;
        }
    }

    /// Numbers per row: as many as u has.
    #[inline]
    fn row_stride(&self) -> usize {
        self.u.len()
    }

    /// Row r, one entry per action and one per left-over.
    #[inline]
    pub(crate) fn row(&self, r: usize) -> &[f64] {
        let stride = self.row_stride();
        &self.rows[r * stride..(r + 1) * stride]
    }

    /// Sets row 0 to x − u for an x with ‖Zπ‖ ≤ x'π.
    pub(crate) fn set_estimate(&mut self, x: &[f64]) {
        let actions = self.rows.iter_mut().zip(x).zip(&self.u);
        for ((row, x), u) in actions.take(self.actions) {
            *row = x - u;
        }
    }

    /// The first column that is no action: what is left over of the rows.
    #[inline]
    pub(crate) fn left_over(&self) -> usize {
        self.reward.len()
    }

    #[inline]
    pub(crate) fn is_left_over(&self, column: usize) -> bool {
        column >= self.left_over()
    }

    /// Weight of a column in Σπ = 1.
    #[inline]
    pub(crate) fn mass(&self, column: usize) -> f64 {
        if self.is_left_over(column) { 0.0 } else { 1.0 }
    }
    /// Coordinate j of action a.
    #[inline]
    pub(crate) fn z(&self, j: usize, a: usize) -> f64 {
        self.z[(a / BLOCK * self.dimension + j) * BLOCK + a % BLOCK]
    }

    /// True if action a alone is a feasible policy.
    #[inline]
    pub(crate) fn is_slack(&self, a: usize) -> bool {
        self.slack[a] >= 0.0
    }

    #[inline]
    pub(crate) fn end(&self, a: usize) -> End {
        End {
            reward: self.reward[a],
            along: self.along[a],
            u: self.u[a],
            square: self.squares[a],
        }
    }

    pub(crate) fn pair_rows<'a>(&'a self, gram: &'a [f64]) -> PairRows<'a> {
        PairRows {
            reward: &self.reward,
            along: &self.along,
            u: &self.u,
            squares: &self.squares,
            gram,
        }
    }
}

/// The largest power of two up to x, or 1 where there is none.
fn power_of_two(x: f64) -> f64 {
    if x.is_normal() {
        f64::from_bits(x.to_bits() & 0x7FF0_0000_0000_0000)
    } else {
        1.0
    }
}
