//! A table by columns, and its two formats.
//!
//! An entry that does not apply to a row (a guardrail that its instance does not have, a time that was
//! not taken) or is unknown (regret without true means) is empty in CSV and null in Parquet.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use serde::{Deserialize, Serialize};

use crate::TableError;

/// A table by columns, all of the same length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataTable {
    /// Columns, from left to right.
    pub columns: Vec<Column>,
}

/// One column of a [`DataTable`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Name, as in the header.
    pub name: String,
    /// One entry per row.
    pub values: Values,
}

/// Entries of a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Values {
    /// Text without missing entries.
    Text(Vec<String>),
    /// Whole numbers, `None` where missing.
    Count(Vec<Option<u64>>),
    /// Real numbers, `None` where missing.
    Number(Vec<Option<f64>>),
}

impl DataTable {
    /// Number of rows in the table.
    pub fn rows(&self) -> usize {
        let length = |column: &Column| match &column.values {
            Values::Text(v) => v.len(),
            Values::Count(v) => v.len(),
            Values::Number(v) => v.len(),
        };
        self.columns.iter().map(length).max().unwrap_or(0)
    }

    /// The table as CSV: a header, then the rows, numbers in the shortest form that reads back as
    /// the same number.
    ///
    /// # Errors
    /// [`TableError::Csv`], which no well-formed table causes.
    pub fn to_csv(&self) -> Result<Vec<u8>, TableError> {
        self.csv(true)
    }

    /// The rows alone as CSV, to follow another part of the same table.
    ///
    /// # Errors
    /// As [`DataTable::to_csv`].
    pub fn to_csv_rows(&self) -> Result<Vec<u8>, TableError> {
        self.csv(false)
    }

    fn csv(&self, header: bool) -> Result<Vec<u8>, TableError> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        if header {
            writer.write_record(self.columns.iter().map(|column| &column.name))?;
        }
        for row in 0..self.rows() {
            for column in &self.columns {
                writer.write_field(column.cell(row))?;
            }
            writer.write_record(None::<&[u8]>)?;
        }
        writer
            .into_inner()
            .map_err(|e| csv::Error::from(e.into_error()).into())
    }

    /// The table as an uncompressed Parquet file with one row group.
    ///
    /// # Errors
    /// [`TableError::Parquet`], which no well-formed table causes.
    pub fn to_parquet(&self) -> Result<Vec<u8>, TableError> {
        let mut file = ParquetFile::new(self)?;
        file.write(self)?;
        file.finish()
    }
}

/// A Parquet file that grows by row groups.
pub struct ParquetFile {
    writer: SerializedFileWriter<Vec<u8>>,
}

impl ParquetFile {
    /// Begins a file with the columns of a table; no row is written yet.
    ///
    /// # Errors
    /// [`TableError::Parquet`], which no well-formed table causes; likewise below.
    pub fn new(table: &DataTable) -> Result<Self, TableError> {
        let fields = table
            .columns
            .iter()
            .map(|column| column.parquet_type().map(Arc::new));
        let schema = Type::group_type_builder("banister")
            .with_fields(fields.collect::<Result<_, _>>()?)
            .build()?;
        let properties = WriterProperties::builder()
            .set_created_by("banister".to_owned())
            .build();
        let writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
        Ok(Self { writer })
    }

    /// Writes a table's rows as one more row group.
    ///
    /// # Errors
    /// As [`ParquetFile::new`].
    pub fn write(&mut self, table: &DataTable) -> Result<(), TableError> {
        let mut group = self.writer.next_row_group()?;
        for column in &table.columns {
            let mut target = group
                .next_column()?
                .ok_or_else(|| ParquetError::General("a column is missing".to_owned()))?;
            match &column.values {
                Values::Text(v) => {
                    let all: Vec<ByteArray> = v.iter().map(|s| s.as_str().into()).collect();
                    target
                        .typed::<ByteArrayType>()
                        .write_batch(&all, None, None)?;
                }
                Values::Count(v) => {
                    // Parquet keeps unsigned numbers in the bits of the signed type.
                    let present: Vec<i64> = v.iter().flatten().map(|n| n.cast_signed()).collect();
                    target
                        .typed::<Int64Type>()
                        .write_batch(&present, Some(&levels(v)), None)?;
                }
                Values::Number(v) => {
                    let present: Vec<f64> = v.iter().flatten().copied().collect();
                    target
                        .typed::<DoubleType>()
                        .write_batch(&present, Some(&levels(v)), None)?;
                }
            }
            target.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Removes and returns the bytes written since the last call, so that a long file is never held as a whole.
    pub fn drain(&mut self) -> Vec<u8> {
        std::mem::take(self.writer.inner_mut())
    }

    /// Completes the file and returns the bytes that were not drained before.
    ///
    /// # Errors
    /// As [`ParquetFile::new`].
    pub fn finish(self) -> Result<Vec<u8>, TableError> {
        Ok(self.writer.into_inner()?)
    }
}

/// Parquet's definition levels: 1 where there is a value.
fn levels<T>(values: &[Option<T>]) -> Vec<i16> {
    values
        .iter()
        .map(|value| i16::from(value.is_some()))
        .collect()
}

impl Column {
    fn cell(&self, row: usize) -> String {
        let text = match &self.values {
            Values::Text(v) => v.get(row).cloned(),
            Values::Count(v) => v.get(row).copied().flatten().map(|n| n.to_string()),
            Values::Number(v) => v.get(row).copied().flatten().map(shortest),
        };
        text.unwrap_or_default()
    }

    fn parquet_type(&self) -> Result<Type, ParquetError> {
        let (physical, logical, repetition) = match self.values {
            Values::Text(_) => (
                Physical::BYTE_ARRAY,
                Some(LogicalType::String),
                Repetition::REQUIRED,
            ),
            Values::Count(_) => (
                Physical::INT64,
                Some(LogicalType::integer(64, false)),
                Repetition::OPTIONAL,
            ),
            Values::Number(_) => (Physical::DOUBLE, None, Repetition::OPTIONAL),
        };
        Type::primitive_type_builder(&self.name, physical)
            .with_logical_type(logical)
            .with_repetition(repetition)
            .build()
    }
}

/// The shortest decimal form that reads back as the same number.
fn shortest(x: f64) -> String {
    let size = x.abs();
    if size == 0.0 || (1e-5..1e16).contains(&size) || !x.is_finite() {
        format!("{x}")
    } else {
        format!("{x:e}")
    }
}
