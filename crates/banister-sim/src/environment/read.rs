//! Tables of features and outcomes from files of the user.

use std::f64::consts::FRAC_1_SQRT_2;
use std::path::Path;

use banister::Error;
use banister_table::{Limits, RawTable};

use super::changing::dot;
use super::linear::MAX_SET;

/// The file is the user's own.
pub(super) const LIMITS: Limits = Limits {
    rows: MAX_SET,
    bytes: usize::MAX,
};

pub(super) fn broken(shown: &str, what: &str, allowed: &str) -> Error {
    Error::invalid("environment.path", format!("{shown}{what}"), allowed)
}

/// Reads a table with rows and distinct columns; `shown` is the path as declared.
pub(super) fn read_table(path: &Path, shown: &str) -> Result<RawTable, Error> {
    RawTable::from_file(path, LIMITS).map_err(|error| broken(shown, "", &error.to_string()))
}

pub(super) fn number(cell: &str) -> Option<f64> {
    cell.trim().parse().ok()
}

pub(super) fn finite(
    table: &RawTable,
    row: usize,
    column: usize,
    shown: &str,
) -> Result<f64, Error> {
    let cell = table.cell(row, column);
    let x = number(cell);
    x.filter(|x| x.is_finite()).ok_or_else(|| {
        let name = &table.names[column];
        let found = x.map_or(cell.to_string(), |x| x.to_string());
        let what = format!(", row {}, column `{name}`: `{found}`", row + 1);
        broken(shown, &what, "only finite numbers are allowed")
    })
}

pub(super) fn column(table: &RawTable, field: &str, name: &str) -> Result<usize, Error> {
    let place = table.names.iter().position(|other| other == name);
    place.ok_or_else(|| {
        let known = table.names.join("`, `");
        let allowed = format!("there is no such column; the table has `{known}`");
        Error::invalid(field, name, allowed)
    })
}

/// Makes x = (1, f/max‖f‖)/√2 of rows (0, f).
pub(super) fn with_intercepts(rows: &mut [f64], d: usize, shown: &str) -> Result<(), Error> {
    let longest = rows
        .chunks_exact(d)
        .map(|x| dot(x, x).sqrt())
        .fold(0.0, f64::max);
    if !(longest > 0.0 && longest.is_finite()) {
        let value = format!(", whose longest feature vector has length {longest}");
        let allowed = "features must differ from 0, and their squares must not overflow";
        return Err(broken(shown, &value, allowed));
    }
    let scale = FRAC_1_SQRT_2 / (longest * (1.0 + 1e-13));
    for x in rows.chunks_exact_mut(d) {
        x.iter_mut().for_each(|x| *x *= scale);
        x[0] = FRAC_1_SQRT_2;
    }
    Ok(())
}
