//! Figure of a plan: the probability of every arm over decisions, with the moments people wait for.

use banister_sim::planning::{Plan, Times};

use super::axes::{compact, significant};
use super::curves::{Figure, LineKind, Panel, ReferenceLine, Row, Series};

impl Figure {
    /// Lays out a plan; the axis has days where the number of decisions per day is known.
    pub fn of_plan(plan: &Plan) -> Figure {
        let (traffic, instance) = (plan.question.traffic, &plan.results.instances[0]);
        let days = |t: u64| t as f64 / traffic.unwrap_or(1.0);
        // The first decisions are all safe.
        let points = || {
            plan.probability
                .iter()
                .filter(|own| own.0 >= plan.horizon / 10_000)
        };
        let curve = |(color, name): (usize, &String)| {
            let quantile = |q: usize| points().map(|own| own.1[color][q]).collect();
            Series {
                name: name.clone(),
                color,
                x: points().map(|own| days(own.0)).collect(),
                y: quantile(1),
                band: Some((quantile(0), quantile(2))),
                ..Series::default()
            }
        };
        let mut series: Vec<Series> = instance.arms.iter().enumerate().map(curve).collect();
        let dot = |(i, own): (usize, &Times)| {
            let (arm, time) = (
                instance.arms.iter().position(|arm| *arm == own.arm)?,
                own.median?,
            );
            let point = plan.probability.iter().find(|point| point.0 >= time)?;
            let lift = plan.question.lift.filter(|_| own.until == "lift");
            let known = lift.map(|width| format!("lift known to ±{}", significant(width, 4)));
            Some(Series {
                name: format!("{}: {}", own.arm, known.as_deref().unwrap_or(own.until)),
                color: instance.arms.len() + i,
                x: vec![days(time)],
                y: vec![point.1[arm][1]],
                points: true,
                ..Series::default()
            })
        };
        series.extend(plan.times.iter().enumerate().filter_map(dot));
        let target = |&(arm, y): &(usize, f64)| ReferenceLine {
            label: format!("{} in the best policy", instance.arms[arm]),
            y,
            kind: LineKind::Optimum,
        };
        let panel = Panel {
            x_label: traffic.map_or("decisions".into(), |n| {
                format!("days, at {} decisions a day", compact(n, 3))
            }),
            y_label: "probability".into(),
            x_log: true,
            y_from_zero: true,
            series,
            lines: instance.optimum.policy.iter().map(target).collect(),
            ..Panel::default()
        };
        Figure {
            title: "How soon each arm is certified".into(),
            subtitle: format!(
                "Probability of each arm under {}: median of {} runs, band from 10% to 90% of them; dots at median times.",
                plan.agent,
                plan.broken.len()
            ),
            rows: vec![Row {
                panels: vec![panel],
                ..Row::default()
            }],
        }
    }
}
