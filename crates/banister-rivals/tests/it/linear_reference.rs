//! Every linear rival against a slow one of its own: all data kept, the Gram matrix made and eliminated
//! anew each round, radii from their definitions. The same action and part of it, round by round.

use crate::common;
use crate::common::player::Player;
use crate::common::verbs::Verbs as _;
use crate::worlds;

use common::Random;
use common::linear::{Matrix, dot, length, log_det, solve};
use rand::{Rng as _, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde_json::{Value, json};
use worlds::{World, config};

/// One outcome: features and targets, the observations in units of their ranges (costs mirrored for
/// `at_least`).
type Outcome = (Vec<f64>, Vec<f64>);

struct Slow<'a> {
    world: &'a World,
    lambda: f64,
    data: Vec<Outcome>,
    rng: ChaCha8Rng,
}

/// Regression on the data of this round.
struct Fit {
    gram: Matrix,
    estimates: Matrix,
    /// ln det(Σ/λ).
    log_det: f64,
}

/// Choice of a rule: an action, a part of it and its pessimistic costs; and what no policy earns more than.
/// In prediction units.
struct Choice {
    action: usize,
    scale: f64,
    bound: f64,
    costs: Vec<f64>,
}

impl Slow<'_> {
    fn fit(&self) -> Fit {
        let d = self.world.theta.len();
        let signals = 1 + self.world.mus.len();
        let mut gram = vec![vec![0.0; d]; d];
        let mut sums = vec![vec![0.0; d]; signals];
        for (j, row) in gram.iter_mut().enumerate() {
            row[j] = self.lambda;
        }
        for (x, targets) in &self.data {
            for j in 0..d {
                for k in 0..d {
                    gram[j][k] += x[j] * x[k];
                }
                for (sum, target) in sums.iter_mut().zip(targets) {
                    sum[j] += target * x[j];
                }
            }
        }
        Fit {
            estimates: sums.iter().map(|sum| solve(&gram, sum)).collect(),
            log_det: log_det(&gram) - d as f64 * self.lambda.ln(),
            gram,
        }
    }

    fn threshold(&self, i: usize) -> f64 {
        let g = &self.world.problem.guardrails[i];
        let bound = g.at_most.or(g.at_least).expect("declared");
        self.world.sign(i + 1) * bound / self.world.width(i + 1)
    }

    /// The harmful end of a signal's range (the best one of the reward's) in prediction units.
    fn highest(&self, signal: usize) -> f64 {
        let problem = &self.world.problem;
        let [lo, hi] = match signal {
            0 => problem.reward.hull(),
            s => problem.guardrails[s - 1].signal.hull(),
        };
        let end = if self.world.sign(signal) > 0.0 {
            hi
        } else {
            -lo
        };
        end / self.world.width(signal)
    }

    fn take(&mut self, x: Vec<f64>, reward: f64, costs: &[f64]) {
        let observed = std::iter::once(&reward).chain(costs).enumerate();
        let targets = observed
            .map(|(s, y)| self.world.sign(s) * y / self.world.width(s))
            .collect();
        self.data.push((x, targets));
    }
}

impl Fit {
    fn width(&self, x: &[f64]) -> f64 {
        dot(x, &solve(&self.gram, x)).sqrt()
    }

    /// L⁻¹x with Σ = LLᵀ.
    fn whiten(&self, x: &[f64]) -> Vec<f64> {
        let d = x.len();
        let mut l = vec![vec![0.0; d]; d];
        for j in 0..d {
            for k in 0..=j {
                let rest: f64 = (0..k).map(|i| l[j][i] * l[k][i]).sum();
                l[j][k] = if j == k {
                    (self.gram[j][j] - rest).sqrt()
                } else {
                    (self.gram[j][k] - rest) / l[k][k]
                };
            }
        }
        let mut y = vec![0.0; d];
        for j in 0..d {
            let rest: f64 = (0..j).map(|k| l[j][k] * y[k]).sum();
            y[j] = (x[j] - rest) / l[j][j];
        }
        y
    }
}

