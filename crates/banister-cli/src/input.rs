//! Reading what people wrote, and telling them where it is wrong.

use std::path::Path;

use banister::toolkit::{FieldError, FieldPath, Step, did_you_mean, hint};
use banister_rivals::AgentConfig;
use banister_sim::{EnvironmentConfig, Experiment, ExperimentConfig};
use serde::de::DeserializeOwned;

use crate::args::Simulation;
use banister_terminal::{Failure, Report};

/// Reads and checks one experiment file, with the command line's overrides.
pub fn read_experiment(path: &Path, overrides: &Simulation) -> Result<Experiment, Failure> {
    let text = read_experiment_text(path)?;
    let stem = path
        .file_stem()
        .map_or("experiment".into(), |s| s.to_string_lossy());
    let config = parse(&path.display().to_string(), &text, overrides, |_| {})?;
    let folder = path.parent().unwrap_or(Path::new(""));
    config
        .check_in(&stem, folder)
        .map_err(|error| check_failure(&path.display().to_string(), &text, &error))
}

/// Reads one experiment file for its instance alone; its agents are not looked at.
pub fn read_instance(path: &Path, horizon: Option<u64>) -> Result<Experiment, Failure> {
    let (text, source) = (read_experiment_text(path)?, path.display().to_string());
    let mut config: ExperimentConfig = from_toml(&source, &text)?;
    config.run.horizon = horizon.unwrap_or(config.run.horizon);
    let folder = path.parent().unwrap_or(Path::new(""));
    config
        .check_without_agents("", folder)
        .map_err(|error| check_failure(&source, &text, &error))
}

/// The text of an experiment file, or an error that says how to begin one.
pub fn read_experiment_text(path: &Path) -> Result<String, Failure> {
    if path.exists() {
        return read_text(path);
    }
    let shown = path.display();
    Err(Failure::from(Report {
        message: format!("there is no file `{shown}`"),
        help: Some(format!(
            "`banister init {shown}` writes an example to start from"
        )),
        place: None,
    }))
}

/// The text of a file.
pub fn read_text(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))
}

/// The error about a file that cannot be read.
pub fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::input(format!("cannot read `{}`: {error}", path.display()))
}

/// An error about a word, with the nearest one that was probably meant.
pub fn with_nearest<'a>(
    error: &banister::Error,
    word: &str,
    words: impl Iterator<Item = &'a str>,
) -> Failure {
    Failure::from(Report {
        message: error.to_string(),
        help: sentence(&did_you_mean(word, words)),
        place: None,
    })
}

/// Parses and checks a built-in experiment; `adjust` may change it before the check.
pub fn built_in(
    text: &str,
    name: &str,
    overrides: &Simulation,
    adjust: impl FnOnce(&mut ExperimentConfig),
) -> Result<Experiment, Failure> {
    let source = "built-in experiment";
    let config = parse(source, text, overrides, adjust)?;
    config
        .check(name)
        .map_err(|error| check_failure(source, text, &error))
}

fn parse(
    source: &str,
    text: &str,
    overrides: &Simulation,
    adjust: impl FnOnce(&mut ExperimentConfig),
) -> Result<ExperimentConfig, Failure> {
    let mut config: ExperimentConfig = from_toml(source, text)?;
    adjust(&mut config);
    config.run.horizon = overrides.horizon.unwrap_or(config.run.horizon);
    config.run.runs = overrides.runs.unwrap_or(config.run.runs);
    config.run.seed = overrides.seed.unwrap_or(config.run.seed);
    Ok(config)
}

pub fn check_failure(source: &str, text: &str, error: &banister::Error) -> Failure {
    let (span, help) = match error {
        banister::Error::Invalid { field, .. } => (find_field(text, field), None),
        banister::Error::UnknownArm { name, known } => {
            let help = sentence(&did_you_mean(name, known.split(", ")));
            (find_field(text, &"environment.safe".into()), help)
        }
        _ => (None, None),
    };
    fail(source, text, &error.to_string(), span, help)
}

/// An input error that points into the file.
fn fail(
    source: &str,
    text: &str,
    message: &str,
    span: Option<std::ops::Range<usize>>,
    help: Option<String>,
) -> Failure {
    Failure::from(Report {
        message: message.to_string(),
        place: span.map(|span| (source.to_string(), text.to_string(), span)),
        help,
    })
}

