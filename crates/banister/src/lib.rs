//! Bandits with guardrails: online decisions whose expected costs stay under given thresholds.
//!
//! Each round an agent publishes a *policy* π, a distribution over K arms or feature vectors. An action is drawn from
//! it, and later its reward and m costs arrive. Mean rewards r and costs c₁ … c_m are unknown; thresholds τ₁ … τ_m and
//! one safe action 0 are given. The problem of a round is
//!
//! ```text
//!     maximise  π·r   subject to  π·c_i ≤ τ_i  for every guardrail i,
//! ```
//!
//! and the constraint must hold in every round, also while r and c are being learned. From confidence intervals
//! r ≤ U and l_i ≤ c_i ≤ u_i the agent solves instead
//!
//! ```text
//!     maximise  π·V   subject to  π·u_i ≤ τ_i          (pessimistic costs)
//!     V = U + κ·D,    D_a = max_i (u_{a,i} − l_{a,i}) / (τ_i − u_{0,i})   (optimistic rewards),
//! ```
//!
//! where κ is just large enough that the program is worth the best feasible policy ([`Optimism`]).
//!
//! **Guarantee.** With probability 1 − δ every policy in every round keeps every guardrail; with probability 1 − δ − δ_o
//! the regret against the best feasible policy is of order √(KT)/Δ too, Δ the safe action's margin ([`theory`]). Every [`Decision`] carries a
//! certificate of the first claim: pessimistic cost, threshold and slack per guardrail.
//!
//! ```
//! use banister::{Guardrail, Opb, OpbConfig, Problem};
//!
//! let problem = Problem {
//!     arms: vec!["control".into(), "bold".into()],
//!     safe: 0,
//!     guardrails: vec![Guardrail {
//!         name: "complaints".into(),
//!         at_most: Some(0.2),
//!         safe_cost: Some(0.05),
//!         ..Guardrail::default()
//!     }],
//!     ..Problem::default()
//! };
//! let mut agent = Opb::new(&problem, &OpbConfig::default())?;
//! let decision = agent.decide();
//! assert!(decision.guardrails[0].slack >= 0.0);
//! let arm = decision.draw(0.4); // a uniform random number of yours
//! agent.observe(arm, 1.0, &[0.0])?; // reward and one cost per guardrail, whenever they arrive
//! # Ok::<(), banister::Error>(())
//! ```
//!
//! # Reading order
//!
//! ```text
//! observe → estimate → bounds → optimism → solve → policy (+ certificate) → sample → outcome ─┐
//!     ↑_______________________________________________________________________________________│
//! ```
//!
//! 1. `problem/`: what is declared ([`Problem`], [`Guardrail`], [`SignalConfig`]) and its standard form
//! 2. [`interval`] and `estimate/`: counts, sums and confidence intervals by arm; `linear/`: ridge regression on features
//! 3. `optimism/`: bounds, the optimism lemma, the linear program, ties and floors
//! 4. `certificate` and [`decision`]: policies in the user's units
//! 5. `opb/` ([`Opb`]), [`oplb`] ([`Oplb`]) and [`segmented`] ([`Segmented`]): the agents; `agent`: the interface of all agents
//! 6. [`session`]: decisions by number, from the draw to the outcome; [`monitor`]: tests of the assumptions, and alarms
//! 7. [`lift`]: what an arm is worth, with an interval
//! 8. [`logs`]: what logs teach of segments; [`theory`]: regret bounds; [`toolkit`]: parts for agents of your own
//!
//! This crate does no I/O, starts no threads and reads no clock. Randomness is the caller's: [`Decision::draw`] takes a
//! uniform number, and agents that sample to decide do so from a seed ([`Event::Reseeded`]). Agents of other papers, and
//! the registry of all agents, are in the crate `banister-rivals`.

mod agent;
mod arm_estimate;
mod arms;
mod bounds;
mod certificate;
pub mod decision;
mod error;
mod estimate;
mod event;
mod field_error;
mod fit;
mod floors;
pub mod guarantee;
mod guarded;
pub mod interval;
#[cfg(feature = "lease")]
pub mod lease;
pub mod lift;
mod linear;
pub mod logs;
pub mod monitor;
mod opb;
pub mod oplb;
mod optimism;
#[doc(hidden)]
pub mod parameters;
mod path;
mod play;
mod problem;
mod registry;
mod round;
mod safe_cost;
pub mod segmented;
pub mod session;
pub mod theory;
pub mod toolkit;
mod waiting;

/// Budgets: amounts of a cost that may be spent in a period.
pub mod budget {
    pub use crate::problem::{Budget, Period, WhenExhausted};
}

/// Fields of a context: how features and segments come from what is known of a request.
pub mod fields {
    pub use crate::problem::{
        Category, Field, FieldValue, Fields, Missing, OutOfRange, Unseen, check_segment_fields,
        is_segment_of_fields, segment_of_fields,
    };
}

// What is declared,
pub use problem::{
    ArmRanges, ArmWeights, Claim, ContextArms, Drift, DriftUnit, Exceedance, Expression, Guardrail,
    Measured, Model, Problem, Range, Scope, SignalConfig, Weights,
};
pub use safe_cost::UnknownSafeCost;
// what happens,
pub use decision::{Decision, Fallback};
pub use monitor::{OnBreach, Origin};
pub use round::{Choice, Outcome, Pending, Round};
// who decides,
pub use agent::{Agent, AgentView, assumptions, estimates, observe_all};
pub use event::{AlarmAnswer, ArmOffer, Ask, Event, Findings};
pub use floors::Floors;
pub use interval::Intervals;
pub use opb::{Opb, OpbConfig};
pub use oplb::{Link, Oplb, OplbConfig, OplbPerArm};
pub use optimism::Optimism;
pub use registry::{AgentConfig, Registry, Restored};
pub use segmented::{Segmented, SegmentedConfig};
pub use session::Session;
// and what is seen of it.
pub use arm_estimate::{ArmEstimate, Estimate};
pub use banister_solve as solve;
pub use error::Error;
pub use lift::{ArmLift, LiftForm, LiftInterval, WorthLeft};
// For `config!`; people find it in `toolkit`.
#[doc(hidden)]
pub use guarded::Guarded;
