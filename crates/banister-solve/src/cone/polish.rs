//! Several guardrails: a policy improved by one action at a time.
//!
//! (P) with m guardrails: a policy of few actions that uses up as many guardrails less one. One
//! used up, it is a pair; two, h and l, it lies on the plane κ_l v_h = κ_h v_l with v = τ − w, which
//! cuts a triangle of actions in a segment, and along a segment every guardrail is a quadratic. So
//! for pairs of the policy's actions (and the safe one) with every third action: the sides, and the
//! segments inside. Each step is exact, the search as a whole is not: it offers policies and proves
//! nothing.

use super::problem::ConeProblem;
use super::search::{Budget, Search};

/// Improvements in a row.
const ROUNDS: usize = 12;
/// Actions of the policy that are kept in turn.
const KEPT: usize = 4;

/// The search's workspace: products of the kept actions with all, one row each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Polish {
    products: Vec<f64>,
    squares: Vec<f64>,
    /// The value up to which policies have been tried.
    reached: f64,
}

/// Mixtures of three actions.
struct Triangle<'a> {
    problem: &'a ConeProblem<'a>,
    actions: [usize; 3],
    gram: [[f64; 3]; 3],
}

impl Polish {
    /// Makes room and squares the lengths of all actions.
    pub(crate) fn begin(&mut self, problem: &ConeProblem<'_>) {
        let k = problem.actions();
        self.reached = f64::NEG_INFINITY;
        self.products.clear();
        self.products.resize(KEPT * k, 0.0);
        self.squares.clear();
        self.squares.resize(k, 0.0);
        for j in 0..problem.dimension {
            let row = &problem.across[j * problem.stride..][..k];
            for (square, z) in self.squares.iter_mut().zip(row) {
                *square += z * z;
            }
        }
    }

    /// Improves the best policy until no single action does.
    pub(crate) fn run(
        &mut self,
        problem: &ConeProblem<'_>,
        search: &mut Search,
        budget: &mut Budget<'_, '_>,
    ) {
        for _ in 0..ROUNDS {
            let before = search.best.value;
            if before <= self.reached {
                return;
            }
            let kept = heaviest(problem.safe, &search.best.support);
            if self.pass(problem, &kept, search, budget) {
                return;
            }
            self.reached = before;
        }
    }

    /// Every pair of `kept` with every third action; true if the budget is over.
    fn pass(
        &mut self,
        problem: &ConeProblem<'_>,
        kept: &[usize; KEPT],
        search: &mut Search,
        budget: &mut Budget<'_, '_>,
    ) -> bool {
        let (k, m) = (problem.actions(), problem.costs.len());
        self.multiply(problem, kept);
        for x in 0..KEPT {
            for y in x + 1..KEPT {
                let (i, j) = (kept[x], kept[y]);
                if i == j {
                    continue;
                }
                if budget.spend((k * (problem.dimension + 30 * m * m)) as u64) {
                    return true;
                }
                let (with_i, with_j) = (&self.products[x * k..], &self.products[y * k..]);
                for third in (0..k).filter(|&a| a != i && a != j) {
                    let (a, b, c) = (with_i[j], with_i[third], with_j[third]);
                    let square = |a: usize| self.squares[a];
                    let triangle = Triangle {
                        problem,
                        actions: [i, j, third],
                        gram: [[square(i), a, b], [a, square(j), c], [b, c, square(third)]],
                    };
                    triangle.search(search);
                }
            }
        }
        false
    }

    fn multiply(&mut self, problem: &ConeProblem<'_>, kept: &[usize; KEPT]) {
        let k = problem.actions();
        self.products.fill(0.0);
        for (out, &i) in self.products.chunks_exact_mut(k).zip(kept) {
            for j in 0..problem.dimension {
                let row = &problem.across[j * problem.stride..][..k];
                let own = row[i];
                for (x, z) in out.iter_mut().zip(row) {
                    *x += own * z;
                }
            }
        }
    }
}

