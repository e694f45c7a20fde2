//! One guardrail: the upper concave envelope of the points (u_a, V_a), read at τ.
//!
//! The dual is min over λ ≥ 0 of max_a V_a + λ(τ − u_a), a convex piecewise linear function of one
//! number. We keep one action on each side of τ, take the slope λ of their chord, and look for the
//! action furthest above it (one pass); it replaces the action on its side. When none is above, the
//! pair is optimal and λ is the shadow price. Each pass lowers the dual strictly, so the method is
//! finite; from a good start it takes one or two passes.
//!
//! Reference: math of the policy LP; the paper's Lemma on the support of π* (its mixture weights
//! are swapped in the proof).

use super::problem::Lp;
use super::scan::{best_within, has_twin, line_position, line_top};
use super::solution::{Solution, Status};

/// Passes after which we stop and report the gap honestly. Rounding only: the method is finite.
const MAX_PASSES: usize = 200;

/// From this many actions on, a cold start first solves a sample of them.
const SAMPLE_FROM: usize = 256;
const SAMPLE: usize = 64;

/// The pair solver, remembering where it stopped.
#[derive(Debug, Clone, Default)]
pub(crate) struct Envelope {
    warm: Option<Chord>,
    /// True if more actions than the chord's ends lay on its line: some may be identical.
    crowded: bool,
    sample_v: Vec<f64>,
    sample_u: Vec<f64>,
}

/// An action within τ, and one beyond it that earns more: the same action twice if none is needed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Chord {
    pub lo: usize,
    pub hi: usize,
}

/// A solved chord: its slope and the largest V_a − λ u_a over all actions.
pub(crate) struct Solved {
    pub chord: Chord,
    pub slope: f64,
    pub top: f64,
    pub passes: usize,
    pub status: Status,
    /// True if more actions than the chord's ends lie on its line: some may be identical.
    pub crowded: bool,
}

impl Envelope {
    #[inline]
    pub(crate) fn solve(&mut self, lp: &Lp<'_>, start: Option<usize>, out: &mut Solution) {
        let (v, tau) = (lp.reward, lp.thresholds[0]);
        let u = &lp.costs[0][..v.len()];
        let from = match self.warm.and_then(|chord| revive(chord, v, u, tau)) {
            Some(chord) => chord,
            None => match self.cold(v, u, tau, start) {
                Some(chord) => chord,
                None => {
                    self.crowded = false;
                    return out.set_infeasible(1);
                }
            },
        };
        let solved = climb(v, u, tau, from);
        self.warm = Some(solved.chord);
        self.crowded = solved.crowded;
        publish(v, u, tau, &solved, out);
    }

    /// Shares the mass of the policy just found with actions identical to those it is on.
    #[inline]
    pub(crate) fn share(&self, lp: &Lp<'_>, out: &mut Solution) {
        if let (true, Some(Chord { lo, hi })) = (self.crowded, self.warm) {
            let u = &lp.costs[0][..lp.reward.len()];
            out.share(lp, lo, has_twin(lp.reward, u, lo, hi));
        }
    }

    /// A starting chord: the most rewarding action on each side of τ, or the best chord of a sample
    /// when there are many actions.
    #[cold]
    #[inline(never)]
    fn cold(&mut self, v: &[f64], u: &[f64], tau: f64, start: Option<usize>) -> Option<Chord> {
        if v.len() < SAMPLE_FROM {
            return best_chord(v, u, tau);
        }
        let start = start.filter(|&a| a < v.len() && u[a] <= tau);
        let lo = match start {
            Some(a) => a,
            None => best_within(v, u, tau)?,
        };
        let stride = v.len() / SAMPLE;
        self.sample_v.clear();
        self.sample_u.clear();
        self.sample_v.push(v[lo]);
        self.sample_u.push(u[lo]);
        self.sample_v.extend(v.iter().step_by(stride));
        self.sample_u.extend(u.iter().step_by(stride));
        let inner = climb(&self.sample_v, &self.sample_u, tau, Chord::at(0)).chord;
        let outer = |s: usize| if s == 0 { lo } else { (s - 1) * stride };
        Some(Chord {
            lo: outer(inner.lo),
            hi: outer(inner.hi),
        })
    }

    pub(crate) fn basis(&self) -> Vec<usize> {
        Chord::to_basis(self.warm)
    }

    pub(crate) fn set_basis(&mut self, basis: &[usize]) {
        self.warm = Chord::from_basis(basis);
    }
}

impl Chord {
    /// One action, which needs no other.
    #[inline]
    pub(crate) fn at(action: usize) -> Self {
        Self {
            lo: action,
            hi: action,
        }
    }

    #[inline]
    pub(crate) fn is_point(self) -> bool {
        self.lo == self.hi
    }

    pub(crate) fn to_basis(chord: Option<Self>) -> Vec<usize> {
        match chord {
            None => vec![],
            Some(chord) if chord.is_point() => vec![chord.lo],
            Some(chord) => vec![chord.lo, chord.hi],
        }
    }

    pub(crate) fn from_basis(basis: &[usize]) -> Option<Self> {
        match *basis {
            [] => None,
            [lo] => Some(Self::at(lo)),
            [lo, hi, ..] => Some(Self { lo, hi }),
        }
    }
}

