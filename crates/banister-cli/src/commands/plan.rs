//! `banister plan`: how long until an arm is certified, and what that costs meanwhile.

use banister::toolkit::{Direction, positive};
use banister::{Guardrail, OpbConfig};
use banister_report::{Document, Figure, FigureRef, Section, tables};
use banister_rivals::AgentConfig;
use banister_sim::planning::{self, LONGEST, Question};
use banister_sim::{BernoulliConfig, EnvironmentConfig, Experiment, ExperimentConfig, RunConfig};

use super::bound::refused;
use super::run::resolved;
use crate::args::Plan;
use crate::input::read_experiment;
use crate::progress::with_bar;
use crate::terminal;
use banister_terminal::{Failure, say};

/// Runs where none are given: enough for a 90% quantile.
const RUNS: u64 = 20;

pub fn plan(mut args: Plan) -> Result<(), Failure> {
    for (flag, value) in [("traffic", args.traffic), ("lift", args.lift)] {
        if let Some(value) = value {
            positive(flag, value).map_err(refused)?;
        }
    }
    let question = Question {
        horizon: args.simulation.horizon,
        lift: args.lift,
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
    let shown = [
        tables::plan_times(&plan, args.traffic),
        tables::plan_totals(&plan),
    ];
    let notes = tables::plan_notes(&plan);
    let json = tables::plan_json(&plan, args.traffic);
    if let Some(out) = &args.out {
        let document = Document {
            title: format!("Plan: {}", experiment.name),
            lead: notes.clone(),
            sections: vec![Section {
                tables: shown.to_vec(),
                figures: vec![FigureRef {
                    stem: "plan".into(),
                    caption: String::new(),
                    figure: Figure::of_plan(&plan, args.traffic).into(),
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
    let [times, totals] = &shown;
    terminal::print(times)?;
    notes.iter().try_for_each(say)?;
    say("")?;
    terminal::print(totals)?;
    match &args.out {
        Some(out) => say(format!("open {}", out.join("report.html").display())),
        None => Ok(()),
    }
}

/// An arm as typed: its name, its reward, and its costs by name.
struct TypedArm<'a> {
    flag: &'static str,
    name: String,
    reward: f64,
    costs: Vec<(&'a str, f64)>,
}

impl<'a> TypedArm<'a> {
    fn read(flag: &'static str, text: &'a str) -> Result<Self, Failure> {
        let words = text.split([',', ' ', '\t']).filter(|word| !word.is_empty());
        let (costs, mut words): (Vec<&str>, Vec<&str>) = words.partition(|word| word.contains('='));
        let reward = words.pop().filter(|_| !words.is_empty()).ok_or_else(|| {
            Failure::input(format!(
                "`{flag}` is `{text}`: write its name, its reward and its costs, such as \"new 0.11 spend=0.25\""
            ))
        })?;
        let costs = costs.into_iter().map(|cost| pair(flag, cost));
        Ok(Self {
            flag,
            name: words.join(" "),
            reward: mean(flag, "reward", reward)?,
            costs: costs.collect::<Result<_, _>>()?,
        })
    }

    fn cost(&self, guardrail: &str) -> Result<f64, Failure> {
        let own = self.costs.iter().find(|(name, _)| *name == guardrail);
        own.map(|(_, mean)| *mean).ok_or_else(|| {
            let Self { flag, name, .. } = self;
            Failure::input(format!(
                "`{flag}` {name} has no `{guardrail}`: write {guardrail}=MEAN"
            ))
        })
    }
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
    let safe = args.safe.iter().map(|text| TypedArm::read("--safe", text));
    let others = args.arm.iter().map(|text| TypedArm::read("--arm", text));
    let arms: Vec<TypedArm<'_>> = safe.chain(others).collect::<Result<_, _>>()?;
    let at_most = args.at_most.iter().map(|text| ("--at-most", text));
    let mut rails = Vec::new();
    for (flag, text) in at_most.chain(args.at_least.iter().map(|text| ("--at-least", text))) {
        rails.push((flag, pair(flag, text)?));
    }
    for arm in &arms {
        let known = |cost: &&(&str, f64)| rails.iter().any(|(_, (name, _))| *name == cost.0);
        if let Some((name, _)) = arm.costs.iter().find(|cost| !known(cost)) {
            let (flag, arm) = (arm.flag, &arm.name);
            return Err(Failure::input(format!(
                "`{flag}` {arm} has `{name}`, which no guardrail is on: give `--at-most {name}=…` or `--at-least {name}=…`"
            )));
        }
    }
    let (mut guardrails, mut costs) = (Vec::new(), Vec::new());
    for (flag, (name, bound)) in rails {
        let row: Vec<f64> = arms
            .iter()
            .map(|arm| arm.cost(name))
            .collect::<Result<_, _>>()?;
        let (direction, at_most, at_least) = match flag {
            "--at-most" => (Direction::AtMost, Some(bound), None),
            _ => (Direction::AtLeast, None, Some(bound)),
        };
        if direction.excess(row[0], bound) >= 0.0 {
            return Err(Failure::input(format!(
                "`--safe` has {name}={} and `{flag}` {name}={bound}: never: the safe arm has no margin",
                row[0]
            )));
        }
        guardrails.push(Guardrail {
            name: name.into(),
            at_most,
            at_least,
            safe_cost: args.known_safe.then_some(row[0]),
            ..Guardrail::default()
        });
        costs.push(row);
    }
    let mut opb = OpbConfig::default();
    opb.delta = args.delta.unwrap_or(opb.delta);
    let defaults = RunConfig::default();
    let config = ExperimentConfig {
        name: Some("plan".into()),
        run: RunConfig {
            horizon: args.simulation.horizon.unwrap_or(defaults.horizon),
            runs: args.simulation.runs.unwrap_or(defaults.runs),
            seed: args.simulation.seed.unwrap_or(defaults.seed),
            ..defaults
        },
        environment: EnvironmentConfig::Bernoulli(BernoulliConfig {
            arms: Some(arms.iter().map(|arm| arm.name.clone()).collect()),
            rewards: Some(arms.iter().map(|arm| arm.reward).collect()),
            costs: Some(costs),
            ..BernoulliConfig::default()
        }),
        reward: Default::default(),
        guardrail: guardrails,
        agent: vec![AgentConfig::Opb(opb)],
    };
    config.check("plan").map_err(Failure::from)
}
