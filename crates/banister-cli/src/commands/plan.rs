//! `banister plan`: how long until an arm is certified, and what that costs meanwhile.

use banister_report::{Figure, FigureRef, Section, tables};
use banister_sim::planning;
use banister_terminal::{Failure, say};

use super::run::{document, resolved};
use crate::args::Plan;
use crate::input::read_experiment;
use crate::progress::with_bar;
use crate::terminal;

pub fn plan(args: &Plan) -> Result<(), Failure> {
    let experiment = read_experiment(&args.experiment, &args.simulation)?;
    let plan = with_bar("planning", [&experiment], &args.simulation, |progress| {
        planning::plan(&experiment, args.lift, args.traffic, progress)
    })?;
    let (table, json) = (tables::plan(&plan), tables::plan_json(&plan));
    if let Some(out) = &args.out {
        let mut document = document(&plan.results);
        let section = Section {
            title: "Plan".into(),
            paragraphs: tables::PLAN_NOTES.map(String::from).to_vec(),
            tables: vec![table.clone()],
            figures: vec![FigureRef {
                stem: "plan".into(),
                caption: String::new(),
                figure: Figure::of_plan(&plan).into(),
            }],
        };
        document.sections.insert(0, section);
        let mut files = resolved(&[experiment])?;
        files.push(("plan.json".into(), format!("{json:#}\n").into_bytes()));
        banister_report::write_results(out, &plan.results, &document, &files)?;
    }
    if args.simulation.json {
        return say(json);
    }
    terminal::print(&table)?;
    tables::PLAN_NOTES.iter().try_for_each(say)?;
    say("\nWhat learning costs meanwhile\n")?;
    terminal::print(&tables::summary(&plan.results).without(&["instance", "ns/round"]))?;
    terminal::print(&terminal::guardrails(&plan.results).without(&["instance", "agent"]))?;
    let report = args.out.as_ref().map(|out| out.join("report.html"));
    report.map_or(Ok(()), |file| say(format!("open {}", file.display())))
}
