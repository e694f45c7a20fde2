//! The sweep of angles: (C) of the theorem, a maximiser of C_φ = a + ρ(cos φ·s + sin φ·u).
//!
//! Directions (cos φ, sin φ) are kept as unit vectors e, and an arc is halved by normalising the
//! sum of its ends: no trigonometry, so the same bits everywhere. H(e), the best of C over the
//! cone, is convex in e, so on an arc it is at most the largest of three corners: the ends and
//! ℓ = (e₁+e₂)/(1+cos(arc)). At ℓ no problem is solved: the mean of the ends' proofs q₁ and q₂ is a
//! proof too, and the bound it gives is above the mean of H(e₁) and H(e₂) only by the square of
//! the arc.
//!
//! A direction whose best action meets the guardrail by itself holds no (C) point that is not
//! found among pairs (the guardrail has no price there beyond that of t). Let N be the best of C
//! among the other actions. If some mixture of two such best actions is at least N at all three
//! corners, it is so on the whole arc, as N is convex and the mixture linear: the arc is left to
//! the pairs. Every other arc is closed by a bound that holds for pairs as well.

use super::linear::Linear;
use super::passes;
use super::problem::ConeProblem;
use super::scaled::ScaledProblem;
use super::search::{Search, WorkBudget};

/// Halvings of an arc after which rounding decides.
const MAX_DEPTH: u32 = 44;
/// Directions after which the gap is reported as it is: realistic rounds need a few dozen.
const MAX_NODES: u64 = 2000;

/// Halvings spent on excluding pairs.
const FINE: u32 = 8;

/// A direction with the linear problem solved there.
#[derive(Debug, Clone, Copy)]
struct Node {
    e: (f64, f64),
    bound: f64,
    vertex: Option<usize>,
    /// Best of C among the actions that do not meet the guardrail.
    others: f64,
    /// Index of its proof.
    row: usize,
}

#[derive(Debug, Clone, Copy)]
struct Arc {
    from: Node,
    to: Node,
    depth: u32,
}

/// The sweep and its workspace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sweep {
    arcs: Vec<Arc>,
    /// Proofs, `width` numbers each.
    proofs: Vec<f64>,
    /// Number of open arcs that refer to each proof.
    users: Vec<u32>,
    width: usize,
    /// C at the direction at hand.
    c: Vec<f64>,
    /// 0 for actions that do not meet the guardrail, −∞ for those that do.
    mask: Vec<f64>,
    /// The largest C_a in any direction left to pairs, −∞ if there is none: such a pair has
    /// f(π) ≤ Σ_a π_a C_a.
    pub exposed: Vec<f64>,
}

/// The problem and the state that a visit of a direction works on.
pub(crate) struct SweepContext<'s, 'a, 'l> {
    pub problem: &'s ConeProblem<'s>,
    pub scaled: &'s ScaledProblem,
    pub linear: &'s mut Linear,
    pub search: &'s mut Search,
    pub budget: &'s mut WorkBudget<'a, 'l>,
}

impl Sweep {
    /// Sweeps every direction that a (C) point can have.
    pub(crate) fn run(&mut self, context: &mut SweepContext<'_, '_, '_>) {
        self.prepare(context.scaled);
        let mut last = None;
        for e in directions(context.scaled).into_iter().flatten() {
            let to = self.solve(context, e);
            let from = last.replace(to).unwrap_or(to);
            self.open(from, to, 0);
        }
        while let Some(arc) = self.arcs.pop() {
            self.visit(context, arc);
            self.users[arc.from.row] -= 1;
            self.users[arc.to.row] -= 1;
        }
    }

    fn prepare(&mut self, scaled: &ScaledProblem) {
        let width = scaled.reward.len();
        if self.width != width {
            self.width = width;
            self.proofs.clear();
        }
        // One direction per halving is open at a time; reserved so that no later round grows them.
        let most = MAX_DEPTH as usize + 8;
        self.proofs
            .reserve((most * width).saturating_sub(self.proofs.len()));
        self.users.clear();
        self.users.resize(most, 0);
        self.arcs.clear();
        self.arcs.reserve(most);
        self.c.resize(width, 0.0);
        self.exposed.clear();
        self.exposed.resize(width, f64::NEG_INFINITY);
        self.mask.clear();
        let hide = |&slack: &f64| if slack >= 0.0 { f64::NEG_INFINITY } else { 0.0 };
        self.mask.extend(scaled.slack.iter().map(hide));
    }

    fn open(&mut self, from: Node, to: Node, depth: u32) {
        self.users[from.row] += 1;
        self.users[to.row] += 1;
        self.arcs.push(Arc { from, to, depth });
    }

