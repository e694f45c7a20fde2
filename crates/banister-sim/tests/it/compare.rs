//! Comparisons: leaderboards, who fits, grids, suites, published numbers.

use banister::Registry as _;
use banister_rivals::AgentConfig;
use banister_sim::compare::{
    Agents, Comparison, Entry, FieldValue, Interval95, PromiseVerdict, PublishedNumber, Quantity,
    SUITES, Spread, Suite, Verdict, expand, is_grid, leaderboard, student_quantile, verdicts,
};
use banister_sim::{EnvironmentConfig, ExperimentConfig, Options, Progress};
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
fn quantiles_are_right_at_the_small_levels_of_many_pairs() {
    for level in [1e-3, 1e-5, 1e-7] {
        let p: f64 = 1.0 - level;
        // Closed forms: Cauchy's law, and t/√(2 + t²) with two degrees of freedom.
        let one = (std::f64::consts::FRAC_PI_2 * p).tan();
        let two = p * (2.0 / (1.0 - p * p)).sqrt();
        for (freedom, t) in [(1, one), (2, two)] {
            let ours = student_quantile(p, freedom);
            assert!(
                (ours / t - 1.0).abs() < 1e-8,
                "{freedom}, {level}: {ours} for {t}"
            );
        }
    }
    // From SciPy 1.x, `scipy.stats.t.isf(level / 2, freedom)`.
    for (level, freedom, t) in [
        (1e-4, 9, 6.593_682_583_944_882),
        (1e-6, 4, 49.458_636_756_578_59),
        (1e-5, 29, 5.334_970_094_946_93),
        (5e-6, 3, 76.104_491_652_836_24),
        (2e-7, 19, 7.905_112_633_673_403),
        (1e-5, 99, 4.656_746_141_499_076),
    ] {
        let ours = student_quantile(1.0 - level, freedom);
        assert!(
            (ours / t - 1.0).abs() < 1e-7,
            "{freedom}, {level}: {ours} for {t}"
        );
    }
}

