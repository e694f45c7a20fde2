//! `banister solve`: one round's problem, JSON in and out.

use std::io::{BufRead, Read, Write};
use std::time::{Duration, Instant};

use banister::oplb::{self, RoundAnswer};
use banister_solve::{SegmentProblem, SegmentSolution, Solution, Status};
use serde::Deserialize;
use serde_json::json;

use crate::args::Solve;
use crate::input::explain_unknown;
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
        match explain_unknown(&message) {
            (_, Some(help)) => format!("{message}; {help}"),
            _ => message,
        }
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
            from_lp(solution)
        }
        SolveInput::Segments(problem) => {
            let solution = problem.solve().map_err(|error| error.to_string())?;
            return Ok(segments_to_json(&solution, micros(started)).to_string());
        }
        SolveInput::Oplb(round) => {
            let limit = args.max_micros.map(Duration::from_micros);
            let mut late = || limit.is_some_and(|limit| started.elapsed() > limit);
            round
                .solve(Some(&mut late))
                .map_err(|error| error.to_string())?
        }
    };
    Ok(to_json(&answer, micros(started)).to_string())
}

fn micros(started: Instant) -> f64 {
    started.elapsed().as_nanos() as f64 / 1000.0
}

fn segments_to_json(solution: &SegmentSolution, micros: f64) -> serde_json::Value {
    let feasible = solution.status != Status::Infeasible;
    let number = |x: f64| feasible.then_some(x);
    json!({
        "status": solution.status,
        "policy": solution.policy,
        "value": number(solution.value),
        "upper_bound": number(solution.upper_bound),
        "gap": number((solution.upper_bound - solution.value).max(0.0)),
        "costs": solution.costs,
        "prices": solution.prices,
        "micros": micros,
    })
}

fn from_lp(solution: Solution) -> RoundAnswer {
    RoundAnswer {
        status: solution.status,
        value: solution.value,
        upper_bound: solution.upper_bound,
        nodes: solution.pivots as u64,
        policy: solution.support,
        costs: solution.costs,
        prices: solution.prices,
    }
}

fn to_json(answer: &RoundAnswer, micros: f64) -> serde_json::Value {
    let feasible = answer.status != Status::Infeasible;
    let number = |x: f64| feasible.then_some(x);
    json!({
        "status": answer.status,
        "policy": answer.policy,
        "value": number(answer.value),
        "upper_bound": number(answer.upper_bound),
        "gap": number((answer.upper_bound - answer.value).max(0.0)),
        "costs": if feasible { &answer.costs[..] } else { &[] },
        "prices": if feasible { &answer.prices[..] } else { &[] },
        "nodes": answer.nodes,
        "micros": micros,
    })
}
