//! `banister evaluate`: what a log says of another policy's reward and guardrails, and of every arm's lift.

use std::collections::BTreeMap;

use banister::lift::{ArmLift, LiftForm, LiftInterval};
use banister::{Guardrail, SignalConfig};
use banister_offline::{
    CheckedLog, Estimate, Log, Model, Options, Target, Verdict, estimate, lift, verdicts,
};
use banister_report::figures::axes::significant;
use banister_report::{Cell, ReportTable, Tone};
use banister_table::{Limits, RawTable};
use serde::Deserialize;
use serde_json::json;

use crate::args::Evaluate;
use crate::input::{check_failure, from_toml, read_text};
use crate::terminal;
use banister_terminal::{Failure, say};

/// The file is the user's own; a row has at least four cells.
const LIMITS: Limits = Limits {
    rows: 100_000_000,
    bytes: usize::MAX,
};

/// A policy to judge, and the metrics it is judged by.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Evaluation {
    /// Probability of every arm that the policy plays.
    policy: BTreeMap<String, f64>,
    /// The arm that relative guardrails and lifts compare with.
    safe: Option<String>,
    /// Assumption of lifts on the means; without it there are none.
    lift: Option<LiftForm>,
    /// True if the logging policy learned from these outcomes, as an agent does.
    #[serde(default)]
    adaptive: bool,
    #[serde(default)]
    reward: SignalConfig,
    #[serde(default, rename = "guardrail", alias = "guardrails")]
    guardrails: Vec<Guardrail>,
    #[serde(default)]
    options: Options,
}

/// The log's columns; outcomes that are not complete are left out.
struct Rounds {
    arms: Vec<String>,
    actions: Vec<usize>,
    pscores: Vec<f64>,
    rewards: Vec<f64>,
    costs: Vec<f64>,
    left_out: usize,
}

/// Four digits: an estimate has seldom more.
fn digits(x: f64) -> String {
    significant(x, 4)
}

pub fn evaluate(args: &Evaluate) -> Result<(), Failure> {
    let (source, text) = (args.policy.display().to_string(), read_text(&args.policy)?);
    let declared: Evaluation = from_toml(&source, &text)?;
    let refused = |error: banister::Error| check_failure(&source, &text, &error);
    let rounds = Rounds::read(args, &declared)?;
    let arm = |name: &str| {
        let arm = rounds.arms.iter().position(|arm| arm == name);
        arm.ok_or_else(|| {
            let known = rounds.arms.join("`, `");
            Failure::input(format!("`safe` is {name}: must be one of `{known}`"))
        })
    };
    let safe = declared.safe.as_deref().map(arm).transpose()?;
    let relative = declared.guardrails.iter().find(|g| g.relative);
    let relative = relative.map(|g| format!("the relative guardrail `{}`", g.name));
    let needs = relative.or(declared.lift.map(|_| "`lift`".into()));
    if let (None, Some(what)) = (safe, needs) {
        let why = format!("`safe` is missing: {what} compares with the safe arm");
        return Err(Failure::input(why));
    }
    let log = rounds.log(&declared).map_err(refused)?;
    let policy = |arm: &String| declared.policy.get(arm).copied().unwrap_or(0.0);
    let policy: Vec<f64> = rounds.arms.iter().map(policy).collect();
    let (target, options) = (Target::Fixed(&policy), &declared.options);
    let reward = estimate(&log, target, Model::Fitted, options).map_err(refused)?;
    let judged = verdicts(
        &log,
        target,
        Model::Fitted,
        &declared.guardrails,
        safe.unwrap_or(0),
        options,
    );
    let (reward, judged) = (reward.reward, judged.map_err(refused)?);
    let lifts = (declared.lift).map(|form| lift(&log, safe.unwrap_or(0), form, options));
    let lifts = lifts.transpose().map_err(refused)?;
    if args.json {
        let left_out = rounds.left_out;
        let answer =
            json!({"reward": reward, "guardrails": judged, "lifts": lifts, "left_out": left_out});
        return say(answer.to_string());
    }
    let row = |estimate: &Estimate, threshold: String, verdict: Cell, reason: &str| {
        let interval = [estimate.lower, estimate.upper].map(digits).join(" to ");
        vec![
            Cell::text(&estimate.name),
            Cell::number(digits(estimate.estimate)),
            Cell::number(interval),
            Cell::number(threshold),
            verdict,
            Cell::text(reason),
        ]
    };
    let mut rows = vec![row(&reward, String::new(), Cell::text(""), "")];
    for one in &judged {
        let (word, tone) = match one.verdict {
            Verdict::Kept => ("kept", Tone::Good),
            Verdict::Broken => ("broken", Tone::Bad),
            Verdict::Undecided => ("undecided", Tone::Quiet),
        };
        let threshold = format!("{} {}", one.direction.symbol(), digits(one.threshold));
        let verdict = Cell::text(word).toned(tone);
        let needed = one.rows_needed.map(|n| format!("; {n} rows may decide"));
        let reason = one.reason.clone() + needed.as_deref().unwrap_or("");
        rows.push(row(&one.estimate, threshold, verdict, &reason));
    }
    let (n, per_cent) = (reward.n, 100.0 * options.confidence);
    let interval = format!("{} % interval", digits(per_cent));
    let effective = reward.weights.effective_sample_size;
    let left_out = match rounds.left_out {
        0 => String::new(),
        n => format!("; {n} rows without action, reward or a cost left out"),
    };
    let title = format!("{n} rounds, worth {effective:.0} of the policy's own{left_out}");
    let header = ["", options.estimator.name(), &interval, "", "", ""];
    terminal::print(&ReportTable::new(title, &header, rows))?;
    let (Some(lifts), Some(safe)) = (&lifts, &declared.safe) else {
        return Ok(());
    };
    let about = match declared.lift {
        Some(LiftForm::Concurrent) => "on average over the rounds of the log, whatever means do",
        _ => "if means stay",
    };
    let number = |x: Option<f64>| Cell::number(x.map_or(String::new(), digits));
    let ends = |own: LiftInterval| [own.lower, own.upper].map(digits).join(" to ");
    let row = |own: &ArmLift| {
        vec![
            Cell::text(&own.arm),
            Cell::text(&own.signal),
            number(own.mean),
            number(own.safe_mean),
            number(own.difference.estimate),
            Cell::number(ends(own.difference)),
            Cell::number(own.percent.map_or(String::new(), |own| ends(own) + " %")),
            Cell::number(own.outcomes.to_string()),
        ]
    };
    let header = [
        "",
        "",
        "mean",
        safe,
        "lift",
        &interval,
        "in percent",
        "rows",
    ];
    let title = format!("Lift over `{safe}`, {about}");
    terminal::print(&ReportTable::new(title, &header, lifts.iter().map(row)))
}

