//! The analytic centre of the optimal face, for one guardrail.
//!
//! The published figures come from an interior-point solver, which does not return a vertex where
//! many policies are optimal but the centre of them. Only the `published` settings use this.
//!
//! On the face F of optimal actions the centre maximises Σ_{a∈F} ln π_a (+ ln of the slack where
//! the threshold does not bind), so π_a = 1/(ν + η(u_a − τ)) with ν = |F| (+ 1 with a free slack),
//! and η is the root of Σ_a π_a = 1.

use banister_solve::{Lp, Solution};

/// Copies `solution` to `out`, replaced by the centre of its optimal face if that is larger than a
/// point. Keeps to the solution as it is when the centre cannot be computed safely.
pub(crate) fn centre_ties(lp: &Lp<'_>, safe: usize, solution: &Solution, out: &mut Solution) {
    out.clone_from(solution);
    let (v, u, tau, price) = (
        lp.reward,
        &lp.costs[0],
        lp.thresholds[0],
        solution.prices[0],
    );
    let level = solution.upper_bound - price * tau;
    let on_face = |a: usize| v[a] - price * u[a] >= level - 1e-9;
    let faces = || (0..v.len()).filter(|&a| on_face(a));
    let count = faces().count();
    let cheapest = faces().map(|a| u[a]).fold(f64::INFINITY, f64::min);
    let binds = price > 0.0;
    // With a binding threshold a pair, or twins that share their mass, are their own centre.
    if count < 2 || cheapest >= tau || (binds && count == solution.support.len()) {
        return;
    }
    let nu = count as f64 + if binds { 0.0 } else { 1.0 };
    let mass = |eta: f64| -> f64 { faces().map(|a| 1.0 / (nu + eta * (u[a] - tau))).sum() };
    // The mass is convex in η. With a free slack it starts below one at η = 0; with a binding
    // threshold η = 0 is a root of its own and the other one lies on the side of the mean cost.
    let dearest = faces().map(|a| u[a]).fold(f64::NEG_INFINITY, f64::max);
    let highest = nu / (tau - cheapest);
    let mean = faces().map(|a| u[a]).sum::<f64>() / count as f64;
    let (mut inner, mut outer) = if !binds || mean > tau {
        (0.0, highest)
    } else if mean < tau {
        (0.0, -nu / (dearest - tau))
    } else {
        (0.0, 0.0)
    };
    if binds && dearest <= tau {
        return;
    }
    if binds {
        // Step off the trivial root: the minimum of the mass lies between the two.
        let golden = |a: f64, b: f64| a + 0.381_966_011_250_105 * (b - a);
        let (mut a, mut b) = (inner, outer);
        for _ in 0..100 {
            let (left, right) = (golden(a, b), golden(b, a));
            if mass(left) < mass(right) {
                b = right;
            } else {
                a = left;
            }
        }
        inner = 0.5 * (a + b);
    }
    for _ in 0..200 {
        let middle = 0.5 * (inner + outer);
        if mass(middle) < 1.0 {
            inner = middle;
        } else {
            outer = middle;
        }
    }
    let eta = inner;
    let total = mass(eta);
    out.support.clear();
    for a in faces() {
        out.support
            .push((a, 1.0 / (nu + eta * (u[a] - tau)) / total));
    }
    let cost = |support: &[(usize, f64)]| support.iter().map(|&(a, p)| p * u[a]).sum::<f64>();
    let excess = cost(&out.support) - tau;
    if excess > 0.0 {
        // Rounding: give the excess back to the safe action.
        let share = 2.0 * excess / (tau - u[safe]).max(f64::MIN_POSITIVE);
        out.support.iter_mut().for_each(|e| e.1 *= 1.0 - share);
        match out.support.iter_mut().find(|e| e.0 == safe) {
            Some(entry) => entry.1 += share,
            None => out.support.insert(0, (safe, share)),
        }
    }
    out.costs[0] = cost(&out.support);
    out.value = out.support.iter().map(|&(a, p)| p * v[a]).sum();
    let sane = out.support.iter().all(|e| e.1 > 0.0 && e.1.is_finite());
    if !sane || out.costs[0] > tau || out.value < solution.value - 1e-9 {
        out.clone_from(solution);
    }
}
