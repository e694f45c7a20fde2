//! Columns of a result table, declared once: CSV, Parquet, Python, JSON, the terminal and the report read the same list.

use banister_sim::compare::Interval95;
use banister_table::{Column, DataTable};
use serde_json::json;

use super::{columns, words};
use crate::{Cell, ReportTable, Tone};

/// A column of a table with rows `R`.
pub struct Spec<R> {
    /// Name in files, Python and JSON, and the value there; no value: a column for people only.
    name: &'static str,
    get: Get<R>,
    /// Headings for people, where they stand, and the cells below them.
    shown: Vec<Shown<R>>,
    /// Omits the column where this holds for no row: from files, or a column for people only.
    wanted: Option<fn(&R) -> bool>,
}

type Shown<R> = (&'static str, Place, How<R>);

/// Accessor of a value as files and programs get it. Unknown values are empty in files and null in JSON.
enum Get<R> {
    Nothing,
    Words(fn(&R) -> Option<&str>),
    /// `yes` or nothing in files.
    Flag(fn(&R) -> bool),
    Count(fn(&R) -> Option<u64>),
    /// A number that is not finite is unknown.
    Number(fn(&R) -> f64),
    /// NAME, NAME_low and NAME_high in files.
    Interval(fn(&R) -> Interval95),
}

/// Readers of a column for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Readers of the terminal, which has little room, and of the report.
    Terminal,
    /// Readers of the report.
    Report,
}

/// Way from a row to the cell that people see.
enum How<R> {
    /// The value, a number as the function writes it, in a tone.
    Written(fn(f64) -> String, Tone),
    Cell(fn(&R) -> Cell),
}

impl<R> Spec<R> {
    fn new(name: &'static str, get: Get<R>) -> Self {
        let (shown, wanted) = (Vec::new(), None);
        Self {
            name,
            get,
            shown,
            wanted,
        }
    }

    /// A column of words.
    pub fn words(name: &'static str, get: fn(&R) -> Option<&str>) -> Self {
        Self::new(name, Get::Words(get))
    }

    /// A column that says yes or nothing.
    pub fn flag(name: &'static str, get: fn(&R) -> bool) -> Self {
        Self::new(name, Get::Flag(get))
    }

    /// A column of whole numbers.
    pub fn count(name: &'static str, get: fn(&R) -> Option<u64>) -> Self {
        Self::new(name, Get::Count(get))
    }

    /// A column of real numbers.
    pub fn number(name: &'static str, get: fn(&R) -> f64) -> Self {
        Self::new(name, Get::Number(get))
    }

    /// Columns of a mean and the ends of its interval.
    pub fn interval(name: &'static str, get: fn(&R) -> Interval95) -> Self {
        Self::new(name, Get::Interval(get))
    }

    /// A column for people only.
    pub fn only(heading: &'static str, place: Place, cell: fn(&R) -> Cell) -> Self {
        Self::new("", Get::Nothing).cells(heading, place, cell)
    }

    /// Shows the value to people.
    pub fn shown(self, heading: &'static str, place: Place) -> Self {
        self.written(heading, place, words::number)
    }

    /// Shows the number to people as `write` writes it.
    pub fn written(mut self, heading: &'static str, place: Place, write: Write) -> Self {
        let how = How::Written(write, Tone::Plain);
        self.shown.push((heading, place, how));
        self
    }

    /// Shows a number of little weight.
    pub fn quiet(mut self, heading: &'static str, place: Place, write: Write) -> Self {
        let how = How::Written(write, Tone::Quiet);
        self.shown.push((heading, place, how));
        self
    }

    /// Shows cells to people.
    pub fn cells(mut self, heading: &'static str, place: Place, cell: fn(&R) -> Cell) -> Self {
        self.shown.push((heading, place, How::Cell(cell)));
        self
    }

    /// Omits the column where this holds for no row.
    pub fn where_any(mut self, wanted: fn(&R) -> bool) -> Self {
        self.wanted = Some(wanted);
        self
    }

