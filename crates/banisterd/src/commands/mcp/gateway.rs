//! Requests to the service, in the name of a caller.

use std::time::Duration;

use banister_service::http_client;
use serde_json::{Value, json};
use ureq::Agent;
use ureq::http::{HeaderMap, Request, StatusCode, Uri};

/// Longest time of a request.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A service, and the token of a caller who brings none.
pub struct Gateway {
    url: String,
    token: Option<String>,
    client: Agent,
}

/// The service as one caller sees it.
pub struct Caller<'a> {
    pub gateway: &'a Gateway,
    /// The caller's own header, over HTTP.
    pub authorization: Option<String>,
}

impl Gateway {
    pub fn new(url: &str, token: Option<String>) -> Result<Self, String> {
        let parsed: Option<Uri> = url.parse().ok();
        let is_http = |own: &Uri| matches!(own.scheme_str(), Some("http" | "https"));
        if !parsed.as_ref().is_some_and(is_http) {
            return Err(format!(
                "`url` is {url}: must be an address with http:// or https://"
            ));
        }
        Ok(Self {
            url: url.trim_end_matches('/').to_string(),
            token,
            client: http_client(TIMEOUT),
        })
    }
}

impl Caller<'_> {
    pub fn get(&self, path: &str) -> Result<Value, Value> {
        self.send("GET", path, None)
    }

    /// The answer of the service; an error is its problem document.
    pub fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Result<Value, Value> {
        let failed = |reason| json!({ "detail": format!("the service cannot be asked: {reason}") });
        let asked = self.ask(method, path, body);
        let (status, text) = asked.map_err(|e| failed(e.to_string()))?;
        let json = serde_json::from_str(&text);
        let json = json.map_err(|_| failed(format!("it answered {status}, and no JSON")))?;
        if status.is_success() {
            Ok(json)
        } else {
            Err(json)
        }
    }

    fn ask(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, String), ureq::Error> {
        let Gateway { url, token, client } = self.gateway;
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{url}{path}"));
        let own = token.as_ref().map(|own| format!("Bearer {own}"));
        if let Some(authorization) = self.authorization.clone().or(own) {
            request = request.header("authorization", authorization);
        }
        let request = request.header("content-type", "application/json");
        let mut answer = match body {
            Some(body) => client.run(request.body(body.to_string())?)?,
            None => client.run(request.body(())?)?,
        };
        Ok((answer.status(), answer.body_mut().read_to_string()?))
    }
}

/// The caller's own token, as its request brings it.
pub fn authorization(headers: &HeaderMap) -> Option<String> {
    let own = headers.get("authorization")?;
    own.to_str().ok().map(str::to_string)
}

/// Path of an experiment, whatever its name is.
pub fn path_of(experiment: &str) -> String {
    let mut path = String::from("/v1/experiments/");
    for byte in experiment.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            path.push(byte.into());
        } else {
            path.push_str(&format!("%{byte:02X}"));
        }
    }
    path
}
