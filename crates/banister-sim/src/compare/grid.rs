//! Grids: lists of values in an experiment file, one experiment for each combination.
//!
//! A field of the run, the environment, the reward or a guardrail that is given as a list makes one instance per value;
//! a field of an agent makes one agent per value, and these play the same instances. Where a field is a list by nature
//! (`rewards`, `range`, `mu`), a list of such lists is what sweeps it.

use banister::toolkit::{FieldPath, Within};
use banister::{Error, Registry as _};
use banister_rivals::AgentConfig;
use serde_json::{Map, Value};

use super::entry::{Entry, FieldValue};
use crate::config::ExperimentConfig;
use crate::environment::EnvironmentConfig;

/// Most combinations: more is a typing error.
const MAX_CELLS: usize = 10_000;

/// A field that has several values.
struct Swept {
    /// The table it is in: a key, and where tables repeat which of them.
    table: (String, Option<usize>),
    key: String,
    values: Vec<Value>,
}

impl Swept {
    /// Name of the field in results.
    fn name(&self) -> FieldPath {
        let table = match &*self.table.0 {
            "guardrail" => "guardrails",
            other => other,
        };
        let place = self
            .table
            .1
            .map_or_else(FieldPath::default, FieldPath::from);
        place.within(table).key(&self.key)
    }

    fn set(&self, experiment: &mut Value, value: &Value) {
        let mut table = &mut experiment[&self.table.0];
        if let Some(i) = self.table.1 {
            table = &mut table[i];
        }
        table[&self.key] = value.clone();
    }
}

/// Expands a file into its experiments, in the order of its fields: one entry per instance, named `name`
/// where the file has no name. A file without lists of values makes one.
///
/// ```
/// let file = serde_json::json!({
///     "environment": {"kind": "bernoulli", "rewards": [0.1, 0.7], "costs": [[0.0, 0.2]]},
///     "guardrail": [{"name": "spend", "at_most": [0.1, 0.5], "safe_cost": 0.0}],
///     "agent": [{"kind": "opb", "delta": [0.1, 0.01, 0.001]}],
/// });
/// let entries = banister_sim::compare::expand(&file, "two by three")?;
/// assert_eq!(entries.len(), 2);
/// assert_eq!(entries[0].experiment.agent.len(), 3);
/// assert_eq!(entries[1].experiment.name.as_deref(), Some("two by three, at_most = 0.5"));
/// # Ok::<(), banister::Error>(())
/// ```
///
/// # Errors
/// An invalid experiment, an empty list, or more combinations than anybody means.
pub fn expand(file: &Value, name: &str) -> Result<Vec<Entry>, Error> {
    match file.pointer("/run/coupled") {
        None | Some(Value::Bool(true)) => {}
        Some(other) => {
            let allowed = "the runs of a comparison are always coupled: leave it out";
            return Err(Error::invalid("run.coupled", other, allowed));
        }
    }
    let base = file.get("name").and_then(Value::as_str).unwrap_or(name);
    let mut plain = file.clone();
    let agent_fields = expand_agents(&mut plain)?;
    let swept = instance_fields(&plain)?;
    let count = swept
        .iter()
        .map(|s| s.values.len())
        .try_fold(1_usize, |all, n| all.checked_mul(n));
    let count = count.filter(|n| *n <= MAX_CELLS).ok_or_else(|| {
        let allowed = format!("at most {MAX_CELLS} combinations");
        Error::invalid("grid", "too large", allowed)
    })?;
    let short = short_names(&swept);
    let mut entries = Vec::with_capacity(count);
    for cell in 0..count {
        let mut experiment = plain.clone();
        let (mut fields, mut words) = (Vec::new(), vec![base.to_string()]);
        // The first field turns slowest.
        let mut rest = cell;
        let mut places = vec![0; swept.len()];
        for (i, field) in swept.iter().enumerate().rev() {
            places[i] = rest % field.values.len();
            rest /= field.values.len();
        }
        for ((field, short), place) in swept.iter().zip(&short).zip(places) {
            let value = &field.values[place];
            field.set(&mut experiment, value);
            let shown = FieldValue::from(value);
            words.push(format!("{short} = {shown}"));
            fields.push((short.clone(), shown));
        }
        let name = words.join(", ");
        experiment["name"] = name.clone().into();
        let experiment = read(experiment, &name)?;
        entries.push(Entry {
            experiment,
            fixed: false,
            lenient: false,
            fields,
            agent_fields: agent_fields.clone(),
        });
    }
    Ok(entries)
}

/// Reads an experiment; an error about a key of its environment names the key.
fn read(experiment: Value, name: &str) -> Result<ExperimentConfig, Error> {
    let environment = &experiment["environment"];
    let kind = environment["kind"].as_str().unwrap_or("");
    if let Err(error) = serde_json::from_value::<EnvironmentConfig>(environment.clone())
        && let Some(error) = EnvironmentConfig::explain_key(kind, &error.to_string())
    {
        return Err(error);
    }
    serde_json::from_value(experiment)
        .map_err(|error| Error::invalid("experiment", name, error.to_string()))
}

/// True where a file has lists of values.
pub fn is_grid(file: &Value) -> bool {
    let mut plain = file.clone();
    let agents = expand_agents(&mut plain).is_ok_and(|fields| fields.iter().all(Vec::is_empty));
    !(agents && instance_fields(&plain).is_ok_and(|swept| swept.is_empty()))
}

