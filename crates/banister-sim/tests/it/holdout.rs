//! Suites whose results are stored, pinned to the digit; the held-out one is drawn from its own seed, and tuning chooses
//! what it says it does.

use banister::Registry as _;
use std::collections::BTreeMap;

use banister_rivals::AgentConfig;
use banister_sim::compare::{
    Agents, Comparison, Suite, TUNED, Tried, chosen, leaderboard, stored, tried, unreproduced,
};
use banister_sim::{AgentSource, Options, Progress};
use banister_table::{Limits, RawTable};

const NO_TIMING: Options = Options { no_timing: true };

fn committed(name: &str) -> RawTable {
    let path = format!("{}/../../experiments/{name}", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).expect(&path);
    let limits = Limits {
        rows: 100_000,
        bytes: 100_000_000,
    };
    RawTable::from_csv(&bytes, limits).expect("a table")
}

/// Cells of a table by instance and agent.
fn cells(table: &RawTable, name: &str) -> BTreeMap<(String, String), String> {
    let column = |name: &str| table.column(name).expect(name);
    let (instance, agent, value) = (column("instance"), column("agent"), column(name));
    let cell = |row: usize, column: usize| table.cell(row, column).to_string();
    (0..table.len())
        .map(|row| ((cell(row, instance), cell(row, agent)), cell(row, value)))
        .collect()
}

#[test]
fn the_committed_results_are_those_of_the_suites() {
    // A law each.
    repeats("holdout", &[0, 1, 3], "opb,s_colts,ucb1");
    // A line with its drift declared, and jumps.
    repeats("moving", &[13, 16, 17, 18], "opb");
}

/// Plays some instances of a suite again, at full length.
fn repeats(suite: &str, places: &[usize], agents: &str) {
    let table = committed(&format!("{suite}/leaderboard.csv"));
    let (regrets, violations) = (cells(&table, "regret"), cells(&table, "violations"));
    let suite = Suite::named(suite, 1).expect("a suite");
    let names: Vec<String> = (suite.entries.iter())
        .filter_map(|entry| entry.experiment.name.clone())
        .collect();
    // Every instance of the suite and no other.
    let mut known: Vec<&String> = regrets.keys().map(|(instance, _)| instance).collect();
    known.dedup();
    let mut all: Vec<&String> = names.iter().collect();
    all.sort();
    assert_eq!(known, all);
    for &place in places {
        let entries = vec![suite.entries[place].clone()];
        let agents = Agents::listed(agents).expect("kinds");
        let plan = Comparison::plan(entries, &agents, false).expect("they fit");
        let gathered = plan
            .run(NO_TIMING, &Progress::default(), None)
            .expect("runs");
        let instance = gathered.expect("not cancelled")[0].result();
        for standing in leaderboard(&instance) {
            let key = (names[place].clone(), standing.name().to_string());
            let regret: f64 = regrets[&key].parse().expect("a number");
            assert_eq!(regret, standing.regret.mean, "{key:?}");
            let broken: u64 = violations[&key].parse().expect("a count");
            assert_eq!(Some(broken), standing.agent.violations(), "{key:?}");
        }
    }
}

#[test]
fn held_out_instances_are_not_those_that_grids_are_tuned_on() {
    let environments = |name: &str| -> Vec<_> {
        let suite = Suite::named(name, 1).expect("a suite");
        let each = suite.entries.into_iter();
        each.map(|entry| entry.experiment.environment).collect()
    };
    let (held, tuning) = (environments("holdout"), environments("tuning"));
    assert_eq!((held.len(), tuning.len()), (28, 28));
    assert!(held.iter().all(|one| !tuning.contains(one)));
    // A seed for other suites does not move them.
    let other = Suite::named("holdout", 7).expect("a suite");
    let other: Vec<_> = other
        .entries
        .into_iter()
        .map(|e| e.experiment.environment)
        .collect();
    assert_eq!(held, other);
}

fn point(kind: &str, place: Option<usize>, kept: bool, violation: f64, regret: f64) -> Tried {
    let default = AgentConfig::of_kind(kind).expect("a kind");
    Tried {
        agent: place.map_or(default.clone(), |place| default.grid()[place].clone()),
        instances: 3,
        kept,
        violation,
        regret,
    }
}

#[test]
fn the_least_regret_of_those_that_kept_their_promise_is_chosen() {
    let omega = |tried: &[Tried]| {
        let best = chosen(tried).expect("a choice");
        let best = best.first().map(|agent| {
            assert_eq!(agent.label(), format!("s_colts{TUNED}"));
            serde_json::to_value(agent).expect("JSON")["omega"].as_f64()
        });
        best.flatten()
    };
    let default = point("s_colts", None, true, 0.0, 0.5);
    let broke = point("s_colts", Some(0), false, 0.1, 0.1);
    let kept = point("s_colts", Some(1), true, 0.0, 0.4);
    assert_eq!(
        omega(&[default.clone(), broke.clone(), kept.clone()]),
        Some(0.3)
    );
    // The default is no tuned variant of itself, under whatever name.
    assert_eq!(omega(&[default.clone(), broke.clone()]), None);
    let same = point("s_colts", Some(2), true, 0.0, 0.2);
    assert_eq!(omega(&[default, kept, same]), None);
    // None kept it: the least violation, whatever the regret.
    let worse = point("s_colts", Some(1), false, 0.2, 0.0);
    let worst = point("s_colts", None, false, 0.3, 0.0);
    assert_eq!(omega(&[worst, worse, broke]), Some(0.1));
}

