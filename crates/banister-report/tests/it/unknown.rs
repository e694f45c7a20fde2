//! Results without true means: nothing is made up for what is not known.

use crate::common;

use banister_report::{Figure, svg, tables};
use banister_sim::results::Results;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

/// The first instance without means, and its first guardrail without a threshold.
fn unknown() -> Results {
    let mut results = common::results();
    let instance = &mut results.instances[0];
    instance.optimum.reward = f64::NAN;
    instance.optimum.costs.clear();
    instance.optimum.policy.clear();
    instance.guardrails[0].threshold = f64::NAN;
    for agent in &mut instance.agents {
        let curve = &mut agent.curve;
        let rows = [
            &mut curve.regret_mean,
            &mut curve.regret_std,
            &mut curve.regret_q05,
            &mut curve.regret_q95,
        ];
        let signals = curve.cost_worst.iter_mut().chain(&mut curve.price_mean);
        for row in rows.into_iter().chain(signals) {
            row.fill(f64::NAN);
        }
        for run in &mut agent.runs {
            (run.regret, run.worst_exceedance) = (f64::NAN, f64::NAN);
            run.violations = None;
        }
    }
    results
}

#[test]
fn unknown_cells_are_empty_and_null() {
    let results = unknown();
    let name = &results.instances[0].name;
    for (table, columns) in [
        (tables::curves(&results), ["regret_mean", "regret_std"]),
        (tables::runs(&results), ["violations", "worst_exceedance"]),
    ] {
        let csv = table.to_csv().expect("CSV");
        let mut reader = csv::Reader::from_reader(&csv[..]);
        let header = reader.headers().expect("a header").clone();
        let place = |name: &str| header.iter().position(|h| h == name).expect("a column");
        let mut seen = [0, 0];
        for record in reader.records() {
            let record = record.expect("a row");
            let is_unknown = &record[0] == name;
            seen[usize::from(is_unknown)] += 1;
            for column in columns {
                assert_eq!(record[place(column)].is_empty(), is_unknown, "{column}");
            }
            assert!(!record.iter().any(|cell| cell == "NaN"), "{record:?}");
        }
        assert!(seen[0] > 0 && seen[1] > 0);
        let parquet = bytes::Bytes::from(table.to_parquet().expect("Parquet"));
        let reader = SerializedFileReader::new(parquet).expect("readable");
        for row in reader.get_row_iter(None).expect("rows") {
            let cells: Vec<Field> = row
                .expect("a row")
                .into_columns()
                .into_iter()
                .map(|c| c.1)
                .collect();
            let is_unknown = cells[0] == Field::Str(name.clone());
            for column in columns {
                assert_eq!(cells[place(column)] == Field::Null, is_unknown, "{column}");
            }
        }
    }
}

#[test]
fn figures_leave_out_what_is_unknown_and_do_not_call_draws_expected() {
    let results = unknown();
    let figure = Figure::of_results(&results);
    let [unknown, known] = [0, 1].map(|i| &figure.rows[i].panels);
    assert!(unknown[0].series.is_empty() && !known[0].series.is_empty());
    assert!(
        unknown
            .iter()
            .all(|panel| panel.lines.iter().all(|line| line.y.is_finite()))
    );
    assert!(unknown.last().expect("reward").title.starts_with("Mean"));
    assert!(known.last().expect("reward").title.starts_with("Expected"));
    assert!(figure.subtitle.contains("what was drawn"));
    for figure in [figure, Figure::of_prices(&results)] {
        let svg = svg::render(&figure);
        assert!(
            svg.contains("</svg>") && !svg.contains("NaN"),
            "{}",
            figure.title
        );
    }
}
