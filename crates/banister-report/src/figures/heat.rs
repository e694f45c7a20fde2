//! Heat maps: one value per pair of settings, as data and drawn.

use super::axes::{Axis, TICK_SIZE, compact, drawable, far_apart, minus, significant};
use super::canvas::{Canvas, Draw, Rect, Stroke};
use super::legend::{self, MARGIN};
use super::palette::{self, AXIS, INK, QUIET};
use super::text::TextStyle;

/// Values over the same two swept fields, one panel per agent, with one colour scale for all.
///
/// Dark is high. The scale is logarithmic where the values call for it. Each cell has its value
/// written in it; a value that is not finite is hatched.
///
/// ```
/// use banister_report::{HeatMap, HeatPanel, svg};
///
/// let map = HeatMap {
///     title: "Regret over threshold and gap".into(),
///     x_label: "threshold".into(),
///     y_label: "gap".into(),
///     value_label: "mean final regret".into(),
///     x: vec!["0.2".into(), "0.5".into()],
///     y: vec!["0.1".into()],
///     panels: vec![HeatPanel { title: "opb".into(), values: vec![vec![120.0, f64::NAN]] }],
///     ..HeatMap::default()
/// };
/// let drawing = svg::render(&map);
/// assert!(drawing.contains(">120</text>") && drawing.contains(">–</text>"));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HeatMap {
    /// Headline.
    pub title: String,
    /// Meaning of the cells: means, runs.
    pub subtitle: String,
    /// Name of the field that varies from left to right.
    pub x_label: String,
    /// Name of the field that varies from bottom to top.
    pub y_label: String,
    /// Values of the first field, from left to right.
    pub x: Vec<String>,
    /// Values of the second field, from bottom to top.
    pub y: Vec<String>,
    /// Panels from left to right, as many in a row as fit.
    pub panels: Vec<HeatPanel>,
    /// Name of the values, at the colour bar.
    pub value_label: String,
}

/// Cells of one agent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HeatPanel {
    /// Text above, the agent's name.
    pub title: String,
    /// Rows of values: one per entry of the map's `y`, each with one per entry of its `x`. Absent
    /// and infinite ones show as missing.
    pub values: Vec<Vec<f64>>,
}

/// A row of panels is not wider than this, if one fits at all.
const PAGE: f64 = 1150.0;
const VALUE: f64 = 11.5;
const CELL_HEIGHT: f64 = 34.0;
const GAP: f64 = 1.5;
/// Names of settings wider than this are cut.
const WIDEST: f64 = 110.0;
const BAR: (f64, f64) = (280.0, 12.0);
const MISSING: &str = "#F3F3F3";

impl Draw for HeatMap {
    fn svg(&self) -> String {
        render(self)
    }
}

/// Draws title, colour bar, then the panels.
fn render(map: &HeatMap) -> String {
    let colors = Colors::new(map);
    let tick = TextStyle::new(TICK_SIZE, QUIET);
    let values = map.panels.iter().flat_map(|panel| &panel.values).flatten();
    let value_width = TextStyle::new(VALUE, INK).widest(values.map(|v| value_text(*v)));
    let name_width = tick.widest(map.x.iter().map(|name| cut(name)));
    let cell = (value_width.max(name_width) + 16.0).max(56.0);
    let size = (
        cell * map.x.len().max(1) as f64,
        CELL_HEIGHT * map.y.len().max(1) as f64,
    );
    let named = if map.y_label.is_empty() { 0.0 } else { 20.0 };
    let left = tick.widest(map.y.iter().map(|name| cut(name))) + 10.0 + named;
    // Panels stand as far apart as their titles need, so that none is cut unless it fills the page.
    let title = legend::panel_title();
    let titles = title.widest(map.panels.iter().map(|panel| &panel.title));
    let step = size.0.max(titles.min(PAGE - left)) + 26.0;
    let fitting = ((PAGE - left) / step) as usize;
    let columns = fitting.max(1).min(map.panels.len().max(1));
    let width = (2.0 * MARGIN + left + columns as f64 * step - 26.0).max(480.0);

    let mut canvas = Canvas::default();
    let y = legend::titles(&mut canvas, &map.title, &map.subtitle, width);
    let mut y = colors.draw_bar(&mut canvas, map, y);
    for row in map.panels.chunks(columns) {
        y += 30.0;
        for (column, panel) in row.iter().enumerate() {
            let x = MARGIN + left + column as f64 * step;
            let frame = Rect::new((x, y), size);
            let text = title.fit(&panel.title, step - 10.0);
            canvas.text(x, y - 9.0, &text, title);
            draw_panel(&mut canvas, map, panel, &colors, frame);
            if column == 0 {
                draw_rows(&mut canvas, map, frame, left);
            }
        }
        y += size.1 + 40.0;
    }
    canvas.document((width, y + 0.5 * MARGIN), &map.title, &map.subtitle)
}

/// Draws the names of the second field's values, and its own.
fn draw_rows(canvas: &mut Canvas, map: &HeatMap, frame: Rect, left: f64) {
    let text = TextStyle::new(TICK_SIZE, QUIET);
    for (row, name) in map.y.iter().enumerate() {
        let middle = frame.bottom - (row as f64 + 0.5) * CELL_HEIGHT;
        let at = (frame.left - 8.0, middle + 4.0);
        canvas.text(at.0, at.1, &cut(name), text.right_aligned());
    }
    let name = text.fit(&map.y_label, frame.height() + 24.0);
    let at = (frame.left - left + 11.0, frame.center().1);
    canvas.text(at.0, at.1, &name, text.centered().upwards());
}