/// The largest index; the safe action unless one is better.
fn largest(indices: impl Iterator<Item = f64>, start: (usize, f64)) -> (usize, f64) {
    indices
        .enumerate()
        .fold(start, |best, (a, v)| if v > best.1 { (a, v) } else { best })
}

const R: f64 = 0.5;
const S: f64 = 1.3;
const DELTA: f64 = 0.03;
const EXPLORATION: usize = 60;

/// Applies the rule of a kind to `actions`.
fn choose(kind: &str, keys: &Value, slow: &mut Slow, actions: &Matrix, safe: usize) -> Choice {
    let fit = slow.fit();
    let d = actions[0].len() as f64;
    let n = slow.data.len() as f64;
    let signals = 1 + slow.world.mus.len();
    let root = slow.lambda.sqrt();
    let delta = DELTA / signals as f64;
    let beta = match keys["radius"].as_str() {
        Some("paper") => {
            let l = keys["norm"].as_f64().expect("declared");
            R * (d * ((1.0 + n * l * l / slow.lambda) / delta).ln()).sqrt() + root * S
        }
        _ => R * (fit.log_det + 2.0 * (1.0 / delta).ln()).sqrt() + root * S,
    };
    let mean = |s: usize, a: usize| dot(&fit.estimates[s], &actions[a]);
    let widths: Vec<f64> = actions.iter().map(|x| fit.width(x)).collect();
    let all = 0..actions.len();
    let b = slow.threshold(0);
    let cap = |upper: f64, most: f64| if upper * most <= b { most } else { b / upper };
    // An entry for the first outcome of every `log_every`.
    let every = keys["log_every"].as_u64().unwrap_or(1) as usize;
    let entries = (0..slow.data.len()).filter(|n| n % every == 0).count() as f64;
    let noise = 2.0 * R * (fit.log_det + 2.0 * (1.0 + entries).ln()).sqrt();
    let room = (b / S).min(1.0);
    let (own_r, own_c) = if keys["radius"] == "logdet" {
        (beta / room, beta)
    } else {
        (noise / room + root * S, noise + root * S)
    };
    let mut normals = || -> Vec<f64> {
        (0..d as usize)
            .map(|_| StandardNormal.sample(&mut slow.rng))
            .collect()
    };
    let most = keys["max_scale"].as_f64().unwrap_or(1.0);
    let start = (safe, 0.0);
    let reach = if ["hplc_lucb", "safe_lts"].contains(&kind) {
        own_r
    } else {
        beta
    };
    let bound = (all.clone())
        .map(|a| mean(0, a) + reach * widths[a])
        .fold(f64::NEG_INFINITY, f64::max);
    let single = |(action, _): (usize, f64), scale: f64, upper: f64| Choice {
        action,
        scale: if action == safe { 1.0 } else { scale },
        bound,
        costs: vec![if action == safe { 0.0 } else { scale * upper }],
    };
    match kind {
        "hplc_lucb" => {
            let upper = |a: usize| mean(1, a) + own_c * widths[a];
            let index = |a: usize| cap(upper(a), 1.0) * (mean(0, a) + own_r * widths[a]);
            let best = largest(all.map(index), start);
            single(best, cap(upper(best.0), 1.0), upper(best.0))
        }
        "safe_lts" => {
            let eta = normals();
            let upper = |a: usize| mean(1, a) + own_c * widths[a];
            let index = |a: usize| {
                let lean = dot(&fit.whiten(&actions[a]), &eta);
                cap(upper(a), 1.0) * (mean(0, a) + d.sqrt() * own_r * lean)
            };
            // x_0 is not among the authors' actions.
            let best = if keys["radius"] == "logdet" {
                largest(all.map(index), start)
            } else {
                let others = all.map(|a| {
                    if a == safe {
                        f64::NEG_INFINITY
                    } else {
                        index(a)
                    }
                });
                largest(others, (safe, f64::NEG_INFINITY))
            };
            single(best, cap(upper(best.0), 1.0), upper(best.0))
        }
        "lin_s_colts" | "lin_r_colts" => {
            let omega = keys["omega"].as_f64().unwrap_or(1.0);
            let whitened: Matrix = actions.iter().map(|x| fit.whiten(x)).collect();
            let draws = if kind == "lin_s_colts" {
                1
            } else {
                let level = DELTA / ((n + 1.0) * (n + 2.0));
                (keys["draws"].as_f64().unwrap_or(5.79) * (1.0 / level).ln()).ceil() as usize
            };
            // The value, the action and its part, by sampled reward and cost.
            let mut best = (0.0, safe, 1.0);
            for _ in 0..draws {
                let eta = normals();
                for a in all.clone() {
                    let move_by = omega * beta * dot(&whitened[a], &eta);
                    let part = cap(mean(1, a) - move_by, 1.0);
                    let value = part * (mean(0, a) + move_by);
                    if value > best.0 {
                        best = (value, a, part);
                    }
                }
            }
            let (_, a, part) = best;
            let upper = mean(1, a) + beta * widths[a];
            let scale = if kind == "lin_s_colts" {
                cap(upper, part)
            } else {
                part
            };
            single((a, 0.0), scale, upper)
        }
        "gen_op" => {
            let upper = |a: usize| mean(1, a) + beta * widths[a];
            let bonus = (1.0 + 2.0 * S / b) * beta;
            let index = |a: usize| cap(upper(a), most) * (mean(0, a) + bonus * widths[a]);
            let best = largest(all.map(index), start);
            single(best, cap(upper(best.0), most), upper(best.0))
        }
        "roful" => {
            let s = |a: usize| cap(mean(1, a) - beta * widths[a], most);
            let index = |a: usize| s(a) * (mean(0, a) + beta * widths[a]);
            let (a, value) = largest(all.map(index), start);
            // γ as the paper has it.
            let upper = mean(1, a) + beta * widths[a];
            let part = |upper: f64| {
                if upper > 0.0 {
                    (b / (s(a) * upper)).min(1.0)
                } else {
                    1.0
                }
            };
            let long = S * length(&actions[a]);
            let gamma = part(upper).max(part(long));
            single((a, gamma * value), gamma * s(a), upper.min(long))
        }
        "safe_lucb" => {
            if slow.data.len() < EXPLORATION {
                let others: Vec<usize> = all.filter(|&a| a != safe).collect();
                let drawn = u128::from(slow.rng.next_u64()) * others.len() as u128;
                let a = others[(drawn >> 64) as usize];
                let long = S * length(&actions[a]);
                let scale = (b / long).min(1.0);
                let value = scale * (mean(0, a) + beta * widths[a]);
                let upper = (mean(1, a) + beta * widths[a]).min(long);
                return single((a, value), scale, upper);
            }
            let upper = |a: usize| mean(1, a) + beta * widths[a];
            let index = |a: usize| cap(upper(a), 1.0) * (mean(0, a) + beta * widths[a]);
            let best = largest(all.map(index), start);
            let long = S * length(&actions[best.0]);
            single(best, cap(upper(best.0), 1.0), upper(best.0).min(long))
        }
        _ => {
            let index: Vec<f64> = match kind {
                "lin_ts" => {
                    let eta = normals();
                    let v = keys["v"].as_f64().unwrap_or(beta);
                    let lean = |a: usize| {
                        let mut y = fit.whiten(&actions[a]);
                        // x_0 lies along the last axis, which the agent turns around.
                        if actions[safe].iter().any(|&x| x != 0.0) {
                            y[d as usize - 1] *= -1.0;
                        }
                        dot(&y, &eta)
                    };
                    all.map(|a| mean(0, a) + v * lean(a)).collect()
                }
                _ => all.map(|a| mean(0, a) + beta * widths[a]).collect(),
            };
            let mut best = largest(index.iter().copied(), (safe, index[safe]));
            if kind == "conservative_lin_ucb" && best.0 != safe {
                let is_safe = |x: &Vec<f64>| *x == actions[safe];
                let safe_plays = slow.data.iter().filter(|o| is_safe(&o.0)).count() as f64;
                let mut sum = vec![0.0; actions[0].len()];
                for (x, _) in slow.data.iter().filter(|o| !is_safe(&o.0)) {
                    sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += x);
                }
                let affordable = (1..signals).all(|s| {
                    let g = &slow.world.problem.guardrails[s - 1];
                    let safe_cost =
                        slow.world.sign(s) * g.safe_cost.expect("known") / slow.world.width(s);
                    let all: Vec<f64> = (sum.iter().zip(&actions[best.0]))
                        .map(|(sum, x)| sum + x)
                        .collect();
                    let most = safe_plays * safe_cost
                        + dot(&fit.estimates[s], &all)
                        + beta * fit.width(&all);
                    most <= (n + 1.0) * slow.threshold(s - 1)
                });
                if !affordable {
                    best = (safe, index[safe]);
                }
            }
            let cost = |s: usize| {
                if best.0 == safe {
                    let known = slow.world.problem.guardrails[s - 1].safe_cost;
                    slow.world.sign(s) * known.expect("known") / slow.world.width(s)
                } else {
                    mean(s, best.0) + beta * widths[best.0]
                }
            };
            Choice {
                action: best.0,
                scale: 1.0,
                bound,
                costs: (1..signals).map(cost).collect(),
            }
        }
    }
}

