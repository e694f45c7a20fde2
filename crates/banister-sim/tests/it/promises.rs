//! Sums of excesses, verdicts on promises, leaderboards by promise, and paired differences that hold at once.

use banister::guarantee::{CumulativeBudget, Guarantee};
use banister::{Agent, Decision, Error, Event, Round};
use banister_sim::compare::{
    Agents, Comparison, Entry, PromiseVerdict, leaderboard, leaderboards, overall, pairs,
};
use banister_sim::results::{
    AgentResult, Curve, Direction, Excess, GuardrailInfo, InstanceResult, Optimum, RunSummary,
};
use banister_sim::{AgentSource, CustomAgent, ExperimentConfig, Options, Progress};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde_json::json;

const HORIZON: u64 = 10_000;

/// Plays the arms of a list in turn.
struct InTurn(Vec<usize>, usize, Decision);

impl Agent for InTurn {
    fn decide(&mut self, _: &Round) -> Result<&Decision, Error> {
        self.2.policy = vec![(self.0[self.1 % self.0.len()], 1.0)];
        self.1 += 1;
        Ok(&self.2)
    }
    fn apply(&mut self, _: &Event) -> Result<(), Error> {
        Ok(())
    }
}

fn in_turn(label: &str, arms: &'static [usize]) -> AgentSource {
    let make = move |_: &banister::Problem, _, _| -> Result<Box<dyn Agent>, Error> {
        Ok(Box::new(InTurn(arms.to_vec(), 0, Decision::default())))
    };
    CustomAgent::new(label, make).into()
}

#[test]
fn sums_of_excesses_are_those_of_the_policies_played() {
    let config: ExperimentConfig = serde_json::from_value(json!({
        "run": {"horizon": 1000, "runs": 2, "checkpoints": 4},
        "environment": {
            "kind": "bernoulli",
            "rewards": [0.1, 0.5, 0.7],
            "costs": [[0.0, 0.5, 0.2], [0.9, 0.3, 0.6]],
        },
        "guardrail": [
            {"name": "cost", "at_most": 0.25, "safe_cost": 0.0},
            {"name": "quality", "at_least": 0.5, "safe_cost": 0.9},
        ],
    }))
    .expect("an experiment");
    let agents = vec![
        in_turn("turns", &[1, 0]),
        in_turn("second", &[1]),
        in_turn("third", &[2]),
        // A quarter of the rounds ends with what the first arms add up to.
        in_turn("recovers", &[1, 1, 0, 0, 0]),
    ];
    let plan = Comparison::plan(vec![Entry::new(config)], &Agents::given(agents), false);
    let plan = plan.expect("it fits");
    let gathered = plan.run(Options { no_timing: true }, &Progress::default(), None);
    let gathered = gathered.expect("runs").expect("not cancelled");
    let (result, traces) = (gathered[0].result(), &gathered[0].agents);
    // Per agent: its arms in turn. The excess of a round is 0.25, −0.25 and −0.05 of the first guardrail for arms 1, 0
    // and 2, and 0.2, −0.4 and −0.1 of the second, where less is worse.
    let excess = [[-0.25, 0.25, -0.05], [-0.4, 0.2, -0.1]];
    let turns: [&[usize]; 4] = [&[1, 0], &[1], &[2], &[1, 1, 0, 0, 0]];
    for (a, turns) in turns.iter().enumerate() {
        for run in &result.agents[a].runs {
            for (i, excess) in excess.iter().enumerate() {
                let (mut violation, mut net, mut peak, mut quarter) = (0.0, 0.0, 0.0_f64, 0.0);
                for t in 0..1000 {
                    let own: f64 = excess[turns[t % turns.len()]];
                    violation += own.max(0.0);
                    net += own;
                    peak = peak.max(net);
                    if t + 1 == 250 {
                        quarter = net;
                    }
                    if (t + 1).is_multiple_of(250) {
                        let trace = &traces[a][run.run as usize];
                        let at = gathered[0].rounds().iter().position(|r| *r == t as u64 + 1);
                        if let Some(at) = at {
                            assert!((trace.violation[i][at] - violation).abs() < 1e-9);
                            assert!((trace.net[i][at] - net).abs() < 1e-9);
                        }
                    }
                }
                let own = run.excess[i];
                for (ours, expected) in [
                    (own.violation, violation),
                    (own.net, net),
                    (own.peak, peak),
                    (own.quarter, quarter),
                ] {
                    assert!(
                        (ours - expected).abs() < 1e-9,
                        "{a}, {i}: {own:?} for {expected}"
                    );
                }
            }
            // The best policy: arm 2 alone, beyond the safe arm.
            assert!((run.possible_gain - 1000.0 * result.optimum.reward + 100.0).abs() < 1e-9);
        }
    }
    // The headline is of the guardrail that is worst.
    let board = leaderboard(&result);
    let second = board
        .iter()
        .find(|s| s.name() == "second")
        .expect("it played");
    assert!((second.violation().expect("known").violation.mean - 250.0).abs() < 1e-9);
    assert!((second.net().expect("known").growth - 1.0).abs() < 1e-9);
}

