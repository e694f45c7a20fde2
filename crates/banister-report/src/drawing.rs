//! Any kind of figure.

use crate::figure::Figure;
use crate::heat::HeatMap;
use crate::scatter::Scatter;

/// A figure of any kind, as a report takes it.
///
/// ```
/// use banister_report::{Drawing, Figure, Scatter};
///
/// let drawing: Drawing = Scatter { title: "Who pays what".into(), ..Scatter::default() }.into();
/// assert_eq!(drawing.title(), "Who pays what");
/// assert_eq!(Drawing::default(), Figure::default().into());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Drawing {
    /// Curves over rounds or settings; interactive on the page.
    Curves(Figure),
    /// One point per agent: regret against violation.
    Scatter(Scatter),
    /// One cell per pair of settings.
    HeatMap(HeatMap),
}

impl Drawing {
    /// The headline.
    pub fn title(&self) -> &str {
        match self {
            Drawing::Curves(figure) => &figure.title,
            Drawing::Scatter(scatter) => &scatter.title,
            Drawing::HeatMap(map) => &map.title,
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

impl From<Scatter> for Drawing {
    fn from(scatter: Scatter) -> Self {
        Drawing::Scatter(scatter)
    }
}

impl From<HeatMap> for Drawing {
    fn from(map: HeatMap) -> Self {
        Drawing::HeatMap(map)
    }
}
