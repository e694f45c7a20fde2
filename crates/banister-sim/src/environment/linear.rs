//! `linear`: actions are feature vectors x, and the mean of every signal is ⟨x, parameter⟩.

use std::sync::Arc;

use banister::toolkit::Signal;
use banister::{Error, Link, Problem};
use serde::{Deserialize, Serialize};

use super::changing::{ActionSets, Changing, dot};
use super::draw::{ACTIONS, INSTANCE_SEED, instance_stream};
use super::keys::keys;
use super::model::{ArmRef, Dynamics, Environment, Setting, arm_names, numbered, safe_index};
use super::outcome::{Arms, Family};
use super::parameters::{
    LinearModel, Shape, check_means, check_noise, check_vector, safe_action, signal_field, signals,
};
use super::per_arm::per_arm_environment;

/// Most numbers in one action set, so that a typing error does not fill the memory.
pub(super) const MAX_SET: usize = 100_000_000;

/// Actions of a linear environment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(
    untagged,
    expecting = "`actions` must be `contextual`, `fixed`, `sphere`, `ball`, `per_arm`, or a list of feature vectors"
)]
pub enum Actions {
    /// Drawn at random.
    Drawn(Drawn),
    /// Feature vectors that stay for all rounds.
    List(Vec<Vec<f64>>),
}

/// Distribution of random actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Drawn {
    /// (1, v)/√2 with v uniform on the unit sphere, anew in every round.
    Contextual,
    /// (1, v)/√2 as in `Contextual`, drawn once for all rounds and runs.
    Fixed,
    /// Uniform on the unit sphere, anew in every round; x_0 = 0.
    Sphere,
    /// Uniform in the unit ball, anew in every round; x_0 = 0.
    Ball,
    /// Arms in a context (1, v)/√2, v uniform on the unit sphere anew in every round; every arm has parameters of its
    /// own, the safe one too.
    #[serde(rename = "per_arm")]
    PerArm,
}

keys! {
    /// Keys of `linear`.
    LinearConfig {
        /// Names of actions that stay the same; default `safe`, `action 1`, …
        arms: Vec<String>,
        /// The safe action of a list, by index or name; default 0.
        safe: ArmRef,
        /// Actions per round beside the safe one.
        k: usize,
        /// Length of the feature vectors.
        d: usize,
        /// The actions; default `contextual`.
        actions: Actions,
        /// θ: the reward's mean is ⟨x, θ⟩; default drawn from `instance_seed`.
        theta: Vec<f64>,
        /// μ, one vector per guardrail; default drawn from `instance_seed`.
        mu: Vec<Vec<f64>>,
        /// Standard deviation of Gaussian noise as a fraction of the signal's range; absent: signals
        /// take the two ends of their range.
        noise: f64,
        /// True costs of the safe action, one per guardrail; default the guardrails' `safe_cost`, else
        /// half-way between the harmless end of the range and the threshold.
        safe_costs: Vec<f64>,
        /// Seed of the instance, apart from the runs' (default 1).
        instance_seed: u64,
        /// Map from ⟨x, parameter⟩ to every mean: `identity` (default), or `logistic` with contextual actions or
        /// arms per context.
        link: Link,
    }
}

impl LinearConfig {
    pub(super) fn build(&mut self, setting: &Setting<'_>) -> Result<Environment, Error> {
        self.check_keys()?;
        let signals = signals(setting)?;
        check_noise(self.noise, &signals)?;
        match &self.actions {
            Some(Actions::Drawn(Drawn::PerArm)) => {
                let size = sizes((self.k, self.d), 2, ": the first feature is the constant")?;
                let names = numbered("safe", "arm", size.0 + 1);
                let arms = arm_names(self.arms.as_ref(), names)?;
                let seed = self.instance_seed.unwrap_or(INSTANCE_SEED);
                per_arm_environment(setting, &signals, (arms, size.1), self.link(), seed)
            }
            Some(Actions::List(actions)) => self.listed(setting, &signals, actions),
            Some(Actions::Drawn(drawn)) => self.drawn(setting, &signals, *drawn),
            None => self.drawn(setting, &signals, Drawn::Contextual),
        }
    }

