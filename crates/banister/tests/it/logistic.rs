//! Logistic links: the confidence set against dense algebra and by simulation, and worlds where only it is safe.

use crate::common;
use crate::common::verbs::Verbs as _;

use crate::common::player::Oplb;
use banister::{Guardrail, Link, OplbConfig, Problem, SignalConfig};
use common::Random;
use common::linear::{Matrix, dot, length, solve, unit};

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// OPLB with a logistic link for all signals.
fn logistic(s: f64) -> OplbConfig {
    OplbConfig {
        link: Link::Logistic,
        parameter_norm: Some(s),
        ..OplbConfig::default()
    }
}

/// (1, v)/√2 with v on the unit sphere.
fn context(random: &mut Random, d: usize) -> Vec<f64> {
    let mut x = vec![1.0];
    x.extend(unit(random, d - 1));
    x.iter().map(|x| x / 2f64.sqrt()).collect()
}

/// A world with means σ(⟨x, θ⟩) and σ(⟨x, μ⟩): costs rise steeply in one direction, along which rewards rise too.
struct World {
    safe: Vec<f64>,
    parameters: [Vec<f64>; 2],
}

impl World {
    fn new() -> Self {
        let root = 2f64.sqrt();
        Self {
            safe: vec![1.0 / root, -1.0 / root, 0.0],
            // Log-odds of the cost: −2 ± 3, of the reward 0 ± 2.2.
            parameters: [
                vec![0.0, 2.0 * root, 1.0 * root],
                vec![-2.0 * root, 3.0 * root, 0.0],
            ],
        }
    }

    fn mean(&self, signal: usize, x: &[f64]) -> f64 {
        sigmoid(dot(x, &self.parameters[signal]))
    }

    fn problem(&self, threshold: f64, safe_cost: Option<f64>) -> Problem {
        let cost = common::at_most(threshold, safe_cost);
        Problem::contextual(self.safe.clone(), vec![cost])
    }

    /// Plays some rounds and counts those whose policies violate.
    fn play(&self, config: &OplbConfig, threshold: f64, rounds: usize, seed: u64) -> usize {
        let random = &mut Random::new(seed);
        let problem = self.problem(threshold, Some(self.mean(1, &self.safe)));
        let mut agent = Oplb::new(&problem, config).unwrap();
        let mut violations = 0;
        for _ in 0..rounds {
            let actions: Vec<Vec<f64>> = (0..5).map(|_| context(random, 3)).collect();
            agent.offer(&actions.concat()).unwrap();
            let decision = agent.decide();
            let policy = decision.policy.clone();
            let action = decision.draw(random.unit());
            let cost: f64 = (policy.iter())
                .map(|&(a, p)| p * self.mean(1, agent.features(a).unwrap()))
                .sum();
            violations += usize::from(cost > threshold + 1e-9);
            let x = agent.features(action).unwrap().to_vec();
            let (r, c) = (self.mean(0, &x), self.mean(1, &x));
            let (r, c) = (random.bernoulli(r), random.bernoulli(c));
            agent.observe(action, r, &[c]).unwrap();
        }
        violations
    }
}

/// The likelihood-ratio set by its definition: quadratics below the losses, summed and minimised directly.
struct Direct {
    s: f64,
    level: f64,
    h: Matrix,
    b: Vec<f64>,
    /// Σ of what the quadratics are at θ = 0.
    constant: f64,
}

impl Direct {
    fn new(d: usize, s: f64, level: f64) -> Self {
        let mut h = vec![vec![0.0; d]; d];
        (0..d).for_each(|j| h[j][j] = d as f64 / (s * s));
        Self {
            s,
            level,
            h,
            b: vec![0.0; d],
            constant: 0.0,
        }
    }

    /// Centre and ends of ⟨x, θ⟩.
    fn view(&self, x: &[f64]) -> (f64, f64, f64) {
        let estimate = solve(&self.h, &self.b);
        // F(θ) = ½θᵀHθ − bᵀθ + constant.
        let least = self.constant - 0.5 * dot(&self.b, &estimate);
        let square = 2.0 * (1.0 / self.level).ln() + self.h.len() as f64 - 2.0 * least;
        let centre = dot(x, &estimate);
        let width = (square * dot(x, &solve(&self.h, x))).sqrt();
        let most = self.s * length(x);
        (
            centre,
            (centre - width).max(-most),
            (centre + width).min(most),
        )
    }

