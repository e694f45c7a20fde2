//! One panel of a scatter: its axes, and a place for every name.

use libm::{ceil, floor, log10};

use crate::axis::significant;
use crate::callouts::{self, Around, Callout, Segment};
use crate::canvas::{Anchor, Canvas, Stroke, TextStyle};
use crate::font::{self, Weight};
use crate::labels::{self, Frame, Request};
use crate::palette;
use crate::panel::{AXIS, FAINT, INK, LABEL_SIZE, QUIET, TICK_SIZE};
use crate::scale::{Scale, power};
use crate::scatter::{Scatter, ScatterPanel, ScatterPoint};
use crate::scatter_svg::{WANTED, group_color, heights};

const MARKER: f64 = 4.6;
/// From the column's left edge to its markers, and from those to their names.
const INDENT: f64 = 14.0;
const FAN: f64 = 26.0;
/// Between the column and the logarithmic axis, and at both ends of the latter.
const BREAK: f64 = 9.0;
const INSET: f64 = 14.0;
const LINE: f64 = LABEL_SIZE + 2.0;
const WIDEST: f64 = 130.0;

/// The horizontal axis that all panels share: a column for none, then decades.
pub(crate) struct Shares {
    column: f64,
    /// The powers of ten at both ends of the axis; absent if nobody violates.
    decades: Option<(i32, i32)>,
}

impl Shares {
    pub(crate) fn over<'a>(points: impl Iterator<Item = &'a ScatterPoint>, width: f64) -> Shares {
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        let mut widest = 0.0_f64;
        for point in points {
            if point.x == 0.0 {
                widest = widest.max(TextStyle::new(LABEL_SIZE, INK).width(&name_of(point)));
            } else {
                least = least.min(point.x);
            }
            let end = ScatterPoint::ends(point.x_interval).map_or(point.x, |ends| ends.1);
            // The upper end of a whisker from none must have a place too.
            if end > 0.0 {
                least = least.min(end);
                most = most.max(end.max(point.x));
            }
        }
        if least > most {
            return Shares {
                column: width,
                decades: None,
            };
        }
        let first = floor(log10(least) + 1e-9) as i32;
        let last = (ceil(log10(most) - 1e-9) as i32).max(0);
        let column = (INDENT + FAN + widest + 8.0).clamp(52.0, 0.6 * width);
        Shares {
            column,
            decades: Some((first.min(last - 1), last)),
        }
    }

    fn place(&self, share: f64, plot: Frame) -> f64 {
        match self.decades {
            Some((first, last)) if share > 0.0 => {
                let (left, right) = (self.left(plot), plot.right - INSET);
                let along = (log10(share) - f64::from(first)) / f64::from(last - first);
                // A whisker's lower end may lie below the axis.
                (left + along * (right - left)).max(left - INSET)
            }
            _ => plot.left + INDENT,
        }
    }

    /// Where the first decade stands.
    fn left(&self, plot: Frame) -> f64 {
        plot.left + self.column + BREAK + INSET
    }

    fn ticks(&self, plot: Frame) -> Vec<(f64, String)> {
        let Some((first, last)) = self.decades else {
            return Vec::new();
        };
        let most = ((plot.right - self.left(plot)) / 46.0).max(1.0) as usize;
        let every = ((last - first) as usize).div_ceil(most).max(1);
        let decades = (first..=last).rev().step_by(every);
        let text = |decade| format!("{}%", significant(power(decade + 2), 3));
        decades
            .map(|decade| (self.place(power(decade), plot), text(decade)))
            .collect()
    }
}

/// A panel whose names have their places, relative to the plot's upper left corner.
pub(crate) struct Laid<'a> {
    pub panel: &'a ScatterPanel,
    shares: &'a Shares,
    scale: Scale,
    ticks: Vec<(f64, String)>,
    named: Vec<Named<'a>>,
    zero: Option<Frame>,
}

struct Named<'a> {
    point: &'a ScatterPoint,
    at: (f64, f64),
    name: String,
    frame: Frame,
    leader: Option<Segment>,
}

/// A point's name, cut if it is very long; the tooltip has all of it.
fn name_of(point: &ScatterPoint) -> String {
    font::fit(&point.label, LABEL_SIZE, Weight::Regular, WIDEST)
}

impl<'a> Laid<'a> {
    pub(crate) fn new(
        scatter: &Scatter,
        panel: &'a ScatterPanel,
        shares: &'a Shares,
        symmetric: bool,
        size: (f64, f64),
    ) -> Self {
        let scale = Scale::over(&heights(&panel.points, true), symmetric, 0.06);
        let plot = Frame {
            left: 0.0,
            top: 0.0,
            right: size.0,
            bottom: size.1,
        };
        let mut laid = Laid {
            ticks: scale.ticks(26.0 / size.1),
            panel,
            shares,
            scale,
            named: Vec::new(),
            zero: None,
        };
        let text = TextStyle::new(LABEL_SIZE, INK);
        for point in panel.points.iter().filter(|point| point.is_drawable()) {
            let at = (shares.place(point.x, plot), laid.height(point.y, plot));
            let name = name_of(point);
            let frame = Frame {
                left: 0.0,
                top: 0.0,
                right: text.width(&name),
                bottom: LINE,
            };
            laid.named.push(Named {
                point,
                at,
                name,
                frame,
                leader: None,
            });
        }
        laid.name_column(plot);
        laid.name_zero(&scatter.zero_label, plot);
        laid.name_others(plot);
        laid
    }

