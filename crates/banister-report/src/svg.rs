//! Figures as SVG.
//!
//! The drawing is our own. The plotting crate we tried first (kuva 0.6) can stack panels, but it
//! writes the label of a reference line at one fixed place, black, wherever the curves run; it
//! has no labels for rows and draws the grid in both directions or not at all; and it measures
//! text with the font it brings along, not with the one that draws our PNG. A figure whose
//! thresholds can be read is the point of this crate, and it needs no more than axes, curves,
//! bands and labels.
//!
//! The same figure always gives the same bytes.

use crate::drawing::Drawing;
use crate::figure::Figure;
use crate::font::{self, Weight};
use crate::heat::HeatMap;
use crate::scatter::Scatter;
use crate::{curves, heat_svg, scatter_svg};

/// What can be drawn: each kind of figure, and a [`Drawing`] of any kind.
pub trait Draw {
    /// The figure as an SVG document.
    fn svg(&self) -> String;
}

impl Draw for Figure {
    fn svg(&self) -> String {
        curves::render(self)
    }
}

impl Draw for Scatter {
    fn svg(&self) -> String {
        scatter_svg::render(self)
    }
}

impl Draw for HeatMap {
    fn svg(&self) -> String {
        heat_svg::render(self)
    }
}

impl Draw for Drawing {
    fn svg(&self) -> String {
        match self {
            Drawing::Curves(figure) => figure.svg(),
            Drawing::Scatter(scatter) => scatter.svg(),
            Drawing::HeatMap(map) => map.svg(),
        }
    }
}

/// Draws the figure: title, legend, then the panels row by row.
///
/// ```
/// use banister_report::{Figure, Panel, Row, Series, svg};
///
/// let series = Series { name: "a".into(), x: vec![0.0, 1.0], y: vec![1.0, 2.0], ..Series::default() };
/// let panel = Panel { title: "Height".into(), series: vec![series], ..Panel::default() };
/// let row = Row { label: "first".into(), panels: vec![panel] };
/// let figure = Figure { title: "One curve".into(), subtitle: String::new(), rows: vec![row] };
/// assert!(svg::render(&figure).starts_with("<svg"));
/// ```
pub fn render(figure: &impl Draw) -> String {
    figure.svg()
}

/// The width that a text takes in a drawing, in pixels, at a font size.
pub fn text_width(text: &str, size: f64, bold: bool) -> f64 {
    let weight = if bold { Weight::Bold } else { Weight::Regular };
    font::width(text, size, weight)
}
