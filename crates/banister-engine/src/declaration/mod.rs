//! An experiment as people declare it, and the check that makes it something to run.

mod checks;

use std::collections::BTreeMap;

use banister::{CheckedProblem, Error, Guardrail, OpbConfig, OplbConfig, Problem, SignalConfig};
use banister_rivals::AgentConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::object;
use crate::refusal::Refusal;
pub(crate) use checks::{LARGEST_FEATURE, check_cost_names, check_length};
use checks::{check_finite, check_guarantee, check_name};

/// Most arms of an experiment, and most candidate actions of a decision.
pub const MOST_ACTIONS: usize = 10_000;
/// Most guardrails of an experiment.
pub const MOST_GUARDRAILS: usize = 32;
/// Longest feature vector: the estimators keep its square.
pub const LONGEST_FEATURES: usize = 1024;
/// Multiplications that exact OPLB may spend on a decision: some hundredths of a second.
const MOST_WORK: u64 = 20_000_000;
/// Longest name, in characters.
const LONGEST_NAME: usize = 200;
/// An experiment as declared.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    /// What it is called: letters, digits, `.`, `_` and `-`, 1 to 64 of them, the first a letter or digit.
    #[schemars(
        length(min = 1, max = 64),
        regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    )]
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The arms: names, or names with features.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<DeclaredArm>,
    /// Name of the safe arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safe: Option<String>,
    /// With arms: every decision brings a context of this many numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<usize>,
    /// Instead of arms: every decision brings candidate actions of this many features.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dimension: Option<usize>,
    /// With `dimension`: features of the safe action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub safe_action: Option<Vec<f64>>,
    /// The reward signal.
    #[serde(default, deserialize_with = "object::one")]
    pub reward: SignalConfig,
    /// The guardrails.
    #[serde(default, deserialize_with = "object::list")]
    pub guardrails: Vec<Guardrail>,
    /// The probability with which every policy keeps every guardrail, 1 − δ; by default the agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// The agent; by default `opb` for arms and `oplb` where there are features.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "object::option"
    )]
    pub agent: Option<AgentConfig>,
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NamedArm {
    /// What it is called.
    pub name: String,
    /// Its features, for linear agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<f64>>,
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
                features: None,
            },
            DeclaredArm::Arm(arm) => arm,
        }
    }
}

/// Where a decision's actions come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Named arms, with features of their own or without.
    Arms,
    /// Named arms; every decision brings a context of this many numbers.
    Context(usize),
    /// Every decision brings candidates of this many features.
    Candidates(usize),
}

/// A declaration that was checked.
#[derive(Debug, Clone)]
pub struct Checked {
    /// As declared, with the agent filled in.
    pub declaration: Declaration,
    /// Where actions come from.
    pub kind: Kind,
    /// The arms; none for candidates.
    pub arms: Vec<NamedArm>,
    /// Number of the safe arm, 0 for candidates.
    pub safe: usize,
    /// What the agent is made for.
    pub problem: Problem,
    /// The same, checked.
    pub standard: CheckedProblem,
    /// The agent's parameters.
    pub config: AgentConfig,
}

impl Declaration {
    /// Checks everything, and fills in what was left to us.
    pub fn check(&self) -> Result<Checked, Refusal> {
        check_name(&self.name)?;
        check_length("description", &self.description, 10_000)?;
        let kind = self.kind()?;
        let arms: Vec<NamedArm> = self.arms.iter().cloned().map(NamedArm::from).collect();
        for (i, arm) in arms.iter().enumerate() {
            check_length(&format!("arms[{i}].name"), &arm.name, LONGEST_NAME)?;
        }
        if self.guardrails.len() > MOST_GUARDRAILS {
            let allowed = format!("an experiment has at most {MOST_GUARDRAILS} guardrails");
            let value = format!("{} guardrails", self.guardrails.len());
            return Err(Refusal::invalid("guardrails", value, allowed));
        }
        for (i, guardrail) in self.guardrails.iter().enumerate() {
            let field = format!("guardrails[{i}].name");
            check_length(&field, &guardrail.name, LONGEST_NAME)?;
        }
        self.check_sizes(&arms)?;
        let safe = self.safe_arm(kind, &arms)?;
        let problem = self.problem(kind, &arms, safe)?;
        let standard = problem.check().map_err(|e| Refusal::of(e, problem_field))?;
        let config = self.config(kind, &arms)?.resolved(&problem);
        let mut agent = config.build(&problem).map_err(|error| match error {
            Error::NoFeatures => Refusal::invalid("agent.kind", config.label(), error.to_string()),
            error => Refusal::of(error, |field| match field.split(['.', '[']).next() {
                Some("arms" | "safe" | "features" | "reward" | "guardrail") => problem_field(field),
                _ => format!("agent.{field}"),
            }),
        })?;
        check_finite(&mut *agent)?;
        let mut declaration = self.clone();
        declaration.agent = Some(config.clone());
        let checked = Checked {
            declaration,
            kind,
            arms,
            safe,
            problem,
            standard,
            config,
        };
        checked.check_ttl(self.ttl_seconds, self.default_outcome.as_ref())?;
        Ok(checked)
    }