#[test]
fn scores_are_shares_of_what_the_safe_action_loses() {
    let suite = Suite::named("tuning", 1).expect("a suite");
    let mut entry = suite.entries[0].clone();
    entry.set_run(Some(2000), Some(2), None);
    let agents = Agents::listed("always,opb,ucb1").expect("kinds");
    let plan = Comparison::plan(vec![entry], &agents, false).expect("they fit");
    let gathered = plan
        .run(NO_TIMING, &Progress::default(), None)
        .expect("runs");
    let gathered = gathered.expect("not cancelled");
    let scores = tried(&gathered);
    let of = |kind: &str| {
        scores
            .iter()
            .find(|tried| tried.agent.kind() == kind)
            .expect(kind)
    };
    assert!(
        (of("always").regret - 1.0).abs() < 1e-9,
        "{:?}",
        of("always")
    );
    assert!(of("opb").kept && of("opb").violation == 0.0 && of("opb").regret < 1.0);
    assert!(of("ucb1").kept, "it promises nothing");
}

#[test]
fn every_stored_result_is_about_a_number_an_instance_and_an_agent_that_exist() {
    let all = stored().expect("stored results");
    assert!(all.len() >= 60, "{} numbers", all.len());
    let mut suites: BTreeMap<&str, Suite> = BTreeMap::new();
    for row in &all {
        let suite = suites
            .entry(row.suite)
            .or_insert_with(|| Suite::named(row.suite, 1).expect("a suite"));
        let number = &row.number;
        let named = |name: &Option<String>| name.as_ref() == Some(&number.instance);
        let entry = (suite.entries.iter()).find(|entry| named(&entry.experiment.name));
        let entry = entry.expect(&number.instance);
        assert_eq!(entry.experiment.run.horizon, number.horizon, "{number:?}");
        let plays = |agent: &AgentConfig| agent.label() == number.agent;
        assert!(entry.experiment.agent.iter().any(plays), "{number:?}");
        assert_eq!(row.ours.is_some(), row.verdict.is_some());
        if let Some(ours) = row.ours {
            assert!(ours.mean.is_finite() && ours.runs > 0, "{number:?}");
        }
        assert!(number.source.contains(" 20"), "a year: {}", number.source);
    }
    let with_results = all.iter().filter(|row| row.ours.is_some()).count();
    assert!(
        with_results >= 70,
        "{with_results} of {} are stored",
        all.len()
    );
}

/// Some radii have the length of the parameters in them: nobody is to be judged with twice of it.
#[test]
fn agents_of_all_suites_are_told_how_long_the_parameters_are() {
    for name in [
        "authors-linear",
        "authors-long",
        "directions",
        "linear",
        "holdout",
        "tuning",
    ] {
        let mut suite = Suite::named(name, 1).expect("a suite");
        suite.entries.retain(|entry| {
            use banister_sim::EnvironmentConfig::{AuthorsLinear, Directions, Linear};
            let environment = &entry.experiment.environment;
            matches!(environment, AuthorsLinear(_) | Directions(_) | Linear(_))
        });
        let agents = Agents::Proposed;
        let plan = Comparison::plan(suite.entries, &agents, false).expect("they fit");
        for experiment in &plan.experiments {
            let unit = experiment.problem().check().expect("valid").reward.unit();
            let squares = experiment.parameters()[0].iter().map(|x| x * x);
            let length = squares.sum::<f64>().sqrt() / unit;
            for (label, agent) in experiment.agents() {
                let AgentSource::Declared(config) = agent else {
                    panic!("{label} is declared");
                };
                if !config.takes_features() {
                    continue;
                }
                let config = serde_json::to_value(config).expect("JSON");
                let norm = config["parameter_norm"].as_f64().expect("filled in");
                assert!(
                    (norm - length).abs() < 1e-9,
                    "{}: {label} assumes {norm}, and they are {length}",
                    experiment.name
                );
            }
        }
    }
}

#[test]
fn ten_papers_since_2019_have_a_row_or_a_reason() {
    let year = |text: &str| -> Option<u64> {
        let words = text.split(|c: char| !c.is_ascii_digit());
        words
            .filter_map(|word| word.parse().ok())
            .find(|year| (1990..2100).contains(year))
    };
    let all = stored().expect("stored results");
    let mut papers: Vec<String> = (all.iter())
        .filter_map(|row| {
            Some(format!(
                "{}{}",
                row.number.source.split(' ').next()?,
                year(&row.number.source)?
            ))
        })
        .collect();
    for [paper, reason] in unreproduced().expect("stored reasons") {
        let year = year(&paper).expect(&paper);
        assert!((2019..=2026).contains(&year), "{paper}");
        assert!(reason.len() > 10, "{paper}: {reason}");
        papers.push(paper);
    }
    papers.sort();
    papers.dedup();
    assert!(papers.len() >= 20, "{papers:?}");
}
