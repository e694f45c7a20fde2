//! Figure of a plan: the probability of every arm over decisions.

use banister_sim::planning::Plan;

use super::axes::compact;
use super::curves::{Figure, LineKind, Panel, ReferenceLine, Row, Series};

impl Figure {
    /// Lays out a plan; the axis has days where the number of decisions per day is known.
    pub fn of_plan(plan: &Plan) -> Figure {
        let instance = &plan.results.instances[0];
        let days = |t: u64| t as f64 / plan.traffic.unwrap_or(1.0);
        let points = plan.probability.iter();
        // The first decisions are all safe.
        let points = points.filter(|own| own.0 >= instance.horizon / 10_000);
        let curve = |(color, name): (usize, &String)| {
            let quantile = |q: usize| points.clone().map(|own| own.1[color][q]).collect();
            Series {
                name: name.clone(),
                color,
                x: points.clone().map(|own| days(own.0)).collect(),
                y: quantile(1),
                band: Some((quantile(0), quantile(2))),
                ..Series::default()
            }
        };
        let target = |&(arm, y): &(usize, f64)| ReferenceLine {
            label: format!("{} in the best policy", instance.arms[arm]),
            y,
            kind: LineKind::Optimum,
        };
        let by_day = |n| format!("days, at {} decisions a day", compact(n, 3));
        let panel = Panel {
            x_label: plan.traffic.map_or("decisions".into(), by_day),
            y_label: "probability".into(),
            x_log: true,
            y_from_zero: true,
            series: instance.arms.iter().enumerate().map(curve).collect(),
            lines: instance.optimum.policy.iter().map(target).collect(),
            ..Panel::default()
        };
        let (agent, panels) = (&instance.agents[0], vec![panel]);
        Figure {
            title: "How soon each arm is certified".into(),
            subtitle: format!(
                "Probability of each arm under {}: median of {} runs, band from 10% to 90% of them.",
                agent.name,
                agent.runs.len()
            ),
            rows: vec![Row {
                panels,
                ..Row::default()
            }],
        }
    }
}
