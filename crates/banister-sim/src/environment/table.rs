//! `table`: requests with the outcome of *every* arm, from a file, a frame or the data shipped here.
//!
//! One row is one request. An agent sees the outcome of the arm it played, as everywhere; the rest of the
//! row is for the judge: true means are the table's, so regret and violations are exact. With `features` the
//! actions are contexts, whose true means no table knows: reward and costs are then those that were drawn.

use banister::toolkit::Within;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use banister::toolkit::CheckedProblem;
use banister::{Error, Problem};
use banister_table::RawTable;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::checked::Custom;
use super::custom::{CustomEnvironment, CustomRound, CustomRun};
use super::keys::keys;
use super::model::{
    ArmRef, Dynamics, Environment, Setting, arm_names, count, in_environment, safe_index,
};
use super::read::{LIMITS, broken, column, finite, read_table, with_intercepts};
use super::segmented::SegmentWorld;
use super::segments::of_rows;
use super::world::LoggedOutcome;
use crate::stream::stream;

/// Path of the requests that come with the program.
const ROUTING: &str = "banister:routing";

/// 3609 prompts with judged reward and dollars of three language models; see `experiments/routing`.
const REQUESTS: &[u8] = include_bytes!("../../experiments/routing/requests.parquet");

/// Streams of orders, by run: apart from those of outcomes and agents.
const ORDERS: u64 = 3 << 61;

/// A cell of a table given in place of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum TableCell {
    /// A number.
    Number(f64),
    /// A text, such as the name of a segment.
    Text(String),
}

/// Order in which requests come.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Every round draws a row anew.
    #[default]
    Replacement,
    /// Every row once, in another random order in each run.
    Shuffled,
    /// Every row once, from top to bottom.
    AsIs,
}

keys! {
    /// Keys of `table`.
    TableConfig {
        /// File of requests, CSV or Parquet; `banister:routing` is the one that comes with the program.
        path: String,
        /// The table itself in place of a file, by column.
        data: BTreeMap<String, Vec<TableCell>>,
        /// Names of the arms; default the reward columns'.
        arms: Vec<String>,
        /// The safe arm, by name or index; default the first.
        safe: ArmRef,
        /// Column of each arm's reward. `-COLUMN` is a column with the sign changed.
        rewards: Vec<String>,
        /// Per guardrail, the column of each arm's cost.
        costs: Vec<Vec<String>>,
        /// Columns that describe a request: contexts for linear agents.
        features: Vec<String>,
        /// Column of the request's segment; agents may learn means by segment.
        segment: String,
        /// True if agents know the segments' names before the first round; default true.
        declared: bool,
        /// `replacement`, `shuffled` or `as_is`; default `replacement`.
        order: Order,
        /// Share of the rows, drawn for each run, that agents learn from before the first round, with the
        /// outcomes of all arms; the others are played.
        log: f64,
    }
}

impl TableConfig {
    pub(super) fn build(&mut self, setting: &Setting<'_>) -> Result<Environment, Error> {
        let columns = self.check_columns(setting)?;
        let arms = arm_names(self.arms.as_ref(), columns[0].iter().cloned())?;
        let safe = safe_index(self.safe.as_ref(), &arms)?;
        let table = self.read(setting.folder)?;
        let plain = Problem {
            arms,
            safe,
            reward: setting.reward.clone(),
            guardrails: setting.guardrails.clone(),
            ..Problem::default()
        };
        let checked = plain.check().with_path(in_environment)?;
        let shown = self.path.as_deref().unwrap_or("data");
        let values = values(&table, &columns, &checked, shown)?;
        let contexts = match &self.features {
            None => Vec::new(),
            Some(names) => contexts(&table, names, shown)?,
        };
        self.check_rows(table.len(), setting.horizon)?;
        let (names, segments) = match &self.segment {
            None => (Vec::new(), Vec::new()),
            Some(name) => segments_of(&table, name, shown)?,
        };
        let mut table = RequestTable::new(&checked, table.len(), values, contexts);
        if !segments.is_empty() && table.contexts.is_empty() {
            table.segments = segments;
            return self.segmented(plain, &checked, setting, table, names);
        }
        let changes = !table.contexts.is_empty();
        let problem = if changes {
            Problem {
                reward: plain.reward,
                ..Problem::contextual(table.safe_action(), plain.guardrails)
            }
        } else {
            plain
        };
        let safe_means = (!changes).then(|| table.means.iter().map(|row| row[safe]).collect());
        let source = Arc::new(TableEnvironment {
            table: Arc::new(table),
            config: self.clone(),
        });
        Ok(Environment {
            safe_field: "guardrails[{i}].safe_cost".into(),
            safe_means,
            ..Environment::new(problem, Dynamics::General(Arc::new(Custom::new(source))))
        })
    }

