//! Slow, independent answers to cone problems.

use super::cone::ConeCase;
use clarabel::algebra::CscMatrix;
use clarabel::solver::*;

/// Clarabel's best c'π over the policies within all guardrails, and the policy. The concave
/// relaxation of OPLB is this with c = f, the objective at each action.
pub fn clarabel_linear(case: &ConeCase, c: &[f64]) -> (f64, Vec<(usize, f64)>) {
    let mut solver = clarabel_set_up(case, c);
    solver.solve();
    let policy = solver.solution.x.iter().map(|x| x.max(0.0)).enumerate();
    (-solver.solution.obj_val, policy.collect())
}

/// The same, ready to be solved.
pub fn clarabel_set_up(case: &ConeCase, c: &[f64]) -> DefaultSolver<f64> {
    let (k, p) = (case.actions(), case.dimension);
    let linear: Vec<usize> = indices(case, |kappa| kappa == 0.0);
    let cones: Vec<usize> = indices(case, |kappa| kappa > 0.0);
    // Rows: sum to one; K signs; linear guardrails; (u'π, Zπ) for each of the others.
    let rows = 1 + k + linear.len() + cones.len() * (p + 1);
    let (mut starts, mut at, mut values) = (vec![0], vec![], vec![]);
    for a in 0..k {
        let mut put = |row: usize, value: f64| {
            if value != 0.0 {
                at.push(row);
                values.push(value);
            }
        };
        put(0, 1.0);
        put(1 + a, -1.0);
        let mut row = 1 + k;
        for &i in &linear {
            put(row, case.costs[i][a] - case.thresholds[i]);
            row += 1;
        }
        for &i in &cones {
            put(
                row,
                (case.costs[i][a] - case.thresholds[i]) / case.cost_radii[i],
            );
            for j in 0..p {
                put(row + 1 + j, -case.z(j, a));
            }
            row += p + 1;
        }
        starts.push(at.len());
    }
    let matrix = CscMatrix::new(rows, k, starts, at, values);
    let mut bounds = vec![0.0; rows];
    bounds[0] = 1.0;
    let mut kinds = vec![
        SupportedConeT::ZeroConeT(1),
        SupportedConeT::NonnegativeConeT(k + linear.len()),
    ];
    kinds.extend(
        cones
            .iter()
            .map(|_| SupportedConeT::SecondOrderConeT(p + 1)),
    );
    let settings = DefaultSettings {
        verbose: false,
        ..DefaultSettings::default()
    };
    let objective: Vec<f64> = c.iter().map(|x| -x).collect();
    let nothing = CscMatrix::zeros((k, k));
    DefaultSolver::new(&nothing, &objective, &matrix, &bounds, &kinds, settings)
        .expect("a well-formed problem")
}

fn indices(case: &ConeCase, keep: impl Fn(f64) -> bool) -> Vec<usize> {
    (0..case.costs.len())
        .filter(|&i| keep(case.cost_radii[i]))
        .collect()
}

/// Objective f_a at every action.
pub fn vertex_values(case: &ConeCase) -> Vec<f64> {
    (0..case.actions())
        .map(|a| case.objective(&[(a, 1.0)]))
        .collect()
}

/// The gradient of the objective at a policy.
pub fn gradient(case: &ConeCase, pi: &[(usize, f64)]) -> Vec<f64> {
    let (s, t) = case.parts(pi);
    let length = (s * s + t * t).sqrt().max(1e-300);
    let mean: Vec<f64> = (0..case.dimension)
        .map(|j| pi.iter().map(|&(a, w)| w * case.z(j, a)).sum())
        .collect();
    (0..case.actions())
        .map(|a| {
            let inner: f64 = (0..case.dimension).map(|j| mean[j] * case.z(j, a)).sum();
            case.reward[a] + case.reward_radius * (s * case.along[a] + inner) / length
        })
        .collect()
}

