//! The paper: its figures, drawn from results on disk, and the text as HTML and PDF.

use std::fs;
use std::process::Command;

use crate::setup::{Environment, Need};
use crate::{Outcome, Step, at, root, run, target};

const PAPER: Environment = Environment {
    name: "paper-venv",
    requirements: "docs/paper/requirements.txt",
};

/// Builds the paper from the results there are, as a test.
pub const BUILD: Step = Step::new("paper", &[Need::Python(PAPER)], build);

/// Builds it, and keeps the figures beside the text.
pub const STEPS: [Step; 1] = [Step::new("paper", &[Need::Python(PAPER)], || {
    build()?;
    let (made, kept) = (
        target().join("paper/figures"),
        root().join("docs/paper/figures"),
    );
    fs::create_dir_all(&kept).map_err(at(&kept))?;
    for figure in fs::read_dir(&made).map_err(at(&made))?.flatten() {
        let path = figure.path();
        fs::copy(&path, kept.join(figure.file_name())).map_err(at(&path))?;
    }
    println!("target/paper has paper.html and paper.pdf");
    Ok(())
})];

fn build() -> Outcome {
    run(Command::new(PAPER.python())
        .arg(root().join("docs/paper/build.py"))
        .arg(target().join("paper"))
        .current_dir(root()))
}
