//! Can the numbers of an experiment be trusted? Each assumption that can be looked at, with a light and a sentence.

use std::sync::Arc;

use banister::lift::ArmLift;
use schemars::JsonSchema;
use serde::Serialize;

use super::Query;
use super::lift::LiftsView;
use crate::refusal::Refusal;
use crate::state::{EngineState, Experiment};
use crate::time::Timestamp;

/// Reports of an arm from which on delays are compared.
const ENOUGH: u64 = 100;
/// Times as late as those of the fastest arm that outcomes may come.
const LATE: f64 = 2.0;
/// Share of decisions without an outcome from which on somebody should look.
const MANY: f64 = 0.5;

/// Asks for the health of an experiment.
#[derive(Debug)]
pub struct ReadHealth(pub Arc<str>);

/// The health of an experiment.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Health {
    /// Name of the experiment.
    pub experiment: String,
    /// The log's time.
    pub time: Timestamp,
    /// The worst light of all.
    pub light: Light,
    /// Everything that was looked at.
    pub checks: Vec<Check>,
}

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Check {
    /// What it is about.
    pub name: String,
    /// How it is.
    pub light: Light,
    /// Why, in a sentence.
    pub reason: String,
}

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Light {
    /// Nothing speaks against it.
    Green,
    /// Somebody should look, or nobody can.
    Amber,
    /// It is shown to be wrong: do not trust the numbers.
    Red,
}

impl Health {
    pub(super) fn of(experiment: &Experiment, lifts: &LiftsView) -> Self {
        let mut checks = vec![
            assignment(experiment),
            alarms(experiment),
            missing(experiment),
            unreported(experiment),
            delays(experiment),
        ];
        checks.extend(units(experiment));
        checks.extend(same_arms(experiment, &lifts.lifts));
        let worst = checks.iter().map(|check| check.light).max();
        Self {
            experiment: experiment.info.experiment.clone(),
            time: lifts.time,
            light: worst.unwrap_or(Light::Green),
            checks,
        }
    }
}

fn check(name: &str, light: Light, reason: impl Into<String>) -> Check {
    Check {
        name: name.into(),
        light,
        reason: reason.into(),
    }
}

fn share(part: u64, whole: u64) -> String {
    format!("{:.1}%", 100.0 * part as f64 / whole.max(1) as f64)
}

/// Are arms drawn with the probabilities that the log says?
fn assignment(experiment: &Experiment) -> Check {
    let name = "assignment";
    let own = &experiment.trace.assigned;
    let each = experiment.arms.iter().zip(&own.arms);
    let each = each.filter(|(_, (drawn, expected))| *drawn > 0 || *expected > 0.0);
    let shown: Vec<String> = (each.take(8))
        .map(|(arm, (drawn, expected))| format!("{} {drawn} ({expected:.0} expected)", arm.name))
        .collect();
    let shown = shown.join(", ");
    if experiment.checked.declaration.shadow {
        let reason = "in shadow mode the caller assigns: nothing is drawn here";
        return check(name, Light::Green, reason);
    }
    if own.surprises.is_shown() {
        let reason = format!(
            "arms were not drawn with the probabilities of the log, at level 0.001: {shown}"
        );
        return check(name, Light::Red, reason);
    }
    if own.decisions == 0 {
        return check(
            name,
            Light::Amber,
            "no decision was compared with its policy yet",
        );
    }
    check(
        name,
        Light::Green,
        format!("arms are drawn as policies say: {shown}"),
    )
}

/// Do the monitors hold an assumption for broken?
fn alarms(experiment: &Experiment) -> Check {
    let name = "monitors";
    let mut open: Vec<_> = experiment.open_alarms().collect();
    open.sort_by_key(|alarm| alarm.alarm.kind.is_warning());
    match open.first() {
        Some(first) => {
            let light = if first.alarm.kind.is_warning() {
                Light::Amber
            } else {
                Light::Red
            };
            let more = match open.len() - 1 {
                0 => String::new(),
                n => format!("; and {n} more"),
            };
            check(name, light, format!("{}{more}", first.alarm.message))
        }
        None if experiment.on_breach().is_none() => {
            check(name, Light::Amber, "nothing watches this agent")
        }
        None => check(
            name,
            Light::Green,
            "no breach, drift or change of a mean was seen",
        ),
    }
}

/// Do arms differ in what they lose?
fn missing(experiment: &Experiment) -> Check {
    let name = "missing outcomes";
    let counts = &experiment.counts;
    if experiment.checked.declaration.ttl_seconds.is_none() {
        let reason = "no time to live is declared: what never comes is not noticed, and early outcomes count first";
        return check(name, Light::Amber, reason);
    }
    let rates: Vec<String> = (experiment.arms.iter().enumerate())
        .filter_map(|(place, arm)| {
            let own = experiment.missing.of(place)?;
            Some(format!("{} {}", arm.name, share(own.missing, own.matured)))
        })
        .take(8)
        .collect();
    if experiment.missing.evidence() >= 1000.0 {
        let reason = format!(
            "outcomes are missing, and not at random: {}",
            rates.join(", ")
        );
        return check(name, Light::Red, reason);
    }
    let all = counts.missing + counts.outcomes;
    let reason = match counts.missing {
        0 => format!("none of {all} outcomes is missing"),
        n => format!(
            "{n} of {all} are missing, and arms do not differ: {}",
            rates.join(", ")
        ),
    };
    check(name, Light::Green, reason)
}

