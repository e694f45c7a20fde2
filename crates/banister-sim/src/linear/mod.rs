//! Linear worlds: actions are feature vectors x, and the mean of every signal is ⟨x, parameter⟩.
//!
//! Random instances keep their means in range by construction. With the constant as a feature,
//! x = (1, v)/√2 with ‖v‖ = 1, a signal in [0, 1] with parameter (1, w)/√2 has mean
//! (1 + ⟨v, w⟩)/2; features and parameters are at most 1 long.

mod authors;
mod changing;
mod draw;
mod instance;
mod logged;
mod sheet;

use std::path::Path;

use banister::{Error, Problem, Signal};

pub use changing::Changing;
use changing::Source;
pub(crate) use changing::dot;
pub(crate) use draw::{direction, instance_stream};
use instance::Shape;

use crate::arms::{count, named, safe_index};
use crate::environment::{Actions, Drawn, EnvironmentConfig, Kind};
use crate::experiment::ExperimentConfig;
use crate::law::Arms;
use crate::world::{Environment, World};

/// Most numbers in one action set, so that a typing error does not fill the memory.
const MAX_SET: usize = 100_000_000;

/// Builds the world of a linear experiment, and fills in what follows from other keys.
pub(crate) fn world(config: &mut ExperimentConfig, folder: &Path) -> Result<World, Error> {
    if config.environment.kind == Kind::AuthorsLinear {
        authors::fill_in(config)?;
    }
    let signals = signals(config)?;
    check_noise(&config.environment, &signals)?;
    let env = &config.environment;
    match (env.kind, &env.actions) {
        (Kind::AuthorsLinear, _) => {
            let (parameters, features) = authors::instance(env.d.unwrap_or(authors::DIMENSION));
            let names = (0..features.len()).map(|j| match j {
                0 => "nothing".to_string(),
                j => format!("action {j}"),
            });
            let arms = named(env, names.collect())?;
            fixed(config, &signals, parameters, features, arms, 0)
        }
        (Kind::Logged, _) => logged_world(config, &signals, folder),
        (_, Some(Actions::List(actions))) => listed(config, &signals, actions),
        (_, Some(Actions::Drawn(drawn))) => drawn_world(config, &signals, *drawn),
        (_, None) => drawn_world(config, &signals, Drawn::Contextual),
    }
}

/// The reward's signal, then each guardrail's.
fn signals(config: &ExperimentConfig) -> Result<Vec<Signal>, Error> {
    let declared = Problem {
        arms: vec!["safe".into()],
        reward: config.reward,
        guardrails: config.guardrail.clone(),
        ..Problem::default()
    };
    let problem = declared.check()?;
    let costs = problem.guardrails.iter().map(|g| g.signal);
    Ok(std::iter::once(problem.reward).chain(costs).collect())
}

/// How the user calls a signal.
fn signal_field(s: usize) -> String {
    match s {
        0 => "reward".into(),
        i => format!("guardrail[{}]", i - 1),
    }
}

/// How the user calls a signal's parameter.
fn parameter_field(s: usize) -> String {
    match s {
        0 => "environment.theta".into(),
        i => format!("environment.mu[{}]", i - 1),
    }
}

