//! The figures of a comparison.

use banister::Guarantee;
use banister_report::{DotPlot, Figure, FigureRef};
use banister_sim::Results;
use banister_sim::results::InstanceResult;

use crate::commands::run::file_name;

/// Draws regret and violation on every instance.
pub fn safety(results: &Results, guarantees: &[Vec<Guarantee>]) -> Option<FigureRef> {
    let plot = DotPlot::of_results(results, guarantees);
    (!plot.panels.is_empty()).then(|| FigureRef {
        stem: "regret-against-violation".into(),
        caption: "One row per agent: how much it earned less than the best feasible policy, and in how many \
                  rounds its policy broke a guardrail. Below zero it earned more than any feasible policy can. \
                  Whiskers, where there are several runs, are 95% intervals over them."
            .into(),
        figure: plot.into(),
    })
}

/// Draws regret, cost and reward of all agents on an instance.
pub fn curves(instance: &InstanceResult) -> FigureRef {
    let results = Results {
        instances: vec![instance.clone()],
    };
    FigureRef {
        stem: format!("curves-{}", file_name(&instance.name)),
        caption: String::new(),
        figure: Figure::of_results(&results).into(),
    }
}
