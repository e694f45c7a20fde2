//! The tables `curves` and `runs`, as CSV and as Parquet.
//!
//! A [`DataTable`] holds the columns once; [`DataTable::to_csv`] and [`DataTable::to_parquet`]
//! write the same columns, so the two formats cannot drift apart. What does not apply to a row (a
//! guardrail that its instance does not have, a time that was not taken) is empty in CSV and null
//! in Parquet.

use std::collections::BTreeSet;
use std::sync::Arc;

use banister_sim::results::{AgentResult, InstanceResult, Results, RunSummary};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::ReportError;

/// A table by columns, all of the same length.
#[derive(Debug, Clone, PartialEq)]
pub struct DataTable {
    /// The columns, from left to right.
    pub columns: Vec<Column>,
}

/// One column of a [`DataTable`].
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// The header.
    pub name: String,
    /// One entry per row.
    pub values: Values,
}

/// The entries of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Names.
    Text(Vec<String>),
    /// Whole numbers.
    Count(Vec<Option<u64>>),
    /// Real numbers.
    Number(Vec<Option<f64>>),
}

/// The statistics over runs at the checkpoints: one row per instance, agent and checkpoint.
///
/// The columns are instance, agent, round, regret_mean, regret_std, regret_q05, regret_q95,
/// reward_mean, then NAME_cost_mean, NAME_cost_max and NAME_price_mean per guardrail. The
/// guardrails are the union over instances in order of first appearance; NAME_cost_max is the
/// worst expected signal of any single round (the smallest for an `at_least` guardrail).
pub fn curves(results: &Results) -> DataTable {
    let guardrails = Union::of(results, |i| i.guardrails.iter().map(|g| &g.name).collect());
    let mut rows: Vec<(usize, &InstanceResult, &AgentResult, usize)> = Vec::new();
    for (i, instance) in results.instances.iter().enumerate() {
        for agent in &instance.agents {
            rows.extend((0..agent.curve.round.len()).map(|t| (i, instance, agent, t)));
        }
    }
    let number = |name: &str, of: fn(&AgentResult) -> &Vec<f64>| Column {
        name: name.to_owned(),
        values: Values::Number(rows.iter().map(|r| of(r.2).get(r.3).copied()).collect()),
    };
    let mut columns = vec![
        text("instance", rows.iter().map(|r| &r.1.name)),
        text("agent", rows.iter().map(|r| &r.2.name)),
        count(
            "round",
            rows.iter().map(|r| r.2.curve.round.get(r.3).copied()),
        ),
        number("regret_mean", |a| &a.curve.regret_mean),
        number("regret_std", |a| &a.curve.regret_std),
        number("regret_q05", |a| &a.curve.regret_q05),
        number("regret_q95", |a| &a.curve.regret_q95),
        number("reward_mean", |a| &a.curve.reward_mean),
    ];
    for name in &guardrails.names {
        let at = guardrails.positions(name);
        let mut signal = |suffix: &str, of: fn(&AgentResult) -> &Vec<Vec<f64>>| {
            let cell = |r: &(usize, &InstanceResult, &AgentResult, usize)| {
                of(r.2).get((*at.get(r.0)?)?)?.get(r.3).copied()
            };
            columns.push(Column {
                name: format!("{name}_{suffix}"),
                values: Values::Number(rows.iter().map(cell).collect()),
            });
        };
        signal("cost_mean", |a| &a.curve.cost_mean);
        signal("cost_max", |a| &a.curve.cost_worst);
        signal("price_mean", |a| &a.curve.price_mean);
    }
    DataTable { columns }
}

