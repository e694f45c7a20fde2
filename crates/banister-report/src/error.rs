//! Errors of making and writing a report.

use std::path::PathBuf;

/// Failure to make a table, a figure or a results directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// A table could not be written. This points to a defect in banister; please report it.
    #[error("cannot write the table: {0}")]
    Table(#[from] banister_table::TableError),

    /// A figure could not be turned into pixels. Use its SVG, or draw fewer rows and panels.
    #[error("cannot draw the figure as PNG: {0}")]
    Png(String),

    /// The data of a chart could not be put into the page. This points to a defect in banister;
    /// please report it.
    #[error("cannot put the data into the report: {0}")]
    Data(#[from] serde_json::Error),

    /// A file name would leave the results directory or is no file name at all. Give a relative
    /// path without `..`, and figure stems without separators.
    #[error("“{0}” is not a usable file name inside the results directory")]
    Name(String),

    /// Two files of one report have the same path. Rename one of them.
    #[error("two files of the report would be written to “{0}”")]
    Twice(String),

    /// A file or directory could not be written. Check its permissions and the free space.
    #[error("cannot write {path}: {source}", path = path.display())]
    Write {
        /// File or directory that was to be written.
        path: PathBuf,
        /// Answer of the operating system.
        source: std::io::Error,
    },
}
