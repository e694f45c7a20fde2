//! Parameters that rivals share, their checks, and problems that rivals refuse.

use banister::Error;
use banister::toolkit::linear::{Confidence, Evidence, Radius, check_lambda, parameter_norm};
use banister::toolkit::{CheckedProblem, DELTA, open_unit, positive};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Width of the confidence sets of `hplc_lucb` and `safe_lts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StageRadius {
    /// 2R √(ln(det Σ/λ^d) + 2 ln(1/δ_t)) + √λ S with δ_t = 1/(1 + log entries), as in the authors' runs; and, as there,
    /// `safe_lts` does not choose x_0.
    #[default]
    Authors,
    /// R √(ln(det Σ/λ^d) + 2 ln(1/δ_s)) + √λ S, valid at level δ, as [`Radius::Logdet`].
    Logdet,
}

impl StageRadius {
    /// δ in force: none if it falls.
    pub(crate) fn delta(self, given: Option<f64>) -> Option<f64> {
        match self {
            Self::Authors => given,
            Self::Logdet => given.or(Some(DELTA)),
        }
    }

    /// λ unless one is given.
    pub(crate) fn lambda(self) -> f64 {
        match self {
            Self::Authors => 0.1,
            Self::Logdet => 1.0,
        }
    }
}

/// Ridge regression and radii, as declared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parameters {
    /// δ, for rules whose radii are made from one.
    pub delta: Option<f64>,
    pub radius: Radius,
    pub lambda: f64,
    pub parameter_norm: Option<f64>,
    pub norm: Option<f64>,
}

impl Parameters {
    /// Refuses numbers that cannot be.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if let Some(delta) = self.delta {
            open_unit("delta", delta)?;
        }
        check_lambda(self.lambda, self.norm)?;
        if let Some(s) = self.parameter_norm {
            positive("parameter_norm", s)?;
        }
        if let Some(l) = self.norm {
            positive("norm", l)?;
        }
        self.radius.check_norm(self.norm)
    }

    /// S; without any, which is refused before, nothing is known of the parameters.
    pub(crate) fn parameter_norm(&self, evidence: &Evidence) -> f64 {
        parameter_norm(self.parameter_norm, &evidence.problem.declared).unwrap_or(f64::INFINITY)
    }

    /// √λ S.
    pub(crate) fn bias(&self, evidence: &Evidence) -> f64 {
        self.lambda.sqrt() * self.parameter_norm(evidence)
    }

    /// Radii at level δ_s = δ over the number of signals.
    pub(crate) fn confidence(&self, evidence: &Evidence) -> Confidence {
        Confidence {
            radius: self.radius,
            lambda: self.lambda,
            bias: self.bias(evidence),
            norm: self.norm.unwrap_or(f64::INFINITY),
            log_level: self.delta.map_or(0.0, |delta| {
                libm::log(evidence.signals.len() as f64 / delta)
            }),
        }
    }
}

fn refuse(kind: &str, allowed: String) -> Result<(), Error> {
    Err(Error::invalid("kind", kind, allowed))
}

/// Refuses declared drift, and guardrails relative to an unknown safe cost: none of the rivals' papers has them.
pub(crate) fn check_setting(kind: &str, problem: &CheckedProblem) -> Result<(), Error> {
    problem.refuse_drift(&format!(
        "`{kind}` takes means to stay: use `opb` or `segmented`"
    ))?;
    match problem.guardrails.iter().find(|g| g.factor != 0.0) {
        None => Ok(()),
        Some(g) => refuse(
            kind,
            format!(
                "it needs absolute thresholds, and `{}` is relative to an unknown safe cost: declare \
                 `safe_cost`, or use `opb` or `oplb`",
                g.name
            ),
        ),
    }
}

/// Refuses an unknown safe cost.
pub(crate) fn known_safe_costs(kind: &str, problem: &CheckedProblem) -> Result<(), Error> {
    match problem.guardrails.iter().find(|g| g.safe_cost.is_none()) {
        None => Ok(()),
        Some(g) => refuse(
            kind,
            format!("it needs every `safe_cost`, and `{}` has none", g.name),
        ),
    }
}

/// The horizon of an agent that cannot run without one.
pub(crate) fn horizon(given: Option<u64>) -> Result<u64, Error> {
    match given {
        None => Err(Error::invalid(
            "horizon",
            "absent",
            "its budgets last a known number of rounds: give it",
        )),
        Some(0) => Err(Error::invalid("horizon", 0, "must be at least 1")),
        Some(horizon) => Ok(horizon),
    }
}
