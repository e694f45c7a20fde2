//! Health of an experiment: every assumption behind its numbers that can be checked, with a light and a sentence.

use banister::lift::ArmLift;
use schemars::JsonSchema;
use serde::Serialize;

use super::Query;
use super::lift::{LiftsView, ReadLifts};
use crate::refusal::Refusal;
use crate::state::{EngineState, Experiment, Unit};
use crate::time::Timestamp;

/// Reports of an arm from which on delays are compared.
const ENOUGH: u64 = 100;
/// Times as late as those of the fastest arm that outcomes may come.
const LATE: f64 = 2.0;
/// Share of decisions without an outcome from which on they need attention.
const MANY: f64 = 0.5;

/// Asks for the health of an experiment.
pub struct ReadHealth(pub String);

/// The health of an experiment.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Health {
    /// Name of the experiment.
    pub experiment: String,
    /// The log's time.
    pub time: Timestamp,
    /// The worst light of all.
    pub light: Light,
    /// All checks.
    pub checks: Vec<Check>,
}

/// One check of an experiment.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Check {
    /// Name, such as `assignment`.
    pub name: String,
    /// Verdict.
    pub light: Light,
    /// Reason for the verdict, in a sentence.
    pub reason: String,
}

/// Verdict of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Light {
    /// Nothing speaks against it.
    Green,
    /// It needs attention, or cannot be checked.
    Amber,
    /// It is shown to be wrong: do not trust the numbers.
    Red,
}

impl Health {
    pub(super) fn of(experiment: &Experiment, lifts: &LiftsView) -> Self {
        let declared = &experiment.checked.declaration;
        let unit = declared.unit.as_ref();
        let found = [
            ("assignment", Some(assignment(experiment))),
            ("monitors", Some(monitors(experiment))),
            ("missing outcomes", Some(missing(experiment))),
            ("traffic without outcomes", Some(unreported(experiment))),
            ("delay", Some(delay(experiment))),
            ("units", unit.map(|unit| units(experiment, unit))),
            ("A/A", declared.a_a.then(|| same_arms(&lifts.lifts))),
        ];
        let checks = found.into_iter().filter_map(|(name, found)| {
            let name = name.to_string();
            found.map(|own| Check { name, ..own })
        });
        let checks: Vec<Check> = checks.collect();
        let worst = checks.iter().map(|check| check.light).max();
        Self {
            experiment: experiment.info.experiment.clone(),
            time: lifts.time,
            light: worst.unwrap_or(Light::Green),
            checks,
        }
    }
}

fn green(reason: impl Into<String>) -> Check {
    Check {
        name: String::new(),
        light: Light::Green,
        reason: reason.into(),
    }
}

/// Amber if it needs attention.
fn amber(looks: bool, reason: impl Into<String>) -> Check {
    let mut own = green(reason);
    own.light = if looks { Light::Amber } else { Light::Green };
    own
}

fn red(reason: impl Into<String>) -> Check {
    let mut own = green(reason);
    own.light = Light::Red;
    own
}

fn share(part: u64, whole: u64) -> String {
    let percent = 100.0 * part as f64 / whole.max(1) as f64;
    format!("{part} of {whole} ({percent:.1}%)")
}

/// The first few of many.
fn listed(words: impl Iterator<Item = String>) -> String {
    words.take(8).collect::<Vec<_>>().join(", ")
}

/// Draws of arms against the probabilities of the log.
fn assignment(experiment: &Experiment) -> Check {
    let own = &experiment.trace.assigned;
    let each = experiment.arms.iter().zip(&own.arms);
    let each = each.filter(|(_, (drawn, expected))| *drawn > 0 || *expected > 0.0);
    let words = each.map(|(arm, (n, mean))| format!("{} {n} ({mean:.0} expected)", arm.name));
    let shown = listed(words);
    if experiment.checked.declaration.shadow {
        green("in shadow mode the caller assigns: nothing is drawn here")
    } else if own.surprises.is_shown() {
        let reason = "arms were not drawn with the probabilities of the log, at level 0.001";
        red(format!("{reason}: {shown}"))
    } else if own.decisions == 0 {
        amber(true, "no decision was compared with its policy yet")
    } else {
        green(format!("arms are drawn as policies say: {shown}"))
    }
}

/// Unacknowledged alarms, breaches before warnings.
fn monitors(experiment: &Experiment) -> Check {
    let mut open: Vec<_> = experiment.open_alarms().collect();
    open.sort_by_key(|alarm| alarm.alarm.kind.is_warning());
    let Some(first) = open.first().map(|own| &own.alarm) else {
        return match experiment.on_breach() {
            Some(_) => green("no breach, drift or change of a mean was seen"),
            None => amber(true, "nothing watches this agent"),
        };
    };
    let more = Some(open.len() - 1).filter(|n| *n > 0);
    let more = more.map_or(String::new(), |n| format!("; and {n} more"));
    let reason = format!("{}{more}", first.message);
    if first.kind.is_warning() {
        return amber(true, reason);
    }
    red(reason)
}