impl Rounds {
    fn read(args: &Evaluate, declared: &Evaluation) -> Result<Self, Failure> {
        let path = args.log.display();
        let refused = |why: String| Failure::input(format!("`{path}` {why}"));
        let table = RawTable::from_file(&args.log, LIMITS).map_err(|e| refused(e.to_string()))?;
        let column = |name: &str| {
            table.column(name).ok_or_else(|| {
                let known = table.names.join("`, `");
                refused(format!("has no column `{name}`, only `{known}`"))
            })
        };
        let [action, pscore, reward] = ["action", "pscore", "reward"].map(column);
        let (action, pscore) = (action?, pscore?);
        let mut signals = vec![reward?];
        for guardrail in &declared.guardrails {
            // An export calls a cost so whose own name is taken.
            let alias = table.column(&format!("cost_{}", guardrail.name));
            signals.push(alias.map_or_else(|| column(&guardrail.name), Ok)?);
        }
        let number = |row: usize, column: usize| {
            let cell = table.cell(row, column).trim();
            let x = cell.parse().ok().filter(|x: &f64| x.is_finite());
            x.ok_or_else(|| {
                let name = &table.names[column];
                refused(format!(
                    "has `{cell}` in row {}, column `{name}`: only finite numbers are allowed",
                    row + 1
                ))
            })
        };
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let played = (0..table.len()).map(|row| table.cell(row, action));
        let names = declared.policy.keys().map(String::as_str).chain(played);
        let names = names.filter(|name| !name.is_empty());
        names.for_each(|name| _ = numbers.insert(name, 0));
        (numbers.values_mut().enumerate()).for_each(|(i, number)| *number = i);
        let mut rounds = Self {
            arms: numbers.keys().map(ToString::to_string).collect(),
            actions: Vec::new(),
            pscores: Vec::new(),
            rewards: Vec::new(),
            costs: Vec::new(),
            left_out: 0,
        };
        for row in 0..table.len() {
            let mut needed = std::iter::once(&action).chain(&signals);
            if needed.any(|&column| table.cell(row, column).is_empty()) {
                rounds.left_out += 1;
                continue;
            }
            rounds.actions.push(numbers[table.cell(row, action)]);
            rounds.pscores.push(number(row, pscore)?);
            rounds.rewards.push(number(row, signals[0])?);
            for &signal in &signals[1..] {
                rounds.costs.push(number(row, signal)?);
            }
        }
        Ok(rounds)
    }

    fn log(&self, declared: &Evaluation) -> Result<CheckedLog<'_>, banister::Error> {
        let log = Log {
            arms: self.arms.len(),
            actions: &self.actions,
            rewards: &self.rewards,
            costs: &self.costs,
            pscores: Some(&self.pscores),
            arm_names: self.arms.clone(),
            adaptive: declared.adaptive,
            ..Log::default()
        };
        log.declare(&declared.reward, &declared.guardrails).check()
    }
}
