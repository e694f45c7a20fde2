//! A report on an experiment for outsiders: what was tried, what it earned, what it cost.

use banister::ArmEstimate;
use banister::lift::{ArmLift, LiftInterval};
use schemars::JsonSchema;
use serde::Serialize;

use super::health::Health;
use super::lift::{LiftsView, ReadLifts};
use super::live_state::{ExperimentState, ReadState};
use super::{ExperimentView, Query};
use crate::refusal::Refusal;
use crate::state::{EngineState, RecordedAlarm};

/// Asks for a report.
pub struct ReadReport(pub String);

/// A report on an experiment.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExperimentReport {
    /// The experiment as declared, and its counts.
    pub experiment: ExperimentView,
    /// The policy now, its certificate and estimates.
    pub state: ExperimentState,
    /// Lifts of the arms, and the worth left.
    pub lift: LiftsView,
    /// Reward of all outcomes beyond what the safe arm would have earned for them: Σ_a n_a·lift_a. Its ends hold
    /// together with probability 1 − δ per arm; null where lifts are not known.
    pub earned: Option<LiftInterval>,
    /// One entry per guardrail.
    pub guardrails: Vec<GuardrailReport>,
    /// Checks of the assumptions behind the numbers.
    pub health: Health,
    /// Alarms, acknowledged ones too, oldest first.
    pub alarms: Vec<RecordedAlarm>,
}

/// One guardrail of a report.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GuardrailReport {
    /// Its name.
    pub name: String,
    /// Promise in words, where it is a ratio or a quantile.
    pub promise: Option<String>,
    /// Mean of all outcomes, in the units of certificates.
    pub mean: Option<f64>,
    /// Bound that policies are certified by.
    pub threshold: Option<f64>,
    /// The policy's cost as certified now.
    pub certified: Option<f64>,
    /// True unless a monitor found a breach that is not acknowledged yet.
    pub held: bool,
    /// Price in words: the gain of a looser threshold.
    pub price: Option<String>,
}

impl Query for ReadReport {
    type Answer = ExperimentReport;

    fn reads(&self) -> Option<&str> {
        Some(&self.0)
    }

    fn answer(self, state: &mut EngineState) -> Result<ExperimentReport, Refusal> {
        let name = self.0;
        let live = ReadState(name.clone()).answer(state)?;
        let lift = ReadLifts(name.clone()).answer(state)?;
        let (sets, now) = (state.clock_sets().clone(), state.now);
        let experiment = state.experiment(&name)?;
        let health = Health::of(experiment, &lift);
        let view = ExperimentView::new(experiment, &sets, now);
        let reward = experiment.checked.standard.signal_name(0).to_string();
        let promises = experiment.info.promises.iter().enumerate();
        let guardrails = promises.map(|(i, promise)| {
            let own = live.certificate.as_ref().and_then(|own| own.guardrails.get(i));
            let own = own.map(|own| own.certificate);
            let breached = |alarm: &RecordedAlarm| {
                !alarm.alarm.kind.is_warning() && alarm.alarm.guardrail.as_ref() == Some(&promise.name)
            };
            GuardrailReport {
                name: promise.name.clone(),
                promise: promise.promise.clone(),
                mean: mean(live.arms.iter().map(|arm| &arm.estimate), i),
                threshold: own.map(|own| own.threshold),
                certified: own.map(|own| own.pessimistic_cost),
                held: !experiment.open_alarms().any(breached),
                price: own.filter(|own| own.price > 0.0).map(|own| {
                    format!(
                        "a threshold looser by 0.01 would earn about {:.4} more {reward} per decision",
                        0.01 * own.price
                    )
                }),
            }
        });
        Ok(ExperimentReport {
            guardrails: guardrails.collect(),
            earned: earned(&lift, &reward),
            alarms: experiment.alarms.clone(),
            experiment: view,
            state: live,
            lift,
            health,
        })
    }
}

/// Mean of a guardrail over the outcomes of all arms.
fn mean<'a>(arms: impl Iterator<Item = &'a ArmEstimate>, guardrail: usize) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0.0);
    for arm in arms {
        let n = arm.pulls? as f64;
        if n > 0.0 {
            sum += n * arm.costs.get(guardrail)?.mean?;
            count += n;
        }
    }
    (count > 0.0).then(|| sum / count)
}

fn earned(lift: &LiftsView, reward: &str) -> Option<LiftInterval> {
    let of_reward = |own: &&ArmLift| own.signal == reward && own.outcomes > 0;
    let lifts: Vec<&ArmLift> = lift.lifts.iter().filter(of_reward).collect();
    let sum = |of: fn(&LiftInterval) -> Option<f64>| {
        let each = lifts.iter();
        each.map(|own| Some(own.outcomes as f64 * of(&own.difference)?))
            .sum::<Option<f64>>()
    };
    Some(LiftInterval {
        estimate: sum(|own| own.estimate),
        lower: sum(|own| Some(own.lower))?,
        upper: sum(|own| Some(own.upper))?,
    })
    .filter(|_| !lifts.is_empty())
}
