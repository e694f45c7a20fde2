//! Dot plots: regret and violation of every agent on every instance, as data and drawn.
//!
//! Agents are rows, so that each is named once and no two names meet. In a scatter of regret against
//! violation the agents crowd at both ends, none and all, and their names find no place there.

use super::axes::{self, Axis, Scale, TICK_SIZE, compact, drawable, minus, significant};
use super::canvas::{Canvas, Draw, Rect, Stroke};
use super::legend::{self, MARGIN};
use super::palette::{self, AXIS, FAINT, INK, QUIET};
use super::text::TextStyle;

/// A row per agent and a panel per instance: a dot for the regret, a bar for the share of rounds that
/// violated.
///
/// The agents stand in groups, each with its heading, colour and marker, and within a group by regret, the
/// least first. All panels have the same axis: logarithmic on either side of zero where the regrets call for
/// it. Numbers stand at their marks.
///
/// ```
/// use banister_report::{Dot, DotPanel, DotPlot, svg};
///
/// let dot = |label: &str, group, value, share| Dot { label: label.into(), group, value, share, ..Dot::default() };
/// let plot = DotPlot {
///     title: "The price of safety".into(),
///     groups: vec!["safe in every round".into(), "unsafe".into()],
///     value_label: "regret".into(),
///     share_label: "violated".into(),
///     panels: vec![DotPanel {
///         title: "τ = 0.5".into(),
///         dots: vec![dot("opb", 0, 120.0, 0.0), dot("ucb1", 1, -4000.0, 0.9)],
///     }],
///     ..DotPlot::default()
/// };
/// let drawing = svg::render(&plot);
/// assert!(drawing.contains(">ucb1</text>") && drawing.contains(">90%</text>"));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DotPlot {
    /// Headline.
    pub title: String,
    /// Meaning of the marks: dots, whiskers, bars.
    pub subtitle: String,
    /// Headings of the groups, the safest first; four of them have their own marker.
    pub groups: Vec<String>,
    /// Name of the horizontal axis.
    pub value_label: String,
    /// Name of the bars.
    pub share_label: String,
    /// Panels from left to right, as many in a row as fit.
    pub panels: Vec<DotPanel>,
}

/// Agents on one instance.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DotPanel {
    /// Text above, the instance's name.
    pub title: String,
    /// Agents in any order; one that is absent leaves its row empty, or has none where no panel beside this has it.
    pub dots: Vec<Dot>,
}

/// One agent on one instance. Numbers that are not finite show as unknown.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Dot {
    /// Name of the row, once per group.
    pub label: String,
    /// Index into the groups.
    pub group: usize,
    /// Place on the axis, of either sign.
    pub value: f64,
    /// Ends of the whisker.
    pub interval: Option<(f64, f64)>,
    /// Length of the bar, from 0 to 1.
    pub share: f64,
    /// Interval of the share, for the tooltip.
    pub share_interval: Option<(f64, f64)>,
}

impl Dot {
    fn whisker(&self) -> Option<(f64, f64)> {
        self.interval
            .filter(|(low, high)| drawable(*low, false) && drawable(*high, false))
    }
}

/// A row of panels is not wider than this, if one fits at all.
const PAGE: f64 = 1200.0;
const ROW: f64 = 20.0;
const HEADING: f64 = 25.0;
const NAME: f64 = 12.0;
const VALUE: f64 = 10.0;
const WIDEST_NAME: f64 = 210.0;
const MARKER: f64 = 4.8;
const BAR: f64 = 50.0;
/// Between the axis and its bars, and between two panels.
const BESIDE: f64 = 12.0;
const BETWEEN: f64 = 18.0;
/// Least and largest width of an axis.
const WIDTHS: (f64, f64) = (100.0, 320.0);
/// Cells without any violation, the track of the other bars, and their filling.
const NONE: &str = "#DDF1E6";
const TRACK: &str = "#F4F4F4";
const FILLED: &str = "#F3B9A4";