/// Replaces agents with lists of values by one for each combination, and returns the values of each.
fn expand_agents(file: &mut Value) -> Result<Vec<Vec<(String, FieldValue)>>, Error> {
    let Some(Value::Array(agents)) = file.get_mut("agent") else {
        return Ok(Vec::new());
    };
    let (mut expanded, mut fields) = (Vec::new(), Vec::new());
    for (i, agent) in agents.iter().enumerate() {
        let Value::Object(table) = agent else {
            expanded.push(agent.clone());
            fields.push(Vec::new());
            continue;
        };
        let kind = table.get("kind").and_then(Value::as_str).unwrap_or("");
        let mut variants = vec![(table.clone(), Vec::new())];
        for (key, value) in table {
            let Some(values) = swept_values(value, agent_depth(kind, key)) else {
                continue;
            };
            check_values(values).within(key).within(("agent", i))?;
            if variants.len().saturating_mul(values.len()) > MAX_CELLS {
                let allowed = format!("at most {MAX_CELLS} combinations");
                return Err(Error::invalid(("agent", i), "too many", allowed));
            }
            let each = |(table, fields): &(Map<String, Value>, Vec<(String, FieldValue)>)| {
                let one = |value: &Value| {
                    let (mut table, mut fields) = (table.clone(), fields.clone());
                    table.insert(key.clone(), value.clone());
                    fields.push((key.clone(), FieldValue::from(value)));
                    (table, fields)
                };
                values.iter().map(one).collect::<Vec<_>>()
            };
            variants = variants.iter().flat_map(each).collect();
        }
        for (mut table, swept) in variants {
            if !swept.is_empty() {
                let word = |key: &str| table.get(key).and_then(Value::as_str);
                let mut label = word("label").or(word("kind")).unwrap_or("").to_string();
                // Values that the label begins with are not repeated.
                let told = if table.contains_key("label") {
                    "label"
                } else {
                    "kind"
                };
                for (key, value) in swept.iter().filter(|(key, _)| key != told) {
                    label += &format!(", {key} = {value}");
                }
                table.insert("label".into(), label.into());
            }
            expanded.push(Value::Object(table));
            fields.push(swept);
        }
    }
    *agents = expanded;
    Ok(fields)
}

/// Finds the swept fields of everything but the agents.
fn instance_fields(file: &Value) -> Result<Vec<Swept>, Error> {
    let mut all = Vec::new();
    for table in ["run", "environment", "reward", "guardrail", "guardrails"] {
        match file.get(table) {
            Some(Value::Object(fields)) => collect(table, None, fields, &mut all)?,
            Some(Value::Array(tables)) => {
                for (i, fields) in tables.iter().enumerate() {
                    if let Value::Object(fields) = fields {
                        collect(table, Some(i), fields, &mut all)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(all)
}

fn collect(
    table: &str,
    place: Option<usize>,
    fields: &Map<String, Value>,
    all: &mut Vec<Swept>,
) -> Result<(), Error> {
    let by_segment = fields.get("kind").is_some_and(|kind| kind == "segmented");
    for (key, value) in fields {
        if let Some(values) = swept_values(value, depth_by_nature(key, value, by_segment)) {
            let swept = Swept {
                table: (table.to_string(), place),
                key: key.clone(),
                values: values.clone(),
            };
            check_values(values).at(swept.name())?;
            all.push(swept);
        }
    }
    Ok(())
}

fn check_values(values: &[Value]) -> Result<(), Error> {
    if values.is_empty() {
        let allowed = "give at least one value";
        return Err(Error::invalid("", "an empty list", allowed));
    }
    match (1..values.len()).find(|&i| values[..i].contains(&values[i])) {
        None => Ok(()),
        Some(i) => {
            let value = format!("{} twice", values[i]);
            Err(Error::invalid("", value, "give every value once"))
        }
    }
}

/// Returns the values, if there is one list more than the field has by nature.
fn swept_values(value: &Value, nature: usize) -> Option<&Vec<Value>> {
    match value {
        Value::Array(values) if depth(value) == nature + 1 => Some(values),
        _ => None,
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(values) => 1 + values.first().map_or(0, depth),
        _ => 0,
    }
}

/// Depth of lists in a field of an instance that is not swept; means by segment are one list deeper.
fn depth_by_nature(key: &str, value: &Value, by_segment: bool) -> usize {
    match key {
        "arms" | "features" | "theta" | "safe_costs" | "columns" | "range" | "threshold_range"
        | "expression" | "ratio" | "segments" | "frequencies" | "changes" | "moves" => 1,
        "rewards" => 1 + usize::from(by_segment),
        "costs" => 2 + usize::from(by_segment),
        "mu" => 2,
        // A word, or a list of vectors.
        "actions" if depth(value) >= 2 => 2,
        _ => 0,
    }
}

/// Depth of lists in a field of an agent, as the registry describes it.
fn agent_depth(kind: &str, key: &str) -> usize {
    let schema = AgentConfig::schema();
    let kinds = schema["oneOf"].as_array().into_iter().flatten();
    let own = kinds.filter(|own| own["properties"]["kind"]["const"] == kind);
    let lists = |mut field: &Value| {
        let mut depth = 0;
        loop {
            let is_list = match &field["type"] {
                Value::Array(types) => types.contains(&"array".into()),
                one => one == "array",
            };
            if !is_list {
                return depth;
            }
            depth += 1;
            field = &field["items"];
        }
    };
    own.map(|own| lists(&own["properties"][key]))
        .max()
        .unwrap_or(0)
}

/// Drops the tables from the names of swept fields, where that leaves them apart.
fn short_names(swept: &[Swept]) -> Vec<String> {
    let name = |field: &Swept| {
        let same = swept.iter().filter(|other| other.key == field.key).count();
        match same {
            1 => field.key.clone(),
            _ => field.name().to_string(),
        }
    };
    swept.iter().map(name).collect()
}
