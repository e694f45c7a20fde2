//! BranchAndBound guardrails: branch and bound over the direction of (s'π, Zπ).
//!
//! The objective is convex in y = (s'π, Zπ) through one norm only, so a bound on that norm which is
//! concave in π leaves a convex problem, solved with all guardrails to a certificate (`linear.rs`).
//! Two facts give such bounds for the policies of a node:
//!
//! - A vector v between the unit vectors e₁ and e₂ of an arc has ‖v‖ ≤ ℓ·v with the tip
//!   ℓ = (e₁+e₂)/(1+cos(arc)), and nothing is lost at the ends. Taken at (s'π, ‖Zπ‖) this bounds the
//!   objective; taken at (h'z, ‖Pz‖), with h a unit vector and P the projection across it, it bounds
//!   ‖z‖ for z = Zπ, then ‖Pz‖ in the same way, and so on: the levels of a node.
//! - What is left of Z after the levels has ‖Rπ‖ ≤ Σ_a π_a ‖R_a‖.
//!
//! Together ‖Zπ‖ ≤ x'π for the policies of the node, and ‖Zπ‖ ≤ t ≤ (τ_i − w_i'π)/κ_i for all. So
//! a'π + ρ(ℓ₁ s'π + ℓ₂ min(t, x'π)) bounds the objective, and it is exact where a guardrail is used
//! up and priced: most rounds need no level at all. A node is split where its own policy loses most:
//! an arc at the policy's angle, or a new level along the action that weighs most in R. Losses fall
//! with the square of an arc, and levels along a policy's actions leave it no R at all.

use super::linear::Linear;
use super::passes;
use super::problem::ConeProblem;
use super::scaled::ScaledProblem;
use super::search::{Search, WorkBudget};
use super::sweep::directions;

/// Nodes after which the gap is reported as it is: realistic rounds need a few dozen.
const MAX_NODES: u64 = 5000;
/// Nodes that may be open at a time.
const MAX_OPEN: usize = 1024;
/// Unit vectors h of all levels together, and levels of one node.
const MAX_AXES: usize = 512;
const MAX_LEVELS: usize = 16;
/// Columns of a solution that are kept for the parts of its node to start from.
const MAX_COLUMNS: usize = 16;
/// Steps uphill from a policy that is the best so far, and such climbs.
const STEPS: usize = 3;
const CLIMBS: usize = 6;

type Vector = (f64, f64);

/// The directions between two unit vectors, less than half a turn apart.
#[derive(Debug, Clone, Copy, Default)]
struct Arc {
    from: Vector,
    to: Vector,
}

impl Arc {
    fn tip(&self) -> Vector {
        let stretch = 1.0 + (self.from.0 * self.to.0 + self.from.1 * self.to.1);
        // Outwards by rounding.
        let scale = (1.0 + 1e-15) / stretch;
        (
            (self.from.0 + self.to.0) * scale,
            (self.from.1 + self.to.1) * scale,
        )
    }

    /// Excess of ℓ·v over ‖v‖.
    fn loss(&self, v: Vector) -> f64 {
        let tip = self.tip();
        tip.0 * v.0 + tip.1 * v.1 - length(v)
    }

