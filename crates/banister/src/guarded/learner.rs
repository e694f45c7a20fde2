//! Learners: what differs between agents.

use std::ops::Range;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Shell;
use crate::agent::AgentView;
use crate::arm_estimate::{ArmEstimate, SegmentView};
use crate::decision::Fallback;
use crate::error::Error;
use crate::floors::Floors;
use crate::lift::{ArmLift, WorthLeft};
use crate::monitor::{Assumption, Next};
use crate::parameters::Registered;
use crate::problem::{ArmRanges, Problem};
use crate::round::{Choice, Outcome, Pending, Round};

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

    /// Refuses an outcome of an unknown action. By default actions are arms.
    #[inline]
    fn check(&self, shell: &Shell, outcome: &Outcome) -> Result<(), Error> {
        shell.check_arm(outcome)
    }

    /// Learns from an outcome whose signals count as they are, and shows it to the monitor ([`Shell::watch`]).
    fn learn(&mut self, shell: &mut Shell, outcome: &Outcome) -> Next;

    /// Forgets all outcomes: those that come are of the monitor's epoch, and have its share of δ.
    fn forget(&mut self, shell: &mut Shell);

    /// Forgets an arm that is known to have changed: its outcomes, and those still to come of its decisions so far.
    fn forget_arm(&mut self, shell: &mut Shell, arm: usize) -> Result<(), Error> {
        let allowed = "this agent learns all arms together: a single arm cannot be forgotten";
        Err(Error::invalid("arm", shell.arms.name(arm), allowed))
    }

    /// Follows new weights of an arm.
    fn follow_weights(&mut self, shell: &mut Shell) {
        let _ = shell;
    }

    /// Refuses floors that it cannot plan with; others take effect when arms change ([`Learner::arms_changed`]).
    fn check_floors(&self, floors: &Floors) -> Result<(), Error> {
        let allowed =
            "this agent plans without floors: `opb` has them, and `oplb` one under the safe action";
        Err(Error::invalid("floors", floors.safe, allowed))
    }

    /// Estimates of an action of the round.
    fn estimate(&mut self, shell: &mut Shell, action: usize) -> ArmEstimate;

    /// State for a snapshot. Whatever else helps the next decision is dropped.
    fn save(&mut self, shell: &mut Shell) -> Result<Self::State, Error>;

    /// Takes up a saved state; [`Learner::forget`] came before.
    fn restore(&mut self, shell: &mut Shell, state: Self::State) -> Result<(), Error>;

    /// True if the next policy may differ though [`Shell::stale`] is not set.
    #[inline]
    fn is_stale(&self, shell: &Shell) -> bool {
        let _ = shell;
        false
    }

    /// A copy of it; `None` if it cannot be copied.
    fn copy(&self) -> Option<Self> {
        None
    }

    /// Notes that an action was drawn whose outcome comes later.
    fn announce(&mut self, shell: &mut Shell, pending: &Pending) -> Result<Next, Error> {
        shell.monitor.announce(pending.decision);
        Ok(Next::Continue)
    }

    /// Gives up a decision whose outcome will never come.
    fn give_up(&mut self, shell: &mut Shell, pending: &Pending) -> Result<Next, Error> {
        let _ = (shell, pending);
        Ok(Next::Continue)
    }

    /// Starts its own tests anew once alarms are acknowledged.
    fn acknowledge(&mut self, shell: &mut Shell) {
        let _ = shell;
    }

    /// Refuses an arm that cannot be added.
    fn check_arm(
        &self,
        shell: &Shell,
        name: &str,
        features: Option<&[f64]>,
        ranges: &ArmRanges,
    ) -> Result<(), Error> {
        let _ = (shell, name, ranges);
        match features {
            None => Ok(()),
            Some(_) => Err(Error::NoFeatures),
        }
    }

    /// Makes room for a new arm, the last of the shell's.
    fn add_arm(&mut self, shell: &mut Shell) {
        let _ = shell;
    }

    /// Follows a change of the arms on offer.
    fn arms_changed(&mut self, shell: &mut Shell) {
        let _ = shell;
    }

    /// Adds what it knows to the agent's view.
    fn view<'a>(&'a self, view: AgentView<'a>) -> AgentView<'a> {
        view
    }

    /// Segments at some places ([`crate::Agent::segments`]).
    fn segments(&mut self, shell: &mut Shell, places: Range<usize>) -> Vec<SegmentView> {
        let _ = (shell, places);
        Vec::new()
    }

    /// Lifts of the arms ([`crate::Agent::lifts`]).
    fn lifts(&mut self, shell: &mut Shell, signal: Option<usize>) -> Vec<ArmLift> {
        let _ = (shell, signal);
        Vec::new()
    }

    /// Most that learning on could still earn ([`crate::Agent::worth_left`]).
    fn worth_left(&mut self, shell: &mut Shell) -> Option<WorthLeft> {
        let _ = shell;
        None
    }

    /// Settles, or goes on exploring ([`crate::Agent::settle`]).
    fn settle(&mut self, shell: &mut Shell, settled: bool) -> Result<(), Error> {
        let _ = shell;
        let allowed = "this agent cannot settle: `opb` can";
        Err(Error::invalid("settled", settled, allowed))
    }

    /// The assumption of its model.
    fn assumption(&self) -> Option<Assumption> {
        None
    }

    /// Starts its random stream afresh ([`crate::Agent::reseed`]).
    fn reseed(&mut self, seed: u64, stream: u64) {
        let _ = (seed, stream);
    }
}
