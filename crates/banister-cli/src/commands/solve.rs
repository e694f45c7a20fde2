//! `banister solve`: one round's problem, JSON in and out.

use std::io::{BufRead, BufReader, Read, Write};
use std::time::{Duration, Instant};

use banister::oplb::{self, RoundAnswer};
use banister::toolkit::hint;
use banister_solve::{SegmentProblem, Status};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::args::Solve;
use crate::input::unreadable;
use banister_terminal::Failure;

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
enum SolveInput {
    Lp {
        reward: Vec<f64>,
        costs: Vec<Vec<f64>>,
        thresholds: Vec<f64>,
    },
    /// A policy per segment.
    Segments(SegmentProblem),
    /// A round of OPLB.
    Oplb(oplb::RoundInstance),
}

pub fn solve(args: &Solve) -> Result<(), Failure> {
    let mut input: Box<dyn BufRead> = match &args.file {
        Some(path) if path.as_os_str() != "-" => {
            let file = std::fs::File::open(path);
            Box::new(BufReader::new(file.map_err(|e| unreadable(path, &e))?))
        }
        _ => Box::new(std::io::stdin().lock()),
    };
    let mut out = std::io::stdout().lock();
    if !args.lines {
        let mut text = String::new();
        input
            .read_to_string(&mut text)
            .map_err(|error| Failure::input(format!("cannot read the input: {error}")))?;
        writeln!(out, "{}", answer(&text, args).map_err(Failure::input)?)?;
        return Ok(());
    }
    for (i, line) in input.lines().enumerate() {
        let line = line.map_err(|error| Failure::input(format!("line {}: {error}", i + 1)))?;
        if line.trim().is_empty() {
            continue;
        }
        let answer = answer(&line, args)
            .map_err(|error| Failure::input(format!("line {}: {error}", i + 1)))?;
        writeln!(out, "{answer}")?;
    }
    Ok(())
}

fn answer(text: &str, args: &Solve) -> Result<String, String> {
    let round: SolveInput = serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        format!("{message}{}", hint(&message))
    })?;
    let started = Instant::now();
    let answer = match round {
        SolveInput::Lp {
            reward,
            costs,
            thresholds,
        } => {
            let solution = banister_solve::solve_once(&reward, &costs, &thresholds)
                .map_err(|error| error.to_string())?;
            solution.into()
        }
        SolveInput::Segments(problem) => {
            let own = problem.solve().map_err(|error| error.to_string())?;
            let found = json!({ "policy": own.policy, "costs": own.costs, "prices": own.prices });
            return Ok(shown(
                found,
                own.status,
                own.value,
                own.upper_bound,
                started,
            ));
        }
        SolveInput::Oplb(round) => {
            let limit = args.max_micros.map(Duration::from_micros);
            let mut late = || limit.is_some_and(|limit| started.elapsed() > limit);
            round
                .solve(Some(&mut late))
                .map_err(|error| error.to_string())?
        }
    };
    let RoundAnswer {
        status,
        policy,
        value,
        upper_bound,
        costs,
        prices,
        nodes,
    } = answer;
    let found = json!({ "policy": policy, "costs": costs, "prices": prices, "nodes": nodes });
    Ok(shown(found, status, value, upper_bound, started))
}

/// What was found, with the fields that all problems share.
fn shown(
    mut found: Value,
    status: Status,
    value: f64,
    upper_bound: f64,
    started: Instant,
) -> String {
    found["status"] = json!(status);
    found["micros"] = json!(started.elapsed().as_nanos() as f64 / 1000.0);
    let gap = (upper_bound - value).max(0.0);
    let is_feasible = status != Status::Infeasible;
    for (name, number) in [("value", value), ("upper_bound", upper_bound), ("gap", gap)] {
        found[name] = json!(is_feasible.then_some(number));
    }
    for name in ["costs", "prices"].iter().filter(|_| !is_feasible) {
        found[name] = json!([]);
    }
    found.to_string()
}
