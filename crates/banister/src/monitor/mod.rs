//! The monitor: tests of every assumption that can be watched.
//!
//! A certificate is right if means do not change, declarations are true and outcomes are reported as
//! they happened. These tests run beside every agent and need none of that to be right:
//!
//! | alarm | evidence | false alarms |
//! |---|---|---|
//! | `breach` | costs of actions above what their decisions claimed (`detector`) | ≤ δ_b, ever |
//! | `breach_warning` | the same, sooner: a warning | ≤ 3%, ever |
//! | `refuted` | an arm's cost lies beyond its interval: its mean changed (`estimate/change.rs`) | ≤ δ + δ_b, ever |
//! | `changed` | an arm's reward does, or its cost on the harmless side: a warning | ≤ 3δ_o, ever |
//! | `drift` | two windows of an arm's outcomes: its mean moves faster than declared | ≤ δ + δ_o, ever |
//! | `safe_cost` | the safe action's outcomes against its declared cost (`declared`) | ≤ δ_b, ever |
//! | `range` | a cost outside its declared range (of a reward: the warning `reward_range`) | none |
//! | `segments` | nearly as many names of segments as there is room for: a warning | none |
//! | `missing` | outcomes that are given up, by segment and by arm (`missing`) | ≤ 0.002, ever |
//! | `model_refuted` | costs of a part of the outcomes against the model of the features (`fit`) | ≤ δ, ever |
//!
//! [`OnBreach`] says what an alarm does; one about missing outcomes only informs. Files, in reading order: `alarm`,
//! `origin` (of an outcome), `detector`, `declared`, `missing`, `assumption`, `saved`.

mod alarm;
mod assumption;
mod declared;
mod detector;
mod missing;
mod origin;
mod saved;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::estimate::Changed;
use crate::problem::{CheckedProblem, Scope};
pub use alarm::{Alarm, AlarmKind, FeatureRange, Misfit, OnBreach};
pub use assumption::Assumption;
use declared::Declared;
pub(crate) use detector::{ALARM_DELTA, is_usual};
use detector::{Detector, DetectorState, Part, WARNING_LEVEL, detectors_in_each, detectors_of_all};
pub(crate) use missing::Drawn;
use missing::Missing;
pub use origin::Origin;
pub(crate) use origin::Watched;
pub use saved::MonitorState;

/// Most warnings of changed means that stand at once: with thousands of arms, more would not help.
const MOST_CHANGES: usize = 16;

/// Parameters of a monitor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MonitorConfig {
    pub on_breach: OnBreach,
    /// 1/δ_b, δ_b the probability that a breach is ever raised falsely, on any guardrail; and that a true safe cost is
    /// ever refuted.
    pub alarm_level: f64,
    /// True if what is forgotten takes the next place in its budget, so that nothing has to be kept for it.
    pub relearns_by_place: bool,
    /// True if a safe action that costs less than declared can void a certificate: not where its
    /// declared cost serves as an upper bound only.
    pub exact_safe_cost: bool,
}

/// All tests of an agent, its alarms, and its epoch.
#[derive(Debug, Clone)]
pub struct Monitor {
    config: MonitorConfig,
    /// False for an agent that nothing watches.
    is_on: bool,
    detectors: Vec<Option<Detector>>,
    declared: Vec<Option<Declared>>,
    /// By segment: detectors of the guardrails that hold in each; empty before its first outcome.
    segments: Vec<Vec<Option<Detector>>>,
    saved: Memory,
}

/// State that a snapshot keeps beside the tests.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    /// 0 for the first one.
    epoch: u32,
    /// Outcomes that are not believed any more.
    forgotten: u64,
    /// Decisions up to this number belong to earlier epochs.
    before: u64,
    /// By number of the arm: its decisions up to this number are forgotten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    before_by_arm: Vec<u64>,
    /// True once outcomes of another policy were learned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    logged: bool,
    /// Unacknowledged alarms: one of each kind per guardrail at most.
    alarms: Vec<Alarm>,
    /// Alarms raised so far.
    raised: u64,
    /// Number of the last decision announced.
    last: u64,
    #[serde(default)]
    missing: Missing,
    /// Reaction to alarms, where it is another than declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on_breach: Option<OnBreach>,
}

