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

use crate::agent::{Agent, AgentView};
use crate::decision::{Decision, Fallback};
use crate::error::Error;
use crate::event::{AlarmAnswer, Ask, Event, Findings};
use crate::monitor::Next;
use crate::problem::{CheckedProblem, Problem};
use crate::round::{Outcome, Round};
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

    /// The policy for the actions that the learner has entered.
    #[inline]
    pub(crate) fn publish(&mut self, only_safe: Option<Fallback>) -> &Decision {
        self.renew();
        let alarm = (self.shell.monitor.forces_safe()).then_some(Fallback::Alarm);
        if let Some(reason) = only_safe.or(alarm) {
            self.publish_safe(reason);
            // The reason may be gone the next time.
            self.shell.stale = true;
        } else if self.shell.is_stale() {
            self.shell.begin_decision();
            self.shell.stale = self.shell.samples;
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

    /// Refuses an event that is no outcome, but for what taking it refuses before it changes anything: ranges and
    /// weights of an arm.
    fn check_change(&self, event: &Event) -> Result<(), Error> {
        let shell = &self.shell;
        match event {
            Event::ArmOffered(_) | Event::ArmRetired(_) if L::FIXED_ARMS => Err(event.refusal()),
            Event::ArmOffered(arm) if shell.arms.retired(arm.name).is_some() => arm.ranges.refuse(),
            Event::ArmOffered(arm) => {
                shell.arms.check_new(arm.name)?;
                self.learner.check(shell, event)
            }
            Event::ArmRetired(arm) => shell.check_retired(*arm),
            Event::Weights(arm, _) => shell.check_number(*arm),
            Event::ArmChanged(arm) => {
                shell.check_number(*arm)?;
                self.learner.check(shell, event)
            }
            Event::Floors(floors) if **floors == shell.floors => Ok(()),
            Event::Floors(floors) => {
                floors.check(shell.arms.len(), shell.safe)?;
                self.learner.check(shell, event)
            }
            Event::Answered(AlarmAnswer::OnBreach(_)) if !shell.monitor.is_on() => {
                Err(event.refusal())
            }
            Event::Answered(AlarmAnswer::OnBreach(on_breach)) => {
                shell.monitor.check_on_breach(*on_breach)
            }
            _ => self.learner.check(shell, event),
        }
    }

    /// Takes a checked event that is no outcome.
    fn take(&mut self, event: &Event) -> Result<(), Error> {
        let Self { shell, learner } = self;
        match event {
            Event::ArmOffered(arm) => match shell.arms.retired(arm.name) {
                Some(known) => {
                    if !arm.weights.is_empty() {
                        self.apply(&Event::Weights(known, arm.weights))?;
                    }
                    self.shell.arms.offer(known, true);
                }
                None => shell.add_arm(arm)?,
            },
            Event::ArmRetired(arm) => shell.arms.offer(*arm, false),
            Event::Weights(arm, weights) => shell.set_weights(*arm, weights)?,
            Event::Floors(floors) if **floors == shell.floors => return Ok(()),
            Event::Floors(floors) => shell.floors.clone_from(floors),
            Event::Answered(AlarmAnswer::Acknowledge) => shell.monitor.acknowledge(),
            Event::Answered(AlarmAnswer::OnBreach(on_breach)) => {
                return shell.monitor.set_on_breach(*on_breach);
            }
            // Numbers increase; one that does not says nothing new.
            Event::Drawn(own) if !shell.monitor.announce(own.decision) => return Ok(()),
            Event::Drawn(_) | Event::Lost(_) => {
                let next = learner.follow(shell, event);
                self.follow(next);
                return Ok(());
            }
            _ => {}
        }
        let next = self.learner.follow(&mut self.shell, event);
        self.shell.stale = true;
        self.follow(next);
        Ok(())
    }
}

impl<L: Learner> Agent for Guarded<L> {
    fn decide(&mut self, round: &Round) -> Result<&Decision, Error> {
        self.shell.tell_time(round.time)?;
        self.learner.enter(&mut self.shell, round)?;
        Ok(self.publish(round.only_safe))
    }

    fn check(&self, event: &Event, others: u64) -> Result<(), Error> {
        let shell = &self.shell;
        if let Event::Outcome(outcome) = event {
            self.learner.check(shell, event)?;
            shell.check_claims(outcome)?;
            return shell.check_signals(outcome, others);
        }
        self.check_change(event)?;
        let trial = || CheckedProblem::clone(&shell.problem);
        match event {
            Event::Weights(arm, weights) => trial().set_weights(*arm, weights),
            Event::ArmOffered(arm) => match shell.arms.retired(arm.name) {
                None => trial().add_arm(arm.ranges, arm.weights),
                Some(_) if arm.weights.is_empty() => Ok(()),
                Some(known) => trial().set_weights(known, arm.weights),
            },
            _ => Ok(()),
        }
    }

    #[inline]
    fn apply(&mut self, event: &Event) -> Result<(), Error> {
        let Event::Outcome(outcome) = event else {
            self.check_change(event)?;
            return self.take(event);
        };
        self.learner.check(&self.shell, event)?;
        self.shell.check_claims(outcome)?;
        let holds = self.shell.holds(outcome);
        if !holds || self.shell.is_full() || !self.shell.is_timed(outcome) {
            self.shell.check_signals(outcome, 0)?;
        }
        self.learn_checked(outcome, holds);
        Ok(())
    }

    fn ask(&mut self, ask: Ask) -> Findings {
        match ask {
            Ask::Estimates(round, actions) => {
                let told = match round.time {
                    Some(_) => self.shell.tell_time(round.time),
                    None => Ok(()),
                };
                let entered = told.and_then(|()| self.learner.enter(&mut self.shell, round));
                self.renew();
                let count = self.shell.actions();
                let all: Vec<usize>;
                let actions = match actions {
                    Some(given) => given,
                    None => {
                        all = (0..count).collect();
                        &all
                    }
                };
                if entered.is_err() || actions.iter().any(|&own| own >= count) {
                    return Findings::Unknown;
                }
                let ask = Ask::Estimates(round, Some(actions));
                return self.learner.ask(&mut self.shell, ask);
            }
            Ask::Segments(_) => self.renew(),
            Ask::Assumptions if self.shell.monitor.is_on() => {
                let mut list = self.shell.monitor.assumptions(&self.shell.problem);
                let own = self.learner.ask(&mut self.shell, ask).assumptions();
                list.extend(own.into_iter().flatten());
                return Findings::Assumptions(list);
            }
            Ask::Assumptions => return Findings::Unknown,
            Ask::Lifts(_) | Ask::WorthLeft => {}
        }
        self.learner.ask(&mut self.shell, ask)
    }

    fn view(&self) -> AgentView<'_> {
        let shell = &self.shell;
        self.learner.view(AgentView {
            arms: shell.arms.list(),
            safe: shell.safe,
            actions: shell.actions(),
            outcomes: shell.outcomes,
            is_stale: shell.is_stale(),
            samples: shell.samples,
            monitor: shell.monitor.is_on().then_some(&shell.monitor),
            ..AgentView::default()
        })
    }

    fn copy(&self) -> Option<Box<dyn Agent>> {
        Some(Box::new(Self {
            learner: L::COPY?(&self.learner),
            shell: self.shell.clone(),
        }))
    }

    fn save(&mut self) -> Result<String, Error> {
        self.write()
    }
}
