//! `banister run`: experiments from files.

use std::path::PathBuf;

use banister_report::tables;
use banister_report::{Document, Figure, FigureRef, Section};
use banister_sim::{Experiment, Results};

use crate::args::Run;
use crate::input::read_experiment;
use crate::progress::simulate;
use crate::terminal;
use banister_terminal::Failure;

pub fn run(args: &Run) -> Result<(), Failure> {
    let experiments = args
        .experiments
        .iter()
        .map(|path| read_experiment(path, &args.simulation))
        .collect::<Result<Vec<Experiment>, Failure>>()?;
    for (i, experiment) in experiments.iter().enumerate() {
        if experiments[..i]
            .iter()
            .any(|other| other.name == experiment.name)
        {
            return Err(Failure::input(format!(
                "two experiments are called `{}`: give each a `name` of its own",
                experiment.name
            )));
        }
    }
    let results = simulate("running", &experiments, &args.simulation)?;
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from("results").join(file_name(&experiments[0].name)));
    let document = document(&results);
    let written =
        banister_report::write_results(&out, &results, &document, &resolved(&experiments)?)?;
    if args.simulation.json {
        banister_terminal::say(tables::summary_json(&results))?;
        return Ok(());
    }
    terminal::print(&tables::summary(&results))?;
    terminal::print(&terminal::guardrails(&results))?;
    if let Some(alarms) = terminal::alarms(&results) {
        terminal::print(&alarms)?;
    }
    for sentence in terminal::violations_in_words(&results) {
        banister_terminal::say(sentence)?;
    }
    banister_terminal::say(format!(
        "{} files in {}; open {}",
        written.len(),
        out.display(),
        out.join("report.html").display()
    ))?;
    Ok(())
}

/// A name that is safe for a file.
pub fn file_name(name: &str) -> String {
    let safe = |c: char| {
        if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') {
            c
        } else {
            '-'
        }
    };
    let name: String = name.replace('′', "-prime").chars().map(safe).collect();
    let words: Vec<&str> = name.split('-').filter(|word| !word.is_empty()).collect();
    match words.join("-").trim_matches('.') {
        "" => "experiment".into(),
        name => name.into(),
    }
}

/// The experiments as resolved, as files: `experiment.toml`, or one file each under `experiments/`.
pub fn resolved(experiments: &[Experiment]) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut files = Vec::new();
    for experiment in experiments {
        let text = toml::to_string_pretty(&experiment.resolved).map_err(|error| {
            Failure::Other(format!("cannot write the experiment as TOML: {error}"))
        })?;
        let name = if experiments.len() == 1 {
            "experiment.toml".to_string()
        } else {
            format!(
                "experiments/{:02}-{}.toml",
                files.len() + 1,
                file_name(&experiment.name)
            )
        };
        files.push((name, text.into_bytes()));
    }
    Ok(files)
}

/// The report's page.
pub fn document(results: &Results) -> Document {
    let runs = results.instances[0].agents[0].runs.len();
    let mut document = Document {
        title: "Bandits with guardrails: results".into(),
        lead: vec![format!(
            "{runs} runs per agent. Policies are judged on the true means: a violation is a round whose \
             policy, not merely the action drawn from it, breaks a guardrail in expectation."
        )],
        sections: vec![Section {
            title: "Regret, costs and reward".into(),
            paragraphs: vec![terminal::LIMIT.into()],
            tables: vec![tables::summary(results)],
            figures: vec![FigureRef {
                stem: "curves".into(),
                caption: "Cumulative pseudo-regret (band: half a standard deviation over runs), expected cost of the \
                          policies against its threshold, and expected reward against the best feasible policy."
                    .into(),
                figure: Figure::of_results(results).into(),
            }],
        }],
    };
    if results
        .instances
        .iter()
        .any(|instance| !instance.guardrails.is_empty())
    {
        document.sections.push(Section {
            title: "What the guardrails cost".into(),
            paragraphs: vec![
                "The shadow price of a guardrail is what one more unit of its threshold would earn, as the agent \
                 sees it: optimistic while it is still learning, and zero where the guardrail does not bind."
                    .into(),
            ],
            tables: std::iter::once(terminal::guardrails(results))
                .chain(terminal::alarms(results))
                .collect(),
            figures: vec![FigureRef {
                stem: "prices".into(),
                caption: "Mean shadow price per round, over runs. The first rounds, when little is known, are off \
                          any useful scale; the axis is logarithmic."
                    .into(),
                figure: Figure::of_prices(results).into(),
            }],
        });
    }
    document
}
