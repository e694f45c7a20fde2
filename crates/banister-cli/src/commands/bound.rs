//! `banister bound`: what the theory promises, as numbers.

use banister::theory::{LinearSetting, Setting};
use banister_report::{Cell, Table};
use serde_json::json;

use crate::args::Bound;
use crate::failure::Failure;
use crate::terminal::{self, number};

pub fn bound(args: &Bound) -> Result<(), Failure> {
    match args.dimension {
        Some(dimension) => linear(args, dimension),
        None => arms(args, args.arms.unwrap_or(0)),
    }
}

/// The command line writes its flags with dashes in front.
fn refused(error: banister::Error) -> Failure {
    Failure::input(error.to_string().replacen('`', "`--", 1))
}

fn smallest(margins: &[f64]) -> f64 {
    margins.iter().copied().fold(f64::INFINITY, f64::min)
}

fn row(what: &str, value: String, note: &str) -> Vec<Cell> {
    vec![Cell::text(what), Cell::number(value), Cell::text(note)]
}

fn vacuous(args: &Bound, x: f64) -> &'static str {
    if x >= args.horizon as f64 {
        "vacuous: above T"
    } else {
        ""
    }
}

/// A lower bound, or the reason why there is none.
fn lower(name: &'static str, bound: Option<f64>, needs: &'static str) -> Vec<Cell> {
    match bound {
        Some(x) => row(name, number(x), ""),
        None => row(name, "–".into(), needs),
    }
}

fn t_zero_rows(args: &Bound, (first, last): (u64, u64)) -> [Vec<Cell>; 2] {
    [
        row(
            "safe rounds T₀ when the safe cost is unknown, at least",
            first.to_string(),
            "",
        ),
        row(
            "… at most",
            last.to_string(),
            if last >= args.horizon { "beyond T" } else { "" },
        ),
    ]
}

fn print(title: String, rows: Vec<Vec<Cell>>) -> Result<(), Failure> {
    terminal::print(&Table {
        title,
        header: ["", "value", ""].map(String::from).to_vec(),
        rows,
    })
}

fn linear(args: &Bound, dimension: usize) -> Result<(), Failure> {
    let norm = args.feature_norm.unwrap_or(1.0);
    let setting = LinearSetting {
        dimension,
        horizon: args.horizon,
        margins: args.margin.clone(),
        delta: args.delta,
        r: args.sub_gaussian,
        norm,
        parameter_norm: args.parameter_norm.unwrap_or(1.0),
        lambda: args.lambda.unwrap_or(norm * norm),
    };
    let bounds = setting.bounds().map_err(refused)?;
    if args.json {
        let value = json!({
            "dimension": dimension,
            "horizon": args.horizon,
            "margins": args.margin,
            "delta": args.delta,
            "sub_gaussian": args.sub_gaussian,
            "feature_norm": setting.norm,
            "parameter_norm": setting.parameter_norm,
            "lambda": setting.lambda,
            "signals": bounds.signals,
            "regret": bounds.regret,
            "regret_paper_radius": bounds.regret_paper_radius,
            "regret_as_printed": bounds.regret_as_printed,
            "logdet_radius": bounds.logdet_radius,
            "paper_radius": bounds.paper_radius,
            "alpha_r": bounds.alpha_r,
            "t_zero": [bounds.t_zero.0, bounds.t_zero.1],
        });
        terminal::say(value)?;
        return Ok(());
    }
    let regret = |what: &str, x: f64| row(what, number(x), vacuous(args, x));
    let title = format!(
        "d = {dimension}, T = {}, smallest margin {}, δ = {}, L = {norm}, S = {}, λ = {}",
        args.horizon,
        smallest(&args.margin),
        args.delta,
        setting.parameter_norm,
        setting.lambda
    );
    let mut rows = vec![
        regret(
            "regret of OPLB, at most (corrected, with probability 1 − 2δ)",
            bounds.regret,
        ),
        regret("… with the paper's radii", bounds.regret_paper_radius),
        regret(
            "regret of OPLB as printed in the paper",
            bounds.regret_as_printed,
        ),
    ];
    rows.extend(t_zero_rows(args, bounds.t_zero));
    let radius = |x: f64| format!("{x:.4}");
    rows.extend([
        row(
            "log-det radius β_T, at most",
            radius(bounds.logdet_radius),
            "",
        ),
        row("the paper's β_T", radius(bounds.paper_radius), ""),
        row("α_r = 1 + 2/Δ", radius(bounds.alpha_r), ""),
        row(
            "ellipsoids in the union bound",
            bounds.signals.to_string(),
            "",
        ),
    ]);
    print(title, rows)
}

fn arms(args: &Bound, arms: usize) -> Result<(), Failure> {
    let setting = Setting {
        arms,
        horizon: args.horizon,
        margins: args.margin.clone(),
        delta: args.delta,
        r: args.sub_gaussian,
    };
    let bounds = setting.bounds().map_err(refused)?;
    if args.json {
        let value = json!({
            "arms": arms,
            "horizon": args.horizon,
            "margins": args.margin,
            "delta": args.delta,
            "sub_gaussian": args.sub_gaussian,
            "signals": bounds.signals,
            "regret": bounds.regret,
            "regret_as_printed": bounds.regret_as_printed,
            "lower_minimax": bounds.lower_minimax,
            "lower_margin": bounds.lower_margin,
            "t_zero": [bounds.t_zero.0, bounds.t_zero.1],
            "hoeffding_radius": bounds.hoeffding_radius,
            "paper_radius": bounds.paper_radius,
        });
        terminal::say(value)?;
        return Ok(());
    }
    let title = format!(
        "K = {arms}, T = {}, smallest margin {}, δ = {}",
        args.horizon,
        smallest(&args.margin),
        args.delta
    );
    let mut rows = vec![
        row(
            "regret of OPB, at most (corrected, with probability 1 − 2δ)",
            number(bounds.regret),
            vacuous(args, bounds.regret),
        ),
        row(
            "regret of OPB as printed in the paper",
            number(bounds.regret_as_printed),
            vacuous(args, bounds.regret_as_printed),
        ),
        lower(
            "no algorithm beats √((K−1)T)/27",
            bounds.lower_minimax,
            "needs T ≥ K − 1",
        ),
        lower(
            "no algorithm beats 1/(18Δ²) on Gaussian costs of unit variance",
            bounds.lower_margin,
            "needs T ≥ 96/(18Δ²)",
        ),
    ];
    rows.extend(t_zero_rows(args, bounds.t_zero));
    rows.extend([
        row(
            "Hoeffding radius after T/K pulls",
            format!("{:.4}", bounds.hoeffding_radius),
            "",
        ),
        row(
            "the paper's β after T/K pulls",
            format!("{:.4}", bounds.paper_radius),
            "",
        ),
        row("signals in the union bound", bounds.signals.to_string(), ""),
    ]);
    print(title, rows)
}
