//! A linear objective over the cone: max c'π with ‖Zπ‖ ≤ u'π and π in the simplex.
//!
//! An active-set method (math: "linear objective over the cone"). On the support B let
//! M = Z_B'Z_B − u_Bu_B' and write x·y for x'My: a Lorentz product, negative inside the cone. With
//!
//! ```text
//!   [M 1; 1' 0](p₁, α₁) = (c, 0)      [M 1; 1' 0](p₂, α₂) = (0, 1)
//! ```
//!
//! p₂ is orthogonal to every direction that keeps the sum, p₂·p₂ = −α₂ and c'd = p₁·d. If a best
//! point exists on the plane of B it is π = p₂ + p₁/μ with μ = √(c'p₁/α₂); if not, some direction of
//! recession improves c, and we follow it to the end of the simplex:
//!
//! | α₂ | p₁ | what then |
//! |---|---|---|
//! | > 0: the plane cuts an ellipsoid | any | the point above |
//! | ≤ 0: a hyperboloid, or at 0 the apex of the cone | inside the cone, forwards | the point above |
//! | ≤ 0 | inside the cone, backwards | follow −p₁ |
//! | ≤ 0 | outside the cone | follow (π − p₂) + βp₁ with β > 0 such that it is on the cone |
//!
//! The proof: for any vector z and μ ≥ 0, q_a = μ(‖z‖u_a − z'Z_a) has q'π ≥ 0 on the cone, so
//! c'π ≤ max_a c_a + q_a. It is computed from all actions whatever the path that led to z, so
//! rounding and degeneracy can cost tightness and never validity.
//!
//! Several guardrails (`scaled.rs`) share the length t: ‖Zπ‖ ≤ t ≤ u'π, G_i'π ≥ κ_i t for the
//! others and, where the objective earns `price` per unit of min(t, x'π), the row x. Written with
//! what is left of each inequality as a variable y ≥ 0 that has no mass,
//!
//! ```text
//!   t = u'π − y_t     E_i'π + κ_i y_t − y_i = 0  with E_i = G_i − κ_i u
//!                     E_0'π + y_t + y_x − y_0 = 0  with E_0 = x − u,    objective c'π − price·(y_t + y_x)
//! ```
//!
//! the y are columns like the actions, M is as before (y_t has u = −1, Z = 0), and the rows border
//! the system. For any Y ≥ 0 with Y_0 ≤ price the vector ‖z‖u − Z'z + Σ_r Y_r E_r is a proof if ‖z‖ is
//! replaced by any larger number that is at least Y_0 + Σ_i Y_i κ_i − price.

use super::kkt::Kkt;
use super::passes;
use super::scaled::ScaledProblem;

/// Steps after which the bound at hand must do.
const MAX_STEPS: usize = 400;
/// Weights up to this are zero.
const ZERO: f64 = 1e-13;
/// With rows, what rounding may move a weight by.
const DRIFT: f64 = 1e-7;
/// With rows, the share of the distance to what is enough that may remain unknown.
const LOOSE: f64 = 0.25;
/// Rounding error of a row's multiplier.
const GRAIN: f64 = 1e-12;

/// The method and where it stands: a feasible policy, which stays feasible when only c changes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Linear {
    pub basis: Vec<usize>,
    pub weights: Vec<f64>,
    /// Columns of Z, one after the other.
    columns: Vec<f64>,
    /// Z_B'Z_B with room for p + 4 actions a row.
    gram: Vec<f64>,
    direction: Vec<f64>,
    /// μπ, Z of it, and the multipliers Y of the rows.
    dual: Vec<f64>,
    z: Vec<f64>,
    row_duals: Vec<f64>,
    /// Objective per unit of min(t, x'π), were there rows.
    price: f64,
    kkt: Kkt,
    pub work: u64,
}

/// Result of a linear problem.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    /// No policy within the guardrail does better.
    pub bound: f64,
    /// The best action, if it meets the guardrail by itself: then the guardrail costs nothing.
    pub vertex: Option<usize>,
}

/// Step out of, or within, the plane of the support.
enum Move {
    /// To the best point of the plane, where c − μMπ is constant; whether μ > 0.
    Rest {
        priced: bool,
    },
    /// As far as the simplex reaches.
    Away,
    Stuck,
}

/// Columns that a support has room for.
fn room(scaled: &ScaledProblem) -> usize {
    scaled.dimension + 5 + 2 * scaled.of_t.len()
}