#[test]
fn agents_stand_by_their_promise_and_what_violating_earns_gives_no_rank() {
    let agents = ["ucb1", "opb", "doslb"];
    let instance = &results(vec![paper(0.2, 3000, 4, &agents)], &Agents::Proposed)[0];
    let board = leaderboard(instance);
    let names: Vec<&str> = board.iter().map(|s| s.name()).collect();
    // The other two violate, and earn more for it.
    assert_eq!(names, ["opb", "doslb", "ucb1"]);
    assert_eq!((board[0].rank, board[2].rank), (Some(1), None));
    assert_eq!(
        (board[0].kept, board[2].kept),
        (Some(PromiseVerdict::Yes), None)
    );
    assert_eq!(board[0].agent.violations(), Some(0));
    assert!(board[1..].iter().all(|s| s.agent.violations() > Some(0)));
    assert!(
        board[1..]
            .iter()
            .all(|s| s.regret.mean < board[0].regret.mean)
    );
    // The share is the count over all rounds.
    for standing in &board {
        let share = standing.agent.violations().expect("known") as f64 / 12_000.0;
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
    let both = entries.clone();
    let plan = Comparison::plan(entries, &agents, true).expect("skipped");
    assert_eq!(plan.left_out.len(), 2);
    assert_eq!(plan.experiments[0].agents().len(), 3);
    assert_eq!(plan.experiments[1].agents().len(), 1);
    // The same for agents that a file declares itself.
    let mut own = plan_of_contexts();
    let agents = json!([{"kind": "opb"}, {"kind": "oplb"}]);
    own.experiment.agent = serde_json::from_value(agents).expect("agents");
    let error = Comparison::plan(vec![own.clone()], &Agents::Proposed, false);
    let error = error.expect_err("one does not fit").to_string();
    assert!(error.contains("`opb` on `contexts`"), "{error}");
    let plan = Comparison::plan(vec![own], &Agents::Proposed, true).expect("skipped");
    assert_eq!(
        (plan.left_out.len(), plan.experiments[0].agents().len()),
        (1, 1)
    );
    // An instance that nobody supports is skipped too, as long as there is another.
    let agents = Agents::listed("ucb1").expect("known");
    let error = Comparison::plan(vec![plan_of_contexts()], &agents, true);
    let error = error.expect_err("nobody is left").to_string();
    assert!(error.contains("no agent supports any instance"), "{error}");
    let error = Comparison::plan(vec![plan_of_contexts()], &agents, false);
    assert!(error.is_err(), "not asked to skip anything");
    let plan = Comparison::plan(both, &agents, true).expect("one is left");
    assert_eq!((plan.left_out.len(), plan.experiments.len()), (1, 1));
    // A wrong value is no reason to skip an agent.
    let mut wrong = paper(0.5, 100, 1, &["opb"]);
    let agents = json!([{"kind": "opb"}, {"kind": "s_colts", "delta": 2.0}]);
    wrong.experiment.agent = serde_json::from_value(agents).expect("agents");
    let error = Comparison::plan(vec![wrong], &Agents::Proposed, true).expect_err("refused");
    assert!(error.to_string().starts_with("`delta` is 2"), "{error}");
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
            {"kind": "opb", "delta": [0.1, 0.01], "intervals": ["kl", "mixture"]},
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
            run.horizon, entry.experiment.environment, entry.experiment.guardrail[0].at_most
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
    let by_segment = json!({
        "kind": "segmented",
        "segments": ["de", "fr"],
        "frequencies": [0.7, 0.3],
        "rewards": [[0.3, 0.8], [0.3, 0.6]],
        "costs": [[[0.1, 0.1], [0.1, 0.9]]],
    });
    let mut changed = plain["environment"].clone();
    changed["changes"] = json!([{"round": 10, "rewards": [0.7, 0.1]}]);
    for environment in [plain["environment"].clone(), by_segment, changed] {
        let mut plain = plain.clone();
        plain["environment"] = environment;
        assert!(!is_grid(&plain), "{plain}");
        assert_eq!(expand(&plain, "plain").expect("no grid").len(), 1);
    }
    for (bad, message) in [
        (json!([]), "an empty list"),
        (json!([0.1, 0.1]), "0.1 twice"),
    ] {
        let mut file = file.clone();
        file["guardrail"][0]["at_most"] = bad;
        let error = expand(&file, "bad").expect_err("refused");
        let text = error.to_string();
        assert!(
            text.contains("guardrails[0].at_most") && text.contains(message),
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
            if let EnvironmentConfig::Bernoulli(config) = &mut entry.experiment.environment {
                for change in config.changes.iter_mut().flatten() {
                    change.round = 30;
                }
            }
        }
        let plan = Comparison::plan(suite.entries, &Agents::Proposed, false).expect(name);
        let gathered = plan.run(NO_TIMING, &Progress::default(), None).expect(name);
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

/// Results of a short run of one instance, and the verdict on any number published about it.
fn judged(runs: u64, check: impl Fn(Interval95, &dyn Fn(PublishedNumber, usize) -> Verdict)) {
    let mut suite = Suite::named("paper", 1).expect("paper");
    suite.entries.retain(|entry| entry.fixed);
    suite.entries.truncate(1);
    let own = &mut suite.entries[0].experiment.run;
    (own.horizon, own.runs) = (4000, runs);
    let plan = Comparison::plan(suite.entries, &Agents::Proposed, false).expect("it fits");
    let gathered = plan.run(NO_TIMING, &Progress::default(), None);
    let gathered = gathered.expect("runs").expect("not cancelled");
    let instance = gathered[0].result();
    let board = leaderboard(&instance);
    let ours = board.iter().find(|s| s.name() == "opb (published)");
    check(ours.expect("it played").regret, &|number, rows| {
        assert_eq!(number.quantity, Quantity::Regret);
        verdicts(&vec![number; rows], &gathered)[0].1.clone()
    });
}

/// A number of the suite `paper` with another value.
fn number(value: f64, margin: f64, spread: Option<Spread>) -> PublishedNumber {
    let suite = Suite::named("paper", 1).expect("paper");
    PublishedNumber {
        value,
        margin,
        spread,
        horizon: 4000,
        ..suite.published[0].clone()
    }
}

/// Student's quantiles are from a table: of four runs beside an exact number 3 degrees of freedom, and 2·3 beside four
/// runs with the same deviation.
#[test]
fn a_published_number_agrees_or_differs_where_the_whole_interval_does() {
    judged(4, |ours, verdict| {
        // Half the 95% interval of four runs is t₃ = 3.182446 times their standard error.
        let alone = (ours.high - ours.mean) / 3.182_446;
        assert!(alone > 0.0);
        let theirs = Spread {
            sd: 2.0 * alone,
            runs: 4,
        };
        // P(|t| ≤ quantile) = 0.90, 0.95 and 0.99.
        let cases = [
            (None, alone, [2.353_363, 3.182_446, 5.840_909]),
            (
                Some(theirs),
                alone * 2_f64.sqrt(),
                [1.943_180, 2.446_912, 3.707_428],
            ),
        ];
        for (spread, error, [equal, apart, all_apart]) in cases {
            for sign in [-1.0, 1.0] {
                // Ours is `room` inside of the margin's end, in standard errors.
                let words = |room: f64, rows: usize| {
                    let margin = 0.2;
                    let value = (ours.mean - sign * room * error) / (1.0 - sign * margin);
                    assert!(value > 0.0);
                    verdict(number(value, margin, spread), rows).words()
                };
                assert_eq!(words(1.002 * equal, 1), "agrees");
                assert_eq!(words(0.998 * equal, 1), "undecided");
                assert_eq!(words(-0.998 * apart, 1), "undecided");
                assert_eq!(words(-1.002 * apart, 1), "differs");
                // Five rows together: 0.05 / 5 each.
                assert_eq!(words(-1.002 * apart, 5), "undecided");
                assert_eq!(words(-0.998 * all_apart, 5), "undecided");
                assert_eq!(words(-1.002 * all_apart, 5), "differs");
                assert_eq!(words(1.002 * equal, 5), "agrees");
            }
        }
        // The same mean is no proof where the margin is smaller than chance.
        let close = number(ours.mean, 1.9 * alone / ours.mean, None);
        assert_eq!(verdict(close, 1).words(), "undecided");
        // A mean of particular runs needs all of them.
        let particular = PublishedNumber {
            runs: Some(5),
            ..number(ours.mean, 0.2, None)
        };
        assert_eq!(verdict(particular, 1), Verdict::FewerRuns(4));
        let absent = PublishedNumber {
            agent: "nobody".into(),
            ..number(ours.mean, 0.2, None)
        };
        assert_eq!(verdict(absent, 1), Verdict::Absent);
    });
    // One run has no interval, and shows nothing.
    judged(1, |ours, verdict| {
        for value in [ours.mean, 10.0 * ours.mean] {
            assert_eq!(verdict(number(value, 0.2, None), 1).words(), "undecided");
        }
    });
    // A standard deviation with n in its denominator is smaller.
    let Spread { sd, runs } = Spread::of_population(3.0, 4);
    assert!((sd - 12_f64.sqrt()).abs() < 1e-12 && runs == 4);
}

#[test]
fn kinds_can_be_listed_and_made() {
    for kind in AgentConfig::kinds() {
        let config = AgentConfig::of_kind(&kind).expect("it has defaults");
        assert_eq!(config.kind(), kind);
        assert_eq!(config.label(), kind);
    }
}