fn near(a: f64, b: f64, within: f64) -> bool {
    (a - b).abs() <= within * (1.0 + a.abs().max(b.abs()))
}

/// Plays 650 rounds beside the slow rule; how often each action was played, and how often scaled.
fn compare(kind: &str, world: &World, mut keys: Value, changing: bool) -> (Vec<usize>, usize) {
    let case = format!("{kind}, {keys}, changing = {changing}");
    let authors = ["hplc_lucb", "safe_lts"].contains(&kind) && keys["radius"] != "logdet";
    if !authors {
        keys["delta"] = json!(DELTA);
    }
    if kind == "safe_lucb" {
        keys["exploration"] = json!(EXPLORATION);
    }
    keys["parameter_norm"] = json!(S);
    let mut agent = Player::of(
        config(kind, keys.clone()).build(&world.problem).unwrap(),
        &world.problem,
    );
    agent.reseed(7, 3);
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    rng.set_stream(3);
    let default = if authors { 0.1 } else { 1.0 };
    let mut slow = Slow {
        world,
        lambda: keys["lambda"].as_f64().unwrap_or(default),
        data: Vec::new(),
        rng,
    };
    let random = &mut Random::new(99);
    // Before the first outcome many indices are equal, and rounding would decide.
    for a in [0, 1] {
        let x: Vec<f64> = world.problem.features[a].iter().map(|x| 0.1 * x).collect();
        let (reward, costs) = world.pull(random, &x);
        agent.observe_at(&x, reward, &costs).unwrap();
        slow.take(x, reward, &costs);
    }
    let (mut plays, mut scaled) = (vec![0; 6], 0);
    for round in 0..650 {
        if changing {
            agent.offer(&world.offer(random)).unwrap();
        }
        let (count, safe) = (agent.offered(), agent.safe());
        let actions: Matrix = (0..count)
            .map(|a| agent.features(a).unwrap().to_vec())
            .collect();
        let mut wanted = choose(kind, &keys, &mut slow, &actions, safe);
        wanted.bound = wanted.bound.min(slow.highest(0));
        let decision = agent.decide().clone();
        assert_eq!(
            decision.policy,
            [(wanted.action, 1.0)],
            "{case}, round {round}: {decision:?}"
        );
        assert!(
            near(decision.scale, wanted.scale, 1e-9),
            "{case}, round {round}: {} is not {}",
            decision.scale,
            wanted.scale
        );
        // What no policy earns more than: the largest upper end, within the range.
        let reward = wanted.bound * world.width(0);
        assert!(
            near(decision.optimistic_reward, reward, 1e-7),
            "{case}, round {round}: {} is not {reward}",
            decision.optimistic_reward
        );
        for (i, certificate) in decision.guardrails.iter().enumerate() {
            // The range bounds the whole action.
            let most = decision.scale * slow.highest(i + 1);
            let cost = world.sign(i + 1) * world.width(i + 1) * wanted.costs[i].min(most);
            assert!(
                near(certificate.pessimistic_cost, cost, 1e-7),
                "{case}, round {round}: {certificate:?} is not {cost}"
            );
        }
        plays[wanted.action] += 1;
        scaled += usize::from(decision.scale < 1.0);
        let x: Vec<f64> = actions[wanted.action]
            .iter()
            .map(|x| x * decision.scale)
            .collect();
        let (reward, costs) = world.pull(random, &x);
        if decision.scale == 1.0 && round % 2 == 0 {
            agent.observe(wanted.action, reward, &costs).unwrap()
        } else {
            agent.observe_at(&x, reward, &costs).unwrap()
        }
        slow.take(x, reward, &costs);
    }
    (plays, scaled)
}

