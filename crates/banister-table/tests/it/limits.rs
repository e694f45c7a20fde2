//! Small files that would take much memory are refused, with the reason.

use std::sync::Arc;

use banister_table::{Limits, RawTable, TableError};
use bytes::Bytes;
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

const LIMITS: Limits = Limits {
    rows: 1_000_000,
    bytes: 64 << 20,
};

/// A file with one column.
fn file<T: DataType>(
    schema: &str,
    properties: WriterPropertiesBuilder,
    values: &[T::T],
) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = Arc::new(properties.build());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(values, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.into_inner().unwrap()
}

fn refused(content: Vec<u8>) -> String {
    match RawTable::from_parquet(Bytes::from(content), LIMITS) {
        Err(TableError::TooLarge(reason) | TableError::Value(reason)) => reason,
        other => panic!("not refused: {other:?}"),
    }
}

const TEXT: &str = "message m { required binary x (UTF8); }";

fn snappy() -> WriterPropertiesBuilder {
    WriterProperties::builder().set_compression(Compression::SNAPPY)
}

#[test]
fn a_dictionary_with_one_long_text_and_many_rows() {
    let long = ByteArray::from(vec![b'x'; 100_000]);
    let content = file::<ByteArrayType>(TEXT, snappy(), &vec![long; 10_000]);
    // A gigabyte of text.
    assert!(content.len() < 100_000);
    let reason = refused(content);
    assert!(reason.starts_with("the table takes more than"), "{reason}");
}

#[test]
fn many_short_texts() {
    let texts: Vec<ByteArray> = (0..100_000)
        .map(|i| ByteArray::from(format!("{i:0>400}").into_bytes()))
        .collect();
    let content = file::<ByteArrayType>(TEXT, snappy(), &texts);
    let reason = refused(content);
    assert!(reason.starts_with("the table takes more than"), "{reason}");
}

#[test]
fn groups_and_damaged_headers() {
    let nested = "message m { required group g { required double x; } }";
    let content = file::<DoubleType>(nested, snappy(), &[0.5]);
    assert!(refused(content).starts_with("the column `g` holds lists or groups"));
    // Whatever byte is changed, a file is read or refused; it does not end the process.
    let texts: Vec<ByteArray> = (["a", "b", "a", "c"].iter())
        .map(|text| ByteArray::from(*text))
        .collect();
    let whole = file::<ByteArrayType>(TEXT, snappy(), &texts);
    for place in 0..whole.len() {
        for value in [0, 0x7f, 0xff, whole[place] ^ 1] {
            let mut content = whole.clone();
            content[place] = value;
            let _ = RawTable::from_parquet(Bytes::from(content), LIMITS);
        }
    }
}

#[test]
fn a_csv_with_too_many_cells_or_columns() {
    let limits = Limits {
        rows: 1_000_000,
        bytes: 1 << 20,
    };
    let refused = |content: String| match RawTable::from_csv(content.as_bytes(), limits) {
        Err(TableError::TooLarge(reason)) => reason,
        other => panic!("not refused: {other:?}"),
    };
    let rows = "0,0\n".repeat(200_000);
    assert!(refused(format!("a,b\n{rows}")).starts_with("the table takes more"));
    assert!(refused(format!("a\n{}\n", "x".repeat(2 << 20))).starts_with("the table takes more"));
    assert!(refused("a,".repeat(20_000)).starts_with("there are more than 10000 columns"));
}