    /// Two arcs that meet at v, or not too close to an end.
    fn split(&self, v: Vector) -> Option<[Self; 2]> {
        let between = |share: f64| {
            let rest = 1.0 - share;
            let x = rest * self.from.0 + share * self.to.0;
            unit((x, rest * self.from.1 + share * self.to.1))
        };
        let (first, last, v) = (between(0.2)?, between(0.8)?, unit(v)?);
        let turn = cross(self.from, self.to);
        if !(turn.abs() > 1e-9) {
            return None;
        }
        let at = if cross(first, v) * turn < 0.0 {
            first
        } else if cross(v, last) * turn < 0.0 {
            last
        } else {
            v
        };
        let (mut before, mut after) = (*self, *self);
        (before.to, after.from) = (at, at);
        Some([before, after])
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Level {
    axis: usize,
    arc: Arc,
}

/// Policies with (s'π, ‖Zπ‖) in one arc and, level by level, (h'z, ‖Pz‖) in another.
#[derive(Debug, Clone, Copy, Default)]
struct Node {
    arc: Arc,
    levels: [Level; MAX_LEVELS],
    depth: usize,
    bound: f64,
    /// Its parts, by what is split.
    parts: [(Arc, Part); 2],
    /// Its solution, if there is room for it.
    columns: [(usize, f64); MAX_COLUMNS],
    used: usize,
}

/// Part of a node that an arc belongs to.
#[derive(Debug, Clone, Copy, Default)]
enum Part {
    #[default]
    Angle,
    Level(usize),
    /// A level to come.
    Axis(usize),
}

/// The search and its workspace.
#[derive(Debug, Clone, Default)]
pub(crate) struct BranchAndBound {
    open: Vec<Node>,
    /// The unit vectors h, and h'Z_a, one row each.
    axes: Vec<f64>,
    products: Vec<f64>,
    count: usize,
    /// x of the node at hand, and its c and proof.
    x: Vec<f64>,
    c: Vec<f64>,
    q: Vec<f64>,
    mean: Vec<f64>,
    climbs: usize,
}

/// The problem and the state that a visit of a node works on.
pub(crate) struct BranchContext<'s, 'a, 'l> {
    pub problem: &'s ConeProblem<'s>,
    pub scaled: &'s mut ScaledProblem,
    pub linear: &'s mut Linear,
    pub search: &'s mut Search,
    pub budget: &'s mut WorkBudget<'a, 'l>,
}

impl BranchAndBound {
    /// Searches all directions; a bound on every policy.
    pub(crate) fn run(&mut self, context: &mut BranchContext<'_, '_, '_>) -> f64 {
        self.prepare(context.scaled);
        let start = context.search.best.support.iter().copied();
        context.linear.start(context.scaled, start);
        let mut last = None;
        let ends = directions(context.scaled);
        let single = ends[1].is_none();
        for e in ends.into_iter().flatten() {
            let from = last.replace(e).unwrap_or(e);
            if single || from != e {
                let arc = Arc { from, to: e };
                let node = Node {
                    arc,
                    bound: f64::INFINITY,
                    ..Node::default()
                };
                self.visit(context, node);
            }
        }
        while let Some(node) = self.take_highest() {
            let search = &mut *context.search;
            if node.bound <= search.target() || search.nodes >= MAX_NODES || context.budget.spend(1)
            {
                search.dismiss(node.bound);
                break;
            }
            for (arc, part) in node.parts {
                let mut child = node;
                if node.used > 0 {
                    let columns = &node.columns[..node.used];
                    context.linear.restore(context.scaled, columns);
                }
                match part {
                    Part::Angle => child.arc = arc,
                    Part::Level(l) => child.levels[l].arc = arc,
                    Part::Axis(axis) => {
                        child.levels[child.depth] = Level { axis, arc };
                        child.depth += 1;
                    }
                }
                self.visit(context, child);
            }
        }
        // Convexity alone: no policy is better than every action.
        let scaled = &*context.scaled;
        let top = passes::top(&scaled.value);
        let length = scaled.norms[..scaled.actions]
            .iter()
            .chain(&scaled.along[..scaled.actions])
            .fold(0.0, |x: f64, y| x.max(y.abs()));
        context.search.proven.min(top) + 1e-13 * (scaled.size + scaled.rho * length)
    }

    fn prepare(&mut self, scaled: &ScaledProblem) {
        let (p, width) = (scaled.dimension, scaled.reward.len());
        self.open.clear();
        self.open.reserve(MAX_OPEN);
        self.count = 0;
        self.axes.clear();
        self.axes.reserve(MAX_AXES * p);
        self.products.clear();
        self.products.reserve(MAX_AXES * width);
        for row in [&mut self.x, &mut self.c, &mut self.q] {
            row.clear();
            row.resize(width, 0.0);
        }
        self.mean.clear();
        self.mean.resize(p, 0.0);
        self.climbs = 0;
    }

