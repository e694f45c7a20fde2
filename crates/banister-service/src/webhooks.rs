//! Webhooks: notices to receivers that the operator names, signed and tried again until they arrive.
//!
//! The log is the outbox ([`banister_engine::Deliver`]). Every receiver has a thread of its own, so that one that hangs
//! delays no other, and the service stops without waiting for them: a claim that was not carried out expires.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use banister_engine::{
    Author, Deliver, Notice, NoticeKind, PendingNotice, ReadNotices, Scope, WriterHandle,
};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use rand::RngExt;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use ureq::Agent;
use ureq::http::Uri;

use crate::client::http_client;
use crate::metrics::Metrics;

/// Pause between looks into the outbox.
const PAUSE: Duration = Duration::from_millis(500);
/// Longest time between two tries, in seconds.
const LONGEST: f64 = 3600.0;
/// Age in seconds from which on a notice is not sent any more.
const MOST_AGE: f64 = 3.0 * 86_400.0;
/// Most receivers: each has a thread.
const MOST_HOOKS: usize = 16;

/// A file of webhooks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    webhook: Vec<GivenHook>,
}

/// A webhook as the operator writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenHook {
    url: String,
    name: Option<String>,
    secret: Option<String>,
    secret_file: Option<PathBuf>,
    kinds: Option<Vec<NoticeKind>>,
    experiments: Option<Vec<String>>,
    text_field: Option<String>,
    retry_seconds: Option<f64>,
    timeout_seconds: Option<f64>,
}

/// A receiver.
#[derive(Clone)]
pub struct Hook {
    url: Uri,
    /// Name in logs and metrics: the address itself may be a secret.
    name: String,
    /// Digest that the log knows it by.
    digest: u64,
    secret: Option<Vec<u8>>,
    kinds: Option<Vec<NoticeKind>>,
    experiments: Option<Scope>,
    text_field: Option<String>,
    /// Seconds until the second try; from then on twice as long each time.
    retry: f64,
    timeout: Duration,
}

/// Nothing of it: addresses of receivers are often all that protects them.
impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

/// Reads the receivers of a file.
pub fn read(path: &Path) -> Result<Vec<Hook>, String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|e| format!("cannot read {shown}: {e}"))?;
    let file: File = toml::from_str(&text).map_err(|e| format!("{shown}: {e}"))?;
    if file.webhook.len() > MOST_HOOKS {
        let n = file.webhook.len();
        return Err(format!(
            "{shown}: there are {n} webhooks: must be at most {MOST_HOOKS}"
        ));
    }
    let mut names = HashSet::new();
    let each = file.webhook.into_iter().enumerate().map(|(place, given)| {
        let about = |reason: String| format!("{shown}: webhook {}: {reason}", place + 1);
        let hook = given.check().map_err(about)?;
        if names.insert(hook.name.clone()) {
            return Ok(hook);
        }
        let name = &hook.name;
        Err(about(format!(
            "`name` is {name:?}: another one has it (it is the host where none is given)"
        )))
    });
    each.collect()
}

impl GivenHook {
    fn check(self) -> Result<Hook, String> {
        let url: Option<Uri> = self.url.parse().ok();
        let is_http = |own: &Uri| matches!(own.scheme_str(), Some("http" | "https"));
        let url = url
            .filter(is_http)
            .filter(|own| own.host().is_some_and(|host| !host.is_empty()));
        // The value is not shown: it may be a secret.
        let url = url.ok_or("`url` must be an address with http:// or https://")?;
        let name = self
            .name
            .unwrap_or_else(|| url.host().unwrap_or_default().into());
        if name.is_empty() || name.len() > 64 || name.chars().any(char::is_control) {
            return Err(format!(
                "`name` is {name:?}: must be 1 to 64 printable characters"
            ));
        }
        let secret = match (self.secret, self.secret_file) {
            (Some(_), Some(_)) => return Err("give `secret` or `secret_file`, not both".into()),
            (None, Some(path)) => Some(
                std::fs::read_to_string(&path)
                    .map_err(|e| format!("cannot read {}: {e}", path.display()))?,
            ),
            (given, None) => given,
        };
        if secret.is_none() && self.text_field.is_none() {
            return Err(
                "`secret` is absent: messages are signed, unless `text_field` is given".into(),
            );
        }
        let key = |text: String| -> Option<Vec<u8>> {
            let encoded = text.trim().strip_prefix("whsec_")?;
            let key = BASE64_STANDARD.decode(encoded).ok()?;
            (24..=64).contains(&key.len()).then_some(key)
        };
        let wrong = "`secret` must be whsec_ and the base64 of 24 to 64 bytes";
        let secret = secret.map(|text| key(text).ok_or(wrong));
        let patterns = self.experiments.map(|own| Scope::parse(&own.join(",")));
        let seconds = |field: &str, given: Option<f64>, default: f64| {
            let own = given.unwrap_or(default);
            if (0.1..=LONGEST).contains(&own) {
                return Ok(own);
            }
            Err(format!("`{field}` is {own}: must be 0.1 to {LONGEST}"))
        };
        // The name, so that another address or secret of the same receiver gets nothing twice.
        let digest = Sha256::digest(name.as_bytes());
        let bytes = digest.iter().take(8);
        let digest = bytes.fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let timeout = seconds("timeout_seconds", self.timeout_seconds, 10.0)?;
        Ok(Hook {
            url,
            name,
            digest,
            secret: secret.transpose()?,
            kinds: self.kinds,
            experiments: patterns.transpose()?,
            text_field: self.text_field,
            retry: seconds("retry_seconds", self.retry_seconds, 5.0)?,
            timeout: Duration::from_secs_f64(timeout),
        })
    }
}

