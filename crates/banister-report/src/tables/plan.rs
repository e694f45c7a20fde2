//! Tables of a plan: times by arm, and what learning costs meanwhile; as JSON too.

use banister_sim::planning::{ALPHA, CERTIFIED, LONGEST, Plan, Times};
use serde_json::{Value, json};

use super::words::{UNKNOWN, digits, number, percent, share};
use crate::{Cell, ReportTable};

/// Times by arm and event, with a day's decisions also in days.
pub fn plan_times(plan: &Plan, traffic: Option<f64>) -> ReportTable {
    let horizon = plan.instance().horizon;
    let when = |time: u64| {
        let days = traffic.map(|traffic| format!(" ({} days)", days(time as f64 / traffic)));
        counted(time) + &days.unwrap_or_default()
    };
    let quantile = |times: &Times, share: f64| match times.quantile(share) {
        Some(time) => when(time),
        None => format!("> {}", when(horizon)),
    };
    let mut rows = Vec::new();
    let mut row = |cells: [String; 3], numbers: [String; 4]| {
        let cells = cells.map(Cell::text).into_iter();
        rows.push(cells.chain(numbers.map(Cell::number)).collect());
    };
    for arm in others(plan) {
        let mut times = |event: String, times: &Times, least: Option<u64>| {
            let missed = format!("{} of {} runs", times.missed(), times.0.len());
            row(
                [arm.name.clone(), share(arm.share), event],
                [
                    quantile(times, 0.5),
                    quantile(times, 0.9),
                    missed,
                    least.map_or(UNKNOWN.into(), when),
                ],
            );
        };
        if let Some(certified) = &arm.certified {
            times("certified".into(), certified, arm.least);
        }
        if let (Some(lift), Some(width)) = (&arm.lift, plan.question.lift) {
            times(format!("lift known to ±{}", digits(width)), lift, None);
        }
        if arm.certified.is_none() {
            let none = || UNKNOWN.to_string();
            let event = "never played by the best policy".into();
            row(
                [arm.name.clone(), share(0.0), event],
                [none(), none(), none(), none()],
            );
        }
    }
    ReportTable {
        title: format!(
            "Decisions until each arm is certified, under {} (safe arm: {})",
            plan.agent().name,
            plan.arms[plan.safe].name
        ),
        header: [
            "arm",
            "best policy",
            "until",
            "median run",
            "90% of runs",
            &format!("not by {}", counted(horizon)),
            "limit",
        ]
        .map(String::from)
        .to_vec(),
        rows,
    }
}

/// Exact meaning of the columns of [`plan_times`], one line each.
pub fn plan_notes(plan: &Plan) -> Vec<String> {
    let least = share(CERTIFIED).replace(".0%", "%");
    let mut notes = vec![
        format!(
            "Certified: the first decision whose policy gives the arm at least {least} of its share in the best policy."
        ),
        format!(
            "Limit: outcomes that typically prove such a policy to one who knows every mean, at δ = {}.",
            plan.delta
        ),
    ];
    if plan.question.lift.is_some() {
        let what = if others(plan).any(|arm| arm.lift.is_none()) {
            "unknown here: the reward has no range".into()
        } else {
            format!(
                "half the width of its {}% anytime interval",
                100.0 * (1.0 - ALPHA)
            )
        };
        notes.push(format!(
            "Lift: reward of the arm minus that of the safe arm; known to ±x: {what}."
        ));
    }
    if plan.doubled {
        notes.push(format!(
            "Horizon: doubled until all of it happened in every run, up to {} decisions.",
            counted(LONGEST)
        ));
    }
    notes
}

/// What learning under guardrails costs meanwhile.
pub fn plan_totals(plan: &Plan) -> ReportTable {
    let best = plan.instance().optimum.reward;
    let lost = |loss: f64| format!("{} ({} a decision)", percent(loss, best), digits(loss));
    let row = |what: String, value: String| vec![Cell::text(what), Cell::number(value)];
    let mut rows = vec![
        row(
            "reward lost against knowing every mean from the start".into(),
            lost(plan.loss()),
        ),
        row(
            "… the least with such certificates: the limit of certified play".into(),
            plan.least_loss().map_or(UNKNOWN.into(), lost),
        ),
    ];
    for (i, guardrail) in plan.instance().guardrails.iter().enumerate() {
        let (symbol, limit) = (guardrail.direction.symbol(), digits(guardrail.threshold));
        rows.push(row(
            format!(
                "worst expected {} of any policy, to be {symbol} {limit}",
                guardrail.name
            ),
            plan.worst(i).map_or(UNKNOWN.into(), digits),
        ));
    }
    let runs = plan.agent().runs.len();
    rows.push(row(
        "runs with a violation".into(),
        format!("{} of {runs}", plan.broken_runs()),
    ));
    ReportTable {
        title: format!("Over these {} decisions", counted(plan.instance().horizon)),
        header: ["", "value"].map(String::from).to_vec(),
        rows,
    }
}

/// The plan for programs: unknown values are null.
pub fn plan_json(plan: &Plan, traffic: Option<f64>) -> Value {
    let times = |times: &Option<Times>| {
        let times = times.as_ref()?;
        let quantile = |share: f64| times.quantile(share);
        let in_days = |time: Option<u64>| Some(time? as f64 / traffic?);
        let (median, q90) = (quantile(0.5), quantile(0.9));
        Some(json!({
            "median": median,
            "q90": q90,
            "median_days": in_days(median),
            "q90_days": in_days(q90),
            "missed": times.missed(),
            "runs": times,
        }))
    };
    let arms = plan.arms.iter().enumerate().map(|(i, arm)| {
        json!({
            "arm": arm.name,
            "safe": i == plan.safe,
            "share": arm.share,
            "certified": times(&arm.certified),
            "least": arm.least,
            "lift": times(&arm.lift),
        })
    });
    let guardrails = plan.instance().guardrails.iter().enumerate().map(|(i, guardrail)| {
        json!({ "name": guardrail.name, "threshold": guardrail.threshold, "worst": plan.worst(i) })
    });
    let best = plan.instance().optimum.reward;
    json!({
        "agent": plan.agent().name,
        "delta": plan.delta,
        "horizon": plan.instance().horizon,
        "runs": plan.agent().runs.len(),
        "lift": plan.question.lift,
        "traffic": traffic,
        "arms": arms.collect::<Vec<_>>(),
        "guardrails": guardrails.collect::<Vec<_>>(),
        "best_reward": best,
        "loss": plan.loss(),
        "least_loss": plan.least_loss(),
        "broken_runs": plan.broken_runs(),
    })
}

fn others(plan: &Plan) -> impl Iterator<Item = &banister_sim::planning::ArmPlan> {
    let arms = plan.arms.iter().enumerate();
    arms.filter(|(i, _)| *i != plan.safe).map(|(_, arm)| arm)
}

/// A count, in groups of digits.
fn counted(n: u64) -> String {
    if n < 1000 {
        n.to_string()
    } else {
        number(n as f64)
    }
}

/// Days with one digit after the point, or two significant ones.
fn days(days: f64) -> String {
    if days >= 1.0 {
        number((days * 10.0).round() / 10.0)
    } else {
        crate::figures::axes::significant(days, 2)
    }
}
