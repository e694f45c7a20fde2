//! Tables, figures and reports.
