//! Small results with awkward names, shared by the tests.
#![allow(dead_code)]

use std::path::PathBuf;

use banister_report::{Cell, Document, Figure, FigureRef, ReportTable, Section, Tone};
use banister_sim::banister::guarantee::{CumulativeBudget, Guarantee};
use banister_sim::results::{
    AgentResult, Curve, Direction, Excess, GuardrailInfo, InstanceResult, Optimum, Results,
    RunSummary,
};

pub const AWKWARD_INSTANCE: &str = "τ = \"0.5\", <first> & co";
pub const AWKWARD_AGENT: &str = "</script><b>opb</b>, 'x'";

fn guardrail(name: &str, direction: Direction, threshold: f64) -> GuardrailInfo {
    GuardrailInfo {
        name: name.into(),
        direction,
        threshold,
        noise: 0.5,
    }
}

fn agent(name: &str, guardrails: usize, arms: usize, timed: bool) -> AgentResult {
    let scale = name.len() as f64;
    let signal = |level: f64| -> Vec<Vec<f64>> {
        (0..guardrails)
            .map(|g| vec![level, level + 0.1 + g as f64, 1.0 / 3.0])
            .collect()
    };
    let runs = (0..2).map(|run| RunSummary {
        run,
        // Above what a signed number holds.
        seed: u64::MAX - run,
        regret: scale + run as f64 / 3.0,
        reward_end: 0.625,
        violations: Some(run),
        worst_exceedance: 1e-300,
        excess: vec![Excess::default(); guardrails],
        possible_gain: 100.0,
        pulls: (0..arms as u64).map(|arm| 10 * arm + run).collect(),
        first_alarm: None,
        violations_after_alarm: 0,
        measured: None,
        nanoseconds_per_round: timed.then_some(123.5),
    });
    AgentResult {
        name: name.into(),
        guarantee: Guarantee::EveryRound,
        budget: CumulativeBudget::default(),
        ours: false,
        curve: Curve {
            round: vec![100, 200, 1_000_000],
            regret_mean: vec![0.1 * scale, 0.2 * scale, 12_345.678],
            regret_std: vec![0.01, 0.02, 1000.0],
            regret_q05: vec![0.0, 0.1, 11_000.0],
            regret_q95: vec![0.3, 0.4, 1e17],
            reward_mean: vec![0.5, 0.6, 0.7],
            cost_mean: signal(0.2),
            cost_worst: signal(0.3),
            price_mean: signal(0.0),
            violation_mean: signal(4.0),
            net_mean: signal(-5.0),
        },
        runs: runs.collect(),
        limit: Some(4000.0),
    }
}

/// Two instances with different guardrails and arms; one name of each is shared.
pub fn results() -> Results {
    let first = InstanceResult {
        changes: Vec::new(),
        name: AWKWARD_INSTANCE.into(),
        horizon: 1_000_000,
        arms: vec!["safe".into(), "new, \"bold\"".into()],
        guardrails: vec![guardrail("spend, €", Direction::AtMost, 0.5)],
        optimum: Optimum {
            reward: 0.75,
            costs: vec![0.5],
            policy: vec![(0, 0.5), (1, 0.5)],
            averaged: false,
        },
        agents: vec![
            agent(AWKWARD_AGENT, 1, 2, true),
            agent("uniform", 1, 2, false),
        ],
    };
    let second = InstanceResult {
        changes: Vec::new(),
        name: "second".into(),
        horizon: 1_000_000,
        arms: vec!["safe".into(), "other".into(), "third".into()],
        guardrails: vec![
            guardrail("conversion", Direction::AtLeast, 0.1),
            guardrail("spend, €", Direction::AtMost, 0.9),
        ],
        optimum: Optimum {
            reward: 0.8,
            costs: vec![0.4, 0.9],
            policy: vec![(2, 1.0)],
            averaged: false,
        },
        agents: vec![agent("uniform", 2, 3, true)],
    };
    Results {
        instances: vec![first, second],
    }
}

pub fn document(results: &Results) -> Document {
    Document {
        title: "Title with <b> & \"quotes\"".into(),
        lead: vec!["Lead & more".into()],
        sections: vec![Section {
            title: "Section <one>".into(),
            paragraphs: vec!["1 < 2".into()],
            tables: vec![ReportTable {
                title: "Table & co".into(),
                header: vec!["agent".into(), "regret".into()],
                rows: vec![vec![
                    Cell::text(AWKWARD_AGENT),
                    Cell::number("12").toned(Tone::Bad),
                ]],
            }],
            figures: vec![FigureRef {
                stem: "curves".into(),
                caption: "Caption <c>".into(),
                figure: Figure::of_results(results).into(),
            }],
        }],
    }
}

/// An empty place for one test's files.
pub fn scratch(name: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("report-{name}"));
    let _ = std::fs::remove_dir_all(&dir);
    dir
}
