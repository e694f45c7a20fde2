//! Actions inside the hull of others, where there are two coordinates only (s and one of Z).
//!
//! If a and u are linear in the coordinates, as they are for an agent, every mixture with an action
//! inside the hull is a mixture of others too, and no pair needs it. The hull is taken from within:
//! a polygon of the actions that reach furthest in sixteen directions. No sorting, and whatever is
//! left out is inside by a test of its own.
//!
//! Gain, on the rounds of `benches/cone.rs` with d = 2: a solve with K = 1000 takes 160 µs instead of
//! 470 µs (2.9 times; with two guardrails 1.6 times); at K = 100 it costs 10% (16.5 µs instead of 15).

use super::scaled::ScaledProblem;

/// Directions whose furthest actions make the polygon: tangents of half the angle, so that all are
/// exact to the bit everywhere.
const TANGENTS: [f64; 4] = [0.0, 0.2, 0.42, 0.67];
const CORNERS: usize = 16;
/// Error allowed to a fit or a side of the polygon, in units of the numbers' size.
const CLOSE: f64 = 1e-14;

/// Clears `keep` for actions inside the hull of others, and returns the largest loss of the objective,
/// or `None` if all stay.
pub(crate) fn thin(scaled: &ScaledProblem, keep: &mut [bool]) -> Option<f64> {
    let k = scaled.actions;
    if scaled.dimension != 1 || k <= CORNERS {
        return None;
    }
    let point = |a: usize| (scaled.along[a], scaled.z(0, a));
    let corners = corners(k, point);
    let most = |row: &[f64]| row[..k].iter().fold(0.0_f64, |x, y| x.max(y.abs()));
    let (reward, length) = (
        most(&scaled.reward),
        most(&scaled.along) + most(&scaled.norms),
    );
    let close = CLOSE * length;
    let rewards = misfit(k, point, &scaled.reward, &corners, close);
    let uses = misfit(k, point, &scaled.u, &corners, close);
    let worth = 2.0 * (reward + scaled.rho * length);
    // An action replaced moves f by the first, and the guardrail by the second, which some of the
    // safe action makes good. Corners may be sharp: ten times the distance from a side.
    let first = rewards + 10.0 * close * scaled.rho;
    let share = (uses + 10.0 * close) / scaled.u[scaled.safe];
    let loss = first + share * worth;
    for a in 0..k {
        let p = point(a);
        let sides = (0..CORNERS).all(|c| {
            let (from, to) = (point(corners[c]), point(corners[(c + 1) % CORNERS]));
            let (dx, dy) = (to.0 - from.0, to.1 - from.1);
            let side = dx * (p.1 - from.1) - dy * (p.0 - from.0);
            side >= -close * (dx.abs() + dy.abs())
        });
        keep[a] = !sides || corners.contains(&a);
    }
    loss.is_finite().then_some(loss)
}

/// The actions that reach furthest, counter-clockwise.
fn corners(k: usize, point: impl Fn(usize) -> (f64, f64)) -> [usize; CORNERS] {
    let mut corners = [0; CORNERS];
    for (c, corner) in corners.iter_mut().enumerate() {
        let t = TANGENTS[c % 4];
        let (x, y) = (1.0 - t * t, 2.0 * t);
        let (x, y) = match c / 4 {
            0 => (x, y),
            1 => (-y, x),
            2 => (-x, -y),
            _ => (y, -x),
        };
        let mut best = f64::NEG_INFINITY;
        for a in 0..k {
            let p = point(a);
            let reach = p.0 * x + p.1 * y;
            if reach > best {
                (best, *corner) = (reach, a);
            }
        }
    }
    corners
}

