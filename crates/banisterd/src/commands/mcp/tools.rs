//! The tools: one row each, and what a call does.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use ureq::http::request::Parts;

use super::explain::explain;
use super::gateway::{Caller, Gateway, authorization, path_of};

/// Instructions that an assistant gets first.
const INSTRUCTIONS: &str = "banister decides between arms under guardrails: every policy keeps its expected costs under \
    thresholds, certified by what is known so far. Read and explain freely. Propose a declaration before you create it, \
    and ask the person before you create, pause, resume or acknowledge: the change is written with their token's name.";

/// An argument: name, JSON type, description, whether it is required.
type Argument = (&'static str, &'static str, &'static str, bool);

const EXPERIMENT: Argument = ("experiment", "string", "Name of the experiment", true);
const DECLARATION: Argument = (
    "declaration",
    "object",
    "The experiment, such as {\"name\": \"checkout\", \"arms\": [\"control\", \"bold\"], \"safe\": \"control\", \
     \"guardrails\": [{\"name\": \"complaints\", \"at_most\": 0.2, \"safe_cost\": 0.1}]}. `at_least` in place of `at_most` \
     for what must not fall; `safe_cost` only if the safe arm's mean is known",
    true,
);

/// Effect of a tool on the service.
enum Access {
    Reads,
    Changes,
    /// It ends a protection.
    Destroys,
}

use Access::{Changes, Destroys, Reads};

/// Name, description, arguments, access.
type Row = (&'static str, &'static str, &'static [Argument], Access);

#[rustfmt::skip]
const TOOLS: [Row; 9] = [
    ("list_experiments", "Lists experiments with their status, counts and alarms, oldest first, 100 at a time.",
        &[("after", "string", "Name of the last experiment of the page before", false)], Reads),
    ("read_experiment", "Reads one experiment: its declaration, the policy now with its certificate, the estimates of \
        every arm, alarms, and the health checks that say whether its numbers can be trusted.", &[EXPERIMENT], Reads),
    ("explain", "Explains in words why an arm has the share of decisions that it has now: its estimates, the guardrail \
        that holds it back, forced safe actions and alarms. Use it for \"why is bold at 3%?\".",
        &[EXPERIMENT, ("arm", "string", "Name of the arm", true)], Reads),
    ("list_changes", "Lists the latest changes of an experiment, each with its author, newest first.",
        &[EXPERIMENT], Reads),
    ("propose", "Checks a declaration and shows the experiment that it would create, without creating it; or says \
        which field is wrong and what is allowed.", &[DECLARATION], Reads),
    ("create_experiment", "Creates an experiment. Propose it first.", &[DECLARATION], Changes),
    ("pause_experiment", "Pauses an experiment: every decision is the safe arm until it is resumed.",
        &[EXPERIMENT], Changes),
    ("resume_experiment", "Resumes a paused experiment.", &[EXPERIMENT], Destroys),
    ("acknowledge_alarms", "Acknowledges the alarms of an experiment: where they forced the safe arm, they no longer \
        do. Only once a person has found the cause.",
        &[EXPERIMENT, ("note", "string", "What the cause was, and what was done about it", true)], Destroys),
];

/// The handler of calls.
#[derive(Clone)]
pub struct Tools(pub Arc<Gateway>);

/// Answer of a call: a text, where there is one, and JSON.
type Answer = (Option<String>, Value);

fn tool((name, description, arguments, access): &Row) -> Tool {
    let fields = arguments.iter().map(|(name, kind, description, _)| {
        (
            name.to_string(),
            json!({ "type": kind, "description": description }),
        )
    });
    let required = arguments.iter().filter(|own| own.3).map(|own| own.0);
    let mut schema = JsonObject::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), Value::Object(fields.collect()));
    schema.insert("required".into(), required.collect());
    schema.insert("additionalProperties".into(), false.into());
    let annotations = ToolAnnotations::new()
        .read_only(matches!(access, Reads))
        .destructive(matches!(access, Destroys))
        .open_world(false);
    Tool::new(*name, *description, schema).with_annotations(annotations)
}