    fn take(&mut self, x: &[f64], y: f64) {
        let (centre, lower, upper) = self.view(x);
        let z = centre.clamp(lower, upper);
        let m = |z: f64| (1.0 + z.exp()).ln();
        // The least curvature, by trying all.
        let points = (0..=4000).map(|k| lower + (upper - lower) * f64::from(k) / 4000.0);
        let curvature = points
            .filter(|p| (p - z).abs() > 1e-3)
            .map(|p| 2.0 * (m(p) - m(z) - sigmoid(z) * (p - z)) / (p - z).powi(2))
            .fold(f64::INFINITY, f64::min);
        let g = sigmoid(z) - y;
        for j in 0..x.len() {
            for k in 0..x.len() {
                self.h[j][k] += curvature * x[j] * x[k];
            }
            self.b[j] += (curvature * z - g) * x[j];
        }
        self.constant += -g * z + 0.5 * curvature * z * z;
    }
}

/// Intervals are those of the definition, for outcomes at both ends and in between.
#[test]
fn intervals_match_the_definition() {
    for seed in 0..20 {
        let random = &mut Random::new(seed);
        let (d, s) = (1 + random.below(4), random.choose(&[1.0, 3.0, 8.0]));
        let mut safe = vec![0.0; d];
        safe[0] = 1.0;
        let problem = Problem::contextual(safe, vec![]);
        let mut agent = Oplb::new(&problem, &logistic(s)).unwrap();
        let mut direct = Direct::new(d, s, 0.1);
        let truth: Vec<f64> = unit(random, d).iter().map(|x| 0.8 * s * x).collect();
        for round in 0..150 {
            let x: Vec<f64> = unit(random, d).iter().map(|x| x * random.unit()).collect();
            let p = sigmoid(dot(&x, &truth));
            let y = match round % 3 {
                0 => p,
                _ => random.bernoulli(p),
            };
            agent.observe_at(&x, y, &[]).unwrap();
            direct.take(&x, y);
        }
        let offered: Vec<Vec<f64>> = (0..5).map(|_| unit(random, d)).collect();
        agent.offer(&offered.concat()).unwrap();
        for (a, x) in offered.iter().enumerate() {
            let found = agent.interval(a, 0).unwrap();
            let (_, lower, upper) = direct.view(x);
            // Where intervals are short the curvature is taken a little lower.
            assert!(
                (found.lower - sigmoid(lower)).abs() < 2e-3,
                "{seed} {found:?} {lower}"
            );
            assert!(
                (found.upper - sigmoid(upper)).abs() < 2e-3,
                "{seed} {found:?} {upper}"
            );
            // Never to the unsafe side.
            assert!(found.lower <= sigmoid(lower) + 1e-9 && found.upper >= sigmoid(upper) - 1e-9);
        }
    }
}