    fn take_highest(&mut self) -> Option<Node> {
        let nodes = self.open.iter().enumerate();
        let (at, _) = nodes.max_by(|x, y| x.1.bound.total_cmp(&y.1.bound))?;
        Some(self.open.swap_remove(at))
    }

    /// Bounds a node; keeps it open, with its parts, if the bound is above the target.
    fn visit(&mut self, context: &mut BranchContext<'_, '_, '_>, mut node: Node) {
        self.estimate(context.scaled, &node);
        context.scaled.set_estimate(&self.x);
        context.linear.renew_estimate(context.scaled);
        let enough = context.search.target();
        let bound = self.maximise(context, &node, enough);
        node.bound = node.bound.min(bound);
        let scaled = &*context.scaled;
        let (linear, search) = (&mut *context.linear, &mut *context.search);
        if node.bound > search.target() {
            let found = linear
                .iter()
                .filter(|column| !scaled.is_left_over(column.0));
            let parts = self.parts(scaled, linear, &node);
            node.used = 0;
            if linear.iter().count() <= MAX_COLUMNS {
                for (to, column) in node.columns.iter_mut().zip(linear.iter()) {
                    *to = column;
                    node.used += 1;
                }
            }
            if search.offer(context.problem, found) {
                self.climb(context);
            }
            let search = &mut *context.search;
            match parts {
                Some(parts) if node.bound > search.target() && self.open.len() < MAX_OPEN => {
                    node.parts = parts;
                    return self.open.push(node);
                }
                // No part of it would have a better bound: its own has to be as good as it gets.
                None if node.bound > search.target() => {
                    let bound = self.maximise(context, &node, f64::NEG_INFINITY);
                    node.bound = node.bound.min(bound);
                    let scaled = &*context.scaled;
                    let found = (context.linear.iter()).filter(|x| !scaled.is_left_over(x.0));
                    context.search.offer(context.problem, found);
                }
                _ => {}
            }
        }
        context.search.dismiss(node.bound);
    }

    /// Maximises the concave bound of a node, whose x is set, from the policy at hand; a bound on its policies, loose
    /// where they are far above what is enough.
    fn maximise(
        &mut self,
        context: &mut BranchContext<'_, '_, '_>,
        node: &Node,
        enough: f64,
    ) -> f64 {
        let scaled = &*context.scaled;
        let (linear, search) = (&mut *context.linear, &mut *context.search);
        let tip = node.arc.tip();
        let at = (scaled.rho * tip.0, scaled.rho * tip.1);
        let top = passes::corner(&scaled.reward, &scaled.along, &scaled.u, at, &mut self.c);
        let before = linear.work;
        let tolerance = (0.05 * search.tolerance()).max(1e-12 * scaled.size);
        let enough = (enough, tolerance);
        let outcome = linear.maximise_with(scaled, &self.c, at.1, top, &mut self.q, enough);
        search.nodes += 1;
        let work = (scaled.actions * (8 + 2 * node.depth)) as u64;
        context.budget.spend(linear.work - before + work);
        outcome.bound
    }

    /// Sets x: ‖Zπ‖ ≤ x'π for the policies of the node.
    fn estimate(&mut self, scaled: &ScaledProblem, node: &Node) {
        let width = scaled.reward.len();
        let levels = &node.levels[..node.depth];
        self.x.copy_from_slice(&scaled.squares[..width]);
        for level in levels {
            let products = &self.products[level.axis * width..][..width];
            for (x, product) in self.x.iter_mut().zip(products) {
                *x -= product * product;
            }
        }
        let share = levels
            .iter()
            .map(|level| level.arc.tip().1)
            .product::<f64>();
        for (x, square) in self.x.iter_mut().zip(&scaled.squares) {
            // Outwards by rounding, here and below.
            let grain = if levels.is_empty() {
                0.0
            } else {
                1e-14 * square
            };
            *x = share * (x.max(0.0) + grain).sqrt();
        }
        let mut share = 1.0;
        for level in levels {
            let tip = level.arc.tip();
            let products = &self.products[level.axis * width..][..width];
            passes::add(&mut self.x, share * tip.0, products);
            share *= tip.1;
        }
        passes::add(&mut self.x, 1e-14, &scaled.norms);
    }

