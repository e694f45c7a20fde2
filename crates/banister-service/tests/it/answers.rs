//! Answers are what the documents say they are.

use std::collections::BTreeSet;

use banister_engine::{
    CreateExperiment, Database, Decide, Decided, Monitor, NamedPolicy, Options, Writer,
};
use banister_service::openapi;
use banister_service::routes::{Access, ROUTES};
use serde_json::{Value, json};

struct Deaf;

impl Monitor for Deaf {
    fn committed(&self, _: usize, _: f64) {}
    fn clock(&self, _: f64) {}

    fn follows(&self, _: u64, _: u64) {}
    fn outage(&self, _: Option<&str>) {}
}

fn decide(writer: &Writer, name: &str, request: Value) -> Decided {
    let command = Decide::new(name.into(), serde_json::from_value(request).unwrap());
    writer.handle().execute_blocking(command).unwrap()
}

/// The same decision, written field by field.
fn plain(decided: &Decided) -> Value {
    let NamedPolicy {
        own,
        info,
        candidates,
    } = &decided.published;
    let mut plain = json!({
        "id": decided.id,
        "experiment": info.experiment,
        "number": decided.number,
        "time": decided.time.to_string(),
        "action": info.action_name(candidates, decided.index),
        "index": decided.index,
        "safe": decided.index == own.safe,
        "probability": own.probability(decided.index),
        "shadow": decided.shadow,
    });
    let policy = own.policy.iter().map(|&(index, probability)| {
        json!({
            "action": info.action_name(candidates, index as u32),
            "index": index,
            "safe": index == own.safe as usize,
            "probability": probability,
        })
    });
    plain["policy"] = policy.collect();
    let certificate = own.certificate(&info.promises, info.assumptions.clone());
    plain["certificate"] = serde_json::to_value(certificate).unwrap();
    if let Some(segment) = &own.segment {
        plain["segment"] = serde_json::to_value(segment).unwrap();
    }
    plain
}

#[test]
fn decisions_are_written_as_their_type_says() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::Sqlite(folder.path().join("log.db"));
    let writer = Writer::start(database, Options::default(), Box::new(Deaf)).unwrap();
    let guardrails = json!([{"name": "a \"cost\"", "at_most": 0.5, "safe_cost": 0.1}]);
    for declaration in [
        json!({"name": "arms", "arms": ["x \u{1f389}", "\"quoted\\"], "safe": "\"quoted\\", "guardrails": guardrails}),
        json!({"name": "actions", "dimension": 2, "safe_action": [1, 0], "guardrails": guardrails,
            "agent": {"kind": "oplb", "parameter_norm": 1}}),
        json!({"name": "segments", "arms": ["x", "y"], "safe": "x", "guardrails": guardrails, "segments": ["d\"e"]}),
    ] {
        let command = CreateExperiment(serde_json::from_value(declaration).unwrap());
        writer.handle().execute_blocking(command).unwrap();
    }
    let candidates =
        json!({"id": "a\"b", "actions": [[0.1, 0.2], {"name": "n<>", "features": [0.3, 0.1]}]});
    for decided in [
        decide(&writer, "arms", json!({})),
        decide(&writer, "arms", json!({"id": "mine"})),
        decide(&writer, "actions", candidates.clone()),
        // Repeated: read from the log, the same again.
        decide(&writer, "actions", candidates),
        decide(
            &writer,
            "segments",
            json!({"id": "mine", "segment": "d\"e"}),
        ),
        decide(
            &writer,
            "segments",
            json!({"id": "mine", "segment": "d\"e"}),
        ),
    ] {
        let written = serde_json::to_string(&decided).unwrap();
        let read: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(read, plain(&decided));
        // The part that is kept with the policy is the same the second time.
        assert_eq!(serde_json::to_string(&decided).unwrap(), written);
    }
}

#[test]
fn the_document_has_every_route_and_no_loose_end() {
    let document = openapi::document(1000);
    assert_eq!(document["openapi"], "3.1.0");
    let mut documented = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            documented.insert((method.to_uppercase(), path.clone()));
            assert!(operation["summary"].is_string());
        }
    }
    let routes: BTreeSet<_> = (ROUTES.iter())
        .map(|route| (route.method.to_string(), route.path.to_string()))
        .collect();
    assert_eq!(documented, routes);
    let operations: BTreeSet<_> = ROUTES.iter().map(|route| route.operation).collect();
    assert_eq!(
        operations.len(),
        ROUTES.len(),
        "operations have names of their own"
    );
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let doubled = |name: &&String| name.ends_with(|c: char| c.is_ascii_digit());
    assert_eq!(schemas.keys().find(doubled), None, "two types of one name");
    let mut loose = Vec::new();
    references(&document, &mut |reference| {
        let pointer = reference.trim_start_matches('#');
        if document.pointer(pointer).is_none() {
            loose.push(reference.to_string());
        }
    });
    assert_eq!(loose, Vec::<String>::new());
}

fn references(value: &Value, found: &mut impl FnMut(&str)) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), value) {
                    ("$ref", Value::String(reference)) => found(reference),
                    _ => references(value, found),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[test]
fn only_what_tells_nothing_is_open() {
    let open: Vec<&str> = (ROUTES.iter())
        .filter(|route| route.access == Access::Open)
        .map(|route| route.path)
        .collect();
    assert_eq!(open, ["/", "/healthz", "/readyz"]);
}
