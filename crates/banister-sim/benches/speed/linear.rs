//! Linear agents: decide plus observe, round by round, on rounds that the agent itself produces.

use std::hint::black_box;
use std::time::Instant;

use banister::oplb::{OplbRadius, Solver};
use banister::solve::Status;
use banister::{Agent as _, Event, Guardrail, Link, Oplb, OplbConfig, Outcome, Problem, Round};
use banister_sim::{ExperimentConfig, Options, Progress};
use ndarray::Array2;
use ndarray::linalg::general_mat_mul;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::Failure;
use crate::table::shown;
use crate::timing::nanoseconds;

/// Rounds timed per row.
const ROUNDS: usize = 2000;

/// A linear world: x = (1, v)/√2 with v on the unit sphere, means ½ + ½⟨v, w⟩.
struct World {
    random: ChaCha8Rng,
    theta: Vec<f64>,
    mu: Vec<f64>,
    safe: Vec<f64>,
}

impl World {
    fn new(d: usize) -> Self {
        let mut world = Self {
            random: ChaCha8Rng::seed_from_u64(11),
            theta: Vec::new(),
            mu: Vec::new(),
            safe: Vec::new(),
        };
        let cost = world.direction(d - 1);
        world.theta = with_one(&world.direction(d - 1), 1.0);
        world.mu = with_one(&cost, 1.0);
        world.safe = with_one(&cost, -0.6);
        world
    }