/// Evidence against the model of the features.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Refuted {
    pub guardrail: usize,
    /// Number of the arm whose outcomes they are, if they are one arm's.
    pub arm: Option<usize>,
    pub outcomes: u64,
    /// Their mean, in the units of the guardrail's signal.
    pub mean: f64,
    /// The evidence, as a likelihood ratio.
    pub evidence: f64,
    pub misfit: Misfit,
}

/// Consequence of an outcome for the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Next {
    /// Go on as planned.
    Continue,
    /// Drop what was learned and start the next epoch.
    Restart,
}

impl Next {
    /// The stronger of two.
    pub(crate) fn or(self, other: Self) -> Self {
        if self == Self::Restart { self } else { other }
    }
}

impl Monitor {
    pub(crate) fn new(problem: &CheckedProblem, config: MonitorConfig) -> Self {
        let guardrails = &problem.guardrails;
        let share = 1.0 / (config.alarm_level * guardrails.len().max(1) as f64);
        Self {
            config,
            is_on: true,
            detectors: detectors_of_all(problem),
            declared: (0..problem.width() - 1)
                .map(|i| Declared::new(problem, i, share))
                .collect(),
            segments: Vec::new(),
            saved: Memory::default(),
        }
    }

    /// A monitor that watches nothing.
    pub(crate) fn off() -> Self {
        Self {
            config: MonitorConfig {
                on_breach: OnBreach::Alert,
                alarm_level: f64::INFINITY,
                relearns_by_place: false,
                exact_safe_cost: false,
            },
            is_on: false,
            detectors: Vec::new(),
            declared: Vec::new(),
            segments: Vec::new(),
            saved: Memory::default(),
        }
    }

    /// True if it watches.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Unacknowledged alarms, the oldest first.
    #[inline]
    pub fn alarms(&self) -> &[Alarm] {
        &self.saved.alarms
    }

    /// The alarm to show where there is room for one: the oldest, before any warning.
    pub(crate) fn foremost(&self) -> Option<Alarm> {
        let alarms = self.saved.alarms.iter();
        alarms.min_by_key(|alarm| alarm.kind.is_warning()).copied()
    }

    /// Number of alarms raised so far.
    pub fn raised(&self) -> u64 {
        self.saved.raised
    }

    /// Times that learning started again.
    pub fn epoch(&self) -> u32 {
        self.saved.epoch
    }

    /// Reaction to alarms in force.
    pub fn on_breach(&self) -> OnBreach {
        self.saved.on_breach.unwrap_or(self.config.on_breach)
    }

    /// Changes the reaction to alarms from now on; those there are stay as they were raised.
    pub fn set_on_breach(&mut self, on_breach: OnBreach) -> Result<(), Error> {
        self.check_on_breach(on_breach)?;
        self.saved.on_breach = Some(on_breach).filter(|&own| own != self.config.on_breach);
        Ok(())
    }

    /// Where learning again needs a share of δ in every epoch, it has to be declared; then one may turn to another
    /// reaction, and back.
    pub(crate) fn check_on_breach(&self, on_breach: OnBreach) -> Result<(), Error> {
        let relearns = self.config.relearns_by_place || self.config.on_breach == OnBreach::Relearn;
        if on_breach == OnBreach::Relearn && !relearns {
            let allowed = "learning again needs a share of δ that is kept for it from the start: declare it so in a new \
                           experiment";
            return Err(Error::invalid("on_breach", "relearn", allowed));
        }
        Ok(())
    }

