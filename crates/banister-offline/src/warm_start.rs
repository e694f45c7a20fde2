//! Warm start: an agent learns from logged outcomes before its first round.

use banister::{Agent, Error, Origin, Outcome};

use crate::log::{CheckedLog, at_round};

/// Feeds every logged outcome to an agent and returns their number.
///
/// A K-armed agent takes outcomes by arm, and in their segments where the log has them. A linear agent takes them by the features of the action
/// played (a context becomes a block vector, see [`disjoint_features`](crate::disjoint_features), unless the agent was made
/// for contexts), or by arm if the log has no features and the agent's actions are fixed.
///
/// **Why the guarantee survives.** The agents' intervals bound, for every arm at once, how far a sum
/// of outcomes strays from its expectation when each outcome, given the past and the action chosen,
/// has that action's mean: martingale arguments that hold under any rule of choosing, hence also
/// under the logging policy. No weights are needed. It fails if the logging policy, or whoever
/// selected the rows, looked at the outcome itself (say, logs of sales only), if something unlogged
/// moved both the choice and the outcome, or if the means have changed since. The costs of the logging
/// policy say nothing about the agent's own policies, so they raise no alarm of a breach.
///
/// **Errors.** The log itself was checked as a whole before; declare the problem's ranges with
/// [`Log::declare`](crate::Log::declare), and no number can be refused half-way. Should the agent
/// refuse a row all the same (an arm it does not have, a horizon used up), rows before it have been
/// taken: start again from a fresh agent.
pub fn warm_start(agent: &mut dyn Agent, log: &CheckedLog) -> Result<u64, Error> {
    let declared = log.declared();
    let offering = log.offering(agent)?;
    for (t, (&action, &reward)) in std::iter::zip(declared.actions, declared.rewards).enumerate() {
        let taken = agent.observe(&Outcome {
            choice: log.played(t, offering).view(),
            segment: declared.segments.get(t).copied(),
            origin: Origin::Logged,
            ..Outcome::of_arm(action, reward, log.costs(t))
        });
        taken.map_err(|error| at_round(error, t))?;
    }
    Ok(declared.actions.len() as u64)
}
