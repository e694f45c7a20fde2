//! Tables of a plan: times by arm, and what learning costs meanwhile.

use banister_sim::planning::{ALPHA, CERTIFIED, LONGEST, Plan, Question, Times};

use super::words::{UNKNOWN, digits, number, percent, share};
use crate::figures::axes::significant;
use crate::{Cell, ReportTable};

/// Times by arm and event, then what learning under guardrails costs meanwhile.
pub fn plan(plan: &Plan) -> [ReportTable; 2] {
    let (agent, safe, traffic) = (&plan.agent, &plan.safe, plan.question.traffic);
    let when = |time: u64| {
        let days = traffic.map(|n| format!(" ({} days)", significant(time as f64 / n, 2)));
        counted(time) + &days.unwrap_or_default()
    };
    let row = |own: &Times| {
        let (known, is_lift) = (!own.runs.is_empty(), own.until == "lift");
        let quantile = |time: Option<u64>| match time {
            Some(time) => when(time),
            None if known => format!("> {}", when(plan.horizon)),
            None => UNKNOWN.into(),
        };
        let until = match plan.question.lift {
            Some(width) if is_lift => format!("lift known to ±{}", digits(width)),
            _ if known => own.until.into(),
            _ => "never played by the best policy".into(),
        };
        let missed = known.then(|| format!("{} of {} runs", own.missed, own.runs.len()));
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
    let horizon = counted(plan.horizon);
    let lost = |loss: f64| {
        let share = percent(loss, plan.best_reward);
        format!("{share} ({} a decision)", digits(loss))
    };
    let mut totals: Vec<(String, String)> = Vec::new();
    let what = "reward lost against knowing every mean from the start";
    totals.push((what.into(), lost(plan.loss)));
    let what = "… the least with such certificates: the limit of certified play";
    totals.push((what.into(), plan.least_loss.map_or(UNKNOWN.into(), lost)));
    for (own, worst) in plan.guardrails.iter().zip(&plan.worst) {
        let (name, symbol, limit) = (&own.name, own.direction.symbol(), digits(own.threshold));
        let what = format!("worst expected {name} of any policy, to be {symbol} {limit}");
        totals.push((what, worst.map_or(UNKNOWN.into(), digits)));
    }
    let broken = plan.broken.iter().filter(|broken| **broken).count();
    let broken = format!("{broken} of {}", plan.broken.len());
    totals.push(("runs with a violation".into(), broken));
    let totals = totals.into_iter();
    let totals = totals.map(|(what, value)| vec![Cell::text(what), Cell::number(value)]);
    let header = format!("arm,best policy,until,median run,90% of runs,not by {horizon},limit");
    let header: Vec<&str> = header.split(',').collect();
    let title = format!("Decisions until each arm is certified, under {agent} (safe arm: {safe})");
    let over = format!("Over these {horizon} decisions");
    [
        ReportTable::new(title, &header, plan.times.iter().map(row)),
        ReportTable::new(over, &["", "value"], totals),
    ]
}

/// Exact meaning of the columns of [`plan()`], one line each.
pub fn plan_notes(plan: &Plan) -> Vec<String> {
    let (least, delta, most) = (100.0 * CERTIFIED, plan.delta, counted(LONGEST));
    let interval = format!(
        "half the width of its {}% anytime interval",
        100.0 * (1.0 - ALPHA)
    );
    let is_known = plan.times.iter().any(|own| own.until == "lift");
    let interval = Some(interval).filter(|_| is_known);
    let known = interval.unwrap_or("unknown here: the reward has no range".into());
    let mut notes = vec![
        format!(
            "Certified: the first decision whose policy gives the arm at least {least}% of its share in the best policy."
        ),
        format!(
            "Limit: outcomes that typically prove such a policy to one who knows every mean, at δ = {delta}."
        ),
        format!("Lift: reward of the arm minus that of the safe arm; known to ±x: {known}."),
        format!("Horizon: doubled until all of it happened in every run, up to {most} decisions."),
    ];
    let Question { horizon, lift, .. } = plan.question;
    notes.retain(|note| lift.is_some() || !note.starts_with("Lift"));
    notes.retain(|note| horizon.is_none() || !note.starts_with("Horizon"));
    notes
}

/// A count, in groups of digits.
fn counted(n: u64) -> String {
    match n {
        0..1000 => n.to_string(),
        _ => number(n as f64),
    }
}