impl Linear {
    /// Starts from a feasible policy.
    pub(crate) fn start(
        &mut self,
        scaled: &ScaledProblem,
        support: impl Iterator<Item = (usize, f64)>,
    ) {
        let room = room(scaled);
        for list in [&mut self.weights, &mut self.direction, &mut self.dual] {
            list.clear();
            list.reserve(room);
        }
        self.basis.clear();
        self.basis.reserve(room);
        self.row_duals.clear();
        self.row_duals.resize(scaled.of_t.len(), 0.0);
        self.kkt.reserve(room + 1 + scaled.of_t.len());
        self.columns.clear();
        self.columns.reserve(room * scaled.dimension);
        self.gram.clear();
        self.gram.resize(room * room, 0.0);
        self.z.clear();
        self.z.resize(scaled.dimension, 0.0);
        for (a, weight) in support.take(scaled.dimension + 3) {
            self.enter(scaled, a, weight);
        }
        self.fill_rows(scaled);
    }

    /// Returns to columns and weights that it left earlier.
    pub(crate) fn restore(&mut self, scaled: &ScaledProblem, columns: &[(usize, f64)]) {
        self.basis.clear();
        self.weights.clear();
        self.columns.clear();
        for &(column, weight) in columns {
            self.enter(scaled, column, weight);
        }
    }

    /// Sets what the policy at hand leaves over of every row: with a column each, even where nothing is
    /// left, the rows are independent of each other, and remain so as columns leave one by one.
    fn fill_rows(&mut self, scaled: &ScaledProblem) {
        let mut y_t = 0.0_f64;
        for (r, of_t) in scaled.of_t.iter().enumerate().skip(1) {
            let sum = self.sum(scaled.row(r));
            // A row without t is kept by the policy itself.
            if sum < 0.0 && *of_t > 0.0 {
                y_t = y_t.max(-sum / of_t);
            }
        }
        let first = scaled.left_over();
        if y_t > ZERO {
            self.enter(scaled, first, y_t);
        }
        for r in 1..scaled.of_t.len() {
            let left = self.sum(scaled.row(r));
            self.enter(scaled, first + 1 + r, left.max(0.0));
        }
        self.renew_estimate(scaled);
    }

    /// Sets what the policy at hand leaves over of row 0, which has changed.
    pub(crate) fn renew_estimate(&mut self, scaled: &ScaledProblem) {
        let rows = scaled.of_t.len();
        if rows == 0 {
            return;
        }
        let (below, above) = (scaled.left_over() + 1, scaled.left_over() + 1 + rows);
        for r in (0..self.basis.len()).rev() {
            if self.basis[r] == below || self.basis[r] == above {
                self.leave(r);
            }
        }
        let left = self.sum(scaled.row(0));
        self.enter(scaled, if left < 0.0 { above } else { below }, left.abs());
    }

    fn sum(&self, row: &[f64]) -> f64 {
        self.iter().map(|(a, w)| w * row[a]).sum()
    }

    /// t of the policy at hand.
    pub(crate) fn length(&self, scaled: &ScaledProblem) -> f64 {
        let columns = self.basis.iter().zip(&self.weights);
        columns.map(|(&a, w)| w * scaled.u[a]).sum()
    }

    /// Maximises c'π, whose largest entry is `top`; leaves the proof in `q`. Stops as soon as the
    /// bound is at most `enough`, or within `tolerance` of the policy at hand.
    pub(crate) fn maximise(
        &mut self,
        scaled: &ScaledProblem,
        c: &[f64],
        top: f64,
        q: &mut [f64],
        (enough, tolerance): (f64, f64),
    ) -> Outcome {
        self.maximise_with(scaled, c, 0.0, top, q, (enough, tolerance))
    }

