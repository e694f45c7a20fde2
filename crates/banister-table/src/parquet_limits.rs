//! Limits on what a Parquet file may claim, checked before it is decoded.
//!
//! The decoder allocates what headers claim: a file of a few bytes may claim gigabytes, or groups within
//! groups that no stack holds. So the headers are read here first, byte by byte (Thrift's compact
//! protocol), and what they claim is bounded.

use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

use crate::TableError;

/// Most columns of a table.
pub(crate) const MOST_COLUMNS: usize = 10_000;
/// Bytes in memory that one byte of metadata becomes, at most.
const METADATA_GROWTH: usize = 32;
/// Bytes of a dictionary's entry in memory, beside its text.
const ENTRY: u64 = 40;
/// Encodings whose pages decode to no more than their size: plain, dictionaries, runs, split streams.
const BOUNDED: [i64; 6] = [0, 2, 3, 4, 8, 9];
/// Deepest nesting of a header.
const DEEPEST: usize = 16;

/// Types of Thrift's compact protocol.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Types of the fields from the first on. The decoder goes by numbers alone: another type would make it
/// read something else than is checked here.
const FILE: [u8; 9] = [I32, LIST, I64, LIST, LIST, BINARY, LIST, STRUCT, BINARY];
const COLUMN: [u8; 10] = [I32, I32, I32, BINARY, I32, I32, I32, I32, I32, STRUCT];
const PAGE: [u8; 8] = [I32, I32, I32, I32, STRUCT, STRUCT, STRUCT, STRUCT];
const VALUES: [u8; 6] = [I32; 6];

/// Checks the metadata at the file's end: not too long, and only plain columns.
pub(crate) fn check_footer(content: &[u8], most: usize) -> Result<(), TableError> {
    let end = content.len().checked_sub(8).ok_or_else(damaged)?;
    let mut length = [0; 4];
    length.copy_from_slice(&content[end..end + 4]);
    let length = u32::from_le_bytes(length) as usize;
    let start = end.checked_sub(length).ok_or_else(damaged)?;
    if !content.ends_with(b"PAR1") {
        return Err(damaged());
    }
    if length > most / METADATA_GROWTH {
        return Err(too_large(format!("its metadata has {length} bytes")));
    }
    let mut footer = Thrift::new(&content[start..end]);
    footer.fields(&FILE, 0, |footer, id, kind| {
        if id != 2 {
            return footer.skip(kind, 1);
        }
        let (count, kind) = footer.list()?;
        if count > MOST_COLUMNS + 1 {
            return Err(too_large(format!("it has {} columns", count - 1)));
        }
        if kind != STRUCT || count == 0 {
            return Err(damaged());
        }
        // The root has all others as its children.
        let (_, columns) = element(footer)?;
        for _ in 1..count {
            let (name, children) = element(footer)?;
            if children != 0 {
                let name = String::from_utf8_lossy(name);
                return Err(TableError::Value(format!(
                    "the column `{name}` holds lists or groups: only plain values can be read"
                )));
            }
        }
        if columns == count as i64 - 1 {
            Ok(())
        } else {
            Err(damaged())
        }
    })
}

/// Name and number of children of an element of the schema.
fn element<'a>(footer: &mut Thrift<'a>) -> Result<(&'a [u8], i64), TableError> {
    let (mut name, mut children) = (&[][..], 0);
    footer.fields(&COLUMN, 2, |footer, id, kind| {
        match id {
            4 => name = footer.binary()?,
            5 => children = footer.integer()?,
            _ => footer.skip(kind, 3)?,
        }
        Ok(())
    })?;
    Ok((name, children))
}

/// Checks the pages of every column: what is decoded at once has at most `most` bytes.
pub(crate) fn check_pages(
    content: &[u8],
    metadata: &ParquetMetaData,
    most: usize,
) -> Result<(), TableError> {
    let mut all = 0;
    for group in metadata.row_groups() {
        let mut bytes = 0_u64;
        for column in group.columns() {
            let pages = chunk(content, column)?;
            all += pages.len();
            // Each page is looked at once.
            if all > content.len() {
                return Err(damaged());
            }
            bytes = bytes.saturating_add(decoded(pages)?);
        }
        if bytes > most as u64 {
            let claim = format!("{bytes} bytes would be decoded at once");
            return Err(too_large(claim));
        }
    }
    Ok(())
}

/// The bytes of a column in a row group.
fn chunk<'a>(content: &'a [u8], column: &ColumnChunkMetaData) -> Result<&'a [u8], TableError> {
    let start = column.dictionary_page_offset();
    let start = usize::try_from(start.unwrap_or(column.data_page_offset()));
    let length = usize::try_from(column.compressed_size());
    let (Ok(start), Ok(length)) = (start, length) else {
        return Err(damaged());
    };
    let end = start.checked_add(length).ok_or_else(damaged)?;
    content.get(start..end).ok_or_else(damaged)
}

