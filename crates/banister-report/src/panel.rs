//! One panel on a canvas: grid, axes, bands, curves, reference lines and their labels.

use crate::axis::{self, Axis};
use crate::canvas::{Anchor, Canvas, Stroke, TextStyle};
use crate::figure::{LineKind, Panel, Point, thin};
use crate::font::{self, Weight};
use crate::labels::{self, Frame, Request};
use crate::palette;

/// A curve needs no more points than the plot has pixels, twice over.
pub(crate) const MOST_POINTS: usize = 600;

pub(crate) const TICK_SIZE: f64 = 11.0;
pub(crate) const LABEL_SIZE: f64 = 11.0;
/// Between the baselines of two labels at the ends of curves.
const END_GAP: f64 = LABEL_SIZE + 2.0;
const WIDEST_NAME: f64 = 130.0;
pub(crate) const FAINT: &str = "#E6E6E6";
pub(crate) const AXIS: &str = "#8A8A8A";
pub(crate) const QUIET: &str = "#555555";
pub(crate) const INK: &str = "#1A1A1A";

/// A panel's data, thinned, with its axes and tick texts: all that the layout must know.
pub(crate) struct Prepared<'a> {
    pub panel: &'a Panel,
    curves: Vec<Vec<Point>>,
    x: Axis,
    y: Axis,
    x_ticks: Vec<(f64, String)>,
    y_ticks: Vec<(f64, String)>,
    /// Per series with a label at its end: its index, the height in data units, the text.
    ends: Vec<(usize, f64, String)>,
}

impl<'a> Prepared<'a> {
    pub(crate) fn new(panel: &'a Panel, plot: (f64, f64)) -> Self {
        let curves: Vec<Vec<Point>> = panel
            .series
            .iter()
            .map(|series| thin(series.points_on(panel), MOST_POINTS))
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

    /// Nothing to draw: the place stays empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.panel.series.is_empty() && self.panel.lines.is_empty()
    }

    /// The room that tick texts and the axis' name take at the left of the plot.
    pub(crate) fn left_room(&self) -> f64 {
        let style = TextStyle::new(TICK_SIZE, QUIET);
        let widest = self
            .y_ticks
            .iter()
            .map(|tick| style.width(&tick.1))
            .fold(0.0, f64::max);
        widest
            + 8.0
            + if self.panel.y_label.is_empty() {
                0.0
            } else {
                18.0
            }
    }

    /// The room that the end values take at the right of the plot.
    pub(crate) fn right_room(&self) -> f64 {
        let mut style = TextStyle::new(LABEL_SIZE, INK);
        if !self.panel.name_ends {
            style = style.bold();
        }
        let widest = self
            .ends
            .iter()
            .map(|end| style.width(&end.2))
            .fold(0.0, f64::max);
        // The last tick's text is centred on the plot's edge.
        (widest + self.end_indent() + 1.0).max(14.0)
    }

    /// Draws the panel with its plot area in the frame.
    pub(crate) fn draw(&self, canvas: &mut Canvas, plot: Frame, x_label: bool) {
        let to_x = |v: f64| plot.left + self.x.place(v) * (plot.right - plot.left);
        let to_y = |v: f64| plot.bottom - self.y.place(v) * (plot.bottom - plot.top);
        self.draw_axes(canvas, plot, x_label, to_x, to_y);

        let curves: Vec<Vec<(f64, f64)>> = self
            .curves
            .iter()
            .map(|curve| curve.iter().map(|p| (to_x(p.x), to_y(p.y))).collect())
            .collect();
        // Many bands on top of each other would hide the curves.
        let opacity = match self.panel.series.len() > palette::LENGTH {
            true => 0.1,
            false => 0.2,
        };
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
                let dashes = palette::dashes(series.color, series.dashed);
                canvas.polyline(
                    curve,
                    Stroke {
                        color,
                        width: 1.8,
                        dashes,
                    },
                );
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
        plot: Frame,
        x_label: bool,
        to_x: impl Fn(f64) -> f64,
        to_y: impl Fn(f64) -> f64,
    ) {
        let thin = |color| Stroke {
            color,
            width: 1.0,
            dashes: "",
        };
        let text = TextStyle::new(TICK_SIZE, QUIET);
        for (value, label) in &self.y_ticks {
            let y = to_y(*value);
            canvas.line((plot.left, y), (plot.right, y), thin(FAINT));
            canvas.text(plot.left - 7.0, y + 4.0, label, text.anchored(Anchor::End));
        }
        canvas.line(
            (plot.left, plot.bottom),
            (plot.right, plot.bottom),
            thin(AXIS),
        );
        for (value, label) in &self.x_ticks {
            let x = to_x(*value);
            canvas.line((x, plot.bottom), (x, plot.bottom + 4.0), thin(AXIS));
            canvas.text(x, plot.bottom + 16.0, label, text.anchored(Anchor::Middle));
        }
        if x_label {
            let middle = 0.5 * (plot.left + plot.right);
            let style = text.anchored(Anchor::Middle);
            canvas.text(middle, plot.bottom + 32.0, &self.panel.x_label, style);
        }
        let x = plot.left - self.left_room() + 10.0;
        let middle = 0.5 * (plot.top + plot.bottom);
        let style = text.anchored(Anchor::Middle).upwards();
        canvas.text(x, middle, &self.panel.y_label, style);
    }

