//! The tables `curves`, `runs` and `alarms` of the results of simulations.

use banister_sim::results::{
    AgentResult, Excess, InstanceResult, Measured, Results, RunSummary, WINDOWS,
};

use super::columns::{Union, count, number, text, union};
use super::spec::{self, Spec};
use super::{Column, DataTable};

/// Tabulates statistics over runs at the checkpoints: one row per instance, agent and checkpoint.
///
/// The columns are instance, agent, round, regret_mean, regret_std, regret_q05, regret_q95,
/// reward_mean, then NAME_cost_mean, NAME_cost_max, NAME_price_mean, NAME_violation_sum_mean and NAME_net_excess_mean
/// (Σ(c − τ)₊ and Σ(c − τ) since the first round, the latter of either sign) per guardrail. The
/// guardrails are the union over instances in order of first appearance; NAME_cost_max is the
/// worst expected signal of any single round (the smallest for an `at_least` guardrail).
pub fn curves(results: &Results) -> DataTable {
    let mut rows: Vec<(usize, &InstanceResult, &AgentResult, usize)> = Vec::new();
    for (i, instance) in results.instances.iter().enumerate() {
        for agent in &instance.agents {
            rows.extend((0..agent.curve.round.len()).map(|t| (i, instance, agent, t)));
        }
    }
    let mean = |name: &str, of: fn(&AgentResult) -> &Vec<f64>| {
        number(name, rows.iter().map(|r| of(r.2).get(r.3).copied()))
    };
    let mut columns = vec![
        text("instance", rows.iter().map(|r| &r.1.name)),
        text("agent", rows.iter().map(|r| &r.2.name)),
        count(
            "round",
            rows.iter().map(|r| r.2.curve.round.get(r.3).copied()),
        ),
        mean("regret_mean", |a| &a.curve.regret_mean),
        mean("regret_std", |a| &a.curve.regret_std),
        mean("regret_q05", |a| &a.curve.regret_q05),
        mean("regret_q95", |a| &a.curve.regret_q95),
        mean("reward_mean", |a| &a.curve.reward_mean),
    ];
    for (name, at) in &guardrails(results) {
        let mut signal = |suffix: &str, of: fn(&AgentResult) -> &Vec<Vec<f64>>| {
            let cell = |r: &(usize, &InstanceResult, &AgentResult, usize)| {
                of(r.2).get((*at.get(r.0)?)?)?.get(r.3).copied()
            };
            columns.push(number(&format!("{name}_{suffix}"), rows.iter().map(cell)));
        };
        signal("cost_mean", |a| &a.curve.cost_mean);
        signal("cost_max", |a| &a.curve.cost_worst);
        signal("price_mean", |a| &a.curve.price_mean);
        signal("violation_sum_mean", |a| &a.curve.violation_mean);
        signal("net_excess_mean", |a| &a.curve.net_mean);
    }
    DataTable { columns }
}

/// Tabulates the summaries of the runs: one row per instance, agent and run.
///
/// The columns are instance, agent, run, seed, regret, limit (of certified play, at the agent's δ), reward_end,
/// violations, worst_exceedance, possible_gain (of the best policies beyond the safe action); where time was measured
/// nanoseconds_per_round; per guardrail NAME_violation_sum (Σ(c − τ)₊), NAME_net_excess (Σ(c − τ), of either sign),
/// NAME_net_peak (the largest after any round) and NAME_net_quarter (after a quarter of the rounds); where outcomes
/// were measured reward_drawn, gain (a share of the possible one), rounds_to_90 and per guardrail NAME_drawn,
/// NAME_beyond_100 and NAME_beyond_1000 (shares of windows); then pulls_ARM per arm: the union over instances in order
/// of first appearance.
pub fn runs(results: &Results) -> DataTable {
    let arms = union(results.instances.iter().map(|i| i.arms.iter().collect()));
    let rows = run_rows(results);
    let counted =
        |name: &str, of: fn(&RunSummary) -> Option<u64>| count(name, rows.iter().map(|r| of(r.3)));
    let measured =
        |name: &str, of: fn(&RunSummary) -> Option<f64>| number(name, rows.iter().map(|r| of(r.3)));
    let mut columns = vec![
        text("instance", rows.iter().map(|r| &r.1.name)),
        text("agent", rows.iter().map(|r| &r.2.name)),
        counted("run", |r| Some(r.run)),
        counted("seed", |r| Some(r.seed)),
        measured("regret", |r| Some(r.regret)),
        number("limit", rows.iter().map(|r| r.2.limit)),
        measured("reward_end", |r| Some(r.reward_end)),
        counted("violations", |r| r.violations),
        measured("worst_exceedance", |r| Some(r.worst_exceedance)),
        measured("possible_gain", |r| Some(r.possible_gain)),
    ];
    if rows.iter().any(|r| r.3.nanoseconds_per_round.is_some()) {
        columns.push(measured("nanoseconds_per_round", |r| {
            r.nanoseconds_per_round
        }));
    }
    for (name, at) in &guardrails(results) {
        let mut sum = |suffix: &str, of: fn(&Excess) -> f64| {
            let own = |r: &RunRow<'_>| r.3.excess.get((*at.get(r.0)?)?).map(of);
            columns.push(number(&format!("{name}_{suffix}"), rows.iter().map(own)));
        };
        sum("violation_sum", |own| own.violation);
        sum("net_excess", |own| own.net);
        sum("net_peak", |own| own.peak);
        sum("net_quarter", |own| own.quarter);
    }
    if rows.iter().any(|r| r.3.measured.is_some()) {
        columns.extend(drawn(results, &rows));
    }
    for (name, at) in &arms {
        let pulls = rows
            .iter()
            .map(|r| r.3.pulls.get((*at.get(r.0)?)?).copied());
        columns.push(count(&format!("pulls_{name}"), pulls));
    }
    DataTable { columns }
}

