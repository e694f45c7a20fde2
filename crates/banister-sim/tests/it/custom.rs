//! User-supplied environments: judged as the built-in ones, or honest about what is not known.

use crate::common;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use banister::{Error, Guardrail, OpbConfig, OplbConfig, Problem, Registry as _, SignalConfig};
use banister_rivals::AgentConfig;
use banister_sim::results::InstanceResult;
use banister_sim::{
    Arms, CustomEnvironment, CustomExperiment, CustomRound, CustomRun, Options, Progress,
    RunConfig, run,
};
use common::{PAPER_COSTS, PAPER_REWARDS, laws, paper_experiment, paper_problem};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

const QUIET: Options = Options { no_timing: true };

/// The paper's arms with draws of its own.
#[derive(Clone)]
struct Paper {
    arms: Arms,
    knows_means: bool,
}

struct PaperRun {
    world: Paper,
    rng: ChaCha8Rng,
    drawn: Option<Arc<std::sync::Mutex<Vec<f64>>>>,
}

impl Paper {
    fn new(knows_means: bool) -> Self {
        let config = paper_experiment(0.2, 1, 1, OpbConfig::default());
        let experiment = config.check("paper").expect("valid");
        let arms = laws(&experiment).clone();
        Self { arms, knows_means }
    }
}

impl CustomEnvironment for Paper {
    fn knows_means(&self) -> bool {
        self.knows_means
    }

    fn start(&self, seed: u64, run: u64) -> Result<Box<dyn CustomRun>, Error> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0xabc);
        rng.set_stream(run);
        Ok(Box::new(PaperRun {
            world: self.clone(),
            rng,
            drawn: None,
        }))
    }
}

impl CustomRun for PaperRun {
    fn begin(&mut self, round: &mut CustomRound) -> Result<(), Error> {
        if self.world.knows_means && round.means.is_empty() {
            round.means = vec![PAPER_REWARDS.to_vec(), PAPER_COSTS.to_vec()];
        }
        Ok(())
    }

    fn pull(&mut self, action: usize, costs: &mut [f64]) -> Result<f64, Error> {
        let reward = self.world.arms.pull(action, &mut self.rng, costs);
        if let Some(drawn) = &self.drawn {
            let mut drawn = drawn.lock().expect("one thread");
            drawn.extend([reward, costs[0]]);
        }
        Ok(reward)
    }
}

fn experiment(environment: impl CustomEnvironment + 'static, horizon: u64) -> CustomExperiment {
    CustomExperiment {
        name: "paper".into(),
        run: RunConfig {
            horizon,
            runs: 8,
            checkpoints: 20,
            ..RunConfig::default()
        },
        problem: paper_problem(0.2, Some(0.0)),
        environment: Arc::new(environment),
        agents: vec![AgentConfig::Opb(OpbConfig::default()).into()],
    }
}

fn play(config: &CustomExperiment) -> Result<InstanceResult, Error> {
    let done = run(&[config.check()?], QUIET, &Progress::default())?;
    Ok(done.expect("not cancelled").instances.remove(0))
}

#[test]
fn the_papers_arms_from_outside_are_judged_as_the_built_in_ones() {
    let outside = play(&experiment(Paper::new(true), 20_000)).expect("it runs");
    let inside = common::simulate(paper_experiment(0.2, 20_000, 8, OpbConfig::default()));
    assert!((outside.optimum.reward - 0.7).abs() < 1e-12);
    assert!((outside.optimum.costs[0] - 0.2).abs() < 1e-12);
    let regrets = |runs: &[banister_sim::results::RunSummary]| -> Vec<f64> {
        runs.iter().map(|run| run.regret).collect()
    };
    let (ours, ours_error) = common::mean_and_error(&regrets(&outside.agents[0].runs));
    let (theirs, their_error) = common::mean_and_error(&regrets(&inside.runs));
    // Other draws of the same law.
    assert!(
        (ours - theirs).abs() < 4.0 * (ours_error + their_error),
        "{ours} ± {ours_error} and {theirs} ± {their_error}"
    );
    for run in &outside.agents[0].runs {
        assert_eq!(run.violations, Some(0));
        assert_eq!(run.worst_exceedance, 0.0);
        // Pseudo-regret of a policy and its pulls differ by the noise of the draws alone.
        let gaps = PAPER_REWARDS.map(|reward| 0.7 - reward);
        let pulled: f64 = (run.pulls.iter().zip(gaps))
            .map(|(n, gap)| *n as f64 * gap)
            .sum();
        assert!((pulled - run.regret).abs() < 4.0 * (20_000_f64 * 0.09).sqrt());
    }
}