/// Starts the threads of the receivers; they end with the writer.
pub fn start(hooks: &[Hook], writer: &WriterHandle, metrics: &Arc<Metrics>) -> std::io::Result<()> {
    for hook in hooks {
        let sender = Sender {
            hook: hook.clone(),
            writer: writer.by(Author::new(Some(Author::ENGINE.into()))),
            metrics: metrics.clone(),
            client: http_client(hook.timeout),
        };
        std::thread::Builder::new()
            .name("banister-webhook".into())
            .spawn(move || sender.run())?;
    }
    Ok(())
}

/// The thread of a receiver.
struct Sender {
    hook: Hook,
    writer: WriterHandle,
    metrics: Arc<Metrics>,
    client: Agent,
}

impl Sender {
    fn run(self) {
        while self.writer.catch_up() {
            let hook = self.hook.clone();
            let query = ReadNotices {
                hook: hook.digest,
                wants: move |experiment: &str, kind| hook.wants(experiment, kind),
                most_age: MOST_AGE,
            };
            // The writer reports outages; here one means a new try later.
            let pending = self.writer.query_blocking(query).unwrap_or_default();
            self.metrics.webhook_pending(&self.hook.name, pending.len());
            for own in pending.iter().filter(|own| own.is_due) {
                if !self.carry(own) {
                    return;
                }
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Claims a notice and sends it; returns false if the receiver wants nothing more.
    fn carry(&self, own: &PendingNotice) -> bool {
        let (name, number) = (&self.hook.name, own.notice.number);
        let deliver = |claim| Deliver {
            experiment: own.key,
            notice: number,
            hook: self.hook.digest,
            claim,
        };
        let wait = self.hook.retry * 2_f64.powi(own.attempts.min(20) as i32);
        let wait = wait.min(LONGEST) * rand::rng().random_range(0.75..1.25);
        let claim = self.hook.timeout.as_secs_f64() + wait;
        if !self
            .writer
            .execute_blocking(deliver(Some(claim)))
            .unwrap_or(false)
        {
            return true;
        }
        let result = match self.send(&own.notice) {
            Ok(200..300) => {
                tracing::info!(name, number, "webhook delivered");
                // If that is not written, the receiver gets it again, with the same id.
                let _ = self.writer.execute_blocking(deliver(None));
                "delivered"
            }
            Ok(410) => {
                tracing::error!(
                    name,
                    "the webhook answered 410: it gets nothing until the next start"
                );
                "gone"
            }
            failed => {
                let reason =
                    failed.map_or_else(|e| e.to_string(), |status| format!("it answered {status}"));
                let attempt = own.attempts + 1;
                tracing::warn!(
                    name,
                    number,
                    attempt,
                    reason,
                    "webhook failed, and is tried again"
                );
                "failed"
            }
        };
        self.metrics.webhook(name, result);
        result != "gone"
    }

    /// Sends a notice; returns the status of the answer.
    fn send(&self, notice: &Notice) -> Result<u16, ureq::Error> {
        let body = match &self.hook.text_field {
            Some(field) => serde_json::json!({ field: notice.text }),
            None => serde_json::json!(notice),
        };
        let body = body.to_string();
        // Numbers of another log are others; a dot would not be told from those between the signed parts.
        let id = format!("{}-{}", notice.number, notice.time.0);
        let time = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let time = time.as_secs().to_string();
        let mut request = (self.client.post(&self.hook.url))
            .header("content-type", "application/json")
            .header("webhook-id", &id)
            .header("webhook-timestamp", &time);
        let key = self.hook.secret.as_ref();
        if let Some(mut mac) = key.and_then(|key| Hmac::<Sha256>::new_from_slice(key).ok()) {
            mac.update(format!("{id}.{time}.{body}").as_bytes());
            let signature = BASE64_STANDARD.encode(mac.finalize().into_bytes());
            request = request.header("webhook-signature", format!("v1,{signature}"));
        }
        Ok(request.send(body)?.status().as_u16())
    }
}

impl Hook {
    fn wants(&self, experiment: &str, kind: NoticeKind) -> bool {
        self.kinds
            .as_ref()
            .is_none_or(|kinds| kinds.contains(&kind))
            && (self.experiments.as_ref()).is_none_or(|scope| scope.covers(experiment))
    }
}
