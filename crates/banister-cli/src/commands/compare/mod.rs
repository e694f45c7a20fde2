//! `banister compare`: many agents on the same instances and the same outcomes.

mod document;
mod figures;
mod heat;
pub mod published;
mod tables;
mod tuning;

use banister::Registry as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use banister_report::{ReportError, table_files, tables as data};
use banister_rivals::AgentConfig;
use banister_sim::compare::{
    Agents, Comparison, Entry, Journal, LeftOut, PublishedNumber, SUITES, Suite,
};
use banister_sim::compare::{expand, is_grid, measured, tried, verdicts};
use banister_sim::{Gathered, Options, Results, Trace};

use super::run::{file_name, resolved};
use crate::args::Compare;
use crate::input;
use crate::progress::with_bar;
use crate::terminal;
use banister_terminal::Failure;

/// The journal's name in the folder of the results, while the comparison is not finished.
pub const JOURNAL: &str = "unfinished.journal";

/// Durations from which on a comparison says how long it will take.
const ANNOUNCED: Duration = Duration::from_secs(60);

/// Instances to compare, with published numbers about them.
struct Subject {
    title: String,
    /// Default output folder.
    folder: String,
    entries: Vec<Entry>,
    published: Vec<PublishedNumber>,
    /// Folder of files that experiments name.
    files: PathBuf,
}

pub fn compare(args: &Compare) -> Result<(), Failure> {
    if args.list {
        return list();
    }
    if args.published {
        return published::show(args.simulation.json);
    }
    let subject = subject(args)?;
    let agents = match &args.agents {
        None => Agents::Proposed,
        Some(list) => asked(list)?,
    };
    let entries = subject.entries;
    let comparison = Comparison::plan_in(entries, &agents, args.skip_unfit, &subject.files)?;
    let axes = heat::axes(&comparison, args.heat_map.as_deref())?;
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from("results").join(&subject.folder));
    let (gathered, journal) = simulate(args, &comparison, &out)?;
    let results = Results {
        instances: gathered.iter().map(Gathered::result).collect(),
    };
    let measured = measured(&subject.published, &gathered);
    let verdicts = verdicts(&subject.published, &gathered);
    let rows = std::iter::zip(&measured, &verdicts);
    let rows = rows.map(|((number, ours), (_, verdict))| data::PublishedRow {
        suite: args.suite.as_deref().unwrap_or_default(),
        number,
        runs: ours.as_ref().ok().map(|ours| ours.runs),
        verdict: Some(verdict),
    });
    let rows: Vec<data::PublishedRow> = rows.collect();
    let subject = document::Subject {
        title: &subject.title,
        comparison: &comparison,
        results: &results,
        published: &rows,
        axes: axes.as_ref(),
    };
    let document = subject.document();
    let mut files = resolved(&comparison.experiments)?;
    files.extend(tables_of(&comparison, &gathered, &results)?);
    if !measured.is_empty() {
        let stored = data::measured_numbers(&measured).to_csv();
        files.push(("published.csv".into(), stored.map_err(ReportError::from)?));
    }
    if args.suite.as_deref() == Some("tuning") {
        files.extend(tuning::files(&tried(&gathered))?);
    }
    let written = banister_report::write_results(&out, &results, &document, &files)?;
    // Only now: the runs are in the results.
    journal.remove()?;
    if args.simulation.json {
        return banister_terminal::say(subject.json());
    }
    for table in subject.leaderboards(data::spec::Place::Terminal) {
        terminal::print(&table)?;
    }
    if !rows.is_empty() {
        terminal::print(&data::published_shown(&rows))?;
    }
    say_left_out(&comparison.left_out)?;
    banister_terminal::say(format!(
        "{} files in {}; open {}",
        written.len(),
        out.display(),
        out.join("report.html").display()
    ))
}

/// The agents that were typed.
fn asked(list: &str) -> Result<Agents, Failure> {
    Agents::listed(list).map_err(|error| {
        let kinds = AgentConfig::kinds();
        let mut typed = list.split(',').map(str::trim);
        let unknown = typed.find(|kind| !kinds.iter().any(|k| k == kind));
        let error = match error {
            banister::Error::Invalid { value, allowed, .. } => {
                banister::Error::invalid("--agents", value, allowed)
            }
            other => other,
        };
        let kinds = kinds.iter().map(String::as_str);
        input::with_nearest(&error, unknown.unwrap_or_default(), kinds)
    })
}

/// Prints the suites and agents.
fn list() -> Result<(), Failure> {
    terminal::print(&tables::suites(&SUITES))?;
    terminal::print(&tables::agents())
}

fn subject(args: &Compare) -> Result<Subject, Failure> {
    let simulation = &args.simulation;
    let mut subject = match (&args.suite, &args.experiments[..]) {
        (Some(name), []) => {
            let suite = Suite::named(name, args.instance_seed).map_err(|error| {
                let names = SUITES.iter().map(|(name, _)| *name);
                input::with_nearest(&error, name, names)
            })?;
            Subject {
                title: format!("Comparison: {}", suite.about),
                folder: format!("compare-{}", suite.name),
                entries: suite.entries,
                published: suite.published,
                files: PathBuf::new(),
            }
        }
        (None, [first, ..]) => {
            let mut entries = Vec::new();
            for path in &args.experiments {
                entries.extend(read(path)?);
            }
            let stem = stem(first);
            let folder = first.parent().unwrap_or(Path::new(""));
            if args
                .experiments
                .iter()
                .any(|path| path.parent() != first.parent())
            {
                return Err(Failure::input("the experiments must lie in one folder"));
            }
            Subject {
                title: format!("Comparison: {stem}"),
                folder: format!("compare-{}", file_name(&stem)),
                entries,
                published: Vec::new(),
                files: folder.to_path_buf(),
            }
        }
        _ => {
            let allowed = "give a suite (`--suite paper`) or experiment files; `banister compare --list` \
                           shows the suites";
            return Err(Failure::input(allowed));
        }
    };
    for entry in &mut subject.entries {
        entry.set_run(simulation.horizon, simulation.runs, simulation.seed);
    }
    Ok(subject)
}