impl Draw for DotPlot {
    fn svg(&self) -> String {
        let dots = || self.panels.iter().flat_map(|panel| &panel.dots);
        let values: Vec<f64> = dots().map(|dot| dot.value).collect();
        let ends = dots().filter_map(Dot::whisker);
        let axis = Axis::around_zero(&values, ends.flat_map(|(a, b)| [a, b]), 0.06);
        let rows = self.rows(&axis);
        let name = TextStyle::new(NAME, INK);
        let headings = self.groups.iter().zip(&rows);
        let headings = headings.filter(|(_, names)| !names.is_empty());
        let names = name
            .widest(rows.iter().flatten().map(|row| cut(row)))
            .max(name.bold().widest(headings.map(|(heading, _)| heading)))
            + 29.0;

        let count = self.panels.len().max(1);
        let room = PAGE - 2.0 * MARGIN - names + BETWEEN;
        let beside = BESIDE + BAR + BETWEEN;
        let fitting = ((room / (WIDTHS.0 + beside)) as usize).clamp(1, count);
        // As many in the last row as in the others, or nearly so.
        let columns = count.div_ceil(count.div_ceil(fitting));
        let plot = (room / columns as f64 - beside).clamp(WIDTHS.0, WIDTHS.1);
        let step = plot + beside;
        let width = (2.0 * MARGIN + names + columns as f64 * step - BETWEEN).max(480.0);

        let mut canvas = Canvas::default();
        let mut y = legend::titles(&mut canvas, &self.title, &self.subtitle, width);
        for panels in self.panels.chunks(columns) {
            y += 22.0;
            let rows = playing(&rows, panels);
            let filled = rows.iter().filter(|group| !group.is_empty()).count();
            let lines = rows.iter().map(Vec::len).sum::<usize>();
            let height = HEADING * filled as f64 + ROW * lines as f64 + 4.0;
            let right = MARGIN + names + panels.len() as f64 * step - BETWEEN;
            self.draw_names(&mut canvas, &rows, (y, right));
            for (column, panel) in panels.iter().enumerate() {
                let left = MARGIN + names + column as f64 * step;
                let frame = Rect::new((left, y), (plot, height));
                let style = legend::panel_title();
                let title = style.fit(&panel.title, plot + BESIDE + BAR);
                canvas.text(left, y - 8.0, &title, style);
                self.draw_panel(&mut canvas, panel, &rows, &axis, frame);
            }
            y += height + 48.0;
        }
        canvas.document((width, y + 0.25 * MARGIN), &self.title, &self.subtitle)
    }
}

impl DotPlot {
    /// Names of each group's agents, the least regret first.
    fn rows(&self, axis: &Axis) -> Vec<Vec<&str>> {
        let dots = || self.panels.iter().flat_map(|panel| &panel.dots);
        let groups = dots().map(|dot| dot.group + 1).max().unwrap_or(0);
        let mut rows: Vec<Vec<&str>> = vec![Vec::new(); groups];
        for dot in dots() {
            if !rows[dot.group].contains(&dot.label.as_str()) {
                rows[dot.group].push(&dot.label);
            }
        }
        for (group, names) in rows.iter_mut().enumerate() {
            let mean = |name: &str| {
                let own = dots().filter(|dot| dot.group == group && dot.label == name);
                let known = own.filter(|dot| drawable(dot.value, false));
                let places: Vec<f64> = known.map(|dot| axis.place(dot.value)).collect();
                // An agent without any number stands last: 0 / 0 is NaN, above all numbers.
                (places.iter().sum::<f64>() / places.len() as f64).abs()
            };
            names.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
        }
        rows
    }

    /// Draws the groups' headings and the agents' names, with a line along each row.
    fn draw_names(&self, canvas: &mut Canvas, rows: &[Vec<&str>], (top, right): (f64, f64)) {
        for_each_line(rows, top, |group, name, y| {
            let color = palette::group(group);
            let Some(name) = name else {
                let heading = self.groups.get(group).map_or("", String::as_str);
                let style = TextStyle::new(NAME, palette::text_color(color)).bold();
                let place = (MARGIN + 6.0, y);
                canvas.marker(group, place, MARKER, palette::color(color));
                return canvas.text(MARGIN + 17.0, y + 4.3, heading, style);
            };
            let stroke = Stroke::solid(FAINT, 1.0);
            canvas.line(
                (MARGIN + 17.0, y + 0.5 * ROW),
                (right, y + 0.5 * ROW),
                stroke,
            );
            let style = TextStyle::new(NAME, INK).classed("label");
            canvas.text(MARGIN + 17.0, y + 4.3, &cut(name), style);
        });
    }

