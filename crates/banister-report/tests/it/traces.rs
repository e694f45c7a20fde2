//! The long table: every run at every checkpoint.

use banister_report::tables::{self, LongRow, Values};
use banister_sim::Trace;
use banister_sim::compare::FieldValue;
use banister_sim::results::{Direction, GuardrailInfo, RunSummary};
use banister_table::{Limits, RawTable};
use proptest::prelude::*;

const LIMITS: Limits = Limits {
    rows: 1000,
    bytes: 1 << 24,
};

fn guardrail(name: &str) -> GuardrailInfo {
    GuardrailInfo {
        name: name.into(),
        direction: Direction::AtMost,
        threshold: 0.5,
        noise: 0.5,
    }
}

fn trace(run: u64, checkpoints: usize, guardrails: usize) -> Trace {
    let level = |base: f64| -> Vec<f64> { (0..checkpoints).map(|t| base + t as f64).collect() };
    let signal = |base: f64| {
        (0..guardrails)
            .map(|g| level(base + 100.0 * g as f64))
            .collect()
    };
    Trace {
        regret: level(0.1 + run as f64),
        reward: level(0.25),
        cost: signal(1.0),
        worst: signal(2.0),
        price: signal(3.0),
        violation: signal(4.0),
        net: signal(-5.0),
        optimum: None,
        summary: RunSummary {
            run,
            seed: 7,
            regret: 0.0,
            reward_end: 0.0,
            violations: None,
            worst_exceedance: 0.0,
            excess: vec![],
            possible_gain: 0.0,
            pulls: vec![],
            first_alarm: None,
            violations_after_alarm: 0,
            measured: None,
            nanoseconds_per_round: None,
        },
    }
}

#[test]
fn columns_are_the_union_over_instances_and_read_back() {
    let (spend, both) = (
        [guardrail("spend")],
        [guardrail("conversion"), guardrail("spend")],
    );
    let (first, mut second) = (trace(0, 2, 1), trace(3, 1, 2));
    second.regret[0] = f64::NAN;
    let field = |name: &str, value| (name.to_owned(), value);
    let swept = [
        field("gap", FieldValue::Number(0.1)),
        field("noise", FieldValue::Number(0.5)),
        field("run", FieldValue::Number(8.0)),
    ];
    let other = [
        field("noise", FieldValue::Text("heavy, \"tails\"".into())),
        field("gap", FieldValue::Number(0.2)),
    ];
    let rows = [
        LongRow {
            instance: "τ = 1",
            agent: "opb",
            guardrails: &spend,
            rounds: &[10, 20],
            trace: &first,
            fields: &swept,
        },
        LongRow {
            instance: "second",
            agent: "ucb1",
            guardrails: &both,
            rounds: &[5],
            trace: &second,
            fields: &other,
        },
    ];
    let table = tables::traces(&rows);
    let bytes = table.to_parquet().expect("Parquet");
    assert_eq!(bytes, tables::traces(&rows).to_parquet().expect("Parquet"));
    let parquet = RawTable::from_parquet(bytes.into(), LIMITS).expect("a table");
    let csv = RawTable::from_csv(&table.to_csv().expect("CSV"), LIMITS).expect("a table");
    for read in [parquet, csv] {
        let expected = [
            "gap",
            "noise",
            "run#2",
            "instance",
            "agent",
            "run",
            "round",
            "regret",
            "reward",
            "spend_cost",
            "spend_cost_max",
            "spend_price",
            "spend_violation_sum",
            "spend_net_excess",
            "conversion_cost",
            "conversion_cost_max",
            "conversion_price",
            "conversion_violation_sum",
            "conversion_net_excess",
        ];
        assert_eq!(read.names, expected);
        let row = |index: usize| {
            let cells = (0..read.names.len()).map(|column| read.cell(index, column));
            cells.collect::<Vec<_>>()
        };
        assert_eq!(
            row(1),
            [
                "0.1", "0.5", "8", "τ = 1", "opb", "0", "20", "1.1", "1.25", "2", "3", "4", "5",
                "-4", "", "", "", "", ""
            ]
        );
        assert_eq!(
            row(2),
            [
                "0.2",
                "heavy, \"tails\"",
                "",
                "second",
                "ucb1",
                "3",
                "5",
                "",
                "0.25",
                "101",
                "102",
                "103",
                "104",
                "95",
                "1",
                "2",
                "3",
                "4",
                "-5"
            ]
        );
        assert_eq!(read.len(), 3);
    }
    let number = |name: &str| {
        let column = table.columns.iter().find(|column| column.name == name);
        matches!(column.map(|c| &c.values), Some(Values::Number(_)))
    };
    assert!(number("gap") && !number("noise"));
}

#[test]
fn a_trace_shorter_than_its_checkpoints_leaves_cells_empty() {
    let (short, guardrails) = (trace(0, 1, 0), [guardrail("spend")]);
    let table = tables::traces(&[LongRow {
        instance: "i",
        agent: "a",
        guardrails: &guardrails,
        rounds: &[1, 2],
        trace: &short,
        fields: &[],
    }]);
    let csv = String::from_utf8(table.to_csv().expect("CSV")).expect("text");
    assert!(
        csv.ends_with("i,a,0,1,0.1,0.25,,,,,\ni,a,0,2,,,,,,,\n"),
        "{csv}"
    );
    assert_eq!(tables::traces(&[]).rows(), 0);
}

#[test]
fn half_a_million_rows_are_no_trouble() {
    let (trace, guardrails) = (trace(0, 50, 1), [guardrail("spend")]);
    let rounds: Vec<u64> = (1..=50).collect();
    let fields = [("gap".to_owned(), FieldValue::Number(0.1))];
    let row = LongRow {
        instance: "i",
        agent: "a",
        guardrails: &guardrails,
        rounds: &rounds,
        trace: &trace,
        fields: &fields,
    };
    let start = std::time::Instant::now();
    assert_eq!(tables::traces(&vec![row; 10_000]).rows(), 500_000);
    // A second in an unoptimised build; what is quadratic takes hours.
    assert!(start.elapsed().as_secs() < 60);
}

proptest! {
    #[test]
    fn one_row_per_run_and_checkpoint(sizes in prop::collection::vec((0..6_usize, 0..3_usize), 0..12)) {
        let names = [guardrail("a"), guardrail("b"), guardrail("c")];
        let runs: Vec<(Trace, Vec<u64>, usize)> = sizes.iter().enumerate()
            .map(|(i, (n, g))| (trace(i as u64, *n, *g), (1..=*n as u64).collect(), *g)).collect();
        let rows: Vec<LongRow<'_>> = runs.iter().map(|(trace, rounds, g)| LongRow {
            instance: "i", agent: "a", guardrails: &names[..*g], rounds, trace, fields: &[],
        }).collect();
        let table = tables::traces(&rows);
        let expected: usize = sizes.iter().map(|size| size.0).sum();
        prop_assert_eq!(table.rows(), expected);
        let most = sizes.iter().map(|size| size.1).max().unwrap_or(0);
        prop_assert_eq!(table.columns.len(), 6 + 5 * most);
        let read = RawTable::from_parquet(table.to_parquet().expect("Parquet").into(), LIMITS);
        let read = read.expect("a table");
        prop_assert_eq!(read.len(), expected);
        for column in &table.columns {
            let length = match &column.values {
                Values::Text(v) => v.len(),
                Values::Count(v) => v.len(),
                Values::Number(v) => v.len(),
            };
            prop_assert_eq!(length, expected);
        }
    }
}