/// Successive linearisation from a linear objective: a lower bound on the optimum (Clarabel's
/// policies are feasible to about 1e-8, so shrink a little before believing).
pub fn climb(case: &ConeCase, start: Vec<f64>, steps: usize) -> f64 {
    let mut c = start;
    let mut best = f64::NEG_INFINITY;
    for _ in 0..steps {
        let (_, mut pi) = clarabel_linear(case, &c);
        let total: f64 = pi.iter().map(|e| e.1).sum();
        pi.iter_mut().for_each(|e| e.1 *= (1.0 - 1e-6) / total);
        pi[case.safe].1 += 1e-6;
        if case.excess(&pi) <= 0.0 {
            best = best.max(case.objective(&pi));
        }
        c = gradient(case, &pi);
    }
    best
}

/// Branch and bound over simplices of policies, for one guardrail and few actions: (best value,
/// bound). On a simplex the objective is at most the mixture of its corners' values, as it is
/// convex, and the cost at least its linearisation at the centre.
pub fn branch_and_bound(case: &ConeCase, gap: f64, most: usize) -> (f64, f64) {
    let k = case.actions();
    let whole: Vec<Vec<f64>> = (0..k)
        .map(|a| (0..k).map(|b| f64::from(a == b)).collect())
        .collect();
    let mut best = f64::NEG_INFINITY;
    let mut open = vec![(f64::INFINITY, whole)];
    for _ in 0..most {
        let top = (0..open.len()).max_by(|&a, &b| open[a].0.total_cmp(&open[b].0));
        let Some(top) = top.filter(|&t| open[t].0 > best + gap) else {
            return (best, best + gap);
        };
        let (_, corners) = open.swap_remove(top);
        let distance = |x: &[f64], y: &[f64]| -> f64 {
            x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f64>()
        };
        let mut edge = (0, 1, -1.0);
        for i in 0..k {
            for j in 0..i {
                let length = distance(&corners[i], &corners[j]);
                if length > edge.2 {
                    edge = (i, j, length);
                }
            }
        }
        let middle: Vec<f64> = (0..k)
            .map(|a| 0.5 * (corners[edge.0][a] + corners[edge.1][a]))
            .collect();
        for replaced in [edge.0, edge.1] {
            let mut half = corners.clone();
            half[replaced] = middle.clone();
            for corner in &half {
                let pi = sparse(corner);
                if case.excess(&pi) <= 0.0 {
                    best = best.max(case.objective(&pi));
                }
            }
            let bound = simplex_bound(case, &half);
            if bound > best + gap {
                open.push((bound, half));
            }
        }
    }
    let bound = open.iter().map(|o| o.0).fold(best, f64::max);
    (best, bound)
}

fn sparse(point: &[f64]) -> Vec<(usize, f64)> {
    point.iter().copied().enumerate().collect()
}

fn simplex_bound(case: &ConeCase, corners: &[Vec<f64>]) -> f64 {
    let k = corners.len();
    let centre: Vec<f64> = (0..k)
        .map(|a| corners.iter().map(|c| c[a]).sum::<f64>() / k as f64)
        .collect();
    let centre = sparse(&centre);
    let (_, t) = case.parts(&centre);
    let mean: Vec<f64> = (0..case.dimension)
        .map(|j| centre.iter().map(|&(a, w)| w * case.z(j, a)).sum())
        .collect();
    let slope = |a: usize| {
        let inner: f64 = (0..case.dimension).map(|j| mean[j] * case.z(j, a)).sum();
        case.costs[0][a] + case.cost_radii[0] * if t > 0.0 { inner / t } else { 0.0 }
    };
    let values: Vec<f64> = corners.iter().map(|c| case.objective(&sparse(c))).collect();
    let costs: Vec<f64> = corners
        .iter()
        .map(|c| (0..k).map(|a| c[a] * slope(a)).sum())
        .collect();
    let tau = case.thresholds[0];
    let mut bound = f64::NEG_INFINITY;
    for i in (0..k).filter(|&i| costs[i] <= tau) {
        bound = bound.max(values[i]);
        for j in (0..k).filter(|&j| costs[j] > tau) {
            let share = (tau - costs[i]) / (costs[j] - costs[i]);
            bound = bound.max((1.0 - share) * values[i] + share * values[j]);
        }
    }
    bound
}