    fn height(&self, y: f64, plot: Frame) -> f64 {
        plot.bottom - self.scale.place(y) * (plot.bottom - plot.top)
    }

    /// The names of those that never violate stand in a list beside their markers.
    fn name_column(&mut self, plot: Frame) {
        let none = |named: &&mut Named<'_>| named.point.x == 0.0;
        let mut column: Vec<_> = self.named.iter_mut().filter(none).collect();
        let wanted: Vec<f64> = column.iter().map(|named| named.at.1).collect();
        let half = 0.5 * LINE;
        let middles = labels::spread(&wanted, LINE, plot.top + half, plot.bottom - half);
        for (named, middle) in column.iter_mut().zip(middles) {
            let left = named.at.0 + FAN;
            named.frame = Frame {
                left,
                top: middle - half,
                right: left + named.frame.right,
                bottom: middle + half,
            };
            let from = (named.at.0 + MARKER + 2.0, named.at.1);
            let to = (left - 3.0, middle);
            named.leader = Some((from, to));
        }
    }

    /// The words at the line through zero, where they cover the fewest marks.
    fn name_zero(&mut self, label: &str, plot: Frame) {
        let width = TextStyle::new(LABEL_SIZE, QUIET).width(label);
        let left = match self.shares.decades {
            Some(_) => plot.left + self.shares.column + BREAK,
            None => plot.left + INDENT + FAN + WIDEST,
        };
        if label.is_empty() || self.named.is_empty() || width > plot.right - left - 4.0 {
            return;
        }
        let area = Frame {
            left,
            right: plot.right - 4.0,
            ..plot
        };
        let mut marks: Vec<Vec<(f64, f64)>> = Vec::new();
        for named in &self.named {
            let (x, y) = named.at;
            let mark = [(x - 6.0, y - 6.0), (x + 6.0, y + 6.0)];
            // As bad as several whiskers.
            marks.extend(std::iter::repeat_n(mark.to_vec(), 4));
        }
        marks.extend(self.whiskers(plot).map(|(a, b)| vec![a, b]));
        let request = Request {
            y: self.height(0.0, plot),
            width,
            height: LINE,
        };
        self.zero = labels::place(&[request], area, &marks).pop();
    }

    fn name_others(&mut self, plot: Frame) {
        let others: Vec<usize> = (0..self.named.len())
            .filter(|i| self.named[*i].point.x > 0.0)
            .collect();
        let callout = |i: &usize| {
            let named = &self.named[*i];
            Callout {
                at: named.at,
                reach: MARKER + 1.0,
                size: (named.frame.right, LINE),
            }
        };
        let callouts: Vec<Callout> = others.iter().map(callout).collect();
        let mut taken: Vec<Frame> = self.zero.into_iter().collect();
        // The column is a list of its own; no other name may stand in it.
        taken.push(Frame {
            right: plot.left + self.shares.column,
            ..plot
        });
        let segments: Vec<Segment> = self.whiskers(plot).collect();
        let around = Around {
            area: plot,
            taken: &taken,
            segments: &segments,
        };
        let frames = callouts::place(&callouts, &around);
        for ((index, frame), callout) in others.into_iter().zip(frames).zip(&callouts) {
            self.named[index].frame = frame;
            self.named[index].leader = callouts::leader(callout, &frame);
        }
    }

    fn whiskers(&self, plot: Frame) -> impl Iterator<Item = Segment> {
        self.named
            .iter()
            .flat_map(move |named| self.whiskers_of(named, plot))
    }

    fn whiskers_of(&self, named: &Named<'_>, plot: Frame) -> impl Iterator<Item = Segment> {
        let (x, y) = (
            self.shares.place(named.point.x, plot),
            self.height(named.point.y, plot),
        );
        let across = ScatterPoint::ends(named.point.x_interval).map(|(low, high)| {
            let low = match low > 0.0 || named.point.x == 0.0 {
                true => self.shares.place(low, plot),
                false => self.shares.left(plot) - INSET,
            };
            ((low, y), (self.shares.place(high, plot), y))
        });
        let up = ScatterPoint::ends(named.point.y_interval)
            .map(|(low, high)| ((x, self.height(low, plot)), (x, self.height(high, plot))));
        across.into_iter().chain(up)
    }

