//! `banister reproduce`: the paper's figures and claims, run afresh.
//!
//! Reading order: `experiments` and `linear` (runs), `claims` and `linear_claims` (verdicts), `report` and
//! `linear_report` (sections of the report).

mod claims;
mod experiments;
mod linear;
mod linear_claims;
mod linear_report;
mod report;

use banister_report::{ReportTable, tables};
use banister_sim::{Options, Results};
use claims::{Claim, Distance};

use super::compare::published;
use super::run::resolved;
use crate::args::Reproduce;
use crate::progress::with_bar;
use crate::terminal;
use banister_terminal::Failure;

pub fn reproduce(args: &Reproduce) -> Result<(), Failure> {
    let mut experiments = experiments::experiments(&args.simulation)?;
    experiments.extend(linear::experiments(&args.simulation)?);
    let watched = linear::coverage_experiment(&args.simulation)?;
    let options = Options {
        no_timing: args.simulation.no_timing,
    };
    let all = experiments.iter().chain([&watched]);
    let (results, coverage) = with_bar("reproducing", all, &args.simulation, |monitor| {
        let Some(results) = banister_sim::run(&experiments, options, monitor)? else {
            return Ok(None);
        };
        let coverage = linear::watch(&watched, monitor)?;
        Ok::<_, banister::Error>(coverage.map(|coverage| (results, coverage)))
    })?;
    let parts = experiments::sort(results, coverage)
        .ok_or_else(|| Failure::Other("some results are missing".into()))?;
    experiments.push(watched);
    let claims = claims::check(&parts);
    let distances = claims::distances(&parts.paper);
    let distance_table = claims::distance_table(&distances);
    let mut document = report::document(&parts, &claims, &distance_table);
    document.sections.push(published::section()?);
    let all = Results {
        instances: [&parts.paper, &parts.lower_bound, &parts.safe_cost]
            .into_iter()
            .flat_map(|r| r.instances.clone())
            .chain(parts.linear.instances())
            .collect(),
    };
    let written =
        banister_report::write_results(&args.out, &all, &document, &resolved(&experiments)?)?;
    if args.simulation.json {
        let value = serde_json::json!({
            "results": tables::summary_json(&all),
            "claims": claims.iter().map(Claim::to_json).collect::<Vec<_>>(),
            "published_regret": distances.iter().map(Distance::to_json).collect::<Vec<_>>(),
        });
        banister_terminal::say(value)?;
        return Ok(());
    }
    banister_terminal::say("")?;
    terminal::print(&ReportTable {
        title: "The paper's experiment".into(),
        ..tables::summary(&parts.paper)
    })?;
    terminal::print(&distance_table)?;
    terminal::print(&ReportTable {
        title: "Actions that change in every round".into(),
        ..tables::summary(&Results {
            instances: vec![parts.linear.contextual.clone()],
        })
    })?;
    terminal::print(&linear_report::coverage_table(&parts.linear))?;
    terminal::print(&claims::table(&claims))?;
    banister_terminal::say(format!(
        "{} files in {}; open {}",
        written.len(),
        args.out.display(),
        args.out.join("report.html").display()
    ))?;
    Ok(())
}