impl Triangle<'_> {
    /// v_i = τ_i − w_i of each action.
    fn room(&self, i: usize) -> [f64; 3] {
        let (tau, row) = (self.problem.thresholds[i], &self.problem.costs[i]);
        self.actions.map(|a| tau - row[a])
    }

    fn search(&self, search: &mut Search) {
        let (i, j, third) = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]);
        self.segment(&i, &third, search);
        self.segment(&j, &third, search);
        let radii = self.problem.cost_radii;
        for h in 0..radii.len() {
            for l in 0..h {
                let (x, y) = (self.room(h), self.room(l));
                let side: [f64; 3] = std::array::from_fn(|r| radii[l] * x[r] - radii[h] * y[r]);
                // The action alone on its side of the plane, and the two others.
                let alone = (0..3).find(|&r| {
                    let others = [side[(r + 1) % 3], side[(r + 2) % 3]];
                    others.iter().all(|o| o * side[r] < 0.0)
                });
                if let Some(r) = alone {
                    let cut = |other: usize| {
                        let w = side[r] / (side[r] - side[other]);
                        let mut point = [0.0; 3];
                        (point[r], point[other]) = (1.0 - w, w);
                        point
                    };
                    self.segment(&cut((r + 1) % 3), &cut((r + 2) % 3), search);
                }
            }
        }
    }

    fn inner(&self, x: &[f64; 3], y: &[f64; 3]) -> f64 {
        let row = |r: usize| dot(&self.gram[r], y);
        x[0] * row(0) + x[1] * row(1) + x[2] * row(2)
    }

    /// Offers the points between `from` and `to` where some guardrail is just met, and the rest too.
    fn segment(&self, from: &[f64; 3], to: &[f64; 3], search: &mut Search) {
        let problem = self.problem;
        let (aa, ab, bb) = (
            self.inner(from, from),
            self.inner(from, to),
            self.inner(to, to),
        );
        let reward = self.actions.map(|a| problem.reward[a]);
        let along = self.actions.map(|a| problem.along[a]);
        let (r, s) = (
            (dot(&reward, from), dot(&reward, to)),
            (dot(&along, from), dot(&along, to)),
        );
        for (i, &kappa) in problem.cost_radii.iter().enumerate() {
            let room = self.room(i);
            let (x, y) = (dot(&room, from), dot(&room, to));
            let square = kappa * kappa;
            // As in `pair`: A w² − 2 B w + C.
            let (c, d) = (square * aa - x * x, square * bb - y * y);
            let cross = square * ab - x * y;
            let (b, a) = (c - cross, (c - cross) + (d - cross));
            let discriminant = cross * cross - c * d;
            if !(discriminant >= 0.0) {
                continue;
            }
            let root = discriminant.sqrt();
            let big = if b >= 0.0 { b + root } else { b - root };
            for w in [c / big, big / a] {
                if !(w > 0.0 && w < 1.0) {
                    continue;
                }
                let rest = 1.0 - w;
                let norm = rest * rest * aa + 2.0 * rest * w * ab + w * w * bb;
                let norm = norm.max(0.0);
                let middle = rest * s.0 + w * s.1;
                let value = rest * r.0 + w * r.1;
                let value = value + problem.reward_radius * (middle * middle + norm).sqrt();
                if value > search.best.value && self.fits((from, to, w), norm.sqrt()) {
                    let mixed = (0..3).map(|r| (self.actions[r], rest * from[r] + w * to[r]));
                    search.hint(problem, mixed);
                }
            }
        }
    }

    /// True if a point meets all guardrails but for a little.
    fn fits(&self, (from, to, w): (&[f64; 3], &[f64; 3], f64), norm: f64) -> bool {
        let problem = self.problem;
        (0..problem.costs.len()).all(|i| {
            let room = self.room(i);
            let mixed = (1.0 - w) * dot(&room, from) + w * dot(&room, to);
            let margin = problem.thresholds[i] - problem.costs[i][problem.safe];
            problem.cost_radii[i] * norm <= mixed + 1e-6 * margin
        })
    }
}

/// The heaviest actions of a policy, the safe one last.
fn heaviest(safe: usize, policy: &[(usize, f64)]) -> [usize; KEPT] {
    let (mut kept, mut least) = ([safe; KEPT], f64::INFINITY);
    for slot in &mut kept[..KEPT - 1] {
        let lighter = policy.iter().filter(|e| e.1 < least);
        if let Some(&(a, w)) = lighter.max_by(|x, y| x.1.total_cmp(&y.1)) {
            (*slot, least) = (a, w);
        }
    }
    kept
}

#[inline]
fn dot(x: &[f64; 3], y: &[f64; 3]) -> f64 {
    x[0] * y[0] + x[1] * y[1] + x[2] * y[2]
}
