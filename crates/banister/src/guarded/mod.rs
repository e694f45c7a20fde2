//! The guarded agent: one machine around every learner.
//!
//! ```text
//! Round ──► Guarded<Learner> ──► Decision (policy + certificate)
//!              ▲      │ Shell: problem, arms by number, monitor, certifier, decision, counts
//! Outcome ─────┘      │
//!                     └─ Learner: takes outcomes, plans a policy, forgets, saves
//! ```
//!
//! A [`Learner`] is the only thing that differs between agents: arms ([`crate::Opb`]), shared features
//! ([`crate::Oplb`]), features per arm ([`crate::OplbPerArm`]), segments ([`crate::Segmented`]), and the rules of other
//! papers. Alarms, epochs, signals outside their ranges, late outcomes, arms that come and go, fallbacks and snapshots
//! are here, once.
//!
//! Files, in reading order: `shell`, `learner`, this page, `snapshot`.

mod learner;
mod shell;
mod snapshot;

use std::ops::Range;

use crate::agent::{Agent, AgentView, AlarmAnswer};
use crate::arm_estimate::{ArmEstimate, SegmentView};
use crate::decision::{Decision, Fallback};
use crate::error::Error;
use crate::floors::Floors;
use crate::lift::{ArmLift, WorthLeft};
use crate::monitor::{Assumption, Next};
use crate::problem::{ArmRanges, ArmWeights, CheckedProblem, Problem};
use crate::round::{Outcome, Pending, Round};
pub use learner::Learner;
pub use shell::Shell;
pub use snapshot::SnapshotHeader;

/// A learner with everything that all agents have around it.
#[derive(Debug, Clone)]
pub struct Guarded<L> {
    pub(crate) shell: Shell,
    pub(crate) learner: L,
}

impl<L: Learner> Guarded<L> {
    /// True if actions are feature vectors.
    pub const TAKES_FEATURES: bool = L::TAKES_FEATURES;

    /// Checks the problem and the parameters, and starts with no outcomes.
    pub fn new(problem: &Problem, config: &L::Config) -> Result<Self, Error> {
        let (mut shell, mut learner) = L::new(problem, config)?;
        let mut guardrails = shell.problem.guardrails.iter().enumerate();
        if let Some((i, over)) = guardrails.find_map(|(i, own)| Some((i, own.over?)))
            && !L::KEEPS_SUMS
        {
            let allowed =
                "not supported by this agent: use `opb` for guardrails over sums of decisions";
            return Err(Error::invalid(
                format!("guardrails[{i}].over"),
                over,
                allowed,
            ));
        }
        learner.forget(&mut shell);
        Ok(Self { shell, learner })
    }

    /// The problem in standard form.
    pub fn problem(&self) -> &CheckedProblem {
        &self.shell.problem
    }

    /// Parameters as declared.
    pub fn config(&self) -> &L::Config {
        self.learner.config()
    }

    /// Outcomes that arrived in all.
    pub fn outcomes(&self) -> u64 {
        self.shell.outcomes
    }

    /// The last decision, without deciding anew.
    pub fn decision(&self) -> &Decision {
        &self.shell.decision
    }

    #[inline]
    fn is_stale(&self) -> bool {
        self.shell.is_stale() || self.learner.is_stale(&self.shell)
    }

    /// The policy for the actions that the learner has entered.
    #[inline]
    pub(crate) fn publish(&mut self, only_safe: Option<Fallback>) -> &Decision {
        self.renew();
        let alarm = (self.shell.monitor.forces_safe()).then_some(Fallback::Alarm);
        if let Some(reason) = only_safe.or(alarm) {
            self.publish_safe(reason);
            // The reason may be gone the next time.
            self.shell.stale = true;
        } else if self.is_stale() {
            self.shell.begin_decision();
            self.shell.stale = false;
            if let Err(reason) = self.learner.plan(&mut self.shell) {
                self.publish_safe(reason);
            }
        }
        self.shell.decision.outcomes = self.shell.outcomes - self.shell.monitor.forgotten();
        self.shell.decision.until = self.shell.expiry();
        &self.shell.decision
    }