#[test]
fn without_means_what_needs_them_is_unknown_and_the_rest_is_what_was_drawn() {
    /// Plays the paper's arms and keeps what was drawn in run 0.
    struct Recorder(Paper, Arc<std::sync::Mutex<Vec<f64>>>);
    impl CustomEnvironment for Recorder {
        fn start(&self, seed: u64, run: u64) -> Result<Box<dyn CustomRun>, Error> {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(run);
            Ok(Box::new(PaperRun {
                world: self.0.clone(),
                rng,
                drawn: (run == 0).then(|| Arc::clone(&self.1)),
            }))
        }
    }
    let drawn = Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut config = experiment(Recorder(Paper::new(false), Arc::clone(&drawn)), 1000);
    (config.run.runs, config.run.checkpoints) = (1, 4);
    let instance = play(&config).expect("it runs");
    assert!(!instance.knows_means() && instance.optimum.policy.is_empty());
    let agent = &instance.agents[0];
    let summary = &agent.runs[0];
    assert!(summary.regret.is_nan() && summary.worst_exceedance.is_nan());
    assert_eq!(summary.violations, None);
    let curve = &agent.curve;
    let unknown = [
        &curve.regret_mean,
        &curve.regret_std,
        &curve.regret_q05,
        &curve.regret_q95,
        &curve.cost_worst[0],
    ];
    for row in unknown {
        assert!(row.len() == 4 && row.iter().all(|x| x.is_nan()));
    }
    assert!(curve.price_mean[0].iter().all(|price| *price >= 0.0));
    let drawn = drawn.lock().expect("done");
    assert_eq!(drawn.len(), 2000);
    for (k, window) in drawn.chunks(2 * 250).enumerate() {
        let mean = |from: usize| window.iter().skip(from).step_by(2).sum::<f64>() / 250.0;
        assert!((curve.reward_mean[k] - mean(0)).abs() < 1e-12);
        assert!((curve.cost_mean[0][k] - mean(1)).abs() < 1e-12);
    }
    assert!(curve.reward_mean.iter().any(|reward| *reward > 0.0));
}

/// Contexts (1, v)/√2 of its own, with or without the safe action among them; noise of ±0.1.
struct Contexts {
    with_safe: bool,
}

const SAFE: [f64; 2] = [0.6, 0.0];
const THETA: [f64; 2] = [0.5, 0.4];
const MU: [f64; 2] = [0.5, 0.5];

struct ContextsRun {
    rng: ChaCha8Rng,
    rows: Vec<f64>,
    with_safe: bool,
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

impl CustomEnvironment for Contexts {
    fn knows_means(&self) -> bool {
        true
    }

    fn actions_change(&self) -> bool {
        true
    }

    fn safe_means(&self) -> Option<Vec<f64>> {
        Some(vec![dot(&SAFE, &THETA), dot(&SAFE, &MU)])
    }

    fn start(&self, seed: u64, run: u64) -> Result<Box<dyn CustomRun>, Error> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(run);
        Ok(Box::new(ContextsRun {
            rng,
            rows: Vec::new(),
            with_safe: self.with_safe,
        }))
    }
}

