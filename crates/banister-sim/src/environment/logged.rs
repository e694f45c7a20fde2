//! `logged`: action sets from a file of features, CSV or Parquet.

use std::path::Path;

use banister::toolkit::Signal;
use banister::{Error, Link};
use banister_table::RawTable;

use super::changing::{ActionSets, Changing};
use super::draw::INSTANCE_SEED;
use super::keys::keys;
use super::linear::{MAX_SET, changing_environment};
use super::model::{Environment, Setting, count};
use super::parameters::{LinearModel, Shape, check_means, check_noise, safe_action, signals};
use super::read::{broken, column, finite, number, read_table, with_intercepts};

keys! {
    /// Keys of `logged`.
    LoggedConfig {
        /// Rows that make an action set, where no `round` column does.
        k: usize,
        /// θ: the reward's mean is ⟨x, θ⟩; default drawn from `instance_seed`.
        theta: Vec<f64>,
        /// μ, one vector per guardrail; default drawn from `instance_seed`.
        mu: Vec<Vec<f64>>,
        /// Standard deviation of Gaussian noise as a fraction of the signal's range; absent: signals
        /// take the two ends of their range.
        noise: f64,
        /// True costs of the safe action, one per guardrail; default the guardrails' `safe_cost`, else
        /// half-way between the harmless end of the range and the threshold.
        safe_costs: Vec<f64>,
        /// Seed of the instance, apart from the runs' (default 1).
        instance_seed: u64,
        /// File of features: CSV or Parquet.
        path: String,
        /// Columns that are features; default all numeric ones but `round`.
        columns: Vec<String>,
        /// Column whose equal values make an action set; default `k` rows make one.
        round: String,
    }
}

impl LoggedConfig {
    pub(super) fn build(&mut self, setting: &Setting<'_>) -> Result<Environment, Error> {
        let signals: Vec<Signal> = signals(setting)?;
        check_noise(self.noise, &signals)?;
        let (source, d) = self.read(setting.folder)?;
        let model = LinearModel {
            link: Link::Identity,
            theta: self.theta.clone(),
            mu: self.mu.clone(),
            seed: self.instance_seed.unwrap_or(INSTANCE_SEED),
            noise: self.noise,
        };
        let shape = Shape::Intercept;
        let parameters = model.parameters(&signals, d, shape)?;
        let safe = safe_action(
            setting,
            &mut self.safe_costs,
            &signals,
            &parameters,
            (shape, Link::Identity),
        )?;
        let changing = Changing::new(source, safe, parameters, signals.clone(), self.noise);
        // The file is what it is: look at the means of its rows rather than at the worst thinkable.
        for (s, signal) in signals.iter().enumerate() {
            let (low, high) = changing.logged_means(s);
            check_means(&model, s, signal, low, high)?;
        }
        Ok(changing_environment(setting, changing))
    }

    /// Reads the sets of the file and the length of their vectors: x = (1, f/max‖f‖)/√2 for features f. The
    /// path is made absolute, so that the resolved experiment can be run from anywhere.
    fn read(&mut self, folder: &Path) -> Result<(ActionSets, usize), Error> {
        let Some(shown) = self.path.clone() else {
            let allowed = "give a CSV or Parquet file of features";
            return Err(Error::invalid("environment.path", "absent", allowed));
        };
        let path = folder.join(&shown);
        let table = read_table(&path, &shown)?;
        let features = feature_columns(self, &table, &shown)?;
        let starts = set_starts(self, &table, &shown)?;
        let d = features.len() + 1;
        let count = table.len();
        if count.saturating_mul(d) > MAX_SET {
            let value = format!(" with {count} rows of {} features", d - 1);
            return Err(broken(
                &shown,
                &value,
                &format!("at most {MAX_SET} numbers"),
            ));
        }
        let mut rows = vec![0.0; count * d];
        for (j, &column) in features.iter().enumerate() {
            for row in 0..count {
                rows[row * d + j + 1] = finite(&table, row, column, &shown)?;
            }
        }
        with_intercepts(&mut rows, d, &shown)?;
        self.path = Some(match std::path::absolute(&path) {
            Ok(absolute) => absolute.to_string_lossy().into_owned(),
            Err(_) => shown,
        });
        Ok((ActionSets::Logged { rows, starts }, d))
    }
}

/// True where a column has a number anywhere: then all of it must be numbers.
fn is_numeric(table: &RawTable, column: usize) -> bool {
    (0..table.len()).any(|row| number(table.cell(row, column)).is_some())
}

/// Value of the `round` column: `1` and `1.0` are the same round.
fn round_of(cell: &str) -> String {
    number(cell).map_or(cell.to_string(), |x| x.to_string())
}

/// Finds the columns that are features.
fn feature_columns(env: &LoggedConfig, table: &RawTable, shown: &str) -> Result<Vec<usize>, Error> {
    let Some(names) = &env.columns else {
        let round = match &env.round {
            Some(round) => Some(column(table, "environment.round", round)?),
            None => None,
        };
        let all: Vec<usize> = (0..table.names.len())
            .filter(|c| Some(*c) != round && is_numeric(table, *c))
            .collect();
        if all.is_empty() {
            let field = "environment.path";
            let allowed = "features are numbers";
            return Err(Error::invalid(
                field,
                format!("{shown} without a numeric column"),
                allowed,
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
        let found = column(table, &field, name)?;
        if columns.contains(&found) {
            return Err(Error::invalid(field, name, "this column is listed twice"));
        }
        columns.push(found);
    }
    Ok(columns)
}

/// First row of each action set, and the end of the last one.
fn set_starts(env: &LoggedConfig, table: &RawTable, shown: &str) -> Result<Vec<usize>, Error> {
    let rows = table.len();
    let mut starts = vec![0];
    match (&env.round, env.k) {
        (Some(_), Some(k)) => {
            let allowed = "leave it out: the `round` column says which rows make a set";
            return Err(Error::invalid("environment.k", k, allowed));
        }
        (Some(name), None) => {
            let place = column(table, "environment.round", name)?;
            let value = |row: usize| round_of(table.cell(row, place));
            let mut seen = std::collections::BTreeSet::from([value(0)]);
            for row in 1..rows {
                if value(row) == value(row - 1) {
                    continue;
                }
                if !seen.insert(value(row)) {
                    let found = format!("{shown}, row {}: round `{}`", row + 1, value(row));
                    let allowed = "the rows of a round must stand together";
                    return Err(Error::invalid("environment.path", found, allowed));
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
