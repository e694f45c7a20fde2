//! The book's page of parameters is made from the types of experiment files: `BLESS=1` writes it.

use std::fmt::Write as _;
use std::path::Path;

use banister_sim::ExperimentConfig;
use serde_json::Value;

use crate::schema::{self, one_line};

const HEAD: &str = "\
# Parameters

Every key of an [experiment file](../experiments.md), with its default and its meaning. Guardrails, the reward and agents have the
same keys in Python and in the service. This page is made from the program.
";

/// The type of a value, that of a definition in its place.
fn kind(schema: &Value, root: &Value) -> String {
    schema::kind(schema, &|name| kind(&root["$defs"][name], root))
}

/// A table of the keys of an object, without those named.
fn keys(page: &mut String, of: &Value, root: &Value, without: &[&str]) {
    let properties = of["properties"].as_object().unwrap();
    let wanted: Vec<_> = (properties
        .iter()
        .filter(|own| !without.contains(&own.0.as_str())))
    .collect();
    if wanted.is_empty() {
        return;
    }
    *page += "\n| key | type | default | meaning |\n|---|---|---|---|\n";
    for (key, own) in wanted {
        let default = match &own["default"] {
            Value::Null => "—".into(),
            value => format!("`{value}`").replace('"', ""),
        };
        let (kind, meaning) = (kind(own, root), one_line(&own["description"]));
        writeln!(page, "| `{key}` | {kind} | {default} | {meaning} |").unwrap();
    }
}

fn page() -> String {
    let schema = schemars::schema_for!(ExperimentConfig).to_value();
    let of = |name: &str| &schema["$defs"][name];
    let mut page = HEAD.to_string();
    let tables = [
        ("[run]", "RunConfig"),
        ("[reward]", "SignalConfig"),
        ("[[guardrail]]", "Guardrail"),
    ];
    for (title, name) in tables {
        write!(
            page,
            "\n## `{title}`\n\n{}\n",
            one_line(&of(name)["description"])
        )
        .unwrap();
        keys(&mut page, of(name), &schema, &[]);
    }
    for (title, name, one) in [
        ("[environment]", "EnvironmentConfig", "kind"),
        ("[[agent]]", "AgentConfig", "kind"),
    ] {
        write!(
            page,
            "\n## `{title}`\n\n{}\n",
            one_line(&of(name)["description"])
        )
        .unwrap();
        for kind in of(name)["oneOf"].as_array().unwrap() {
            let name = kind["properties"]["kind"]["const"].as_str().unwrap();
            write!(page, "\n### {name}\n\n{}\n", one_line(&kind["description"])).unwrap();
            keys(&mut page, of_reference(kind, &schema), &schema, &[one]);
        }
    }
    page
}

/// The object that a kind refers to, if it does not have its keys itself.
fn of_reference<'a>(kind: &'a Value, root: &'a Value) -> &'a Value {
    match kind["$ref"].as_str().and_then(|own| own.rsplit('/').next()) {
        Some(name) => &root["$defs"][name],
        None => kind,
    }
}

#[test]
fn the_page_of_parameters_is_made_from_the_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/parameters.md");
    let current = page();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &current).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        stored == current,
        "parameters changed: `cargo xtask book` writes the page anew"
    );
}