fn compare_scaled(kind: &str, keys: &[Value]) {
    let mut played = 0;
    for changing in [false, true] {
        for direction in ["at_most", "at_least"] {
            for keys in keys {
                let world = World::scaled(3, direction, None);
                let (plays, scaled) = compare(kind, &world, keys.clone(), changing);
                assert!(scaled > 300, "{kind}: {scaled} parts of actions");
                played += plays.iter().filter(|&&n| n > 0).count();
            }
        }
    }
    assert!(played > 8 * keys.len(), "{kind}: hardly any other action");
}

#[test]
fn hplc_lucb_is_its_definition() {
    let keys = [
        json!({}),
        json!({ "lambda": 0.7, "log_every": 7 }),
        json!({ "radius": "logdet" }),
    ];
    compare_scaled("hplc_lucb", &keys);
}

#[test]
fn safe_lts_is_its_definition() {
    let valid = json!({ "radius": "logdet", "lambda": 0.4 });
    compare_scaled("safe_lts", &[json!({}), json!({ "log_every": 100 }), valid]);
}

#[test]
fn roful_is_its_definition() {
    let paper = json!({ "radius": "paper", "norm": 1.4, "max_scale": 0.8 });
    compare_scaled("roful", &[json!({}), paper]);
}

#[test]
fn lin_s_colts_is_its_definition() {
    let paper = json!({ "radius": "paper", "norm": 1.4, "omega": 0.6 });
    compare_scaled("lin_s_colts", &[json!({}), paper]);
}

