//! User-supplied tables, read as text: the caller gives the columns their meaning.

use bytes::Bytes;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use crate::TableError;

/// User-supplied table as text; missing values are empty.
#[derive(Debug, Clone, PartialEq)]
pub struct RawTable {
    /// Column names, from the header.
    pub names: Vec<String>,
    /// The rows, each as long as the header.
    pub rows: Vec<Vec<String>>,
}

impl RawTable {
    /// Reads CSV with a header, up to `most` rows.
    pub fn from_csv(content: &[u8], most: usize) -> Result<Self, TableError> {
        let mut reader = csv::Reader::from_reader(content);
        let names = reader.headers()?.iter().map(str::to_string).collect();
        let mut rows = Vec::new();
        for record in reader.records() {
            check_rows(rows.len(), most)?;
            rows.push(record?.iter().map(str::to_string).collect());
        }
        Ok(Self { names, rows })
    }

    /// Reads a Parquet file with flat columns, up to `most` rows.
    pub fn from_parquet(content: Bytes, most: usize) -> Result<Self, TableError> {
        let reader = SerializedFileReader::new(content)?;
        let metadata = reader.metadata().file_metadata();
        check_rows(
            usize::try_from(metadata.num_rows())
                .unwrap_or(usize::MAX)
                .saturating_sub(1),
            most,
        )?;
        let schema = metadata.schema();
        let fields = schema.get_fields().iter();
        let names: Vec<String> = fields.map(|field| field.name().to_string()).collect();
        let mut rows = Vec::new();
        for row in reader.get_row_iter(None)? {
            check_rows(rows.len(), most)?;
            let row = row?;
            let cells = row.get_column_iter().map(|(name, field)| text(name, field));
            rows.push(cells.collect::<Result<_, _>>()?);
        }
        Ok(Self { names, rows })
    }

    /// Index of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|own| own == name)
    }
}

fn check_rows(count: usize, most: usize) -> Result<(), TableError> {
    if count < most {
        return Ok(());
    }
    let message = format!("there are more than {most} rows");
    Err(TableError::Value(message))
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
        // Times and the like: nobody reads them here.
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
