//! Figure of a plan: the probability of every arm over decisions, with the moments people wait for.

use banister_sim::planning::{ArmPlan, Plan, Times};

use super::axes::{compact, significant};
use super::curves::{Figure, LineKind, Panel, ReferenceLine, Row, Series};

impl Figure {
    /// Lays out a plan; the axis has days where the number of decisions per day is known.
    pub fn of_plan(plan: &Plan, traffic: Option<f64>) -> Figure {
        let scale = traffic.unwrap_or(1.0);
        let x: Vec<f64> = plan.rounds.iter().map(|t| *t as f64 / scale).collect();
        let curve = |(color, arm): (usize, &ArmPlan)| {
            let quantile = |q: usize| arm.probability.iter().map(|own| own[q]).collect();
            Series {
                name: arm.name.clone(),
                color,
                x: x.clone(),
                y: quantile(1),
                band: Some((quantile(0), quantile(2))),
                ..Series::default()
            }
        };
        let mark = |(color, arm): (usize, &ArmPlan), times: &Option<Times>, note: &str| {
            let time = times.as_ref()?.quantile(0.5)?;
            let point = plan.rounds.partition_point(|t| *t < time);
            Some(Series {
                name: format!("{}: {note}", arm.name),
                color,
                x: vec![time as f64 / scale],
                y: vec![arm.probability.get(point)?[1]],
                points: true,
                note: note.into(),
                ..Series::default()
            })
        };
        let lift = plan
            .question
            .lift
            .map_or(String::new(), |x| significant(x, 4));
        let lift = format!("lift known to ±{lift}");
        let arms = || plan.arms.iter().enumerate();
        let mut series: Vec<Series> = arms().map(curve).collect();
        for (color, arm) in arms() {
            series.extend(mark((color, arm), &arm.certified, "certified"));
            series.extend(mark((color, arm), &arm.lift, &lift));
        }
        let target = |arm: &ArmPlan| ReferenceLine {
            label: format!("{} in the best policy", arm.name),
            y: arm.share,
            kind: LineKind::Optimum,
        };
        let played = plan.arms.iter().filter(|arm| arm.share > 0.0);
        let runs = plan.agent().runs.len();
        Figure {
            title: "How soon each arm is certified".into(),
            subtitle: format!(
                "Probability of each arm under {}: median of {runs} runs, band from 10% to 90% of them; dots at median times.",
                plan.agent().name
            ),
            rows: vec![Row {
                label: String::new(),
                panels: vec![Panel {
                    x_label: match traffic {
                        Some(traffic) => {
                            format!("days, at {} decisions a day", compact(traffic, 3))
                        }
                        None => "decisions".into(),
                    },
                    y_label: "probability".into(),
                    x_log: true,
                    y_from_zero: true,
                    series,
                    lines: played.map(target).collect(),
                    ..Panel::default()
                }],
            }],
        }
    }
}