    /// Returns true if a guardrail has a breach detector: not for a sub-Gaussian signal relative to the safe
    /// action's own mean.
    pub fn watches(&self, guardrail: usize) -> bool {
        self.detectors.get(guardrail).is_some_and(Option::is_some)
    }

    /// Evidence of a breach over time: (outcomes watched, log10 of the evidence). An alarm is raised at
    /// log10 of [`Monitor::alarm_level`].
    pub fn evidence(&self, guardrail: usize) -> &[(u64, f64)] {
        match self.detectors.get(guardrail) {
            Some(Some(detector)) => detector.trace(),
            _ => &[],
        }
    }

    /// 1/δ_b, the evidence at which a breach raises an alarm.
    pub fn alarm_level(&self) -> f64 {
        self.config.alarm_level
    }

    /// Number of the last decision announced; the next one's must be larger.
    pub fn last_announced(&self) -> u64 {
        self.saved.last
    }

    /// Returns true while the safe action is forced.
    #[inline]
    pub(crate) fn forces_safe(&self) -> bool {
        self.saved.alarms.iter().any(|alarm| alarm.forces_safe)
    }

    /// Outcomes of earlier epochs, which nothing rests on any more.
    #[inline]
    pub(crate) fn forgotten(&self) -> u64 {
        self.saved.forgotten
    }

    /// Clears the alarms that a person has seen: the tests start anew, and nothing is forced any more.
    pub(crate) fn acknowledge(&mut self) {
        self.saved.alarms.clear();
        self.clear_tests();
    }

    /// Takes note of the number of a decision; false if it is none of a later one.
    pub(crate) fn announce(&mut self, number: u64) -> bool {
        let is_later = number > self.saved.last;
        self.saved.last = self.saved.last.max(number);
        is_later
    }

    /// A segment's number goes to another one.
    pub(crate) fn leave_segment(&mut self, segment: usize) {
        self.saved.missing.leave_segment(segment);
    }

    /// What was taken for missing was late.
    pub(crate) fn forget_missing(&mut self) {
        self.saved.missing.restart();
    }

    /// Warns that there are nearly as many names of segments as there can be.
    #[cold]
    pub(crate) fn warn_of_names(&mut self, names: u64, most: f64, taken: u64) {
        let _ = self.raise(Alarm {
            outcomes: names,
            mean: most,
            ..Alarm::certain(AlarmKind::Segments, taken)
        });
    }

    /// Counts a decision in a segment whose outcome came.
    pub(crate) fn came(&mut self, problem: &CheckedProblem, drawn: &Drawn) {
        let is_safe = drawn.arm == problem.declared.safe;
        self.saved.missing.came(drawn, is_safe);
    }

    /// Counts one whose outcome is given up. Nothing rests on it, so an alarm only informs.
    pub(crate) fn missed(&mut self, problem: &CheckedProblem, drawn: &Drawn, taken: u64) {
        if problem.guardrails.is_empty() {
            return;
        }
        let safe = problem.declared.safe;
        let Some(found) = (self.saved.missing).given_up(drawn, drawn.arm == safe) else {
            return;
        };
        let _ = self.raise(Alarm {
            guardrail: Some(0),
            arm: found.is_safe.then_some(safe),
            segment: found.segment,
            outcomes: found.missing,
            mean: found.share,
            evidence: found.evidence,
            ..Alarm::certain(AlarmKind::Missing, taken)
        });
    }

    /// Returns true if an outcome may be learned: not if an earlier epoch made its decision.
    #[inline]
    pub(crate) fn is_current(&self, origin: Origin) -> bool {
        origin
            .decision()
            .is_none_or(|decision| decision > self.saved.before)
    }

    /// Returns true if the outcome of an announced decision would be learned.
    pub(crate) fn is_waited_for(&self, decision: u64, action: usize) -> bool {
        let origin = Origin::Announced(decision);
        self.is_current(origin) && !self.is_forgotten(action, origin)
    }

