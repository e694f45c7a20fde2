//! Common random numbers: all agents meet the same outcomes, and nothing else of the random numbers is shared.

use std::sync::{Arc, Mutex};

use banister::{Agent, Decision, Error, Event, Round};
use banister_sim::compare::{Agents, Comparison, Entry, Interval95, leaderboards, pairs};
use banister_sim::{AgentSource, CustomAgent, ExperimentConfig, Options, Progress};
use serde_json::json;

const NO_TIMING: Options = Options { no_timing: true };

fn experiment(json: serde_json::Value) -> ExperimentConfig {
    serde_json::from_value(json).expect("an experiment")
}

fn paper(threshold: f64, horizon: u64, runs: u64, agents: &[&str]) -> Entry {
    let agents: Vec<_> = agents.iter().map(|kind| json!({"kind": kind})).collect();
    Entry::new(experiment(json!({
        "name": format!("τ = {threshold}"),
        "run": {"horizon": horizon, "runs": runs, "checkpoints": 20},
        "environment": {
            "kind": "bernoulli",
            "rewards": [0.1, 0.2, 0.4, 0.7],
            "costs": [[0.0, 0.4, 0.5, 0.2]],
        },
        "guardrail": [{"name": "cost", "at_most": threshold, "safe_cost": 0.0}],
        "agent": agents,
    })))
}

fn results(entries: Vec<Entry>, agents: &Agents) -> Vec<banister_sim::results::InstanceResult> {
    let comparison = Comparison::plan(entries, agents, false).expect("it fits");
    let gathered = comparison.run(NO_TIMING, &Progress::default(), None);
    let gathered = gathered.expect("runs").expect("not cancelled");
    gathered.iter().map(|g| g.result()).collect()
}

/// Per arm what came of its pulls.
type Seen = Arc<Mutex<Vec<Vec<(f64, f64)>>>>;

/// Plays arms in a fixed cycle and writes down what came.
struct Recorder {
    cycle: Vec<usize>,
    round: usize,
    decision: Decision,
    seen: Seen,
}

impl Agent for Recorder {
    fn decide(&mut self, _: &Round) -> Result<&Decision, Error> {
        let arm = self.cycle[self.round % self.cycle.len()];
        self.decision.policy = vec![(arm, 1.0)];
        Ok(&self.decision)
    }
    fn apply(&mut self, event: &Event) -> Result<(), Error> {
        let Event::Outcome(outcome) = event else {
            return Ok(());
        };
        self.round += 1;
        let signals = (outcome.reward, outcome.costs[0]);
        self.seen.lock().expect("alone")[outcome.action].push(signals);
        Ok(())
    }
}

fn recorder(label: &str, cycle: &[usize]) -> (AgentSource, Seen) {
    let seen: Seen = Arc::new(Mutex::new(vec![Vec::new(); 4]));
    let (cycle, kept) = (cycle.to_vec(), Arc::clone(&seen));
    let agent = CustomAgent::new(label, move |_, _, _| {
        // Built once to be checked, then to play.
        kept.lock().expect("alone").iter_mut().for_each(Vec::clear);
        Ok(Box::new(Recorder {
            cycle: cycle.clone(),
            round: 0,
            decision: Decision::default(),
            seen: Arc::clone(&kept),
        }))
    });
    (agent.into(), seen)
}

#[test]
fn the_nth_pull_of_an_arm_brings_the_same_whoever_pulls_it() {
    let (first, of_first) = recorder("first", &[0, 1, 2, 3]);
    let (second, of_second) = recorder("second", &[3, 3, 1, 0, 2, 1]);
    let agents = Agents::given(vec![first, second]);
    results(vec![paper(1.0, 600, 1, &[])], &agents);
    let (a, b) = (of_first.lock().expect("a"), of_second.lock().expect("b"));
    for arm in 0..4 {
        let both = a[arm].len().min(b[arm].len());
        assert!(both >= 90, "arm {arm}: {both}");
        assert_eq!(a[arm][..both], b[arm][..both], "arm {arm}");
    }
    // Arms are independent of each other: their tables are not one table shifted or repeated.
    assert_ne!(a[1][..90], a[2][..90]);
}

#[test]
fn runs_and_arms_draw_from_their_own_laws() {
    // The means of the tables are those declared, over runs: 40 runs of 600 rounds.
    let (one, seen) = recorder("one", &[0, 1, 2, 3]);
    let sums = Arc::new(Mutex::new(vec![(0.0, 0.0, 0_usize); 4]));
    let mut entry = paper(1.0, 600, 1, &[]);
    for seed in 0..40 {
        entry.experiment.run.seed = seed;
        results(vec![entry.clone()], &Agents::given(vec![one.clone()]));
        let mut sums = sums.lock().expect("alone");
        for (sum, rows) in sums.iter_mut().zip(&*seen.lock().expect("alone")) {
            for (reward, cost) in rows {
                sum.0 += reward;
                sum.1 += cost;
                sum.2 += 1;
            }
        }
    }
    let sums = sums.lock().expect("alone");
    let expected = [(0.1, 0.0), (0.2, 0.4), (0.4, 0.5), (0.7, 0.2)];
    for ((reward, cost, n), (r, c)) in sums.iter().zip(expected) {
        let n = *n as f64;
        // Five standard errors of a 0-1 variable.
        let room = 2.5 / n.sqrt();
        assert!((reward / n - r).abs() < room, "{} for {r}", reward / n);
        assert!((cost / n - c).abs() < room, "{} for {c}", cost / n);
    }
}