/// Gaussian noise needs a declared constant, and a declared constant must be true.
fn check_noise(env: &EnvironmentConfig, signals: &[Signal]) -> Result<(), Error> {
    let deviation = match env.noise {
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

/// `k` and `d` of drawn actions.
fn sizes(env: &EnvironmentConfig, least: usize, why: &str) -> Result<(usize, usize), Error> {
    let get = |key: &str, value: Option<usize>, least: usize, why: &str| match value {
        Some(n) if n >= least && n <= 1_000_000 => Ok(n),
        Some(n) => {
            let allowed = format!("must be {least} to 1000000{why}");
            Err(Error::invalid(format!("environment.{key}"), n, allowed))
        }
        None => {
            let allowed = match key {
                "d" => "give the length of the feature vectors",
                _ => "give the number of actions beside the safe one",
            };
            Err(Error::invalid(
                format!("environment.{key}"),
                "absent",
                allowed,
            ))
        }
    };
    let d = get("d", env.d, least, why)?;
    let k = get("k", env.k, 1, "")?;
    if k.saturating_mul(d) > MAX_SET {
        let value = format!("{k} with d = {d}");
        let allowed = format!("k·d must be at most {MAX_SET}");
        return Err(Error::invalid("environment.k", value, allowed));
    }
    Ok((k, d))
}

/// Random actions: contextual, fixed, on the sphere or in the ball.
fn drawn_world(
    config: &mut ExperimentConfig,
    signals: &[Signal],
    drawn: Drawn,
) -> Result<World, Error> {
    let env = &config.environment;
    let (shape, source): (Shape, fn(usize) -> Source) = match drawn {
        Drawn::Contextual | Drawn::Fixed => (Shape::Intercept, |k| Source::Contextual { k }),
        Drawn::Sphere => (Shape::Centred, |k| Source::Sphere { k }),
        Drawn::Ball => (Shape::Centred, |k| Source::Ball { k }),
    };
    let (k, d) = match shape {
        Shape::Intercept => sizes(env, 2, ": the first feature is the constant")?,
        Shape::Centred => sizes(env, 1, "")?,
    };
    let parameters = instance::parameters(env, signals, d, shape)?;
    for (s, (parameter, signal)) in parameters.iter().zip(signals).enumerate() {
        let (low, high) = shape.means(parameter);
        check_means(env, s, signal, low, high)?;
    }
    let safe = safe_action(config, signals, &parameters, shape)?;
    let changing = Changing::new(
        source(k),
        safe,
        parameters,
        signals.to_vec(),
        config.environment.noise,
    );
    if drawn != Drawn::Fixed {
        return Ok(changing_world(config, changing, 1.0));
    }
    let mut actions = Vec::new();
    let mut rng = draw::instance_stream(&config.environment, draw::ACTIONS);
    changing.draw(0, &mut rng, &mut actions);
    let mut features = vec![changing.safe_action().to_vec()];
    features.extend(actions.chunks(d).map(<[f64]>::to_vec));
    let proposed = (0..=k).map(|j| match j {
        0 => "safe".to_string(),
        j => format!("action {j}"),
    });
    let arms = named(&config.environment, proposed.collect())?;
    let parameters = changing.parameters().to_vec();
    fixed(config, signals, parameters, features, arms, 0)
}

/// The safe action of a drawn instance, its costs filled in as `safe_costs`.
fn safe_action(
    config: &mut ExperimentConfig,
    signals: &[Signal],
    parameters: &[Vec<f64>],
    shape: Shape,
) -> Result<Vec<f64>, Error> {
    let d = parameters[0].len();
    match shape {
        Shape::Centred => {
            instance::check_zero_costs(config)?;
            Ok(vec![0.0; d])
        }
        Shape::Intercept => {
            let costs = instance::safe_costs(config, signals)?;
            let field = match config.environment.safe_costs {
                Some(_) => "environment.safe_costs",
                None => "guardrail[0].safe_cost",
            };
            let safe = instance::action_with_costs(field, &costs, &parameters[1..], d)?;
            config.environment.safe_costs = Some(costs);
            Ok(safe)
        }
    }
}

fn changing_world(config: &ExperimentConfig, changing: Changing, longest: f64) -> World {
    let mut problem =
        Problem::contextual(changing.safe_action().to_vec(), config.guardrail.clone());
    problem.reward = config.reward;
    World {
        changes: Vec::new(),
        problem,
        parameters: changing.parameters().to_vec(),
        safe_means: Some(changing.safe_means().to_vec()),
        safe_fields: (0..config.guardrail.len())
            .map(|i| format!("environment.safe_costs[{i}]"))
            .collect(),
        longest,
        environment: Environment::Changing(changing),
    }
}

/// Features from a file.
fn logged_world(
    config: &mut ExperimentConfig,
    signals: &[Signal],
    folder: &Path,
) -> Result<World, Error> {
    let (source, d) = logged::read(&mut config.environment, folder)?;
    let shape = Shape::Intercept;
    let parameters = instance::parameters(&config.environment, signals, d, shape)?;
    let safe = safe_action(config, signals, &parameters, shape)?;
    let noise = config.environment.noise;
    let changing = Changing::new(source, safe, parameters, signals.to_vec(), noise);
    // The file is what it is: look at the means of its rows rather than at the worst thinkable.
    for (s, signal) in signals.iter().enumerate() {
        let (low, high) = changing.logged_means(s);
        check_means(&config.environment, s, signal, low, high)?;
    }
    Ok(changing_world(config, changing, 1.0))
}

/// An explicit list of feature vectors.
fn listed(
    config: &ExperimentConfig,
    signals: &[Signal],
    actions: &[Vec<f64>],
) -> Result<World, Error> {
    let env = &config.environment;
    let Some(d) = actions.first().map(Vec::len).filter(|d| *d > 0) else {
        let allowed = "give at least one feature vector, of at least one number";
        return Err(Error::invalid("environment.actions", "empty", allowed));
    };
    for (given, key) in [(env.d, "d"), (env.k.map(|k| k + 1), "k")] {
        let expected = if key == "d" { d } else { actions.len() };
        if given.is_some_and(|n| n != expected) {
            let allowed = "leave it out: the list of actions says it";
            return Err(Error::invalid(
                format!("environment.{key}"),
                "given",
                allowed,
            ));
        }
    }
    for (a, x) in actions.iter().enumerate() {
        instance::check_vector(&format!("environment.actions[{a}]"), x, d)?;
    }
    for (key, absent) in [("theta", env.theta.is_none()), ("mu", env.mu.is_none())] {
        if absent && (key == "theta" || !config.guardrail.is_empty()) {
            let allowed = "a list of actions needs the parameters too";
            return Err(Error::invalid(
                format!("environment.{key}"),
                "absent",
                allowed,
            ));
        }
    }
    let parameters = instance::parameters(env, signals, d, Shape::Centred)?;
    let proposed = (0..actions.len()).map(|a| format!("action {a}"));
    let arms = named(env, proposed.collect())?;
    let safe = safe_index(env.safe.as_ref(), &arms)?;
    fixed(config, signals, parameters, actions.to_vec(), arms, safe)
}

/// A world whose feature vectors stay the same: arms with linear means.
fn fixed(
    config: &ExperimentConfig,
    signals: &[Signal],
    parameters: Vec<Vec<f64>>,
    features: Vec<Vec<f64>>,
    arms: Vec<String>,
    safe: usize,
) -> Result<World, Error> {
    let env = &config.environment;
    let mut means = Vec::new();
    for (s, (parameter, signal)) in parameters.iter().zip(signals).enumerate() {
        let row: Vec<f64> = features.iter().map(|x| dot(x, parameter)).collect();
        let low = row.iter().copied().fold(f64::INFINITY, f64::min);
        let high = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        check_means(env, s, signal, low, high)?;
        // What is out of range now is rounding.
        means.push(row.iter().map(|x| x.clamp(signal.lo, signal.hi)).collect());
    }
    let (kind, sd) = match env.noise {
        Some(sd) => (Kind::Gaussian, sd),
        None => (Kind::Bernoulli, 0.1),
    };
    let fields: Vec<(String, Signal)> = (signals.iter().enumerate())
        .map(|(s, signal)| (signal_field(s), *signal))
        .collect();
    let laws = Arms::new(env, kind, sd, &fields, &means)?;
    let length = |x: &Vec<f64>| dot(x, x).sqrt();
    Ok(World {
        changes: Vec::new(),
        longest: features.iter().map(length).fold(0.0, f64::max),
        safe_means: Some(laws.means(safe).to_vec()),
        safe_fields: (0..config.guardrail.len())
            .map(|i| match env.kind {
                Kind::AuthorsLinear => format!("guardrail[{i}]"),
                _ => format!("environment.mu[{i}]"),
            })
            .collect(),
        problem: Problem {
            arms,
            safe,
            features,
            reward: config.reward,
            guardrails: config.guardrail.clone(),
        },
        parameters,
        environment: Environment::Arms(laws),
    })
}

/// Refuses means that leave their range, naming what the user can change.
fn check_means(
    env: &EnvironmentConfig,
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
        env.theta.is_some()
    } else {
        env.mu.is_some()
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

/// A list with one entry per guardrail.
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