    /// Returns true if an arm was forgotten after the decision of its outcome was made: it is watched, and not learned.
    #[inline]
    pub(crate) fn is_forgotten(&self, arm: usize, origin: Origin) -> bool {
        let before = self.saved.before_by_arm.get(arm);
        before.is_some_and(|&before| origin.decision().is_some_and(|own| own <= before))
    }

    /// An arm is learned anew: outcomes of its decisions so far are not.
    pub(crate) fn forget_before(&mut self, arm: usize) {
        let own = &mut self.saved.before_by_arm;
        if own.len() <= arm {
            own.resize(arm + 1, 0);
        }
        own[arm] = self.saved.last;
    }

    /// Outcomes of another policy are learned.
    #[cold]
    pub(crate) fn note_log(&mut self) {
        self.saved.logged = true;
    }

    /// An outcome that is not learned: what it would teach was forgotten.
    pub(crate) fn forget(&mut self) {
        self.saved.forgotten += 1;
    }

    /// Looks at the signals of the `taken`-th outcome: one outside its range refutes a declaration.
    #[cold]
    pub(crate) fn look_at_ranges(
        &mut self,
        problem: &CheckedProblem,
        arm: Option<usize>,
        (reward, costs): (f64, &[f64]),
        taken: u64,
    ) {
        let costs = costs.iter().enumerate();
        let costs = costs.map(|(position, &cost)| (problem.place_of(position), cost));
        for (signal, value) in std::iter::once((problem.reported(), reward)).chain(costs) {
            let on_breach = self.on_breach();
            if let Some(alarm) = Alarm::of_range(problem, on_breach, (arm, signal), value, taken) {
                let _ = self.raise(alarm);
            }
        }
    }

    /// Watches an outcome, the `taken`-th of the agent; costs as they count.
    #[inline]
    pub(crate) fn observe(
        &mut self,
        problem: &CheckedProblem,
        watched: &Watched,
        costs: &[f64],
        taken: u64,
    ) -> Next {
        if !self.is_on {
            return Next::Continue;
        }
        if watched.is_safe {
            self.test_safe_cost(problem, costs, taken);
        }
        self.detect(problem, watched, costs, taken)
    }

    /// Runs the breach detectors on an outcome, if its decision made claims.
    #[inline]
    pub(crate) fn detect(
        &mut self,
        problem: &CheckedProblem,
        watched: &Watched,
        costs: &[f64],
        taken: u64,
    ) -> Next {
        let Some(claims) = watched.claims else {
            return Next::Continue;
        };
        let part = watched.arm.map(Part::Arm);
        let mut next = self.run(problem, None, taken, |i, detector| {
            let standard = problem.guardrails[i].standardise(costs[i]);
            detector.observe(part, claims[i], standard)
        });
        if watched.segment.is_some() {
            next = next.or(self.run(problem, watched.segment, taken, |i, detector| {
                let standard = problem.guardrails[i].standardise(costs[i]);
                detector.observe(part, claims[i], standard)
            }));
        }
        next
    }

    /// Watches how often segments come: a decision's own cost beyond the bound on the mean over all, by guardrail.
    pub(crate) fn observe_segment(
        &mut self,
        problem: &CheckedProblem,
        excess: &[f64],
        taken: u64,
    ) -> Next {
        self.run(problem, None, taken, |i, detector| {
            let guardrail = &problem.guardrails[i];
            match excess.get(i) {
                Some(&excess) if guardrail.scope == Scope::Overall => {
                    detector.observe_segment(excess, -guardrail.threshold - guardrail.factor)
                }
                _ => 0.0,
            }
        })
    }

