//! One panel of curves: grid, axes, bands, curves, reference lines and their labels.

use super::axes::{self, Axis, TICK_SIZE};
use super::canvas::{Canvas, Rect, Stroke};
use super::curves::{LineKind, Panel, Point};
use super::labels::{self, Request};
use super::palette::{self, FAINT, INK, QUIET};
use super::text::TextStyle;

const LABEL_SIZE: f64 = 11.0;
/// Between the baselines of two labels at the ends of curves.
const END_GAP: f64 = LABEL_SIZE + 2.0;
const WIDEST_NAME: f64 = 130.0;

/// Data of a panel, thinned, with its axes and tick texts: all that the layout must know.
pub(crate) struct Prepared<'a> {
    pub panel: &'a Panel,
    curves: Vec<Vec<Point>>,
    x: Axis,
    y: Axis,
    x_ticks: Vec<(f64, String)>,
    y_ticks: Vec<(f64, String)>,
    /// Index, height in data units and text of each series with a label at its end.
    ends: Vec<(usize, f64, String)>,
}

impl<'a> Prepared<'a> {
    pub(crate) fn new(panel: &'a Panel, plot: (f64, f64)) -> Self {
        let curves: Vec<Vec<Point>> = panel
            .series
            .iter()
            .map(|series| series.points_on(panel))
            .collect();
        let x = x_axis(panel, &curves);
        let y = y_axis(panel, &curves);
        let valued = panel.y_from_zero && !panel.y_log && panel.series.len() <= 8;
        let ends = if panel.name_ends || valued {
            end_labels(panel, &curves, &x)
        } else {
            Vec::new()
        };
        Prepared {
            x_ticks: x.ticks((plot.0 / 60.0) as usize),
            y_ticks: y.ticks((plot.1 / 36.0) as usize),
            panel,
            curves,
            x,
            y,
            ends,
        }
    }

    /// True if there is nothing to draw: the place stays empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.panel.series.is_empty() && self.panel.lines.is_empty()
    }

    /// Measures the room that tick texts and the axis' name take at the left of the plot.
    pub(crate) fn left_room(&self) -> f64 {
        let style = TextStyle::new(TICK_SIZE, QUIET);
        let widest = style.widest(self.y_ticks.iter().map(|tick| &tick.1));
        let named = !self.panel.y_label.is_empty();
        widest + 8.0 + if named { 18.0 } else { 0.0 }
    }

    /// Measures the room that the end labels take at the right of the plot.
    pub(crate) fn right_room(&self) -> f64 {
        let widest = self
            .end_style(INK)
            .widest(self.ends.iter().map(|end| &end.2));
        // The last tick's text is centred on the plot's edge.
        (widest + self.end_indent() + 1.0).max(14.0)
    }

    /// Draws the panel with its plot area in the frame.
    pub(crate) fn draw(&self, canvas: &mut Canvas, plot: Rect, x_label: bool) {
        let to_x = |v: f64| plot.left + self.x.place(v) * plot.width();
        let to_y = |v: f64| plot.bottom - self.y.place(v) * plot.height();
        self.draw_axes(canvas, plot, x_label, to_x, to_y);

        let curves: Vec<Vec<(f64, f64)>> = self
            .curves
            .iter()
            .map(|curve| curve.iter().map(|p| (to_x(p.x), to_y(p.y))).collect())
            .collect();
        // Many bands on top of each other would hide the curves.
        let crowded = self.panel.series.len() > palette::LENGTH;
        let opacity = if crowded { 0.1 } else { 0.2 };
        for (series, curve) in self.panel.series.iter().zip(&self.curves) {
            let edge = |side: fn((f64, f64)) -> f64| {
                curve.iter().filter_map(move |p| Some((p.x, side(p.band?))))
            };
            let there = edge(|band| band.1);
            let back = edge(|band| band.0).collect::<Vec<_>>().into_iter().rev();
            let outline: Vec<_> = there.chain(back).map(|(x, y)| (to_x(x), to_y(y))).collect();
            if outline.len() >= 4 {
                canvas.area(&outline, palette::color(series.color), opacity);
            }
        }
        for (series, curve) in self.panel.series.iter().zip(&curves) {
            let color = palette::color(series.color);
            if curve.len() > 1 {
                let stroke = Stroke {
                    color,
                    width: 1.8,
                    dashes: palette::dashes(series.color, series.dashed),
                };
                canvas.polyline(curve, stroke);
            }
            if series.points || curve.len() == 1 {
                for at in curve {
                    canvas.dot(*at, 3.0, color);
                }
            }
        }
        self.draw_lines(canvas, plot, &curves, to_y);
        self.draw_ends(canvas, plot, to_y);
    }

    fn draw_axes(
        &self,
        canvas: &mut Canvas,
        plot: Rect,
        x_label: bool,
        to_x: impl Fn(f64) -> f64,
        to_y: impl Fn(f64) -> f64,
    ) {
        let text = TextStyle::new(TICK_SIZE, QUIET);
        for (value, label) in &self.y_ticks {
            let y = to_y(*value);
            let grid = Stroke::solid(FAINT, 1.0);
            canvas.line((plot.left, y), (plot.right, y), grid);
            canvas.text(plot.left - 7.0, y + 4.0, label, text.right_aligned());
        }
        let ticks = self.x_ticks.iter().map(|tick| (to_x(tick.0), &*tick.1));
        axes::draw_bottom(canvas, (plot.left, plot.right, plot.bottom), ticks);
        let (x, y) = plot.center();
        let name = text.centered();
        if x_label {
            canvas.text(x, plot.bottom + 32.0, &self.panel.x_label, name);
        }
        let x = plot.left - self.left_room() + 10.0;
        canvas.text(x, y, &self.panel.y_label, name.upwards());
    }

    fn draw_lines(
        &self,
        canvas: &mut Canvas,
        plot: Rect,
        curves: &[Vec<(f64, f64)>],
        to_y: impl Fn(f64) -> f64,
    ) {
        let lines = self.panel.lines.iter();
        let mut drawn = Vec::new();
        let mut requests = Vec::new();
        for line in lines.filter(|line| axes::drawable(line.y, self.panel.y_log)) {
            let y = to_y(line.y);
            let (color, dashes) = match line.kind {
                LineKind::Threshold => (palette::THRESHOLD, "7 4"),
                LineKind::Optimum => (palette::OPTIMUM, "1.5 3"),
            };
            let stroke = Stroke {
                color,
                width: 1.4,
                dashes,
            };
            canvas.line((plot.left, y), (plot.right, y), stroke);
            let style = TextStyle::new(LABEL_SIZE, color).haloed();
            requests.push(Request {
                y,
                width: style.width(&line.label),
                height: LABEL_SIZE,
            });
            drawn.push((&line.label, style));
        }
        let frames = labels::place(&requests, plot, curves);
        for ((label, style), frame) in drawn.into_iter().zip(frames) {
            // The baseline lies a fifth of the size above the frame's lower edge.
            let y = frame.bottom - 0.2 * LABEL_SIZE;
            canvas.text(frame.left, y, label, style);
        }
    }

    fn draw_ends(&self, canvas: &mut Canvas, plot: Rect, to_y: impl Fn(f64) -> f64) {
        let wanted: Vec<f64> = self.ends.iter().map(|end| to_y(end.1)).collect();
        let heights = labels::spread(&wanted, END_GAP, plot.top, plot.bottom);
        let indent = self.end_indent();
        for (((series, _, text), y), from) in self.ends.iter().zip(heights).zip(wanted) {
            let index = self.panel.series.get(*series).map_or(0, |s| s.color);
            let x = plot.right + indent;
            if self.panel.name_ends {
                let stroke = Stroke::solid(palette::color(index), 0.8);
                canvas.line((plot.right + 2.0, from), (x - 3.0, y), stroke);
            }
            let style = self.end_style(palette::text_color(index));
            canvas.text(x, y + 4.0, text, style);
        }
    }

    /// Look of an end label: values stand out, names do not.
    fn end_style(&self, color: &'static str) -> TextStyle {
        let style = TextStyle::new(LABEL_SIZE, color).classed("end");
        TextStyle {
            bold: !self.panel.name_ends,
            ..style
        }
    }

    /// Distance of the end labels from the plot: names have leader lines.
    fn end_indent(&self) -> f64 {
        if self.panel.name_ends { 22.0 } else { 5.0 }
    }
}