    /// The environment of a table whose requests come in segments.
    fn segmented(
        &self,
        plain: Problem,
        checked: &CheckedProblem,
        setting: &Setting<'_>,
        table: RequestTable,
        names: Vec<String>,
    ) -> Result<Environment, Error> {
        let problem = Problem {
            segments: if self.declared.unwrap_or(true) {
                names.clone()
            } else {
                Vec::new()
            },
            ..plain
        };
        problem.check().with_path(in_environment)?;
        let table = Arc::new(table);
        let source = Arc::new(TableEnvironment {
            table: Arc::clone(&table),
            config: self.clone(),
        });
        let outcome = |row: usize, arm: usize| table.outcome(row, arm).to_vec();
        let segments = of_rows(checked, &table.segments, names, outcome);
        let world = SegmentWorld { segments, source };
        world.environment(problem, setting, "guardrails")
    }

    /// Rows of a table with this many that agents learn from before a run, and those that the first rounds
    /// play, in their order.
    ///
    /// # Errors
    /// A share that is none, or more rounds than rows that come once.
    pub fn order(
        &self,
        rows: usize,
        horizon: u64,
        seed: u64,
        run: u64,
    ) -> Result<(Vec<usize>, Vec<usize>), Error> {
        self.check_rows(rows, horizon)?;
        let mut order = Rows::new(self, rows, seed, run);
        let played = (0..horizon).map(|_| order.next()).collect();
        Ok((order.logged, played))
    }

    fn check_rows(&self, rows: usize, horizon: u64) -> Result<(), Error> {
        let log = self.log.unwrap_or(0.0);
        if !(0.0..1.0).contains(&log) {
            let allowed = "must be a share of the rows, at least 0 and less than 1";
            return Err(Error::invalid("environment.log", log, allowed));
        }
        let left = (rows - (log * rows as f64) as usize) as u64;
        if self.order.unwrap_or_default() != Order::Replacement && horizon > left {
            let allowed = format!(
                "must be at most {left}, the rows to play, unless `order` is `replacement`"
            );
            return Err(Error::invalid("run.horizon", horizon, allowed));
        }
        Ok(())
    }

    /// The reward's columns, then each guardrail's: one per arm.
    fn check_columns(&self, setting: &Setting<'_>) -> Result<Vec<Vec<String>>, Error> {
        let absent = |field: &str, allowed: &str| Err(Error::invalid(field, "absent", allowed));
        let Some(rewards) = self.rewards.as_ref().filter(|rewards| !rewards.is_empty()) else {
            return absent(
                "environment.rewards",
                "give the column of each arm's reward",
            );
        };
        let m = setting.guardrails.len();
        let empty = Vec::new();
        let costs = self.costs.as_ref().unwrap_or(&empty);
        if costs.len() != m {
            let allowed = format!("expected {m}: one list of columns per guardrail");
            let value = count(costs.len(), "list");
            return Err(Error::invalid("environment.costs", value, allowed));
        }
        if let Some(i) = costs.iter().position(|row| row.len() != rewards.len()) {
            let allowed = format!(
                "expected {}: one per arm, as `rewards` has them",
                rewards.len()
            );
            let field = format!("environment.costs[{i}]");
            let value = count(costs[i].len(), "column");
            return Err(Error::invalid(field, value, allowed));
        }
        Ok(std::iter::once(rewards).chain(costs).cloned().collect())
    }

