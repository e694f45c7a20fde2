//! Pairs of an action within the guardrail with all those beyond it, ruled out in single precision.
//!
//! Along a pair (i, j) with i within and j beyond, f is convex and the guardrail is met up to some
//! weight of j. At any weight v with q(v) = ‖Zπ‖² − (u'π)² > 0 it is failed, so that the pair is at
//! most max(f_i, f(v)). Twice as many numbers a vector suffice to find such a v just beyond the
//! guardrail and to see that f(v) is below the target, by margins above what rounding may hide:
//! how v was found does not matter. What is left, usually nothing, is solved in double precision.

use super::passes;
use super::scaled::ScaledProblem;
use crate::lanes::wide;

/// Actions per block: as many bytes as a block of `passes.rs` at twice the numbers.
const LANES: usize = 32;
type Floats = [f32; LANES];

/// Half the distance from 1 to the next `f32`.
const ROUNDING: f64 = 6e-8;

/// The actions beyond the guardrail, in single precision, block by block.
#[derive(Debug, Clone, Default)]
pub(crate) struct Coarse {
    /// Indices of these actions.
    pub list: Vec<usize>,
    /// Rows of a block: (reward − `level`)/`size`, s, u, ‖Z‖² − u², and the coordinates of Z.
    numbers: Vec<f32>,
    anchor: Vec<f32>,
    /// Not zero where a pair is left.
    pub marks: Vec<f32>,
    level: f64,
    /// The unit of rewards, as squares of small numbers vanish.
    size: f64,
    /// Bound of |reward| + |level|, and every term of q and of (s'π)² + ‖Zπ‖².
    reward: f64,
    square: f64,
}

/// Rows before the coordinates of Z.
const ROWS: usize = 4;

/// One row's action, and the margins.
#[derive(Clone, Copy)]
pub(crate) struct Near {
    /// Reward less the target; what the others' rewards are to be lowered by.
    reward: f32,
    shift: f32,
    along: f32,
    u: f32,
    /// Depth ‖Z‖² − u² beyond the guardrail.
    depth: f32,
    /// ρ², raised by more than is lost in the squares.
    rho: f32,
    /// Bound of the rounding error of q and of the objective.
    hidden: f32,
    lost: f32,
}

impl Coarse {
    /// Makes room, so that no later round needs any.
    pub(crate) fn reserve(&mut self, scaled: &ScaledProblem) {
        let room = scaled.actions.div_ceil(LANES) * LANES;
        let more = |room: usize, has: usize| room.saturating_sub(has);
        self.list.reserve(more(room, self.list.len()));
        self.marks.reserve(more(room, self.marks.len()));
        let numbers = room * (ROWS + scaled.dimension);
        self.numbers.reserve(more(numbers, self.numbers.len()));
        let anchor = more(scaled.dimension, self.anchor.len());
        self.anchor.reserve(anchor);
    }

    /// Collects the actions beyond the guardrail.
    pub(crate) fn gather(&mut self, scaled: &ScaledProblem, level: f64) {
        let (k, p) = (scaled.actions, scaled.dimension);
        self.list.clear();
        self.list.extend((0..k).filter(|&a| !scaled.is_slack(a)));
        let (blocks, rows) = (self.list.len().div_ceil(LANES), ROWS + p);
        self.numbers.clear();
        self.numbers.resize(blocks * LANES * rows, 0.0);
        self.marks.clear();
        self.marks.resize(blocks * LANES, 0.0);
        self.anchor.clear();
        self.anchor.resize(p, 0.0);
        for (at, &a) in self.list.iter().enumerate() {
            let block = &mut self.numbers[at / LANES * LANES * rows..][at % LANES..];
            let curve = scaled.squares[a] - scaled.u[a] * scaled.u[a];
            let reward = (scaled.reward[a] - level) / scaled.size;
            let head = [reward, scaled.along[a], scaled.u[a], curve];
            for (r, x) in head.into_iter().enumerate() {
                block[r * LANES] = x as f32;
            }
            for j in 0..p {
                block[(ROWS + j) * LANES] = scaled.z(j, a) as f32;
            }
        }
        let most = |row: &[f64]| row[..k].iter().fold(0.0_f64, |x, y| x.max(y.abs()));
        let along = most(&scaled.along);
        self.level = level;
        self.size = scaled.size;
        self.reward = most(&scaled.reward) + level.abs();
        self.square = passes::top(&scaled.squares) + along * along + scaled.reach * scaled.reach;
    }

    /// Marks the partners of i, which is within the guardrail and at most `target` by itself, whose
    /// pair may be better than `target`; how many.
    pub(crate) fn screen(&mut self, scaled: &ScaledProblem, i: usize, target: f64) -> usize {
        for (j, x) in self.anchor.iter_mut().enumerate() {
            *x = scaled.z(j, i) as f32;
        }
        let terms = 2.0 * ROUNDING * (scaled.dimension + 32) as f64;
        let (shift, rho) = ((target - self.level) / self.size, scaled.rho / self.size);
        let lost = 64.0 * ROUNDING * (self.reward + target.abs()) / self.size;
        let near = Near {
            reward: ((scaled.reward[i] - target) / self.size) as f32,
            shift: shift as f32,
            along: scaled.along[i] as f32,
            u: scaled.u[i] as f32,
            depth: (scaled.squares[i] - scaled.u[i] * scaled.u[i]) as f32,
            rho: (rho * rho * (1.0 + 1e-5) + 1e-30) as f32,
            hidden: (terms * self.square) as f32,
            lost: lost as f32,
        };
        // The last block's padding counts for nothing.
        let left = screen(&near, &self.anchor, &self.numbers, &mut self.marks);
        let padding = &self.marks[self.list.len()..];
        left - padding.iter().filter(|&&mark| mark != 0.0).count()
    }
}

