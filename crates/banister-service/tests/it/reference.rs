//! The book's pages of routes and of reasons are made from the OpenAPI document: `BLESS=1` writes them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use banister_service::openapi;
use serde_json::Value;

use crate::schema::{self, one_line};

const ROUTES: &str = "\
# Routes

Every route of the service, and the fields of what it takes and gives. This page is made from `/openapi.json`, which a running
service serves for programs. [The service](../service.md) explains them.

Answers of other routes than those of OFREP that refuse are [problems](#problem). A route needs a token with the right that is
named, once there are tokens: [tokens](../service.md#tokens).
";

const ERRORS: &str = "\
# Statuses, fallbacks and alarms

The reasons that answers and certificates give. This page is made from the program.
";

/// Statuses that answers have, with what to do.
const STATUSES: [(u16, &str); 12] = [
    (200, "done; of a repeated request, done before"),
    (201, "created"),
    (304, "nothing has changed since the `ETag` that was sent"),
    (400, "the request cannot be read: mend its form"),
    (401, "no token, or one that is not known or has expired"),
    (
        403,
        "the token has another role or scope, or a page of another site asks",
    ),
    (404, "there is no such experiment, decision, arm or lease"),
    (
        409,
        "it contradicts what is there, such as another outcome of the same decision",
    ),
    (413, "the body is too long: send less at once"),
    (
        415,
        "the content type is another one: send JSON, or CSV where a file is meant",
    ),
    (
        422,
        "a field has a value that is not allowed: the problem names the field, the value and what is allowed",
    ),
    (
        429,
        "more than a limit or a budget allows: come again after `Retry-After`",
    ),
];

fn link(reference: &str) -> String {
    let name = reference.rsplit('/').next().unwrap_or("");
    format!("[{name}](#{})", name.to_lowercase())
}

/// The type of a value, a named one as a link.
fn kind(schema: &Value) -> String {
    schema::kind(schema, &link)
}

/// The most that a value may be, or may have.
fn most(schema: &Value) -> String {
    let bounds = [
        ("maxItems", ""),
        ("maxLength", " characters"),
        ("maximum", ""),
    ];
    let bounds = bounds.map(|(key, of)| (&schema[key], of));
    // Numbers of 16 bits end there.
    let is_bound = |most: &Value| most.is_number() && *most != u16::MAX;
    let found = bounds.iter().find(|(most, _)| is_bound(most));
    found.map_or(String::new(), |(most, of)| format!(", at most {most}{of}"))
}

/// The schemas that are reached from others by reference, in the order of their names.
fn fields(page: &mut String, name: &str, schema: &Value) {
    write!(page, "\n### {name}\n\n").unwrap();
    let description = one_line(&schema["description"]);
    if !description.is_empty() {
        writeln!(page, "{description}\n").unwrap();
    }
    let required: Vec<&str> = (schema["required"].as_array().into_iter().flatten())
        .filter_map(Value::as_str)
        .collect();
    match schema["properties"]
        .as_object()
        .filter(|own| !own.is_empty())
    {
        Some(properties) => {
            *page += "| field | type | meaning |\n|---|---|---|\n";
            for (key, own) in properties {
                let mark = if required.contains(&key.as_str()) {
                    ""
                } else {
                    " (optional)"
                };
                let meaning = one_line(&own["description"]);
                let (kind, most) = (kind(own), most(own));
                writeln!(page, "| `{key}`{mark} | {kind}{most} | {meaning} |").unwrap();
            }
        }
        None => writeln!(page, "{}", values(schema)).unwrap(),
    }
}

/// The values of an enumeration with their meanings, or its type.
fn values(schema: &Value) -> String {
    let all = schema["oneOf"]
        .as_array()
        .filter(|all| all.iter().all(|own| own["const"].is_string()));
    let Some(all) = all else {
        return format!("{}.", kind(schema));
    };
    let mut table = "| value | meaning |\n|---|---|\n".to_string();
    for own in all {
        let meaning = one_line(&own["description"]);
        writeln!(
            table,
            "| `{}` | {meaning} |",
            own["const"].as_str().unwrap()
        )
        .unwrap();
    }
    table.trim_end().into()
}

fn routes() -> String {
    let document = openapi::document(1000);
    let mut page = ROUTES.to_string();
    page += "\n| route | right | what it does | takes | gives |\n|---|---|---|---|---|\n";
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, own) in item.as_object().unwrap() {
            let of = |body: &Value| {
                let contents = body["content"].as_object().into_iter().flatten();
                let kinds = contents.map(|(media, own)| match own["schema"]["$ref"].as_str() {
                    Some(reference) => link(reference),
                    None => format!("`{media}`"),
                });
                kinds.collect::<Vec<_>>().join(", ")
            };
            let right = one_line(&own["description"]);
            let right = right.split('`').nth(1).unwrap_or("none").to_string();
            let summary = one_line(&own["summary"]);
            let taken = of(&own["requestBody"]);
            let responses = own["responses"].as_object().unwrap();
            let done = responses
                .iter()
                .find(|(status, _)| status.starts_with("20"));
            let given = done.map_or(String::new(), |(_, own)| of(own));
            let method = method.to_uppercase();
            writeln!(
                page,
                "| `{method} {path}` | {right} | {summary} | {taken} | {given} |"
            )
            .unwrap();
        }
    }
    page += "\n## Fields\n";
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        fields(&mut page, name, schema);
    }
    page
}

fn reasons() -> String {
    let document = openapi::document(1000);
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let mut page = ERRORS.to_string();
    page += "\n## Statuses of the service\n\n| status | meaning |\n|---|---|\n";
    for (status, meaning) in STATUSES {
        writeln!(page, "| {status} | {meaning} |").unwrap();
    }
    page += "| 503 | the log cannot be written now: come again after `Retry-After` |\n";
    page += "\nThe programs exit with 0 if all went well, with 2 if the input or the usage is wrong, and with 1 for anything else.\n";
    let titles = BTreeMap::from([
        ("Fallback", "Fallbacks: why the safe action was forced"),
        ("AlarmKind", "Alarms: which assumption failed"),
        ("WarningKind", "Warnings, which never act"),
        ("SolverStatus", "Statuses of the solver"),
    ]);
    for (name, title) in titles {
        if let Some(schema) = schemas.get(name) {
            write!(page, "\n## {title}\n\n{}\n", values(schema)).unwrap();
        }
    }
    page
}

fn check(name: &str, current: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(folder.join(name), current).unwrap();
    }
    let stored = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    assert!(
        stored == current,
        "{name} is another one: `cargo xtask book` writes it anew"
    );
}

#[test]
fn the_pages_of_routes_and_reasons_are_those_of_the_document() {
    check("routes.md", &routes());
    check("errors.md", &reasons());
}