    /// Means may have moved: makes bounds hold now.
    #[inline]
    fn renew(&mut self) {
        if let Some(time) = self.shell.renewed() {
            self.learner.use_until(&mut self.shell, time);
            self.shell.stale = true;
        }
    }

    #[cold]
    #[inline(never)]
    fn publish_safe(&mut self, reason: Fallback) {
        self.shell.begin_decision();
        let value = self.learner.bound_safe(&mut self.shell);
        self.shell.certify_safe(value, reason);
    }

    /// Learns from a checked outcome; `holds`: its signals lie in their ranges, and count as they are.
    #[inline]
    pub(crate) fn learn_checked(&mut self, outcome: &Outcome, holds: bool) {
        if holds {
            return self.learn(outcome);
        }
        let mut room = std::mem::take(&mut self.shell.counted);
        let (reward, costs) = self.shell.count(outcome, &mut room);
        self.learn(&Outcome {
            reward,
            costs,
            ..*outcome
        });
        self.shell.counted = room;
    }

    #[inline]
    fn learn(&mut self, outcome: &Outcome) {
        self.shell.outcomes += 1;
        if !self.shell.monitor.is_current(outcome.origin) {
            self.shell.monitor.forget();
            return;
        }
        if outcome.origin.is_logged() {
            self.shell.monitor.note_log();
        }
        let next = self.learner.learn(&mut self.shell, outcome);
        self.follow(next);
    }

    #[inline]
    fn follow(&mut self, next: Next) {
        if next == Next::Restart {
            self.relearn();
        }
    }

    /// Drops what was learned and starts the next epoch, with its share of δ.
    #[cold]
    #[inline(never)]
    fn relearn(&mut self) {
        self.shell.monitor.restart(self.shell.outcomes);
        self.learner.forget(&mut self.shell);
        self.shell.stale = true;
    }

    fn arms_changed(&mut self) {
        self.learner.arms_changed(&mut self.shell);
        self.shell.stale = true;
    }

    /// Refuses a change of arms where they are fixed.
    fn check_fixed(&self, arm: impl std::fmt::Display) -> Result<(), Error> {
        if L::FIXED_ARMS {
            let allowed = "the arms of this agent are fixed";
            return Err(Error::invalid("arm", arm, allowed));
        }
        Ok(())
    }
}

impl<L: Learner> Agent for Guarded<L> {
    fn decide(&mut self, round: &Round) -> Result<&Decision, Error> {
        self.shell.tell_time(round.time)?;
        self.learner.enter(&mut self.shell, round)?;
        Ok(self.publish(round.only_safe))
    }

    fn check(&self, outcome: &Outcome, others: u64) -> Result<(), Error> {
        self.learner.check(&self.shell, outcome)?;
        self.shell.check_claims(outcome)?;
        self.shell.check_signals(outcome, others)
    }

    #[inline]
    fn observe(&mut self, outcome: &Outcome) -> Result<(), Error> {
        self.learner.check(&self.shell, outcome)?;
        self.shell.check_claims(outcome)?;
        let holds = self.shell.holds(outcome);
        if !holds || self.shell.is_full() || !self.shell.is_timed(outcome) {
            self.shell.check_signals(outcome, 0)?;
        }
        self.learn_checked(outcome, holds);
        Ok(())
    }

    fn announce(&mut self, pending: &Pending) -> Result<(), Error> {
        let next = self.learner.announce(&mut self.shell, pending)?;
        self.follow(next);
        Ok(())
    }

    fn give_up(&mut self, pending: &Pending) -> Result<(), Error> {
        let next = self.learner.give_up(&mut self.shell, pending)?;
        self.follow(next);
        Ok(())
    }

    fn copy(&self) -> Option<Box<dyn Agent>> {
        let learner = self.learner.copy()?;
        let shell = self.shell.clone();
        Some(Box::new(Self { shell, learner }))
    }

