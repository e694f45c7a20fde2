//! The parameters of an instance, drawn or given, and a safe action with given costs.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

use banister::{Error, Signal};

use super::{check_per_guardrail, dot, draw, parameter_field};
use crate::arms::count;
use crate::environment::EnvironmentConfig;
use crate::experiment::ExperimentConfig;

/// What feature vectors look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// (1, v)/√2 with ‖v‖ ≤ 1.
    Intercept,
    /// Anything at most 1 long, and x_0 = 0.
    Centred,
}

impl Shape {
    /// The lowest and the highest mean that a parameter can give.
    pub(super) fn means(self, parameter: &[f64]) -> (f64, f64) {
        let (middle, spread) = match self {
            Self::Intercept => {
                let slope = dot(&parameter[1..], &parameter[1..]).sqrt();
                (FRAC_1_SQRT_2 * parameter[0], FRAC_1_SQRT_2 * slope)
            }
            Self::Centred => (0.0, dot(parameter, parameter).sqrt()),
        };
        (middle - spread, middle + spread)
    }

    /// A random parameter. With the constant as a feature, means fill the signal's range.
    fn draw(self, signal: &Signal, d: usize, rng: &mut rand_chacha::ChaCha8Rng) -> Vec<f64> {
        let mut parameter = vec![0.0; d];
        match self {
            Self::Intercept => {
                draw::direction(rng, &mut parameter[1..]);
                let half = 0.5 * signal.unit();
                parameter[1..].iter_mut().for_each(|x| *x *= SQRT_2 * half);
                parameter[0] = SQRT_2 * (signal.lo + half);
            }
            Self::Centred => draw::direction(rng, &mut parameter),
        }
        parameter
    }
}

/// Refuses a vector of the wrong length or with a number that is not finite.
pub(super) fn check_vector(field: &str, x: &[f64], d: usize) -> Result<(), Error> {
    if x.len() != d {
        let allowed = format!("expected {d}: the length of the feature vectors");
        return Err(Error::invalid(field, count(x.len(), "number"), allowed));
    }
    match x.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(j) => Err(Error::invalid(
            format!("{field}[{j}]"),
            x[j],
            "only finite numbers are allowed",
        )),
    }
}

/// θ, then one μ per guardrail: as given, or drawn from the instance's seed.
pub(super) fn parameters(
    env: &EnvironmentConfig,
    signals: &[Signal],
    d: usize,
    shape: Shape,
) -> Result<Vec<Vec<f64>>, Error> {
    if let Some(mu) = &env.mu {
        check_per_guardrail("mu", mu.len(), signals.len() - 1, "vector")?;
    }
    let mut all = Vec::new();
    for (s, signal) in signals.iter().enumerate() {
        let given = match s {
            0 => env.theta.as_ref(),
            i => env.mu.as_ref().map(|mu| &mu[i - 1]),
        };
        all.push(match given {
            Some(parameter) => {
                check_vector(&parameter_field(s), parameter, d)?;
                parameter.clone()
            }
            None => {
                let mut parameter =
                    shape.draw(signal, d, &mut draw::instance_stream(env, s as u64));
                if s > 0 {
                    turn_away(&mut parameter, &all[1..], shape);
                }
                parameter
            }
        });
    }
    Ok(all)
}

/// Makes a cost's slope orthogonal to those before it, where there is room: random directions in
/// few dimensions are often so much alike that no action has low costs under all guardrails.
fn turn_away(parameter: &mut [f64], others: &[Vec<f64>], shape: Shape) {
    let from = match shape {
        Shape::Intercept => 1,
        Shape::Centred => 0,
    };
    let length = dot(&parameter[from..], &parameter[from..]).sqrt();
    let mut turned = parameter[from..].to_vec();
    // Those before are orthogonal to each other, unless they were given or there was no room.
    for other in others {
        let other = &other[from..];
        let share = dot(&turned, other) / dot(other, other);
        for (x, y) in turned.iter_mut().zip(other) {
            *x -= share * y;
        }
    }
    let rest = dot(&turned, &turned).sqrt();
    if rest > 1e-6 * length {
        for (x, y) in parameter[from..].iter_mut().zip(turned) {
            *x = y * (length / rest);
        }
    }
}

