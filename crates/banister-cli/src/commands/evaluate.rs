//! `banister evaluate`: what a log says of another policy's reward and guardrails.

use std::collections::BTreeMap;
use std::path::Path;

use banister::{Guardrail, SignalConfig};
use banister_offline::{Estimate, Log, Model, Options, Target, Verdict, estimate, verdicts};
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
    /// The arm that relative guardrails compare with.
    safe: Option<String>,
    /// True if the logging policy learned from these outcomes, as an agent does.
    #[serde(default)]
    adaptive: bool,
    #[serde(default)]
    reward: SignalConfig,
    #[serde(default, rename = "guardrail")]
    guardrails: Vec<Guardrail>,
    #[serde(default)]
    options: Options,
}

/// The log's columns; outcomes that are not complete are left out.
pub(super) struct Rounds {
    pub arms: Vec<String>,
    actions: Vec<usize>,
    /// None where the log has no such column and does without.
    pscores: Option<Vec<f64>>,
    rewards: Vec<f64>,
    costs: Vec<f64>,
    pub left_out: usize,
}

/// Four digits: an estimate has seldom more.
pub(super) fn digits(x: f64) -> String {
    significant(x, 4)
}

pub fn evaluate(args: &Evaluate) -> Result<(), Failure> {
    let (source, text) = (args.policy.display().to_string(), read_text(&args.policy)?);
    let declared: Evaluation = from_toml(&source, &text)?;
    let refused = |error: banister::Error| check_failure(&source, &text, &error);
    let arms = declared.policy.keys().chain(&declared.safe);
    let arms: Vec<&str> = arms.map(String::as_str).collect();
    let rounds = Rounds::read(&args.log, &declared.guardrails, &arms, true)?;
    let safe = declared.safe.as_deref().map(|name| rounds.arm(name));
    let safe = safe.transpose()?;
    if let (None, Some(i)) = (safe, declared.guardrails.iter().position(|g| g.relative)) {
        return Err(Failure::input(format!(
            "`safe` is missing: the relative guardrail `{}` compares with the safe arm",
            declared.guardrails[i].name
        )));
    }
    let log = Log {
        adaptive: declared.adaptive,
        ..rounds.log()
    };
    let log = log.declare(&declared.reward, &declared.guardrails).check();
    let log = log.map_err(refused)?;
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
    if args.json {
        let answer = json!({"reward": reward, "guardrails": judged, "left_out": rounds.left_out});
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
    let left_out = rounds.say_left_out();
    terminal::print(&ReportTable {
        title: format!("{n} rounds, worth {effective:.0} of the policy's own{left_out}"),
        header: ["", options.estimator.name(), &interval, "", "", ""]
            .map(String::from)
            .to_vec(),
        rows,
    })
}

impl Rounds {
    /// Reads a log with the signals of guardrails; `known`: names of arms that it need not have, `weighs`: it needs
    /// propensities.
    pub(super) fn read(
        file: &Path,
        guardrails: &[Guardrail],
        known: &[&str],
        weighs: bool,
    ) -> Result<Self, Failure> {
        let path = file.display();
        let refused = |why: String| Failure::input(format!("`{path}` {why}"));
        let table = RawTable::from_file(file, LIMITS).map_err(|e| refused(e.to_string()))?;
        let column = |name: &str| {
            table.column(name).ok_or_else(|| {
                let known = table.names.join("`, `");
                refused(format!("has no column `{name}`, only `{known}`"))
            })
        };
        let [action, reward] = ["action", "reward"].map(column);
        let pscore = table.column("pscore");
        let pscore = pscore.map_or_else(
            || weighs.then(|| column("pscore")).transpose(),
            |own| Ok(Some(own)),
        )?;
        let (action, mut signals) = (action?, vec![reward?]);
        for guardrail in guardrails {
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
        let names = known.iter().copied().chain(played);
        let names = names.filter(|name| !name.is_empty());
        names.for_each(|name| _ = numbers.insert(name, 0));
        (numbers.values_mut().enumerate()).for_each(|(i, number)| *number = i);
        let mut rounds = Self {
            arms: numbers.keys().map(ToString::to_string).collect(),
            actions: Vec::new(),
            pscores: pscore.map(|_| Vec::new()),
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
            if let (Some(pscores), Some(column)) = (&mut rounds.pscores, pscore) {
                pscores.push(number(row, column)?);
            }
            rounds.rewards.push(number(row, signals[0])?);
            for &signal in &signals[1..] {
                rounds.costs.push(number(row, signal)?);
            }
        }
        Ok(rounds)
    }

    /// Number of an arm that is safe.
    pub(super) fn arm(&self, name: &str) -> Result<usize, Failure> {
        let arm = self.arms.iter().position(|arm| arm == name);
        arm.ok_or_else(|| {
            let known = self.arms.join("`, `");
            Failure::input(format!("`safe` is {name}: must be one of `{known}`"))
        })
    }

    pub(super) fn say_left_out(&self) -> String {
        match self.left_out {
            0 => String::new(),
            n => format!("; {n} rows without action, reward or a cost left out"),
        }
    }

    /// The log without declarations.
    pub(super) fn log(&self) -> Log<'_> {
        Log {
            arms: self.arms.len(),
            actions: &self.actions,
            rewards: &self.rewards,
            costs: &self.costs,
            pscores: self.pscores.as_deref(),
            arm_names: self.arms.clone(),
            ..Log::default()
        }
    }
}