/// Checks the arguments of a call: all that are required, and no other.
fn check(row: &Row, arguments: &JsonObject) -> Result<(), String> {
    for (name, kind, _, is_required) in row.2 {
        match arguments.get(*name) {
            Some(own)
                if (*kind == "string" && own.is_string())
                    || (*kind == "object" && own.is_object()) => {}
            None if !is_required => {}
            found => {
                let found = found.map_or("absent".into(), Value::to_string);
                return Err(format!("`{name}` is {found}: must be of type {kind}"));
            }
        }
    }
    let unknown = |name: &&String| row.2.iter().all(|own| own.0 != name.as_str());
    let unknown = arguments.keys().find(unknown);
    unknown.map_or(Ok(()), |name| {
        Err(format!("`{name}` is no argument of {}", row.0))
    })
}

/// Calls a tool whose arguments are checked.
fn call(caller: &Caller, tool: &str, arguments: &JsonObject) -> Result<Answer, Value> {
    let text = |name: &str| {
        arguments
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let path = path_of(text("experiment"));
    let change = |change: Value| caller.send("PATCH", &path, Some(&change));
    let value = match tool {
        "list_experiments" => {
            let after = arguments.get("after").and_then(Value::as_str).map(path_of);
            let after = after.as_ref().and_then(|own| own.rsplit('/').next());
            let after = after.map_or(String::new(), |own| format!("&after={own}"));
            caller.get(&format!("/v1/experiments?summary=true&limit=100{after}"))
        }
        "read_experiment" => state_of(caller, &path).and_then(|state| {
            let (experiment, health) = (caller.get(&path)?, caller.get(&format!("{path}/health"))?);
            Ok(json!({ "experiment": experiment, "state": state, "health": health }))
        }),
        "explain" => {
            let (experiment, state) = (caller.get(&path)?, state_of(caller, &path)?);
            let words = explain(&experiment, &state, text("arm"));
            let words = words.map_err(|reason| json!({ "detail": reason }))?;
            return Ok((Some(words), state));
        }
        "list_changes" => caller.get(&format!("{path}/changes")),
        "propose" => caller.send(
            "POST",
            "/v1/experiments?dry_run=true",
            arguments.get("declaration"),
        ),
        "create_experiment" => caller.send("POST", "/v1/experiments", arguments.get("declaration")),
        "pause_experiment" => change(json!({ "status": "paused" })),
        "resume_experiment" => change(json!({ "status": "running" })),
        _ => {
            let note = json!({ "note": text("note") });
            caller.send("POST", &format!("{path}/alarms:acknowledge"), Some(&note))
        }
    };
    value.map(|value| (None, value))
}

/// The live state, without the points of the charts.
fn state_of(caller: &Caller, path: &str) -> Result<Value, Value> {
    let mut state = caller.get(&format!("{path}/state"))?;
    if let Some(own) = state.as_object_mut() {
        own.remove("evidence");
    }
    Ok(state)
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info.name = "banisterd".into();
        info.server_info.version = env!("CARGO_PKG_VERSION").into();
        info.with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(
            TOOLS.iter().map(tool).collect(),
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let row = TOOLS.iter().find(|row| row.0 == request.name);
        let row = row.ok_or_else(|| {
            ErrorData::invalid_params(format!("unknown tool {}", request.name), None)
        })?;
        let arguments = request.arguments.unwrap_or_default();
        let parts = context.extensions.get::<Parts>();
        let authorization = parts.and_then(|own| authorization(&own.headers));
        let gateway = self.0.clone();
        let called = tokio::task::spawn_blocking(move || {
            let caller = Caller {
                gateway: &gateway,
                authorization,
            };
            // An error of the call, not of the protocol: the assistant can mend it.
            check(row, &arguments).map_err(|reason| json!({ "detail": reason }))?;
            call(&caller, row.0, &arguments)
        });
        let called = called
            .await
            .map_err(|e| ErrorData::internal_error(e.to_string(), None))?;
        let (words, mut result) = match called {
            Ok((words, value)) => (words, CallToolResult::structured(value)),
            Err(problem) => {
                let detail = problem["detail"].as_str().map(str::to_string);
                (detail, CallToolResult::structured_error(problem))
            }
        };
        if let Some(words) = words {
            result.content = vec![ContentBlock::text(words)];
        }
        Ok(result.into())
    }
}
