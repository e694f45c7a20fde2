//! The one table of routes: the router, the OpenAPI document and the tests of access are made from it.

use axum::http::Method;
use axum::routing::{MethodRouter, delete, get, patch, post, put};
use banister_engine::Role;

use crate::app::App;
use crate::handlers::{
    changes, decisions, exchange, experiments, flags, leases, operations, worth,
};

/// Right that a route needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// No token needed.
    Open,
    Read,
    Decide,
    Report,
    Admin,
}

impl Access {
    /// Returns true if a role has the right.
    pub fn is_of(self, role: Role) -> bool {
        match self {
            Self::Open | Self::Read => true,
            Self::Decide => role.may_decide(),
            Self::Report => role.may_report(),
            Self::Admin => role.may_admin(),
        }
    }

    /// Name of the right.
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

pub struct Route {
    pub method: Method,
    pub path: &'static str,
    pub access: Access,
    /// Operation id, for programs.
    pub operation: &'static str,
    pub summary: &'static str,
    pub takes: Takes,
    /// Status and content of its answer.
    pub gives: (u16, Gives),
    pub queries: &'static [Query],
    /// Statuses of problems it can have, beyond those that all have.
    pub problems: &'static [u16],
    pub(crate) handler: fn() -> MethodRouter<App>,
}

/// Body of a route's request.
pub enum Takes {
    Nothing,
    /// JSON of a schema.
    Json(&'static str),
    /// JSON of a schema; a missing body means `{}`.
    Optional(&'static str),
    /// A table, as CSV.
    File,
}

/// Content of a route's answer.
pub enum Gives {
    /// JSON of a schema.
    Json(&'static str),
    /// JSON of a schema, or a page for people.
    Page(&'static str),
    /// Something else, by media types.
    Media(&'static [&'static str]),
}

/// A parameter in the query.
pub struct Query {
    pub name: &'static str,
    pub summary: &'static str,
    /// Its schema as JSON.
    pub schema: &'static str,
}

impl Query {
    const fn new(name: &'static str, summary: &'static str, schema: &'static str) -> Self {
        Self {
            name,
            summary,
            schema,
        }
    }
}

const DRY_RUN: Query = Query::new(
    "dry_run",
    "Only check: nothing is written, and the answer is 200",
    r#"{"type":"boolean","default":false}"#,
);
const LIMIT: Query = Query::new(
    "limit",
    "How many at most",
    r#"{"type":"integer","minimum":1,"maximum":1000,"default":50}"#,
);
const OFFSET: Query = Query::new(
    "offset",
    "How many to leave out",
    r#"{"type":"integer","minimum":0,"default":0}"#,
);
const SEGMENT: Query = Query::new(
    "segment",
    "Only policies of decisions in this segment",
    r#"{"type":"string"}"#,
);
const LIST_LIMIT: Query = Query::new(
    "limit",
    "How many at most",
    r#"{"type":"integer","minimum":1,"maximum":1000,"default":100}"#,
);
const AFTER: Query = Query::new(
    "after",
    "Only experiments that were created after the one of this name: the `next` of the part before",
    r#"{"type":"string","minLength":1,"maxLength":64}"#,
);
const SUMMARY: Query = Query::new(
    "summary",
    "Only summaries",
    r#"{"type":"boolean","default":false}"#,
);
const BEFORE: Query = Query::new(
    "before",
    "Only decisions with a smaller number",
    r#"{"type":"integer","minimum":0,"maximum":9007199254740991}"#,
);
const ESCAPE: Query = Query::new(
    "escape",
    "Mark texts of a CSV file that a spreadsheet would take for formulas with an apostrophe",
    r#"{"type":"string","enum":["formulas"]}"#,
);
const FREQUENCIES: Query = Query::new(
    "frequencies",
    "`same` if the log is a sample of the traffic to come, and so teaches how frequent segments are",
    r#"{"type":"string","enum":["unknown","same"],"default":"unknown"}"#,
);
const FORMAT: Query = Query::new(
    "format",
    "The file's format",
    r#"{"type":"string","enum":["csv","parquet"],"default":"csv"}"#,
);

const FORM: Query = Query::new(
    "form",
    "`constant`: means are taken to stay; `concurrent`: nothing is assumed of them, and the log is read again; \
     `holdout`: so, of the experiment as a whole against the units held out",
    r#"{"type":"string","enum":["constant","concurrent","holdout"],"default":"constant"}"#,
);
const REPORT_FORMAT: Query = Query::new(
    "format",
    "Form of the report",
    r#"{"type":"string","enum":["json","html"],"default":"json"}"#,
);

macro_rules! route {
    ($method:ident $path:literal, $access:ident, $operation:literal, $summary:literal,
     $takes:expr, $gives:expr, $queries:expr, $problems:expr, $handler:expr) => {
        Route {
            method: Method::$method,
            path: $path,
            access: Access::$access,
            operation: $operation,
            summary: $summary,
            takes: $takes,
            gives: $gives,
            queries: $queries,
            problems: $problems,
            handler: || $handler,
        }
    };
}

/// Path that is answered in an outage, too.
pub const METRICS: &str = "/metrics";

/// All routes, in the order of the OpenAPI document.
pub static ROUTES: &[Route] = &[
    route!(GET "/", Open, "page", "The page", Takes::Nothing, (200, Gives::Media(&["text/html"])), &[], &[],
        get(operations::page)),
    route!(GET "/healthz", Open, "health", "Whether the process is alive", Takes::Nothing,
        (200, Gives::Json("Status")), &[], &[], get(operations::health)),
    route!(GET "/readyz", Open, "ready", "Whether the log can be written", Takes::Nothing,
        (200, Gives::Json("Status")), &[], &[503], get(operations::ready)),
    route!(GET "/metrics", Read, "metrics", "Numbers for Prometheus", Takes::Nothing,
        (200, Gives::Media(&["application/openmetrics-text"])), &[], &[], get(operations::metrics)),
    route!(GET "/openapi.json", Read, "openapi", "This document", Takes::Nothing,
        (200, Gives::Json("Any")), &[], &[], get(operations::openapi)),
    route!(GET "/v1/whoami", Read, "whoami", "What the token may do", Takes::Nothing,
        (200, Gives::Json("WhoAmI")), &[], &[], get(operations::whoami)),
    route!(GET "/v1/agents", Read, "agents", "The registry of agents, as JSON Schema", Takes::Nothing,
        (200, Gives::Json("Any")), &[], &[], get(operations::agents)),
    route!(GET "/v1/experiments", Read, "list_experiments", "Experiments, oldest first", Takes::Nothing,
        (200, Gives::Json("ExperimentList")), &[LIST_LIMIT, AFTER, SUMMARY], &[400, 404, 503], get(experiments::list)),
    route!(POST "/v1/experiments", Admin, "create_experiment", "Create an experiment",
        Takes::Json("Declaration"), (201, Gives::Json("Experiment")), &[DRY_RUN],
        &[400, 409, 413, 415, 422, 503], post(experiments::create)),
    route!(GET "/v1/experiments/{name}", Read, "read_experiment", "One experiment", Takes::Nothing,
        (200, Gives::Json("Experiment")), &[], &[404, 503], get(experiments::show)),
    route!(PATCH "/v1/experiments/{name}", Admin, "change_experiment",
        "Describe, pause, resume or archive it; shadow mode; time to live; budgets; reaction to alarms",
        Takes::Optional("Change"), (200, Gives::Json("Experiment")), &[],
        &[400, 404, 409, 413, 415, 422, 503], patch(experiments::change)),
    route!(POST "/v1/experiments/{name}/arms", Admin, "add_arm", "Add an arm, or offer a retired one again",
        Takes::Json("NamedArm"), (201, Gives::Json("Experiment")), &[],
        &[400, 404, 409, 413, 415, 422, 503], post(experiments::add_arm)),
    route!(DELETE "/v1/experiments/{name}/arms/{arm}", Admin, "retire_arm", "Retire an arm", Takes::Nothing,
        (200, Gives::Json("Experiment")), &[], &[404, 409, 415, 503], delete(experiments::retire_arm)),
    route!(POST "/v1/experiments/{name}/arms/{arm}/forget", Admin, "forget_arm",
        "Forget what was learned of an arm that has changed", Takes::Nothing,
        (200, Gives::Json("Experiment")), &[], &[400, 404, 409, 415, 422, 503], post(experiments::forget_arm)),
    route!(PUT "/v1/experiments/{name}/arms/{arm}/weights", Admin, "set_weights",
        "Tell other weights of an arm, such as its prices: they count from the next decision on",
        Takes::Json("ArmWeights"), (200, Gives::Json("Experiment")), &[],
        &[400, 404, 409, 413, 415, 422, 503], put(experiments::set_weights)),
    route!(POST "/v1/experiments/{name}/alarms:acknowledge", Admin, "acknowledge_alarms",
        "Clear the alarms, once a person has seen to them", Takes::Optional("Acknowledgement"),
        (200, Gives::Json("Experiment")), &[], &[400, 404, 409, 413, 415, 422, 503],
        post(experiments::acknowledge)),
    route!(GET "/v1/experiments/{name}/state", Read, "read_state",
        "The policy now, its certificate, and the estimates of every arm", Takes::Nothing,
        (200, Gives::Json("ExperimentState")), &[], &[404, 409, 503], get(experiments::state)),
    route!(GET "/v1/experiments/{name}/segments", Read, "list_segments",
        "Segments and the policy in each, those seen most often first, the pool of all others last",
        Takes::Nothing, (200, Gives::Json("SegmentList")), &[LIMIT, OFFSET], &[400, 404, 503],
        get(experiments::segments)),
    route!(GET "/v1/experiments/{name}/history", Read, "read_history", "Policies and counts over time",
        Takes::Nothing, (200, Gives::Json("History")), &[SEGMENT], &[400, 404, 503], get(experiments::history)),
    route!(GET "/v1/experiments/{name}/lift", Read, "read_lift",
        "What every arm is worth against the safe one, and what learning on could still earn", Takes::Nothing,
        (200, Gives::Json("Lifts")), &[FORM], &[400, 404, 422, 503], get(worth::lift)),
    route!(GET "/v1/experiments/{name}/health", Read, "read_health",
        "Whether the numbers can be trusted: each assumption with a light and a reason", Takes::Nothing,
        (200, Gives::Json("Health")), &[], &[404, 503], get(worth::health)),
    route!(GET "/v1/experiments/{name}/report", Read, "read_report",
        "A report for people, as JSON or as a page to print", Takes::Nothing,
        (200, Gives::Page("ExperimentReport")), &[REPORT_FORMAT], &[400, 404, 503], get(worth::report)),
    route!(GET "/v1/experiments/{name}/changes", Read, "list_changes",
        "Changes of an experiment and their authors, newest first", Takes::Nothing,
        (200, Gives::Json("ChangeList")), &[LIMIT, BEFORE], &[400, 404, 503], get(changes::list)),
    route!(POST "/v1/experiments/{name}/decisions", Decide, "decide", "Ask for a decision",
        Takes::Optional("DecisionRequest"), (200, Gives::Json("Decision")), &[],
        &[400, 404, 409, 413, 415, 422, 503], post(decisions::decide)),
    route!(GET "/v1/experiments/{name}/decisions", Read, "list_decisions", "Decisions, newest first",
        Takes::Nothing, (200, Gives::Json("DecisionList")), &[LIMIT, BEFORE], &[400, 404, 503],
        get(decisions::list)),
    route!(POST "/v1/experiments/{name}/decisions:batch", Decide, "decide_batch",
        "Ask for many decisions", Takes::Json("DecisionBatch"), (200, Gives::Json("BatchResults")), &[],
        &[400, 413, 415, 422, 503], post(decisions::decide_batch)),
    route!(GET "/v1/experiments/{name}/decisions/{id}", Read, "read_decision",
        "The audit trail of a decision", Takes::Nothing, (200, Gives::Json("Audit")), &[], &[404, 503],
        get(decisions::audit)),
    route!(POST "/v1/experiments/{name}/decisions/{id}/cancel", Decide, "cancel",
        "Say that a decision was never carried out: it counts as missing, and costs nothing", Takes::Nothing,
        (200, Gives::Json("Cancelled")), &[], &[404, 409, 415, 503], post(decisions::cancel)),
    route!(POST "/v1/experiments/{name}/outcomes", Report, "report", "Report an outcome",
        Takes::Json("OutcomeReport"), (200, Gives::Json("OutcomeAnswer")), &[],
        &[400, 404, 409, 413, 415, 422, 503], post(decisions::report)),
    route!(POST "/v1/experiments/{name}/outcomes:batch", Report, "report_batch",
        "Report many outcomes", Takes::Json("OutcomeBatch"), (200, Gives::Json("BatchResults")), &[],
        &[400, 413, 415, 422, 503], post(decisions::report_batch)),
    route!(POST "/v1/experiments/{name}/leases", Decide, "grant_lease",
        "A signed policy to draw from elsewhere, for a minute by default", Takes::Optional("LeaseRequest"),
        (200, Gives::Json("SignedLease")), &[], &[400, 404, 409, 413, 415, 422, 503], post(leases::grant)),
    route!(POST "/v1/experiments/{name}/leases/{lease}/exposures", Decide, "expose",
        "Say which units were given arms under a lease: they are decisions from then on",
        Takes::Json("ExposureBatch"), (200, Gives::Json("BatchResults")), &[],
        &[400, 404, 413, 415, 422, 503], post(leases::expose)),
    route!(POST "/v1/track", Report, "track",
        "Report tracking events: outcomes of the flags that declare a meaning of them",
        Takes::Json("TrackingBatch"), (200, Gives::Json("TrackingResults")), &[],
        &[400, 413, 415, 422, 503], post(flags::track)),
    route!(POST "/ofrep/v1/evaluate/flags/{name}", Decide, "evaluate_flag",
        "Evaluate a flag, by the OpenFeature Remote Evaluation Protocol", Takes::Optional("EvaluationRequest"),
        (200, Gives::Json("Evaluation")), &[], &[400, 404, 409, 413, 415, 422, 503], post(flags::evaluate)),
    route!(POST "/ofrep/v1/evaluate/flags", Decide, "evaluate_flags",
        "Evaluate all flags, by the OpenFeature Remote Evaluation Protocol", Takes::Optional("EvaluationRequest"),
        (200, Gives::Json("Evaluations")), &[], &[400, 409, 413, 415, 422, 503], post(flags::evaluate_all)),
    route!(GET "/v1/experiments/{name}/export", Read, "export",
        "Decisions with complete outcomes and their propensities", Takes::Nothing,
        (200, Gives::Media(&["text/csv", "application/vnd.apache.parquet"])), &[FORMAT, ESCAPE],
        &[400, 404, 503], get(exchange::export)),
    route!(POST "/v1/experiments/{name}/import", Admin, "import",
        "Learn from the outcomes of another log", Takes::File, (200, Gives::Json("Imported")),
        &[FREQUENCIES],
        &[400, 404, 409, 413, 415, 422, 503], post(exchange::import)),
];

/// Stands for paths without a route, so that the middleware counts and logs them too.
pub(crate) static NOWHERE: Route = route!(GET "*", Open, "nowhere", "Nothing", Takes::Nothing, (404, Gives::Media(&[])),
    &[], &[], get(operations::health));
