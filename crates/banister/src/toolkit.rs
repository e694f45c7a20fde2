//! Building blocks for agents of your own.
//!
//! A [`Learner`] in a [`Guarded`] is an agent. The pieces here give it the parts that are the same in many learners, in
//! the order of a round:
//!
//! 1. [`Problem::check`](crate::Problem::check) brings the problem to standard form: signals in [0, 1], costs counted
//!    from the harmless end.
//! 2. [`Estimates`] keep counts, sums and confidence intervals of every arm; [`linear::Evidence`] keeps a ridge
//!    regression of every signal on feature vectors.
//! 3. [`Bounds`] hold the optimistic rewards and both bounds of the costs, one column per action; a [`Planner`] turns
//!    them into a policy by the optimism lemma ([`crate::Optimism`]).
//! 4. The [`Shell`] writes an [`Answer`] as a [`crate::Decision`] in the user's units.
//! 5. [`of_arm`] and [`of_intervals`] show what was learned.
//! 6. [`config!`](crate::config) declares parameters; [`finite`], [`positive`] and [`open_unit`] check them.
//!
//! The crate `banister-rivals` is made of these.

pub use crate::arm_estimate::{SegmentView, of_arm, of_intervals};
pub use crate::arms::{Arm, Arms};
pub use crate::certificate::{Answer, Certifier};
#[doc(no_inline)]
pub use crate::config;
pub use crate::error::{broken, finite, open_unit, positive};
pub use crate::estimate::{EstimateConfig, Estimates, EstimatesState, SignalState};
pub use crate::field_error::{FieldError, deserialize, did_you_mean, explain, hint};
pub use crate::guarded::{Guarded, Learner, Shell, SnapshotHeader};
pub use crate::monitor::{MonitorState, Next};
pub use crate::opb::ArmLearner;
pub use crate::oplb::{ContextLearner, FeatureLearner};
pub use crate::optimism::{Bounds, Planner};
pub use crate::parameters::{DELTA, LinearKeys, Registered};
pub use crate::path::{FieldPath, Step, Within};
pub use crate::play::Play;
pub use crate::problem::{
    CheckedProblem, Direction, RANGE_ADVICE, Signal, Standard, check_seen, check_segment,
    two_numbers,
};
pub use crate::segmented::SegmentLearner;

/// Agents on feature vectors: the actions on offer, and the regression of all signals on them.
pub mod linear {
    pub use crate::linear::{
        Actions, Columns, Confidence, Evidence, EvidenceState, Limit, LinearSignal, Radius,
        Regression, Ridge, Setup, Tables, check_lambda, check_parameter_norm, parameter_norm,
        upper_end, with_zero_costs,
    };
}