    /// Solves the linear problem in direction e.
    fn solve(&mut self, context: &mut SweepContext<'_, '_, '_>, e: (f64, f64)) -> Node {
        let (scaled, search) = (context.scaled, &mut *context.search);
        let row = self.users.iter().position(|&n| n == 0).unwrap_or(0);
        if self.proofs.len() < (row + 1) * self.width {
            self.proofs.resize((row + 1) * self.width, 0.0);
        }
        let q = &mut self.proofs[row * self.width..(row + 1) * self.width];
        let at = (scaled.rho * e.0, scaled.rho * e.1);
        let top = passes::corner(&scaled.reward, &scaled.along, &scaled.u, at, &mut self.c);
        let before = context.linear.work;
        let enough = (
            search.target(),
            (0.05 * search.tolerance()).max(1e-12 * scaled.size),
        );
        let outcome = context.linear.maximise(scaled, &self.c, top, q, enough);
        search.nodes += 1;
        context
            .budget
            .spend(context.linear.work - before + 4 * scaled.actions as u64);
        let mut others = f64::NEG_INFINITY;
        if outcome.vertex.is_some() {
            others = passes::top_of_sum(&self.c, &self.mask);
        } else {
            search.offer(context.problem, context.linear.iter());
        }
        Node {
            e,
            bound: outcome.bound,
            vertex: outcome.vertex,
            others,
            row,
        }
    }

    /// Sets an arc aside or halves it.
    fn visit(&mut self, context: &mut SweepContext<'_, '_, '_>, arc: Arc) {
        let Arc { from, to, depth } = arc;
        let scaled = context.scaled;
        let sum = (from.e.0 + to.e.0, from.e.1 + to.e.1);
        let stretch = 1.0 + (from.e.0 * to.e.0 + from.e.1 * to.e.1);
        let tip = (sum.0 / stretch, sum.1 / stretch);
        let at = (scaled.rho * tip.0, scaled.rho * tip.1);
        let rows = (&scaled.reward[..], &scaled.along[..], &scaled.u[..]);
        let proof = |row: usize| &self.proofs[row * self.width..(row + 1) * self.width];
        let at_tip = passes::shared_top(rows, at, proof(from.row), proof(to.row));
        let bound = from.bound.max(to.bound).max(at_tip);
        let over = context.budget.spend(3 * scaled.actions as u64);
        if bound <= context.search.target() {
            return context.search.dismiss(bound);
        }
        if let (Some(a), Some(b)) = (from.vertex, to.vertex) {
            let others = passes::shared_top(rows, at, &self.mask, &self.mask);
            let c = |v: usize, e: (f64, f64)| {
                scaled.reward[v] + scaled.rho * (e.0 * scaled.along[v] + e.1 * scaled.u[v])
            };
            let corners = [(from.e, from.others), (to.e, to.others), (tip, others)];
            let covers = |share: f64| {
                let mixed = |e| (1.0 - share) * c(a, e) + share * c(b, e);
                corners.iter().all(|&(e, others)| mixed(e) >= others)
            };
            if covers(0.0) || covers(1.0) || covers(0.5) {
                let ends = from.others.max(to.others);
                let target = context.search.target();
                // Worth a few halvings if only the tip makes other actions look good.
                if depth >= FINE || others <= target || ends > target {
                    for e in [from.e, to.e, tip] {
                        let at = (scaled.rho * e.0, scaled.rho * e.1);
                        passes::raise(rows, at, &mut self.exposed);
                    }
                    return;
                }
            }
        }
        let length = (sum.0 * sum.0 + sum.1 * sum.1).sqrt();
        let spent = context.search.nodes >= MAX_NODES;
        if over || spent || depth >= MAX_DEPTH || !(length > 0.0) {
            return context.search.dismiss(bound);
        }
        let middle = self.solve(context, (sum.0 / length, sum.1 / length));
        self.open(from, middle, depth + 1);
        self.open(middle, to, depth + 1);
    }
}

/// The ends of the arcs to sweep: (s'π, ‖Zπ‖) of a policy that uses up the guardrail is a mixture
/// of points (s_a, t) with t ≤ ‖Z_a‖, and of the points (s_a, u_a).
pub(super) fn directions(scaled: &ScaledProblem) -> [Option<(f64, f64)>; 3] {
    let along = &scaled.along[..scaled.actions];
    let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
    for &s in along {
        least = least.min(s);
        most = most.max(s);
    }
    // Without s one direction, and without ρ all are the same.
    if least == 0.0 && most == 0.0 || scaled.rho == 0.0 {
        return [Some((0.0, 1.0)), None, None];
    }
    if least < 0.0 && most > 0.0 {
        return [Some((1.0, 0.0)), Some((0.0, 1.0)), Some((-1.0, 0.0))];
    }
    let sign = if most > 0.0 { 1.0 } else { -1.0 };
    let (mut by_norm, mut by_use) = (0.0_f64, 0.0_f64);
    for (a, s) in along.iter().enumerate() {
        let ratio = |t: f64| if t > 0.0 { t / s.abs() } else { 0.0 };
        by_norm = by_norm.max(ratio(scaled.norms[a]));
        by_use = by_use.max(ratio(scaled.u[a]));
    }
    let steepest = by_norm.min(by_use) * (1.0 + 1e-12);
    let end = if steepest.is_finite() {
        let length = (1.0 + steepest * steepest).sqrt();
        (sign / length, steepest / length)
    } else {
        (0.0, 1.0)
    };
    if !(end.0.is_finite() && end.1.is_finite()) {
        return [Some((sign, 0.0)), Some((0.0, 1.0)), None];
    }
    // Without Z there is no arc between them.
    let other = (end != (sign, 0.0)).then_some(end);
    [Some((sign, 0.0)), other, None]
}