    /// The path is made absolute, so that the resolved experiment can be run from anywhere.
    fn read(&mut self, folder: &Path) -> Result<RawTable, Error> {
        match (&self.path, &self.data) {
            (Some(path), None) if path == ROUTING => {
                RawTable::from_parquet(REQUESTS.into(), LIMITS)
                    .map_err(|error| broken(ROUTING, "", &error.to_string()))
            }
            (Some(shown), None) => {
                let path = folder.join(shown);
                let table = read_table(&path, shown)?;
                if let Ok(absolute) = std::path::absolute(&path) {
                    self.path = Some(absolute.to_string_lossy().into_owned());
                }
                Ok(table)
            }
            (None, Some(data)) => of_data(data),
            (given, _) => {
                let value = if given.is_some() {
                    "given with `data`"
                } else {
                    "absent"
                };
                let allowed = "give a CSV or Parquet file of requests, or `data`, not both";
                Err(Error::invalid("environment.path", value, allowed))
            }
        }
    }
}

/// Puts columns into the form of a file that was read.
fn of_data(data: &BTreeMap<String, Vec<TableCell>>) -> Result<RawTable, Error> {
    let rows = data.values().map(Vec::len).max().unwrap_or(0);
    if let Some((name, column)) = data.iter().find(|(_, column)| column.len() != rows) {
        let field = format!("environment.data.{name}");
        let allowed = format!("expected {rows}: as many as the longest column has");
        return Err(Error::invalid(field, count(column.len(), "row"), allowed));
    }
    if rows == 0 {
        let allowed = "a table needs rows";
        return Err(Error::invalid("environment.data", "empty", allowed));
    }
    let text = |cell: &TableCell| match cell {
        TableCell::Number(x) => x.to_string(),
        TableCell::Text(text) => text.clone(),
    };
    let cells = (0..rows).flat_map(|row| data.values().map(move |column| text(&column[row])));
    RawTable::from_cells(data.keys().cloned().collect(), cells)
        .map_err(|error| Error::invalid("environment.data", "too large", error.to_string()))
}

/// Outcomes by row, arm and signal, each checked against its range, as it counts.
fn values(
    table: &RawTable,
    columns: &[Vec<String>],
    problem: &CheckedProblem,
    shown: &str,
) -> Result<Vec<f64>, Error> {
    let (arms, signals) = (columns[0].len(), columns.len());
    let mut values = vec![0.0; table.len() * arms * signals];
    for (s, row) in columns.iter().enumerate() {
        for (a, name) in row.iter().enumerate() {
            let field = match s.checked_sub(1) {
                None => format!("environment.rewards[{a}]"),
                Some(i) => format!("environment.costs[{i}][{a}]"),
            };
            let (place, sign) = match (table.column(name), name.strip_prefix('-')) {
                (None, Some(plain)) => (column(table, &field, plain)?, -1.0),
                _ => (column(table, &field, name)?, 1.0),
            };
            let signal = problem.own_signal(a, s);
            for r in 0..table.len() {
                let x = sign * finite(table, r, place, shown)?;
                if !signal.admits(x) {
                    let cell = format!("{shown}, row {}, column `{}`", r + 1, table.names[place]);
                    let refused = signal.check_value(x).at(cell);
                    return refused
                        .map(|()| values)
                        .map_err(|error| in_table(error, &field));
                }
                values[(r * arms + a) * signals + s] = signal.counted(x);
            }
        }
    }
    Ok(values)
}

/// Says where the range of a cell's column is declared.
fn in_table(error: Error, column: &str) -> Error {
    match error {
        Error::Invalid {
            field,
            value,
            allowed,
        } => Error::invalid(
            field,
            value,
            format!("{allowed}; `{column}` names the column"),
        ),
        other => other,
    }
}

/// Contexts x = (1, f/max‖f‖)/√2 by row.
fn contexts(table: &RawTable, names: &[String], shown: &str) -> Result<Vec<f64>, Error> {
    if names.is_empty() {
        let allowed = "name at least one column, or leave it out";
        return Err(Error::invalid("environment.features", "empty", allowed));
    }
    let d = names.len() + 1;
    let mut rows = vec![0.0; table.len() * d];
    for (j, name) in names.iter().enumerate() {
        let column = column(table, &format!("environment.features[{j}]"), name)?;
        for r in 0..table.len() {
            rows[r * d + j + 1] = finite(table, r, column, shown)?;
        }
    }
    with_intercepts(&mut rows, d, shown)?;
    Ok(rows)
}

