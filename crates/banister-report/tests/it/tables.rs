//! The tables in both formats.

use crate::common;

use banister_report::tables::{self, Column, DataTable, Values};
use banister_sim::results::Results;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

fn read_csv(bytes: &[u8]) -> (Vec<String>, Vec<Vec<String>>) {
    let mut reader = csv::Reader::from_reader(bytes);
    let header = reader
        .headers()
        .expect("a header")
        .iter()
        .map(String::from)
        .collect();
    let row = |record: csv::StringRecord| record.iter().map(String::from).collect();
    (
        header,
        reader
            .records()
            .map(|record| row(record.expect("a row")))
            .collect(),
    )
}

fn cell(table: &(Vec<String>, Vec<Vec<String>>), row: usize, name: &str) -> String {
    let column = table
        .0
        .iter()
        .position(|n| n == name)
        .unwrap_or_else(|| panic!("no {name}"));
    table.1[row][column].clone()
}

#[test]
fn curves_have_the_documented_columns_and_values() {
    let table = read_csv(&tables::curves(&common::results()).to_csv().expect("CSV"));
    let expected = [
        "instance",
        "agent",
        "round",
        "regret_mean",
        "regret_std",
        "regret_q05",
        "regret_q95",
        "reward_mean",
        "spend, €_cost_mean",
        "spend, €_cost_max",
        "spend, €_price_mean",
        "spend, €_violation_sum_mean",
        "spend, €_net_excess_mean",
        "conversion_cost_mean",
        "conversion_cost_max",
        "conversion_price_mean",
        "conversion_violation_sum_mean",
        "conversion_net_excess_mean",
    ];
    assert_eq!(table.0, expected);
    assert_eq!(table.1.len(), 9);
    assert_eq!(cell(&table, 0, "instance"), common::AWKWARD_INSTANCE);
    assert_eq!(cell(&table, 0, "agent"), common::AWKWARD_AGENT);
    assert_eq!(cell(&table, 2, "round"), "1000000");
    assert_eq!(cell(&table, 2, "regret_mean"), "12345.678");
    assert_eq!(cell(&table, 2, "regret_q95"), "1e17");
    assert_eq!(cell(&table, 0, "spend, €_cost_mean"), "0.2");
    assert_eq!(cell(&table, 0, "spend, €_cost_max"), "0.3");
    assert_eq!(cell(&table, 0, "spend, €_violation_sum_mean"), "4");
    assert_eq!(cell(&table, 0, "spend, €_net_excess_mean"), "-5");
    assert_eq!(cell(&table, 0, "conversion_cost_mean"), "");
    // In the second instance the shared guardrail is the second one.
    assert_eq!(cell(&table, 6, "conversion_cost_mean"), "0.2");
    assert_eq!(cell(&table, 7, "spend, €_cost_mean"), "1.3");
}

#[test]
fn runs_have_the_documented_columns_and_values() {
    let table = read_csv(&tables::runs(&common::results()).to_csv().expect("CSV"));
    let expected = [
        "instance",
        "agent",
        "run",
        "seed",
        "regret",
        "limit",
        "reward_end",
        "violations",
        "worst_exceedance",
        "possible_gain",
        "nanoseconds_per_round",
        "spend, €_violation_sum",
        "spend, €_net_excess",
        "spend, €_net_peak",
        "spend, €_net_quarter",
        "conversion_violation_sum",
        "conversion_net_excess",
        "conversion_net_peak",
        "conversion_net_quarter",
        "pulls_safe",
        "pulls_new, \"bold\"",
        "pulls_other",
        "pulls_third",
    ];
    assert_eq!(table.0, expected);
    assert_eq!(table.1.len(), 6);
    assert_eq!(cell(&table, 0, "seed"), u64::MAX.to_string());
    assert_eq!(cell(&table, 0, "limit"), "4000");
    assert_eq!(cell(&table, 1, "worst_exceedance"), "1e-300");
    assert_eq!(cell(&table, 1, "possible_gain"), "100");
    assert_eq!(cell(&table, 1, "spend, €_net_peak"), "0");
    assert_eq!(cell(&table, 1, "conversion_net_peak"), "");
    assert_eq!(cell(&table, 0, "nanoseconds_per_round"), "123.5");
    assert_eq!(cell(&table, 2, "nanoseconds_per_round"), "");
    assert_eq!(cell(&table, 1, "pulls_new, \"bold\""), "11");
    assert_eq!(cell(&table, 1, "pulls_other"), "");
    assert_eq!(cell(&table, 4, "pulls_third"), "20");
}

#[test]
fn times_have_a_column_where_they_were_measured() {
    let mut results = common::results();
    let columns = |results: &Results| {
        let tables = [tables::runs(results), tables::leaderboards(results)];
        let columns = tables.into_iter().flat_map(|table| table.columns);
        columns.map(|column| column.name).collect::<Vec<_>>()
    };
    let timed = columns(&results);
    let agents = results.instances.iter_mut().flat_map(|i| &mut i.agents);
    for run in agents.flat_map(|agent| &mut agent.runs) {
        run.nanoseconds_per_round = None;
    }
    let untimed = columns(&results);
    let lost = timed.iter().filter(|name| !untimed.contains(name));
    assert_eq!(
        lost.collect::<Vec<_>>(),
        ["nanoseconds_per_round", "micros_per_round"]
    );
}