    /// The split of a node where the policy at hand loses most; `None` if it loses nothing that a
    /// split could give back.
    fn parts(
        &mut self,
        scaled: &ScaledProblem,
        linear: &Linear,
        node: &Node,
    ) -> Option<[(Arc, Part); 2]> {
        let (p, width) = (scaled.dimension, scaled.reward.len());
        let policy = || {
            linear
                .iter()
                .filter(|column| !scaled.is_left_over(column.0))
        };
        self.mean.fill(0.0);
        for (a, weight) in policy() {
            for (j, z) in self.mean.iter_mut().enumerate() {
                *z += weight * scaled.z(j, a);
            }
        }
        let along: f64 = policy().map(|(a, w)| w * scaled.along[a]).sum();
        let estimate: f64 = policy().map(|(a, w)| w * self.x[a]).sum();
        let norm = self.mean.iter().map(|z| z * z).sum::<f64>().sqrt();
        let counted = linear.length(scaled).min(estimate);
        let by_angle = node.arc.loss((along, counted));
        let by_length = node.arc.tip().1 * (counted - norm);
        let halve = || {
            let arcs = node.arc.split((along, counted))?;
            Some(arcs.map(|arc| (arc, Part::Angle)))
        };
        if by_angle >= by_length {
            return halve();
        }
        // From the inside out: R, then every level's (h'z, bound of ‖Pz‖).
        let levels = &node.levels[..node.depth];
        let product = |level: &Level, a: usize| self.products[level.axis * width + a];
        let rest_of = |a: usize| {
            let used: f64 = levels.iter().map(|level| product(level, a).powi(2)).sum();
            let rest = scaled.squares[a] - used;
            if rest > 1e-10 * scaled.squares[a] {
                rest.sqrt()
            } else {
                0.0
            }
        };
        let mut inner: f64 = policy().map(|(a, w)| w * rest_of(a)).sum();
        let mut square = norm * norm;
        let mut views = [(0.0, 0.0); MAX_LEVELS];
        for (view, level) in views.iter_mut().zip(levels).rev() {
            let h: f64 = policy().map(|(a, w)| w * product(level, a)).sum();
            square -= h * h;
            *view = (h, inner);
            let tip = level.arc.tip();
            inner = tip.0 * h + tip.1 * inner;
        }
        let rest = views[..node.depth].last().map_or(inner, |view| view.1);
        let (mut best, mut part, mut share) = (0.0, None, 1.0);
        for (l, level) in levels.iter().enumerate() {
            let loss = share * level.arc.loss(views[l]);
            if loss > best && level.arc.split(views[l]).is_some() {
                (best, part) = (loss, Some(l));
            }
            share *= level.arc.tip().1;
        }
        let loss = share * (rest - square.max(0.0).sqrt());
        if loss > best {
            if node.depth == MAX_LEVELS || self.count == MAX_AXES {
                return None;
            }
            let heaviest = policy().max_by(|x, y| {
                let weigh = |e: &(usize, f64)| e.1 * rest_of(e.0);
                weigh(x).total_cmp(&weigh(y))
            });
            if let Some((a, _)) = heaviest.filter(|e| rest_of(e.0) > 0.0) {
                let axis = self.add_axis(scaled, node, a);
                let (right, up, left) = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0));
                // In one dimension there are two directions.
                let [x, y] = if node.depth + 1 == p {
                    [right, left]
                } else {
                    [up, up]
                };
                let arcs = [Arc { from: right, to: x }, Arc { from: y, to: left }];
                return Some(arcs.map(|arc| (arc, Part::Axis(axis))));
            }
        }
        match part {
            Some(l) => {
                let arcs = levels[l].arc.split(views[l])?;
                Some(arcs.map(|arc| (arc, Part::Level(l))))
            }
            None => halve(),
        }
    }

    /// The unit vector along what the levels of a node leave of action a.
    fn add_axis(&mut self, scaled: &ScaledProblem, node: &Node, a: usize) -> usize {
        let (p, width, axis) = (scaled.dimension, scaled.reward.len(), self.count);
        self.count += 1;
        self.axes.resize(self.count * p, 0.0);
        self.products.resize(self.count * width, 0.0);
        let (before, h) = self.axes.split_at_mut(axis * p);
        let h = &mut h[..p];
        for (j, h) in h.iter_mut().enumerate() {
            *h = scaled.z(j, a);
        }
        // Twice, so that rounding leaves nothing of the levels.
        for _ in 0..2 {
            for level in &node.levels[..node.depth] {
                let other = &before[level.axis * p..][..p];
                let inner: f64 = other.iter().zip(&*h).map(|(x, y)| x * y).sum();
                h.iter_mut().zip(other).for_each(|(h, x)| *h -= inner * x);
            }
            let norm = h.iter().map(|h| h * h).sum::<f64>().sqrt();
            h.iter_mut().for_each(|h| *h /= norm);
        }
        for (mean, h) in self.mean.iter_mut().zip(&*h) {
            *mean = -h;
        }
        let out = &mut self.products[axis * width..][..width];
        passes::form(&scaled.z, &self.mean, (0.0, 0.0), &scaled.along, out);
        axis
    }

    /// Steps uphill from the best policy: the objective is at least its linearisation.
    fn climb(&mut self, context: &mut BranchContext<'_, '_, '_>) {
        let (scaled, search) = (&*context.scaled, &mut *context.search);
        if self.climbs >= CLIMBS {
            return;
        }
        self.climbs += 1;
        for _ in 0..STEPS {
            let (before, best) = (search.best.value, &search.best);
            let square: f64 = best.mean.iter().map(|z| z * z).sum();
            let factor = scaled.rho / (best.along * best.along + square).sqrt();
            if !factor.is_finite() {
                return;
            }
            for (to, z) in self.mean.iter_mut().zip(&best.mean) {
                *to = -factor * z;
            }
            let base = (1.0, 0.0);
            passes::form(&scaled.z, &self.mean, base, &scaled.reward, &mut self.c);
            passes::add(&mut self.c, factor * best.along, &scaled.along);
            let top = passes::top(&self.c);
            let enough = (f64::NEG_INFINITY, 0.1 * search.tolerance());
            let work = context.linear.work;
            let (linear, q) = (&mut *context.linear, &mut self.q);
            linear.maximise_with(scaled, &self.c, 0.0, top, q, enough);
            context.budget.spend(linear.work - work);
            let found = linear
                .iter()
                .filter(|column| !scaled.is_left_over(column.0));
            search.offer(context.problem, found);
            if !(search.best.value > before + 0.25 * search.tolerance()) {
                return;
            }
        }
    }
}

