//! Figures as SVG.
//!
//! The drawing is our own. The plotting crate we tried first (kuva 0.6) can stack panels, but it
//! writes the label of a reference line at one fixed place, black, wherever the curves run; it
//! has no labels for rows and draws the grid in both directions or not at all; and it measures
//! text with the font it brings along, not with the one that draws our PNG. A figure whose
//! thresholds can be read is the point of this crate, and it needs no more than axes, curves,
//! bands and labels.
//!
//! Output is deterministic: a figure always gives the same bytes.

pub use super::canvas::Draw;
use super::palette::INK;
use super::text::TextStyle;
use super::{DotPlot, Figure, HeatMap, RankDiagram};

/// A figure of any kind, as a report takes it.
///
/// ```
/// use banister_report::{DotPlot, Drawing, Figure};
///
/// let drawing: Drawing = DotPlot { title: "The price of safety".into(), ..DotPlot::default() }.into();
/// assert_eq!(drawing.title(), "The price of safety");
/// assert_eq!(Drawing::default(), Figure::default().into());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Drawing {
    /// Curves over rounds or settings; interactive on the page.
    Curves(Figure),
    /// Regret and violation of each agent on each instance.
    Dots(DotPlot),
    /// One cell per pair of settings.
    HeatMap(HeatMap),
    /// Mean ranks of agents over instances.
    Ranks(RankDiagram),
}

impl Drawing {
    /// Headline of the figure.
    pub fn title(&self) -> &str {
        match self {
            Drawing::Curves(figure) => &figure.title,
            Drawing::Dots(plot) => &plot.title,
            Drawing::HeatMap(map) => &map.title,
            Drawing::Ranks(diagram) => &diagram.title,
        }
    }
}

impl Default for Drawing {
    fn default() -> Self {
        Drawing::Curves(Figure::default())
    }
}

impl From<Figure> for Drawing {
    fn from(figure: Figure) -> Self {
        Drawing::Curves(figure)
    }
}

impl From<DotPlot> for Drawing {
    fn from(plot: DotPlot) -> Self {
        Drawing::Dots(plot)
    }
}

impl From<HeatMap> for Drawing {
    fn from(map: HeatMap) -> Self {
        Drawing::HeatMap(map)
    }
}

impl From<RankDiagram> for Drawing {
    fn from(diagram: RankDiagram) -> Self {
        Drawing::Ranks(diagram)
    }
}

impl Draw for Drawing {
    fn svg(&self) -> String {
        match self {
            Drawing::Curves(figure) => figure.svg(),
            Drawing::Dots(plot) => plot.svg(),
            Drawing::HeatMap(map) => map.svg(),
            Drawing::Ranks(diagram) => diagram.svg(),
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

/// Measures a text as a drawing shows it, in pixels, at a font size.
pub fn text_width(text: &str, size: f64, bold: bool) -> f64 {
    let style = TextStyle::new(size, INK);
    TextStyle { bold, ..style }.width(text)
}
