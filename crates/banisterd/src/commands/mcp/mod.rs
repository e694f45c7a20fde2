//! `banisterd mcp`: a running service as tools of an assistant, by the Model Context Protocol.
//!
//! A gateway to the service's HTTP API: every call is made with a token of the caller's, so its role and its name as an
//! author are those of the API. Read `tools.rs` (what there is), `gateway.rs` (requests), `explain.rs` (words for an arm's
//! share).

mod explain;
mod gateway;
mod tools;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use banister_service::{DefaultAcceptor, http};
use banister_terminal::Failure;
use rmcp::ServiceExt;
use rmcp::transport::stdio;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use tokio::task::spawn_blocking;

use crate::args::Mcp;
use gateway::{Caller, Gateway, authorization};
use tools::Tools;

pub fn mcp(args: &Mcp) -> Result<(), Failure> {
    let gateway = Gateway::new(&args.url, token(args)?).map_err(Failure::input)?;
    let tools = Tools(Arc::new(gateway));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match args.listen {
            Some(address) => listen(tools, address, args.idle_timeout).await,
            None => {
                let served = tools.serve(stdio()).await.map_err(other)?;
                served.waiting().await.map(|_| ()).map_err(other)
            }
        }
    })
}

fn other(error: impl std::fmt::Display) -> Failure {
    Failure::Other(error.to_string())
}

/// The token of a caller on standard input. Over HTTP every caller has one of their own: ours would be anybody's.
fn token(args: &Mcp) -> Result<Option<String>, Failure> {
    let token = match &args.token_file {
        Some(path) => Some(
            std::fs::read_to_string(path)
                .map_err(|e| Failure::input(format!("cannot read {}: {e}", path.display())))?,
        ),
        None => args.token.clone(),
    };
    if token.is_some() && args.listen.is_some() {
        let reason = "with `listen` every caller sends a token of their own: give no token here";
        return Err(Failure::input(reason));
    }
    Ok(token.map(|own| own.trim().to_string()))
}

/// Serves over HTTP, to this machine only: a service without tokens trusts it.
async fn listen(tools: Tools, address: SocketAddr, idle: u64) -> Result<(), Failure> {
    if !address.ip().is_loopback() {
        return Err(Failure::input(format!(
            "`listen` is {address}: must be an address of this machine, such as 127.0.0.1:8788; for others, put a proxy \
             with TLS in front"
        )));
    }
    // Pages of other origins are refused, and so are other names of this machine.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .enforce_origin_validation();
    let sessions = Arc::new(NeverSessionManager::default());
    let gateway = tools.0.clone();
    let service = StreamableHttpService::new(move || Ok(tools.clone()), sessions, config);
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    banister_terminal::say(format!("banisterd: MCP is at http://{address}/mcp"))?;
    let router = axum::Router::new()
        .route_service("/mcp", service)
        .layer(from_fn_with_state(gateway, authenticate));
    let server = http(listener, DefaultAcceptor::new(), Duration::from_secs(idle))?;
    Ok(server.serve(router.into_make_service()).await?)
}

/// Refuses callers whose token the service refuses. If it cannot be asked, the call says so.
async fn authenticate(
    State(gateway): State<Arc<Gateway>>,
    request: Request,
    next: Next,
) -> Response {
    let authorization = authorization(request.headers());
    let asked = spawn_blocking(move || {
        let gateway = &gateway;
        Caller {
            gateway,
            authorization,
        }
        .get("/v1/whoami")
    });
    match asked.await {
        Ok(Err(problem)) if problem["status"] == 401 => {
            let header = [("www-authenticate", "Bearer")];
            (StatusCode::UNAUTHORIZED, header, problem.to_string()).into_response()
        }
        _ => next.run(request).await,
    }
}
