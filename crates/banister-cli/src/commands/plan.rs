//! `banister plan`: how long until an arm is certified, and what that costs meanwhile.

use std::collections::BTreeMap;

use banister_report::{Document, Figure, FigureRef, Section, tables};
use banister_sim::planning::{self, LONGEST, Question};
use banister_sim::{Experiment, ExperimentConfig};
use banister_terminal::{Failure, say};
use serde_json::json;

use super::run::resolved;
use crate::args::Plan;
use crate::input::read_experiment;
use crate::progress::with_bar;
use crate::terminal;

/// Runs where none are given: enough for a 90% quantile.
const RUNS: u64 = 20;

pub fn plan(mut args: Plan) -> Result<(), Failure> {
    let question = Question {
        horizon: args.simulation.horizon,
        lift: args.lift,
        traffic: args.traffic,
    };
    args.simulation.horizon.get_or_insert(LONGEST);
    args.simulation.runs.get_or_insert(RUNS);
    let experiment = match &args.experiment {
        Some(path) => read_experiment(path, &args.simulation)?,
        None => typed(&args)?,
    };
    let plan = with_bar("planning", [&experiment], &args.simulation, |progress| {
        planning::plan(&experiment, question, progress)
    })?;
    let (shown, notes, json) = (tables::plan(&plan), tables::plan_notes(&plan), json!(plan));
    if let Some(out) = &args.out {
        let document = Document {
            title: format!("Plan: {}", experiment.name),
            lead: notes.clone(),
            sections: vec![Section {
                tables: shown.to_vec(),
                figures: vec![FigureRef {
                    stem: "plan".into(),
                    caption: String::new(),
                    figure: Figure::of_plan(&plan).into(),
                }],
                ..Section::default()
            }],
        };
        let mut files = resolved(&[experiment])?;
        files.push(("plan.json".into(), format!("{json:#}\n").into_bytes()));
        banister_report::write_results(out, &plan.results, &document, &files)?;
    }
    if args.simulation.json {
        return say(json);
    }
    terminal::print(&shown[0])?;
    notes.iter().try_for_each(say)?;
    say("")?;
    terminal::print(&shown[1])?;
    let report = args.out.map(|out| out.join("report.html"));
    report.map_or(Ok(()), |file| say(format!("open {}", file.display())))
}

/// An arm as typed: its flag, its name, its reward, and its costs by name.
type TypedArm<'a> = (&'a str, String, f64, BTreeMap<&'a str, f64>);

fn arm<'a>(flag: &'a str, text: &'a str) -> Result<TypedArm<'a>, Failure> {
    let words = text.split([',', ' ', '\t']).filter(|word| !word.is_empty());
    let (costs, mut words): (Vec<&str>, Vec<&str>) = words.partition(|word| word.contains('='));
    let reward = words.pop().filter(|_| !words.is_empty()).ok_or_else(|| {
        Failure::input(format!(
            "`{flag}` is `{text}`: write its name, its reward and its costs, such as \"new 0.11 spend=0.25\""
        ))
    })?;
    let costs: Result<_, _> = costs.into_iter().map(|cost| pair(flag, cost)).collect();
    Ok((flag, words.join(" "), mean(flag, "reward", reward)?, costs?))
}

/// A name and a number, such as `spend=0.25`.
fn pair<'a>(flag: &str, text: &'a str) -> Result<(&'a str, f64), Failure> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name, mean(flag, name, value)?)),
        _ => Err(Failure::input(format!(
            "`{flag}` has `{text}`: write a name and a number, such as spend=0.25"
        ))),
    }
}

fn mean(flag: &str, what: &str, text: &str) -> Result<f64, Failure> {
    let number = text.parse().ok().filter(|x| (0.0..=1.0).contains(x));
    number.ok_or_else(|| {
        Failure::input(format!(
            "`{flag}` has the {what} `{text}`: must be a number from 0 to 1 (for other ranges write a file, see `banister \
             init`)"
        ))
    })
}

/// The experiment of the flags.
fn typed(args: &Plan) -> Result<Experiment, Failure> {
    let safe = args.safe.iter().map(|text| arm("--safe", text));
    let others = args.arm.iter().map(|text| arm("--arm", text));
    let arms: Vec<TypedArm<'_>> = safe.chain(others).collect::<Result<_, _>>()?;
    let (mut names, mut guardrails, mut costs) = (Vec::new(), Vec::new(), Vec::new());
    let at_most = args.at_most.iter().map(|text| ("at_most", text));
    for (key, text) in at_most.chain(args.at_least.iter().map(|text| ("at_least", text))) {
        let (name, bound) = pair(&format!("--{}", key.replace('_', "-")), text)?;
        let cost = |(flag, arm, _, costs): &TypedArm<'_>| {
            let missing = format!("`{flag}` {arm} has no `{name}`: write {name}=MEAN");
            (costs.get(name).copied()).ok_or(Failure::input(missing))
        };
        let row: Vec<f64> = arms.iter().map(cost).collect::<Result<_, _>>()?;
        let known = args.known_safe.then_some(row[0]);
        guardrails.push(json!({ "name": name, key: bound, "safe_cost": known }));
        costs.push(row);
        names.push(name);
    }
    for (flag, arm, _, costs) in &arms {
        if let Some(name) = costs.keys().find(|name| !names.contains(name)) {
            return Err(Failure::input(format!(
                "`{flag}` {arm} has `{name}`, which no guardrail is on: give `--at-most {name}=…` or `--at-least {name}=…`"
            )));
        }
    }
    let rewards: Vec<f64> = arms.iter().map(|arm| arm.2).collect();
    let names: Vec<&String> = arms.iter().map(|arm| &arm.1).collect();
    let declared = json!({
        "environment": { "kind": "bernoulli", "arms": names, "rewards": rewards, "costs": costs },
        "guardrail": guardrails,
        "agent": [{ "kind": "opb", "delta": args.delta }],
        "run": { "horizon": args.simulation.horizon, "runs": args.simulation.runs },
    });
    let config: Result<ExperimentConfig, _> = serde_json::from_value(declared);
    let mut config = config.map_err(|error| Failure::input(error.to_string()))?;
    config.run.seed = args.simulation.seed.unwrap_or(config.run.seed);
    Ok(config.check("plan")?)
}
