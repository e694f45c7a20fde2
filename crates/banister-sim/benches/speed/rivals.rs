//! The others: enumerating pairs, Clarabel, HiGHS.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use banister::solve::Lp;
use serde_json::{Value, json};

use crate::Failure;
use crate::timing::{BUDGET, Times, nanoseconds};
use crate::workload::Workload;

/// The paper's suggestion for one guardrail: try every action and every pair. Writes the policy and
/// returns what ours returns with it: value, cost, price and the upper bound that proves it.
pub fn enumerate_pairs(lp: &Lp<'_>, policy: &mut Vec<(usize, f64)>) -> [f64; 4] {
    let (v, u, tau) = (lp.reward, &lp.costs[0][..lp.reward.len()], lp.thresholds[0]);
    let mut best = (f64::NEG_INFINITY, 0, 0, 0.0);
    for i in 0..v.len() {
        if u[i] > tau {
            continue;
        }
        if v[i] > best.0 {
            best = (v[i], i, i, 0.0);
        }
        for j in 0..v.len() {
            if u[j] > tau {
                let share = (tau - u[i]) / (u[j] - u[i]);
                let value = v[i] + share * (v[j] - v[i]);
                if value > best.0 {
                    best = (value, i, j, share);
                }
            }
        }
    }
    let (value, i, j, share) = best;
    policy.clear();
    if share < 1.0 {
        policy.push((i, 1.0 - share));
    }
    if share > 0.0 {
        policy.push((j, share));
    }
    let price = if i == j {
        0.0
    } else {
        (v[j] - v[i]) / (u[j] - u[i])
    };
    let top = v
        .iter()
        .zip(u)
        .map(|(v, u)| v - price * u)
        .fold(f64::NEG_INFINITY, f64::max);
    let cost = policy.iter().map(|&(a, p)| p * u[a]).sum();
    [value, cost, price, top + price * tau]
}

/// Times only `solve()`; setting the problem up is not counted.
pub fn clarabel_times(problems: &[Workload]) -> Times {
    use clarabel::algebra::CscMatrix;
    use clarabel::solver::{
        DefaultSettings, DefaultSolver, IPSolver, SupportedConeT::NonnegativeConeT,
        SupportedConeT::ZeroConeT,
    };
    let mut times = Vec::new();
    let begun = Instant::now();
    for problem in problems.iter().cycle() {
        let (k, m) = (problem.reward.len(), problem.costs.len());
        let objective: Vec<f64> = problem.reward.iter().map(|v| -v).collect();
        // Rows: sum to one, m thresholds, K signs.
        let (mut starts, mut rows, mut values) = (vec![0], Vec::new(), Vec::new());
        for a in 0..k {
            rows.extend(0..=m);
            values.push(1.0);
            values.extend(problem.costs.iter().map(|row| row[a]));
            rows.push(m + 1 + a);
            values.push(-1.0);
            starts.push(rows.len());
        }
        let matrix = CscMatrix::new(m + 1 + k, k, starts, rows, values);
        let mut bounds = vec![1.0];
        bounds.extend(&problem.thresholds);
        bounds.resize(m + 1 + k, 0.0);
        let settings = DefaultSettings {
            verbose: false,
            ..DefaultSettings::default()
        };
        let cones = [ZeroConeT(1), NonnegativeConeT(m + k)];
        let quadratic = CscMatrix::zeros((k, k));
        let mut solver =
            DefaultSolver::new(&quadratic, &objective, &matrix, &bounds, &cones, settings)
                .expect("a well-formed problem");
        let started = Instant::now();
        solver.solve();
        times.push(nanoseconds(started));
        if times.len() >= 3 && (nanoseconds(begun) > 0.8 * BUDGET || times.len() >= 200) {
            break;
        }
    }
    Times::of(times)
}

/// Where the rounds are written to for HiGHS.
pub fn rounds_file() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    target
        .unwrap_or(Path::new("target"))
        .join("bench/rounds.json")
}

/// Writes the rounds, and times HiGHS on them where there is a Python that has it.
pub fn highs(workloads: &[Workload]) -> Result<Option<Value>, Failure> {
    let list: Vec<Value> = workloads
        .iter()
        .map(|w| {
            let rounds: Vec<Value> = w
                .rounds
                .iter()
                .map(|round| {
                    let changes: Vec<Value> = round
                        .changes
                        .iter()
                        .map(|c| json!([c.action, c.reward, c.costs]))
                        .collect();
                    json!({ "changes": changes, "value": round.value })
                })
                .collect();
            json!({
                "name": w.name, "block": w.block, "reward": w.reward, "costs": w.costs,
                "thresholds": w.thresholds, "rounds": rounds,
            })
        })
        .collect();
    let file = rounds_file();
    std::fs::create_dir_all(file.parent().unwrap_or(Path::new(".")))?;
    std::fs::write(&file, serde_json::to_string(&list)?)?;
    let Some(python) = std::env::var_os("BANISTER_PYTHON") else {
        return Ok(None);
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/highs.py");
    let output = Command::new(python).arg(script).arg(&file).output()?;
    if !output.status.success() {
        eprintln!("{}", String::from_utf8_lossy(&output.stderr));
        return Ok(None);
    }
    Ok(Some(serde_json::from_slice(&output.stdout)?))
}
