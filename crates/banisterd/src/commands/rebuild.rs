//! `banisterd rebuild`: the proof that what is learned follows from the log.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::serve::existing;
use crate::args::Rebuild;
use banister_terminal::Failure;

pub fn rebuild(args: &Rebuild) -> Result<(), Failure> {
    let database = existing(&args.place)?;
    let bar = ProgressBar::new(0);
    if args.quiet {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    if let Ok(style) =
        ProgressStyle::with_template("folding {bar:40} {human_pos} of {human_len} events")
    {
        bar.set_style(style);
    }
    let rebuilt = banister_engine::rebuild(&database, |done, all| {
        bar.set_length(all);
        bar.set_position(done);
    });
    bar.finish_and_clear();
    let rebuilt = rebuilt.map_err(|error| Failure::Other(error.to_string()))?;
    if args.json {
        let experiments = rebuilt.experiments.iter().map(|e| {
            serde_json::json!({
                "name": e.name,
                "outcomes": e.outcomes,
                "snapshot": e.snapshot,
                "unusable": e.unusable,
                "digest": e.digest,
                "from_snapshot": e.from_snapshot,
                "equal": e.from_snapshot.as_ref().is_none_or(|d| *d == e.digest),
            })
        });
        let json = serde_json::json!({
            "events": rebuilt.events,
            "equal": rebuilt.is_equal(),
            "experiments": experiments.collect::<Vec<_>>(),
        });
        banister_terminal::say(json.to_string())?;
    } else {
        banister_terminal::say(format!(
            "{} events replayed from the start.",
            rebuilt.events
        ))?;
        for e in &rebuilt.experiments {
            let equal = match &e.from_snapshot {
                None => {
                    let reason = e.unusable.as_deref().unwrap_or("it is missing");
                    format!("no snapshot to compare with ({reason}): the next start makes one")
                }
                Some(digest) if *digest == e.digest => {
                    format!(
                        "equal to the state from its snapshot at event {}",
                        e.snapshot.unwrap_or(0)
                    )
                }
                Some(_) => "NOT equal to the state from its snapshot".to_string(),
            };
            banister_terminal::say(format!(
                "  {} ({} outcomes): {equal}, digest {}",
                e.name,
                e.outcomes,
                &e.digest[..16]
            ))?;
        }
    }
    if rebuilt.is_equal() {
        Ok(())
    } else {
        Err(Failure::Other(
            "what was learned does not follow from the log: a snapshot is damaged".into(),
        ))
    }
}