    fn view(&self) -> AgentView<'_> {
        let shell = &self.shell;
        self.learner.view(AgentView {
            arms: shell.arms.list(),
            safe: shell.safe,
            actions: shell.actions(),
            outcomes: shell.outcomes,
            is_stale: self.is_stale(),
            monitor: shell.monitor.is_on().then_some(&shell.monitor),
            ..AgentView::default()
        })
    }

    fn estimate(&mut self, round: &Round, action: usize) -> Option<ArmEstimate> {
        if round.time.is_some() {
            self.shell.tell_time(round.time).ok()?;
        }
        self.learner.enter(&mut self.shell, round).ok()?;
        self.renew();
        let is_known = action < self.shell.actions();
        is_known.then(|| self.learner.estimate(&mut self.shell, action))
    }

    fn segments(&mut self, places: Range<usize>) -> Vec<SegmentView> {
        self.renew();
        self.learner.segments(&mut self.shell, places)
    }

    fn lifts(&mut self, signal: Option<usize>) -> Vec<ArmLift> {
        self.learner.lifts(&mut self.shell, signal)
    }

    fn worth_left(&mut self) -> Option<WorthLeft> {
        self.learner.worth_left(&mut self.shell)
    }

    fn settle(&mut self, settled: bool) -> Result<(), Error> {
        self.learner.settle(&mut self.shell, settled)
    }

    fn assumptions(&self) -> Vec<Assumption> {
        if !self.shell.monitor.is_on() {
            return Vec::new();
        }
        let mut list = self.shell.monitor.assumptions(&self.shell.problem);
        list.extend(self.learner.assumption());
        list
    }

    fn answer_alarms(&mut self, answer: AlarmAnswer) -> Result<(), Error> {
        match answer {
            AlarmAnswer::OnBreach(_) if !self.shell.monitor.is_on() => {
                let allowed = "nothing watches this agent, so that there are no alarms";
                Err(Error::invalid("on_breach", "given", allowed))
            }
            AlarmAnswer::OnBreach(on_breach) => self.shell.monitor.set_on_breach(on_breach),
            AlarmAnswer::Acknowledge => {
                self.shell.monitor.acknowledge();
                self.learner.acknowledge(&mut self.shell);
                self.shell.stale = true;
                Ok(())
            }
        }
    }

    fn add_arm(
        &mut self,
        name: &str,
        features: Option<&[f64]>,
        ranges: &ArmRanges,
        weights: &ArmWeights,
    ) -> Result<usize, Error> {
        self.check_fixed(name)?;
        if let Some(arm) = self.shell.arms.retired(name) {
            ranges.refuse()?;
            if !weights.is_empty() {
                self.set_weights(arm, weights)?;
            }
            self.shell.arms.offer(arm, true);
            self.arms_changed();
            return Ok(arm);
        }
        self.shell.arms.check_new(name)?;
        self.learner
            .check_arm(&self.shell, name, features, ranges)?;
        self.shell.add_arm(name, features, ranges, weights)?;
        self.learner.add_arm(&mut self.shell);
        self.arms_changed();
        Ok(self.shell.arms.len() - 1)
    }

    fn retire_arm(&mut self, arm: usize) -> Result<(), Error> {
        self.check_fixed(arm)?;
        self.shell.check_retired(arm)?;
        self.shell.arms.offer(arm, false);
        self.arms_changed();
        Ok(())
    }

    fn set_weights(&mut self, arm: usize, weights: &ArmWeights) -> Result<(), Error> {
        self.shell.check_number(arm)?;
        self.shell.set_weights(arm, weights)?;
        self.learner.follow_weights(&mut self.shell);
        self.shell.stale = true;
        Ok(())
    }

    fn set_floors(&mut self, floors: &Floors) -> Result<(), Error> {
        if *floors == self.shell.floors {
            return Ok(());
        }
        floors.check(self.shell.arms.len(), self.shell.safe)?;
        self.learner.check_floors(floors)?;
        self.shell.floors = floors.clone();
        self.arms_changed();
        Ok(())
    }

    fn forget_arm(&mut self, arm: usize) -> Result<(), Error> {
        self.shell.check_number(arm)?;
        self.learner.forget_arm(&mut self.shell, arm)
    }

    fn reseed(&mut self, seed: u64, stream: u64) {
        self.learner.reseed(seed, stream);
        self.shell.stale = true;
    }

    fn save(&mut self) -> Result<String, Error> {
        self.write()
    }
}