fn summary(run: u64, regret: f64, excess: Vec<Excess>) -> RunSummary {
    RunSummary {
        run,
        seed: 1,
        regret,
        reward_end: 0.5,
        violations: Some(
            excess
                .iter()
                .map(|own| u64::from(own.violation > 0.0))
                .max()
                .unwrap_or(0),
        ),
        worst_exceedance: 0.0,
        excess,
        possible_gain: 0.5 * HORIZON as f64,
        pulls: Vec::new(),
        first_alarm: None,
        violations_after_alarm: 0,
        measured: None,
        nanoseconds_per_round: None,
    }
}

fn agent(name: &str, guarantee: Guarantee, runs: Vec<RunSummary>) -> AgentResult {
    AgentResult {
        name: name.into(),
        guarantee,
        budget: CumulativeBudget::default(),
        ours: false,
        curve: Curve::default(),
        runs,
        limit: None,
    }
}

fn instance(name: &str, guardrails: usize, agents: Vec<AgentResult>) -> InstanceResult {
    let guardrail = |i: usize| GuardrailInfo {
        name: format!("cost {i}"),
        direction: Direction::AtMost,
        threshold: 0.5,
        noise: 0.5,
    };
    InstanceResult {
        name: name.into(),
        horizon: HORIZON,
        arms: Vec::new(),
        guardrails: (0..guardrails).map(guardrail).collect(),
        optimum: Optimum {
            reward: 0.5,
            costs: vec![0.5; guardrails],
            policy: Vec::new(),
            averaged: false,
        },
        changes: Vec::new(),
        agents,
    }
}

/// Runs with the given net excesses at T/4 and T.
fn runs_with(nets: &[(f64, f64)]) -> Vec<RunSummary> {
    let each = nets.iter().enumerate().map(|(run, &(quarter, net))| {
        let peak = net.max(quarter).max(0.0);
        let own = Excess {
            violation: peak,
            net,
            peak,
            quarter,
        };
        summary(run as u64, 100.0, vec![own])
    });
    each.collect()
}

#[test]
fn a_budget_is_judged_by_what_was_promised() {
    let verdict = |budget, nets: &[(f64, f64)]| {
        let mut agent = agent("one", Guarantee::Cumulative, runs_with(nets));
        agent.budget = budget;
        leaderboard(&instance("any", 1, vec![agent]))[0].kept
    };
    let (anytime, horizon, slow) = (
        CumulativeBudget::Anytime,
        CumulativeBudget::Horizon,
        CumulativeBudget::Sublinear,
    );
    let (yes, no, unknown) = (
        Some(PromiseVerdict::Yes),
        Some(PromiseVerdict::No),
        Some(PromiseVerdict::Undecided),
    );
    // After every round.
    assert_eq!(verdict(anytime, &[(-5.0, -9.0), (-1.0, 0.0)]), yes);
    assert_eq!(verdict(anytime, &[(-5.0, -9.0), (2.0, -9.0)]), no);
    // Noise: 0.5·√(2·10⁴·ln(2/0.01)) = 162.8.
    assert_eq!(verdict(horizon, &[(500.0, 162.0), (0.0, -20.0)]), yes);
    assert_eq!(verdict(horizon, &[(0.0, 163.0), (0.0, -20.0)]), no);
    // Growth: √T doubles from T/4 to T, T gives four times as much, and 4^¾ = 2.83 is between.
    assert_eq!(verdict(slow, &[(30.0, 120.0), (40.0, 160.0)]), yes);
    assert_eq!(verdict(slow, &[(1000.0, 2000.0), (1010.0, 2030.0)]), yes);
    assert_eq!(verdict(slow, &[(1000.0, 4000.0), (1010.0, 4020.0)]), no);
    assert_eq!(
        verdict(slow, &[(1000.0, 2700.0), (1010.0, 4020.0)]),
        unknown
    );
    assert_eq!(verdict(slow, &[(1000.0, 4000.0)]), unknown);
    // Of two guardrails the worse counts.
    let two = |run| {
        let own = |net: f64| Excess {
            violation: net,
            net,
            peak: net,
            quarter: 0.25 * net,
        };
        summary(run, 1.0, vec![own(0.0), own(5000.0 + run as f64)])
    };
    let both = agent("two", Guarantee::Cumulative, vec![two(0), two(1)]);
    assert_eq!(leaderboard(&instance("any", 2, vec![both]))[0].kept, no);
}