fn draw_panel(canvas: &mut Canvas, map: &HeatMap, panel: &HeatPanel, colors: &Colors, frame: Rect) {
    let width = frame.width() / map.x.len().max(1) as f64;
    for (row, y_name) in map.y.iter().enumerate() {
        for (column, x_name) in map.x.iter().enumerate() {
            let value = panel.values.get(row).and_then(|values| values.get(column));
            let value = value.copied().unwrap_or(f64::NAN);
            let left = frame.left + column as f64 * width + 0.5 * GAP;
            let top = frame.bottom - (row + 1) as f64 * CELL_HEIGHT + 0.5 * GAP;
            let place = Rect::new((left, top), (width - GAP, CELL_HEIGHT - GAP));
            let said = if drawable(value, false) {
                minus(significant(value, 4))
            } else {
                "not known".to_owned()
            };
            let tip = format!(
                "{}; {}: {x_name}; {}: {y_name}; {}: {said}",
                panel.title, map.x_label, map.y_label, map.value_label
            );
            canvas.group("cell", &tip, |canvas| {
                draw_cell(canvas, value, colors, place);
            });
        }
    }
    let text = TextStyle::new(TICK_SIZE, QUIET).centered();
    for (column, name) in map.x.iter().enumerate() {
        let middle = frame.left + (column as f64 + 0.5) * width;
        canvas.text(middle, frame.bottom + 15.0, &cut(name), text);
    }
    canvas.text(frame.center().0, frame.bottom + 32.0, &map.x_label, text);
}

fn draw_cell(canvas: &mut Canvas, value: f64, colors: &Colors, place: Rect) {
    let (x, y) = place.center();
    let y = y + 0.36 * VALUE;
    let style = |color| TextStyle::new(VALUE, color).centered().classed("value");
    if drawable(value, false) {
        let fill = palette::ramp(colors.share(value));
        canvas.rect(place, &palette::hex(fill));
        return canvas.text(x, y, &value_text(value), style(palette::text_on(fill)));
    }
    canvas.rect(place, MISSING);
    let stroke = Stroke::solid("#CFCFCF", 1.0);
    // Hatching by lines: a pattern would need an identifier, and a page holds several drawings.
    let (width, height) = (place.width(), place.height());
    let mut along = 8.0;
    while along < width + height {
        let from = (along.min(width), (along - width).max(0.0));
        let to = ((along - height).max(0.0), along.min(height));
        let at = |(x, y): (f64, f64)| (place.left + x, place.top + y);
        canvas.line(at(from), at(to), stroke);
        along += 8.0;
    }
    canvas.text(x, y, &value_text(value), style(INK).haloed());
}

/// Writes a cell's value.
fn value_text(value: f64) -> String {
    if drawable(value, false) {
        minus(compact(value, 3))
    } else {
        "–".to_owned()
    }
}

fn cut(name: &str) -> String {
    TextStyle::new(TICK_SIZE, QUIET).fit(name, WIDEST)
}

/// Colour scale of all panels.
struct Colors {
    axis: Axis,
    /// Least and largest value; the ramp runs between them.
    ends: Option<(f64, f64)>,
}

impl Colors {
    fn new(map: &HeatMap) -> Self {
        let values = map.panels.iter().flat_map(|panel| &panel.values).flatten();
        let values = values.copied().filter(|value| drawable(*value, false));
        let values: Vec<f64> = values.collect();
        let least = values.iter().copied().reduce(f64::min);
        let most = values.iter().copied().reduce(f64::max);
        Colors {
            axis: match (far_apart(&values), least) {
                (true, Some(least)) if least <= 0.0 => {
                    Axis::around_zero(&values, [].into_iter(), 0.0)
                }
                (log, _) => Axis::over(values, log),
            },
            ends: least.zip(most),
        }
    }

    /// Places a value on the ramp.
    fn share(&self, value: f64) -> f64 {
        let Some((least, most)) = self.ends else {
            return 0.0;
        };
        let (low, high) = (self.axis.place(least), self.axis.place(most));
        if high > low {
            (self.axis.place(value) - low) / (high - low)
        } else {
            0.5
        }
    }

    /// Draws the colour bar below `top`, with ticks; returns the height below it.
    fn draw_bar(&self, canvas: &mut Canvas, map: &HeatMap, top: f64) -> f64 {
        const STEPS: usize = 70;
        let Some((least, most)) = self.ends else {
            return top;
        };
        let label = TextStyle::new(12.0, INK);
        let left = MARGIN + label.width(&map.value_label) + 14.0;
        canvas.text(MARGIN, top + 14.0, &map.value_label, label);
        let top = top + 4.0;
        let step = BAR.0 / STEPS as f64;
        for k in 0..STEPS {
            let x = left + k as f64 * step;
            let frame = Rect {
                left: x,
                top,
                // Under the next one, so that no seam shows.
                right: (x + step + 0.5).min(left + BAR.0),
                bottom: top + BAR.1,
            };
            let share = (k as f64 + 0.5) / STEPS as f64;
            canvas.rect(frame, &palette::hex(palette::ramp(share)));
        }
        let stroke = Stroke::solid(AXIS, 1.0);
        let text = TextStyle::new(TICK_SIZE, QUIET).centered();
        let inside = |value: &f64| (least..=most).contains(value);
        let ticks = self.axis.ticks(8).into_iter();
        for (value, label) in ticks.filter(|tick| inside(&tick.0)) {
            let x = left + self.share(value) * BAR.0;
            canvas.line((x, top + BAR.1), (x, top + BAR.1 + 4.0), stroke);
            canvas.text(x, top + BAR.1 + 16.0, &label, text);
        }
        top + BAR.1 + 20.0
    }
}
