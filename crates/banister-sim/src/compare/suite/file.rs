//! Suites in files: experiments as for `banister run`, and four keys more.
//!
//! - `instance`: changes of the experiment, each of which makes an instance; without, there is one.
//! - `fixed`: its agents play whatever others are asked for.
//! - `published`: numbers published about it.
//! - `everyone = "arms"` or `"features"` instead of an agent's `kind`: every agent that takes them.

use banister::{Error, Registry as _};
use banister_rivals::AgentConfig;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::parts;
use crate::compare::entry::Entry;
use crate::compare::grid::expand;
use crate::compare::published::{PublishedNumber, Quantity, Spread};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteFile {
    experiment: Vec<Value>,
}

/// Every agent on arms or on features.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Everyone {
    everyone: Supported,
    parameter_norm: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Supported {
    Arms,
    Features,
}

/// A published number, but for its instance and the rounds of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    agent: String,
    quantity: Quantity,
    value: f64,
    /// Relative distance within which ours counts as equal.
    margin: f64,
    /// Standard deviation with n, the number of published runs, in the denominator.
    population_sd: Option<f64>,
    population_runs: Option<u64>,
    runs: Option<u64>,
    source: String,
}

/// Reads instances with their agents, and the numbers published about them.
pub(super) fn read(text: &str) -> Result<(Vec<Entry>, Vec<PublishedNumber>), Error> {
    let file: SuiteFile =
        toml::from_str(text).map_err(|error| Error::invalid("suite", "file", error.to_string()))?;
    let (mut entries, mut numbers) = (Vec::new(), Vec::new());
    for mut experiment in file.experiment {
        let instances: Option<Vec<Value>> = extract(&mut experiment, "instance")?;
        for changes in instances.unwrap_or_else(|| vec![json!({})]) {
            let mut own = experiment.clone();
            change(&mut own, changes);
            let fixed: Option<bool> = extract(&mut own, "fixed")?;
            let published: Option<Vec<Published>> = extract(&mut own, "published")?;
            let agents: Option<Vec<Value>> = extract(&mut own, "agent")?;
            let agents = read_agents(agents.unwrap_or_default())?;
            for mut entry in expand(&own, "instance")? {
                for number in published.iter().flatten() {
                    numbers.push(number.about(&entry)?);
                }
                entry.experiment.agent = agents.clone();
                entry.fixed = fixed.unwrap_or_default();
                entry.lenient = true;
                entries.push(entry);
            }
        }
    }
    Ok((entries, numbers))
}

/// Removes a key that experiments of `banister run` do not have, and reads it.
fn extract<T: DeserializeOwned>(experiment: &mut Value, key: &str) -> Result<T, Error> {
    let value = experiment.as_object_mut().and_then(|keys| keys.remove(key));
    serde_json::from_value(value.unwrap_or_default())
        .map_err(|error| Error::invalid(key, "in a suite", error.to_string()))
}

/// Changes tables key by key, lists of tables one by one, anything else as a whole.
fn change(value: &mut Value, changes: Value) {
    match (value, changes) {
        (Value::Object(keys), Value::Object(changes)) => {
            for (key, changes) in changes {
                change(keys.entry(key).or_insert(Value::Null), changes);
            }
        }
        (Value::Array(tables), Value::Array(changes)) if changes.iter().all(Value::is_object) => {
            tables.resize(tables.len().max(changes.len()), Value::Null);
            for (table, changes) in tables.iter_mut().zip(changes) {
                change(table, changes);
            }
        }
        (value, changes) => *value = changes,
    }
}

fn read_agents(declared: Vec<Value>) -> Result<Vec<AgentConfig>, Error> {
    let mut list = Vec::new();
    for value in declared {
        if value.get("everyone").is_none() {
            list.push(parts::agent(value)?);
            continue;
        }
        let Everyone {
            everyone,
            parameter_norm,
        } = serde_json::from_value(value)
            .map_err(|error| Error::invalid("agent", "everyone", error.to_string()))?;
        let all = parts::all(matches!(everyone, Supported::Features))?.into_iter();
        list.extend(all.map(|agent| match parameter_norm {
            Some(norm) => agent.with_parameter_norm(norm),
            None => agent,
        }));
    }
    Ok(list)
}

impl Published {
    fn about(&self, entry: &Entry) -> Result<PublishedNumber, Error> {
        let spread = match (self.population_sd, self.population_runs) {
            (None, None) => None,
            (Some(sd), Some(runs)) => Some(Spread::of_population(sd, runs)),
            _ => {
                let allowed = "`population_sd` and `population_runs` come together";
                return Err(Error::invalid("published", self.value, allowed));
            }
        };
        Ok(PublishedNumber {
            instance: entry.experiment.name.clone().unwrap_or_default(),
            agent: self.agent.clone(),
            quantity: self.quantity,
            value: self.value,
            margin: self.margin,
            spread,
            horizon: entry.experiment.run.horizon,
            runs: self.runs,
            source: self.source.clone(),
        })
    }
}