    /// [`Self::maximise`] where every unit of min(t, x'π) earns `price`, which c counts as if t were u'π.
    pub(crate) fn maximise_with(
        &mut self,
        scaled: &ScaledProblem,
        c: &[f64],
        price: f64,
        top: f64,
        q: &mut [f64],
        (enough, tolerance): (f64, f64),
    ) -> Outcome {
        self.price = price;
        let rows = scaled.of_t.len();
        q.fill(0.0);
        self.work += scaled.actions as u64;
        let best = passes::position(c, top);
        let mut out = Outcome {
            bound: top,
            vertex: (rows == 0 && scaled.is_slack(best)).then_some(best),
        };
        if out.vertex.is_some() || top <= enough {
            return out;
        }
        let mut entered = None;
        for _ in 0..MAX_STEPS {
            let step = self.step(scaled, c);
            match step {
                Move::Stuck => break,
                Move::Rest { priced } => {
                    // At the apex of the cone, where Zπ = 0, the policy alone does not tell z. The action that is
                    // about to leave as it came does: on its plane z makes up for it.
                    if rows > 0 && entered.is_some_and(|a| self.is_pushed_back(a)) {
                        out.bound = out.bound.min(self.price(scaled, c, q).0);
                    }
                    if let Some(length) = self.advance(1.0) {
                        // The action that just entered leaves at once: rounding, not progress.
                        if length < ZERO && entered.is_some_and(|a| !self.basis.contains(&a)) {
                            break;
                        }
                        continue;
                    }
                    let full = self.basis.len() > scaled.dimension + 2 + 2 * rows;
                    if let Some(y) = self.left_over_to_enter(scaled) {
                        if full {
                            break;
                        }
                        self.enter(scaled, y, 0.0);
                        entered = Some(y);
                        continue;
                    }
                    let (bound, at) = self.price(scaled, c, q);
                    out.bound = out.bound.min(bound);
                    let columns = self.basis.iter().zip(&self.weights);
                    let held: f64 = columns.map(|(&a, w)| self.worth(scaled, c, a) * w).sum();
                    // Without a price the policy may be inside the cone, where the sweep gains
                    // nothing from it: go on to the cone, however little c improves.
                    let priced = priced || rows > 0;
                    // Far above what is enough, the exact distance does not matter.
                    let mut near = tolerance;
                    if rows > 0 && enough.is_finite() {
                        near = near.max(LOOSE * (held - enough));
                    }
                    let done = bound <= enough || priced && bound - held <= near;
                    if done || full || self.basis.contains(&at) {
                        break;
                    }
                    self.enter(scaled, at, 0.0);
                    entered = Some(at);
                }
                Move::Away => {
                    if self.advance(f64::INFINITY).is_none() {
                        break;
                    }
                }
            }
        }
        // What is in `q` must prove the bound at this corner and serve at its neighbours.
        out
    }