    fn draw_panel(
        &self,
        canvas: &mut Canvas,
        panel: &DotPanel,
        rows: &[Vec<&str>],
        axis: &Axis,
        frame: Rect,
    ) {
        let to_x = |value: f64| frame.left + axis.place(value) * frame.width();
        let ticks = axis.ticks((frame.width() / 32.0) as usize);
        for (value, _) in &ticks {
            let color = if *value == 0.0 { AXIS } else { FAINT };
            let (x, stroke) = (to_x(*value), Stroke::solid(color, 1.0));
            canvas.line((x, frame.top), (x, frame.bottom), stroke);
        }
        let places = ticks.iter().map(|tick| (to_x(tick.0), &*tick.1));
        axes::draw_bottom(canvas, (frame.left, frame.right, frame.bottom), places);
        let small = TextStyle::new(TICK_SIZE, QUIET).centered();
        let bars = frame.right + BESIDE;
        let below = frame.bottom + 33.0;
        let scale = match axis.scale {
            Scale::Symmetric(_) => ", log scale",
            _ => "",
        };
        let name = format!("{}{scale}", self.value_label);
        canvas.text(frame.center().0, below, &name, small);
        canvas.text(bars + 0.5 * BAR, below, &self.share_label, small);
        for_each_line(rows, frame.top, |group, name, y| {
            let own = |dot: &&Dot| dot.group == group && Some(dot.label.as_str()) == name;
            let Some(dot) = panel.dots.iter().find(own) else {
                return;
            };
            let color = palette::color(palette::group(group));
            canvas.group("point", &self.tip(dot, panel), |canvas| {
                if let Some((low, high)) = dot.whisker() {
                    let (low, high) = ((to_x(low), y), (to_x(high), y));
                    canvas.line(low, high, Stroke::solid(color, 1.6));
                }
                if drawable(dot.value, false) {
                    let x = to_x(dot.value);
                    let (low, high) = dot.whisker().unwrap_or((dot.value, dot.value));
                    let left = to_x(low).min(x - MARKER) - 4.0;
                    let right = to_x(high).max(x + MARKER) + 4.0;
                    // Where there is room: towards the middle from the ends, outwards from zero.
                    let style = TextStyle::new(VALUE, QUIET).haloed();
                    let text = minus(compact(dot.value, 3));
                    let quarter = (4.0 * axis.place(dot.value)) as usize;
                    if quarter.is_multiple_of(2) {
                        canvas.text(right, y + 3.6, &text, style);
                    } else {
                        canvas.text(left, y + 3.6, &text, style.right_aligned());
                    }
                    canvas.marker(group, (x, y), MARKER, color);
                } else {
                    canvas.text(frame.center().0, y + 4.0, "unknown", small.haloed());
                }
                draw_bar(canvas, dot.share, Rect::new((bars, y - 8.0), (BAR, 16.0)));
            });
        });
    }

    fn tip(&self, dot: &Dot, panel: &DotPanel) -> String {
        let group = self.groups.get(dot.group).map_or("", String::as_str);
        let plain = |y: f64| minus(significant(y, 4));
        let percent = |x: f64| format!("{}%", plain(100.0 * x));
        let value = |value: f64, ends, text: &dyn Fn(f64) -> String| match ends {
            _ if !drawable(value, false) => "unknown".to_owned(),
            Some((low, high)) => format!("{} ({} to {})", text(value), text(low), text(high)),
            None => text(value),
        };
        format!(
            "{} ({group}); {}; {}: {}; {}: {}",
            dot.label,
            panel.title,
            self.value_label,
            value(dot.value, dot.interval, &plain),
            self.share_label,
            value(dot.share, dot.share_interval, &percent),
        )
    }
}

/// Draws a share as a bar with its number: green where it is none.
fn draw_bar(canvas: &mut Canvas, share: f64, frame: Rect) {
    let style = TextStyle::new(TICK_SIZE, INK);
    let text = match share {
        0.0 => "none".to_owned(),
        // Nearly all is not all.
        x if x > 0.99 && x < 1.0 => ">99%".to_owned(),
        x if drawable(x, false) => {
            let digits = if x < 1e-3 { 1 } else { 2 };
            format!("{}%", minus(significant(100.0 * x, digits)))
        }
        _ => "–".to_owned(),
    };
    canvas.rect(frame, if share == 0.0 { NONE } else { TRACK });
    if drawable(share, true) {
        let width = (share.min(1.0) * frame.width()).max(1.5);
        let filled = Rect::new((frame.left, frame.top), (width, frame.height()));
        canvas.rect(filled, FILLED);
    }
    canvas.text(frame.left + 6.0, frame.bottom - 4.0, &text, style);
}

/// Names of each group's agents that play in some of these panels.
fn playing<'a>(rows: &[Vec<&'a str>], panels: &[DotPanel]) -> Vec<Vec<&'a str>> {
    let dots = || panels.iter().flat_map(|panel| &panel.dots);
    let own = |group, name: &str| dots().any(|dot| dot.group == group && dot.label == name);
    let groups = rows.iter().enumerate();
    let filtered = groups.map(|(group, names)| {
        let names = names.iter().copied();
        names.filter(|name| own(group, name)).collect()
    });
    filtered.collect()
}

/// Visits the lines from top to bottom with their middles: each group's heading, without a name, then its
/// agents.
fn for_each_line(rows: &[Vec<&str>], top: f64, mut visit: impl FnMut(usize, Option<&str>, f64)) {
    let mut y = top;
    for (group, names) in rows.iter().enumerate().filter(|row| !row.1.is_empty()) {
        visit(group, None, y + 0.55 * HEADING);
        y += HEADING;
        for name in names {
            visit(group, Some(name), y + 0.5 * ROW);
            y += ROW;
        }
    }
}

fn cut(name: &str) -> String {
    TextStyle::new(NAME, INK).fit(name, WIDEST_NAME)
}
