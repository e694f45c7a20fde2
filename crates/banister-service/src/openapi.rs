//! The OpenAPI document, made from the table of routes and the types of bodies and answers.

use banister::ArmWeights;
use banister::lease::SignedLease;
use banister_engine::{
    Cancelled, Change, Decided, DecisionRequest, Declaration, ExperimentReport, ExperimentState,
    ExperimentView, Health, HistoryView, LeaseRequest, LiftsView, NamedArm, OutcomeReport,
    Reported, SegmentList,
};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::handlers::audit::{Audit, DecisionList};
use crate::handlers::changes::ChangeList;
use crate::handlers::decisions::{BatchResults, DecisionBatch, OutcomeBatch};
use crate::handlers::exchange::Imported;
use crate::handlers::experiments::{Acknowledgement, ExperimentList};
use crate::handlers::flags::{
    Evaluation, EvaluationError, EvaluationRequest, Evaluations, TrackingBatch, TrackingResults,
};
use crate::handlers::leases::ExposureBatch;
use crate::handlers::operations::{Status, WhoAmI};
use crate::problem::Problem;
use crate::routes::{Access, Gives, ROUTES, Route, Takes};

/// The document of a service whose batches have `most` entries at most.
pub fn document(most: usize) -> Value {
    let mut paths = Map::new();
    for route in ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_lowercase()] = operation(route);
    }
    let mut schemas = schemas();
    for (batch, entries) in [
        ("DecisionBatch", "decisions"),
        ("OutcomeBatch", "outcomes"),
        ("ExposureBatch", "exposures"),
        ("TrackingBatch", "events"),
    ] {
        schemas[batch]["properties"][entries]["maxItems"] = most.into();
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "banister",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Decisions with guardrails: every policy keeps its expected costs under given thresholds, and every decision carries the certificate.",
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "bearer": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
        },
    })
}

fn reference(name: &str) -> Value {
    match name {
        "Any" => json!({ "type": "object" }),
        name => json!({ "$ref": format!("#/components/schemas/{name}") }),
    }
}

fn operation(route: &Route) -> Value {
    let mut responses = Map::new();
    let (status, gives) = &route.gives;
    let content = match gives {
        Gives::Json(schema) => json!({ "application/json": { "schema": reference(schema) } }),
        Gives::Page(schema) => json!({
            "application/json": { "schema": reference(schema) }, "text/html": { "schema": {} },
        }),
        Gives::Media(kinds) => kinds
            .iter()
            .map(|kind| (kind.to_string(), json!({ "schema": {} })))
            .collect::<Map<_, _>>()
            .into(),
    };
    let done = json!({ "description": "As asked", "content": content });
    if route.operation == "evaluate_flags" {
        let same =
            json!({ "description": "As the `ETag` of `If-None-Match` says, nothing has changed" });
        responses.insert("304".into(), same);
    }
    if route.queries.iter().any(|query| query.name == "dry_run") {
        responses.insert("200".into(), done.clone());
    }
    responses.insert(status.to_string(), done);
    let access: &[u16] = match route.access {
        Access::Open => &[400, 503],
        _ => &[400, 401, 403, 429, 503],
    };
    for status in route.problems.iter().chain(access) {
        let mut problem = json!({ "application/problem+json": { "schema": reference("Problem") } });
        if route.path.starts_with("/ofrep/") && matches!(status, 400 | 404) {
            problem["application/json"] = json!({ "schema": reference("EvaluationError") });
        }
        let description = match status {
            400 => "The request cannot be read",
            401 => "No token, or one that is not known or has expired",
            403 => "The token may not do this, or a page of another site asks",
            404 => "There is no such thing",
            409 => "It contradicts what is there",
            413 => "The body is too long",
            415 => "The body is of another kind",
            422 => "A field has a value that is not allowed",
            429 => "More than a limit or a budget allows",
            _ => "The log cannot be written now",
        };
        let response = json!({ "description": description, "content": problem });
        responses.insert(status.to_string(), response);
    }
    let mut operation = json!({
        "operationId": route.operation,
        "summary": route.summary,
        "parameters": parameters(route),
        "responses": responses,
    });
    if route.access == Access::Open {
        operation["security"] = json!([]);
    } else {
        let right = route.access.name();
        operation["description"] = format!("Needs the right to `{right}`.").into();
    }
    let json = |schema: &str, required: bool| {
        json!({
            "required": required,
            "content": { "application/json": { "schema": reference(schema) } },
        })
    };
    match route.takes {
        Takes::Nothing => {}
        Takes::Json(schema) => operation["requestBody"] = json(schema, true),
        Takes::Optional(schema) => operation["requestBody"] = json(schema, false),
        Takes::File => {
            operation["requestBody"] = json!({ "required": true, "content": {
                "text/csv": { "schema": { "type": "string" } },
            } });
        }
    }
    operation
}

fn parameters(route: &Route) -> Value {
    let in_path = route.path.split('/').filter_map(|part| {
        let name = part.strip_prefix('{')?.strip_suffix('}')?;
        Some(json!({
            "name": name, "in": "path", "required": true,
            "schema": { "type": "string", "minLength": 1 },
        }))
    });
    let in_query = route.queries.iter().map(|query| {
        let schema: Value = serde_json::from_str(query.schema).unwrap_or_default();
        json!({ "name": query.name, "in": "query", "description": query.summary, "schema": schema })
    });
    in_path.chain(in_query).collect()
}

fn schemas() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut taken = settings.clone().for_deserialize().into_generator();
    taken.subschema_for::<Declaration>();
    taken.subschema_for::<Change>();
    taken.subschema_for::<Acknowledgement>();
    taken.subschema_for::<NamedArm>();
    taken.subschema_for::<ArmWeights>();
    taken.subschema_for::<DecisionRequest>();
    taken.subschema_for::<DecisionBatch>();
    taken.subschema_for::<OutcomeReport>();
    taken.subschema_for::<OutcomeBatch>();
    taken.subschema_for::<LeaseRequest>();
    taken.subschema_for::<ExposureBatch>();
    taken.subschema_for::<TrackingBatch>();
    taken.subschema_for::<EvaluationRequest>();
    let mut given = settings.for_serialize().into_generator();
    given.subschema_for::<ExperimentView>();
    given.subschema_for::<ExperimentList>();
    given.subschema_for::<ExperimentState>();
    given.subschema_for::<SegmentList>();
    given.subschema_for::<HistoryView>();
    given.subschema_for::<LiftsView>();
    given.subschema_for::<Health>();
    given.subschema_for::<ExperimentReport>();
    given.subschema_for::<ChangeList>();
    given.subschema_for::<SignedLease>();
    given.subschema_for::<Evaluation>();
    given.subschema_for::<Evaluations>();
    given.subschema_for::<EvaluationError>();
    given.subschema_for::<Decided>();
    given.subschema_for::<DecisionList>();
    given.subschema_for::<BatchResults>();
    given.subschema_for::<TrackingResults>();
    given.subschema_for::<Audit>();
    given.subschema_for::<Reported>();
    given.subschema_for::<Cancelled>();
    given.subschema_for::<Imported>();
    given.subschema_for::<Status>();
    given.subschema_for::<WhoAmI>();
    given.subschema_for::<Problem>();
    // What is both taken and given (guardrails, agents) is as strict as where it is taken.
    let mut all = given.take_definitions(true);
    all.extend(taken.take_definitions(true));
    all.into()
}
