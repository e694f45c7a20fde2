//! Curves as data: a [`Figure`] is a grid of small panels, one [`Row`] per instance, one [`Panel`]
//! per quantity. The static drawing ([`crate::svg`]) and the interactive one ([`crate::html`]) both
//! start here.

use super::axes::drawable;

/// A grid of panels with one legend.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figure {
    /// Headline.
    pub title: String,
    /// Meaning of the marks: bands, averages, runs.
    pub subtitle: String,
    /// Rows from top to bottom.
    pub rows: Vec<Row>,
}

/// Panels of one instance.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    /// Text at the left, e.g. `τ = 0.5`.
    pub label: String,
    /// Panels from left to right. One without series and lines leaves its place empty.
    pub panels: Vec<Panel>,
}

/// One pair of axes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Panel {
    /// Text above; the static drawing shows it only where it differs from the panel above.
    pub title: String,
    /// Name of the horizontal axis.
    pub x_label: String,
    /// Name of the vertical axis; empty when the title says it.
    pub y_label: String,
    /// Logarithmic horizontal axis; points at or below zero are left out.
    pub x_log: bool,
    /// Logarithmic vertical axis; points at or below zero are left out.
    pub y_log: bool,
    /// Vertical axis from zero. Heights can then be compared, so the static drawing writes the last
    /// value of each series at its end.
    pub y_from_zero: bool,
    /// Names at the ends of the series in the static drawing, for panels with many of them; the
    /// panel is then as high as the names need.
    pub name_ends: bool,
    /// Curves in drawing order.
    pub series: Vec<Series>,
    /// Horizontal lines to compare the curves with.
    pub lines: Vec<ReferenceLine>,
}

/// One curve. Points where `x` or `y` is not finite are left out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// Name in the legend; series with the same name share one entry.
    pub name: String,
    /// Index into the palette, see [`crate::palette::color`]; beyond its length the colours
    /// repeat with dashes, see [`crate::palette::dashes`].
    pub color: usize,
    /// Horizontal positions, ascending.
    pub x: Vec<f64>,
    /// Vertical positions, one per `x`.
    pub y: Vec<f64>,
    /// Lower and upper end of a band around the curve, one each per `x`.
    pub band: Option<(Vec<f64>, Vec<f64>)>,
    /// Dashed curve.
    pub dashed: bool,
    /// Marked points.
    pub points: bool,
}

/// A horizontal line with a label.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceLine {
    /// Text at the line.
    pub label: String,
    /// Height in data units.
    pub y: f64,
    /// Meaning, which gives the colour.
    pub kind: LineKind,
}

/// Meaning of a [`ReferenceLine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// A limit that the curves must not cross: red and dashed.
    Threshold,
    /// Value that the best policy attains: dark and dotted.
    Optimum,
}

/// A curve needs no more points than the plot has pixels, twice over.
const MOST_POINTS: usize = 600;

/// One point of a curve: position and band, all finite where present.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub x: f64,
    pub y: f64,
    pub band: Option<(f64, f64)>,
}

impl Series {
    /// Lists the points that have a place on the panel's axes, thinned.
    pub(crate) fn points_on(&self, panel: &Panel) -> Vec<Point> {
        let mut points = Vec::with_capacity(self.x.len());
        for (i, (&x, &y)) in self.x.iter().zip(&self.y).enumerate() {
            if !drawable(x, panel.x_log) || !drawable(y, panel.y_log) {
                continue;
            }
            let ends = self
                .band
                .as_ref()
                .and_then(|(lo, hi)| Some((*lo.get(i)?, *hi.get(i)?)));
            let band =
                ends.filter(|(lo, hi)| drawable(*lo, panel.y_log) && drawable(*hi, panel.y_log));
            // Adding zero makes −0 and 0 the same place.
            points.push(Point {
                x: x + 0.0,
                y,
                band,
            });
        }
        thin(points)
    }
}

/// Keeps at most about [`MOST_POINTS`] points and with them the curve's peaks: of each stretch the
/// lowest and the highest, and both ends.
fn thin(points: Vec<Point>) -> Vec<Point> {
    if points.len() <= MOST_POINTS {
        return points;
    }
    let last = points.len() - 1;
    let stretch = (2 * points.len()).div_ceil(MOST_POINTS - 2);
    let mut kept = vec![0, last];
    for start in (0..points.len()).step_by(stretch) {
        let all = start..(start + stretch).min(points.len());
        let by_height = |a: &usize, b: &usize| points[*a].y.total_cmp(&points[*b].y);
        kept.extend(all.clone().min_by(by_height));
        kept.extend(all.max_by(by_height));
    }
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|i| points[i]).collect()
}
