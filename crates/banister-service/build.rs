//! Joins the parts of the page in `web/` into one file.
//!
//! Modules are written as ES modules, so that editors understand them, and put one after the other in the
//! order of `web/ORDER`, without their imports and exports, inside one function.

use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), String> {
    // A folder stands for everything in it.
    println!("cargo::rerun-if-changed=web");
    println!("cargo::rerun-if-changed=build.rs");
    let folder = env::var("OUT_DIR").map_err(|e| format!("OUT_DIR: {e}"))?;
    let path = Path::new(&folder).join("index.html");
    fs::write(&path, page()?).map_err(|e| format!("{}: {e}", path.display()))
}

fn page() -> Result<String, String> {
    let mut script = vec![
        banister_uplot::JS.trim().to_string(),
        "(function () {".to_string(),
        "\"use strict\";".to_string(),
    ];
    for name in read("ORDER")?.lines() {
        script.push(bare(&read(name)?));
    }
    script.push("})();".to_string());
    let script = script.join("\n");
    let style = format!("{}\n{}", banister_uplot::CSS.trim(), read("style.css")?);
    if script.contains("</script") || style.contains("</style") {
        return Err("a part of the page would end its own element".to_string());
    }
    let page = read("index.html")?
        .replace("<!-- style -->", &format!("<style>\n{style}\n</style>"))
        .replace("<!-- script -->", &format!("<script>\n{script}\n</script>"));
    Ok(page + "\n")
}

/// Strips a module's imports, and makes plain declarations of its exports.
fn bare(module: &str) -> String {
    // A long import has a line for each name.
    let mut is_import = false;
    let own = |line: &&str| {
        is_import |= line.starts_with("import ");
        let is_own = !is_import;
        is_import &= !line.ends_with(';');
        is_own
    };
    module
        .lines()
        .filter(own)
        .map(|line| line.strip_prefix("export ").unwrap_or(line))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Reads a part of the page, without space around it.
fn read(name: &str) -> Result<String, String> {
    let path = Path::new("web").join(name);
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(text.trim().to_string())
}