#[test]
fn an_agent_differs_from_itself_by_nothing() {
    let mut entry = paper(0.2, 2000, 5, &[]);
    for label in ["one", "other"] {
        let agent = serde_json::from_value(json!({"kind": "opb", "label": label}));
        entry.experiment.agent.push(agent.expect("an agent"));
    }
    let instances = results(vec![entry], &Agents::Proposed);
    let boards = leaderboards(&instances);
    let pair = &pairs(&boards)[0][0];
    let Interval95 { mean, low, high } = pair.difference;
    assert_eq!((mean, low, high), (0.0, 0.0, 0.0));
}

#[test]
fn pairing_narrows_differences_between_agents_that_are_alike() {
    let mut entry = paper(0.2, 3000, 20, &[]);
    for delta in [0.01, 0.02] {
        let label = format!("δ = {delta}");
        let agent = json!({"kind": "opb", "delta": delta, "label": label});
        (entry.experiment.agent).push(serde_json::from_value(agent).expect("an agent"));
    }
    let instances = results(vec![entry], &Agents::Proposed);
    let boards = leaderboards(&instances);
    let (instance, pair) = (&instances[0], &pairs(&boards)[0][0]);
    assert!(pair.gain > 1.5, "{}", pair.gain);
    // Against the definition, run by run.
    let find = |name: &str| instance.agents.iter().find(|a| a.name == name);
    let (a, b) = (find(pair.agent.name()), find(pair.other.name()));
    let (a, b) = (a.expect("one"), b.expect("other"));
    let differences: Vec<f64> = std::iter::zip(&a.runs, &b.runs)
        .map(|(a, b)| a.regret - b.regret)
        .collect();
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
    // t for 19 degrees of freedom, from a printed table.
    let half = 2.093_024_05 * (variance / n).sqrt();
    assert!((pair.difference.mean - mean).abs() < 1e-9);
    assert!((pair.difference.high - mean - half).abs() < 1e-6 * half);
}

/// The numbers that drew an instance must not come again as its outcomes.
#[test]
fn runs_do_not_meet_the_numbers_that_drew_their_instance() {
    let first_noise = |seed: u64| {
        let config = experiment(json!({
            "name": "clash",
            "run": {"horizon": 3, "runs": 1, "seed": seed, "checkpoints": 1},
            "environment": {"kind": "linear", "d": 3, "k": 2, "actions": "sphere", "noise": 0.1},
            "reward": {"range": [-1.0, 1.0], "sub_gaussian": 0.2},
        }));
        let seen: Seen = Arc::new(Mutex::new(vec![Vec::new(); 4]));
        let kept = Arc::clone(&seen);
        let agent = CustomAgent::new("safe", move |_, _, _| {
            kept.lock().expect("alone").iter_mut().for_each(Vec::clear);
            Ok(Box::new(Still(Decision::default(), Arc::clone(&kept))))
        });
        let experiment = config.check_with("clash", std::path::Path::new(""), vec![agent.into()]);
        let experiment = experiment.expect("an experiment");
        let theta = experiment.parameters()[0].clone();
        banister_sim::run(&[experiment], NO_TIMING, &Progress::default()).expect("runs");
        let rewards: Vec<f64> = seen.lock().expect("alone")[0].iter().map(|r| r.0).collect();
        (theta, rewards)
    };
    let cosine = |(theta, noise): (Vec<f64>, Vec<f64>)| {
        let dot = |a: &[f64], b: &[f64]| std::iter::zip(a, b).map(|(a, b)| a * b).sum::<f64>();
        dot(&theta, &noise) / (dot(&theta, &theta) * dot(&noise, &noise)).sqrt()
    };
    // The instance's seed is 1 unless it is given.
    assert!(cosine(first_noise(1)).abs() < 0.999);
}

/// Plays the safe action, which comes after the others, and writes down what came.
struct Still(Decision, Seen);

impl Agent for Still {
    fn decide(&mut self, _: &Round) -> Result<&Decision, Error> {
        self.0.policy = vec![(2, 1.0)];
        Ok(&self.0)
    }
    fn apply(&mut self, event: &Event) -> Result<(), Error> {
        if let Event::Outcome(outcome) = event {
            self.1.lock().expect("alone")[0].push((outcome.reward, 0.0));
        }
        Ok(())
    }
}