/// The safe action's costs: as declared, else half-way between the harmless end and the threshold.
pub(super) fn safe_costs(config: &ExperimentConfig, signals: &[Signal]) -> Result<Vec<f64>, Error> {
    let m = config.guardrail.len();
    if let Some(costs) = &config.environment.safe_costs {
        check_per_guardrail("safe_costs", costs.len(), m, "number")?;
        for (i, (&c, signal)) in costs.iter().zip(&signals[1..]).enumerate() {
            if !(c >= signal.lo && c <= signal.hi) {
                let allowed = format!(
                    "must lie in the signal's range [{}, {}]",
                    signal.lo, signal.hi
                );
                return Err(Error::invalid(
                    format!("environment.safe_costs[{i}]"),
                    c,
                    allowed,
                ));
            }
        }
        return Ok(costs.clone());
    }
    let default = |(guardrail, signal): (&banister::Guardrail, &Signal)| {
        let middle = match (guardrail.relative, guardrail.at_most, guardrail.at_least) {
            (false, Some(bound), _) => 0.5 * (signal.lo + bound.min(signal.hi)),
            (false, _, Some(bound)) => 0.5 * (signal.hi + bound.max(signal.lo)),
            _ => 0.5 * (signal.lo + signal.hi),
        };
        guardrail.safe_cost.unwrap_or(middle)
    };
    Ok(config
        .guardrail
        .iter()
        .zip(&signals[1..])
        .map(default)
        .collect())
}

/// x_0 = 0 costs nothing.
pub(super) fn check_zero_costs(config: &ExperimentConfig) -> Result<(), Error> {
    if let Some(costs) = &config.environment.safe_costs {
        check_per_guardrail("safe_costs", costs.len(), config.guardrail.len(), "number")?;
        if let Some(i) = costs.iter().position(|c| *c != 0.0) {
            return Err(Error::invalid(
                format!("environment.safe_costs[{i}]"),
                costs[i],
                "the safe action is the zero vector here, and costs 0",
            ));
        }
    }
    Ok(())
}

/// The action (1, v)/√2 with the shortest v that has the given costs.
pub(super) fn action_with_costs(
    field: &str,
    costs: &[f64],
    parameters: &[Vec<f64>],
    d: usize,
) -> Result<Vec<f64>, Error> {
    let m = costs.len();
    let slope = |i: usize| &parameters[i][1..];
    let steepness: Vec<f64> = (0..m).map(|i| dot(slope(i), slope(i)).sqrt()).collect();
    // v = Σ_j weight_j unit_j with ⟨unit_i, v⟩ = (√2 cost_i − intercept_i)/steepness_i, where
    // unit_i = slope_i/steepness_i: ranges may differ by orders of magnitude.
    let mut system: Vec<Vec<f64>> = (0..m)
        .map(|i| {
            let row = (0..m).map(|j| dot(slope(i), slope(j)) / (steepness[i] * steepness[j]));
            let side = (SQRT_2 * costs[i] - parameters[i][0]) / steepness[i];
            row.chain([side]).collect()
        })
        .collect();
    let Some(weights) = solve(&mut system) else {
        let allowed = format!(
            "{m} guardrails need cost directions that do not depend on each other: use a larger `d` or another `instance_seed`"
        );
        return Err(Error::invalid(field, format!("{costs:?}"), allowed));
    };
    let mut action = vec![0.0; d];
    action[0] = 1.0;
    for (i, weight) in weights.iter().enumerate() {
        for (x, s) in action[1..].iter_mut().zip(slope(i)) {
            *x += weight * s / steepness[i];
        }
    }
    let length = dot(&action[1..], &action[1..]).sqrt();
    if !(length <= 1.0 + 1e-9) {
        let allowed = format!(
            "no action of this instance has these costs together (it would have to be {length:.3} long, not 1): move them towards the middle of their ranges, or use another `instance_seed`"
        );
        return Err(Error::invalid(field, format!("{costs:?}"), allowed));
    }
    // At most 1 long also as the numbers are, where it would be just 1.
    let shrink = (1.0 - 1e-13) / length.max(1.0 - 1e-13);
    action[1..].iter_mut().for_each(|x| *x *= shrink);
    action.iter_mut().for_each(|x| *x *= FRAC_1_SQRT_2);
    Ok(action)
}

/// Gauss and Jordan with pivoting on a small system [A | b] whose diagonal is 1; `None` if A is
/// (nearly) singular, or not a number.
fn solve(system: &mut [Vec<f64>]) -> Option<Vec<f64>> {
    let m = system.len();
    for c in 0..m {
        let pivot = (c..m).max_by(|&a, &b| system[a][c].abs().total_cmp(&system[b][c].abs()))?;
        system.swap(c, pivot);
        let scale = system[c][c];
        if !(scale.abs() > 1e-10) {
            return None;
        }
        system[c].iter_mut().for_each(|x| *x /= scale);
        let row = system[c].clone();
        for (r, other) in system.iter_mut().enumerate() {
            let factor = other[c];
            if r != c && factor != 0.0 {
                for (x, y) in other.iter_mut().zip(&row) {
                    *x -= factor * y;
                }
            }
        }
    }
    Some(system.iter().map(|row| row[m]).collect())
}
