//! `banister lift`: what a log says of every arm's worth over the safe one.

use banister::lift::{ArmLift, LiftForm, LiftInterval};
use banister::{Guardrail, SignalConfig};
use banister_offline::{Options, lift};
use banister_report::{Cell, ReportTable};
use banister_terminal::{Failure, say};
use serde_json::json;

use super::evaluate::{Rounds, digits};
use crate::args::Lift;
use crate::terminal;

/// Name and range of a signal as it is typed: NAME, or NAME=LO,HI.
fn signal(text: &str) -> Result<(&str, [f64; 2]), Failure> {
    let (name, range) = text.split_once('=').unwrap_or((text, "0,1"));
    let ends: Result<Vec<f64>, _> = range.split(',').map(|end| end.trim().parse()).collect();
    match ends.as_deref() {
        Ok(&[lo, hi]) if lo < hi => Ok((name, [lo, hi])),
        _ => Err(Failure::input(format!(
            "`--signal {text}`: must be NAME, or NAME=LO,HI with its lowest and highest value, such as dollars=0,2"
        ))),
    }
}

pub fn lift_of_arms(args: &Lift) -> Result<(), Failure> {
    let (mut reward, mut guardrails) = (SignalConfig::default(), Vec::new());
    for text in &args.signal {
        let (name, range) = signal(text)?;
        let (name, range) = (name.to_string(), Some(range.into()));
        if name == "reward" {
            reward.range = range;
        } else {
            let other = Guardrail::default();
            guardrails.push(Guardrail {
                name,
                range,
                ..other
            });
        }
    }
    let weighs = args.form == LiftForm::Concurrent;
    let rounds = Rounds::read(&args.log, &guardrails, &[], weighs)?;
    let safe = rounds.arm(&args.safe)?;
    let options = Options {
        confidence: args.confidence,
        min_pscore: args.min_pscore,
        ..Options::default()
    };
    let log = rounds.log().declare(&reward, &guardrails).check();
    let found = log.and_then(|log| lift(&log, safe, args.form, &options));
    let found = found.map_err(|error| Failure::input(error.to_string()))?;
    if args.json {
        return say(json!({"lifts": found, "left_out": rounds.left_out}).to_string());
    }
    let estimate = |x: Option<f64>| Cell::number(x.map_or(String::new(), digits));
    let ends = |own: LiftInterval| [own.lower, own.upper].map(digits).join(" to ");
    let row = |own: &ArmLift| {
        vec![
            Cell::text(&own.arm),
            Cell::text(&own.signal),
            estimate(own.mean),
            estimate(own.safe_mean),
            estimate(own.difference.estimate),
            Cell::number(ends(own.difference)),
            Cell::number(own.percent.map_or(String::new(), |own| ends(own) + " %")),
            Cell::number(own.outcomes.to_string()),
        ]
    };
    let about = if weighs {
        "on average over the rounds of the log, whatever means do"
    } else {
        "if means stay"
    };
    let interval = format!("{} % interval", digits(100.0 * args.confidence));
    let header = [
        "",
        "",
        "mean",
        &args.safe,
        "lift",
        &interval,
        "in percent",
        "rows",
    ];
    terminal::print(&ReportTable {
        title: format!(
            "Lift over `{}`, {about}{}",
            args.safe,
            rounds.say_left_out()
        ),
        header: header.map(String::from).to_vec(),
        rows: found.iter().map(row).collect(),
    })
}