/// Largest error of a mixture's number if an action is replaced by others at the same point, give
/// or take ten times `close`: the numbers are compared with a plane through three of them.
fn misfit(
    k: usize,
    point: impl Fn(usize) -> (f64, f64),
    row: &[f64],
    corners: &[usize; CORNERS],
    close: f64,
) -> f64 {
    let base = corners[0];
    let from = |a: usize| {
        let (p, q) = (point(a), point(base));
        (p.0 - q.0, p.1 - q.1, row[a] - row[base])
    };
    let mut far = (0.0, 0.0, 0.0);
    for &c in corners {
        let p = from(c);
        if p.0 * p.0 + p.1 * p.1 > far.0 * far.0 + far.1 * far.1 {
            far = p;
        }
    }
    let length = (far.0 * far.0 + far.1 * far.1).sqrt();
    let (x, y) = (far.0 / length, far.1 / length);
    let aside = |p: (f64, f64, f64)| y * p.0 - x * p.1;
    let along = |p: (f64, f64, f64)| x * p.0 + y * p.1;
    let slope = far.2 / length;
    let mut wide = (0.0, 0.0, 0.0);
    for &c in corners {
        let p = from(c);
        if aside(p).abs() > aside(wide).abs() {
            wide = p;
        }
    }
    // All on one line but for rounding: one slope.
    let tilt = if aside(wide).abs() > 1e3 * close {
        (wide.2 - slope * along(wide)) / aside(wide)
    } else {
        0.0
    };
    let off = |a: usize| {
        let p = from(a);
        (p.2 - slope * along(p) - tilt * aside(p)).abs()
    };
    // `max` would drop what is not a number.
    let worst = (0..k).fold(0.0, |x: f64, a| if off(a) <= x { x } else { off(a) });
    2.0 * worst + 10.0 * close * (slope.abs() + tilt.abs())
}

#[cfg(test)]
mod tests {
    use super::super::problem::ConeProblem;
    use super::*;
    use proptest::prelude::*;

    /// Runs `thin` on actions at these points: the actions kept, and the loss.
    fn kept(points: &[(f64, f64)], bend: f64) -> (Vec<bool>, Option<f64>) {
        let k = points.len();
        let along: Vec<f64> = points.iter().map(|p| p.0).collect();
        let mut across: Vec<f64> = points.iter().map(|p| p.1).collect();
        across[0] = 0.0;
        let at = |a: usize| (along[a], across[a]);
        let reward = |a: usize| 0.3 * at(a).0 - 0.7 * at(a).1 + bend * at(a).0 * at(a).1;
        let cost = |a: usize| 0.1 * (at(a).0 - at(0).0) + 0.4 * at(a).1;
        let problem = ConeProblem {
            reward: &(0..k).map(reward).collect::<Vec<_>>(),
            reward_radius: 2.0,
            along: &along,
            across: &across,
            stride: k,
            dimension: 1,
            costs: &[(0..k).map(cost).collect()],
            cost_radii: &[0.3],
            thresholds: &[0.2],
            safe: 0,
        };
        let mut scaled = ScaledProblem::default();
        scaled.load(&problem);
        assert!(scaled.guard(&problem));
        let mut keep = vec![true; k];
        let loss = thin(&scaled, &mut keep);
        (keep, loss)
    }

    proptest! {
        #[test]
        fn what_is_left_out_is_inside_what_is_kept(
            points in prop::collection::vec((-1.0..1.0_f64, prop_oneof![-1.0..1.0, Just(0.5)]), 40),
            line in any::<bool>(),
        ) {
            let flat = |p: &(f64, f64)| if line { (1.0 + 0.3 * p.0, p.0) } else { *p };
            let mut points: Vec<(f64, f64)> = points.iter().map(flat).collect();
            points[0] = (1.0, 0.0);
            let (keep, loss) = kept(&points, 0.0);
            prop_assert!(loss.is_some_and(|loss| loss < 1e-9), "{loss:?}");
            prop_assert!(!line || keep.iter().filter(|&&k| k).count() <= 4, "{keep:?}");
            for turn in 0..360 {
                let (y, x) = f64::from(turn).to_radians().sin_cos();
                let reach = |a: &usize| points[*a].0 * x + points[*a].1 * y;
                let furthest = |some: &dyn Fn(usize) -> bool| {
                    (0..40).filter(|&a| some(a)).map(|a| reach(&a)).fold(f64::NEG_INFINITY, f64::max)
                };
                prop_assert!(furthest(&|a| keep[a]) >= furthest(&|_| true) - 1e-12);
            }
        }
    }

    #[test]
    fn rewards_that_are_not_linear_cost_more_than_anyone_allows() {
        let turn = |a: u32| {
            (
                1.0 + f64::from(a * 7 % 11) / 11.0,
                f64::from(a * 5 % 13) / 13.0,
            )
        };
        let points: Vec<(f64, f64)> = (0..40).map(turn).collect();
        assert!(kept(&points, 0.0).1.is_some_and(|loss| loss < 1e-9));
        assert!(kept(&points, 0.1).1.is_none_or(|loss| loss > 1e-3));
    }
}
