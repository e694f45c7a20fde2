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

use crate::scan::{best_within, has_twin, line_argmax};
use crate::solution::{Lp, Solution, Status};

/// Passes after which we stop and report the gap honestly. Rounding only: the method is finite.
const MAX_PASSES: usize = 200;

/// From this many actions on, a cold start first solves a sample of them.
const SAMPLE_FROM: usize = 256;
const SAMPLE: usize = 64;

/// The pair solver, remembering where it stopped.
#[derive(Debug, Clone, Default)]
pub(crate) struct Envelope {
    warm: Option<Chord>,
    sample_v: Vec<f64>,
    sample_u: Vec<f64>,
}

/// An action within τ, and one beyond it that earns more, if any is needed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Chord {
    pub lo: usize,
    pub hi: Option<usize>,
}

/// A solved chord: its slope and the largest V_a − λ u_a over all actions.
pub(crate) struct Solved {
    pub chord: Chord,
    pub slope: f64,
    pub top: f64,
    pub passes: usize,
    pub status: Status,
}

impl Envelope {
    #[inline]
    pub(crate) fn solve(&mut self, lp: &Lp<'_>, start: Option<usize>, out: &mut Solution) {
        let (v, tau) = (lp.reward, lp.thresholds[0]);
        let u = &lp.costs[0][..v.len()];
        out.clear(1);
        let from = match self.warm.and_then(|chord| revive(chord, v, u, tau)) {
            Some(chord) => chord,
            None => match self.cold(v, u, tau, start) {
                Some(chord) => chord,
                None => return out.set_infeasible(),
            },
        };
        let solved = climb(v, u, tau, from);
        let Chord { lo, hi } = solved.chord;
        self.warm = Some(solved.chord);
        publish(v, u, tau, &solved, out);
        let far = hi.unwrap_or(lo);
        if has_twin(v, u, lo, far) {
            out.share_ties(lp);
            out.retreat(lp, lo);
        }
    }

    /// A starting chord: the best of a sample when there are many actions.
    fn cold(&mut self, v: &[f64], u: &[f64], tau: f64, start: Option<usize>) -> Option<Chord> {
        let start = start.filter(|&a| a < v.len() && u[a] <= tau);
        let lo = match start {
            Some(a) => a,
            None => best_within(v, u, tau)?,
        };
        if v.len() < SAMPLE_FROM {
            return Some(Chord { lo, hi: None });
        }
        let stride = v.len() / SAMPLE;
        self.sample_v.clear();
        self.sample_u.clear();
        self.sample_v.push(v[lo]);
        self.sample_u.push(u[lo]);
        self.sample_v.extend(v.iter().step_by(stride));
        self.sample_u.extend(u.iter().step_by(stride));
        let inner = climb(
            &self.sample_v,
            &self.sample_u,
            tau,
            Chord { lo: 0, hi: None },
        )
        .chord;
        let outer = |s: usize| if s == 0 { lo } else { (s - 1) * stride };
        Some(Chord {
            lo: outer(inner.lo),
            hi: inner.hi.map(outer),
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
    pub(crate) fn to_basis(chord: Option<Self>) -> Vec<usize> {
        chord
            .map(|c| std::iter::once(c.lo).chain(c.hi).collect())
            .unwrap_or_default()
    }

    pub(crate) fn from_basis(basis: &[usize]) -> Option<Self> {
        basis.first().map(|&lo| Self {
            lo,
            hi: basis.get(1).copied(),
        })
    }
}

/// A remembered chord, if it still has one end on each side of τ and rises.
#[inline]
pub(crate) fn revive(chord: Chord, v: &[f64], u: &[f64], tau: f64) -> Option<Chord> {
    let lo = chord.lo;
    if lo >= v.len() || u[lo] > tau {
        return None;
    }
    let hi = chord
        .hi
        .filter(|&hi| hi < v.len() && u[hi] > tau && v[hi] > v[lo]);
    Some(Chord { lo, hi })
}

/// Improves the chord until no action lies above it.
#[inline]
pub(crate) fn climb(v: &[f64], u: &[f64], tau: f64, from: Chord) -> Solved {
    let Chord { mut lo, mut hi } = from;
    let mut passes = 0;
    loop {
        passes += 1;
        let slope = match hi {
            Some(hi) => (v[hi] - v[lo]) / (u[hi] - u[lo]),
            None => 0.0,
        };
        let (a, top) = line_argmax(v, u, slope);
        let lo_level = v[lo] - slope * u[lo];
        let level = match hi {
            Some(hi) => lo_level.max(v[hi] - slope * u[hi]),
            None => lo_level,
        };
        let improves = top > level && a != lo && Some(a) != hi;
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
            };
        }
        if u[a] > tau {
            hi = Some(a);
        } else {
            lo = a;
            // A feasible action that earns as much as the dear one: start the far side afresh.
            hi = hi.filter(|&hi| v[hi] > v[lo]);
        }
    }
}

/// Weights, value and certificate of a solved chord.
#[inline]
pub(crate) fn publish(v: &[f64], u: &[f64], tau: f64, solved: &Solved, out: &mut Solution) {
    let lo = solved.chord.lo;
    out.status = solved.status;
    out.pivots = solved.passes;
    out.prices[0] = solved.slope;
    out.upper_bound = solved.top + solved.slope * tau;
    let mut beyond = 0.0;
    if let Some(hi) = solved.chord.hi {
        beyond = (tau - u[lo]) / (u[hi] - u[lo]);
        // Rounding may leave the sum a unit in the last place above τ: step back until it is not.
        while (1.0 - beyond) * u[lo] + beyond * u[hi] > tau && beyond > 0.0 {
            beyond *= 1.0 - f64::EPSILON;
            if beyond < f64::MIN_POSITIVE {
                beyond = 0.0;
            }
        }
    }
    match solved.chord.hi {
        Some(hi) if beyond > 0.0 => {
            let within = 1.0 - beyond;
            let (first, second) = if lo < hi {
                ((lo, within), (hi, beyond))
            } else {
                ((hi, beyond), (lo, within))
            };
            if within > 0.0 {
                out.support.push(first);
                out.support.push(second);
            } else {
                out.support.push((hi, 1.0));
            }
            out.value = within * v[lo] + beyond * v[hi];
            out.costs[0] = within * u[lo] + beyond * u[hi];
        }
        _ => {
            out.support.push((lo, 1.0));
            out.value = v[lo];
            out.costs[0] = u[lo];
        }
    }
}

/// No guardrail at all: the best action.
pub(crate) fn solve_free(lp: &Lp<'_>, out: &mut Solution) {
    out.clear(0);
    let (a, top) = line_argmax(lp.reward, lp.reward, 0.0);
    out.support.push((a, 1.0));
    out.value = top;
    out.upper_bound = top;
    out.pivots = 1;
    out.share_ties(lp);
}
