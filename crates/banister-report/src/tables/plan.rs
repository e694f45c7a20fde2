//! Table of a plan: times by arm.

use banister_sim::planning::{Plan, Times};
use serde_json::{Value, json};

use super::summary::summary_json;
use super::words::{UNKNOWN, digits, number, share};
use crate::figures::axes::significant;
use crate::{Cell, ReportTable};

/// Meaning of the columns of [`plan()`], one line each.
pub const PLAN_NOTES: [&str; 3] = [
    "Certified: the first policy that gives the arm at least 90% of its share in the best policy.",
    "Limit: outcomes that typically prove such a policy to one who knows every mean; –: more than the horizon.",
    "Lift: reward of the arm minus that of the safe arm; known to ±x: half the width of its 95% anytime interval.",
];

/// Times by arm and event.
pub fn plan(plan: &Plan) -> ReportTable {
    let instance = &plan.results.instances[0];
    let counted = |n: u64| number(n as f64).replace(".0", "");
    let when = |time: u64| {
        let days = |n: f64| format!(" ({} days)", significant(time as f64 / n, 2));
        counted(time) + &plan.traffic.map_or(String::new(), days)
    };
    let row = |own: &Times| {
        let known = !own.runs.is_empty();
        let quantile = |time: Option<u64>| match time {
            Some(time) => when(time),
            None if known => format!("> {}", when(instance.horizon)),
            None => UNKNOWN.into(),
        };
        let until = match plan.lift {
            Some(width) if own.until == "lift" => format!("lift known to ±{}", digits(width)),
            _ if known => own.until.into(),
            _ => "never played by the best policy".into(),
        };
        let missed = own.runs.iter().filter(|time| time.is_none()).count();
        let missed = known.then(|| format!("{missed} of {} runs", own.runs.len()));
        vec![
            Cell::text(&own.arm),
            Cell::text(share(own.share)),
            Cell::text(until),
            Cell::number(quantile(own.median)),
            Cell::number(quantile(own.q90)),
            Cell::number(missed.unwrap_or(UNKNOWN.into())),
            Cell::number(own.least.map_or(UNKNOWN.into(), when)),
        ]
    };
    let (agent, horizon) = (&instance.agents[0].name, counted(instance.horizon));
    let title = format!("Decisions until each arm is certified, under {agent}");
    let header = format!("arm,best policy,until,median run,90% of runs,not by {horizon},limit");
    let header: Vec<&str> = header.split(',').collect();
    ReportTable::new(title, &header, plan.times.iter().map(row))
}

/// A plan for programs: `summary` is that of its results.
pub fn plan_json(plan: &Plan) -> Value {
    let mut json = json!(plan);
    json["summary"] = summary_json(&plan.results)[0].take();
    json
}
