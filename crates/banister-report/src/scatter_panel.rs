//! One panel of a scatter: its axes, and a place for every name.

use crate::axis::{minus, significant};
use crate::callouts::{self, Around, Callout, Segment};
use crate::canvas::{Anchor, Canvas, Stroke, TextStyle};
use crate::font::{self, Weight};
use crate::labels::{self, Frame, Request};
use crate::palette;
use crate::panel::{AXIS, FAINT, INK, LABEL_SIZE, QUIET, TICK_SIZE};
use crate::scale::Scale;
use crate::scatter::{Scatter, ScatterPanel, ScatterPoint};
use crate::scatter_svg::{WANTED, group_color, heights};
use crate::shares::{BREAK, FAN, INDENT, INSET, Shares, WIDEST, name_of};

const MARKER: f64 = 4.6;
const LINE: f64 = LABEL_SIZE + 2.0;

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

impl Named<'_> {
    fn marker(&self) -> Frame {
        let (x, y) = self.at;
        Frame {
            left: x,
            top: y,
            right: x,
            bottom: y,
        }
        .grown(MARKER + 1.0)
    }
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
            ticks: match panel.points.iter().any(ScatterPoint::is_drawable) {
                true => scale.ticks(26.0 / size.1),
                false => Vec::new(),
            },
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
        laid.name_lists(plot);
        laid.name_zero(&scatter.zero_label, plot);
        laid.name_others(plot);
        laid
    }

    fn height(&self, y: f64, plot: Frame) -> f64 {
        plot.bottom - self.scale.place(y) * (plot.bottom - plot.top)
    }

    /// The names at either end stand in a list beside the markers: those that never violate, and
    /// those that mostly do.
    fn name_lists(&mut self, plot: Frame) {
        let half = 0.5 * LINE;
        let end = self.shares.left(plot) + self.shares.lengths.0;
        for (left, at_end) in [(plot.left + INDENT, false), (end, true)] {
            let shares = self.shares;
            let wanted = |named: &&mut Named<'_>| match at_end {
                true => shares.lists(named.point.x),
                false => named.point.x == 0.0,
            };
            let mut list: Vec<_> = self.named.iter_mut().filter(wanted).collect();
            let heights: Vec<f64> = list.iter().map(|named| named.at.1).collect();
            let middles = labels::spread(&heights, LINE, plot.top + half, plot.bottom - half);
            for (named, middle) in list.iter_mut().zip(middles) {
                named.frame = Frame {
                    left: left + FAN,
                    top: middle - half,
                    right: left + FAN + named.frame.right,
                    bottom: middle + half,
                };
                let from = (named.at.0 + MARKER + 2.0, named.at.1);
                named.leader = Some((from, (left + FAN - 3.0, middle)));
            }
        }
    }

    /// The words at the line through zero, where they cover the fewest marks.
    fn name_zero(&mut self, label: &str, plot: Frame) {
        let width = TextStyle::new(LABEL_SIZE, QUIET).width(label);
        let left = match self.shares.decades {
            Some(_) => plot.left + self.shares.column + BREAK,
            None => plot.left + INDENT + FAN + WIDEST,
        };
        if label.is_empty() || self.named.is_empty() || width > self.shares.end(plot) - 4.0 - left {
            return;
        }
        let area = Frame {
            left,
            right: self.shares.end(plot) - 4.0,
            ..plot
        };
        let mut marks: Vec<Vec<(f64, f64)>> = Vec::new();
        for named in &self.named {
            let (x, y) = named.at;
            let mark = vec![(x - 7.0, y - 7.0), (x + 7.0, y + 7.0)];
            // As bad as several whiskers.
            marks.extend(std::iter::repeat_n(mark, 8));
        }
        for (a, b) in self.whiskers(plot) {
            marks.extend(std::iter::repeat_n(vec![a, b], 3));
        }
        let request = Request {
            y: self.height(0.0, plot),
            width,
            height: LINE,
        };
        self.zero = labels::place(&[request], area, &marks).pop();
    }

    fn name_others(&mut self, plot: Frame) {
        let others: Vec<usize> = (0..self.named.len())
            .filter(|i| {
                let share = self.named[*i].point.x;
                share > 0.0 && !self.shares.lists(share)
            })
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
        let listed = self.named.iter().filter(|n| self.shares.lists(n.point.x));
        taken.extend(listed.flat_map(|n| [n.frame, n.marker()]));
        // The column is a list of its own; no other name may stand in it.
        taken.push(Frame {
            right: plot.left + self.shares.column,
            ..plot
        });
        let leaders = self.named.iter().filter_map(|named| named.leader);
        let segments: Vec<Segment> = self.whiskers(plot).chain(leaders).collect();
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
        let across = named.point.x_ends().map(|(low, high)| {
            // None is no place on this axis: what reaches down to it starts at the edge, and in the
            // column there are only names.
            let low = match low > 0.0 && named.point.x > 0.0 {
                true => self.shares.place(low, plot),
                false => self.shares.left(plot) - INSET,
            };
            ((low, y), (self.shares.place(high, plot), y))
        });
        let up = named
            .point
            .y_ends()
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

    /// The room that tick texts take at the left of the plot.
    pub(crate) fn left_room(&self) -> f64 {
        let style = TextStyle::new(TICK_SIZE, QUIET);
        let widths = self.ticks.iter().map(|tick| style.width(&tick.1));
        widths.fold(0.0, f64::max) + 10.0
    }

    pub(crate) fn draw(&self, canvas: &mut Canvas, scatter: &Scatter, plot: Frame) {
        self.draw_axes(canvas, plot);
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
            let mut style = TextStyle::new(LABEL_SIZE, QUIET);
            if self.shares.decades.is_some() {
                style = style.haloed();
            }
            canvas.text(x, y, &scatter.zero_label, style);
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
                let mut style =
                    TextStyle::new(LABEL_SIZE, palette::text_color(color)).classed("label");
                // In the column nothing lies behind the names, and white would show on its green.
                if named.point.x > 0.0 {
                    style = style.haloed();
                }
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

    fn draw_axes(&self, canvas: &mut Canvas, plot: Frame) {
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
            parts.push((column.right + BREAK, self.shares.end(plot)));
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
        let center = 0.5 * (plot.left + self.shares.end(plot));
        let width = plot.right - plot.left + 20.0;
        let name = font::fit(&self.panel.x_label, TICK_SIZE, Weight::Regular, width);
        canvas.text(center, plot.bottom + 33.0, &name, middle);
    }

    fn tip(&self, point: &ScatterPoint, scatter: &Scatter) -> String {
        let group = scatter.groups.get(point.group).map_or("", String::as_str);
        let percent = |x: f64| format!("{}%", minus(significant(100.0 * x, 3)));
        let plain = |y: f64| minus(significant(y, 4));
        let value = |value: f64, ends, text: &dyn Fn(f64) -> String| match ends {
            Some((low, high)) => format!("{} ({} to {})", text(value), text(low), text(high)),
            None => text(value),
        };
        format!(
            "{} ({group}); {}: {}; {}: {}",
            point.label,
            self.panel.x_label,
            value(point.x, point.x_ends(), &percent),
            self.panel.y_label,
            value(point.y, point.y_ends(), &plain),
        )
    }
}