/// One row of the table of runs: the instance's number, the instance, the agent, the run.
type RunRow<'a> = (usize, &'a InstanceResult, &'a AgentResult, &'a RunSummary);

/// Columns of what was drawn.
fn drawn(results: &Results, rows: &[RunRow<'_>]) -> Vec<Column> {
    let each = |of: &dyn Fn(&RunRow<'_>, &Measured) -> Option<f64>| -> Vec<Option<f64>> {
        let own = |r: &RunRow<'_>| of(r, r.3.measured.as_ref()?).filter(|x| x.is_finite());
        rows.iter().map(own).collect()
    };
    let rounds = rows.iter().map(|r| r.3.measured.as_ref()?.rounds_to_90);
    let mut columns = vec![
        number("reward_drawn", each(&|_, m| Some(m.reward)).into_iter()),
        number("gain", each(&|_, m| Some(m.gain)).into_iter()),
        count("rounds_to_90", rounds),
    ];
    for (name, at) in guardrails(results) {
        let place = |r: &RunRow<'_>| at.get(r.0).copied().flatten();
        let own = each(&|r, m| m.costs.get(place(r)?).copied());
        columns.push(number(&format!("{name}_drawn"), own.into_iter()));
        for (i, length) in WINDOWS.iter().enumerate() {
            let own = each(&|r, m| m.beyond.get(place(r)?).map(|shares| shares[i]));
            columns.push(number(&format!("{name}_beyond_{length}"), own.into_iter()));
        }
    }
    columns
}

/// Tabulates alarms: one row per run.
///
/// `first_change` is the first round with other means, `first_alarm` the first round decided under an alarm,
/// `rounds_until_alarm` counts from the last change before it, and `violations_before_alarm` are all of them in a run
/// without one.
pub fn alarms(results: &Results) -> DataTable {
    type Of<'a> = Spec<RunRow<'a>>;
    let columns = [
        Of::words("instance", |row| Some(&row.1.name)),
        Of::words("agent", |row| Some(&row.2.name)),
        Of::count("run", |row| Some(row.3.run)),
        Of::count("first_change", |row| row.1.changes.first().copied()),
        Of::count("first_alarm", |row| row.3.first_alarm),
        Of::count("rounds_until_alarm", |row| rounds_until_alarm(row.1, row.3)),
        Of::count("violations_before_alarm", |row| {
            Some(row.3.violations? - row.3.violations_after_alarm)
        }),
        Of::count("violations_after_alarm", |row| {
            row.3.violations.map(|_| row.3.violations_after_alarm)
        }),
    ];
    spec::data(&columns, &run_rows(results))
}

/// Rows of the tables with one row per run.
fn run_rows(results: &Results) -> Vec<RunRow<'_>> {
    let mut rows = Vec::new();
    for (i, instance) in results.instances.iter().enumerate() {
        for agent in &instance.agents {
            rows.extend(agent.runs.iter().map(|run| (i, instance, agent, run)));
        }
    }
    rows
}

/// Guardrails of all instances by name.
fn guardrails(results: &Results) -> Union {
    let instances = results.instances.iter();
    union(instances.map(|i| i.guardrails.iter().map(|g| &g.name).collect()))
}

/// True if means change somewhere or some run raised an alarm.
pub fn has_alarms(results: &Results) -> bool {
    results.instances.iter().any(|instance| {
        let mut runs = instance.agents.iter().flat_map(|agent| &agent.runs);
        !instance.changes.is_empty() || runs.any(|run| run.first_alarm.is_some())
    })
}

/// Counts the rounds from the last change before the first alarm to that alarm; `None` without both.
pub fn rounds_until_alarm(instance: &InstanceResult, run: &RunSummary) -> Option<u64> {
    let alarm = run.first_alarm?;
    let change = instance.changes.iter().rev().find(|c| **c <= alarm)?;
    Some(alarm - change)
}