fn x_axis(panel: &Panel, curves: &[Vec<Point>]) -> Axis {
    let axis = Axis::over(curves.iter().flatten().map(|p| p.x), panel.x_log);
    // Checkpoints start a little after round zero; let the axis start there.
    if axis.low < 0.1 * axis.high {
        axis.from_zero()
    } else {
        axis
    }
}

fn y_axis(panel: &Panel, curves: &[Vec<Point>]) -> Axis {
    let heights = curves.iter().flatten().flat_map(|p| {
        let (low, high) = p.band.unwrap_or((p.y, p.y));
        [p.y, low, high]
    });
    let axis = Axis::over(
        heights.chain(panel.lines.iter().map(|line| line.y)),
        panel.y_log,
    );
    let axis = if panel.y_from_zero {
        axis.from_zero()
    } else {
        axis
    };
    // Room for the label of a line at the top or the bottom.
    let room = if panel.lines.is_empty() { 0.05 } else { 0.12 };
    axis.padded(room, room)
}

/// Labels each curve that reaches the right end with its last value or its name.
fn end_labels(panel: &Panel, curves: &[Vec<Point>], x: &Axis) -> Vec<(usize, f64, String)> {
    let mut ends = Vec::new();
    for (index, (series, curve)) in panel.series.iter().zip(curves).enumerate() {
        if let Some(last) = curve.last()
            && x.place(last.x) > 0.98
        {
            let text = if panel.name_ends {
                TextStyle::new(LABEL_SIZE, INK).fit(&series.name, WIDEST_NAME)
            } else {
                axes::compact(last.y, 3)
            };
            ends.push((index, last.y, text));
        }
    }
    ends
}

/// Computes the height that a plot needs so that the names at its right end do not overlap.
pub(crate) fn least_height(panel: &Panel) -> f64 {
    if panel.name_ends {
        END_GAP * panel.series.len() as f64
    } else {
        0.0
    }
}
