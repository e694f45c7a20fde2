//! The journal of a comparison: whatever was cut off or damaged is played again, what is no journal of it is refused
//! by name.

use std::path::Path;

use banister_sim::compare::{Agents, Comparison, Entry, Journal, JournalError};
use banister_sim::results::InstanceResult;
use banister_sim::{ExperimentConfig, Options, Progress};
use serde_json::json;

const NO_TIMING: Options = Options { no_timing: true };

fn comparison(seed: u64) -> Comparison {
    let config: ExperimentConfig = serde_json::from_value(json!({
        "name": "tiny",
        "run": {"horizon": 200, "runs": 4, "seed": seed, "checkpoints": 5},
        "environment": {"kind": "bernoulli", "rewards": [0.1, 0.7], "costs": [[0.0, 0.4]]},
        "guardrail": [{"name": "spend", "at_most": 0.2, "safe_cost": 0.0}],
        "agent": [{"kind": "opb"}, {"kind": "ucb1"}],
    }))
    .expect("an experiment");
    Comparison::plan(vec![Entry::new(config)], &Agents::Proposed, false).expect("it fits")
}

/// Goes on from the journal: the results, and how many runs it held.
fn go_on(comparison: &Comparison, path: &Path) -> Result<(InstanceResult, usize), JournalError> {
    let (journal, done) = Journal::open(path, &comparison.experiments, false)?;
    let held = done.len();
    let gathered = comparison.run(NO_TIMING, &Progress::default(), Some((&journal, done)))?;
    Ok((gathered.expect("not cancelled")[0].result(), held))
}

fn folder(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("banister-journal-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder");
    path
}

#[test]
fn cut_off_anywhere_it_goes_on_to_the_same_results() {
    let folder = folder("cut");
    let (comparison, path) = (comparison(7), folder.join("journal"));
    let (whole, held) = go_on(&comparison, &path).expect("plays");
    assert_eq!(held, 0);
    let bytes = std::fs::read(&path).expect("a journal");
    let (again, held) = go_on(&comparison, &path).expect("nothing left to play");
    assert_eq!((&again, held), (&whole, 8));
    assert_eq!(
        std::fs::read(&path).expect("a journal"),
        bytes,
        "nothing was added"
    );
    let mut seen = std::collections::BTreeSet::new();
    for length in (0..bytes.len()).step_by(7).chain([bytes.len() - 1]) {
        std::fs::write(&path, &bytes[..length]).expect("cut off");
        let (resumed, held) = go_on(&comparison, &path).expect("goes on");
        assert_eq!(resumed, whole, "cut at {length}");
        seen.insert(held);
        // And what it wrote can be gone on from as well.
        let (_, held) = go_on(&comparison, &path).expect("complete");
        assert_eq!(held, 8);
    }
    assert_eq!(seen, (0..8).collect());
    // Room that a file system gave to what was never written counts as cut off.
    let mut zeros = bytes.clone();
    zeros.extend([0; 5000]);
    std::fs::write(&path, &zeros).expect("padded");
    let (resumed, held) = go_on(&comparison, &path).expect("goes on");
    assert_eq!((&resumed, held), (&whole, 8));
    assert_eq!(std::fs::read(&path).expect("a journal"), bytes);
    Journal::open(&path, &comparison.experiments, true).expect("afresh");
    assert_eq!(go_on(&comparison, &path).expect("plays all again").1, 0);
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn a_changed_byte_is_played_again_or_refused_by_name() {
    let folder = folder("changed");
    let (comparison, path) = (comparison(7), folder.join("the-journal"));
    let (whole, _) = go_on(&comparison, &path).expect("plays");
    let bytes = std::fs::read(&path).expect("a journal");
    // The header: a line and a hash.
    let header = bytes
        .iter()
        .position(|byte| *byte == b'\n')
        .expect("a line")
        + 1
        + 8;
    for at in (0..bytes.len()).step_by(3) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        std::fs::write(&path, &changed).expect("changed");
        let resumed = go_on(&comparison, &path);
        if at < header {
            let error = resumed.expect_err("refused");
            assert!(error.to_string().contains("the-journal"), "{error}");
            let left = std::fs::read(&path).expect("there");
            assert_eq!(left, changed, "left as it was");
            continue;
        }
        // Only what came before the damage is believed.
        let (resumed, held) = resumed.expect("goes on");
        assert!(held < 8, "changed at {at}");
        assert_eq!(resumed, whole, "changed at {at}");
        assert_eq!(go_on(&comparison, &path).expect("complete").1, 8);
    }
    std::fs::write(&path, b"name,value\n1,2\n").expect("another file");
    let error = go_on(&comparison, &path)
        .expect_err("no journal")
        .to_string();
    assert!(error.contains("is no journal of a comparison"), "{error}");
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn another_comparisons_journal_is_refused_by_name() {
    let folder = folder("foreign");
    let path = folder.join("journal");
    go_on(&comparison(7), &path).expect("plays");
    let bytes = std::fs::read(&path).expect("a journal");
    let error = go_on(&comparison(8), &path)
        .expect_err("another seed")
        .to_string();
    assert!(error.contains("belongs to another comparison"), "{error}");
    assert!(error.contains(&path.display().to_string()), "{error}");
    assert_eq!(std::fs::read(&path).expect("there"), bytes);
    let (journal, _) = Journal::open(&path, &comparison(7).experiments, false).expect("its own");
    journal.remove().expect("removed");
    assert!(!path.exists());
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn a_folder_in_its_place_is_an_error() {
    let folder = folder("folder");
    let error = Journal::open(&folder, &comparison(7).experiments, false).expect_err("a folder");
    assert!(error.to_string().contains("is no file"), "{error}");
    // A file where a folder should be is not the caller's choice of journal: it cannot be written.
    let file = folder.join("file");
    std::fs::write(&file, "x").expect("a file");
    let error = Journal::open(&file.join("journal"), &comparison(7).experiments, false);
    assert!(matches!(error, Err(JournalError::Unusable(..))));
    let _ = std::fs::remove_dir_all(folder);
}

#[test]
fn a_journal_in_use_is_refused() {
    let folder = folder("in-use");
    let (comparison, path) = (comparison(7), folder.join("journal"));
    let (first, _) = Journal::open(&path, &comparison.experiments, false).expect("the first");
    let error = Journal::open(&path, &comparison.experiments, false).expect_err("the second");
    assert!(error.to_string().contains("is in use"), "{error}");
    let error = Journal::open(&path, &comparison.experiments, true).expect_err("not even afresh");
    assert!(error.to_string().contains("is in use"), "{error}");
    drop(first);
    Journal::open(&path, &comparison.experiments, false).expect("free again");
    let _ = std::fs::remove_dir_all(folder);
}