    fn unit(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn direction(&mut self, d: usize) -> Vec<f64> {
        let normal = |world: &mut Self| {
            let radius = (-2.0 * (1.0 - world.unit()).ln()).sqrt();
            radius * (2.0 * std::f64::consts::PI * world.unit()).cos()
        };
        let v: Vec<f64> = (0..d).map(|_| normal(self)).collect();
        let length = dot(&v, &v).sqrt();
        v.iter().map(|x| x / length).collect()
    }

    /// K − 1 actions one after another; the safe action comes on top.
    fn actions(&mut self, d: usize, k: usize) -> Vec<f64> {
        (1..k)
            .flat_map(|_| with_one(&self.direction(d - 1), 1.0))
            .collect()
    }

    fn agent(&self, config: &OplbConfig) -> Result<Oplb, Failure> {
        let guardrail = Guardrail {
            name: "cost".into(),
            at_most: Some(0.5),
            safe_cost: Some(dot(&self.mu, &self.safe)),
            ..Guardrail::default()
        };
        let problem = Problem::contextual(self.safe.clone(), vec![guardrail]);
        Ok(Oplb::new(&problem, config)?)
    }
}

fn with_one(v: &[f64], scale: f64) -> Vec<f64> {
    let root = 2_f64.sqrt();
    std::iter::once(1.0 / root)
        .chain(v.iter().map(|x| scale * x / root))
        .collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Times of rounds, sorted, and how many were certified.
struct Rounds {
    times: Vec<f64>,
    certified: usize,
}

impl Rounds {
    fn at(&self, share: f64) -> f64 {
        self.times[((self.times.len() - 1) as f64 * share) as usize]
    }
}

/// Plays. A round's time is that of offering (if the set is new) and deciding, and of observing too
/// unless the solver alone is in question.
fn play(d: usize, k: usize, fresh: bool, config: &OplbConfig) -> Result<Rounds, Failure> {
    let whole = config.solver == Solver::Linearised;
    let mut world = World::new(d);
    let mut agent = world.agent(config)?;
    let mut set = world.actions(d, k);
    let mut times = Vec::with_capacity(ROUNDS);
    let mut certified = 0;
    for _ in 0..ROUNDS {
        if fresh {
            set = world.actions(d, k);
        }
        let started = Instant::now();
        let decision = agent.decide(&Round::offering(black_box(&set)))?;
        let decided = nanoseconds(started);
        certified += usize::from(decision.solver.status == Status::Optimal);
        let action = decision.draw(world.unit());
        let x = set.get(action * d..(action + 1) * d);
        let x = x.unwrap_or(&agent.problem().declared.features[0]).to_vec();
        let reward = f64::from(u8::from(world.unit() < dot(&world.theta, &x)));
        let cost = f64::from(u8::from(world.unit() < dot(&world.mu, &x)));
        let started = Instant::now();
        agent.apply(&Event::Outcome(&Outcome::of_features(&x, reward, &[cost])))?;
        let observed = nanoseconds(started);
        times.push(if whole { decided + observed } else { decided });
    }
    times.sort_unstable_by(f64::total_cmp);
    Ok(Rounds { times, certified })
}

/// The time of one dense product of K actions with a d × d matrix, by ndarray on one thread.
fn product(d: usize, k: usize) -> f64 {
    let mut random = World::new(d.max(2));
    let actions = Array2::from_shape_fn((k, d), |_| random.unit());
    let matrix = Array2::from_shape_fn((d, d), |_| random.unit());
    let mut out = Array2::zeros((k, d));
    let mut times: Vec<f64> = (0..300)
        .map(|_| {
            let started = Instant::now();
            general_mat_mul(1.0, black_box(&actions), black_box(&matrix), 0.0, &mut out);
            black_box(&out);
            nanoseconds(started)
        })
        .collect();
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

/// All rows of the linear part.
pub fn linear() -> Result<(), Failure> {
    println!(
        "\nLinear agents, one guardrail, {ROUNDS} rounds of their own making, one thread. Linearised: offer, \
         decide and observe.\nExact: offer and decide, certified to a thousandth.\n"
    );
    println!(
        "{:<52} {:>10} {:>10} {:>10} {:>10}  target",
        "what", "median", "p99", "longest", "certified"
    );
    let linearised = OplbConfig {
        parameter_norm: Some(1.0),
        ..OplbConfig::default()
    };
    let exact = OplbConfig {
        parameter_norm: Some(1.0),
        ..OplbConfig::exact()
    };
    let logdet = OplbConfig {
        radius: Some(OplbRadius::Logdet),
        ..linearised.clone()
    };
    let logistic = OplbConfig {
        link: Link::Logistic,
        parameter_norm: Some(3.0),
        ..linearised.clone()
    };
    for (d, k, fresh, target) in [
        (16, 100, true, 10e3),
        (16, 100, false, 1.5e3),
        (32, 500, true, 200e3),
        (32, 500, false, 200e3),
        (64, 1000, true, 0.0),
    ] {
        let rounds = play(d, k, fresh, &linearised)?;
        let set = if fresh {
            "new actions"
        } else {
            "the same actions"
        };
        let name = format!("linearised, d = {d}, K = {k}, {set}");
        let against = if target > 0.0 {
            verdict(rounds.at(0.5), target)
        } else {
            let product = product(d, k);
            let ratio = rounds.at(0.5) / product;
            let met = if ratio <= 2.6 { "met" } else { "missed" };
            format!(
                "{ratio:.1} times one product by ndarray ({}), at most 2.6: {met}",
                shown(product)
            )
        };
        print(&name, &rounds, &against);
        for (kind, config) in [("logdet", &logdet), ("logistic", &logistic)] {
            let other = play(d, k, fresh, config)?;
            let times = other.at(0.5) / rounds.at(0.5);
            let against = format!("{times:.2} times multiscale radii without a link");
            print(&format!("{name}, {kind}"), &other, &against);
        }
    }
    for (k, median, p99) in [
        (10, 6e3, f64::INFINITY),
        (100, 60e3, 400e3),
        (1000, 2e6, 8e6),
    ] {
        for d in [2, 4, 8, 16, 32] {
            let rounds = play(d, k, true, &exact)?;
            let mut against = verdict(rounds.at(0.5), median);
            if p99.is_finite() {
                against += &format!("; p99 {}", verdict(rounds.at(0.99), p99));
            }
            print(
                &format!("exact, d = {d}, K = {k}, new actions"),
                &rounds,
                &against,
            );
        }
    }
    cores()
}

/// Simulated rounds a second on one thread and on two.
fn cores() -> Result<(), Failure> {
    let config: ExperimentConfig = toml::from_str(
        r#"
        run = { horizon = 20000, runs = 4 }
        environment = { kind = "linear", d = 8, k = 20 }
        guardrail = [{ name = "cost", at_most = 0.5, safe_cost = 0.2 }]
        agent = [{ kind = "oplb" }]
        "#,
    )?;
    let experiment = config.check("linear")?;
    let rounds = experiment.total_rounds() as f64;
    let mut rates = Vec::new();
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()?;
        let started = Instant::now();
        pool.install(|| {
            let experiments = std::slice::from_ref(&experiment);
            banister_sim::run(experiments, Options::default(), &Progress::default())
        })?;
        rates.push(rounds / nanoseconds(started) * 1e9);
    }
    println!(
        "\nSimulated rounds, linearised, d = 8, 20 new actions each: {:.0} a second on one thread, {:.2} times that on two.",
        rates[0],
        rates[1] / rates[0]
    );
    Ok(())
}

fn verdict(time: f64, target: f64) -> String {
    let met = if time <= target { "met" } else { "missed" };
    format!("{} {met}", shown(target))
}

fn print(name: &str, rounds: &Rounds, against: &str) {
    println!(
        "{name:<52} {:>10} {:>10} {:>10} {:>10}  {against}",
        shown(rounds.at(0.5)),
        shown(rounds.at(0.99)),
        shown(rounds.at(1.0)),
        format!("{}/{ROUNDS}", rounds.certified),
    );
}
