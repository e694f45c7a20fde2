#![doc = include_str!("lib.md")]
#![forbid(unsafe_code)]

pub mod axis;
mod callouts;
mod canvas;
mod curves;
mod drawing;
mod error;
pub mod figure;
mod font;
mod head;
mod heat;
mod heat_svg;
pub mod html;
mod interactive;
mod labels;
mod layout;
mod long;
pub mod palette;
mod panel;
pub mod png;
mod ramp;
mod scale;
mod scatter;
mod scatter_panel;
mod scatter_svg;
mod shares;
mod standings;
pub mod svg;
pub mod tables;
mod write;

pub use drawing::Drawing;
pub use error::ReportError;
pub use figure::{Figure, LineKind, Panel, ReferenceLine, Row, Series};
pub use heat::{HeatMap, HeatPanel};
pub use html::{Cell, Document, FigureRef, Section, Table, Tone};
pub use scatter::{Scatter, ScatterPanel, ScatterPoint};
pub use write::{write_atomically, write_results};
