//! Answers are what the documents say they are.

use std::collections::BTreeSet;

use banister_engine::{CreateExperiment, Database, Decide, Decided, Monitor, Options, Writer};
use banister_service::answer::{self, Decision};
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

/// The same decision, serialised from its type.
fn plain(decided: &Decided) -> String {
    let info = &decided.info;
    serde_json::to_string(&Decision {
        id: decided.shown_id(),
        experiment: info.experiment.clone(),
        number: decided.number,
        time: decided.time,
        action: info.action_name(&decided.candidates, decided.action),
        index: decided.action,
        safe: decided.action == decided.published.safe,
        probability: decided.probability,
        shadow: decided.shadow,
        policy: info.policy(&decided.published, &decided.candidates),
        certificate: info.certificate(&decided.published),
        segment: decided.published.segment.clone(),
    })
    .unwrap()
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
        let fast = answer::decision(&decided).unwrap();
        assert_eq!(fast, plain(&decided));
        // The part that is kept with the policy is the same the second time.
        assert_eq!(answer::decision(&decided).unwrap(), fast);
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
