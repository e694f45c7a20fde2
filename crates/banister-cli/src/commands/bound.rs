//! `banister bound`: what the theory promises, as numbers.

use banister::theory::{LinearSetting, Setting};
use banister_report::figures::axes::significant;
use banister_report::{Cell, ReportTable};
use serde_json::json;

use crate::args::Bound;
use crate::input::read_instance;
use crate::terminal;
use banister_report::tables::words::number;
use banister_terminal::Failure;

pub fn bound(args: &Bound) -> Result<(), Failure> {
    if let Some(path) = &args.experiment {
        let experiment = read_instance(path, args.horizon)?;
        let setting = experiment.setting(args.delta).ok_or_else(|| {
            Failure::input(format!(
                "`{}` does not have arms whose means stay, and only these have bounds from a file: give \
                 `--arms` or `--dimension`",
                path.display()
            ))
        })?;
        // Checks δ, before the limit is computed with it.
        setting.check().map_err(refused)?;
        return arms(args, &setting, experiment.limit(args.delta));
    }
    let horizon = args.horizon.unwrap_or(0);
    match args.dimension {
        Some(dimension) => linear(args, dimension, horizon),
        None => {
            let setting = Setting {
                arms: args.arms.unwrap_or(0),
                horizon,
                margins: args.margin.clone(),
                best_margin: args.best_margin,
                delta: args.delta,
                r: args.sub_gaussian,
            };
            arms(args, &setting, None)
        }
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

fn vacuous(horizon: u64, x: f64) -> &'static str {
    if x >= horizon as f64 {
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

fn t_zero_rows(horizon: u64, (first, last): (u64, u64)) -> [Vec<Cell>; 2] {
    [
        row(
            "safe rounds T₀ when the safe cost is unknown, at least",
            first.to_string(),
            "",
        ),
        row(
            "… at most",
            last.to_string(),
            if last >= horizon { "beyond T" } else { "" },
        ),
    ]
}

fn print(title: String, rows: Vec<Vec<Cell>>) -> Result<(), Failure> {
    terminal::print(&ReportTable::new(title, &["", "value", ""], rows))
}

fn linear(args: &Bound, dimension: usize, horizon: u64) -> Result<(), Failure> {
    let norm = args.feature_norm.unwrap_or(1.0);
    let setting = LinearSetting {
        dimension,
        horizon,
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
            "horizon": horizon,
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
        banister_terminal::say(value)?;
        return Ok(());
    }
    let regret = |what: &str, x: f64| row(what, number(x), vacuous(horizon, x));
    let title = format!(
        "d = {dimension}, T = {horizon}, smallest margin {}, δ = {}, L = {norm}, S = {}, λ = {}",
        smallest(&args.margin),
        args.delta,
        setting.parameter_norm,
        setting.lambda
    );
    let mut rows = vec![
        regret(
            "regret of OPLB, at most (corrected, with probability 1 − 2δ − δ_o)",
            bounds.regret,
        ),
        regret("… with the paper's radii", bounds.regret_paper_radius),
        regret(
            "regret of OPLB as printed in the paper",
            bounds.regret_as_printed,
        ),
    ];
    rows.extend(t_zero_rows(horizon, bounds.t_zero));
    let radius = |x: f64| significant(x, 4);
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

/// The limit is that of an instance, where there is one.
fn arms(args: &Bound, setting: &Setting, limit: Option<f64>) -> Result<(), Failure> {
    let horizon = setting.horizon;
    let bounds = setting.bounds().map_err(refused)?;
    if args.json {
        let value = json!({
            "arms": setting.arms,
            "horizon": horizon,
            "margins": setting.margins,
            "delta": setting.delta,
            "sub_gaussian": setting.r,
            "signals": bounds.signals,
            "regret": bounds.regret,
            "regret_as_printed": bounds.regret_as_printed,
            "lower_minimax": bounds.lower_minimax,
            "lower_margin": bounds.lower_margin,
            "best_margin": setting.best_margin,
            "lower_best_margin": bounds.lower_best_margin.0,
            "lower_search": bounds.lower_best_margin.1,
            "limit": limit,
            "t_zero": [bounds.t_zero.0, bounds.t_zero.1],
            "hoeffding_radius": bounds.hoeffding_radius,
            "paper_radius": bounds.paper_radius,
        });
        banister_terminal::say(value)?;
        return Ok(());
    }
    let title = format!(
        "K = {}, T = {horizon}, smallest margin {}, δ = {}",
        setting.arms,
        // Without the last digits, which are those of a difference.
        (smallest(&setting.margins) * 1e12).round() / 1e12,
        setting.delta
    );
    let mut rows = vec![
        row(
            "regret of OPB with `least`, at most (corrected, with probability 1 − 2δ − δ_o)",
            number(bounds.regret),
            vacuous(horizon, bounds.regret),
        ),
        row(
            "regret of OPB as printed in the paper",
            number(bounds.regret_as_printed),
            vacuous(horizon, bounds.regret_as_printed),
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
    if setting.best_margin.is_some() {
        let (root, search) = bounds.lower_best_margin;
        rows.extend([
            lower(
                "no safe algorithm beats √T/(32ρ), ρ the best margin of any arm",
                root,
                "needs Δ ≤ ρ ≤ 1/8 and T ≥ 1/(Δρ)",
            ),
            lower(
                "no safe algorithm beats 1/(1152Δρ)",
                search,
                "needs 4Δ ≤ ρ ≤ 1/8 and T ≥ 1/(Δρ)",
            ),
        ]);
    }
    if let Some(limit) = limit {
        let what = "limit of certified play L(T), at these means and costs";
        rows.push(row(what, number(limit), ""));
    }
    rows.extend(t_zero_rows(horizon, bounds.t_zero));
    rows.extend([
        row(
            "Hoeffding radius after T/K pulls",
            significant(bounds.hoeffding_radius, 4),
            "",
        ),
        row(
            "the paper's β after T/K pulls",
            significant(bounds.paper_radius, 4),
            "",
        ),
        row("signals in the union bound", bounds.signals.to_string(), ""),
    ]);
    print(title, rows)
}
