//! The tables of `banister compare --list`.

use banister::Registry as _;
use banister_report::{Cell, ReportTable};
use banister_rivals::AgentConfig;

/// The suites there are.
pub fn suites(suites: &[(&str, &str)]) -> ReportTable {
    let rows = suites.iter();
    let rows = rows.map(|(name, about)| vec![Cell::text(*name), Cell::text(*about)]);
    ReportTable::new("Suites", &["suite", "what it is"], rows)
}

/// The agents there are.
pub fn agents() -> ReportTable {
    let configs = AgentConfig::kinds().into_iter();
    let configs = configs.filter_map(|kind| AgentConfig::of_kind(&kind).ok());
    let rows = configs.map(|config| {
        let setting = if config.takes_features() {
            "actions with features"
        } else {
            "arms"
        };
        vec![
            Cell::text(config.kind()),
            Cell::text(setting),
            Cell::text(config.guarantee().words()),
        ]
    });
    ReportTable::new("Agents", &["agent", "for", "promise"], rows)
}