    /// Refuses keys that do not apply to these actions.
    fn check_keys(&self) -> Result<(), Error> {
        let listed = matches!(self.actions, Some(Actions::List(_)));
        let fixed = listed || self.actions == Some(Actions::Drawn(Drawn::Fixed));
        let per_arm = self.actions == Some(Actions::Drawn(Drawn::PerArm));
        let contextual = matches!(self.actions, None | Some(Actions::Drawn(Drawn::Contextual)));
        let is_bent = self.link() == Link::Logistic;
        if is_bent && self.noise.is_some() {
            let allowed =
                "with a logistic link signals take the two ends of their range: leave it out";
            return Err(Error::invalid("environment.noise", "given", allowed));
        }
        let refused = [
            ("link", is_bent && !(contextual || per_arm)),
            ("theta", self.theta.is_some() && per_arm),
            ("mu", self.mu.is_some() && per_arm),
            ("noise", self.noise.is_some() && per_arm),
            ("safe_costs", self.safe_costs.is_some() && per_arm),
            ("arms", self.arms.is_some() && !(fixed || per_arm)),
            ("safe", self.safe.is_some() && !listed),
            ("safe_costs", self.safe_costs.is_some() && listed),
            ("instance_seed", self.instance_seed.is_some() && listed),
        ];
        let Some((key, _)) = refused.into_iter().find(|(_, refused)| *refused) else {
            return Ok(());
        };
        let with = if listed {
            " with a list of actions"
        } else if per_arm {
            " with arms per context"
        } else if key == "link" {
            " without contexts"
        } else {
            ""
        };
        let allowed = format!("this key does not apply to environments of kind `linear`{with}");
        Err(Error::invalid(
            format!("environment.{key}"),
            "given",
            allowed,
        ))
    }

    fn link(&self) -> Link {
        self.link.unwrap_or_default()
    }

    fn model(&self) -> LinearModel {
        LinearModel {
            link: self.link(),
            theta: self.theta.clone(),
            mu: self.mu.clone(),
            seed: self.instance_seed.unwrap_or(INSTANCE_SEED),
            noise: self.noise,
        }
    }

    /// Random actions: contextual, fixed, on the sphere or in the ball.
    fn drawn(
        &mut self,
        setting: &Setting<'_>,
        signals: &[Signal],
        drawn: Drawn,
    ) -> Result<Environment, Error> {
        let model = self.model();
        let (shape, source): (Shape, fn(usize) -> ActionSets) = match drawn {
            Drawn::Contextual | Drawn::Fixed | Drawn::PerArm => {
                (Shape::Intercept, |k| ActionSets::Contextual { k })
            }
            Drawn::Sphere => (Shape::Centred, |k| ActionSets::Sphere { k }),
            Drawn::Ball => (Shape::Centred, |k| ActionSets::Ball { k }),
        };
        let (k, d) = match shape {
            Shape::Intercept => {
                let why = ": the first feature is the constant";
                sizes((self.k, self.d), 2, why)?
            }
            Shape::Centred => sizes((self.k, self.d), 1, "")?,
        };
        let parameters = model.parameters(signals, d, shape)?;
        if model.link == Link::Identity {
            for (s, (parameter, signal)) in parameters.iter().zip(signals).enumerate() {
                let (low, high) = shape.means(parameter);
                check_means(&model, s, signal, low, high)?;
            }
        }
        let form = (shape, model.link);
        let safe = safe_action(setting, &mut self.safe_costs, signals, &parameters, form)?;
        let changing = Changing::new(source(k), safe, parameters, signals.to_vec(), self.noise)
            .linked(model.link);
        if drawn != Drawn::Fixed {
            return Ok(changing_environment(setting, changing));
        }
        let mut actions = Vec::new();
        let mut rng = instance_stream(model.seed, ACTIONS);
        changing.draw(0, &mut rng, &mut actions);
        let mut features = vec![changing.safe_action().to_vec()];
        features.extend(actions.chunks(d).map(<[f64]>::to_vec));
        let arms = arm_names(self.arms.as_ref(), numbered("safe", "action", k + 1))?;
        let parameters = changing.parameters().to_vec();
        let actions = FixedActions {
            features,
            arms,
            safe: 0,
        };
        actions.build(setting, signals, &model, parameters, "environment.mu")
    }

    /// An explicit list of feature vectors.
    fn listed(
        &self,
        setting: &Setting<'_>,
        signals: &[Signal],
        actions: &[Vec<f64>],
    ) -> Result<Environment, Error> {
        let Some(d) = actions.first().map(Vec::len).filter(|d| *d > 0) else {
            let allowed = "give at least one feature vector, of at least one number";
            return Err(Error::invalid("environment.actions", "empty", allowed));
        };
        let sizes = [
            ("d", self.d, d),
            ("k", self.k.map(|k| k + 1), actions.len()),
        ];
        for (key, given, expected) in sizes {
            if given.is_some_and(|n| n != expected) {
                let allowed = "leave it out: the list of actions says it";
                let field = format!("environment.{key}");
                return Err(Error::invalid(field, "given", allowed));
            }
        }
        for (a, x) in actions.iter().enumerate() {
            check_vector(&format!("environment.actions[{a}]"), x, d)?;
        }
        let costs = !setting.guardrails.is_empty();
        for (key, absent) in [
            ("theta", self.theta.is_none()),
            ("mu", costs && self.mu.is_none()),
        ] {
            if absent {
                let allowed = "a list of actions needs the parameters too";
                let field = format!("environment.{key}");
                return Err(Error::invalid(field, "absent", allowed));
            }
        }
        let model = self.model();
        let parameters = model.parameters(signals, d, Shape::Centred)?;
        let proposed = (0..actions.len()).map(|a| format!("action {a}"));
        let arms = arm_names(self.arms.as_ref(), proposed)?;
        let safe = safe_index(self.safe.as_ref(), &arms)?;
        let actions = FixedActions {
            features: actions.to_vec(),
            arms,
            safe,
        };
        actions.build(setting, signals, &model, parameters, "environment.mu")
    }
}

