//! An experiment as people declare it, and the check that makes it something to run.
//!
//! Read [`Declaration`] here, then `problem.rs` (actions, signals and the safe action), `agent.rs` (the
//! agent's parameters), `context.rs` (contexts as declared), `segments.rs` (segments of decisions), `unit.rs`
//! (users or sessions that are randomised), `rollout.rs` (when, and for how many), `checks.rs`
//! (limits on numbers, names and texts) and `cost.rs` (limits on what a decision costs).

mod agent;
mod checks;
mod context;
mod cost;
mod flag;
mod problem;
mod rollout;
mod segments;
mod unit;

use banister::toolkit::Within;
use std::collections::BTreeMap;

use banister::AgentConfig;
use banister::toolkit::CheckedProblem;
use banister::{
    ArmOffer, ArmRanges, ArmWeights, Error, Event, Guardrail, Measured, Problem, Registry as _,
    SignalConfig,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::object::{self, OneOrMany};
use crate::refusal::Refusal;
pub(crate) use agent::round;
use banister::budget::Budget;
pub(crate) use checks::{
    LARGEST_FEATURE, MEASURED, check_label, check_length, check_names, check_range,
};
use checks::{check_finite, check_name};
pub use context::DeclaredContext;
pub use cost::LONGEST_FEATURES;
pub(crate) use cost::{Size, check_products};
pub use flag::{Flag, Tracked};
use problem::problem_field;
pub use rollout::{Namespace, Rollout, Step};
pub use segments::{GivenSegment, SegmentFields, Segments};
pub use unit::{Combine, Returns, Unit};

/// Most arms of an experiment, and most candidate actions of a decision.
pub const MOST_ACTIONS: usize = 10_000;
/// Most guardrails of an experiment.
pub const MOST_GUARDRAILS: usize = 32;
/// Longest name, in characters.
const LONGEST_NAME: usize = 200;

/// An experiment as declared.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    /// Name: letters, digits, `.`, `_` and `-`, 1 to 64 of them, the first a letter or digit.
    #[schemars(
        length(min = 1, max = 64),
        regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    )]
    pub name: String,
    /// Description for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The arms: names, or names with features.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MOST_ACTIONS))]
    pub arms: Vec<DeclaredArm>,
    /// Name of the safe arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safe: Option<String>,
    /// With arms: every decision brings a context, of this many numbers or of these fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<DeclaredContext>,
    /// Instead of arms: every decision brings candidate actions of this many features.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = LONGEST_FEATURES))]
    pub dimension: Option<usize>,
    /// With `dimension`: features of the safe action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_FEATURES))]
    pub safe_action: Option<Vec<f64>>,
    /// With arms: segments of users or requests that are told apart from the first decision on, or the fields that
    /// segments are made from. Every decision brings its `segment`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segments: Option<Segments>,
    /// The reward signal.
    #[serde(default, deserialize_with = "object::one")]
    pub reward: SignalConfig,
    /// The guardrails.
    #[serde(default, deserialize_with = "object::list")]
    #[schemars(length(max = MOST_GUARDRAILS))]
    pub guardrails: Vec<Guardrail>,
    /// Signals that outcomes bring among their costs, for guardrails that are weighted sums of them: ranges, or ranges
    /// and noise, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub signals: BTreeMap<String, Measured>,
    /// The probability with which every policy keeps every guardrail, 1 − δ; by default the agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// The agent; by default `opb` for arms, `segmented` with `segments`, and `oplb` where there are features.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "agent::declared"
    )]
    pub agent: Option<AgentConfig>,
    /// Unit that is randomised and learned in place of single decisions. Every decision then brings its `unit`, which
    /// keeps its arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// Decisions are made and logged, but the caller's own action is what happens.
    #[serde(default)]
    pub shadow: bool,
    /// Outcomes are learned this many seconds after their decisions, in the order of decisions, whenever they
    /// were reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<f64>,
    /// The outcome, or the missing part of it, of a decision whose time to live is over; without one such
    /// decisions are counted as missing.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "object::option"
    )]
    pub default_outcome: Option<DefaultOutcome>,
    /// Condition under which the policy settles: it is then the one with the highest guaranteed reward, explores no
    /// more, and is watched as before.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "object::option"
    )]
    pub stop_when: Option<StopWhen>,
    /// When it runs, and how much of the traffic it may lead away from the safe action.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "object::option"
    )]
    pub rollout: Option<Rollout>,
    /// Makes it a flag that OpenFeature clients evaluate.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "object::option"
    )]
    pub flag: Option<Flag>,
    /// True for an A/A test: all arms are the same, and any difference between them is a fault.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub a_a: bool,
    /// Budgets over time, by guardrail: most that the decisions of a period may cost in sum. Several on one guardrail
    /// differ in their periods.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        deserialize_with = "object::nullable_map"
    )]
    pub budgets: BTreeMap<String, OneOrMany<Budget>>,
}

