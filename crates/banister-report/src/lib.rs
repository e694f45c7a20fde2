#![doc = include_str!("lib.md")]
#![forbid(unsafe_code)]

pub mod axis;
mod canvas;
mod error;
pub mod figure;
mod font;
pub mod html;
mod interactive;
mod labels;
mod layout;
pub mod palette;
mod panel;
pub mod png;
pub mod svg;
pub mod tables;
mod write;

pub use error::ReportError;
pub use figure::{Figure, LineKind, Panel, ReferenceLine, Row, Series};
pub use html::{Cell, Document, FigureRef, Section, Table, Tone};
pub use write::{write_atomically, write_results};
