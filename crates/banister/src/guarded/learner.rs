//! Learners: what differs between agents.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Shell;
use crate::agent::AgentView;
use crate::decision::Fallback;
use crate::error::Error;
use crate::event::{Ask, Event, Findings};
use crate::monitor::Next;
use crate::parameters::Registered;
use crate::problem::Problem;
use crate::round::{Choice, Outcome, Round};

/// Takes outcomes, plans policies, forgets, saves; [`super::Guarded`] makes an agent of it.
///
/// Required are the methods without a default, in the order of a round. The shell has checked what it can before it
/// calls; a learner writes to it what a decision needs.
pub trait Learner: Send + Sized + 'static {
    /// Parameters as declared.
    type Config: Registered + Serialize + DeserializeOwned;
    /// All that outcomes have changed; what a snapshot keeps.
    type State: Serialize + DeserializeOwned;
    /// True if no arm can be added or retired.
    const FIXED_ARMS: bool = false;
    /// True if actions are feature vectors.
    const TAKES_FEATURES: bool = false;
    /// True if it keeps guardrails over sums of decisions.
    const KEEPS_SUMS: bool = false;
    /// Copies it, where it can be copied.
    const COPY: Option<fn(&Self) -> Self> = None;

    /// Checks the problem and the parameters. [`Learner::forget`] follows.
    fn new(problem: &Problem, config: &Self::Config) -> Result<(Shell, Self), Error>;

    /// Parameters as declared.
    fn config(&self) -> &Self::Config;

    /// Takes up the actions of a round, and says by [`Shell::stale`] if the last policy is not for them. By default
    /// there are arms alone.
    fn enter(&mut self, shell: &mut Shell, round: &Round) -> Result<(), Error> {
        let _ = shell;
        if round.choice == Choice::Arms {
            Ok(())
        } else {
            Err(Error::NoFeatures)
        }
    }

    /// Plans the policy of the round and publishes it ([`Shell::publish`]); a reason for the safe action if there is
    /// none that checks.
    fn plan(&mut self, shell: &mut Shell) -> Result<(), Fallback>;

    /// Makes bounds hold until this time, as learners count it, since means may have moved. Only called where the
    /// problem declares drift.
    fn use_until(&mut self, shell: &mut Shell, time: f64) {
        let _ = (shell, time);
    }

    /// Writes the safe action's pessimistic costs ([`Shell::safe_costs`]); returns an upper bound on its reward. Both
    /// in standard units.
    fn bound_safe(&mut self, shell: &mut Shell) -> f64;

    /// Refuses an event that it cannot take, beyond what the shell refuses; what it does not know by
    /// [`Event::refusal`]. By default actions are arms, and nothing is known of single arms or of floors.
    #[inline]
    fn check(&self, shell: &Shell, event: &Event) -> Result<(), Error> {
        match event {
            Event::Outcome(outcome) => shell.check_arm(outcome),
            Event::Drawn(pending) | Event::Lost(pending) => shell.check_number(pending.action),
            Event::ArmOffered(arm) if arm.features.is_some() => Err(Error::NoFeatures),
            Event::ArmChanged(_) | Event::Floors(_) | Event::Settled(_) => Err(event.refusal()),
            _ => Ok(()),
        }
    }

    /// Learns from an outcome whose signals count as they are, and shows it to the monitor ([`Shell::watch`]).
    fn learn(&mut self, shell: &mut Shell, outcome: &Outcome) -> Next;

    /// Follows an event that is no outcome, and that the shell has taken. An arm that is new is the last of the shell's.
    fn follow(&mut self, shell: &mut Shell, event: &Event) -> Next {
        let _ = (shell, event);
        Next::Continue
    }

    /// Forgets all outcomes: those that come are of the monitor's epoch, and have its share of δ.
    fn forget(&mut self, shell: &mut Shell);

    /// Answers a question: estimates of an action of the round, and what else it knows.
    fn ask(&mut self, shell: &mut Shell, ask: Ask) -> Findings;

    /// Adds what it knows to the agent's view.
    fn view<'a>(&'a self, view: AgentView<'a>) -> AgentView<'a> {
        view
    }

    /// State for a snapshot. Whatever else helps the next decision is dropped.
    fn save(&mut self, shell: &mut Shell) -> Result<Self::State, Error>;

    /// Takes up a saved state; [`Learner::forget`] came before.
    fn restore(&mut self, shell: &mut Shell, state: Self::State) -> Result<(), Error>;
}
