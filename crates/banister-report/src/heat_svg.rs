//! A [`HeatMap`] as SVG.

use crate::axis::{Axis, compact, drawable, minus, significant};
use crate::canvas::{Anchor, Canvas, Stroke, TextStyle};
use crate::font::{self, Weight};
use crate::head::{self, MARGIN};
use crate::heat::{HeatMap, HeatPanel};
use crate::labels::Frame;
use crate::panel::{AXIS, INK, QUIET, TICK_SIZE};
use crate::ramp;
use crate::scale::Scale;

const PANEL_TITLE: f64 = 12.5;
const VALUE: f64 = 11.5;
const CELL_HEIGHT: f64 = 34.0;
const GAP: f64 = 1.5;
/// Names of settings wider than this are cut.
const WIDEST: f64 = 110.0;
/// A row of panels is not wider than this, if one fits at all.
const PAGE: f64 = 1150.0;
const BAR: (f64, f64) = (280.0, 12.0);
const MISSING: &str = "#F3F3F3";

/// Title, colour bar, then the panels.
pub(crate) fn render(map: &HeatMap) -> String {
    let colors = Colors::new(map);
    let tick = TextStyle::new(TICK_SIZE, QUIET);
    let widest = |texts: &mut dyn Iterator<Item = String>, style: TextStyle| {
        texts.map(|text| style.width(&text)).fold(0.0, f64::max)
    };
    let values = map.panels.iter().flat_map(|panel| &panel.values).flatten();
    let value_width = widest(
        &mut values.map(|v| value_text(*v)),
        TextStyle::new(VALUE, INK),
    );
    let name_width = widest(&mut map.x.iter().map(|name| cut(name)), tick);
    let cell = (value_width.max(name_width) + 16.0).max(56.0);
    let size = (
        cell * map.x.len().max(1) as f64,
        CELL_HEIGHT * map.y.len().max(1) as f64,
    );
    let named = if map.y_label.is_empty() { 0.0 } else { 20.0 };
    let left = widest(&mut map.y.iter().map(|name| cut(name)), tick) + 10.0 + named;
    // Panels stand as far apart as their titles need, so that none is cut unless it fills the page.
    let title = TextStyle::new(PANEL_TITLE, INK).bold();
    let titles = widest(
        &mut map.panels.iter().map(|panel| panel.title.clone()),
        title,
    );
    let step = size.0.max(titles.min(PAGE - left)) + 26.0;
    let fitting = ((PAGE - left) / step) as usize;
    let columns = fitting.max(1).min(map.panels.len().max(1));
    let width = (2.0 * MARGIN + left + columns as f64 * step - 26.0).max(480.0);

    let mut canvas = Canvas::default();
    let y = head::titles(&mut canvas, &map.title, &map.subtitle, width);
    let mut y = colors.draw_bar(&mut canvas, map, y);
    for row in map.panels.chunks(columns) {
        y += 30.0;
        for (column, panel) in row.iter().enumerate() {
            let x = MARGIN + left + column as f64 * step;
            let frame = Frame {
                left: x,
                top: y,
                right: x + size.0,
                bottom: y + size.1,
            };
            let text = font::fit(&panel.title, PANEL_TITLE, Weight::Bold, step - 10.0);
            canvas.text(x, y - 9.0, &text, title);
            draw_panel(&mut canvas, map, panel, &colors, frame);
            if column == 0 {
                draw_rows(&mut canvas, map, frame, left);
            }
        }
        y += size.1 + 40.0;
    }
    let description = match map.subtitle.is_empty() {
        true => &map.title,
        false => &map.subtitle,
    };
    canvas.document((width, y + 0.5 * MARGIN), &map.title, description)
}

/// The names of the second field's values, and its own.
fn draw_rows(canvas: &mut Canvas, map: &HeatMap, frame: Frame, left: f64) {
    let text = TextStyle::new(TICK_SIZE, QUIET);
    for (row, name) in map.y.iter().enumerate() {
        let middle = frame.bottom - (row as f64 + 0.5) * CELL_HEIGHT;
        let style = text.anchored(Anchor::End);
        canvas.text(frame.left - 8.0, middle + 4.0, &cut(name), style);
    }
    let middle = 0.5 * (frame.top + frame.bottom);
    let style = text.anchored(Anchor::Middle).upwards();
    let room = frame.bottom - frame.top + 24.0;
    let name = font::fit(&map.y_label, TICK_SIZE, Weight::Regular, room);
    canvas.text(frame.left - left + 11.0, middle, &name, style);
}

