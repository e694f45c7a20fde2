//! Curves drawn: panels in a grid with labelled rows.

use super::canvas::{Canvas, Draw, Rect, Stroke};
use super::curve_panel::{Prepared, least_height};
use super::curves::Figure;
use super::legend::{self, Entry, MARGIN};
use super::palette::{self, INK};
use super::text::TextStyle;

const ROW_LABEL: f64 = 13.0;
/// Row labels wider than this are turned to run upwards.
const WIDEST_ROW_LABEL: f64 = 76.0;

impl Draw for Figure {
    fn svg(&self) -> String {
        render(self)
    }
}

/// Draws title, legend, then the panels row by row.
fn render(figure: &Figure) -> String {
    let columns = figure
        .rows
        .iter()
        .map(|row| row.panels.len())
        .max()
        .unwrap_or(0);
    let plot = match columns {
        0 | 1 => (560.0, 300.0),
        2 => (380.0, 220.0),
        3 => (275.0, 165.0),
        _ => (240.0, 150.0),
    };
    let named = figure.rows.iter().flat_map(|row| &row.panels);
    let plot = (plot.0, named.map(least_height).fold(plot.1, f64::max));
    let grid: Vec<Vec<Prepared<'_>>> = figure
        .rows
        .iter()
        .map(|row| {
            row.panels
                .iter()
                .map(|panel| Prepared::new(panel, plot))
                .collect()
        })
        .collect();
    let labels = RowLabels::new(figure, plot.1);

    // Plots of one column share their left edge, so each column needs its widest tick text.
    let room = |column: usize, side: fn(&Prepared<'_>) -> f64| {
        let filled = grid
            .iter()
            .filter_map(|row| row.get(column))
            .filter(|p| !p.is_empty());
        filled.map(side).fold(0.0, f64::max)
    };
    let mut lefts = Vec::new();
    let mut x = MARGIN + labels.room;
    for column in 0..columns {
        x += room(column, |panel| panel.left_room());
        lefts.push(x);
        x += plot.0 + room(column, |panel| panel.right_room()) + 14.0;
    }
    let width = (x - 14.0 + MARGIN - 8.0).max(360.0);

    let mut canvas = Canvas::default();
    let mut y = draw_head(&mut canvas, figure, width);
    for (index, row) in grid.iter().enumerate() {
        let above = index.checked_sub(1).and_then(|i| grid.get(i));
        let below = grid.get(index + 1);
        let same = |other: Option<&Vec<Prepared<'_>>>, column: usize, panel: &Prepared<'_>| {
            let other = other
                .and_then(|row| row.get(column))
                .filter(|p| !p.is_empty());
            other.is_some_and(|p| {
                p.panel.title == panel.panel.title && p.panel.x_label == panel.panel.x_label
            })
        };
        let filled = || {
            row.iter()
                .enumerate()
                .filter(|(_, panel)| !panel.is_empty())
        };
        let titled = filled().any(|(c, p)| !p.panel.title.is_empty() && !same(above, c, p));
        let named = filled().any(|(c, p)| !p.panel.x_label.is_empty() && !same(below, c, p));
        if titled {
            y += 22.0;
        }
        for (column, panel) in filled() {
            let Some(&left) = lefts.get(column) else {
                continue;
            };
            if !same(above, column, panel) {
                let style = legend::panel_title();
                let title = style.fit(&panel.panel.title, plot.0);
                canvas.text(left, y - 9.0, &title, style);
            }
            let frame = Rect::new((left, y), plot);
            panel.draw(&mut canvas, frame, !same(below, column, panel));
        }
        labels.draw(&mut canvas, index, y + 0.5 * plot.1);
        y += plot.1 + 22.0 + if named { 16.0 } else { 0.0 } + 12.0;
    }
    let height = y - 12.0 + 0.5 * MARGIN;
    canvas.document((width, height), &figure.title, &figure.subtitle)
}

/// Draws title, subtitle and legend; returns the height where the first row may start.
fn draw_head(canvas: &mut Canvas, figure: &Figure, width: f64) -> f64 {
    const SAMPLE: f64 = 28.0;
    let y = legend::titles(canvas, &figure.title, &figure.subtitle, width);
    let mut entries: Vec<Entry<(usize, bool)>> = Vec::new();
    for series in figure
        .rows
        .iter()
        .flat_map(|r| &r.panels)
        .flat_map(|p| &p.series)
    {
        if !series.name.is_empty() && !entries.iter().any(|entry| entry.name == series.name) {
            entries.push(Entry {
                name: series.name.clone(),
                look: (series.color, series.dashed),
            });
        }
    }
    let sample = |canvas: &mut Canvas, (x, y): (f64, f64), look: &(usize, bool)| {
        let stroke = Stroke {
            color: palette::color(look.0),
            width: 2.6,
            dashes: palette::dashes(look.0, look.1),
        };
        canvas.line((x, y), (x + SAMPLE, y), stroke);
    };
    legend::legend(canvas, &entries, (y, width), (SAMPLE, sample)) + 18.0
}

/// Names of the rows, all horizontal or all turned.
struct RowLabels {
    texts: Vec<String>,
    turned: bool,
    room: f64,
}

impl RowLabels {
    fn new(figure: &Figure, plot_height: f64) -> Self {
        let style = TextStyle::new(ROW_LABEL, INK).bold();
        let labels = || figure.rows.iter().map(|row| &row.label);
        let widest = style.widest(labels());
        let turned = widest > WIDEST_ROW_LABEL;
        let allowed = if turned { plot_height } else { f64::INFINITY };
        let texts = labels().map(|label| style.fit(label, allowed)).collect();
        let room = if turned {
            ROW_LABEL + 14.0
        } else if widest > 0.0 {
            widest + 16.0
        } else {
            0.0
        };
        RowLabels {
            texts,
            turned,
            room,
        }
    }

    fn draw(&self, canvas: &mut Canvas, row: usize, middle: f64) {
        let Some(text) = self.texts.get(row) else {
            return;
        };
        let style = TextStyle::new(ROW_LABEL, INK).bold();
        if self.turned {
            let style = style.centered().upwards();
            canvas.text(MARGIN + 0.8 * ROW_LABEL, middle, text, style);
        } else {
            canvas.text(MARGIN, middle + 0.35 * ROW_LABEL, text, style);
        }
    }
}