/// Condition under which exploring stops.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopWhen {
    /// Most that learning on may still raise the reward of a decision by, with confidence.
    pub worth_left: f64,
}

impl StopWhen {
    /// Refuses a number that nothing is ever below.
    pub(crate) fn check(self) -> Result<(), Refusal> {
        banister::toolkit::positive("stop_when.worth_left", self.worth_left)?;
        Ok(())
    }
}

/// An arm as declared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "an arm is its name, or an object with `name` and optional `features`"
)]
pub enum DeclaredArm {
    /// By its name.
    Name(String),
    /// With features, for linear agents.
    Arm(#[serde(deserialize_with = "object::one")] NamedArm),
}

/// An arm with its features.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedArm {
    /// Name.
    #[schemars(length(max = LONGEST_NAME))]
    pub name: String,
    /// Its features, for linear agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = LONGEST_FEATURES))]
    pub features: Option<Vec<f64>>,
    /// Ranges that an added arm brings where they are by arm: of `reward`, and of guardrails by name.
    #[serde(
        default,
        deserialize_with = "object::one",
        skip_serializing_if = "ArmRanges::is_empty"
    )]
    pub ranges: ArmRanges,
    /// Weights that an added arm brings where they are by arm: by guardrail, then by signal.
    #[serde(default, skip_serializing_if = "ArmWeights::is_empty")]
    pub weights: ArmWeights,
}

impl NamedArm {
    /// The event that offers it.
    pub(crate) fn offer(&self) -> ArmOffer<'_> {
        ArmOffer {
            name: &self.name,
            features: self.features.as_deref(),
            ranges: &self.ranges,
            weights: &self.weights,
        }
    }
}

/// The outcome of a decision that never got one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DefaultOutcome {
    /// Its reward.
    pub reward: f64,
    /// Its cost under every guardrail, by name.
    #[serde(default, deserialize_with = "object::map")]
    pub costs: BTreeMap<String, f64>,
}

impl From<DeclaredArm> for NamedArm {
    fn from(arm: DeclaredArm) -> Self {
        match arm {
            DeclaredArm::Name(name) => Self {
                name,
                ..Self::default()
            },
            DeclaredArm::Arm(arm) => arm,
        }
    }
}

/// Source of a decision's actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Named arms, with features of their own or without.
    Arms,
    /// Named arms; every decision brings a context, in the model a vector of this many numbers.
    Context(usize),
    /// Every decision brings candidates of this many features.
    Candidates(usize),
}

/// A declaration that was checked.
#[derive(Debug, Clone)]
pub struct CheckedDeclaration {
    /// As declared, with the agent filled in.
    pub declaration: Declaration,
    pub kind: Kind,
    /// The arms; none for candidates.
    pub arms: Vec<NamedArm>,
    /// Number of the safe arm, 0 for candidates.
    pub safe: usize,
    /// Problem that the agent is built for.
    pub problem: Problem,
    /// `problem` in standard form.
    pub standard: CheckedProblem,
    pub config: AgentConfig,
}

impl Declaration {
    /// Checks everything, and fills in the defaults.
    pub fn check(&self) -> Result<CheckedDeclaration, Refusal> {
        let own = self.with_budgets_apart()?;
        own.check_labels()?;
        own.check_rest(true)
    }

    /// Moves the budgets of guardrails to where they can be changed.
    fn with_budgets_apart(&self) -> Result<Self, Refusal> {
        let mut own = self.clone();
        for (i, guardrail) in own.guardrails.iter_mut().enumerate() {
            if let Some(budget) = guardrail.budget.take() {
                let before = (own.budgets).insert(guardrail.name.clone(), OneOrMany::One(budget));
                if before.is_some() {
                    let field = format!("guardrails[{i}].budget");
                    let allowed = "it is in `budgets` too: give it once";
                    return Err(Refusal::invalid(field, "given", allowed));
                }
            }
        }
        Ok(own)
    }

