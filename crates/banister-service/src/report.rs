//! The report of an experiment as a page to print: one file, no scripts.

use banister_engine::ExperimentReport;

/// The report as HTML.
pub fn html(report: &ExperimentReport) -> String {
    format!("<!doctype html><title>{}</title>", report.experiment.name)
}
