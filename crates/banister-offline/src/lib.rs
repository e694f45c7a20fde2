//! Logged data: off-policy estimates, guardrail verdicts, replay, warm start.
//!
//! A log holds rounds (x_t, a_t, p_t, y_t): what was known, the arm a_t that a logging policy played
//! with probability p_t, and its outcome: a reward and one cost per guardrail. Declare it as a
//! [`Log`] of borrowed columns; [`Log::check`] makes it usable. Then:
//!
//! - [`estimate`] says what the reward and every cost of **another** policy π would have been
//! - [`estimate_by_segment`] says the same for every segment of users or requests
//! - [`verdicts`] says which guardrails the log shows π to keep or to break
//! - [`lift`] says what every arm is worth over the safe one
//! - [`replay`] lets an agent live through the log as if it had been deployed
//! - [`warm_start`] lets an agent learn from the log before its first round
//!
//! # Estimators
//!
//! With weights w_t = π_t(a_t)/p_t, cut to at most `clip` if one is given, and a model q̂ of the
//! signal, the expected signal s(π) = (1/n) Σ_t Σ_a π_t(a) E\[y_t | x_t, a\] is estimated by
//!
//! ```text
//!   ips     (1/n) Σ w_t y_t                                            Horvitz–Thompson 1952
//!   snips   Σ w_t y_t / Σ w_t                                          Swaminathan–Joachims 2015
//!   dr      (1/n) Σ [ Σ_a π_t(a) q̂(x_t, a) + w_t (y_t − q̂(x_t, a_t)) ]  Dudík–Langford–Li 2011
//!   dm      (1/n) Σ Σ_a π_t(a) q̂(x_t, a)                               for reference
//! ```
//!
//! Without clipping, IPS and DR are unbiased as long as the log can contain every action that π plays
//! (p > 0 wherever π > 0): E\[w_t f(a_t)\] = Σ_a p_t(a) π_t(a)/p_t(a) f(a), and in DR the model's
//! terms cancel in expectation whatever the model is, if it does not know y_t. Hence
//! [cross-fitting](Model::Fitted). Clipping trades variance for a bias that [`Weights`] and
//! [`Estimate::clipping_bias`] show.
//!
//! On a log that an agent made while it learned, p_t depends on earlier outcomes. IPS stays unbiased
//! round by round, and so does DR with a model given beforehand. Cross-fitted DR does not: the model
//! for round t has seen later outcomes, and which of them there are depends on y_t. Nor does SNIPS,
//! whose denominator depends on the outcomes.
//!
//! # Intervals
//!
//! `mixture`, the default, holds for every n, for any rule that chose p_t from the past, and without
//! positivity. For a signal in [lo, hi] the terms w_t (y_t − lo) are never negative, and given the past
//! their expectation is at most that of s(π) − lo: clipped weights and actions that the log cannot
//! contain only take from it. So lo plus a lower confidence bound of their mean is a lower end for s(π),
//! and by mirroring, hi minus such a bound for w_t (hi − y_t) is an upper end. The bound is Ville's
//! inequality for wealth from bets on a fixed grid of stakes λ_k, with a predictable centre m_t
//! (in units of the range):
//!
//! ```text
//!   W(h) = Σ_k v_k Π_t (1 + λ_k(x_t − m_t)) exp(λ_k(m_t − h)),   lower bound: the h with W(h) = 1/δ
//! ```
//!
//! It needs no bound on the weights, hence no clipping; after Waudby-Smith, Wu, Ramdas, Karampatziakis
//! and Mineiro 2024. The upper end pays for not assuming positivity: its noise is that of w_t (hi − y_t)
//! also for rare events. If the logging policy is known to play everything with at least
//! `min_pscore`, or the log shows one fixed policy (each arm has one propensity, and these sum to 1, as
//! in an A/B test), the terms w_t (y_t − lo) are bounded with mean s(π) − lo, and the wealth of
//! [`banister::interval::Mixture`] is averaged with that of the bets: much narrower for rare events.
//! An arm that was never logged has the whole range for its interval.
//!
//! `normal` is ŝ ± z·(standard error), for SNIPS with the delta method's influence
//! w_t (y_t − ŝ)/w̄. `bernstein` holds for every n: with probability at least 1 − δ the mean of n
//! independent terms in an interval of length R with sample variance V lies within
//!
//! ```text
//!   √(2V ln(4/δ)/n) + 7R ln(4/δ)/(3(n − 1))                            Maurer–Pontil 2009, Thm 11
//! ```
//!
//! of its expectation. R must be known beforehand: it follows from the declared range of the signal
//! and from `clip` or `min_pscore`. With clipping the bound also counts the part of π that is no
//! longer seen as badly as the range allows, so it covers s(π) itself. `bootstrap` resamples rounds.
//! These three assume that rounds are independent given the logging policy. Declare a log whose
//! logging policy learned as [`adaptive`](Log::adaptive): they decide no verdict there.
//!
//! # An example
//!
//! ```
//! use banister::Guardrail;
//! use banister_offline::{Estimator, Log, Model, Options, Target, Verdict, estimate, verdicts};
//!
//! // Two arms, logged uniformly; the second earns more and costs more.
//! let actions: Vec<usize> = (0..400).map(|t| t % 2).collect();
//! let rewards: Vec<f64> = actions.iter().map(|&a| if a == 0 { 0.25 } else { 0.75 }).collect();
//! let costs: Vec<f64> = actions.iter().map(|&a| if a == 0 { 0.0 } else { 0.5 }).collect();
//! let spend = Guardrail { name: "spend".into(), at_most: Some(0.2), ..Default::default() };
//! let log = Log {
//!     arms: 2,
//!     actions: &actions,
//!     rewards: &rewards,
//!     costs: &costs,
//!     pscores: Some(&[0.5; 400]),
//!     ..Log::default()
//! };
//! let log = log.declare(&Default::default(), std::slice::from_ref(&spend)).check()?;
//!
//! let options = Options { estimator: Estimator::Snips, ..Options::default() };
//! let target = Target::Fixed(&[0.2, 0.8]);
//! let estimates = estimate(&log, target, Model::Fitted, &options)?;
//! assert!((estimates.reward.estimate - 0.65).abs() < 1e-12);
//! let verdict = verdicts(&log, target, Model::Fitted, &[spend], 0, &options)?;
//! assert_eq!(verdict[0].verdict, Verdict::Broken);
//! assert!(verdict[0].reason.ends_with("is above 0.2"));
//! # Ok::<(), banister::Error>(())
//! ```
//!
//! # Files
//!
//! In reading order: `log.rs` and `features.rs` (the data), `options.rs`, `bets.rs` and
//! `interval.rs` (means of terms), `target.rs` and `weights.rs` (the policy), `model.rs` (q̂),
//! `combination.rs`, `estimate.rs` and `segments.rs` (estimators), `verdict.rs`, `lift.rs`, `replay.rs` (with warm start); `random.rs` has the seeded
//! streams. The crate may use `banister` and nothing else of ours.
//!
//! # References
//!
//! - Horvitz and Thompson, "A generalization of sampling without replacement from a finite universe",
//!   JASA 1952
//! - Kish, "Survey Sampling", 1965, for the effective sample size
//! - Maurer and Pontil, "Empirical Bernstein bounds and sample variance penalization", COLT 2009
//! - Dudík, Langford and Li, "Doubly robust policy evaluation and learning", ICML 2011
//! - Li, Chu, Langford and Wang, "Unbiased offline evaluation of contextual-bandit-based news article
//!   recommendation algorithms", WSDM 2011
//! - Dudík, Erhan, Langford and Li, "Sample-efficient nonstationary policy evaluation for contextual
//!   bandits", UAI 2012
//! - Waudby-Smith, Wu, Ramdas, Karampatziakis and Mineiro, "Anytime-valid off-policy inference for
//!   contextual bandits", ACM/IMS Journal of Data Science 2024
//! - Swaminathan and Joachims, "The self-normalized estimator for counterfactual learning", NIPS 2015

mod bets;
mod combination;
mod estimate;
mod features;
mod interval;
mod lift;
mod log;
mod model;
mod options;
mod random;
mod replay;
mod segments;
mod target;
mod verdict;
mod weights;

pub use banister;
pub use estimate::{Estimate, Estimates, estimate};
pub use features::disjoint_features;
pub use lift::lift;
pub use log::{CheckedLog, Features, Log};
pub use model::Model;
pub use options::{Estimator, IntervalKind, Options};
pub use replay::{MAX_CHECKPOINTS, Mean, Replay, ReplayCurve, ReplayOptions, replay, warm_start};
pub use segments::{SegmentEstimates, estimate_by_segment};
pub use target::Target;
pub use verdict::{GuardrailVerdict, Verdict, verdicts};
pub use weights::Weights;
