//! The page: one file with everything in it, joined from `web/` by `build.rs`.

use std::sync::OnceLock;

pub const HTML: &str = include_str!(concat!(env!("OUT_DIR"), "/index.html"));

/// Content security policy: the page may run its own script, style itself and talk to this service, nothing
/// else.
pub fn security_policy() -> &'static str {
    static POLICY: OnceLock<String> = OnceLock::new();
    POLICY.get_or_init(|| {
        let digest = script().map(digest).unwrap_or_default();
        format!(
            "default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; \
             connect-src 'self'; img-src 'self' data:; form-action 'none'; base-uri 'none'; \
             frame-ancestors 'none'"
        )
    })
}

/// Finds the text of the page's one script.
fn script() -> Option<&'static str> {
    let (_, rest) = HTML.split_once("<script>")?;
    rest.split_once("</script>").map(|(script, _)| script)
}

/// SHA-256 in base 64, as content security policies want it.
fn digest(text: &str) -> String {
    use base64::Engine;
    use sha2::Digest;
    base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(text.as_bytes()))
}
