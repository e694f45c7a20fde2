//! `banister bound`: what the theory promises, as numbers.

use banister::theory::Setting;
use banister_report::{Cell, Table};
use serde_json::json;

use crate::args::Bound;
use crate::failure::Failure;
use crate::terminal::{self, number};

pub fn bound(args: &Bound) -> Result<(), Failure> {
    let setting = Setting {
        arms: args.arms,
        horizon: args.horizon,
        margins: args.margin.clone(),
        delta: args.delta,
        r: args.sub_gaussian,
    };
    let bounds = setting.bounds().map_err(|error| {
        // The command line writes its flags with dashes in front.
        Failure::input(error.to_string().replacen('`', "`--", 1))
    })?;
    let trivial = args.horizon as f64;
    if args.json {
        let value = json!({
            "arms": args.arms,
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
        println!("{value}");
        return Ok(());
    }
    let vacuous = |x: f64| if x >= trivial { "vacuous: above T" } else { "" };
    let row = |what: &str, value: String, note: &str| {
        vec![Cell::text(what), Cell::number(value), Cell::text(note)]
    };
    let (first, last) = bounds.t_zero;
    let table = Table {
        title: format!(
            "K = {}, T = {}, smallest margin {}, δ = {}",
            args.arms,
            args.horizon,
            args.margin.iter().copied().fold(f64::INFINITY, f64::min),
            args.delta
        ),
        header: ["", "value", ""].map(String::from).to_vec(),
        rows: vec![
            row(
                "regret of OPB, at most (corrected, with probability 1 − 2δ)",
                number(bounds.regret),
                vacuous(bounds.regret),
            ),
            row(
                "regret of OPB as printed in the paper",
                number(bounds.regret_as_printed),
                vacuous(bounds.regret_as_printed),
            ),
            row(
                "no algorithm beats √((K−1)T)/27",
                number(bounds.lower_minimax),
                "",
            ),
            match bounds.lower_margin {
                Some(x) => row("no algorithm beats 1/(18Δ²)", number(x), ""),
                None => row(
                    "no algorithm beats 1/(18Δ²)",
                    "–".into(),
                    "needs T ≥ 96/(18Δ²)",
                ),
            },
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
        ],
    };
    terminal::print(&table);
    Ok(())
}