    /// The support and its weights; with rows, what is left over of them too.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.basis.iter().copied().zip(self.weights.iter().copied())
    }

    /// True if a column without weight would get less than none.
    fn is_pushed_back(&self, column: usize) -> bool {
        let mut columns = self
            .basis
            .iter()
            .zip(self.weights.iter().zip(&self.direction));
        columns.any(|(&a, (w, d))| a == column && *w == 0.0 && *d < 0.0)
    }

    /// Objective per unit of a column.
    fn worth(&self, scaled: &ScaledProblem, c: &[f64], a: usize) -> f64 {
        match a.checked_sub(scaled.left_over()) {
            None => c[a],
            Some(y) if y == 0 || y > scaled.of_t.len() => -self.price,
            Some(_) => 0.0,
        }
    }

    /// The left-over y with the largest reduced worth, should one be positive.
    fn left_over_to_enter(&self, scaled: &ScaledProblem) -> Option<usize> {
        let (rows, base) = (scaled.of_t.len(), scaled.left_over());
        if rows == 0 {
            return None;
        }
        let pairs = self.basis.iter().zip(&self.dual);
        let forward: f64 = pairs.map(|(&a, w)| scaled.u[a] * w).sum();
        let used = self.row_duals.iter().zip(&scaled.of_t);
        let used: f64 = used.map(|(y, of_t)| y * of_t).sum();
        let mut best = (GRAIN * (scaled.size + self.price + forward.abs()), None);
        let mut see = |worth: f64, column: usize| {
            if worth > best.0 && !self.basis.contains(&column) {
                best = (worth, Some(column));
            }
        };
        see(used - self.price - forward, base);
        see(self.row_duals[0] - self.price, base + 1 + rows);
        for (r, y) in self.row_duals.iter().enumerate() {
            see(-y, base + 1 + r);
        }
        best.1
    }

    /// Finds where to go from the policy at hand, on the plane of its support.
    fn step(&mut self, scaled: &ScaledProblem, c: &[f64]) -> Move {
        let (n, rows) = (self.basis.len(), scaled.of_t.len());
        let (room, size) = (room(scaled), n + 1 + rows);
        self.work += (size * size * size / 3 + 4 * size * size) as u64;
        let largest = self.basis.iter().map(|&a| scaled.u[a] * scaled.u[a]);
        // Twins make M singular: a grain on its diagonal lets the better twin drive out the other.
        let grain = 1e-13 + 4e-16 * largest.fold(0.0, f64::max);
        self.kkt.clear(size);
        for r in 0..n {
            let (a, gram) = (self.basis[r], &self.gram[r * room..]);
            let worth = self.worth(scaled, c, a);
            let row = self.kkt.row_mut(r);
            for (x, (&b, g)) in row.iter_mut().zip(self.basis.iter().zip(gram)) {
                *x = g - scaled.u[a] * scaled.u[b];
            }
            row[r] += grain;
            row[n] = scaled.mass(a);
            for (k, entry) in row[n + 1..size].iter_mut().enumerate() {
                *entry = scaled.row(k)[a];
            }
            row[size] = worth;
        }
        let last = self.kkt.row_mut(n);
        for (x, &a) in last.iter_mut().zip(&self.basis) {
            *x = scaled.mass(a);
        }
        last[size + 1] = 1.0;
        for k in 0..rows {
            let row = self.kkt.row_mut(n + 1 + k);
            for (x, &a) in row.iter_mut().zip(&self.basis) {
                *x = scaled.row(k)[a];
            }
            // Rows that the support cannot tell apart leave their multipliers undetermined.
            row[n + 1 + k] = -1e-15;
        }
        if !self.kkt.solve() {
            return Move::Stuck;
        }
        let (p1, p2) = (|r| self.kkt.solution(0, r), |r| self.kkt.solution(1, r));
        let alpha = self.kkt.solution(1, n);
        let (mut square, mut forward, mut size, mut spread) = (0.0, 0.0, 0.0, 0.0);
        let mut noise = 0.0;
        for (r, &a) in self.basis.iter().enumerate() {
            let product = self.worth(scaled, c, a) * p1(r);
            square += product;
            noise += product.abs();
            forward += scaled.u[a] * p1(r);
            size += p2(r).abs() * (scaled.norms[a] + scaled.u[a].abs());
            spread += p2(r) * p2(r);
        }
        self.direction.clear();
        self.dual.clear();
        if !(alpha.is_finite() && square.is_finite()) {
            return Move::Stuck;
        }
        for k in 0..rows {
            self.row_duals[k] = -self.kkt.solution(0, n + 1 + k);
        }
        // The rows' sums cancel, so rounding is larger with them.
        noise = if rows == 0 {
            0.0
        } else {
            1e-14 * noise + 1e-26 * scaled.size * scaled.size
        };
        // p₂·p₂ as far as rounding and the grain leave it unknown.
        let apex = 1e-14 * size * size + 4.0 * grain * spread;
        let constant = rows > 0 && square.abs() <= noise || alpha > apex && square <= noise;
        if n <= 1 + rows || constant {
            // c is constant on the plane.
            self.direction.resize(n, 0.0);
            self.dual.resize(n, 0.0);
            return Move::Rest { priced: false };
        }
        if alpha > apex || square < 0.0 && forward > 0.0 {
            // 1/μ is zero where the plane meets the apex of the cone and c points away from it.
            let inverse = (alpha / square).max(0.0).sqrt();
            for r in 0..n {
                let to = p2(r) + p1(r) * inverse;
                self.direction.push(to - self.weights[r]);
                let scaled = if inverse > 0.0 { to / inverse } else { p1(r) };
                self.dual.push(scaled);
            }
            if inverse > 0.0 {
                for (k, y) in self.row_duals.iter_mut().enumerate() {
                    *y -= self.kkt.solution(1, n + 1 + k) / inverse;
                }
            }
            return Move::Rest { priced: true };
        }
        if square < 0.0 {
            self.direction.extend((0..n).map(|r| -p1(r)));
            return Move::Away;
        }
        if !(square > 0.0) {
            return Move::Stuck;
        }
        // e = π − p₂ is inside the cone: e·e = π·π − p₂·p₂ ≤ 0, and e·p₁ = c'e.
        let mixed: f64 = (0..n)
            .map(|r| self.worth(scaled, c, self.basis[r]) * (self.weights[r] - p2(r)))
            .sum();
        let depth = (-alpha).max(0.0);
        let beta = ((mixed * mixed + square * depth).sqrt() - mixed) / square;
        let weights = self.weights.iter().enumerate();
        let away = weights.map(|(r, w)| w - p2(r) + beta * p1(r));
        self.direction.extend(away);
        Move::Away
    }

    /// Moves along the direction, at most `reach` of it; drops the actions that reach zero. The
    /// distance if some did before the end.
    fn advance(&mut self, reach: f64) -> Option<f64> {
        if !self.row_duals.is_empty() {
            return self.advance_by_one(reach);
        }
        let mut length = reach;
        for (w, d) in self.weights.iter().zip(&self.direction) {
            if *d < 0.0 && w + length * d < ZERO {
                length = (w / -d).max(0.0);
            }
        }
        if !length.is_finite() {
            return None;
        }
        for (w, d) in self.weights.iter_mut().zip(&self.direction) {
            *w += length * d;
        }
        if length == reach {
            return None;
        }
        for r in (0..self.basis.len()).rev() {
            if self.weights[r] <= ZERO && self.basis.len() > 1 {
                self.leave(r);
            }
        }
        Some(length)
    }

    /// [`Self::advance`] with rows, where one column leaves at a time (see `fill_rows`).
    fn advance_by_one(&mut self, reach: f64) -> Option<f64> {
        let largest = self.direction.iter().fold(0.0_f64, |x, d| x.max(d.abs()));
        // There already, but for rounding.
        if reach == 1.0 && largest <= DRIFT {
            return None;
        }
        let (mut length, mut first) = (reach, None);
        for (r, (w, &d)) in self.weights.iter().zip(&self.direction).enumerate() {
            if d < -1e-9 * largest && w + length * d < 0.0 {
                let reaches = (w / -d).max(0.0);
                // Of several at once the steepest, for the sake of rounding.
                if reaches < length || first.is_some_and(|f: usize| d < self.direction[f]) {
                    (length, first) = (length.min(reaches), Some(r));
                }
            }
        }
        if !length.is_finite() {
            return None;
        }
        for (w, d) in self.weights.iter_mut().zip(&self.direction) {
            *w = (*w + length * d).max(0.0);
        }
        self.leave(first?);
        Some(length)
    }

    /// The bound that μπ at the policy at hand proves, and the action that attains it.
    fn price(&mut self, scaled: &ScaledProblem, c: &[f64], q: &mut [f64]) -> (f64, usize) {
        let p = scaled.dimension;
        self.work += (scaled.actions * (p + 2)) as u64;
        self.z.fill(0.0);
        for (w, column) in self.dual.iter().zip(self.columns.chunks_exact(p.max(1))) {
            for (z, x) in self.z.iter_mut().zip(column) {
                *z += w * x;
            }
        }
        let norm = self.z.iter().map(|z| z * z).sum::<f64>().sqrt();
        let forward = self.basis.iter().zip(&self.dual);
        let forward: f64 = forward.map(|(&a, w)| scaled.u[a] * w).sum();
        // Rounded up, so that q'π ≥ 0 on the cone whatever the sums below lose. At the apex μπ may
        // be inside the cone, with u'μπ above its norm.
        let mut lift = norm.max(forward) * (1.0 + 1e-14);
        let (mut used, mut reach) = (0.0, 0.0);
        for (r, y) in self.row_duals.iter_mut().enumerate() {
            *y = y.clamp(0.0, if r == 0 { self.price } else { f64::MAX });
            used += *y * scaled.of_t[r];
            reach += *y * scaled.row_reach[r];
        }
        lift = lift.max((used - self.price) * (1.0 + 1e-14) + 1e-14 * used);
        let rounding = lift * scaled.reach + norm + 4.0 * reach;
        let grain = f64::EPSILON * (p + 8) as f64 * rounding;
        passes::form(&scaled.z, &self.z, (lift, grain), &scaled.u, q);
        for (r, &y) in self.row_duals.iter().enumerate() {
            if y > 0.0 {
                passes::add(q, y, scaled.row(r));
            }
        }
        let bound = passes::top_of_sum(c, q);
        (bound, passes::position_of_sum(c, q, bound))
    }

    fn enter(&mut self, scaled: &ScaledProblem, a: usize, weight: f64) {
        let (p, n) = (scaled.dimension, self.basis.len());
        let room = room(scaled);
        self.basis.push(a);
        self.weights.push(weight);
        if scaled.is_left_over(a) {
            self.columns.resize((n + 1) * p, 0.0);
        } else {
            self.columns.extend((0..p).map(|j| scaled.z(j, a)));
        }
        self.work += (n * p) as u64;
        let (others, own) = self.columns.split_at(n * p);
        for r in 0..n {
            let other = &others[r * p..(r + 1) * p];
            let product: f64 = other.iter().zip(own).map(|(x, y)| x * y).sum();
            self.gram[r * room + n] = product;
            self.gram[n * room + r] = product;
        }
        self.gram[n * room + n] = scaled.squares[a];
    }

    fn leave(&mut self, r: usize) {
        let last = self.basis.len() - 1;
        let p = self.z.len();
        let room = p + 5 + 2 * self.row_duals.len();
        self.basis.swap_remove(r);
        self.weights.swap_remove(r);
        if r != last {
            self.columns.copy_within(last * p..(last + 1) * p, r * p);
            for c in 0..=last {
                self.gram[r * room + c] = self.gram[last * room + c];
            }
            for c in 0..=last {
                self.gram[c * room + r] = self.gram[c * room + last];
            }
            self.gram[r * room + r] = self.gram[last * room + last];
        }
        self.columns.truncate(last * p);
    }
}