    /// Whether no two names overlap and all stand inside the plot's height.
    pub(crate) fn is_clear(&self) -> bool {
        let apart = |i: usize, named: &Named<'_>| {
            let frame = named.frame.grown(-0.5);
            !self.named[..i].iter().any(|o| o.frame.overlaps(&frame))
                && self.zero.is_none_or(|zero| !zero.overlaps(&frame))
        };
        self.named.iter().enumerate().all(|(i, n)| apart(i, n))
    }

    /// The room that tick texts and the axis' name take at the left of the plot.
    pub(crate) fn left_room(&self) -> f64 {
        let style = TextStyle::new(TICK_SIZE, QUIET);
        let widths = self.ticks.iter().map(|tick| style.width(&tick.1));
        widths.fold(0.0, f64::max) + 28.0
    }

    pub(crate) fn draw(&self, canvas: &mut Canvas, scatter: &Scatter, plot: Frame, first: bool) {
        self.draw_axes(canvas, plot, first);
        for named in &self.named {
            let color = palette::color(group_color(named.point.group));
            for (from, to) in self.whiskers_of(named, plot) {
                let stroke = Stroke {
                    color,
                    width: 1.1,
                    dashes: "",
                };
                canvas.line(from, to, stroke);
            }
        }
        let shift = |(x, y): (f64, f64)| (x + plot.left, y + plot.top);
        if let Some(frame) = self.zero {
            let (x, y) = shift((frame.left, frame.bottom - 3.0));
            canvas.text(
                x,
                y,
                &scatter.zero_label,
                TextStyle::new(LABEL_SIZE, QUIET).haloed(),
            );
        }
        for named in &self.named {
            let group = named.point.group;
            let color = group_color(group);
            canvas.group("point", &self.tip(named.point, scatter), |canvas| {
                if let Some((from, to)) = named.leader {
                    let stroke = Stroke {
                        color: AXIS,
                        width: 0.8,
                        dashes: "",
                    };
                    canvas.line(shift(from), shift(to), stroke);
                }
                canvas.marker(group, shift(named.at), MARKER, palette::color(color));
                let style = TextStyle::new(LABEL_SIZE, palette::text_color(color))
                    .haloed()
                    .classed("label");
                let (x, y) = shift((named.frame.left, named.frame.bottom - 3.0));
                canvas.text(x, y, &named.name, style);
            });
        }
        if self.named.is_empty() {
            let style = TextStyle::new(LABEL_SIZE, QUIET).anchored(Anchor::Middle);
            let middle = (
                0.5 * (plot.left + plot.right),
                0.5 * (plot.top + plot.bottom),
            );
            canvas.text(middle.0, middle.1, "no values", style);
        }
    }

    fn draw_axes(&self, canvas: &mut Canvas, plot: Frame, first: bool) {
        let thin = |color| Stroke {
            color,
            width: 1.0,
            dashes: "",
        };
        let text = TextStyle::new(TICK_SIZE, QUIET);
        let column = Frame {
            right: plot.left + self.shares.column,
            ..plot
        };
        canvas.rect(column, WANTED);
        let mut parts = vec![(column.left, column.right)];
        if self.shares.decades.is_some() {
            parts.push((column.right + BREAK, plot.right));
        }
        for (value, label) in &self.ticks {
            let y = self.height(*value, plot);
            let color = if *value == 0.0 { AXIS } else { FAINT };
            for (from, to) in &parts {
                canvas.line((*from, y), (*to, y), thin(color));
            }
            canvas.text(plot.left - 7.0, y + 4.0, label, text.anchored(Anchor::End));
        }
        for (from, to) in &parts {
            canvas.line((*from, plot.bottom), (*to, plot.bottom), thin(AXIS));
        }
        let below = plot.bottom + 16.0;
        let middle = text.anchored(Anchor::Middle);
        let marker = plot.left + INDENT;
        canvas.line(
            (marker, plot.bottom),
            (marker, plot.bottom + 4.0),
            thin(AXIS),
        );
        canvas.text(marker + 2.0, below, "none", middle.bold());
        for (x, label) in self.shares.ticks(plot) {
            canvas.line((x, plot.bottom), (x, plot.bottom + 4.0), thin(AXIS));
            canvas.text(x, below, &label, middle);
        }
        let center = 0.5 * (plot.left + plot.right);
        let width = plot.right - plot.left + 20.0;
        let name = font::fit(&self.panel.x_label, TICK_SIZE, Weight::Regular, width);
        canvas.text(center, plot.bottom + 33.0, &name, middle);
        if first {
            let center = 0.5 * (plot.top + plot.bottom);
            let x = plot.left - self.left_room() + 12.0;
            canvas.text(x, center, &self.panel.y_label, middle.upwards());
        }
    }

    fn tip(&self, point: &ScatterPoint, scatter: &Scatter) -> String {
        let group = scatter.groups.get(point.group).map_or("", String::as_str);
        let percent = |x: f64| format!("{}%", significant(100.0 * x, 3));
        let plain = |y: f64| significant(y, 4);
        let value =
            |value: f64, interval, text: &dyn Fn(f64) -> String| match ScatterPoint::ends(interval)
            {
                Some((low, high)) => format!("{} ({} to {})", text(value), text(low), text(high)),
                None => text(value),
            };
        format!(
            "{} ({group}); {}: {}; {}: {}",
            point.label,
            self.panel.x_label,
            value(point.x, point.x_interval, &percent),
            self.panel.y_label,
            value(point.y, point.y_interval, &plain),
        )
    }
}
