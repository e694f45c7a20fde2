//! How fast banister is, and beside what: `cargo bench -p banister-sim --bench speed`.
//!
//! Everything runs on one thread. A time is the median over batches, with the best batch beside it.
//! The LPs are those of an OPB agent playing on policy, after a log that gave every arm some pulls.
//! HiGHS joins in if `BANISTER_PYTHON` names a Python that can import `highspy`; it gets the very
//! same rounds, through a file.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use banister::solve::{BlockedLp, Lp, LpSolver};
use banister::{Guardrail, Intervals, Opb, OpbConfig, Optimism, Problem};
use banister_sim::{ExperimentConfig, Options, run_shard};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let memory = memory()?;
    let mut rows = vec![
        simulation("simulated round, `paper`, K = 4", PAPER, 50.0)?,
        simulation("simulated round, default agent, K = 4", DEFAULT, 500.0)?,
    ];
    let mut for_highs = Vec::new();
    for (k, target) in [(4, 40.0), (1000, 4e3), (10_000, 45e3)] {
        let workload = fresh_bounds(k)?;
        for warm in [false, true] {
            rows.push(time_fresh(&workload, warm, target));
        }
        for_highs.push(workload);
    }
    for (k, target) in [(1000, 2.5e3), (10_000, 6e3)] {
        let workload = one_arm_changed(k, 1)?;
        rows.push(time_blocked(&workload, target));
        for_highs.push(workload);
    }
    for (m, target) in [(3, 3e3), (5, 5e3)] {
        let workload = one_arm_changed(1000, m)?;
        rows.push(time_simplex(&workload, target));
        for_highs.push(workload);
    }
    let highs = highs(&for_highs)?;
    print_table(&rows, highs.as_ref());
    println!("\n{memory}");
    Ok(())
}

// ---------------------------------------------------------------------------------------------
// Simulations

const PAPER: &str = r#"{ kind = "opb", intervals = "paper", optimism = "paper" }"#;
const DEFAULT: &str = r#"{ kind = "opb" }"#;

/// The paper's instance with Bernoulli arms.
fn instance(agent: &str, threshold: f64, horizon: u64) -> Result<ExperimentConfig, Failure> {
    Ok(toml::from_str(&format!(
        r#"
        run = {{ horizon = {horizon}, runs = 1, seed = 7 }}
        environment = {{ kind = "bernoulli", rewards = [0.1, 0.2, 0.4, 0.7], costs = [[0.0, 0.4, 0.5, 0.2]] }}
        guardrail = [{{ name = "cost", at_most = {threshold}, safe_cost = 0.0 }}]
        agent = [{agent}]
        "#
    ))?)
}

/// Nanoseconds per round, everything included, over the paper's three thresholds.
fn simulation(name: &str, agent: &str, target: f64) -> Result<Row, Failure> {
    const HORIZON: u64 = 100_000;
    let thresholds = [1.0, 0.5, 0.2];
    let mut experiments = Vec::new();
    for threshold in thresholds {
        experiments.push(instance(agent, threshold, HORIZON)?.check("speed")?);
    }
    let mut times = Vec::new();
    for batch in 0..40 {
        let started = Instant::now();
        for experiment in &experiments {
            black_box(run_shard(
                experiment,
                0,
                batch..batch + 1,
                Options::default(),
            )?);
        }
        times.push(nanoseconds(started) / (HORIZON * thresholds.len() as u64) as f64);
    }
    Ok(Row::new(name, None, Times::of(times), target))
}

/// Peak memory after a short and after a long run.
fn memory() -> Result<String, Failure> {
    let mut peaks = Vec::new();
    for horizon in [100_000, 10_000_000] {
        let experiment = instance(PAPER, 0.5, horizon)?.check("memory")?;
        run_shard(&experiment, 0, 0..1, Options::default())?;
        peaks.push((horizon, peak_memory()));
    }
    let parts: Vec<String> = peaks
        .iter()
        .map(|(horizon, peak)| {
            let peak = peak.clone().unwrap_or_else(|| "unknown here".into());
            format!("{peak} after a run of {horizon} rounds")
        })
        .collect();
    Ok(format!("Peak memory: {}.", parts.join(", ")))
}

