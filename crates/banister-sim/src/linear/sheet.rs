//! A table read from a CSV or Parquet file.

use std::fs::File;
use std::path::Path;

use banister::Error;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

/// A table of cells, by columns.
pub(super) struct Sheet {
    pub(super) names: Vec<String>,
    pub(super) rows: usize,
    columns: Vec<Vec<Cell>>,
}

enum Cell {
    Number(f64),
    /// Anything else, as it stands in the file.
    Text(String),
}

impl Cell {
    fn parse(text: &str) -> Self {
        match text.trim().parse() {
            Ok(number) => Self::Number(number),
            Err(_) => Self::Text(text.to_string()),
        }
    }
}

fn broken(shown: &str, what: impl std::fmt::Display, allowed: &str) -> Error {
    Error::invalid("environment.path", format!("{shown}{what}"), allowed)
}

impl Sheet {
    /// Reads a file; `shown` is how the user calls it.
    pub(super) fn read(path: &Path, shown: &str) -> Result<Self, Error> {
        let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        let is_csv = match extension.as_deref() {
            Some("csv") => true,
            Some("parquet") => false,
            _ => return Err(broken(shown, "", "must end in .csv or .parquet")),
        };
        let file = File::open(path)
            .map_err(|error| broken(shown, "", &format!("cannot be read: {error}")))?;
        let sheet = if is_csv {
            Self::read_csv(file, shown)?
        } else {
            Self::read_parquet(file, shown)?
        };
        if sheet.rows == 0 {
            return Err(broken(shown, " without rows", "an action set needs rows"));
        }
        for (i, name) in sheet.names.iter().enumerate() {
            if sheet.names[..i].contains(name) {
                let what = format!(", column `{name}`");
                return Err(broken(shown, what, "every column needs a name of its own"));
            }
        }
        Ok(sheet)
    }

    fn read_csv(file: File, shown: &str) -> Result<Self, Error> {
        let unreadable = |error: csv::Error| broken(shown, "", &format!("is no CSV: {error}"));
        let mut reader = csv::Reader::from_reader(file);
        let names: Vec<String> = (reader.headers().map_err(unreadable)?.iter())
            .map(|name| name.trim().to_string())
            .collect();
        let mut columns: Vec<Vec<Cell>> = names.iter().map(|_| Vec::new()).collect();
        let mut rows = 0;
        for record in reader.records() {
            let record = record.map_err(unreadable)?;
            for (column, text) in columns.iter_mut().zip(record.iter()) {
                column.push(Cell::parse(text));
            }
            rows += 1;
        }
        Ok(Self {
            names,
            rows,
            columns,
        })
    }

    fn read_parquet(file: File, shown: &str) -> Result<Self, Error> {
        let unreadable = |error: parquet::errors::ParquetError| {
            let why = format!("cannot be read as Parquet (plain or Snappy): {error}");
            broken(shown, "", &why)
        };
        let reader = SerializedFileReader::new(file).map_err(unreadable)?;
        let schema = reader.metadata().file_metadata().schema();
        let names: Vec<String> = (schema.get_fields().iter())
            .map(|field| field.name().to_string())
            .collect();
        let mut columns: Vec<Vec<Cell>> = names.iter().map(|_| Vec::new()).collect();
        let mut rows = 0;
        for row in reader.get_row_iter(None).map_err(unreadable)? {
            let row = row.map_err(unreadable)?;
            for (column, (_, field)) in columns.iter_mut().zip(row.get_column_iter()) {
                column.push(match field {
                    Field::Byte(x) => Cell::Number(f64::from(*x)),
                    Field::Short(x) => Cell::Number(f64::from(*x)),
                    Field::Int(x) => Cell::Number(f64::from(*x)),
                    Field::Long(x) => Cell::Number(*x as f64),
                    Field::UByte(x) => Cell::Number(f64::from(*x)),
                    Field::UShort(x) => Cell::Number(f64::from(*x)),
                    Field::UInt(x) => Cell::Number(f64::from(*x)),
                    Field::ULong(x) => Cell::Number(*x as f64),
                    Field::Float(x) => Cell::Number(f64::from(*x)),
                    Field::Double(x) => Cell::Number(*x),
                    Field::Str(x) => Cell::Text(x.clone()),
                    other => Cell::Text(other.to_string()),
                });
            }
            rows += 1;
        }
        Ok(Self {
            names,
            rows,
            columns,
        })
    }

    /// Whether a column has a number anywhere: then all of it must be numbers.
    pub(super) fn is_numeric(&self, column: usize) -> bool {
        let number = |cell: &Cell| matches!(cell, Cell::Number(_));
        self.columns[column].iter().any(number)
    }

    /// A column of finite numbers.
    pub(super) fn numbers(&self, column: usize, shown: &str) -> Result<Vec<f64>, Error> {
        let cells = self.columns[column].iter().enumerate();
        let number = |(row, cell): (usize, &Cell)| {
            let found = match cell {
                Cell::Number(x) if x.is_finite() => return Ok(*x),
                Cell::Number(x) => x.to_string(),
                Cell::Text(text) => text.clone(),
            };
            let name = &self.names[column];
            let what = format!(", row {}, column `{name}`: `{found}`", row + 1);
            Err(broken(shown, what, "only finite numbers are allowed"))
        };
        cells.map(number).collect()
    }

    /// A column as text.
    pub(super) fn texts(&self, column: usize) -> Vec<String> {
        let text = |cell: &Cell| match cell {
            Cell::Number(x) => x.to_string(),
            Cell::Text(text) => text.clone(),
        };
        self.columns[column].iter().map(text).collect()
    }
}