/// The summaries of the runs: one row per instance, agent and run.
///
/// The columns are instance, agent, run, seed, regret, reward_end, violations, worst_exceedance,
/// nanoseconds_per_round, then pulls_ARM per arm: the union over instances in order of first
/// appearance.
pub fn runs(results: &Results) -> DataTable {
    let arms = Union::of(results, |instance| instance.arms.iter().collect());
    let mut rows: Vec<(usize, &InstanceResult, &AgentResult, &RunSummary)> = Vec::new();
    for (i, instance) in results.instances.iter().enumerate() {
        for agent in &instance.agents {
            rows.extend(agent.runs.iter().map(|run| (i, instance, agent, run)));
        }
    }
    let counted =
        |name: &str, of: fn(&RunSummary) -> u64| count(name, rows.iter().map(|r| Some(of(r.3))));
    let number = |name: &str, of: fn(&RunSummary) -> Option<f64>| Column {
        name: name.to_owned(),
        values: Values::Number(rows.iter().map(|r| of(r.3)).collect()),
    };
    let mut columns = vec![
        text("instance", rows.iter().map(|r| &r.1.name)),
        text("agent", rows.iter().map(|r| &r.2.name)),
        counted("run", |r| r.run),
        counted("seed", |r| r.seed),
        number("regret", |r| Some(r.regret)),
        number("reward_end", |r| Some(r.reward_end)),
        counted("violations", |r| r.violations),
        number("worst_exceedance", |r| Some(r.worst_exceedance)),
        number("nanoseconds_per_round", |r| r.nanoseconds_per_round),
    ];
    for name in &arms.names {
        let at = arms.positions(name);
        let pulls = rows
            .iter()
            .map(|r| r.3.pulls.get((*at.get(r.0)?)?).copied());
        columns.push(count(&format!("pulls_{name}"), pulls));
    }
    DataTable { columns }
}

fn text<'a>(name: &str, values: impl Iterator<Item = &'a String>) -> Column {
    Column {
        name: name.to_owned(),
        values: Values::Text(values.cloned().collect()),
    }
}

fn count(name: &str, values: impl Iterator<Item = Option<u64>>) -> Column {
    Column {
        name: name.to_owned(),
        values: Values::Count(values.collect()),
    }
}

/// Names from several instances, each once, in order of first appearance.
struct Union {
    names: Vec<String>,
    /// Per instance, its own names in its own order.
    own: Vec<Vec<String>>,
}

impl Union {
    fn of(results: &Results, names_of: fn(&InstanceResult) -> Vec<&String>) -> Self {
        let mut union = Union {
            names: Vec::new(),
            own: Vec::new(),
        };
        let mut seen = BTreeSet::new();
        for instance in &results.instances {
            let mut own: Vec<String> = Vec::new();
            let mut taken = BTreeSet::new();
            for name in names_of(instance) {
                // A name used twice in one instance would hide a column; number the later ones.
                let unique = (1..)
                    .map(|n| {
                        if n == 1 {
                            name.clone()
                        } else {
                            format!("{name}#{n}")
                        }
                    })
                    .find(|candidate| !taken.contains(candidate))
                    .unwrap_or_else(|| name.clone());
                taken.insert(unique.clone());
                if seen.insert(unique.clone()) {
                    union.names.push(unique.clone());
                }
                own.push(unique);
            }
            union.own.push(own);
        }
        union
    }

    /// Where each instance keeps what belongs to the name.
    fn positions(&self, name: &str) -> Vec<Option<usize>> {
        self.own
            .iter()
            .map(|own| own.iter().position(|other| other == name))
            .collect()
    }
}

impl DataTable {
    /// The number of rows.
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
    /// [`ReportError::Csv`], which no table made by this crate causes.
    pub fn to_csv(&self) -> Result<Vec<u8>, ReportError> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(self.columns.iter().map(|column| &column.name))?;
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
    /// [`ReportError::Parquet`], which no table made by this crate causes.
    pub fn to_parquet(&self) -> Result<Vec<u8>, ReportError> {
        let fields = self
            .columns
            .iter()
            .map(|column| column.parquet_type().map(Arc::new));
        let schema = Type::group_type_builder("banister")
            .with_fields(fields.collect::<Result<_, _>>()?)
            .build()?;
        let properties = WriterProperties::builder()
            .set_created_by("banister".to_owned())
            .build();
        let mut writer =
            SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
        let mut group = writer.next_row_group()?;
        for column in &self.columns {
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
        Ok(writer.into_inner()?)
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
        match &self.values {
            Values::Text(v) => v.get(row).cloned().unwrap_or_default(),
            Values::Count(v) => v
                .get(row)
                .copied()
                .flatten()
                .map(|n| n.to_string())
                .unwrap_or_default(),
            Values::Number(v) => v
                .get(row)
                .copied()
                .flatten()
                .map(shortest)
                .unwrap_or_default(),
        }
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
