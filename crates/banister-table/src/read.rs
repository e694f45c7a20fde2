//! User-supplied tables, read as text: the caller gives the columns their meaning.

use std::path::Path;

use bytes::Bytes;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::record::reader::RowIter;

use crate::TableError;

/// Most columns of a table.
const MOST_COLUMNS: usize = 10_000;
/// Cells of a Parquet file that are decoded at once.
const BATCH: usize = 1 << 16;

/// Bounds of a user-supplied table.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most rows.
    pub rows: usize,
    /// Most bytes of memory, while it is read and after.
    pub bytes: usize,
}

/// User-supplied table as text; missing values are empty.
#[derive(Debug, Clone, PartialEq)]
pub struct RawTable {
    /// Column names, from the header.
    pub names: Vec<String>,
    /// The cells, one after another.
    text: String,
    /// End of every cell in the text.
    ends: Vec<u32>,
}

impl RawTable {
    /// Reads a file by its ending, `.csv` or `.parquet`: a table with rows and distinct columns.
    pub fn from_file(path: &Path, limits: Limits) -> Result<Self, TableError> {
        let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        let is_csv = match extension.as_deref() {
            Some("csv") => true,
            Some("parquet") => false,
            _ => return Err(TableError::Value("must end in .csv or .parquet".into())),
        };
        let content = std::fs::read(path)
            .map_err(|error| TableError::Value(format!("cannot be read: {error}")))?;
        let table = if is_csv {
            Self::from_csv(&content, limits)
        } else {
            Self::from_parquet(content.into(), limits)
        };
        let mut table = table.map_err(|error| {
            TableError::Value(match error {
                TableError::Csv(error) => format!("is no CSV: {error}"),
                TableError::Parquet(error) => {
                    format!("cannot be read as Parquet (plain or Snappy): {error}")
                }
                other => format!("cannot be read: {other}"),
            })
        })?;
        if table.is_empty() {
            return Err(TableError::Value("has no rows".into()));
        }
        for i in 0..table.names.len() {
            let name = table.names[i].trim().to_string();
            if table.names[..i].contains(&name) {
                let why = format!("has two columns `{name}`: each needs a name of its own");
                return Err(TableError::Value(why));
            }
            table.names[i] = name;
        }
        Ok(table)
    }

    /// Reads CSV with a header.
    pub fn from_csv(content: &[u8], limits: Limits) -> Result<Self, TableError> {
        let mut reader = csv::Reader::from_reader(content);
        let header = reader.headers()?;
        check_most(header.len(), MOST_COLUMNS, "columns")?;
        let mut table = Self::empty(header.iter().map(str::to_string).collect());
        let mut record = csv::StringRecord::new();
        while reader.read_record(&mut record)? {
            check_most(table.len() + 1, limits.rows, "rows")?;
            for cell in &record {
                table.push(cell, limits.bytes)?;
            }
        }
        Ok(table)
    }

    /// Reads a Parquet file with flat columns. For files of one's own machine: the table is bounded, and not what the
    /// library decodes at once on the way to it.
    pub fn from_parquet(content: Bytes, limits: Limits) -> Result<Self, TableError> {
        // The library trusts files more than we do, and may panic.
        let damaged = |_| Err(TableError::Value("it is damaged".into()));
        std::panic::catch_unwind(|| Self::decoded(content, limits)).unwrap_or_else(damaged)
    }

    fn decoded(content: Bytes, limits: Limits) -> Result<Self, TableError> {
        let reader = SerializedFileReader::new(content)?;
        let metadata = reader.metadata();
        let rows = usize::try_from(metadata.file_metadata().num_rows()).unwrap_or(usize::MAX);
        check_most(rows, limits.rows, "rows")?;
        let schema = metadata.file_metadata().schema();
        let fields = schema.get_fields().iter();
        let names: Vec<String> = fields.map(|field| field.name().to_string()).collect();
        let batch = (BATCH / names.len().max(1)).clamp(1, 1024);
        let mut table = Self::empty(names);
        let rows = RowIter::from_file_into(Box::new(reader)).with_batch_size(batch);
        for (count, row) in rows.enumerate() {
            check_most(count + 1, limits.rows, "rows")?;
            let row = row?;
            for (name, field) in row.get_column_iter() {
                table.push(&text(name, field)?, limits.bytes)?;
            }
        }
        Ok(table)
    }

    /// Table of cells, one row after another.
    pub fn from_cells(
        names: Vec<String>,
        cells: impl Iterator<Item = String>,
    ) -> Result<Self, TableError> {
        let mut table = Self::empty(names);
        for cell in cells {
            table.push(&cell, usize::MAX)?;
        }
        Ok(table)
    }

    fn empty(names: Vec<String>) -> Self {
        Self {
            names,
            text: String::new(),
            ends: Vec::new(),
        }
    }

    fn push(&mut self, cell: &str, most: usize) -> Result<(), TableError> {
        let end = self.text.len() + cell.len();
        // Both grow by doubling.
        let bytes = 2 * (end + size_of::<u32>() * (self.ends.len() + 1));
        let most = most.min(u32::MAX as usize);
        if bytes > most {
            let message = format!("the table takes more than {most} bytes");
            return Err(TableError::TooLarge(message));
        }
        self.text.push_str(cell);
        self.ends.push(end as u32);
        Ok(())
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.ends.len() / self.names.len().max(1)
    }

    /// Returns true if there is no row.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Cell of a row and a column; empty beyond the table.
    pub fn cell(&self, row: usize, column: usize) -> &str {
        let place = row * self.names.len() + column;
        let start = match place.checked_sub(1) {
            Some(before) => self.ends.get(before).copied(),
            None => Some(0),
        };
        let range = start.zip(self.ends.get(place).copied());
        range.map_or("", |(start, end)| &self.text[start as usize..end as usize])
    }

    /// Index of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|own| own == name)
    }
}

fn check_most(count: usize, most: usize, what: &str) -> Result<(), TableError> {
    if count <= most {
        return Ok(());
    }
    let message = format!("there are more than {most} {what}");
    Err(TableError::TooLarge(message))
}

/// A value as CSV would write it.
fn text(name: &str, field: &Field) -> Result<String, TableError> {
    Ok(match field {
        Field::Null => String::new(),
        Field::Bool(b) => u8::from(*b).to_string(),
        Field::Byte(n) => n.to_string(),
        Field::Short(n) => n.to_string(),
        Field::Int(n) => n.to_string(),
        Field::Long(n) => n.to_string(),
        Field::UByte(n) => n.to_string(),
        Field::UShort(n) => n.to_string(),
        Field::UInt(n) => n.to_string(),
        Field::ULong(n) => n.to_string(),
        Field::Float(x) => x.to_string(),
        Field::Double(x) => x.to_string(),
        Field::Str(s) => s.clone(),
        Field::Bytes(bytes) => String::from_utf8_lossy(bytes.data()).into_owned(),
        // Times and other types that no caller uses.
        Field::Date(_)
        | Field::TimeMillis(_)
        | Field::TimeMicros(_)
        | Field::TimestampMillis(_)
        | Field::TimestampMicros(_)
        | Field::Float16(_)
        | Field::Decimal(_) => field.to_string(),
        _ => {
            return Err(TableError::Value(format!(
                "the column `{name}` holds lists or groups: only plain values can be read"
            )));
        }
    })
}