#[test]
fn leaderboards_have_regret_as_a_multiple_of_the_limit_where_that_is_known() {
    let mut results = common::results();
    results.instances[0].agents[1].limit = None;
    results.instances[1].agents[0].limit = Some(0.5);
    let table = tables::leaderboards(&results);
    let table = read_csv(&table.to_csv().expect("CSV"));
    let shown = |agent: &str, instance: &str, column: &str| {
        let rows = 0..table.1.len();
        let mut rows = rows.filter(|row| cell(&table, *row, "agent") == agent);
        let row = rows.find(|row| cell(&table, *row, "instance") == instance);
        cell(&table, row.expect("a row"), column).to_string()
    };
    let first = &results.instances[0].agents[0];
    let regrets: f64 = first.runs.iter().map(|run| run.regret).sum();
    let multiple = regrets / first.runs.len() as f64 / 4000.0;
    let known = (first.name.as_str(), results.instances[0].name.as_str());
    assert_eq!(shown(known.0, known.1, "limit"), "4000");
    let found: f64 = shown(known.0, known.1, "regret_over_limit")
        .parse()
        .expect("a number");
    assert!((found - multiple).abs() <= 1e-12 * multiple);
    assert_eq!(shown("uniform", known.1, "limit"), "");
    assert_eq!(shown("uniform", known.1, "regret_over_limit"), "");
    assert_eq!(shown("uniform", "second", "limit"), "0.5");
    assert_eq!(shown("uniform", "second", "regret_over_limit"), "");
}

#[test]
fn parquet_read_back_equals_csv() {
    for table in [
        tables::curves(&common::results()),
        tables::runs(&common::results()),
    ] {
        let (header, rows) = read_csv(&table.to_csv().expect("CSV"));
        let bytes = bytes::Bytes::from(table.to_parquet().expect("Parquet"));
        let reader = SerializedFileReader::new(bytes).expect("a Parquet file");
        let mut count = 0;
        for (row, expected) in reader.get_row_iter(None).expect("rows").zip(&rows) {
            let row = row.expect("a row");
            let names: Vec<&String> = row.get_column_iter().map(|(name, _)| name).collect();
            assert_eq!(names, header.iter().collect::<Vec<_>>());
            for ((name, field), text) in row.get_column_iter().zip(expected) {
                match field {
                    Field::Null => assert_eq!(text, "", "{name}"),
                    Field::Str(value) => assert_eq!(value, text, "{name}"),
                    Field::ULong(value) => assert_eq!(value.to_string(), *text, "{name}"),
                    Field::Double(value) => {
                        let written: f64 = text.parse().expect("a number");
                        assert_eq!(value.to_bits(), written.to_bits(), "{name}");
                    }
                    other => panic!("unexpected {other:?} in {name}"),
                }
            }
            count += 1;
        }
        assert_eq!(count, rows.len());
        assert_eq!(count, table.rows());
    }
}

#[test]
fn numbers_survive_the_text() {
    let numbers = [
        0.1 + 0.2,
        1.0 / 3.0,
        5e-324,
        f64::MAX,
        -0.0,
        1e16,
        1e-5,
        123_456_789.125,
    ];
    let values = Values::Number(numbers.iter().copied().map(Some).collect());
    let table = DataTable {
        columns: vec![Column {
            name: "x".into(),
            values,
        }],
    };
    let (_, rows) = read_csv(&table.to_csv().expect("CSV"));
    for (number, row) in numbers.iter().zip(rows) {
        let read: f64 = row[0].parse().expect("a number");
        assert_eq!(read.to_bits(), number.to_bits(), "{}", row[0]);
    }
}

#[test]
fn empty_results_give_tables_with_only_a_header() {
    let none = Results { instances: vec![] };
    let curves = tables::curves(&none);
    let (header, rows) = read_csv(&curves.to_csv().expect("CSV"));
    assert_eq!(header.len(), 8);
    assert!(rows.is_empty());
    let bytes = bytes::Bytes::from(curves.to_parquet().expect("Parquet"));
    let reader = SerializedFileReader::new(bytes).expect("a Parquet file");
    assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
}

#[test]
fn a_name_used_twice_keeps_both_columns() {
    let mut results = common::results();
    results.instances.truncate(1);
    results.instances[0].arms = vec!["a".into(), "a".into()];
    let table = read_csv(&tables::runs(&results).to_csv().expect("CSV"));
    assert_eq!(cell(&table, 1, "pulls_a"), "1");
    assert_eq!(cell(&table, 1, "pulls_a#2"), "11");
}

#[test]
fn curves_that_are_too_short_leave_cells_empty() {
    let mut results = common::results();
    results.instances[0].agents[0].curve.regret_std.truncate(1);
    results.instances[0].agents[0].curve.cost_mean.clear();
    let table = read_csv(&tables::curves(&results).to_csv().expect("CSV"));
    assert_eq!(cell(&table, 0, "regret_std"), "0.01");
    assert_eq!(cell(&table, 1, "regret_std"), "");
    assert_eq!(cell(&table, 0, "spend, €_cost_mean"), "");
}