    fn is_wanted(&self, rows: &[R]) -> bool {
        self.wanted.is_none_or(|wanted| rows.iter().any(wanted))
    }

    fn cell(&self, how: &How<R>, row: &R) -> Cell {
        match (how, &self.get) {
            (How::Cell(cell), _) => cell(row),
            (How::Written(..), Get::Words(get)) => Cell::text(get(row).unwrap_or("")),
            (How::Written(..), Get::Count(get)) => words::counted(get(row)),
            (How::Written(write, tone), get) => words::cell(get.as_number(row), write).toned(*tone),
        }
    }
}

/// Number in words.
type Write = fn(f64) -> String;

impl<R> Get<R> {
    fn as_number(&self, row: &R) -> f64 {
        match self {
            Self::Number(get) => get(row),
            Self::Interval(get) => get(row).mean,
            _ => f64::NAN,
        }
    }
}

/// The table of files and Python.
pub fn data<R>(specs: &[Spec<R>], rows: &[R]) -> DataTable {
    let mut all: Vec<Column> = Vec::new();
    for spec in specs.iter().filter(|spec| spec.is_wanted(rows)) {
        let name = spec.name;
        let numbers = |name: &str, of: &dyn Fn(&R) -> f64| {
            let known = |row| Some(of(row)).filter(|x| x.is_finite());
            columns::number(name, rows.iter().map(known))
        };
        match spec.get {
            Get::Nothing => {}
            Get::Words(get) => {
                let known = |row| get(row).unwrap_or("");
                all.push(columns::text(name, rows.iter().map(known)));
            }
            Get::Flag(get) => {
                let word = |row| if get(row) { "yes" } else { "" };
                all.push(columns::text(name, rows.iter().map(word)));
            }
            Get::Count(get) => all.push(columns::count(name, rows.iter().map(get))),
            Get::Number(get) => all.push(numbers(name, &get)),
            Get::Interval(get) => all.extend([
                numbers(name, &|row| get(row).mean),
                numbers(&format!("{name}_low"), &|row| get(row).low),
                numbers(&format!("{name}_high"), &|row| get(row).high),
            ]),
        }
    }
    DataTable { columns: all }
}

/// The table for people, with the columns that there is room for.
pub fn report<R>(title: &str, specs: &[Spec<R>], rows: &[R], place: Place) -> ReportTable {
    let shown: Vec<(&Spec<R>, &Shown<R>)> = (specs.iter())
        .filter(|spec| !matches!(spec.get, Get::Nothing) || spec.is_wanted(rows))
        .flat_map(|spec| spec.shown.iter().map(move |shown| (spec, shown)))
        .filter(|(_, (_, own, _))| place == Place::Report || *own == Place::Terminal)
        .collect();
    let cells = |row: &R| (shown.iter().map(|(spec, own)| spec.cell(&own.2, row))).collect();
    ReportTable {
        title: title.into(),
        header: shown.iter().map(|(_, own)| own.0.to_string()).collect(),
        rows: rows.iter().map(cells).collect(),
    }
}

/// A row for programs.
pub fn json<R>(specs: &[Spec<R>], row: &R) -> serde_json::Value {
    let value = |spec: &Spec<R>| match spec.get {
        Get::Nothing => None,
        Get::Words(get) => Some(json!(get(row))),
        Get::Flag(get) => Some(json!(get(row))),
        Get::Count(get) => Some(json!(get(row))),
        Get::Number(get) => Some(json!(get(row))),
        Get::Interval(get) => Some(json!(Some(get(row)).filter(|own| !own.mean.is_nan()))),
    };
    let each = (specs.iter()).filter_map(|spec| Some((spec.name.to_string(), value(spec)?)));
    serde_json::Value::Object(each.collect())
}

/// Rows for programs.
pub fn json_rows<R>(specs: &[Spec<R>], rows: &[R]) -> serde_json::Value {
    rows.iter().map(|row| json(specs, row)).collect()
}

/// A number that is NaN where it is unknown.
pub fn known(x: Option<f64>) -> f64 {
    x.unwrap_or(f64::NAN)
}