#[test]
fn lin_r_colts_is_its_definition() {
    let (mut played, mut parts) = (0, 0);
    for changing in [false, true] {
        for direction in ["at_most", "at_least"] {
            for keys in [json!({}), json!({ "omega": 0.4, "draws": 1.0 })] {
                let world = World::scaled(3, direction, None);
                let (plays, scaled) = compare("lin_r_colts", &world, keys, changing);
                played += plays.iter().filter(|&&n| n > 0).count();
                parts += scaled;
            }
        }
    }
    assert!(
        played > 16 && parts > 200,
        "{played} actions, {parts} parts"
    );
}

#[test]
fn gen_op_is_its_definition() {
    let paper = json!({ "radius": "paper", "norm": 1.4, "max_scale": 0.6 });
    compare_scaled("gen_op", &[json!({}), paper]);
}

#[test]
fn safe_lucb_is_its_definition() {
    compare_scaled("safe_lucb", &[json!({}), json!({ "lambda": 2.0 })]);
}

#[test]
fn conservative_lin_ucb_is_its_definition() {
    for changing in [false, true] {
        let world = World::whole(5, None);
        let (plays, _) = compare("conservative_lin_ucb", &world, json!({}), changing);
        let safe = if changing { 5 } else { 2 };
        assert!(
            plays[safe] > 20 && plays[safe] < 630,
            "both branches: {plays:?}"
        );
    }
}

#[test]
fn lin_ucb_is_its_definition() {
    for changing in [false, true] {
        compare("lin_ucb", &World::whole(5, None), json!({}), changing);
        let world = World::scaled(5, "at_least", None);
        let keys = json!({ "radius": "paper", "norm": 1.4, "lambda": 0.3 });
        compare("lin_ucb", &world, keys, changing);
    }
}

#[test]
fn lin_ts_is_its_definition() {
    for changing in [false, true] {
        let world = World::scaled(5, "at_most", None);
        compare("lin_ts", &world, json!({}), changing);
        let directions = ["at_most", "at_least"];
        for last in [0.5, -0.5] {
            let world = World::new(6, vec![0.0, 0.0, last], &directions, None);
            compare("lin_ts", &world, json!({ "v": 0.3 }), changing);
        }
    }
}