    /// Has the detectors of all decisions, or those of a segment, look at something.
    #[inline(always)]
    fn run(
        &mut self,
        problem: &CheckedProblem,
        segment: Option<usize>,
        taken: u64,
        mut look: impl FnMut(usize, &mut Detector) -> f64,
    ) -> Next {
        let level = WARNING_LEVEL.min(self.config.alarm_level);
        let mut next = Next::Continue;
        for i in 0..problem.guardrails.len() {
            let own = match segment {
                None => &mut self.detectors,
                Some(segment) => self.detectors_in(problem, segment),
            };
            let evidence = own[i].as_mut().map_or(0.0, |own| look(i, own));
            if evidence >= level {
                next = next.or(self.breach(problem, i, segment, evidence, taken));
            }
        }
        next
    }

    /// Detectors of the guardrails that hold in each segment.
    fn detectors_in(
        &mut self,
        problem: &CheckedProblem,
        segment: usize,
    ) -> &mut Vec<Option<Detector>> {
        if self.segments.len() <= segment {
            self.segments.resize(segment + 1, Vec::new());
        }
        let own = &mut self.segments[segment];
        if own.is_empty() {
            *own = detectors_in_each(problem, segment);
        }
        own
    }

    #[cold]
    fn breach(
        &mut self,
        problem: &CheckedProblem,
        guardrail: usize,
        segment: Option<usize>,
        evidence: f64,
        taken: u64,
    ) -> Next {
        let detectors = match segment {
            None => &self.detectors,
            Some(segment) => &self.segments[segment],
        };
        let Some(detector) = &detectors[guardrail] else {
            return Next::Continue;
        };
        let recent = detector.recent();
        let acts = evidence >= self.config.alarm_level;
        let kind = if acts {
            AlarmKind::Breach
        } else {
            AlarmKind::BreachWarning
        };
        self.raise(Alarm {
            guardrail: Some(guardrail),
            arm: recent.arm,
            segment,
            outcomes: recent.outcomes,
            mean: detector.in_units(&problem.guardrails[guardrail], &recent),
            evidence,
            forces_safe: acts && self.on_breach() == OnBreach::Safe,
            ..Alarm::certain(kind, taken)
        })
    }

    fn test_safe_cost(&mut self, problem: &CheckedProblem, costs: &[f64], taken: u64) {
        for (i, &cost) in costs.iter().enumerate() {
            let Some(declared) = &mut self.declared[i] else {
                continue;
            };
            let Some(refuted) = declared.observe(cost) else {
                continue;
            };
            // Learning again does not mend a declaration: it forces the safe action like `safe`.
            let matters = refuted.is_dearer || self.config.exact_safe_cost;
            if !matters && problem.declared.context.is_some() {
                // A bound in every context is above the mean over them.
                continue;
            }
            let outcomes = declared.state.count;
            let _ = self.raise(Alarm {
                guardrail: Some(i),
                arm: Some(problem.declared.safe),
                outcomes,
                mean: refuted.mean,
                evidence: refuted.evidence,
                forces_safe: matters && self.on_breach() != OnBreach::Alert,
                ..Alarm::certain(AlarmKind::SafeCost, taken)
            });
        }
    }

    /// Raises an alarm for a changed mean of an arm, in the units of the signal. It only informs where nothing rests on
    /// what is refuted, which was forgotten.
    #[cold]
    pub(crate) fn tell_change(
        &mut self,
        arm: usize,
        segment: Option<usize>,
        changed: &Changed,
        taken: u64,
    ) -> Next {
        let endangers = changed.endangers;
        let kind = match (changed.drift, endangers) {
            (true, true) => AlarmKind::Drift,
            (false, true) => AlarmKind::Refuted,
            (_, false) => AlarmKind::Changed,
        };
        self.raise(Alarm {
            guardrail: changed.guardrail,
            arm: Some(arm),
            segment,
            outcomes: changed.outcomes,
            mean: changed.mean,
            evidence: self.config.alarm_level,
            // Learning again does not mend a declaration.
            forces_safe: match self.on_breach() {
                OnBreach::Safe => endangers,
                OnBreach::Relearn => endangers && changed.drift,
                OnBreach::Alert => false,
            },
            ..Alarm::certain(kind, taken)
        })
    }

