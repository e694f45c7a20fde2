//! Comparisons: common random numbers, leaderboards, paired differences, grids, suites.

mod common;

use std::sync::{Arc, Mutex};

use banister::{Agent, AgentConfig, Decision, Error};
use banister_sim::compare::{
    Agents, Comparison, Entry, FieldValue, Interval95, Quantity, SUITES, Suite, Verdict, expand,
    leaderboard, pairs, student_quantile, verdicts,
};
use banister_sim::{
    Actions, AgentSource, CustomAgent, Environment, ExperimentConfig, Monitor, Options,
};
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
    let gathered = comparison.run(NO_TIMING, &Monitor::default(), None);
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
    fn decide(&mut self) -> &Decision {
        let arm = self.cycle[self.round % self.cycle.len()];
        self.decision.policy = vec![(arm, 1.0)];
        &self.decision
    }
    fn observe(&mut self, arm: usize, reward: f64, costs: &[f64]) -> Result<(), Error> {
        self.round += 1;
        self.seen.lock().expect("alone")[arm].push((reward, costs[0]));
        Ok(())
    }
    fn save(&self) -> String {
        String::new()
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
    let instance = &results(vec![entry], &Agents::Proposed)[0];
    let pair = &pairs(instance)[0];
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
    let instance = &results(vec![entry], &Agents::Proposed)[0];
    let pair = &pairs(instance)[0];
    assert!(pair.gain > 1.5, "{}", pair.gain);
    // Against the definition, run by run.
    let find = |name: &str| instance.agents.iter().find(|a| a.name == name);
    let (a, b) = (find(&pair.agent), find(&pair.other));
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

#[test]
fn quantiles_are_those_of_printed_tables() {
    for (freedom, t) in [
        (1, 12.706_204_7),
        (2, 4.302_652_73),
        (3, 3.182_446_31),
        (4, 2.776_445_11),
        (9, 2.262_157_16),
        (29, 2.045_229_64),
        (30, 2.042_272_46),
        (120, 1.979_930_41),
    ] {
        let ours = student_quantile(0.95, freedom);
        assert!((ours - t).abs() < 1e-7 * t, "{freedom}: {ours}");
    }
    assert!((student_quantile(0.95, u64::MAX) - 1.96).abs() < 1e-3);
    assert!((student_quantile(0.99, 10) - 3.169_272_67).abs() < 1e-7);
}

#[test]
fn those_who_broke_no_guardrail_lead() {
    let agents = ["ucb1", "opb", "doslb"];
    let instance = &results(vec![paper(0.2, 3000, 4, &agents)], &Agents::Proposed)[0];
    let board = leaderboard(instance);
    let names: Vec<&str> = board.iter().map(|s| s.agent.as_str()).collect();
    // The other two violate, and earn more for it.
    assert_eq!(names[0], "opb");
    assert_eq!(board[0].violations, Some(0));
    assert!(board[1..].iter().all(|s| s.violations > Some(0)));
    assert!(
        board[1..]
            .iter()
            .all(|s| s.regret.mean < board[0].regret.mean)
    );
    assert!(board[1].regret.mean <= board[2].regret.mean);
    // The share is the count over all rounds.
    for standing in &board {
        let share = standing.violations.expect("known") as f64 / 12_000.0;
        assert!((standing.violation_share.mean - share).abs() < 1e-12);
    }
}

#[test]
fn agents_that_do_not_fit_are_all_named_before_anything_runs() {
    let changing = Entry::new(experiment(json!({
        "name": "contexts",
        "run": {"horizon": 100, "runs": 1},
        "environment": {"kind": "linear", "d": 3, "k": 5},
        "guardrail": [{"name": "cost", "at_most": 0.5, "safe_cost": 0.2}],
        "agent": [{"kind": "oplb"}],
    })));
    let entries = vec![paper(0.5, 100, 1, &["opb"]), changing];
    let agents = Agents::listed("opb, ucb1,oplb").expect("known kinds");
    let error = Comparison::plan(entries.clone(), &agents, false).expect_err("two do not fit");
    let message = error.to_string();
    assert!(message.contains("`opb` on `contexts`"), "{message}");
    assert!(message.contains("`ucb1` on `contexts`"), "{message}");
    assert!(
        message.contains("other actions come in every round"),
        "{message}"
    );
    let plan = Comparison::plan(entries, &agents, true).expect("skipped");
    assert_eq!(plan.left_out.len(), 2);
    assert_eq!(plan.experiments[0].agents().len(), 3);
    assert_eq!(plan.experiments[1].agents().len(), 1);
    // Where nobody fits there is nothing to skip to.
    let agents = Agents::listed("ucb1").expect("known");
    let changing = plan_of_contexts();
    let error = Comparison::plan(vec![changing], &agents, true).expect_err("nobody is left");
    assert!(error.to_string().contains("no agent fits"), "{error}");
    for (list, reason) in [
        ("", "`agents` is empty"),
        ("opb,opb", "`agents` is opb twice"),
    ] {
        let error = Agents::listed(list).expect_err("refused").to_string();
        assert!(error.contains(reason), "{error}");
    }
    let error = Agents::listed("opb,ucb2").expect_err("unknown kind");
    assert!(
        error
            .to_string()
            .contains("`kind` is ucb2: the kinds are opb, oplb"),
        "{error}"
    );
}

fn plan_of_contexts() -> Entry {
    Entry::new(experiment(json!({
        "name": "contexts",
        "run": {"horizon": 100, "runs": 1},
        "environment": {"kind": "linear", "d": 3, "k": 5},
        "guardrail": [{"name": "cost", "at_most": 0.5, "safe_cost": 0.2}],
    })))
}

#[test]
fn lists_of_values_make_a_grid() {
    let file = json!({
        "run": {"horizon": [1000, 2000], "runs": 2},
        "environment": {
            "kind": "bernoulli",
            "rewards": [[0.1, 0.7], [0.2, 0.6]],
            "costs": [[0.0, 0.2]],
        },
        "guardrail": [{"name": "spend", "at_most": [0.1, 0.3, 0.5], "safe_cost": 0.0}],
        "agent": [
            {"kind": "opb", "delta": [0.1, 0.01], "intervals": ["kl", "bernstein"]},
            {"kind": "ucb1"},
        ],
    });
    let entries = expand(&file, "grid").expect("a grid");
    assert_eq!(entries.len(), 2 * 2 * 3);
    // Every combination once.
    let mut seen: Vec<String> = Vec::new();
    for entry in &entries {
        let run = &entry.experiment.run;
        let key = format!(
            "{} {:?} {:?}",
            run.horizon,
            entry.experiment.environment.rewards,
            entry.experiment.guardrail[0].at_most
        );
        assert!(!seen.contains(&key), "{key} twice");
        seen.push(key);
        assert_eq!(entry.experiment.agent.len(), 5);
        let value = |name: &str| entry.fields.iter().find(|(own, _)| own == name);
        assert_eq!(
            value("horizon"),
            Some(&(
                "horizon".to_string(),
                FieldValue::Number(run.horizon as f64)
            ))
        );
        let name = entry.experiment.name.as_deref().expect("a name");
        assert!(
            name.starts_with("grid, ") && name.contains("at_most = "),
            "{name}"
        );
    }
    let labels: Vec<String> = (entries[0].experiment.agent.iter())
        .map(|a| a.label())
        .collect();
    assert_eq!(labels[4], "ucb1");
    assert!(
        labels[0].contains("delta = 0.1") && labels[0].contains("intervals = kl"),
        "{labels:?}"
    );
    // What is a list by nature is left alone.
    let plain = json!({
        "environment": {"kind": "bernoulli", "rewards": [0.1, 0.7], "costs": [[0.0, 0.2]]},
        "guardrail": [{"name": "spend", "at_most": 3, "range": [0, 10], "safe_cost": 0.0}],
        "agent": [{"kind": "opb"}],
    });
    assert_eq!(expand(&plain, "plain").expect("no grid").len(), 1);
    for (bad, message) in [
        (json!([]), "an empty list"),
        (json!([0.1, 0.1]), "0.1 twice"),
    ] {
        let mut file = file.clone();
        file["guardrail"][0]["at_most"] = bad;
        let error = expand(&file, "bad").expect_err("refused");
        let text = error.to_string();
        assert!(
            text.contains("guardrail[0].at_most") && text.contains(message),
            "{text}"
        );
    }
    // A swept kind is what the agent is called; a comparison is always coupled.
    let mut kinds = file.clone();
    kinds["agent"] = json!([{"kind": ["opb", "doslb"], "delta": [0.1, 0.2]}]);
    let entries = expand(&kinds, "kinds").expect("a grid");
    let labels: Vec<String> = (entries[0].experiment.agent.iter())
        .map(|a| a.label())
        .collect();
    assert_eq!(
        labels,
        [
            "opb, delta = 0.1",
            "doslb, delta = 0.1",
            "opb, delta = 0.2",
            "doslb, delta = 0.2"
        ]
    );
    for coupled in [json!(false), json!([true, false])] {
        let mut file = file.clone();
        file["run"]["coupled"] = coupled;
        let error = expand(&file, "coupled").expect_err("refused").to_string();
        assert!(error.contains("run.coupled"), "{error}");
    }
    let many: Vec<u64> = (1..=200).collect();
    let mut file = file;
    file["run"]["horizon"] = json!(many);
    file["run"]["seed"] = json!(many);
    let error = expand(&file, "many").expect_err("too many");
    assert!(
        error.to_string().contains("at most 10000 combinations"),
        "{error}"
    );
}

#[test]
fn every_suite_plays() {
    for (name, _) in SUITES {
        let mut suite = Suite::named(name, 3).expect("a suite");
        for entry in &mut suite.entries {
            entry.experiment.run.horizon = 60;
            entry.experiment.run.runs = 2;
            entry.experiment.run.checkpoints = 3;
        }
        let plan = Comparison::plan(suite.entries, &Agents::Proposed, false).expect(name);
        let gathered = plan.run(NO_TIMING, &Monitor::default(), None).expect(name);
        let gathered = gathered.expect("not cancelled");
        for gathered in &gathered {
            let instance = gathered.result();
            assert!(instance.knows_means(), "{name}: {}", instance.name);
            assert!(
                leaderboard(&instance)
                    .iter()
                    .all(|s| s.regret.mean.is_finite())
            );
        }
        // Every published number is about an agent that plays, at another horizon here.
        for (published, verdict) in verdicts(&suite.published, &gathered) {
            assert_eq!(
                verdict,
                Verdict::OtherHorizon(60),
                "{name}: {}",
                published.agent
            );
        }
        let numbers = verdicts(&suite.published, &gathered).len();
        assert_eq!(numbers, suite.published.len(), "{name}");
    }
    let error = Suite::named("papers", 1).expect_err("no such suite");
    assert!(
        error
            .to_string()
            .contains("the suites are paper, hard, linear"),
        "{error}"
    );
}

#[test]
fn random_suites_differ_by_their_seed_alone() {
    let rewards = |seed: u64| -> Vec<_> {
        let suite = Suite::named("random", seed).expect("random");
        let of = |entry: &Entry| entry.experiment.environment.clone();
        suite.entries.iter().map(of).collect()
    };
    assert_eq!(rewards(1), rewards(1));
    assert_ne!(rewards(1), rewards(2));
}

#[test]
fn every_run_of_directions_has_an_instance_of_its_own() {
    let entry = Entry::new(experiment(json!({
        "name": "directions",
        "run": {"horizon": 50, "runs": 12, "checkpoints": 1},
        "environment": {"kind": "directions", "threshold_range": [0.25, 1.0]},
        "agent": [{"kind": "oplb"}],
    })));
    let plan = Comparison::plan(vec![entry], &Agents::Proposed, false).expect("it fits");
    let gathered = plan
        .run(NO_TIMING, &Monitor::default(), None)
        .expect("runs");
    let gathered = &gathered.expect("not cancelled")[0];
    let optima: Vec<f64> = (gathered.agents[0].iter())
        .map(|trace| trace.optimum.as_ref().expect("known").0)
        .collect();
    for (i, optimum) in optima.iter().enumerate() {
        assert!(*optimum >= 0.0 && *optimum <= 2_f64.sqrt());
        assert!(!optima[..i].contains(optimum), "{optima:?}");
    }
    let gap = |run: u64| gathered.experiment.gap_of_actions(run).expect("x₀ = 0");
    assert!(
        (0..12).all(|run| gap(run) >= -1e-12),
        "no action beats the best policy"
    );
    // The threshold is no one number.
    assert!(gathered.result().guardrails[0].threshold.is_nan());
    // The cost of the best policy never exceeds what was drawn.
    for trace in &gathered.agents[0] {
        let cost = trace.optimum.as_ref().expect("known").1[0];
        assert!(cost <= 1.0 + 1e-12);
    }
}

#[test]
fn a_published_number_agrees_within_tolerance_and_interval_only() {
    let mut suite = Suite::named("paper", 1).expect("paper");
    let entries: Vec<Entry> = (suite.entries.drain(..))
        .filter(|entry| entry.fixed)
        .take(1)
        .map(|mut entry| {
            entry.experiment.run.horizon = 4000;
            entry.experiment.run.runs = 4;
            entry
        })
        .collect();
    let plan = Comparison::plan(entries, &Agents::Proposed, false).expect("it fits");
    let gathered = plan
        .run(NO_TIMING, &Monitor::default(), None)
        .expect("runs");
    let gathered = gathered.expect("not cancelled");
    let ours = leaderboard(&gathered[0].result());
    let ours = ours
        .iter()
        .find(|s| s.agent == "opb (published)")
        .expect("it played");
    let published = |value: f64| {
        let mut number = suite.published[0].clone();
        (number.value, number.horizon, number.tolerance) = (value, 4000, 0.05);
        assert_eq!(number.quantity, Quantity::Regret);
        let all = vec![number];
        verdicts(&all, &gathered)[0].1.clone()
    };
    let Interval95 { mean, low, high } = ours.regret;
    assert!(low < mean && mean < high);
    for (value, expected) in [
        (mean, "agrees"),
        (mean / 1.049, "agrees"),
        (mean / 0.951, "agrees"),
        // The mean is too far away, the interval's end is not.
        (0.5 * (mean + high) / 0.95, "undecided"),
        (0.5 * (mean + low) / 1.05, "undecided"),
        (high / 0.95 * 1.001, "differs"),
        (low / 1.05 * 0.999, "differs"),
    ] {
        assert_eq!(published(value).words(), expected, "{value} beside {mean}");
        assert_eq!(published(value).ours().map(|ours| ours.mean), Some(mean));
    }
    // A mean of particular runs needs all of them.
    let mut particular = suite.published[0].clone();
    (particular.horizon, particular.runs) = (4000, Some(5));
    assert_eq!(
        verdicts(&[particular], &gathered)[0].1,
        Verdict::FewerRuns(4)
    );
    let mut absent = suite.published[0].clone();
    absent.agent = "nobody".into();
    assert_eq!(verdicts(&[absent], &gathered)[0].1, Verdict::Absent);
}

#[test]
fn kinds_can_be_listed_and_made() {
    for kind in AgentConfig::kinds() {
        let config = AgentConfig::of_kind(&kind).expect("it has defaults");
        assert_eq!(config.kind(), kind);
        assert_eq!(config.label(), kind);
    }
}

/// θ, the threshold and the directions of a run.
type Drawn = (Vec<f64>, f64, Vec<Vec<f64>>);

fn directions(more: serde_json::Value, runs: u64) -> Result<Vec<Drawn>, Error> {
    let mut environment = more;
    environment["kind"] = "directions".into();
    let config = experiment(json!({
        "run": {"horizon": 10, "runs": runs, "checkpoints": 1},
        "environment": environment,
        "agent": [{"kind": "oplb"}],
    }));
    let checked = config.check("directions")?;
    let Environment::Redrawn(redrawn) = checked.environment() else {
        panic!("every run has its own instance");
    };
    let one = |run: u64| {
        let instance = redrawn.instance(run)?;
        let drawn = instance.resolved();
        let Some(Actions::List(actions)) = drawn.environment.actions.clone() else {
            panic!("a list of actions");
        };
        assert!(actions[0].iter().all(|x| *x == 0.0));
        Ok((
            drawn.environment.theta.clone().expect("θ"),
            drawn.guardrail[0].at_most.expect("a threshold"),
            actions[1..].to_vec(),
        ))
    };
    (0..runs).map(one).collect()
}

fn check_directions(all: &[Drawn], k: usize, [low, high]: [f64; 2]) {
    for (r, (theta, threshold, directions)) in all.iter().enumerate() {
        assert!(theta.iter().all(|x| x.abs() <= 1.0));
        assert!((low..=high).contains(threshold), "{threshold}");
        assert_eq!(directions.len(), k);
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        for x in directions {
            let length = dot(x, x).sqrt();
            assert!(length <= 1.0 && length > 1.0 - 1e-12, "{length}");
        }
        assert!(directions.iter().any(|x| dot(x, theta) > 0.0), "run {r}");
        for other in &all[..r] {
            assert_ne!(other.0, *theta);
            assert_ne!(other.2, *directions);
        }
    }
}

#[test]
fn drawn_directions_are_random_and_some_pay() {
    for (d, k) in [(2, 10), (2, 2), (5, 3)] {
        let drawn = |seed: u64| {
            let range =
                json!({"d": d, "k": k, "threshold_range": [0.1, 0.3], "instance_seed": seed});
            directions(range, 60).expect("valid")
        };
        check_directions(&drawn(1), k, [0.1, 0.3]);
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }
}

#[test]
fn published_directions_are_thirty() {
    for range in [[0.25, 1.0], [0.05, 0.25]] {
        let published = || json!({"instances": "published", "threshold_range": range});
        let all = directions(published(), 30).expect("valid");
        check_directions(&all, 10, range);
        assert_eq!(all, directions(published(), 30).expect("valid"));
        let error = directions(published(), 31).expect_err("there are 30");
        assert!(error.to_string().contains("run.runs"), "{error}");
    }
    // What numpy's generator starts with.
    let first = directions(json!({"instances": "published"}), 1).expect("the default range");
    assert_eq!(first[0].0, [0.2739233746429086, -0.4604265724722594]);
    assert_eq!(first[0].1, 0.8599526794002044);
    for (key, value) in [
        ("threshold_range", json!([0.25, 0.9])),
        ("d", json!(3)),
        ("k", json!(9)),
        ("instance_seed", json!(1)),
    ] {
        let mut wrong = json!({"instances": "published"});
        wrong[key] = value;
        let error = directions(wrong, 3).expect_err(key).to_string();
        assert!(error.contains(&format!("environment.{key}")), "{error}");
    }
    let other = json!({
        "environment": {"kind": "linear", "d": 2, "k": 3, "instances": "published"},
        "guardrail": [{"name": "cost", "at_most": 0.5}],
        "agent": [{"kind": "oplb"}],
    });
    let error = experiment(other).check("linear").expect_err("other kind");
    assert!(
        error.to_string().contains("environment.instances"),
        "{error}"
    );
}

#[test]
fn more_runs_than_published_instances_are_for_the_others() {
    let mut suite = Suite::named("directions", 1).expect("directions");
    for entry in &mut suite.entries {
        entry.set_run(None, Some(100), None);
    }
    let runs: Vec<u64> = suite
        .entries
        .iter()
        .map(|e| e.experiment.run.runs)
        .collect();
    assert_eq!(runs, [30, 30, 100, 100]);
    let given = Agents::listed("oplb").expect("known");
    let plan = Comparison::plan(suite.entries, &given, false).expect("it fits");
    let played: Vec<usize> = plan.experiments.iter().map(|e| e.agents().len()).collect();
    assert_eq!(
        played,
        [3, 3, 1, 1],
        "published numbers are of their own agents"
    );
    // Somebody's own experiment is refused more.
    let mut own = Entry::new(experiment(json!({
        "environment": {"kind": "directions", "instances": "published"},
        "agent": [{"kind": "oplb"}],
    })));
    own.set_run(None, Some(31), None);
    let error = Comparison::plan(vec![own], &Agents::Proposed, false).expect_err("there are 30");
    assert!(error.to_string().contains("run.runs"), "{error}");
}

#[test]
#[ignore = "nine million rounds"]
fn published_numbers_of_directions_are_met() {
    let mut suite = Suite::named("directions", 1).expect("directions");
    suite.entries.retain(|entry| entry.fixed);
    for entry in &mut suite.entries {
        (entry.experiment.agent).retain(|agent| agent.kind() != "oplb");
    }
    let plan = Comparison::plan(suite.entries, &Agents::Proposed, false).expect("it fits");
    let gathered = plan.run(NO_TIMING, &Monitor::default(), None);
    let gathered = gathered.expect("runs").expect("not cancelled");
    for (number, verdict) in verdicts(&suite.published, &gathered) {
        let ours = verdict.ours().expect("it played");
        let line = format!(
            "{}, {}: {} published, {:.4} ours",
            number.instance, number.agent, number.value, ours.mean
        );
        eprintln!("{line}");
        assert_eq!(verdict.words(), "agrees", "{line}");
    }
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
        banister_sim::run(&[experiment], NO_TIMING, &Monitor::default()).expect("runs");
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
    fn decide(&mut self) -> &Decision {
        self.0.policy = vec![(2, 1.0)];
        &self.0
    }
    fn offer(&mut self, _: &[f64]) -> Result<(), Error> {
        Ok(())
    }
    fn observe(&mut self, _: usize, reward: f64, _: &[f64]) -> Result<(), Error> {
        self.1.lock().expect("alone")[0].push((reward, 0.0));
        Ok(())
    }
    fn save(&self) -> String {
        String::new()
    }
}