/// Outcomes that never came, by arm.
fn missing(experiment: &Experiment) -> Check {
    let counts = &experiment.counts;
    if experiment.checked.declaration.ttl_seconds.is_none() {
        let reason = "no time to live is declared: what never comes is not noticed, and early outcomes count first";
        return amber(true, reason);
    }
    let arms = experiment.arms.iter().enumerate();
    let rates = listed(arms.filter_map(|(place, arm)| {
        let own = experiment.missing.of(place)?;
        Some(format!("{} {}", arm.name, share(own.missing, own.matured)))
    }));
    if experiment.missing.evidence() >= 1000.0 {
        return red(format!("outcomes are missing, and not at random: {rates}"));
    }
    let all = counts.missing + counts.outcomes;
    match counts.missing {
        0 => green(format!("none of {all} outcomes is missing")),
        n => green(format!(
            "{n} of {all} are missing, arms do not differ: {rates}"
        )),
    }
}

/// Decisions without an outcome. With a time to live those that got the default, or nothing, are expired.
fn unreported(experiment: &Experiment) -> Check {
    let counts = &experiment.counts;
    let settled = counts.outcomes + counts.returned + counts.missing + counts.moved;
    let (open, whole, what) = match experiment.checked.declaration.ttl_seconds {
        Some(_) => (counts.expired, settled, "got no outcome in time"),
        None => {
            let open = counts.decisions.saturating_sub(settled);
            (open, counts.decisions, "have no outcome yet")
        }
    };
    let looks = whole >= ENOUGH && open as f64 > MANY * whole as f64;
    amber(looks, format!("decisions: {} {what}", share(open, whole)))
}

/// Time until outcomes come, of the fastest arm and of the slowest.
fn delay(experiment: &Experiment) -> Check {
    let seen = experiment.arms.iter().zip(&experiment.trace.delays);
    let seen = seen.filter(|(_, own)| own.count >= ENOUGH);
    let mut means: Vec<(f64, &str)> = seen
        .map(|(arm, own)| (own.sum / own.count as f64, &*arm.name))
        .collect();
    means.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (Some((least, fast)), Some((most, slow))) = (means.first(), means.last()) else {
        return green("too few outcomes to compare how late they come");
    };
    let shown =
        format!("outcomes come {least:.1} s after decisions for {fast}, {most:.1} s for {slow}");
    let waits = experiment.checked.declaration.ttl_seconds.is_none();
    if *most > LATE * least.max(1.0) && waits {
        let reason = "until they are in, arms are not comparable; declare a time to live";
        return amber(true, format!("{shown}: {reason}"));
    }
    green(shown)
}

/// Units that were given another arm within their period, and those with as many reports as are added up.
fn units(experiment: &Experiment, unit: &Unit) -> Check {
    let (counts, name) = (&experiment.counts, &unit.name);
    let [moved, full] = [counts.moved, counts.full].map(|n| share(n, counts.decisions));
    let looks = counts.moved * 10 > counts.decisions || counts.full > 0;
    let reason = format!(
        "of the {name}s, {moved} were given another arm before their time was over and are not learned, {full} have \
         as many reports as are added up"
    );
    amber(looks, reason)
}

/// Differences between arms that are declared to be the same.
fn same_arms(lifts: &[ArmLift]) -> Check {
    let differs = |own: &&ArmLift| own.difference.lower > 0.0 || own.difference.upper < 0.0;
    let chance = 100.0 * lifts.iter().map(|own| 1.0 - own.confidence).sum::<f64>();
    match (lifts.iter().find(differs), lifts.len()) {
        (Some(own), _) => {
            let (signal, arm, by) = (&own.signal, &own.arm, own.difference);
            let reason = format!(
                "all arms are the same, but {signal} of {arm} differs from the safe arm's by {:.3} to {:.3}: something \
                 between the decision and the report treats them differently (by chance: at most {chance:.0}%)",
                by.lower, by.upper
            );
            red(reason)
        }
        (None, 0) => amber(true, "there is nothing to compare yet"),
        (None, all) => green(format!("all {all} differences may be 0, as they should")),
    }
}

impl Query for ReadHealth {
    type Answer = Health;

    fn reads(&self) -> Option<&str> {
        Some(&self.0)
    }

    fn answer(self, state: &mut EngineState) -> Result<Health, Refusal> {
        let lifts = ReadLifts(self.0.clone()).answer(state)?;
        Ok(Health::of(state.experiment(&self.0)?, &lifts))
    }
}