/// The peak resident set of this process, on Linux.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    Some(line.trim().to_string())
}

// ---------------------------------------------------------------------------------------------
// The LPs of an agent

/// A problem and what changes in it from round to round.
struct Workload {
    name: String,
    reward: Vec<f64>,
    costs: Vec<Vec<f64>>,
    thresholds: Vec<f64>,
    rounds: Vec<Round>,
}

struct Round {
    changes: Vec<Change>,
    /// The optimal value, for checking the other solvers.
    value: f64,
}

struct Change {
    action: usize,
    reward: f64,
    costs: Vec<f64>,
}

/// The safe arm.
const SAFE: usize = 0;

/// An agent with `k` arms and `m` guardrails, and the world it plays in.
struct World {
    agent: Opb,
    rewards: Vec<f64>,
    costs: Vec<Vec<f64>>,
    thresholds: Vec<f64>,
    rng: ChaCha8Rng,
}

impl World {
    /// Starts with a log that gave every arm some pulls, few or many.
    fn new(k: usize, m: usize) -> Result<Self, Failure> {
        let mut rng = ChaCha8Rng::seed_from_u64(k as u64 + 7 * m as u64);
        let mut uniform = || (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let mut rewards: Vec<f64> = (0..k).map(|_| uniform()).collect();
        let mut costs: Vec<Vec<f64>> = (0..m)
            .map(|_| (0..k).map(|_| uniform()).collect())
            .collect();
        rewards[SAFE] = 0.1;
        for row in &mut costs {
            row[SAFE] = 0.05;
        }
        let pulls: Vec<u64> = (0..k).map(|_| 10 + (490.0 * uniform()) as u64).collect();
        let thresholds = vec![0.5; m];
        let problem = Problem {
            arms: (0..k).map(|a| format!("arm {a}")).collect(),
            safe: SAFE,
            reward: Default::default(),
            guardrails: (0..m)
                .map(|i| Guardrail {
                    name: format!("cost {i}"),
                    at_most: Some(thresholds[i]),
                    safe_cost: Some(0.05),
                    ..Guardrail::default()
                })
                .collect(),
        };
        let config = OpbConfig {
            intervals: Some(Intervals::Paper),
            optimism: Optimism::Margin,
            horizon: Some(100_000_000),
            ..OpbConfig::default()
        };
        let mut world = Self {
            agent: Opb::new(&problem, &config)?,
            rewards,
            costs,
            thresholds,
            rng,
        };
        for (arm, &n) in pulls.iter().enumerate() {
            for _ in 0..n {
                world.pull(arm)?;
            }
        }
        Ok(world)
    }

    /// One outcome of an arm.
    fn pull(&mut self, arm: usize) -> Result<(), Failure> {
        let rng = &mut self.rng;
        let mut bernoulli = |mean: f64| {
            let uniform = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            f64::from(u8::from(uniform < mean))
        };
        let reward = bernoulli(self.rewards[arm]);
        let costs: Vec<f64> = self.costs.iter().map(|row| bernoulli(row[arm])).collect();
        Ok(self.agent.observe(arm, reward, &costs)?)
    }

    /// One round on policy; the arm played.
    fn play(&mut self) -> Result<usize, Failure> {
        let uniform = (self.rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let arm = self.agent.decide().draw(uniform);
        self.pull(arm)?;
        Ok(arm)
    }

    /// V = U + D and u of an arm, as the agent has them.
    fn column(&self, arm: usize) -> Change {
        let bound = |signal| {
            self.agent
                .interval(arm, signal)
                .expect("an arm of this world")
        };
        let mut costs = Vec::new();
        let mut spread = 0.0_f64;
        for (i, tau) in self.thresholds.iter().enumerate() {
            let safe = self.costs[i][SAFE];
            let interval = bound(i + 1);
            if arm == SAFE {
                costs.push(safe);
            } else {
                spread = spread.max((interval.upper - interval.lower) / (tau - safe));
                costs.push(interval.upper);
            }
        }
        Change {
            action: arm,
            reward: bound(0).upper + spread,
            costs,
        }
    }

    /// The problem now, with no rounds yet.
    fn workload(&self, name: String) -> Workload {
        let columns: Vec<Change> = (0..self.rewards.len())
            .map(|arm| self.column(arm))
            .collect();
        Workload {
            name,
            reward: columns.iter().map(|c| c.reward).collect(),
            costs: (0..self.thresholds.len())
                .map(|i| columns.iter().map(|c| c.costs[i]).collect())
                .collect(),
            thresholds: self.thresholds.clone(),
            rounds: Vec::new(),
        }
    }
}

impl Workload {
    fn lp(&self) -> Lp<'_> {
        Lp {
            reward: &self.reward,
            costs: &self.costs,
            thresholds: &self.thresholds,
        }
    }

    /// The problem with its first round's changes, its first two rounds', and so on.
    fn problems(&self) -> Vec<Self> {
        let mut problems: Vec<Self> = Vec::new();
        for round in &self.rounds {
            let mut next = problems.last().unwrap_or(self).without_rounds();
            for change in &round.changes {
                next.apply(change);
            }
            problems.push(next);
        }
        problems
    }

    fn without_rounds(&self) -> Self {
        Self {
            name: self.name.clone(),
            reward: self.reward.clone(),
            costs: self.costs.clone(),
            thresholds: self.thresholds.clone(),
            rounds: Vec::new(),
        }
    }

    fn apply(&mut self, change: &Change) {
        self.reward[change.action] = change.reward;
        for (row, cost) in self.costs.iter_mut().zip(&change.costs) {
            row[change.action] = *cost;
        }
    }

    /// Fills in the optimal values.
    fn with_values(mut self) -> Self {
        let problems = self.problems();
        let mut solver = LpSolver::default();
        for (round, problem) in self.rounds.iter_mut().zip(&problems) {
            solver.reset();
            round.value = solver.solve(&problem.lp(), Some(SAFE)).value;
        }
        self
    }
}

/// Rounds in which every arm has new bounds.
fn fresh_bounds(k: usize) -> Result<Workload, Failure> {
    let mut world = World::new(k, 1)?;
    let mut workload = world.workload(format!("LP, K = {k}, all bounds fresh"));
    // So many that they stay in the cache, where an agent has its bounds.
    for _ in 0..(40_000 / k).clamp(4, 64) {
        for arm in 0..k {
            world.pull(arm)?;
        }
        for _ in 0..50 {
            world.play()?;
        }
        let changes = (0..k).map(|arm| world.column(arm)).collect();
        workload.rounds.push(Round {
            changes,
            value: 0.0,
        });
    }
    Ok(workload.with_values())
}

/// Consecutive rounds of the agent.
fn one_arm_changed(k: usize, m: usize) -> Result<Workload, Failure> {
    let mut world = World::new(k, m)?;
    for _ in 0..1000 {
        world.play()?;
    }
    let name = match m {
        1 => format!("LP, K = {k}, one arm changed"),
        _ => format!("LP, K = {k}, m = {m}, one arm changed"),
    };
    let mut workload = world.workload(name);
    for _ in 0..300 {
        let arm = world.play()?;
        workload.rounds.push(Round {
            changes: vec![world.column(arm)],
            value: 0.0,
        });
    }
    Ok(workload.with_values())
}

// ---------------------------------------------------------------------------------------------
// Timing

/// Median and minimum, in nanoseconds.
#[derive(Clone, Copy)]
struct Times {
    median: f64,
    best: f64,
}

impl Times {
    fn of(mut times: Vec<f64>) -> Self {
        times.sort_unstable_by(f64::total_cmp);
        Self {
            median: times[times.len() / 2],
            best: times[0],
        }
    }
}

fn nanoseconds(started: Instant) -> f64 {
    started.elapsed().as_nanos() as f64
}

/// Times `solve` over all items, many times.
fn batches<T>(items: &[T], budget: f64, mut solve: impl FnMut(&T)) -> Times {
    let mut times = Vec::new();
    let begun = Instant::now();
    while times.len() < 5 || (nanoseconds(begun) < budget && times.len() < 2000) {
        let started = Instant::now();
        for item in items {
            solve(item);
        }
        times.push(nanoseconds(started) / items.len() as f64);
    }
    Times::of(times)
}

/// What most LP rows may take, in nanoseconds.
const BUDGET: f64 = 0.5e9;

fn time_fresh(workload: &Workload, warm: bool, target: f64) -> Row {
    let problems = workload.problems();
    let mut solver = LpSolver::default();
    let times = batches(&problems, BUDGET, |problem| {
        if !warm {
            solver.reset();
        }
        black_box(solver.solve(black_box(&problem.lp()), Some(SAFE)));
    });
    let name = format!("{}, {}", workload.name, if warm { "warm" } else { "cold" });
    Row::new(&name, Some(workload), times, target).beside(&problems)
}

fn time_blocked(workload: &Workload, target: f64) -> Row {
    let tau = workload.thresholds[0];
    let mut fresh = BlockedLp::new(workload.reward.clone(), workload.costs.clone());
    fresh.solve(tau, SAFE);
    let mut times = Vec::new();
    for _ in 0..100 {
        let mut lp = fresh.clone();
        let started = Instant::now();
        for round in &workload.rounds {
            let change = &round.changes[0];
            lp.set(change.action, change.reward, change.costs[0]);
            black_box(lp.solve(tau, SAFE));
        }
        times.push(nanoseconds(started) / workload.rounds.len() as f64);
    }
    let row = Row::new(&workload.name, Some(workload), Times::of(times), target);
    row.beside(&workload.problems()[..8])
}

/// Times every round on its own: the median is over rounds.
fn time_simplex(workload: &Workload, target: f64) -> Row {
    let mut times = Vec::new();
    let mut now = workload.without_rounds();
    let mut solver = LpSolver::default();
    for _ in 0..20 {
        now = workload.without_rounds();
        solver.solve(&now.lp(), Some(SAFE));
        for round in &workload.rounds {
            now.apply(&round.changes[0]);
            let started = Instant::now();
            black_box(solver.solve(black_box(&now.lp()), Some(SAFE)));
            times.push(nanoseconds(started));
        }
    }
    let row = Row::new(&workload.name, Some(workload), Times::of(times), target);
    row.beside(&[now])
}

// ---------------------------------------------------------------------------------------------
// The others

/// The paper's suggestion for one guardrail: try every action and every pair. Writes the policy and
/// returns what ours returns with it: value, cost, price and the upper bound that proves it.
fn enumerate_pairs(lp: &Lp<'_>, policy: &mut Vec<(usize, f64)>) -> [f64; 4] {
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
fn clarabel_times(problems: &[Workload]) -> Times {
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
fn rounds_file() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    target
        .unwrap_or(Path::new("target"))
        .join("bench/rounds.json")
}

/// Writes the rounds, and times HiGHS on them where there is a Python that has it.
fn highs(workloads: &[Workload]) -> Result<Option<Value>, Failure> {
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
                "name": w.name, "reward": w.reward, "costs": w.costs,
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

// ---------------------------------------------------------------------------------------------
// The table

/// One line of the table.
struct Row {
    name: String,
    /// Name of its rounds, as HiGHS has them.
    workload: Option<String>,
    /// `warm` or `cold`.
    start: &'static str,
    times: Times,
    target: f64,
    pairs: Option<f64>,
    clarabel: Option<f64>,
}

impl Row {
    fn new(name: &str, workload: Option<&Workload>, times: Times, target: f64) -> Self {
        Self {
            name: name.to_string(),
            workload: workload.map(|w| w.name.clone()),
            start: if name.ends_with("cold") {
                "cold"
            } else {
                "warm"
            },
            times,
            target,
            pairs: None,
            clarabel: None,
        }
    }

    /// Times the others on these problems.
    fn beside(mut self, problems: &[Workload]) -> Self {
        if problems[0].costs.len() == 1 {
            let few = &problems[..if problems[0].reward.len() > 5000 {
                1
            } else {
                problems.len()
            }];
            let mut policy = Vec::new();
            let times = batches(few, 0.5 * BUDGET, |problem| {
                black_box(enumerate_pairs(black_box(&problem.lp()), &mut policy));
                black_box(&policy);
            });
            self.pairs = Some(times.median);
        }
        self.clarabel = Some(clarabel_times(problems).median);
        self
    }
}

/// A time in the unit that suits it.
fn shown(nanoseconds: f64) -> String {
    match nanoseconds {
        t if t < 1e3 => format!("{t:.1} ns"),
        t if t < 1e6 => format!("{:.2} µs", t / 1e3),
        t => format!("{:.2} ms", t / 1e6),
    }
}

fn print_table(rows: &[Row], highs: Option<&Value>) {
    let headers = [
        "what", "median", "best", "target", "met", "pairs", "Clarabel", "HiGHS",
    ];
    let mut table: Vec<Vec<String>> = vec![headers.iter().map(|h| h.to_string()).collect()];
    let ratio = |other: Option<f64>, own: f64, least: f64| match other {
        None => String::new(),
        Some(other) => {
            let missed = if other / own < least { " (!)" } else { "" };
            format!(
                "{:.*}×{missed}",
                usize::from(other / own < 10.0),
                other / own
            )
        }
    };
    let mut worst = 0.0_f64;
    for row in rows {
        let theirs = row.workload.as_ref().and_then(|name| highs?.get(name));
        let field = |key: &str| theirs.and_then(|t| t.get(key)).and_then(Value::as_f64);
        worst = worst.max(field("worst_difference").unwrap_or(0.0));
        let own = row.times.median;
        table.push(vec![
            row.name.clone(),
            shown(own),
            shown(row.times.best),
            shown(row.target),
            if own <= row.target { "yes" } else { "no" }.into(),
            ratio(row.pairs, own, 1.0),
            ratio(row.clarabel, own, 100.0),
            ratio(field(row.start).map(|s| 1e9 * s), own, 100.0),
        ]);
    }
    let widths: Vec<usize> = (0..headers.len())
        .map(|c| {
            table
                .iter()
                .map(|row| row[c].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    for (r, row) in table.iter().enumerate() {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(c, (cell, &width))| match c {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            })
            .collect();
        println!("{}", cells.join("  ").trim_end());
        if r == 0 {
            println!(
                "{}",
                "-".repeat(widths.iter().sum::<usize>() + 2 * (widths.len() - 1))
            );
        }
    }
    println!(
        "\nTimes are medians over batches on one thread. The last three columns say how many times \
         longer the others take\nfor the same LPs; (!) marks a ratio below 1 for enumerating pairs \
         and below 100 for the solvers."
    );
    for row in rows.iter().filter(|row| row.workload.is_none()) {
        println!(
            "{}: {:.1} million rounds/s.",
            row.name,
            1e3 / row.times.median
        );
    }
    match highs {
        None => println!("HiGHS: highspy not available: run `cargo xtask bench`."),
        Some(_) => println!("Largest difference from HiGHS in the optimal value: {worst:.1e}."),
    }
}
