//! `banister solve`: one round's linear program, JSON in and out.

use std::io::{BufRead, Read, Write};
use std::time::Instant;

use banister_solve::{Solution, Status};
use serde::Deserialize;
use serde_json::json;

use crate::args::Solve;
use crate::failure::Failure;
use crate::input::explain_unknown;

/// What is read.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
enum Round {
    /// A policy LP.
    Lp {
        reward: Vec<f64>,
        costs: Vec<Vec<f64>>,
        thresholds: Vec<f64>,
    },
}

pub fn solve(args: &Solve) -> Result<(), Failure> {
    let mut input: Box<dyn BufRead> = match &args.file {
        Some(path) if path.as_os_str() != "-" => {
            let file = std::fs::File::open(path).map_err(|error| {
                Failure::input(format!("cannot read `{}`: {error}", path.display()))
            })?;
            Box::new(std::io::BufReader::new(file))
        }
        _ => Box::new(std::io::stdin().lock()),
    };
    let mut out = std::io::stdout().lock();
    if !args.lines {
        let mut text = String::new();
        input
            .read_to_string(&mut text)
            .map_err(|error| Failure::input(format!("cannot read the input: {error}")))?;
        writeln!(out, "{}", answer(&text).map_err(Failure::input)?)?;
        return Ok(());
    }
    for (i, line) in input.lines().enumerate() {
        let line = line.map_err(|error| Failure::input(format!("line {}: {error}", i + 1)))?;
        if line.trim().is_empty() {
            continue;
        }
        let answer =
            answer(&line).map_err(|error| Failure::input(format!("line {}: {error}", i + 1)))?;
        writeln!(out, "{answer}")?;
    }
    Ok(())
}

fn answer(text: &str) -> Result<String, String> {
    let Round::Lp {
        reward,
        costs,
        thresholds,
    } = serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        match explain_unknown(&message) {
            (_, Some(help)) => format!("{message}; {help}"),
            _ => message,
        }
    })?;
    let started = Instant::now();
    let solution = banister_solve::solve_once(&reward, &costs, &thresholds)
        .map_err(|error| error.to_string())?;
    let micros = started.elapsed().as_nanos() as f64 / 1000.0;
    Ok(to_json(&solution, micros).to_string())
}

fn to_json(solution: &Solution, micros: f64) -> serde_json::Value {
    let feasible = solution.status != Status::Infeasible;
    let number = |x: f64| feasible.then_some(x);
    json!({
        "status": solution.status,
        "policy": solution.support,
        "value": number(solution.value),
        "upper_bound": number(solution.upper_bound),
        "gap": number(solution.gap()),
        "costs": if feasible { solution.costs.clone() } else { Vec::new() },
        "prices": if feasible { solution.prices.clone() } else { Vec::new() },
        "nodes": solution.pivots,
        "micros": micros,
    })
}
