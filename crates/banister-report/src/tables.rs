//! The tables `curves`, `runs`, `alarms` and `traces`, as CSV and as Parquet.
//!
//! ```
//! use banister_report::tables;
//! use banister_sim::results::Results;
//!
//! # fn main() -> Result<(), banister_report::ReportError> {
//! let results = Results { instances: vec![] };
//! let table = tables::runs(&results);
//! let (csv, parquet) = (table.to_csv()?, table.to_parquet()?);
//! assert!(csv.starts_with(b"instance,agent,run,seed,"));
//! assert!(parquet.starts_with(b"PAR1"));
//! # Ok(())
//! # }
//! ```

use std::collections::BTreeSet;

use banister_sim::results::{AgentResult, InstanceResult, Results, RunSummary};

pub use crate::long::{LongRow, long_form, traces};
pub use crate::standings::{leaderboards, pairs};
pub use banister_table::{Column, DataTable, Values};

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
        values: known(rows.iter().map(|r| of(r.2).get(r.3).copied())),
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
                values: known(rows.iter().map(cell)),
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
        |name: &str, of: fn(&RunSummary) -> Option<u64>| count(name, rows.iter().map(|r| of(r.3)));
    let number = |name: &str, of: fn(&RunSummary) -> Option<f64>| Column {
        name: name.to_owned(),
        values: known(rows.iter().map(|r| of(r.3))),
    };
    let mut columns = vec![
        text("instance", rows.iter().map(|r| &r.1.name)),
        text("agent", rows.iter().map(|r| &r.2.name)),
        counted("run", |r| Some(r.run)),
        counted("seed", |r| Some(r.seed)),
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

/// Alarms: one row per run.
///
/// The columns are instance, agent, run, first_change (the first round with other means), first_alarm (the
/// first round decided under an alarm), rounds_until_alarm (from the last change before it),
/// violations_before_alarm (all of them in a run without one) and violations_after_alarm.
pub fn alarms(results: &Results) -> DataTable {
    let mut rows: Vec<(&InstanceResult, &AgentResult, &RunSummary)> = Vec::new();
    for instance in &results.instances {
        for agent in &instance.agents {
            rows.extend(agent.runs.iter().map(|run| (instance, agent, run)));
        }
    }
    let counted = |name: &str, of: fn(&InstanceResult, &RunSummary) -> Option<u64>| {
        count(name, rows.iter().map(|r| of(r.0, r.2)))
    };
    DataTable {
        columns: vec![
            text("instance", rows.iter().map(|r| &r.0.name)),
            text("agent", rows.iter().map(|r| &r.1.name)),
            counted("run", |_, run| Some(run.run)),
            counted("first_change", |instance, _| {
                instance.changes.first().copied()
            }),
            counted("first_alarm", |_, run| run.first_alarm),
            counted("rounds_until_alarm", rounds_until_alarm),
            counted("violations_before_alarm", |_, run| {
                Some(run.violations? - run.violations_after_alarm)
            }),
            counted("violations_after_alarm", |_, run| {
                run.violations.map(|_| run.violations_after_alarm)
            }),
        ],
    }
}

/// Returns true where means change or some run raised an alarm.
pub fn has_alarms(results: &Results) -> bool {
    results.instances.iter().any(|instance| {
        let mut runs = instance.agents.iter().flat_map(|agent| &agent.runs);
        !instance.changes.is_empty() || runs.any(|run| run.first_alarm.is_some())
    })
}

/// Rounds from the last change before the first alarm to that alarm; `None` without both.
pub fn rounds_until_alarm(instance: &InstanceResult, run: &RunSummary) -> Option<u64> {
    let alarm = run.first_alarm?;
    let change = instance.changes.iter().rev().find(|c| **c <= alarm)?;
    Some(alarm - change)
}

/// Real numbers; results say that one is unknown by NaN.
fn known(values: impl Iterator<Item = Option<f64>>) -> Values {
    let known = |x: Option<f64>| x.filter(|x| !x.is_nan());
    Values::Number(values.map(known).collect())
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