/// Most bytes of a column in memory at once: its dictionaries and its largest page.
fn decoded(pages: &[u8]) -> Result<u64, TableError> {
    let mut pages = Thrift::new(pages);
    let (mut dictionaries, mut largest) = (0_u64, 0_u64);
    while !pages.rest.is_empty() {
        let (mut size, mut length, mut entries, mut encoding) = (-1, -1, None, 0);
        pages.fields(&PAGE, 0, |pages, id, kind| {
            // Of values, of a dictionary, and of values in the second version.
            let types = match id {
                5 => &VALUES[..4],
                7 => &VALUES[..2],
                8 => &VALUES[..],
                2 => return pages.integer().map(|n| size = n),
                3 => return pages.integer().map(|n| length = n),
                _ => return pages.skip(kind, 1),
            };
            pages.fields(types, 1, |pages, inner, kind| {
                match (id, inner) {
                    (7, 1) => entries = Some(pages.integer()?),
                    (5 | 7, 2) | (8, 4) => encoding = pages.integer()?,
                    _ => pages.skip(kind, 2)?,
                }
                Ok(())
            })
        })?;
        let (Ok(size), Ok(length)) = (u64::try_from(size), usize::try_from(length)) else {
            return Err(damaged());
        };
        if !BOUNDED.contains(&encoding) {
            return Err(TableError::Value(format!(
                "a page has the encoding {encoding}: only plain values and dictionaries can be read"
            )));
        }
        match entries {
            Some(entries) => {
                let entries = u64::try_from(entries).map_err(|_| damaged())?;
                let bytes = size.saturating_add(entries.saturating_mul(ENTRY));
                dictionaries = dictionaries.saturating_add(bytes);
            }
            None => largest = largest.max(size),
        }
        pages.bytes(length)?;
    }
    Ok(dictionaries.saturating_add(largest))
}

fn damaged() -> TableError {
    TableError::Value("it is damaged".into())
}

fn too_large(claim: String) -> TableError {
    TableError::TooLarge(format!("{claim}, more than is allowed"))
}

/// Reader of Thrift's compact protocol.
struct Thrift<'a> {
    rest: &'a [u8],
}

impl<'a> Thrift<'a> {
    fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8], TableError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(damaged)?;
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, TableError> {
        self.bytes(1).map(|bytes| bytes[0])
    }

    fn varint(&mut self) -> Result<u64, TableError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(value);
            }
        }
        Err(damaged())
    }

    fn integer(&mut self) -> Result<i64, TableError> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    fn binary(&mut self) -> Result<&'a [u8], TableError> {
        let length = usize::try_from(self.varint()?).map_err(|_| damaged())?;
        self.bytes(length)
    }

    /// Length of a list and the type of its elements, each of which has at least a byte.
    fn list(&mut self) -> Result<(usize, u8), TableError> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => usize::try_from(self.varint()?).map_err(|_| damaged())?,
            short => short.into(),
        };
        if count > self.rest.len() {
            return Err(damaged());
        }
        Ok((count, head & 15))
    }

    /// Passes the number and the type of every field of a struct to `read`, which reads its value; the types
    /// of the first fields are known.
    fn fields(
        &mut self,
        types: &[u8],
        depth: usize,
        mut read: impl FnMut(&mut Self, i64, u8) -> Result<(), TableError>,
    ) -> Result<(), TableError> {
        if depth > DEEPEST {
            return Err(damaged());
        }
        let mut id = 0_i64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            id = match head >> 4 {
                0 => self.integer()?,
                step => id + i64::from(step),
            };
            let place = usize::try_from(id - 1).map_err(|_| damaged())?;
            let kind = head & 15;
            if id > i16::MAX.into() || types.get(place).is_some_and(|known| *known != kind) {
                return Err(damaged());
            }
            read(self, id, kind)?;
        }
    }

    /// Skips a value.
    fn skip(&mut self, kind: u8, depth: usize) -> Result<(), TableError> {
        match kind {
            // The value is in the type.
            1 | 2 => Ok(()),
            3 => self.bytes(1).map(|_| ()),
            4..=6 => self.varint().map(|_| ()),
            7 => self.bytes(8).map(|_| ()),
            BINARY => self.binary().map(|_| ()),
            LIST | 10 => {
                if depth > DEEPEST {
                    return Err(damaged());
                }
                let (count, kind) = self.list()?;
                // In lists, truth values have a byte each.
                let kind = if kind <= 2 { 3 } else { kind };
                (0..count).try_for_each(|_| self.skip(kind, depth + 1))
            }
            STRUCT => self.fields(&[], depth, |own, _, kind| own.skip(kind, depth + 1)),
            13 => self.bytes(16).map(|_| ()),
            // Parquet has no maps.
            _ => Err(damaged()),
        }
    }
}
