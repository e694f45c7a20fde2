//! Parameters of a linear environment, drawn or given, and a safe action with given costs.
//!
//! Random instances keep their means in range by construction. With the constant as a feature,
//! x = (1, v)/√2 with ‖v‖ = 1, a signal in [0, 1] with parameter (1, w)/√2 has mean
//! (1 + ⟨v, w⟩)/2; features and parameters are at most 1 long.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

use banister::toolkit::Signal;
use banister::{Error, Guardrail, Link, Problem};

use super::changing::dot;
use super::draw::{direction, instance_stream};
use super::model::{Setting, count};

/// Parameters and noise as declared; absent parameters are drawn from the seed.
pub(super) struct LinearModel {
    pub theta: Option<Vec<f64>>,
    pub mu: Option<Vec<Vec<f64>>>,
    pub seed: u64,
    pub noise: Option<f64>,
    pub link: Link,
}

/// Form of feature vectors.
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

    /// Draws a parameter. With the constant as a feature, ⟨x, parameter⟩ fills a range, given by its low end and its
    /// width.
    fn draw(
        self,
        (lo, width): (f64, f64),
        d: usize,
        rng: &mut rand_chacha::ChaCha8Rng,
    ) -> Vec<f64> {
        let mut parameter = vec![0.0; d];
        match self {
            Self::Intercept => {
                direction(rng, &mut parameter[1..]);
                let half = 0.5 * width;
                parameter[1..].iter_mut().for_each(|x| *x *= SQRT_2 * half);
                parameter[0] = SQRT_2 * (lo + half);
            }
            Self::Centred => direction(rng, &mut parameter),
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

impl LinearModel {
    /// θ, then one μ per guardrail: as given, or drawn from the instance's seed.
    pub(super) fn parameters(
        &self,
        signals: &[Signal],
        d: usize,
        shape: Shape,
    ) -> Result<Vec<Vec<f64>>, Error> {
        if let Some(mu) = &self.mu {
            check_per_guardrail("mu", mu.len(), signals.len() - 1, "vector")?;
        }
        let mut all = Vec::new();
        for (s, signal) in signals.iter().enumerate() {
            let given = match s {
                0 => self.theta.as_ref(),
                i => self.mu.as_ref().map(|mu| &mu[i - 1]),
            };
            all.push(if let Some(parameter) = given {
                check_vector(&parameter_field(s), parameter, d)?;
                parameter.clone()
            } else {
                let mut rng = instance_stream(self.seed, s as u64);
                let range = match (self.link, s) {
                    (Link::Identity, _) => (signal.lo, signal.unit()),
                    // Log-odds of the reward, and of costs.
                    (Link::Logistic, 0) => (-2.0, 4.0),
                    (Link::Logistic, _) => (-3.0, 4.0),
                };
                let mut parameter = shape.draw(range, d, &mut rng);
                if s > 0 {
                    turn_away(&mut parameter, &all[1..], shape);
                }
                parameter
            });
        }
        Ok(all)
    }
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

/// The safe action of a drawn instance; its costs are filled in.
pub(super) fn safe_action(
    setting: &Setting<'_>,
    declared: &mut Option<Vec<f64>>,
    signals: &[Signal],
    parameters: &[Vec<f64>],
    (shape, link): (Shape, Link),
) -> Result<Vec<f64>, Error> {
    let d = parameters[0].len();
    if let Some(costs) = declared {
        check_per_guardrail("safe_costs", costs.len(), signals.len() - 1, "number")?;
        check_safe_costs(costs, signals, shape)?;
    }
    if shape == Shape::Centred {
        return Ok(vec![0.0; d]);
    }
    let field = match declared {
        Some(_) => "environment.safe_costs",
        None => "guardrails[0].safe_cost",
    };
    let default = || {
        let pairs = setting.guardrails.iter().zip(&signals[1..]);
        pairs.map(default_safe_cost).collect()
    };
    let costs: &Vec<f64> = declared.get_or_insert_with(default);
    let bent = |(cost, signal): (&f64, &Signal)| {
        let share = (cost - signal.lo) / signal.unit();
        (share / (1.0 - share)).ln()
    };
    match link {
        Link::Identity => action_with_costs(field, costs, &parameters[1..], d),
        Link::Logistic => {
            let log_odds: Vec<f64> = costs.iter().zip(&signals[1..]).map(bent).collect();
            action_with_costs(field, &log_odds, &parameters[1..], d)
        }
    }
}

/// The guardrail's safe cost, else the middle between the harmless end and the threshold.
pub(super) fn default_safe_cost((guardrail, signal): (&Guardrail, &Signal)) -> f64 {
    let bound = guardrail.bound().filter(|_| !guardrail.relative);
    let middle = bound.map_or(0.5 * (signal.lo + signal.hi), |(direction, bound)| {
        let (harmless, harmful) = direction.ordered(signal.lo, signal.hi);
        let sign = direction.sign();
        0.5 * (harmless + sign * (sign * bound).min(sign * harmful))
    });
    guardrail.safe_cost.unwrap_or(middle)
}

fn check_safe_costs(costs: &[f64], signals: &[Signal], shape: Shape) -> Result<(), Error> {
    for (i, (&c, signal)) in costs.iter().zip(&signals[1..]).enumerate() {
        let field = || format!("environment.safe_costs[{i}]");
        if shape == Shape::Centred && c != 0.0 {
            let allowed = "the safe action is the zero vector here, and costs 0";
            return Err(Error::invalid(field(), c, allowed));
        }
        if shape == Shape::Intercept && !(c >= signal.lo && c <= signal.hi) {
            let allowed = format!(
                "must lie in the signal's range [{}, {}]",
                signal.lo, signal.hi
            );
            return Err(Error::invalid(field(), c, allowed));
        }
    }
    Ok(())
}

/// The action (1, v)/√2 with the shortest v that has the given costs.
fn action_with_costs(
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

/// The reward's signal, then each guardrail's.
pub(super) fn signals(setting: &Setting<'_>) -> Result<Vec<Signal>, Error> {
    let declared = Problem {
        arms: vec!["safe".into()],
        reward: setting.reward.clone(),
        guardrails: setting.guardrails.clone(),
        ..Problem::default()
    };
    declared.one_range_each()?;
    let problem = declared.check()?;
    let costs = problem.guardrails.iter().map(|g| g.signal);
    Ok(std::iter::once(problem.reward).chain(costs).collect())
}

/// Table that declares a signal.
pub(super) fn signal_field(s: usize) -> String {
    match s {
        0 => "reward".into(),
        i => format!("guardrails[{}]", i - 1),
    }
}

/// Key that declares a signal's parameter.
fn parameter_field(s: usize) -> String {
    match s {
        0 => "environment.theta".into(),
        i => format!("environment.mu[{}]", i - 1),
    }
}

/// Refuses Gaussian noise without a declared constant, and a declared constant that the noise exceeds.
pub(super) fn check_noise(noise: Option<f64>, signals: &[Signal]) -> Result<(), Error> {
    let deviation = match noise {
        Some(sd) if !(sd.is_finite() && sd > 0.0) => {
            let allowed = "must be a finite number above 0; leave it out for Bernoulli signals";
            return Err(Error::invalid("environment.noise", sd, allowed));
        }
        noise => noise,
    };
    for (s, signal) in signals.iter().enumerate() {
        // A signal on two points is at worst 1/2 of its range.
        let needed = deviation.unwrap_or(0.5) * signal.unit();
        let field = format!("{}.sub_gaussian", signal_field(s));
        match signal.sub_gaussian {
            None if deviation.is_some() => {
                let allowed = format!("Gaussian noise leaves any range: declare at least {needed}");
                return Err(Error::invalid(field, "absent", allowed));
            }
            Some(r) if r < needed * (1.0 - 1e-12) => {
                let allowed = format!("the noise of this environment needs at least {needed}");
                return Err(Error::invalid(field, r, allowed));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Refuses means that leave their range, naming what the user can change.
pub(super) fn check_means(
    model: &LinearModel,
    s: usize,
    signal: &Signal,
    low: f64,
    high: f64,
) -> Result<(), Error> {
    let rounding = 1e-9 * signal.unit();
    if low >= signal.lo - rounding && high <= signal.hi + rounding {
        return Ok(());
    }
    let tidy = |x: f64| (x * 1e6).round() / 1e6;
    let (low, high) = (tidy(low), tidy(high));
    let given = if s == 0 {
        model.theta.is_some()
    } else {
        model.mu.is_some()
    };
    if given {
        let allowed = format!(
            "they must lie in the signal's range [{}, {}]",
            signal.lo, signal.hi
        );
        let value = format!("too long: means go from {low} to {high}");
        Err(Error::invalid(parameter_field(s), value, allowed))
    } else {
        let value = format!("[{}, {}]", signal.lo, signal.hi);
        let allowed =
            format!("means go from {low} to {high} here: declare a range that holds them");
        Err(Error::invalid(
            format!("{}.range", signal_field(s)),
            value,
            allowed,
        ))
    }
}

/// Refuses a list that does not have one entry per guardrail.
fn check_per_guardrail(key: &str, given: usize, expected: usize, what: &str) -> Result<(), Error> {
    if given == expected {
        return Ok(());
    }
    Err(Error::invalid(
        format!("environment.{key}"),
        count(given, what),
        format!("expected {expected}: one per guardrail, in their order"),
    ))
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