/// The actions with the largest V within τ and beyond it, if any is within.
#[inline]
fn best_chord(v: &[f64], u: &[f64], tau: f64) -> Option<Chord> {
    let u = &u[..v.len()];
    let (mut v_lo, mut lo) = (f64::NEG_INFINITY, usize::MAX);
    let (mut v_hi, mut hi) = (f64::NEG_INFINITY, usize::MAX);
    for a in 0..v.len() {
        // Selections rather than branches: the costs of a cold start follow no pattern.
        let x = v[a];
        let near = if u[a] > tau { f64::NEG_INFINITY } else { x };
        let far = if u[a] > tau { x } else { f64::NEG_INFINITY };
        lo = if near > v_lo { a } else { lo };
        hi = if far > v_hi { a } else { hi };
        v_lo = if near > v_lo { near } else { v_lo };
        v_hi = if far > v_hi { far } else { v_hi };
    }
    if lo == usize::MAX {
        None
    } else if v_hi > v_lo {
        Some(Chord { lo, hi })
    } else {
        Some(Chord::at(lo))
    }
}

/// A remembered chord, if it still has one end on each side of τ and rises.
#[inline]
pub(crate) fn revive(chord: Chord, v: &[f64], u: &[f64], tau: f64) -> Option<Chord> {
    let u = &u[..v.len()];
    let Chord { lo, hi } = chord;
    if lo >= v.len() || u[lo] > tau {
        return None;
    }
    // A point fails the second test, as its far end is within τ.
    if hi < v.len() && u[hi] > tau && v[hi] > v[lo] {
        Some(chord)
    } else {
        Some(Chord::at(lo))
    }
}

/// Improves the chord until no action lies above it.
#[inline]
pub(crate) fn climb(v: &[f64], u: &[f64], tau: f64, from: Chord) -> Solved {
    let u = &u[..v.len()];
    let Chord { mut lo, mut hi } = from;
    let mut passes = 0;
    loop {
        passes += 1;
        let slope = if lo == hi {
            0.0
        } else {
            (v[hi] - v[lo]) / (u[hi] - u[lo])
        };
        // The two ends lie on the chord but for rounding.
        let (near, far) = (v[lo] - slope * u[lo], v[hi] - slope * u[hi]);
        let (level, floor) = if near > far { (near, far) } else { (far, near) };
        let (top, on_line) = line_top(v, u, slope, floor);
        let improves = top > level;
        if !improves || passes == MAX_PASSES {
            let status = if improves {
                Status::Budget
            } else {
                Status::Optimal
            };
            return Solved {
                chord: Chord { lo, hi },
                slope,
                top,
                passes,
                status,
                crowded: on_line > 1 + usize::from(lo != hi),
            };
        }
        let a = line_position(v, u, slope, top);
        let point = lo == hi;
        if u[a] > tau {
            hi = a;
        } else {
            lo = a;
            // A feasible action that earns as much as the dear one: start the far side afresh.
            if point || v[hi] <= v[lo] {
                hi = lo;
            }
        }
    }
}

/// Weights, value and certificate of a solved chord.
#[inline]
pub(crate) fn publish(v: &[f64], u: &[f64], tau: f64, solved: &Solved, out: &mut Solution) {
    let Chord { lo, hi } = solved.chord;
    let (v_lo, u_lo, v_hi, u_hi) = (v[lo], u[lo], v[hi], u[hi]);
    let mut beyond = 0.0;
    let mut retreats = 0;
    if lo != hi {
        beyond = (tau - u_lo) / (u_hi - u_lo);
        // Rounding may leave the sum a unit in the last place above τ. Where τ − u_lo is itself a few
        // units, that unit is a large part of `beyond`: steps double, so that 53 of them end at u_lo.
        let mut step = f64::EPSILON;
        while (1.0 - beyond) * u_lo + beyond * u_hi > tau && beyond > 0.0 {
            beyond *= 1.0 - step;
            step = (2.0 * step).min(1.0);
            retreats += 1;
        }
    }
    let within = 1.0 - beyond;
    out.status = solved.status;
    out.pivots = solved.passes;
    out.retreats = retreats;
    out.upper_bound = solved.top + solved.slope * tau;
    out.value = within * v_lo + beyond * v_hi;
    out.set_single(within * u_lo + beyond * u_hi, solved.slope);
    out.support.clear();
    if beyond > 0.0 && within > 0.0 {
        let pair = if lo < hi {
            [(lo, within), (hi, beyond)]
        } else {
            [(hi, beyond), (lo, within)]
        };
        out.support.extend_from_slice(&pair);
    } else {
        let only = if beyond > 0.0 { hi } else { lo };
        out.support.push((only, 1.0));
    }
}

/// No guardrail at all: the best action.
pub(crate) fn solve_free(lp: &Lp<'_>, out: &mut Solution) {
    out.clear(0);
    let (top, _) = line_top(lp.reward, lp.reward, 0.0, f64::INFINITY);
    let a = line_position(lp.reward, lp.reward, 0.0, top);
    out.support.push((a, 1.0));
    out.value = top;
    out.upper_bound = top;
    out.pivots = 1;
    out.share_ties(lp);
}
