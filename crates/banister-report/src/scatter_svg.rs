//! A [`Scatter`] as SVG: the head, and panels in rows.

use crate::canvas::{Anchor, Canvas, Stroke, TextStyle};
use crate::font::{self, Weight};
use crate::head::{self, Entry, MARGIN};
use crate::labels::Frame;
use crate::palette;
use crate::panel::{INK, QUIET};
use crate::scale::Scale;
use crate::scatter::{Scatter, ScatterPoint};
use crate::scatter_panel::Laid;
use crate::shares::Shares;

const PANEL_TITLE: f64 = 12.5;
const ROW: usize = 3;
const NOTE: f64 = 11.0;
/// The room for the vertical axis' name.
const AXIS_NAME: f64 = 16.0;
/// The wanted region: no violations.
pub(crate) const WANTED: &str = "#E3F2EA";

/// Title, legend, then the panels, all with the same horizontal axis and scales of one kind.
pub(crate) fn render(scatter: &Scatter) -> String {
    let columns = scatter.panels.len().clamp(1, ROW);
    let points = scatter.panels.iter().flat_map(|panel| &panel.points);
    let drawn: Vec<&ScatterPoint> = points.filter(|point| point.is_drawable()).collect();
    let shares = Shares::over(&drawn, [360.0, 230.0, 130.0][columns - 1]);
    let width = shares.width();
    let symmetric = scatter
        .panels
        .iter()
        .any(|panel| Scale::wants_symmetric(&heights(&panel.points, false)));
    let laid = |height: f64| -> Vec<Laid<'_>> {
        let lay = |panel| Laid::new(scatter, panel, &shares, symmetric, (width, height));
        scatter.panels.iter().map(lay).collect()
    };
    // Names that find no room get more of it.
    let most = scatter.panels.iter().map(|panel| panel.points.len()).max();
    let mut height = (14.0 * most.unwrap_or(0) as f64 + 40.0).clamp(300.0, 1200.0);
    let mut panels = laid(height);
    for _ in 0..4 {
        if panels.iter().all(Laid::is_clear) {
            break;
        }
        height *= 1.25;
        panels = laid(height);
    }

    // The vertical axis is named once per row; each panel has its own ticks.
    let left = panels.iter().map(Laid::left_room).fold(0.0, f64::max);
    let step = left + width + 12.0;
    let total = (2.0 * MARGIN + AXIS_NAME + columns as f64 * step - 6.0).max(480.0);
    let mut canvas = Canvas::default();
    let mut y = draw_head(&mut canvas, scatter, total);
    for row in panels.chunks(ROW) {
        y += 26.0;
        let mut notes = 0;
        for (column, panel) in row.iter().enumerate() {
            let x = MARGIN + AXIS_NAME + left + column as f64 * step;
            let title = font::fit(&panel.panel.title, PANEL_TITLE, Weight::Bold, width);
            canvas.text(x, y - 10.0, &title, TextStyle::new(PANEL_TITLE, INK).bold());
            let plot = Frame {
                left: x,
                top: y,
                right: x + width,
                bottom: y + height,
            };
            panel.draw(&mut canvas, scatter, plot);
            if column == 0 {
                let middle = 0.5 * (plot.top + plot.bottom);
                let style = TextStyle::new(NOTE, QUIET).anchored(Anchor::Middle);
                let name = font::fit(&panel.panel.y_label, NOTE, Weight::Regular, height);
                canvas.text(MARGIN + 9.0, middle, &name, style.upwards());
            }
            let lines = font::wrap(&missing(&panel.panel.points), NOTE, Weight::Regular, width);
            for (line, text) in lines.iter().enumerate() {
                let below = plot.bottom + 52.0 + 15.0 * line as f64;
                canvas.text(x, below, text, TextStyle::new(NOTE, QUIET));
            }
            notes = notes.max(lines.len());
        }
        y += height + 44.0 + 15.0 * notes as f64;
    }
    let description = match scatter.subtitle.is_empty() {
        true => &scatter.title,
        false => &scatter.subtitle,
    };
    canvas.document((total, y + 0.5 * MARGIN), &scatter.title, description)
}

/// The heights of the drawable points, on request with the ends of their whiskers.
pub(crate) fn heights(points: &[ScatterPoint], whiskers: bool) -> Vec<f64> {
    let mut all = Vec::new();
    for point in points.iter().filter(|point| point.is_drawable()) {
        all.push(point.y);
        if let Some((low, high)) = point.y_ends().filter(|_| whiskers) {
            all.extend([low, high]);
        }
    }
    all
}

/// What is said about the points that have no place.
fn missing(points: &[ScatterPoint]) -> String {
    let names: Vec<&str> = points
        .iter()
        .filter(|point| !point.is_drawable())
        .map(|point| point.label.as_str())
        .collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("not known: {}", names.join(", ")),
    }
}

/// The colour of a group's markers, and of its names: blue, green, orange and vermilion first,
/// since the last group is the one to beware of.
pub(crate) fn group_color(group: usize) -> usize {
    const ORDER: [usize; palette::LENGTH] = [0, 2, 1, 6, 3, 4, 5];
    ORDER[group % palette::LENGTH]
}

enum Sample {
    Group(usize),
    Wanted,
}

fn draw_head(canvas: &mut Canvas, scatter: &Scatter, width: f64) -> f64 {
    let y = head::titles(canvas, &scatter.title, &scatter.subtitle, width);
    let mut entries: Vec<Entry<Sample>> = Vec::new();
    for (group, name) in scatter.groups.iter().enumerate() {
        entries.push(Entry {
            name: name.clone(),
            look: Sample::Group(group),
        });
    }
    entries.push(Entry {
        name: "no violations: the lower in here, the better".to_owned(),
        look: Sample::Wanted,
    });
    let sample = |canvas: &mut Canvas, (x, y): (f64, f64), look: &Sample| match look {
        Sample::Group(group) => {
            let color = palette::color(group_color(*group));
            canvas.marker(*group, (x + 7.0, y), 5.0, color);
        }
        Sample::Wanted => {
            let frame = Frame {
                left: x,
                top: y - 7.0,
                right: x + 14.0,
                bottom: y + 7.0,
            };
            canvas.rect(frame, WANTED);
            let stroke = Stroke {
                color: palette::text_color(2),
                width: 1.2,
                dashes: "",
            };
            canvas.line((x + 7.0, y - 5.0), (x + 7.0, y + 4.0), stroke);
            canvas.line((x + 4.0, y + 1.5), (x + 7.0, y + 5.0), stroke);
            canvas.line((x + 10.0, y + 1.5), (x + 7.0, y + 5.0), stroke);
        }
    };
    head::legend(canvas, &entries, (y, width), (14.0, sample)) + 10.0
}
