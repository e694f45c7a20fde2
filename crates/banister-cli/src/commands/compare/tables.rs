//! The tables of `banister compare --list`.

use banister::Registry as _;
use banister_report::{Cell, ReportTable};
use banister_rivals::AgentConfig;

fn header(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

/// The suites there are.
pub fn suites(suites: &[(&str, &str)]) -> ReportTable {
    let rows = suites.iter();
    ReportTable {
        title: "Suites".into(),
        header: header(&["suite", "what it is"]),
        rows: rows
            .map(|(name, about)| vec![Cell::text(*name), Cell::text(*about)])
            .collect(),
    }
}

/// The agents there are.
pub fn agents() -> ReportTable {
    let configs = AgentConfig::kinds().into_iter();
    let configs = configs.filter_map(|kind| AgentConfig::of_kind(&kind).ok());
    ReportTable {
        title: "Agents".into(),
        header: header(&["agent", "for", "promise"]),
        rows: configs
            .map(|config| {
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
            })
            .collect(),
    }
}