/// `k` and `d` of drawn actions.
pub(super) fn sizes(
    (k, d): (Option<usize>, Option<usize>),
    least: usize,
    why: &str,
) -> Result<(usize, usize), Error> {
    let get = |key: &str, value: Option<usize>, least: usize, why: &str| match value {
        Some(n) if n >= least && n <= 1_000_000 => Ok(n),
        Some(n) => {
            let allowed = format!("must be {least} to 1000000{why}");
            Err(Error::invalid(format!("environment.{key}"), n, allowed))
        }
        None => {
            let allowed = match key {
                "d" => "give the length of the feature vectors",
                _ => "give the number of actions beside the safe one",
            };
            Err(Error::invalid(
                format!("environment.{key}"),
                "absent",
                allowed,
            ))
        }
    };
    let d = get("d", d, least, why)?;
    let k = get("k", k, 1, "")?;
    if k.saturating_mul(d) > MAX_SET {
        let value = format!("{k} with d = {d}");
        let allowed = format!("k·d must be at most {MAX_SET}");
        return Err(Error::invalid("environment.k", value, allowed));
    }
    Ok((k, d))
}

/// Environment whose actions change.
pub(super) fn changing_environment(setting: &Setting<'_>, changing: Changing) -> Environment {
    let safe = changing.safe_action().to_vec();
    let mut problem = Problem::contextual(safe, setting.guardrails.clone());
    problem.reward = setting.reward.clone();
    let parameters = changing.parameters().to_vec();
    let lengths = parameters.iter().map(|x| dot(x, x).sqrt());
    Environment {
        parameter_norm: match changing.link() {
            _ if parameters.is_empty() => None,
            Link::Identity => Some(1.0),
            Link::Logistic => Some(lengths.fold(0.0, f64::max)),
        },
        link: changing.link(),
        parameters,
        safe_means: Some(changing.safe_means().to_vec()),
        safe_field: "environment.safe_costs[{i}]".into(),
        ..Environment::new(problem, Dynamics::General(Arc::new(changing)))
    }
}

/// Feature vectors that stay the same.
pub(super) struct FixedActions {
    pub features: Vec<Vec<f64>>,
    pub arms: Vec<String>,
    pub safe: usize,
}

impl FixedActions {
    /// Builds arms with linear means; `safe_field` is the list that declares the safe action's costs.
    pub(super) fn build(
        self,
        setting: &Setting<'_>,
        signals: &[Signal],
        model: &LinearModel,
        parameters: Vec<Vec<f64>>,
        safe_field: &str,
    ) -> Result<Environment, Error> {
        let mut means = Vec::new();
        for (s, (parameter, signal)) in parameters.iter().zip(signals).enumerate() {
            let row: Vec<f64> = self.features.iter().map(|x| dot(x, parameter)).collect();
            let low = row.iter().copied().fold(f64::INFINITY, f64::min);
            let high = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            check_means(model, s, signal, low, high)?;
            // What is out of range now is rounding.
            means.push(row.iter().map(|x| x.clamp(signal.lo, signal.hi)).collect());
        }
        let family = match model.noise {
            Some(sd) => Family::Gaussian { sd },
            None => Family::Bernoulli,
        };
        let fields: Vec<String> = (0..signals.len()).map(signal_field).collect();
        let arms = Arms::new(family, &fields, |_, s| signals[s], &means)?;
        let length = |x: &Vec<f64>| dot(x, x).sqrt();
        let problem = Problem {
            arms: self.arms,
            safe: self.safe,
            reward: setting.reward.clone(),
            guardrails: setting.guardrails.clone(),
            ..Problem::default()
        };
        Ok(Environment {
            longest: self.features.iter().map(length).fold(0.0, f64::max),
            safe_means: Some(arms.means(self.safe).to_vec()),
            safe_field: format!("{safe_field}[{{i}}]"),
            parameter_norm: Some(1.0),
            parameters,
            ..Environment::new(
                Problem {
                    features: self.features,
                    ..problem
                },
                Dynamics::Fixed(arms),
            )
        })
    }
}
