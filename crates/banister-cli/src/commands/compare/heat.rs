//! Heat maps over two swept fields.

use banister_report::{FigureRef, HeatMap, HeatPanel};
use banister_sim::Results;
use banister_sim::compare::{Comparison, FieldValue, leaderboard};

use banister_terminal::Failure;

/// Panels beyond which a map is no longer read.
const MAX_PANELS: usize = 24;

/// An agent on an instance of the sweep.
struct Point {
    /// Name of the agent without its swept fields, with those that are neither axis.
    panel: String,
    x: FieldValue,
    y: FieldValue,
    regret: f64,
    violations: f64,
}

/// Chooses the two fields of the maps: those asked for, as `x,y`, or the first two that were swept. None
/// without two swept fields.
pub fn axes(
    comparison: &Comparison,
    asked: Option<&str>,
) -> Result<Option<(String, String)>, Failure> {
    let fields = comparison.swept();
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in fields.iter().flatten().flatten() {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    Ok(match (asked, &names[..]) {
        (Some(asked), _) => Some(chosen(asked, &names)?),
        (None, [x, y, ..]) => Some((x.to_string(), y.to_string())),
        _ => None,
    })
}

/// Draws heat maps of regret, and of violations where there are any.
pub fn maps(
    comparison: &Comparison,
    results: &Results,
    (x, y): &(String, String),
) -> Vec<FigureRef> {
    let fields = comparison.swept();
    let points = points(results, &fields, x, y);
    let xs = values(points.iter().map(|point| &point.x));
    let ys = values(points.iter().map(|point| &point.y));
    let mut panels: Vec<&str> = Vec::new();
    for point in &points {
        if !panels.contains(&point.panel.as_str()) {
            panels.push(&point.panel);
        }
    }
    panels.truncate(MAX_PANELS);
    let map = |stem: &str, title: String, label: &str, of: fn(&Point) -> f64| {
        let cell = |panel: &str, x: &FieldValue, y: &FieldValue| {
            let here = |p: &&Point| p.panel == panel && p.x == *x && p.y == *y;
            points.iter().find(here).map_or(f64::NAN, of)
        };
        let rows = |panel: &str| {
            ys.iter()
                .map(|y| xs.iter().map(|x| cell(panel, x, y)).collect())
                .collect()
        };
        FigureRef {
            stem: stem.into(),
            caption: "Means over runs; every run met the same outcomes in every cell of a row or column where \
                      only the agent differs."
                .into(),
            figure: HeatMap {
                title,
                subtitle: "One panel per agent, one colour scale for all.".into(),
                x_label: x.to_string(),
                y_label: y.to_string(),
                x: xs.iter().map(ToString::to_string).collect(),
                y: ys.iter().map(ToString::to_string).collect(),
                panels: panels
                    .iter()
                    .map(|panel| HeatPanel {
                        title: panel.to_string(),
                        values: rows(panel),
                    })
                    .collect(),
                value_label: label.into(),
            }
            .into(),
        }
    };
    let mut maps = vec![map(
        "heat-regret",
        format!("Regret by {x} and {y}"),
        "regret",
        |point| point.regret,
    )];
    if points.iter().any(|point| point.violations > 0.0) {
        maps.push(map(
            "heat-violations",
            format!("Violations by {x} and {y}"),
            "share of rounds that violated",
            |point| point.violations,
        ));
    }
    maps
}

fn points(
    results: &Results,
    fields: &[Vec<Vec<(String, FieldValue)>>],
    x: &str,
    y: &str,
) -> Vec<Point> {
    let mut points = Vec::new();
    for (instance, agents) in results.instances.iter().zip(fields) {
        let standings = leaderboard(instance);
        for (agent, fields) in instance.agents.iter().zip(agents) {
            let value = |name: &str| fields.iter().find(|(own, _)| own == name);
            let standing = standings.iter().find(|s| s.name() == agent.name);
            let (Some((_, at_x)), Some((_, at_y)), Some(standing)) = (value(x), value(y), standing)
            else {
                continue;
            };
            let word = |(name, value): &(String, FieldValue)| format!(", {name} = {value}");
            let mut panel = agent.name.clone();
            for field in fields {
                panel = panel.replace(&word(field), "");
            }
            for field in fields.iter().filter(|(name, _)| name != x && name != y) {
                panel += &word(field);
            }
            points.push(Point {
                panel,
                x: at_x.clone(),
                y: at_y.clone(),
                regret: standing.regret.mean,
                violations: standing.violation_share.mean,
            });
        }
    }
    points
}

/// Lists each value once: numbers in their order, words as they come.
fn values<'a>(all: impl Iterator<Item = &'a FieldValue>) -> Vec<FieldValue> {
    let mut values: Vec<FieldValue> = Vec::new();
    for value in all {
        if !values.contains(value) {
            values.push(value.clone());
        }
    }
    let number = |value: &FieldValue| match value {
        FieldValue::Number(x) => Some(*x),
        FieldValue::Text(_) => None,
    };
    if values.iter().all(|value| number(value).is_some()) {
        values.sort_by(|a, b| {
            number(a)
                .partial_cmp(&number(b))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
    }
    values
}

fn chosen(asked: &str, names: &[&str]) -> Result<(String, String), Failure> {
    let wrong = |what: String| {
        let known = if names.is_empty() {
            "nothing is swept here".to_string()
        } else {
            format!("the swept fields are {}", names.join(", "))
        };
        Failure::input(format!(
            "`--heat-map` is {what}: give two fields as x,y; {known}"
        ))
    };
    let parts: Vec<&str> = asked.split(',').map(str::trim).collect();
    let find = |part: &str| names.iter().find(|name| **name == part);
    match parts[..] {
        [x, y] if x != y => match (find(x), find(y)) {
            (Some(x), Some(y)) => Ok((x.to_string(), y.to_string())),
            (None, _) => Err(wrong(x.to_string())),
            (_, None) => Err(wrong(y.to_string())),
        },
        _ => Err(wrong(asked.to_string())),
    }
}
