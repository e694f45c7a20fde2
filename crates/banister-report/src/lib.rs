#![doc = include_str!("lib.md")]
#![forbid(unsafe_code)]

mod error;
pub mod figures;
pub mod html;
pub mod tables;
mod write;

pub use error::ReportError;
pub use figures::{
    Dot, DotPanel, DotPlot, Drawing, Figure, HeatMap, HeatPanel, LineKind, Panel, RankDiagram,
    ReferenceLine, Row, Series, palette, png, svg,
};
pub use html::{Cell, Document, FigureRef, ReportTable, Section, Tone};
pub use write::{table_files, write_atomically, write_results};
