//! The book: its reference is made from the programs, and mdBook renders it.

use std::process::Command;

use crate::setup::{Need, TESTS};
use crate::{Outcome, Step, root, run};

pub const STEPS: [Step; 2] = [
    Step::new("reference", &[Need::Python(TESTS)], reference),
    Step::new("book", &[Need::Cargo("mdbook")], || {
        run(Command::new("mdbook")
            .args(["build", "docs"])
            .current_dir(root()))?;
        println!("target/book/index.html is the book");
        Ok(())
    }),
];

/// Writes the pages of docs/reference: the same tests say that they are current.
fn reference() -> Outcome {
    for (package, test) in [
        ("banister-sim", "parameters"),
        ("banister-service", "reference"),
    ] {
        let args = [
            "test",
            "--quiet",
            "--package",
            package,
            "--test",
            "it",
            test,
        ];
        run(Command::new(env!("CARGO"))
            .args(args)
            .env("BLESS", "1")
            .current_dir(root()))?;
    }
    let mut pytest = Command::new(TESTS.python());
    let args = ["-m", "pytest", "-q", "tests/test_docs.py", "-k", "commands"];
    run(pytest.args(args).env("BLESS", "1").current_dir(root()))
}