fn stem(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy());
    stem.map_or("experiment".into(), |stem| stem.into_owned())
}

/// The instances of a file, lists of values in it expanded.
fn read(path: &Path) -> Result<Vec<Entry>, Failure> {
    let shown = path.display().to_string();
    let text = input::read_experiment_text(path)?;
    let table: toml::Value = input::from_toml(&shown, &text)?;
    if let Some((field, value)) = not_finite(&table, String::new()) {
        let error = banister::Error::invalid(field, value, "only finite numbers are allowed");
        return Err(input::check_failure(&shown, &text, &error));
    }
    let value = serde_json::to_value(&table)
        .map_err(|error| Failure::Other(format!("cannot read `{shown}`: {error}")))?;
    // Without lists of values the parser knows where a mistake is.
    if !is_grid(&value) {
        input::from_toml::<banister_sim::ExperimentConfig>(&shown, &text)?;
    }
    expand(&value, &stem(path)).map_err(|error| input::check_failure(&shown, &text, &error))
}

/// The first number in a file that is none, which other formats could not hold.
fn not_finite(value: &toml::Value, path: String) -> Option<(String, f64)> {
    match value {
        toml::Value::Float(x) if !x.is_finite() => Some((path, *x)),
        toml::Value::Array(list) => (list.iter().enumerate())
            .find_map(|(i, value)| not_finite(value, format!("{path}[{i}]"))),
        toml::Value::Table(table) => table.iter().find_map(|(key, value)| {
            let path = if path.is_empty() {
                key.clone()
            } else {
                format!("{path}.{key}")
            };
            not_finite(value, path)
        }),
        _ => None,
    }
}

/// Plays what the journal does not hold yet. It stays locked until the results are written.
fn simulate<'a>(
    args: &Compare,
    comparison: &'a Comparison,
    out: &Path,
) -> Result<(Vec<Gathered<'a>>, Journal), Failure> {
    let (path, experiments) = (out.join(JOURNAL), &comparison.experiments);
    let (journal, done) = Journal::open(&path, experiments, args.restart)?;
    if !args.simulation.quiet {
        if !done.is_empty() {
            eprintln!("going on: {} runs are done already", done.len());
        }
        let threads = (args.simulation.threads.map(usize::from))
            .or_else(|| std::thread::available_parallelism().ok().map(usize::from))
            .unwrap_or(1);
        let estimate = comparison.estimate(&done, threads)?;
        if let Some(time) = estimate.filter(|time| *time >= ANNOUNCED) {
            eprintln!("{}", announcement(time, threads));
        }
    }
    let options = Options {
        no_timing: args.simulation.no_timing,
    };
    let gathered = with_bar("comparing", experiments, &args.simulation, |monitor| {
        comparison.run(options, monitor, Some((&journal, done)))
    })?;
    Ok((gathered, journal))
}

/// Leaderboards, pairs and all runs at all checkpoints, as files.
fn tables_of(
    comparison: &Comparison,
    gathered: &[Gathered<'_>],
    results: &Results,
) -> Result<Vec<(String, Vec<u8>)>, ReportError> {
    let mut files = Vec::new();
    files.extend(table_files("leaderboard", &data::leaderboards(results))?);
    files.extend(table_files("pairs", &data::pairs(results))?);
    files.extend(table_files("overall", &data::overall(results))?);
    let traces: Vec<&[Vec<Trace>]> = gathered.iter().map(|g| &g.agents[..]).collect();
    let long = data::long_form(comparison, results, &traces);
    files.push(("ranks.csv".into(), data::ranks(results).to_csv()?));
    files.push(("traces.parquet".into(), long.to_parquet()?));
    if let Some(orders) = data::orders(&comparison.experiments) {
        files.push(("orders.parquet".into(), orders.to_parquet()?));
    }
    Ok(files)
}

/// Expected duration in words. After Ctrl-C the same command resumes, so that it can be spread over days.
fn announcement(time: Duration, threads: usize) -> String {
    let minutes = time.as_secs_f64() / 60.0;
    let long = if minutes < 90.0 {
        format!("{minutes:.0} minutes")
    } else {
        format!("{:.1} hours", minutes / 60.0)
    };
    format!(
        "this takes about {long} on {threads} thread{}; Ctrl-C stops it, and the same command goes on",
        if threads == 1 { "" } else { "s" }
    )
}

fn say_left_out(left_out: &[LeftOut]) -> Result<(), Failure> {
    if left_out.is_empty() {
        return Ok(());
    }
    banister_terminal::say("Skipped, as they do not support the instance:")?;
    for line in LeftOut::lines(left_out) {
        banister_terminal::say(format!("  {line}"))?;
    }
    banister_terminal::say("")
}