#[test]
fn those_that_broke_their_promise_have_no_rank_and_are_not_ordered_by_what_it_earned() {
    let plain = |name: &str, guarantee, regret: f64, violation: f64| {
        let own = Excess {
            violation,
            net: violation,
            peak: violation,
            quarter: 0.25 * violation,
        };
        let runs = (0..3).map(|run| summary(run, regret + run as f64, vec![own]));
        agent(name, guarantee, runs.collect())
    };
    // What a promise of slow growth lets an agent exceed the budget by gives no place above those that do not.
    let slow = |name: &str, regret: f64, net: f64| {
        let own = |run: u64| Excess {
            violation: net,
            net: net + run as f64,
            peak: net,
            quarter: 0.5 * net,
        };
        let runs = (0..3).map(|run| summary(run, regret + run as f64, vec![own(run)]));
        agent(name, Guarantee::Cumulative, runs.collect())
    };
    let result = instance(
        "any",
        1,
        vec![slow("exceeds", -300.0, 1000.0), slow("frugal", 90.0, 20.0)],
    );
    let board = leaderboard(&result);
    let places: Vec<_> = board
        .iter()
        .map(|s| (s.name(), s.rank, s.exceeds))
        .collect();
    assert_eq!(
        places,
        [("frugal", Some(1), false), ("exceeds", Some(2), true)]
    );
    let (every, sum, none) = (
        Guarantee::EveryRound,
        Guarantee::Cumulative,
        Guarantee::Unsafe,
    );
    let result = instance(
        "any",
        1,
        vec![
            plain("free", none, -900.0, 3000.0),
            plain("bold", every, -500.0, 700.0),
            plain("budget", sum, 50.0, 10.0),
            plain("good, tuned", every, 5.0, 0.0),
            plain("bad", every, 300.0, 20.0),
            plain("slow", every, 400.0, 0.0),
            plain("greedy", sum, -100.0, 2500.0),
            plain("good", every, 40.0, 0.0),
            plain("nobody, tuned", sum, 10.0, 0.0),
            plain("meek", none, 900.0, 1.0),
        ],
    );
    let board = leaderboard(&result);
    let names: Vec<&str> = board.iter().map(|s| s.name()).collect();
    let expected = [
        "good",
        "good, tuned",
        "slow",
        "bad",
        "bold",
        "nobody, tuned",
        "budget",
        "greedy",
        "meek",
        "free",
    ];
    assert_eq!(names, expected);
    let ranks: Vec<Option<u64>> = board.iter().map(|s| s.rank).collect();
    let (a, b) = (Some(1), Some(2));
    assert_eq!(ranks, [a, None, b, None, None, a, b, None, None, None]);
    assert_eq!(board[1].tuned_of, Some("good"));
    assert_eq!(board[5].tuned_of, None, "its original did not play");
}