    /// A part of the outcomes contradicts the model of the features. Learning again mends a model whose
    /// parameters have changed; one that is refuted again after that forces the safe action like `safe`.
    #[cold]
    pub(crate) fn refute_model(&mut self, found: &Refuted, taken: u64) -> Next {
        let is_known = |alarm: &Alarm| alarm.kind == AlarmKind::ModelRefuted;
        let again = self.saved.alarms.iter().any(is_known);
        let forces_safe = match self.on_breach() {
            OnBreach::Safe => true,
            OnBreach::Relearn => again,
            OnBreach::Alert => false,
        };
        self.raise(Alarm {
            guardrail: Some(found.guardrail),
            arm: found.arm,
            outcomes: found.outcomes,
            mean: found.mean,
            evidence: found.evidence,
            forces_safe,
            misfit: Some(found.misfit),
            ..Alarm::certain(AlarmKind::ModelRefuted, taken)
        })
    }

    /// Raises an alarm. One that is known already says nothing new, unless learning started again since.
    #[cold]
    #[inline(never)]
    fn raise(&mut self, alarm: Alarm) -> Next {
        let number = self.saved.raised + 1;
        let alarm = Alarm { number, ..alarm };
        let relearns = self.on_breach() == OnBreach::Relearn
            && !alarm.kind.is_beyond_learning()
            && !alarm.forces_safe;
        // Warnings of changed means are reported arm by arm.
        let arm = |alarm: &Alarm| alarm.arm.filter(|_| alarm.kind == AlarmKind::Changed);
        let key = |alarm: &Alarm| {
            (
                alarm.kind.acting(),
                alarm.guardrail,
                alarm.segment,
                arm(alarm),
            )
        };
        let changed = |own: &&Alarm| own.kind == AlarmKind::Changed;
        let told = self.saved.alarms.iter().filter(changed).count();
        let same = |old: &&mut Alarm| key(old) == key(&alarm);
        match self.saved.alarms.iter_mut().find(same) {
            None if alarm.kind == AlarmKind::Changed && told >= MOST_CHANGES => {
                return Next::Continue;
            }
            None => self.saved.alarms.push(alarm),
            // The reaction may have been changed since, and a warning may have come true.
            Some(old)
                if relearns
                    || (alarm.forces_safe && !old.forces_safe)
                    || (old.kind.is_warning() && !alarm.kind.is_warning()) =>
            {
                *old = alarm;
            }
            Some(_) => return Next::Continue,
        }
        self.saved.raised = number;
        if relearns {
            Next::Restart
        } else {
            Next::Continue
        }
    }

    /// Starts the next epoch: `taken` outcomes are believed no more, nor those of decisions so far.
    pub(crate) fn restart(&mut self, taken: u64) {
        self.saved.epoch += 1;
        self.saved.forgotten = taken;
        self.saved.before = self.saved.last;
        self.clear_tests();
    }

    /// The tests start again.
    pub(crate) fn clear_tests(&mut self) {
        self.saved.missing.restart();
        let segments = self.segments.iter_mut().flatten();
        for detector in self.detectors.iter_mut().chain(segments).flatten() {
            detector.restart();
        }
        for declared in self.declared.iter_mut().flatten() {
            declared.restart();
        }
    }
}

/// Share of a test's level that its start has after so many restarts: all of them together one.
fn share_of_start(restarts: u64) -> f64 {
    match restarts as f64 {
        0.0 => 0.9,
        k => 0.1 / (k * (k + 1.0)),
    }
}

/// Share of δ of an epoch, counted from 0: all of it without `relearn`, else 1/(j(j+1)), j = 1, 2, ….
pub(crate) fn epoch_share(on_breach: OnBreach, epoch: u32) -> f64 {
    match on_breach {
        OnBreach::Relearn => {
            let j = f64::from(epoch) + 1.0;
            1.0 / (j * (j + 1.0))
        }
        _ => 1.0,
    }
}
