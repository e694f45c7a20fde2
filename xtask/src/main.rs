//! Developer commands: `cargo xtask test | bench | figures`.

fn main() {}