/// Is there an outcome for what was decided?
fn unreported(experiment: &Experiment) -> Check {
    let (name, counts) = ("traffic without outcomes", &experiment.counts);
    // With a time to live those that got the default, or nothing, are expired.
    let settled = counts.outcomes + counts.missing + counts.moved;
    let (open, what) = if experiment.checked.declaration.ttl_seconds.is_some() {
        (counts.expired, "got no outcome in time")
    } else {
        (
            counts.decisions.saturating_sub(settled),
            "have no outcome yet",
        )
    };
    let whole = if experiment.checked.declaration.ttl_seconds.is_some() {
        settled
    } else {
        counts.decisions
    };
    let light = if whole >= ENOUGH && open as f64 > MANY * whole as f64 {
        Light::Amber
    } else {
        Light::Green
    };
    check(
        name,
        light,
        format!(
            "{open} of {whole} decisions ({}) {what}",
            share(open, whole)
        ),
    )
}

/// Do outcomes of some arms come later than those of others?
fn delays(experiment: &Experiment) -> Check {
    let name = "delay";
    let seen = experiment.trace.delays.iter().enumerate();
    let seen = seen.filter(|(_, own)| own.count >= ENOUGH);
    let mut means: Vec<(f64, &str)> = seen
        .map(|(place, own)| (own.sum / own.count as f64, &*experiment.arms[place].name))
        .collect();
    means.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (Some((least, fast)), Some((most, slow))) = (means.first(), means.last()) else {
        return check(
            name,
            Light::Green,
            "too few outcomes to compare how late they come",
        );
    };
    let shown = format!("{least:.1} s after decisions for {fast}, {most:.1} s for {slow}");
    if *most > LATE * least.max(1.0) && experiment.checked.declaration.ttl_seconds.is_none() {
        let reason = format!(
            "outcomes come {shown}: until they are in, arms are not comparable; declare a time to live"
        );
        return check(name, Light::Amber, reason);
    }
    check(name, Light::Green, format!("outcomes come {shown}"))
}

/// What is special about units.
fn units(experiment: &Experiment) -> Option<Check> {
    let unit = experiment.checked.declaration.unit.as_ref()?;
    let (name, counts) = (format!("{}s", unit.name), &experiment.counts);
    let mut light = Light::Green;
    let mut reason = format!("{} {name} were assigned, none was moved", counts.decisions);
    if counts.moved > 0 {
        reason = format!(
            "{} of {} {name} ({}) were given another arm before their time was over, and are not learned",
            counts.moved,
            counts.decisions,
            share(counts.moved, counts.decisions)
        );
        light = if counts.moved * 10 > counts.decisions {
            Light::Amber
        } else {
            Light::Green
        };
    }
    Some(check(&name, light, reason))
}

/// Where all arms are the same, do they look so?
fn same_arms(experiment: &Experiment, lifts: &[ArmLift]) -> Option<Check> {
    let name = "A/A";
    if !experiment.checked.declaration.a_a {
        return None;
    }
    let differs = |own: &&ArmLift| own.difference.lower > 0.0 || own.difference.upper < 0.0;
    let all = lifts.len();
    let chance = 100.0 * lifts.iter().map(|own| 1.0 - own.confidence).sum::<f64>();
    Some(match lifts.iter().find(differs) {
        Some(own) => check(
            name,
            Light::Red,
            format!(
                "all arms are the same, but {} of {} differs from the safe arm's by {:.3} to {:.3}: something between the \
                 decision and the report treats them differently (by chance: at most {chance:.0}%)",
                own.signal, own.arm, own.difference.lower, own.difference.upper
            ),
        ),
        None if all == 0 => check(name, Light::Amber, "there is nothing to compare yet"),
        None => check(
            name,
            Light::Green,
            format!("all {all} differences to the safe arm may be 0, as they should"),
        ),
    })
}

impl Query for ReadHealth {
    type Answer = Health;

    fn answer(self, state: &mut EngineState) -> Result<Health, Refusal> {
        let now = state.now;
        let experiment = state.experiment(&self.0)?;
        // Lifts of many arms take long, here beside every decision, and only this check looks at them.
        let unread = (!experiment.checked.declaration.a_a).then(Default::default);
        let lifts = LiftsView::of(experiment, now, unread);
        Ok(Health::of(experiment, &lifts))
    }
}