#[inline(always)]
fn floats(row: &[f32]) -> &[Floats] {
    row.as_chunks().0
}

wide! {
    /// Marks with 1 the pairs that may be better than the target, with 0 the others; counts them.
    pub(crate) fn screen(near: &Near, anchor: &[f32], numbers: &[f32], marks: &mut [f32]) -> usize {
        let i = *near;
        let mut count = 0;
        let blocks = floats(numbers).chunks_exact(ROWS + anchor.len());
        let (marks, _) = marks.as_chunks_mut::<LANES>();
        for (marks, block) in marks.iter_mut().zip(blocks) {
            let [reward, along, u, curve, z @ ..] = block else {
                return usize::MAX;
            };
            let mut product = [0.0_f32; LANES];
            for (row, &c) in z.iter().zip(anchor) {
                for k in 0..LANES {
                    product[k] += c * row[k];
                }
            }
            let mut left = [0_u32; LANES];
            for k in 0..LANES {
                // q(v) = c(1−v)² + 2xv(1−v) + dv², and v the first zero of q − 2·hidden: see `pair`.
                let x = product[k] - i.u * u[k];
                let high = 2.0 * i.hidden;
                let (low, cross, far) = (i.depth - high, x - high, curve[k] - high);
                let b = low - cross;
                let square = cross * cross - low * far;
                let root = if square > 0.0 { square.sqrt() } else { 0.0 };
                let (top, bottom) = if b > 0.0 {
                    (b + root, b + (far - cross))
                } else {
                    (low, b - root)
                };
                let v = top / bottom;
                let rest = 1.0 - v;
                let q = i.depth * (rest * rest) + 2.0 * x * (rest * v) + curve[k] * (v * v);
                let mixed = rest * i.u + v * u[k];
                let s = rest * i.along + v * along[k];
                let worth = rest * i.reward + v * (reward[k] - i.shift);
                let room = -worth - i.lost;
                let most = i.rho * (s * s + mixed * mixed + q + i.hidden);
                // Whatever is not a number is left.
                let within = (v >= 0.0) & (rest >= 0.0) & (q >= i.hidden);
                let out = within & (room >= 0.0) & (most <= room * room) & (most < f32::INFINITY);
                marks[k] = if out { 0.0 } else { 1.0 };
                left[k] = u32::from(!out);
            }
            count += left.iter().sum::<u32>() as usize;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::super::pair_passes::pair;
    use super::super::problem::ConeProblem;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_better_pair_is_ruled_out(
            z in prop::collection::vec(prop_oneof![-1.0..1.0, Just(0.0), Just(0.5)], 140),
            rows in prop::collection::vec((-1.0..1.0, -1.0..1.0, prop_oneof![0.0..1.0, Just(0.5)]), 70),
            (rho, kappa, share) in (0.0..3.0, 0.01..1.0, 0.0..1.0),
            scale in prop_oneof![Just(1.0), Just(1e-25), Just(1e25)],
            unit in prop_oneof![Just(1.0), Just(1e-12), Just(1e12)],
        ) {
            let mut across: Vec<f64> = z.iter().map(|z| z * unit).collect();
            (across[0], across[70]) = (0.0, 0.0);
            let reward: Vec<f64> = rows.iter().map(|r| r.0 * scale).collect();
            let along: Vec<f64> = rows.iter().map(|r| r.1 * unit).collect();
            let mut costs = vec![rows.iter().map(|r| r.2).collect::<Vec<f64>>()];
            costs[0][0] = 0.2;
            let problem = ConeProblem {
                reward: &reward,
                reward_radius: rho * scale / unit,
                along: &along,
                across: &across,
                stride: 70,
                dimension: 2,
                costs: &costs,
                cost_radii: &[kappa / unit],
                thresholds: &[0.5],
                safe: 0,
            };
            let mut scaled = ScaledProblem::default();
            scaled.load(&problem);
            prop_assert!(scaled.guard(&problem));
            let within: Vec<usize> = (0..70).filter(|&a| scaled.is_slack(a)).collect();
            let least = within.iter().map(|&a| scaled.value[a]).fold(f64::NEG_INFINITY, f64::max);
            let target = least + share * (passes::top(&scaled.value) - least);
            let mut coarse = Coarse::default();
            coarse.gather(&scaled, least);
            for &i in &within {
                let left = coarse.screen(&scaled, i, target);
                prop_assert_eq!(left, (0..coarse.list.len()).filter(|&n| coarse.marks[n] != 0.0).count());
                for (&j, &mark) in coarse.list.iter().zip(&coarse.marks) {
                    let gram = (0..2).map(|c| scaled.z(c, i) * scaled.z(c, j)).sum();
                    let (f, _) = pair::<true>(&scaled.end(i), &scaled.end(j), gram, scaled.rho);
                    let better = f > target + 1e-12 * scaled.size;
                    prop_assert!(mark != 0.0 || !better, "ruled out {i} {j}: {f} {target}");
                }
            }
        }
    }
}