/// Names of the segments in a column, in the order in which they come first, and the segment of each row.
fn segments_of(
    table: &RawTable,
    name: &str,
    shown: &str,
) -> Result<(Vec<String>, Vec<usize>), Error> {
    let place = column(table, "environment.segment", name)?;
    let mut names: Vec<String> = Vec::new();
    let mut known = HashMap::new();
    let mut segments = Vec::with_capacity(table.len());
    for row in 0..table.len() {
        let cell = table.cell(row, place);
        if cell.trim().is_empty() {
            let cell = format!("{shown}, row {}, column `{name}`", row + 1);
            return Err(Error::invalid(cell, "empty", "a segment needs a name"));
        }
        let next = names.len();
        let segment = *known.entry(cell.to_string()).or_insert(next);
        if segment == next {
            names.push(cell.to_string());
        }
        segments.push(segment);
    }
    Ok((names, segments))
}

/// A table of requests, ready to be played.
#[derive(Debug)]
struct RequestTable {
    rows: usize,
    arms: usize,
    signals: usize,
    safe: usize,
    /// By row, arm and signal.
    values: Vec<f64>,
    /// By signal and arm.
    means: Vec<Vec<f64>>,
    /// (1, f/max‖f‖)/√2 by row; empty without features.
    contexts: Vec<f64>,
    /// Segment by row; empty without segments.
    segments: Vec<usize>,
}

impl RequestTable {
    fn new(problem: &CheckedProblem, rows: usize, values: Vec<f64>, contexts: Vec<f64>) -> Self {
        let (arms, signals) = (problem.declared.arms.len(), problem.guardrails.len() + 1);
        let mean = |s: usize, a: usize| {
            let column = values.iter().skip(a * signals + s).step_by(arms * signals);
            column.sum::<f64>() / rows as f64
        };
        let means = (0..signals).map(|s| (0..arms).map(|a| mean(s, a)).collect());
        Self {
            rows,
            arms,
            signals,
            safe: problem.declared.safe,
            means: means.collect(),
            values,
            contexts,
            segments: Vec::new(),
        }
    }

    /// Outcome of an arm for a request: the reward, then one cost per guardrail.
    fn outcome(&self, row: usize, arm: usize) -> &[f64] {
        let from = (row * self.arms + arm) * self.signals;
        &self.values[from..from + self.signals]
    }

    fn context(&self, row: usize) -> &[f64] {
        let d = self.contexts.len() / self.rows;
        &self.contexts[row * d..(row + 1) * d]
    }

    /// Length of actions: one number for the safe arm, whose means do not depend on the context, and a block
    /// for each other.
    fn dimension(&self) -> usize {
        1 + (self.arms - 1) * self.contexts.len() / self.rows
    }

    fn safe_action(&self) -> Vec<f64> {
        let mut safe = vec![0.0; self.dimension()];
        safe[0] = 1.0;
        safe
    }

    /// Writes the features of every arm but the safe one.
    fn write_actions(&self, row: usize, actions: &mut Vec<f64>) {
        let (x, dimension) = (self.context(row), self.dimension());
        actions.clear();
        actions.resize((self.arms - 1) * dimension, 0.0);
        for (block, action) in actions.chunks_exact_mut(dimension).enumerate() {
            action[1 + block * x.len()..][..x.len()].copy_from_slice(x);
        }
    }

    /// Arm of an action: its own number, or with features the place among the arms but the safe one.
    fn arm(&self, action: usize) -> usize {
        match action {
            _ if self.contexts.is_empty() => action,
            last if last + 1 == self.arms => self.safe,
            before if before < self.safe => before,
            after => after + 1,
        }
    }
}