    /// The same for a declaration from a log. Before S had to be declared it was 1, or √K with a context, also
    /// where the safe costs need more.
    pub(crate) fn check_stored(&self) -> Result<Checked, Refusal> {
        let kind = self.kind()?;
        let arms: Vec<NamedArm> = self.arms.iter().cloned().map(NamedArm::from).collect();
        let problem = self.problem(kind, &arms, self.safe_arm(kind, &arms)?)?;
        let standard = problem.check().map_err(|e| Refusal::of(e, problem_field))?;
        let former = match kind {
            Kind::Context(_) => (arms.len() as f64).sqrt(),
            _ => 1.0,
        };
        let mut own = self.clone();
        if !problem.features.is_empty() {
            let s = former.max(standard.least_parameter_norm());
            own.agent = own.agent.map(|agent| agent.with_parameter_norm(s));
        }
        own.check()
    }

    fn kind(&self) -> Result<Kind, Refusal> {
        let count = self.arms.len();
        if count > MOST_ACTIONS {
            let allowed = format!("an experiment has at most {MOST_ACTIONS} arms");
            return Err(Refusal::invalid("arms", format!("{count} arms"), allowed));
        }
        match (self.dimension, self.context) {
            (None, None) => Ok(Kind::Arms),
            (None, Some(d)) => {
                let length = d.saturating_mul(count.saturating_sub(1)).saturating_add(1);
                if d == 0 || length > LONGEST_FEATURES {
                    let allowed = format!(
                        "must be at least 1, and 1 + (arms − 1)·context at most {LONGEST_FEATURES}"
                    );
                    return Err(Refusal::invalid("context", d, allowed));
                }
                Ok(Kind::Context(d))
            }
            (Some(d), None) => {
                if d == 0 || d > LONGEST_FEATURES {
                    let allowed = format!("must be 1 to {LONGEST_FEATURES}");
                    return Err(Refusal::invalid("dimension", d, allowed));
                }
                if count > 0 {
                    let allowed = "with `dimension` every decision brings its own actions: leave `arms` away, \
                                   or give the arms `features` and leave `dimension` away";
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

    fn safe_arm(&self, kind: Kind, arms: &[NamedArm]) -> Result<usize, Refusal> {
        let absent = || "absent".to_string();
        match (kind, &self.safe, &self.safe_action) {
            (Kind::Candidates(_), Some(safe), _) => {
                let allowed = "with `dimension` the safe action is given by `safe_action`";
                Err(Refusal::invalid("safe", safe, allowed))
            }
            (Kind::Candidates(d), None, None) => {
                let allowed = format!("give the {d} features of the safe action");
                Err(Refusal::invalid("safe_action", absent(), allowed))
            }
            (Kind::Candidates(d), None, Some(x)) if x.len() != d => {
                let value = format!("{} numbers", x.len());
                let allowed = format!("`dimension` is {d}");
                Err(Refusal::invalid("safe_action", value, allowed))
            }
            (Kind::Candidates(_), None, Some(_)) => Ok(0),
            (_, _, Some(_)) => {
                let allowed =
                    "only experiments with `dimension` have one: name the `safe` arm instead";
                Err(Refusal::invalid("safe_action", "given", allowed))
            }
            (_, _, None) if arms.is_empty() => {
                let allowed = "name at least one arm, or give a `dimension`";
                Err(Refusal::invalid("arms", "empty", allowed))
            }
            (_, None, None) => {
                let allowed = "name the arm that keeps every guardrail with margin";
                Err(Refusal::invalid("safe", absent(), allowed))
            }
            (_, Some(safe), None) => arms
                .iter()
                .position(|arm| arm.name == *safe)
                .ok_or_else(|| Refusal::invalid("safe", safe, "must be the name of an arm")),
        }
    }

    fn problem(&self, kind: Kind, arms: &[NamedArm], safe: usize) -> Result<Problem, Refusal> {
        let mut problem = match kind {
            Kind::Candidates(_) => Problem::contextual(
                self.safe_action.clone().unwrap_or_default(),
                self.guardrails.clone(),
            ),
            Kind::Context(d) => {
                if let Some(i) = arms.iter().position(|arm| arm.features.is_some()) {
                    let allowed =
                        "with `context` an arm's features are the context's: leave them away";
                    return Err(Refusal::invalid(
                        format!("arms[{i}].features"),
                        "given",
                        allowed,
                    ));
                }
                // Facts are checked as those of arms, the features are the context's business.
                let names = Problem {
                    arms: arms.iter().map(|arm| arm.name.clone()).collect(),
                    safe,
                    ..Problem::default()
                };
                names.check().map_err(|e| Refusal::of(e, problem_field))?;
                let mut safe_action = vec![0.0; 1 + (arms.len() - 1) * d];
                safe_action[0] = 1.0;
                Problem::contextual(safe_action, self.guardrails.clone())
            }
            Kind::Arms => {
                let with = arms.iter().filter(|arm| arm.features.is_some()).count();
                if with != 0 && with != arms.len() {
                    let i = arms.iter().position(|arm| arm.features.is_none());
                    let field = format!("arms[{}].features", i.unwrap_or(0));
                    let allowed = "other arms have features: give all or none";
                    return Err(Refusal::invalid(field, "absent", allowed));
                }
                let length = arms[0].features.as_ref().map_or(0, Vec::len);
                if length > LONGEST_FEATURES {
                    let allowed = format!("at most {LONGEST_FEATURES} numbers");
                    let value = format!("{length} numbers");
                    return Err(Refusal::invalid("arms[0].features", value, allowed));
                }
                Problem {
                    arms: arms.iter().map(|arm| arm.name.clone()).collect(),
                    safe,
                    features: arms.iter().filter_map(|arm| arm.features.clone()).collect(),
                    guardrails: self.guardrails.clone(),
                    ..Problem::default()
                }
            }
        };
        problem.reward = self.reward;
        Ok(problem)
    }

    fn config(&self, kind: Kind, arms: &[NamedArm]) -> Result<AgentConfig, Refusal> {
        let linear = kind != Kind::Arms || arms.iter().any(|arm| arm.features.is_some());
        let mut config = match (&self.agent, linear) {
            (Some(given), _) => given.clone(),
            (None, false) => AgentConfig::Opb(OpbConfig::default()),
            (None, true) => AgentConfig::Oplb(OplbConfig::default()),
        }
        .with_whole_actions();
        if config.plays_parts() {
            let allowed = "decisions choose whole actions: use `mixed`, or leave it away";
            return Err(Refusal::invalid("agent.play", "scaled", allowed));
        }
        if linear && !config.takes_features() {
            let allowed = "this agent knows no features: use `oplb`";
            return Err(Refusal::invalid("agent.kind", config.label(), allowed));
        }
        if !linear && config.takes_features() && arms.len() > LONGEST_FEATURES {
            let allowed = format!(
                "without `features` every arm is a dimension of its own: at most {LONGEST_FEATURES}, or use `opb`"
            );
            return Err(Refusal::invalid(
                "arms",
                format!("{} arms", arms.len()),
                allowed,
            ));
        }
        check_guarantee(&config)?;
        if let AgentConfig::Oplb(oplb) = &mut config {
            // One writer serves all experiments: a decision may not hold it up for long.
            oplb.max_work = oplb.max_work.min(MOST_WORK);
        }
        if let AgentConfig::Opb(opb) = &mut config {
            // The union bound has to count arms before they come: room for some costs next to nothing.
            opb.max_arms = opb.max_arms.or(Some(2 * arms.len() + 8));
        }
        if let Some(confidence) = self.confidence {
            if !(confidence > 0.0 && confidence < 1.0) {
                let allowed = "must be above 0 and below 1";
                return Err(Refusal::invalid("confidence", confidence, allowed));
            }
            let given = round(1.0 - confidence);
            let default = OpbConfig::default().delta;
            let kind = config.kind();
            let Some(own) = config.delta_mut() else {
                let allowed = format!("`{kind}` has no `delta`: leave it away");
                return Err(Refusal::invalid("confidence", confidence, allowed));
            };
            if *own != default && *own != given {
                let allowed = format!("`agent.delta` is {own}: give one of them, or 1 − the other");
                return Err(Refusal::invalid("confidence", confidence, allowed));
            }
            *own = given;
        }
        Ok(config)
    }
}

/// 1 − 0.99 is meant as 0.01.
pub(crate) fn round(x: f64) -> f64 {
    let digits = 1e12;
    (x * digits).round() / digits
}

/// How a declaration calls what the core calls otherwise.
fn problem_field(field: &str) -> String {
    if let Some(rest) = field.strip_prefix("guardrail[") {
        return format!("guardrails[{rest}");
    }
    match field.strip_prefix("features") {
        Some(rest) => match rest.split_once(']') {
            Some((number, rest)) => format!("arms{number}].features{rest}"),
            None => "arms".into(),
        },
        None => field.to_string(),
    }
}