/// Parses TOML; an error names the field, and points at it.
pub fn from_toml<T: DeserializeOwned>(source: &str, text: &str) -> Result<T, Failure> {
    let parsed = toml::Deserializer::parse(text).map_err(|error| FieldError {
        field: FieldPath::default(),
        error,
    });
    (parsed.and_then(banister::toolkit::deserialize)).map_err(|FieldError { field, error }| {
        let message = error.message();
        let (key, help) = explain_unknown(message);
        if let Some((field, error)) = misfit(text, &field, message) {
            return fail(
                source,
                text,
                &error.to_string(),
                find_field(text, &field),
                help,
            );
        }
        if let Some(explained) = banister::toolkit::explain(field, message) {
            return fail(source, text, &explained.to_string(), error.span(), None);
        }
        let from = error.span().map_or(0, |span| span.start);
        let span = key
            .and_then(|key| find_key(text, from, key).or_else(|| find_key(text, 0, key)))
            .or(error.span());
        fail(source, text, message, span, help)
    })
}

/// Finds the wrong key of an environment or agent, with its error: kinds share a table, so that serde's path
/// ends at the table.
fn misfit(text: &str, field: &FieldPath, message: &str) -> Option<(FieldPath, banister::Error)> {
    let file: toml::Table = toml::from_str(text).ok()?;
    if *field == "environment" {
        let table = file.get("environment")?.as_table()?;
        let kind = table.get("kind")?.as_str()?;
        if let Some(error) = EnvironmentConfig::explain_key(kind, message) {
            let key = explain_unknown(message).0?;
            return Some((field.clone().key(key), error));
        }
        return wrong_value::<EnvironmentConfig>(field, table, message);
    }
    let [Step::Key(key), Step::Index(index)] = field.steps() else {
        return None;
    };
    let table = file.get(key).filter(|_| key == "agent")?;
    let table = table.get(*index)?.as_table()?;
    wrong_value::<AgentConfig>(field, table, message)
}

/// Finds the key of a table whose value is wrong: without it the message is another.
fn wrong_value<T: DeserializeOwned>(
    field: &FieldPath,
    table: &toml::Table,
    message: &str,
) -> Option<(FieldPath, banister::Error)> {
    if message.starts_with("unknown ") || message.starts_with("missing ") {
        return None;
    }
    let (key, value) = table.iter().find(|(key, _)| {
        let mut rest = table.clone();
        rest.remove(key.as_str());
        let read: Result<T, _> = rest.try_into();
        *key != "kind" && read.err().is_none_or(|error| error.message() != message)
    })?;
    let field = field.clone().key(key);
    let allowed = match banister::toolkit::explain(field.clone(), message) {
        Some(banister::Error::Invalid { allowed, .. }) => allowed,
        _ => message.to_string(),
    };
    let error = banister::Error::invalid(field.clone(), value, allowed);
    Some((field, error))
}

/// The unknown word that serde's message is about, and a hint at the one that was probably meant.
fn explain_unknown(message: &str) -> (Option<&str>, Option<String>) {
    let unknown = message.split('`').nth(1);
    let unknown = unknown.filter(|_| message.starts_with("unknown "));
    (unknown, sentence(&hint(message)))
}

/// A hint that ends a sentence, as one of its own.
fn sentence(hint: &str) -> Option<String> {
    hint.strip_prefix("; ").map(str::to_string)
}

/// Span of a key in TOML text, from `start` on.
fn find_key(text: &str, start: usize, key: &str) -> Option<std::ops::Range<usize>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let tail = text.get(start..)?;
    for (at, _) in tail.match_indices(key) {
        let before = tail[..at].chars().next_back();
        let after = tail[at + key.len()..].trim_start_matches('"').trim_start();
        let whole = !before.is_some_and(is_word);
        if whole && (after.starts_with('=') || before == Some('"')) {
            return Some(start + at..start + at + key.len());
        }
    }
    None
}

/// Span of a field such as `guardrails[1].at_most` in TOML text.
fn find_field(text: &str, field: &FieldPath) -> Option<std::ops::Range<usize>> {
    let table = field.first()?;
    let (index, rest) = match &field.steps()[1..] {
        [Step::Index(index), rest @ ..] => (*index, rest),
        rest => (0, rest),
    };
    let one = table.strip_suffix('s').unwrap_or(table);
    let header = [table, one].into_iter().find_map(|name| {
        let spelled = [format!("[[{name}]]"), format!("[{name}]")];
        let mut found = spelled.iter();
        let (start, _) = found.find_map(|header| text.match_indices(&**header).nth(index))?;
        Some(start..start + name.len() + 2)
    })?;
    let key = match rest {
        [Step::Key(key), ..] => find_key(text, header.start, key),
        _ => None,
    };
    key.or(Some(header))
}