/// The best mixture of the safe action and another that meets every guardrail.
pub(super) fn best_ray(problem: &ConeProblem<'_>, scaled: &ScaledProblem) -> [(usize, f64); 2] {
    let safe = problem.safe;
    let (mut most, mut best) = (f64::NEG_INFINITY, [(safe, 1.0), (safe, 0.0)]);
    for a in 0..scaled.actions {
        let mut share = 1.0_f64;
        for (i, row) in problem.costs.iter().enumerate() {
            let norm = problem.cost_radii[i] * scaled.unit * scaled.norms[a];
            let margin = problem.thresholds[i] - row[safe];
            share = share.min(margin / (row[a] + norm - row[safe]).max(margin));
        }
        let mix = |row: &[f64]| row[safe] + share * (row[a] - row[safe]);
        let y = (mix(&scaled.along), share * scaled.norms[a]);
        let value = mix(&scaled.reward) + scaled.rho * length(y);
        if value > most {
            (most, best) = (value, [(safe, 1.0 - share), (a, share)]);
        }
    }
    best
}

fn length(v: Vector) -> f64 {
    (v.0 * v.0 + v.1 * v.1).sqrt()
}

fn cross(v: Vector, w: Vector) -> f64 {
    v.0 * w.1 - v.1 * w.0
}

fn unit(v: Vector) -> Option<Vector> {
    let norm = length(v);
    (norm > 0.0).then(|| (v.0 / norm, v.1 / norm))
}
