//! Data of a figure in the form that the page's script draws from.

use serde::Serialize;

use crate::figures::axes::drawable;
use crate::figures::curves::Point;
use crate::figures::palette;
use crate::{Figure, LineKind, Panel, Series};

#[derive(Serialize)]
struct Grid<'a> {
    rows: Vec<Line<'a>>,
    legend: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    name: &'a str,
    color: &'static str,
    dash: Vec<f64>,
}

#[derive(Serialize)]
struct Line<'a> {
    label: &'a str,
    panels: Vec<Chart<'a>>,
}

#[derive(Serialize)]
struct Chart<'a> {
    title: &'a str,
    x_label: &'a str,
    y_label: &'a str,
    x_log: bool,
    y_log: bool,
    y_from_zero: bool,
    /// Positions of all series, ascending; the curves below have one entry (or null) for each.
    x: Vec<f64>,
    series: Vec<Curve<'a>>,
    lines: Vec<Reference<'a>>,
}

#[derive(Serialize)]
struct Curve<'a> {
    name: &'a str,
    color: &'static str,
    dash: Vec<f64>,
    points: bool,
    y: Vec<Option<f64>>,
    low: Option<Vec<Option<f64>>>,
    high: Option<Vec<Option<f64>>>,
}

#[derive(Serialize)]
struct Reference<'a> {
    label: &'a str,
    y: f64,
    threshold: bool,
}

/// Writes the figure as JSON that may stand inside a `<script>` element: no `<` in it can end the
/// element or start a comment.
pub(crate) fn json(figure: &Figure) -> Result<String, serde_json::Error> {
    let mut legend: Vec<Entry<'_>> = Vec::new();
    for series in figure
        .rows
        .iter()
        .flat_map(|r| &r.panels)
        .flat_map(|p| &p.series)
    {
        if !legend.iter().any(|entry| entry.name == series.name) {
            let color = palette::color(series.color);
            legend.push(Entry {
                name: &series.name,
                color,
                dash: dash(series),
            });
        }
    }
    let rows = figure.rows.iter().map(|row| Line {
        label: &row.label,
        panels: row
            .panels
            .iter()
            .filter(|p| !p.series.is_empty())
            .map(chart)
            .collect(),
    });
    let grid = Grid {
        rows: rows.collect(),
        legend,
    };
    Ok(serde_json::to_string(&grid)?.replace('<', "\\u003c"))
}

/// Counts the charts that the script will draw.
pub(crate) fn charts(figure: &Figure) -> usize {
    let panels = figure.rows.iter().flat_map(|row| &row.panels);
    panels.filter(|panel| !panel.series.is_empty()).count()
}

fn chart(panel: &Panel) -> Chart<'_> {
    let curves: Vec<Vec<Point>> = panel.series.iter().map(|s| s.points_on(panel)).collect();
    let mut x: Vec<f64> = curves.iter().flatten().map(|point| point.x).collect();
    x.sort_by(f64::total_cmp);
    x.dedup();
    let series = panel.series.iter().zip(&curves).map(|(series, points)| {
        // Later points at the same place win, as they are drawn on top.
        let spread = |value: fn(&Point) -> Option<f64>| {
            let mut all = vec![None; x.len()];
            for point in points {
                if let Ok(at) = x.binary_search_by(|other| other.total_cmp(&point.x)) {
                    all[at] = value(point).map(rounded);
                }
            }
            all
        };
        let banded = points.iter().any(|point| point.band.is_some());
        Curve {
            name: &series.name,
            color: palette::color(series.color),
            dash: dash(series),
            points: series.points || points.len() == 1,
            y: spread(|p| Some(p.y)),
            low: banded.then(|| spread(|p| p.band.map(|band| band.0))),
            high: banded.then(|| spread(|p| p.band.map(|band| band.1))),
        }
    });
    let lines = panel
        .lines
        .iter()
        .filter(|line| drawable(line.y, panel.y_log))
        .map(|line| Reference {
            label: &line.label,
            y: line.y,
            threshold: line.kind == LineKind::Threshold,
        });
    Chart {
        title: &panel.title,
        x_label: &panel.x_label,
        y_label: &panel.y_label,
        x_log: panel.x_log,
        y_log: panel.y_log,
        y_from_zero: panel.y_from_zero,
        series: series.collect(),
        lines: lines.collect(),
        x,
    }
}

/// Lengths of dashes and gaps; none for a solid line.
fn dash(series: &Series) -> Vec<f64> {
    let lengths = palette::dashes(series.color, series.dashed).split(' ');
    lengths.filter_map(|length| length.parse().ok()).collect()
}

/// Rounds to six significant digits: more than a screen can show, half the size of the page.
fn rounded(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}