/// Rows of a run in their order.
#[derive(Debug, Clone)]
struct Rows {
    order: Order,
    logged: Vec<usize>,
    /// Rows that are played.
    played: Vec<usize>,
    /// Rows played so far, each of them once.
    next: usize,
    rng: ChaCha8Rng,
}

impl Rows {
    fn new(config: &TableConfig, rows: usize, seed: u64, run: u64) -> Self {
        let order = config.order.unwrap_or_default();
        let logged = (config.log.unwrap_or(0.0) * rows as f64) as usize;
        let mut rng = stream(seed, ORDERS + run);
        let mut all: Vec<usize> = (0..rows).collect();
        if logged > 0 || order == Order::Shuffled {
            for last in (1..rows).rev() {
                all.swap(last, below(&mut rng, last + 1));
            }
        }
        let mut played = all.split_off(logged);
        if order == Order::AsIs {
            played.sort_unstable();
        }
        Self {
            order,
            logged: all,
            played,
            next: 0,
            rng,
        }
    }

    fn next(&mut self) -> usize {
        let place = match self.order {
            Order::Replacement => below(&mut self.rng, self.played.len()),
            Order::Shuffled | Order::AsIs => self.next,
        };
        self.next += 1;
        // A horizon beyond the rows was refused.
        self.played[place % self.played.len()]
    }
}

/// A number below `n`.
fn below(rng: &mut ChaCha8Rng, n: usize) -> usize {
    ((u128::from(rng.next_u64()) * n as u128) >> 64) as usize
}

struct TableEnvironment {
    table: Arc<RequestTable>,
    config: TableConfig,
}

impl CustomEnvironment for TableEnvironment {
    fn knows_means(&self) -> bool {
        self.table.contexts.is_empty()
    }

    fn actions_change(&self) -> bool {
        !self.table.contexts.is_empty()
    }

    fn rows(&self, horizon: u64, seed: u64, run: u64) -> Option<Vec<usize>> {
        let order = self.config.order(self.table.rows, horizon, seed, run);
        order.ok().map(|(_, played)| played)
    }

    fn start(&self, seed: u64, run: u64) -> Result<Box<dyn CustomRun>, Error> {
        Ok(Box::new(TableRun {
            table: Arc::clone(&self.table),
            rows: Rows::new(&self.config, self.table.rows, seed, run),
            row: 0,
        }))
    }
}

/// One run through a table.
struct TableRun {
    table: Arc<RequestTable>,
    rows: Rows,
    /// The request of this round.
    row: usize,
}

impl CustomRun for TableRun {
    fn logged(&mut self) -> Result<Vec<LoggedOutcome>, Error> {
        let table = &self.table;
        let mut actions = Vec::new();
        let mut outcomes = Vec::with_capacity(self.rows.logged.len() * table.arms);
        for &row in &self.rows.logged {
            if !table.contexts.is_empty() {
                table.write_actions(row, &mut actions);
            }
            for action in 0..table.arms {
                let d = table.safe_action().len();
                let features = match actions.get(action * d..(action + 1) * d) {
                    _ if table.contexts.is_empty() => Vec::new(),
                    Some(features) => features.to_vec(),
                    None => table.safe_action(),
                };
                let outcome = table.outcome(row, table.arm(action));
                outcomes.push(LoggedOutcome {
                    action,
                    features,
                    reward: outcome[0],
                    costs: outcome[1..].to_vec(),
                    segment: table.segments.get(row).copied().unwrap_or(0),
                });
            }
        }
        Ok(outcomes)
    }

    fn begin(&mut self, round: &mut CustomRound) -> Result<(), Error> {
        self.row = self.rows.next();
        round.segment = self.table.segments.get(self.row).copied().unwrap_or(0);
        if !self.table.contexts.is_empty() {
            self.table.write_actions(self.row, &mut round.actions);
        } else if round.means.is_empty() {
            round.means.clone_from(&self.table.means);
        }
        Ok(())
    }

    fn pull(&mut self, action: usize, costs: &mut [f64]) -> Result<f64, Error> {
        let outcome = self.table.outcome(self.row, self.table.arm(action));
        costs.copy_from_slice(&outcome[1..]);
        Ok(outcome[0])
    }
}
