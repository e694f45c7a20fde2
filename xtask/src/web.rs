//! The page of the service: the parts in `web/src` joined into one file.
//!
//! Modules are written as ES modules, so that editors understand them, and put one after the other
//! in the order of `web/src/ORDER`, without their imports and exports, inside one function.

use std::fs;
use std::path::Path;

/// The text of the page, as it is kept in `web/dist/index.html`.
pub fn build() -> Result<String, String> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let source = root.join("web").join("src");
    let assets = root.join("crates").join("banister-report").join("assets");
    let mut script = vec![
        read(&assets.join("uPlot.iife.min.js"))?,
        "(function () {".to_string(),
        "\"use strict\";".to_string(),
    ];
    for name in read(&source.join("ORDER"))?.lines() {
        script.push(bare(&read(&source.join(name))?));
    }
    script.push("})();".to_string());
    let script = script.join("\n");
    let style = [
        read(&assets.join("uPlot.min.css"))?,
        read(&source.join("style.css"))?,
    ]
    .join("\n");
    if script.contains("</script") || style.contains("</style") {
        return Err("a part of the page would end its own element".to_string());
    }
    let page = read(&source.join("index.html"))?
        .replace("<!-- style -->", &format!("<style>\n{style}\n</style>"))
        .replace("<!-- script -->", &format!("<script>\n{script}\n</script>"));
    Ok(page + "\n")
}

/// A module without its imports, and with its exports as plain declarations.
fn bare(module: &str) -> String {
    module
        .lines()
        .filter(|line| !line.starts_with("import "))
        .map(|line| line.strip_prefix("export ").unwrap_or(line))
        .collect::<Vec<_>>()
        .join("\n")
}

/// A file's text without space around it.
fn read(path: &Path) -> Result<String, String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(text.trim().to_string())
}