/// A number with the standard normal law (Box and Muller).
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (rng.random(), rng.random());
    (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// Four agents that are equally good on three instances: 18 pairs, of whose intervals none may miss zero.
#[test]
fn intervals_of_all_pairs_hold_at_once() {
    let mut rng = ChaCha8Rng::seed_from_u64(19);
    let (families, mut at_once, mut alone) = (400, 0, 0);
    for _ in 0..families {
        let mut board = |name: &str| {
            let mut one = |name: &str| {
                let runs = (0..8).map(|run| summary(run, 100.0 + normal(&mut rng), Vec::new()));
                agent(name, Guarantee::EveryRound, runs.collect())
            };
            let agents = ["a", "b", "c", "d"].map(&mut one).to_vec();
            instance(name, 0, agents)
        };
        let instances = [board("x"), board("y"), board("z")];
        let boards = leaderboards(&instances);
        let pairs = pairs(&boards);
        assert_eq!(pairs.iter().map(Vec::len).sum::<usize>(), 18);
        let mut all = pairs.iter().flatten();
        let hold = |i: banister_sim::compare::Interval95| i.low <= 0.0 && i.high >= 0.0;
        at_once += u32::from(all.clone().all(|pair| hold(pair.difference)));
        alone += u32::from(all.all(|pair| hold(pair.alone)));
    }
    // 380 expected at least, and three standard errors; one by one they fail in most families.
    assert!(at_once >= 367, "{at_once} of {families}");
    assert!(
        alone < 280,
        "{alone} of {families}: the control should fail"
    );
}

#[test]
fn pairs_share_a_promise_or_one_of_them_is_ours() {
    let runs = || {
        (0..3)
            .map(|run| summary(run, 10.0 + run as f64, Vec::new()))
            .collect()
    };
    let one = |name: &str, guarantee, ours| AgentResult {
        ours,
        ..agent(name, guarantee, runs())
    };
    let board = instance(
        "any",
        0,
        vec![
            one("opb", Guarantee::EveryRound, true),
            one("s_colts", Guarantee::EveryRound, false),
            one("doslb", Guarantee::Cumulative, false),
            one("ucb_bwk", Guarantee::Cumulative, false),
            one("ucb1", Guarantee::Unsafe, false),
            one("thompson", Guarantee::Unsafe, false),
        ],
    );
    let boards = [leaderboard(&board)];
    let pairs = &pairs(&boards)[0];
    let names: Vec<(&str, &str)> = (pairs.iter())
        .map(|pair| (pair.agent.name(), pair.other.name()))
        .collect();
    let expected = [
        ("s_colts", "opb"),
        ("doslb", "opb"),
        ("ucb_bwk", "opb"),
        ("ucb1", "opb"),
        ("thompson", "opb"),
        ("ucb_bwk", "doslb"),
    ];
    assert_eq!(names, expected);
}

#[test]
fn over_all_instances_the_share_of_the_possible_gain_is_compared() {
    // Possible gain of a run: 5000. Regrets of `a` and `b`, per instance.
    let regrets = [
        (500.0, 1000.0),
        (250.0, 1500.0),
        (1000.0, 750.0),
        (500.0, 1250.0),
    ];
    let instances: Vec<InstanceResult> = (regrets.iter().enumerate())
        .map(|(i, &(a, b))| {
            let runs = |regret: f64, violation: f64| -> Vec<RunSummary> {
                let own = Excess {
                    violation,
                    ..Excess::default()
                };
                let one = |run| summary(run, regret + (run as f64 - 1.0), vec![own]);
                (0..3).map(one).collect()
            };
            let a = agent(
                "a",
                Guarantee::EveryRound,
                runs(a, if i == 2 { 1.0 } else { 0.0 }),
            );
            let b = agent("b", Guarantee::EveryRound, runs(b, 0.0));
            instance(&format!("instance {i}"), 1, vec![a, b])
        })
        .collect();
    let boards = leaderboards(&instances);
    let rows = overall(&boards);
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    assert_eq!((row.agent.name(), row.other.name()), ("b", "a"));
    // Differences 0.1, 0.25, −0.05 and 0.15 of the possible gain; t for 3 degrees of freedom is 3.182446.
    let mean: f64 = 0.1125;
    let squares: f64 = [0.1, 0.25, -0.05, 0.15]
        .iter()
        .map(|d: &f64| (d - mean).powi(2))
        .sum();
    let half = 3.182_446_3 * (squares / 3.0 / 4.0).sqrt();
    assert!((row.difference.mean - mean).abs() < 1e-12);
    assert!((row.difference.high - mean - half).abs() < 1e-6, "{row:?}");
    assert_eq!((row.won, row.lost), ([1, 1], [3, 3]));
    assert_eq!((row.broke, row.instances), ([0, 1], 4));
    // One instance is none to average over.
    assert!(overall(&boards[..1]).is_empty());
}
