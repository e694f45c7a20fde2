//! Imports outcomes of another log.

use std::sync::Arc;

use super::{Command, Reply, Transaction};
use crate::events::{Event, Import};
use crate::refusal::Refusal;
use crate::state::{Experiment, Imported, Kind};

/// Most outcomes of one import.
pub const MOST_IMPORTED: usize = 1_000_000;
/// Outcomes of one event.
const CHUNK: usize = 1000;

/// Learns outcomes of another log. The same import twice is counted once.
#[derive(Debug)]
pub struct ImportOutcomes {
    pub experiment: Arc<str>,
    pub import: Import,
}

impl Command for ImportOutcomes {
    type Answer = Imported;

    fn execute(self, transaction: &mut Transaction) -> Result<Reply<Imported>, Refusal> {
        let import = self.import;
        let experiment = transaction.active(&self.experiment)?;
        let key = experiment.key;
        let count = import.rewards.len();
        if count == 0 || count > MOST_IMPORTED {
            let allowed = format!("must be 1 to {MOST_IMPORTED}");
            return Err(Refusal::invalid("rows", count, allowed));
        }
        if experiment.checked.standard.drift_unit().is_some() {
            let allowed =
                "means of this experiment may drift, and outcomes of another log have no time here";
            return Err(Refusal::invalid("rows", count, allowed));
        }
        check_columns(experiment, &import)?;
        let digest = import.digested();
        if let Some(known) = experiment.imports.iter().find(|i| i.digest == digest) {
            // Sent again by a caller that did not get the answer: counted twice, the same outcomes would make the agent
            // surer than it may be.
            if known.sampled == import.sampled.is_empty() {
                let value = if known.sampled { "unknown" } else { "same" };
                let allowed = "this log was imported before with others, and its outcomes must not count twice";
                return Err(Refusal::invalid("frequencies", value, allowed));
            }
            return Ok(Reply::Ready(*known));
        }
        let (d, m) = (import.features.len() / count, import.costs.len() / count);
        let info = &experiment.info;
        let outcomes = import.outcomes(|features| info.choice(features));
        for (i, outcome) in outcomes.enumerate() {
            // A file that contradicts the declaration is not taken: nothing of it has happened here.
            let arm = (!import.arms.is_empty()).then_some(outcome.action);
            let declared = (info.problem).refuse(arm, outcome.reward, outcome.costs);
            let checked =
                (experiment.check_outcome(&outcome, i as u64)).and_then(|()| Ok(declared?));
            checked.map_err(|refusal| match refusal {
                Refusal::Invalid {
                    field,
                    value,
                    allowed,
                } => Refusal::invalid(format!("row {}: {field}", i + 1), value, allowed),
                other => other,
            })?;
        }
        for start in (0..count).step_by(CHUNK) {
            let end = (start + CHUNK).min(count);
            let arms = start.min(import.arms.len())..end.min(import.arms.len());
            let chunk = Import {
                digest,
                arms: import.arms[arms].to_vec(),
                features: import.features[start * d..end * d].to_vec(),
                rewards: import.rewards[start..end].to_vec(),
                costs: import.costs[start * m..end * m].to_vec(),
                segments: import.segments.get(start..end).unwrap_or_default().to_vec(),
                sampled: import.sampled.get(start..end).unwrap_or_default().to_vec(),
            };
            transaction.write(key, Event::Imported(chunk));
        }
        Ok(Reply::Ready(Imported {
            digest,
            outcomes: count as u64,
            number: transaction.next_number() - 1,
            sampled: !import.sampled.is_empty(),
        }))
    }
}

/// Checks that an import's columns fit each other, and that its arms exist.
fn check_columns(experiment: &Experiment, import: &Import) -> Result<(), Refusal> {
    let count = import.rewards.len();
    let arms = experiment.arms.len();
    let (arm_rows, d) = match experiment.checked.kind {
        Kind::Arms => (count, 0),
        Kind::Context(numbers) => (count, numbers),
        Kind::Candidates(d) => (0, d),
    };
    let segment_rows = if experiment.checked.has_segments() {
        count
    } else {
        0
    };
    let lengths = [
        ("arms", import.arms.len(), arm_rows),
        ("segments", import.segments.len(), segment_rows),
        ("features", import.features.len(), count * d),
        (
            "costs",
            import.costs.len(),
            count * experiment.info.costs.len(),
        ),
    ];
    for (field, length, expected) in lengths {
        if length != expected {
            let allowed = format!("expected {expected}: there are {count} rewards");
            return Err(Refusal::invalid(
                field,
                format!("{length} entries"),
                allowed,
            ));
        }
    }
    if let Some(row) = (import.arms.iter()).position(|&arm| arm as usize >= arms) {
        let field = format!("row {}: arm", row + 1);
        let allowed = format!("this experiment has {arms} arms");
        return Err(Refusal::invalid(field, import.arms[row], allowed));
    }
    Ok(())
}