fn draw_panel(
    canvas: &mut Canvas,
    map: &HeatMap,
    panel: &HeatPanel,
    colors: &Colors,
    frame: Frame,
) {
    let width = (frame.right - frame.left) / map.x.len().max(1) as f64;
    for (row, y_name) in map.y.iter().enumerate() {
        for (column, x_name) in map.x.iter().enumerate() {
            let value = panel.values.get(row).and_then(|values| values.get(column));
            let value = value.copied().unwrap_or(f64::NAN);
            let left = frame.left + column as f64 * width;
            let bottom = frame.bottom - row as f64 * CELL_HEIGHT;
            let place = Frame {
                left,
                top: bottom - CELL_HEIGHT,
                right: left + width,
                bottom,
            }
            .grown(-0.5 * GAP);
            let said = match drawable(value, false) {
                true => minus(significant(value, 4)),
                false => "not known".to_owned(),
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
    let text = TextStyle::new(TICK_SIZE, QUIET).anchored(Anchor::Middle);
    for (column, name) in map.x.iter().enumerate() {
        let middle = frame.left + (column as f64 + 0.5) * width;
        canvas.text(middle, frame.bottom + 15.0, &cut(name), text);
    }
    let middle = 0.5 * (frame.left + frame.right);
    canvas.text(middle, frame.bottom + 32.0, &map.x_label, text);
}

fn draw_cell(canvas: &mut Canvas, value: f64, colors: &Colors, place: Frame) {
    let middle = (
        0.5 * (place.left + place.right),
        0.5 * (place.top + place.bottom) + 0.36 * VALUE,
    );
    let style = |color| TextStyle::new(VALUE, color).anchored(Anchor::Middle);
    if drawable(value, false) {
        let fill = colors.of(value);
        canvas.rect(place, &ramp::hex(fill));
        let style = style(ramp::text_on(fill)).classed("value");
        canvas.text(middle.0, middle.1, &value_text(value), style);
        return;
    }
    canvas.rect(place, MISSING);
    let stroke = Stroke {
        color: "#CFCFCF",
        width: 1.0,
        dashes: "",
    };
    // Hatching by lines: a pattern would need an identifier, and a page holds several drawings.
    let (width, height) = (place.right - place.left, place.bottom - place.top);
    let mut along = 8.0;
    while along < width + height {
        let from = (along.min(width), (along - width).max(0.0));
        let to = ((along - height).max(0.0), along.min(height));
        let at = |(x, y): (f64, f64)| (place.left + x, place.top + y);
        canvas.line(at(from), at(to), stroke);
        along += 8.0;
    }
    let style = style(INK).haloed().classed("value");
    canvas.text(middle.0, middle.1, &value_text(value), style);
}

/// What is written in a cell.
fn value_text(value: f64) -> String {
    match drawable(value, false) {
        true => minus(compact(value, 3)),
        false => "–".to_owned(),
    }
}

fn cut(name: &str) -> String {
    font::fit(name, TICK_SIZE, Weight::Regular, WIDEST)
}

/// The colour scale of all panels.
struct Colors {
    scale: Scale,
    /// The least and the largest value; the ramp runs between them.
    ends: Option<(f64, f64)>,
}

impl Colors {
    fn new(map: &HeatMap) -> Self {
        let values: Vec<f64> = map
            .panels
            .iter()
            .flat_map(|panel| &panel.values)
            .flatten()
            .copied()
            .filter(|value| drawable(*value, false))
            .collect();
        let least = values.iter().copied().reduce(f64::min);
        let most = values.iter().copied().reduce(f64::max);
        Colors {
            scale: match (Scale::wants_symmetric(&values), least) {
                (true, Some(least)) if least <= 0.0 => Scale::over(&values, true, 0.0),
                (log, _) => Scale::Plain(Axis::over(values, log)),
            },
            ends: least.zip(most),
        }
    }

    /// The share of the ramp at which a value stands.
    fn share(&self, value: f64) -> f64 {
        let Some((least, most)) = self.ends else {
            return 0.0;
        };
        let (low, high) = (self.scale.place(least), self.scale.place(most));
        match high > low {
            true => (self.scale.place(value) - low) / (high - low),
            false => 0.5,
        }
    }

    fn of(&self, value: f64) -> ramp::Rgb {
        ramp::color(self.share(value))
    }

    /// The colour bar below `top`, with ticks; returns the height below it.
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
            let frame = Frame {
                left: x,
                top,
                // Under the next one, so that no seam shows.
                right: (x + step + 0.5).min(left + BAR.0),
                bottom: top + BAR.1,
            };
            let share = (k as f64 + 0.5) / STEPS as f64;
            canvas.rect(frame, &ramp::hex(ramp::color(share)));
        }
        let stroke = Stroke {
            color: AXIS,
            width: 1.0,
            dashes: "",
        };
        let text = TextStyle::new(TICK_SIZE, QUIET).anchored(Anchor::Middle);
        let inside = |value: &f64| (least..=most).contains(value);
        let ticks = self.scale.ticks(0.12).into_iter();
        for (value, label) in ticks.filter(|tick| inside(&tick.0)) {
            let x = left + self.share(value) * BAR.0;
            canvas.line((x, top + BAR.1), (x, top + BAR.1 + 4.0), stroke);
            canvas.text(x, top + BAR.1 + 16.0, &label, text);
        }
        top + BAR.1 + 20.0
    }
}