    /// Checks a declaration. One that is not new comes from a log: its agent is not built again, and its budgets need
    /// not cover the safe action, since amounts may have been lowered.
    pub(crate) fn check_rest(&self, is_new: bool) -> Result<CheckedDeclaration, Refusal> {
        check_name(&self.name)?;
        check_length("description", &self.description, 10_000)?;
        let kind = self.kind()?;
        let arms: Vec<NamedArm> = self.arms.iter().cloned().map(NamedArm::from).collect();
        for (i, arm) in arms.iter().enumerate() {
            let later = [
                ("ranges", arm.ranges.is_empty()),
                ("weights", arm.weights.is_empty()),
            ];
            if let Some((key, _)) = later.iter().find(|(_, is_empty)| !is_empty) {
                let field = format!("arms[{i}].{key}");
                let allowed =
                    "they are for arms added later: declare them by arm at the signal or guardrail";
                return Err(Refusal::invalid(field, "given", allowed));
            }
        }
        for (what, count) in [
            ("guardrails", self.guardrails.len()),
            ("signals", self.signals.len()),
        ] {
            if count > MOST_GUARDRAILS {
                let allowed = format!("an experiment has at most {MOST_GUARDRAILS} {what}");
                return Err(Refusal::invalid(what, format!("{count} {what}"), allowed));
            }
        }
        self.check_sizes(&arms)?;
        if is_new {
            self.check_units_and_arms()?;
        }
        let safe = self.safe_arm(kind, &arms)?;
        let problem = self.problem(kind, &arms, safe)?;
        let standard = problem.check().with_path(problem_field)?;
        for (i, own) in standard.guardrails.iter().enumerate() {
            // A sum has the range that its weights give.
            let range = [own.signal.lo, own.signal.hi];
            check_range("expression", range).within(("guardrails", i))?;
        }
        let config = self.config(kind, &arms, is_new)?.resolved(&problem);
        if is_new {
            self.size(kind, &arms).check(&config, "arms")?;
            let mut agent = config.build(&problem).map_err(|error| match error {
                Error::NoFeatures => {
                    Refusal::invalid("agent.kind", config.label(), error.to_string())
                }
                error => Refusal::from(error).with_path(|path| match path.first() {
                    Some("features") if matches!(kind, Kind::Candidates(_)) => "safe_action".into(),
                    Some("arms" | "safe" | "features" | "reward" | "guardrails") => {
                        problem_field(path)
                    }
                    _ => path.within("agent"),
                }),
            })?;
            check_finite(&mut *agent)?;
            if let Some(stop_when) = self.stop_when {
                stop_when.check()?;
                (agent.check(&Event::Settled(true), 0)).at("stop_when")?;
            }
        }
        let mut declaration = self.clone();
        declaration.agent = Some(config.clone());
        let mut checked = CheckedDeclaration {
            declaration,
            kind,
            arms,
            safe,
            problem,
            standard,
            config,
        };
        checked.check_declared_unit()?;
        if let Some(flag) = checked.declaration.flag.as_ref().filter(|_| is_new) {
            checked.check_flag(flag)?;
        }
        if let Some(rollout) = checked.declaration.rollout.as_ref().filter(|_| is_new) {
            checked.check_rollout(rollout)?;
        }
        let declaration = &checked.declaration;
        checked.check_ttl(
            declaration.ttl_seconds,
            declaration.default_outcome.as_ref(),
        )?;
        checked.check_budgets(&self.budgets)?;
        if is_new {
            checked.check_budgets_pay()?;
        }
        Ok(checked)
    }

    /// Its size with these arms.
    fn size(&self, kind: Kind, arms: &[NamedArm]) -> Size {
        let first = arms.first().and_then(|arm| arm.features.as_ref());
        Size {
            kind,
            arms: arms.len(),
            length: first.map(Vec::len),
            guardrails: self.guardrails.len(),
        }
    }

    fn kind(&self) -> Result<Kind, Refusal> {
        let count = self.arms.len();
        if count > MOST_ACTIONS {
            let allowed = format!("an experiment has at most {MOST_ACTIONS} arms");
            return Err(Refusal::invalid("arms", format!("{count} arms"), allowed));
        }
        match (self.dimension, &self.context) {
            (None, None) => Ok(Kind::Arms),
            (None, Some(context)) => {
                let d = context.length()?;
                if d == 0 {
                    return Err(Refusal::invalid("context", d, "must be at least 1"));
                }
                Ok(Kind::Context(d))
            }
            (Some(d), None) => {
                if d == 0 {
                    return Err(Refusal::invalid("dimension", d, "must be at least 1"));
                }
                if count > 0 {
                    let allowed = "with `dimension` every decision brings its own actions: omit `arms`, \
                                   or give the arms `features` and omit `dimension`";
                    return Err(Refusal::invalid("arms", format!("{count} arms"), allowed));
                }
                Ok(Kind::Candidates(d))
            }
            (Some(d), Some(_)) => {
                let allowed = "give `context` or `dimension`, not both";
                Err(Refusal::invalid("dimension", d, allowed))
            }
        }
    }
}
