//! Tables read back as they were written, in both formats; an unreadable one is an error.

use banister_table::{Column, DataTable, Limits, ParquetFile, RawTable, Values};
use bytes::Bytes;

fn most(rows: usize) -> Limits {
    Limits {
        rows,
        bytes: 1 << 20,
    }
}

fn cells(table: &RawTable) -> Vec<Vec<String>> {
    let columns = 0..table.names.len();
    let row = |row| {
        columns
            .clone()
            .map(|c| table.cell(row, c).to_string())
            .collect()
    };
    (0..table.len()).map(row).collect()
}

fn table(start: u64) -> DataTable {
    let column = |name: &str, values| Column {
        name: name.into(),
        values,
    };
    DataTable {
        columns: vec![
            column(
                "name",
                Values::Text(vec!["a, \"b\"\nc".into(), "ü 🎉".into()]),
            ),
            column("count", Values::Count(vec![Some(start), None])),
            column(
                "number",
                Values::Number(vec![Some(0.1 + start as f64), None]),
            ),
        ],
    }
}

fn rows(start: u64) -> Vec<Vec<String>> {
    let number = 0.1 + start as f64;
    vec![
        vec!["a, \"b\"\nc".into(), start.to_string(), number.to_string()],
        vec!["ü 🎉".into(), String::new(), String::new()],
    ]
}

#[test]
fn both_formats_come_back() {
    let names = ["name", "count", "number"];
    let mut csv = table(1).to_csv().unwrap();
    csv.extend(table(7).to_csv_rows().unwrap());
    let mut file = ParquetFile::new(&table(1)).unwrap();
    file.write(&table(1)).unwrap();
    file.write(&table(7)).unwrap();
    let parquet = file.finish().unwrap();
    let expected = [rows(1), rows(7)].concat();
    for read in [
        RawTable::from_csv(&csv, most(4)).unwrap(),
        RawTable::from_parquet(Bytes::from(parquet.clone()), most(4)).unwrap(),
    ] {
        assert_eq!(read.names, names);
        assert_eq!(cells(&read), expected);
        assert_eq!(read.column("number"), Some(2));
        assert_eq!(read.column("none"), None);
    }
    for error in [
        RawTable::from_csv(&csv, most(3)).unwrap_err(),
        RawTable::from_parquet(Bytes::from(parquet), most(3)).unwrap_err(),
    ] {
        assert_eq!(error.to_string(), "there are more than 3 rows");
    }
}

#[test]
fn an_empty_table_is_a_table() {
    let empty = DataTable {
        columns: vec![Column {
            name: "only".into(),
            values: Values::Number(Vec::new()),
        }],
    };
    let csv = RawTable::from_csv(&empty.to_csv().unwrap(), most(1)).unwrap();
    let parquet = RawTable::from_parquet(empty.to_parquet().unwrap().into(), most(1)).unwrap();
    assert_eq!((csv.names.len(), csv.len()), (1, 0));
    assert_eq!(parquet, csv);
}

#[test]
fn what_is_no_table_is_an_error() {
    assert!(RawTable::from_csv(b"a,b\n1\n", most(9)).is_err());
    assert!(RawTable::from_csv(b"a\n\xff\n", most(9)).is_err());
    assert!(RawTable::from_parquet(Bytes::from_static(b"PAR1 not"), most(9)).is_err());
    let whole = table(1).to_parquet().unwrap();
    assert!(
        RawTable::from_parquet(Bytes::from(whole[..whole.len() / 2].to_vec()), most(9)).is_err()
    );
}
