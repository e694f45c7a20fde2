//! Figures as data, as SVG and as PNG. Uses results of simulations and nothing of the tables or the page.
//!
//! In reading order, what all kinds share: `text` (the font, measured), `canvas` (SVG elements), `palette` (colours),
//! `axes` (ranges, ticks and numbers), `labels` (places where text hides nothing), `legend` (all that stands above the
//! panels). Then a kind each: `curves`, drawn by `curve_grid` and `curve_panel` and laid out for an experiment by
//! `results`, for a plan by `plan`; `dots`; `heat`; `ranks`. Last, `svg` takes any kind, and `png` makes pixels of it.

pub mod axes;
pub(crate) mod canvas;
mod curve_grid;
pub(crate) mod curve_panel;
pub(crate) mod curves;
mod dots;
mod heat;
mod labels;
mod legend;
pub mod palette;
mod plan;
pub mod png;
mod ranks;
mod results;
pub mod svg;
mod text;

pub use curves::{Figure, LineKind, Panel, ReferenceLine, Row, Series};
pub use dots::{Dot, DotPanel, DotPlot};
pub use heat::{HeatMap, HeatPanel};
pub use ranks::RankDiagram;
pub use svg::Drawing;
