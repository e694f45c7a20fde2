//! Action sets from a file of features.

use std::f64::consts::FRAC_1_SQRT_2;
use std::path::Path;

use banister::Error;

use super::changing::Source;
use super::sheet::Sheet;
use super::{MAX_SET, dot};
use crate::arms::count;
use crate::environment::EnvironmentConfig;

/// The sets of a file and the length of their vectors: x = (1, f/max‖f‖)/√2 for features f. The
/// path is made absolute, so that the resolved experiment can be run from anywhere.
pub(super) fn read(env: &mut EnvironmentConfig, folder: &Path) -> Result<(Source, usize), Error> {
    let Some(shown) = env.path.clone() else {
        return Err(Error::invalid(
            "environment.path",
            "absent",
            "give a CSV or Parquet file of features",
        ));
    };
    let path = folder.join(&shown);
    let sheet = Sheet::read(&path, &shown)?;
    let features = feature_columns(env, &sheet, &shown)?;
    let starts = set_starts(env, &sheet, &shown)?;
    let d = features.len() + 1;
    if sheet.rows.saturating_mul(d) > MAX_SET {
        let value = format!("{shown} with {} rows of {} features", sheet.rows, d - 1);
        let allowed = format!("at most {MAX_SET} numbers");
        return Err(Error::invalid("environment.path", value, allowed));
    }
    let mut rows = vec![0.0; sheet.rows * d];
    for (j, &column) in features.iter().enumerate() {
        for (row, x) in sheet.numbers(column, &shown)?.into_iter().enumerate() {
            rows[row * d + j + 1] = x;
        }
    }
    let longest = rows
        .chunks_exact(d)
        .map(|x| dot(x, x).sqrt())
        .fold(0.0, f64::max);
    if !(longest > 0.0 && longest.is_finite()) {
        let value = format!("{shown}, whose longest feature vector has length {longest}");
        let allowed = "features must differ from 0, and their squares must not overflow";
        return Err(Error::invalid("environment.path", value, allowed));
    }
    let scale = FRAC_1_SQRT_2 / (longest * (1.0 + 1e-13));
    for x in rows.chunks_exact_mut(d) {
        x.iter_mut().for_each(|x| *x *= scale);
        x[0] = FRAC_1_SQRT_2;
    }
    env.path = Some(match std::path::absolute(&path) {
        Ok(absolute) => absolute.to_string_lossy().into_owned(),
        Err(_) => shown,
    });
    Ok((Source::Logged { rows, starts }, d))
}

/// The columns that are features.
fn feature_columns(
    env: &EnvironmentConfig,
    sheet: &Sheet,
    shown: &str,
) -> Result<Vec<usize>, Error> {
    let Some(names) = &env.columns else {
        let round = match &env.round {
            Some(round) => Some(column(sheet, "environment.round", round)?),
            None => None,
        };
        let all: Vec<usize> = (0..sheet.names.len())
            .filter(|c| Some(*c) != round && sheet.is_numeric(*c))
            .collect();
        if all.is_empty() {
            return Err(Error::invalid(
                "environment.path",
                format!("{shown} without a numeric column"),
                "features are numbers",
            ));
        }
        return Ok(all);
    };
    if names.is_empty() {
        let allowed = "name at least one column, or leave it out to take all numeric ones";
        return Err(Error::invalid("environment.columns", "empty", allowed));
    }
    let mut columns = Vec::new();
    for (i, name) in names.iter().enumerate() {
        let field = format!("environment.columns[{i}]");
        let found = column(sheet, &field, name)?;
        if columns.contains(&found) {
            return Err(Error::invalid(field, name, "this column is listed twice"));
        }
        columns.push(found);
    }
    Ok(columns)
}

fn column(sheet: &Sheet, field: &str, name: &str) -> Result<usize, Error> {
    let place = sheet.names.iter().position(|other| other == name);
    place.ok_or_else(|| {
        let known = sheet.names.join("`, `");
        let allowed = format!("there is no such column; the file has `{known}`");
        Error::invalid(field, name, allowed)
    })
}

/// Where each action set begins, and where the last one ends.
fn set_starts(env: &EnvironmentConfig, sheet: &Sheet, shown: &str) -> Result<Vec<usize>, Error> {
    let rows = sheet.rows;
    let mut starts = vec![0];
    match (&env.round, env.k) {
        (Some(_), Some(k)) => {
            let allowed = "leave it out: the `round` column says which rows make a set";
            return Err(Error::invalid("environment.k", k, allowed));
        }
        (Some(name), None) => {
            let values = sheet.texts(column(sheet, "environment.round", name)?);
            let mut seen = std::collections::BTreeSet::from([values[0].as_str()]);
            for row in 1..rows {
                if values[row] == values[row - 1] {
                    continue;
                }
                if !seen.insert(&values[row]) {
                    let value = format!("{shown}, row {}: round `{}`", row + 1, values[row]);
                    let allowed = "the rows of a round must stand together";
                    return Err(Error::invalid("environment.path", value, allowed));
                }
                starts.push(row);
            }
            starts.push(rows);
        }
        (None, Some(k)) if k >= 1 && rows.is_multiple_of(k) => {
            starts.extend((1..=rows / k).map(|set| set * k));
        }
        (None, Some(k)) => {
            let value = format!("{k} with {} in the file", count(rows, "row"));
            let allowed = "must be at least 1 and divide the number of rows";
            return Err(Error::invalid("environment.k", value, allowed));
        }
        (None, None) => {
            let allowed =
                "give the number of rows that make an action set, or name a `round` column";
            return Err(Error::invalid("environment.k", "absent", allowed));
        }
    }
    Ok(starts)
}