    fn draw_lines(
        &self,
        canvas: &mut Canvas,
        plot: Frame,
        curves: &[Vec<(f64, f64)>],
        to_y: impl Fn(f64) -> f64,
    ) {
        let usable = |y: f64| axis::drawable(y, self.panel.y_log);
        let lines: Vec<_> = self
            .panel
            .lines
            .iter()
            .filter(|line| usable(line.y))
            .collect();
        let mut requests = Vec::new();
        for line in &lines {
            let y = to_y(line.y);
            let stroke = match line.kind {
                LineKind::Threshold => Stroke {
                    color: palette::THRESHOLD,
                    width: 1.4,
                    dashes: "7 4",
                },
                LineKind::Optimum => Stroke {
                    color: palette::OPTIMUM,
                    width: 1.4,
                    dashes: "1.5 3",
                },
            };
            canvas.line((plot.left, y), (plot.right, y), stroke);
            let width = TextStyle::new(LABEL_SIZE, INK).width(&line.label);
            requests.push(Request {
                y,
                width,
                height: LABEL_SIZE,
            });
        }
        let frames = labels::place(&requests, plot, curves);
        for (line, frame) in lines.iter().zip(frames) {
            let color = match line.kind {
                LineKind::Threshold => palette::THRESHOLD,
                LineKind::Optimum => palette::OPTIMUM,
            };
            // The baseline lies a fifth of the size above the frame's lower edge.
            let y = frame.bottom - 0.2 * LABEL_SIZE;
            canvas.text(
                frame.left,
                y,
                &line.label,
                TextStyle::new(LABEL_SIZE, color).haloed(),
            );
        }
    }

    fn draw_ends(&self, canvas: &mut Canvas, plot: Frame, to_y: impl Fn(f64) -> f64) {
        let wanted: Vec<f64> = self.ends.iter().map(|end| to_y(end.1)).collect();
        let heights = labels::spread(&wanted, END_GAP, plot.top, plot.bottom);
        let indent = self.end_indent();
        for (((series, _, text), y), from) in self.ends.iter().zip(heights).zip(wanted) {
            let index = self.panel.series.get(*series).map_or(0, |s| s.color);
            let x = plot.right + indent;
            if self.panel.name_ends {
                let stroke = Stroke {
                    color: palette::color(index),
                    width: 0.8,
                    dashes: "",
                };
                canvas.line((plot.right + 2.0, from), (x - 3.0, y), stroke);
            }
            let mut style = TextStyle::new(LABEL_SIZE, palette::text_color(index)).classed("end");
            if !self.panel.name_ends {
                style = style.bold();
            }
            canvas.text(x, y + 4.0, text, style);
        }
    }

    /// Where the end labels start, right of the plot: names have leader lines.
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

/// A label for each curve that reaches the right end: its last value, or its name.
fn end_labels(panel: &Panel, curves: &[Vec<Point>], x: &Axis) -> Vec<(usize, f64, String)> {
    let mut ends = Vec::new();
    for (index, (series, curve)) in panel.series.iter().zip(curves).enumerate() {
        if let Some(last) = curve.last()
            && x.place(last.x) > 0.98
        {
            let text = if panel.name_ends {
                font::fit(&series.name, LABEL_SIZE, Weight::Regular, WIDEST_NAME)
            } else {
                axis::compact(last.y, 3)
            };
            ends.push((index, last.y, text));
        }
    }
    ends
}

/// The height that a plot needs so that the names at its right end do not overlap.
pub(crate) fn least_height(panel: &Panel) -> f64 {
    if panel.name_ends {
        END_GAP * panel.series.len() as f64
    } else {
        0.0
    }
}