/// What a policy is certified to cost is the sum of its actions' own upper ends, looked at one by one: links for all
/// signals, or for one of them, and sets of actions of many sizes.
#[test]
fn policies_rest_on_the_ends_of_single_actions() {
    let world = World::new();
    let known = world.mean(1, &world.safe);
    for links in [
        r#""reward": "logistic", "cost": "logistic""#,
        r#""cost": "logistic""#,
        r#""reward": "logistic""#,
    ] {
        let text = format!(r#"{{"links": {{{links}}}, "parameter_norm": 6.0}}"#);
        let config: OplbConfig = serde_json::from_str(&text).unwrap();
        let mut agent = Oplb::new(&world.problem(0.3, Some(known)), &config).unwrap();
        let random = &mut Random::new(5);
        let mut mixed = 0;
        for round in 0..400 {
            let actions: Vec<Vec<f64>> = (0..1 + round % 19).map(|_| context(random, 3)).collect();
            agent.offer(&actions.concat()).unwrap();
            let decision = agent.decide();
            let (policy, drawn) = (decision.policy.clone(), decision.draw(random.unit()));
            let certified = decision.guardrails[0].pessimistic_cost;
            let mut upper = |a: usize| {
                let own = (a < actions.len()).then(|| agent.interval(a, 1).unwrap().upper);
                own.map_or(known, |upper| upper.clamp(0.0, 1.0))
            };
            let expected: f64 = policy.iter().map(|&(a, p)| p * upper(a)).sum();
            assert!(
                (certified - expected).abs() < 1e-9,
                "{links} {round}: {certified} {expected}"
            );
            mixed += usize::from(policy.iter().any(|&(a, p)| a < actions.len() && p > 0.0));
            let x = agent.features(drawn).unwrap().to_vec();
            let (r, c) = (world.mean(0, &x), world.mean(1, &x));
            let (r, c) = (random.bernoulli(r), random.bernoulli(c));
            agent.observe(drawn, r, &[c]).unwrap();
        }
        assert!(mixed > 200, "{links}: {mixed}");
    }
}

/// Runs in which a parameter left its set ever, and the worst ratio of a run on average.
fn coverage(config: &OplbConfig, runs: u64, rounds: usize) -> (usize, f64) {
    let world = World::new();
    let (mut left, mut sum) = (0, 0.0);
    for run in 0..runs {
        let random = &mut Random::new(run);
        let problem = world.problem(0.3, None);
        let mut agent = Oplb::new(&problem, config).unwrap();
        let mut worst = 0.0_f64;
        for t in 0..rounds {
            let x = context(random, 3);
            // Yes or no, and half of the time something in between with the same mean.
            let mut draw = |mean: f64| {
                let half = mean.min(1.0 - mean);
                match t % 2 {
                    0 => random.bernoulli(mean),
                    _ => mean + half * (2.0 * random.bernoulli(0.5) - 1.0),
                }
            };
            let (reward, cost) = (draw(world.mean(0, &x)), draw(world.mean(1, &x)));
            agent.observe_at(&x, reward, &[cost]).unwrap();
            for signal in 0..2 {
                let ratio = agent.confidence(signal, &world.parameters[signal]).unwrap();
                worst = if ratio <= worst { worst } else { ratio };
            }
        }
        left += usize::from(!(worst <= 1.0));
        sum += worst;
    }
    (left, sum / runs as f64)
}

/// Parameters stay in their sets in all rounds of at least 1 − δ − δ_o of the runs; in sets of two fifths they do not.
#[test]
fn sets_hold_at_all_times() {
    let config = OplbConfig {
        delta: 0.1,
        optimism_delta: 0.05,
        ..logistic(6.0)
    };
    // Unknown safe costs take half of δ: 0.1 in all. 20 of 200 are allowed; the sets waste little.
    let (left, worst) = coverage(&config, 200, 600);
    assert!(left <= 20, "left in {left}");
    assert!(worst > 0.5, "{worst}");
    let narrow = OplbConfig {
        radius_scale: 0.4,
        ..config
    };
    let (left, _) = coverage(&narrow, 50, 600);
    assert!(left > 25, "left in {left}");
}

/// On steep logistic costs the linear model violates and says that it does not; with the link no policy does.
#[test]
fn a_logistic_world_needs_the_link() {
    let world = World::new();
    let linear = OplbConfig {
        parameter_norm: Some(2.0),
        ..OplbConfig::default()
    };
    let violations = world.play(&logistic(6.0), 0.2, 4000, 1);
    let linear_violations = world.play(&linear, 0.2, 4000, 1);
    assert_eq!(violations, 0);
    assert!(linear_violations > 100, "{linear_violations}");
}

/// Links are declared for all signals or by name, and an unknown safe cost is learned through them.
#[test]
fn links_are_by_signal() {
    let world = World::new();
    let rate = Guardrail {
        name: "rate".into(),
        at_least: Some(0.6),
        signal: SignalConfig {
            range: Some([0.0, 2.0].into()),
            ..SignalConfig::default()
        },
        ..Guardrail::default()
    };
    let problem = Problem {
        reward: SignalConfig {
            range: Some([-1.0, 3.0].into()),
            ..SignalConfig::default()
        },
        ..Problem::contextual(world.safe.clone(), vec![rate])
    };
    let config: OplbConfig = serde_json::from_str(
        r#"{"links": {"rate": "logistic"}, "parameter_norm": 6.0, "delta": 0.05}"#,
    )
    .unwrap();
    let mut agent = Oplb::new(&problem, &config).unwrap();
    let random = &mut Random::new(3);
    for _ in 0..400 {
        let actions: Vec<Vec<f64>> = (0..3).map(|_| context(random, 3)).collect();
        agent.offer(&actions.concat()).unwrap();
        let action = agent.decide().draw(random.unit());
        let x = agent.features(action).unwrap().to_vec();
        // The harm is log-odds: a rate that is low where the world's cost is high.
        let rate = 2.0 * random.bernoulli(1.0 - world.mean(1, &x));
        agent
            .observe(action, random.between(-1.0, 3.0), &[rate])
            .unwrap();
        assert!(agent.decision().guardrails[0].slack >= 0.0);
    }
    let mirrored: Vec<f64> = world.parameters[1].iter().map(|x| -x).collect();
    assert!(agent.confidence(1, &mirrored).unwrap() <= 1.0);
    let estimate = agent.parameter(1).unwrap();
    assert!(dot(&estimate, &mirrored) > 0.0, "{estimate:?}");
    assert!(agent.decision().fallback.is_none());
    let text = agent.assumptions().last().unwrap().text.clone();
    assert!(text.contains("log-odds"), "{text}");
}