impl ContextsRun {
    fn uniform(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

impl CustomRun for ContextsRun {
    fn begin(&mut self, round: &mut CustomRound) -> Result<(), Error> {
        // Another number of actions now and then.
        let count = 2 + (self.rng.next_u64() % 3) as usize;
        self.rows.clear();
        for _ in 0..count {
            let row = [0.6, 0.6 * self.uniform()];
            self.rows.extend(row);
        }
        if self.with_safe {
            self.rows.splice(2..2, SAFE);
        }
        round.actions.clone_from(&self.rows);
        // All actions, the safe one at their end if it is none of the rows.
        if !self.with_safe {
            self.rows.extend(SAFE);
        }
        round.means = [THETA, MU]
            .map(|parameter| self.rows.chunks(2).map(|x| dot(x, &parameter)).collect())
            .to_vec();
        Ok(())
    }

    fn pull(&mut self, action: usize, costs: &mut [f64]) -> Result<f64, Error> {
        let x = [self.rows[2 * action], self.rows[2 * action + 1]];
        let noise = [self.uniform(), self.uniform()].map(|u| 0.2 * (u - 0.5));
        costs[0] = dot(&x, &MU) + noise[0];
        Ok(dot(&x, &THETA) + noise[1])
    }
}

fn contexts(with_safe: bool, delay: u64, batch: u64) -> CustomExperiment {
    let guardrail = Guardrail {
        signal: SignalConfig {
            range: Some([-0.2, 1.0].into()),
            ..common::guardrail(0.4, Some(dot(&SAFE, &MU))).signal.clone()
        },
        ..common::guardrail(0.4, Some(dot(&SAFE, &MU)))
    };
    let mut problem = Problem::contextual(SAFE.to_vec(), vec![guardrail]);
    problem.reward.range = Some([-0.2, 1.0].into());
    CustomExperiment {
        name: "contexts".into(),
        run: RunConfig {
            horizon: 3000,
            runs: 3,
            checkpoints: 10,
            delay: banister_sim::Delay::UpTo(delay),
            batch,
            ..RunConfig::default()
        },
        problem,
        environment: Arc::new(Contexts { with_safe }),
        agents: vec![
            AgentConfig::Oplb(OplbConfig::default())
                .with_parameter_norm(1.0)
                .into(),
        ],
    }
}

#[test]
fn late_outcomes_of_changing_actions_are_told_by_their_features() {
    let mut totals = Vec::new();
    for (with_safe, delay, batch) in [(false, 0, 1), (false, 40, 8), (true, 0, 1), (true, 40, 8)] {
        let config = contexts(with_safe, delay, batch);
        let instance = play(&config).expect("it runs");
        assert_eq!(instance.arms, ["safe action", "other actions"]);
        assert!(instance.optimum.averaged && instance.knows_means());
        // The best policy of a round is never worse than the safe action, nor than the cheapest.
        assert!(instance.optimum.reward > dot(&SAFE, &THETA));
        assert!(instance.optimum.costs[0] <= 0.4 + 1e-9);
        let runs = &instance.agents[0].runs;
        assert!(runs.iter().all(|run| run.violations == Some(0)));
        assert!(runs.iter().all(|run| run.pulls.iter().sum::<u64>() == 3000));
        // It learned something: better than the safe action alone.
        let safe_alone = 3000.0 * (instance.optimum.reward - dot(&SAFE, &THETA));
        assert!(runs.iter().all(|run| run.regret < 0.9 * safe_alone));
        totals.push(runs.iter().map(|run| run.regret).sum::<f64>());
    }
    // Learning late costs something.
    assert!(totals[1] > totals[0] && totals[3] > totals[2], "{totals:?}");
}

#[test]
fn agents_for_arms_are_refused_where_actions_change() {
    let mut config = contexts(false, 0, 1);
    config.agents = vec![AgentConfig::Opb(OpbConfig::default()).into()];
    let error = config.check().expect_err("opb takes no features");
    assert!(error.to_string().contains("use `oplb`"), "{error}");
    config.problem.features.clear();
    let error = config.check().expect_err("no features");
    assert!(error.to_string().starts_with("`features`"), "{error}");
}

/// Fails in a given way in run 0, in round 3 or by never giving means.
struct Faulty {
    fault: &'static str,
}

struct FaultyRun {
    fault: &'static str,
    t: u64,
}

impl CustomEnvironment for Faulty {
    fn knows_means(&self) -> bool {
        true
    }

    fn start(&self, _: u64, run: u64) -> Result<Box<dyn CustomRun>, Error> {
        let fault = if run == 0 { self.fault } else { "" };
        Ok(Box::new(FaultyRun { fault, t: 0 }))
    }
}

impl CustomRun for FaultyRun {
    fn begin(&mut self, round: &mut CustomRound) -> Result<(), Error> {
        self.t += 1;
        if self.fault == "absent" {
            return Ok(());
        }
        round.means = vec![PAPER_REWARDS.to_vec(), PAPER_COSTS.to_vec()];
        if self.t < 3 {
            return Ok(());
        }
        match self.fault {
            "begin" => return Err(outside("no begin")),
            "rows" => round.means.truncate(1),
            "count" => round.means[0].truncate(3),
            "nan" => round.means[1][2] = f64::NAN,
            "range" => round.means[0][1] = 1.5,
            "safe" => round.means[1][0] = 0.1,
            "actions" => round.actions = vec![1.0],
            _ => {}
        }
        Ok(())
    }

    fn pull(&mut self, _: usize, costs: &mut [f64]) -> Result<f64, Error> {
        let fault = if self.t < 3 { "" } else { self.fault };
        if fault != "silent" {
            costs[0] = if fault == "cost" { f64::INFINITY } else { 0.0 };
        }
        match fault {
            "pull" => Err(outside("no pull")),
            "reward" => Ok(f64::NAN),
            "out of range" => Ok(2.0),
            _ => Ok(0.5),
        }
    }
}

fn outside(reason: &str) -> Error {
    let reason = reason.to_string();
    Error::UserCode { reason }
}

#[test]
fn what_fails_outside_stops_the_run_and_says_why() {
    const HORIZON: u64 = 100_000_000;
    for (fault, message) in [
        ("begin", "user-supplied code failed: no begin"),
        ("pull", "user-supplied code failed: no pull"),
        ("absent", "`means of round 1` is 0 rows: expected 2"),
        ("rows", "`means of round 3` is 1 rows: expected 2"),
        ("count", "`means[0] of round 3` is 3 numbers: expected 4"),
        ("nan", "`means[1][2] of round 3` is NaN"),
        ("range", "`means[0][1] of round 3` is 1.5: a mean must lie"),
        ("safe", "`means[1][0] of round 3` is 0.1: the safe action"),
        ("actions", "`actions of round 3` is given"),
        ("reward", "`reward of round 3` is NaN"),
        ("cost", "`cost[0] of round 3` is inf"),
        ("silent", "`cost[0] of round 3` is NaN"),
        (
            "out of range",
            "`reward` is 2: must lie in the declared range",
        ),
    ] {
        let config = experiment(Faulty { fault }, HORIZON);
        let monitor = Progress::default();
        let experiment = config.check().expect("nothing to see yet");
        let error = run(&[experiment], QUIET, &monitor).expect_err(fault);
        assert!(error.to_string().starts_with(message), "{fault}: {error}");
        // The other runs, already begun, are not played to their end.
        assert!(monitor.rounds.load(Ordering::Relaxed) < HORIZON);
    }
}

#[test]
fn what_is_declared_wrong_is_refused_before_the_first_round() {
    type Change = fn(&mut CustomExperiment);
    let cases: [(Change, &str); 5] = [
        (|c| c.run.horizon = 0, "`run.horizon` is 0"),
        (|c| c.agents.clear(), "`agent` is absent"),
        (|c| c.agents.push(c.agents[0].clone()), "`agent[1].label`"),
        (|c| c.problem.safe = 9, "`safe` is 9"),
        (
            |c| {
                let guardrail = &mut c.problem.guardrails[0];
                (guardrail.relative, guardrail.at_most) = (true, Some(1.5));
                guardrail.safe_cost = None;
            },
            "`guardrails[0].relative` is true",
        ),
    ];
    for (change, message) in cases {
        let mut config = experiment(Paper::new(true), 100);
        change(&mut config);
        let error = config.check().expect_err(message);
        assert!(error.to_string().starts_with(message), "{error}");
    }
}

#[test]
fn a_relative_guardrail_is_judged_by_the_declared_safe_means() {
    /// Two constant arms; the second costs 1.4 times the first.
    struct Relative(bool);
    struct RelativeRun(bool);
    impl CustomEnvironment for Relative {
        fn knows_means(&self) -> bool {
            self.0
        }
        fn safe_means(&self) -> Option<Vec<f64>> {
            self.0.then(|| vec![0.2, 0.5])
        }
        fn start(&self, _: u64, _: u64) -> Result<Box<dyn CustomRun>, Error> {
            Ok(Box::new(RelativeRun(self.0)))
        }
    }
    impl CustomRun for RelativeRun {
        fn begin(&mut self, round: &mut CustomRound) -> Result<(), Error> {
            if self.0 {
                round.means = vec![vec![0.2, 0.6], vec![0.5, 0.7]];
            }
            Ok(())
        }
        fn pull(&mut self, action: usize, costs: &mut [f64]) -> Result<f64, Error> {
            costs[0] = [0.5, 0.7][action];
            Ok([0.2, 0.6][action])
        }
    }
    let config = |known: bool| {
        let mut config = experiment(Relative(known), 50);
        config.problem.arms.truncate(2);
        config.problem.guardrails = vec![Guardrail {
            relative: true,
            ..common::guardrail(1.2, None)
        }];
        config
    };
    let known = play(&config(true)).expect("it runs");
    assert!((known.guardrails[0].threshold - 0.6).abs() < 1e-12);
    // Half of the time the second arm.
    assert!((known.optimum.reward - 0.4).abs() < 1e-9);
    let unknown = play(&config(false)).expect("it runs");
    assert!(unknown.guardrails[0].threshold.is_nan());
    assert_eq!(unknown.agents[0].runs[0].violations, None);
}
