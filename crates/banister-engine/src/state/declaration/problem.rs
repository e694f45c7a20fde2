//! The problem that a declaration poses to an agent.

use banister::Problem;
use banister::toolkit::{FieldPath, Step, Within, did_you_mean};

use super::{Declaration, Kind, NamedArm};
use crate::refusal::Refusal;

impl Declaration {
    pub(super) fn safe_arm(&self, kind: Kind, arms: &[NamedArm]) -> Result<usize, Refusal> {
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
            (_, Some(safe), None) => {
                let names = arms.iter().map(|arm| arm.name.as_str());
                let place = names.clone().position(|name| name == safe);
                place.ok_or_else(|| {
                    let hint = did_you_mean(safe, names);
                    Refusal::invalid("safe", safe, format!("must be the name of an arm{hint}"))
                })
            }
        }
    }

    pub(super) fn problem(
        &self,
        kind: Kind,
        arms: &[NamedArm],
        safe: usize,
    ) -> Result<Problem, Refusal> {
        let mut problem = match kind {
            Kind::Candidates(_) => Problem::contextual(
                self.safe_action.clone().unwrap_or_default(),
                self.guardrails.clone(),
            ),
            Kind::Context(numbers) => {
                if let Some(i) = arms.iter().position(|arm| arm.features.is_some()) {
                    let allowed = "with `context` an arm's features are the context's: omit them";
                    return Err(Refusal::invalid(
                        format!("arms[{i}].features"),
                        "given",
                        allowed,
                    ));
                }
                // Names are checked as those of arms, the features are the context's business.
                let names = Problem {
                    arms: arms.iter().map(|arm| arm.name.clone()).collect(),
                    safe,
                    ..Problem::default()
                };
                names.check().with_path(problem_field)?;
                Problem {
                    context: Some(numbers),
                    guardrails: self.guardrails.clone(),
                    ..names
                }
            }
            Kind::Arms => {
                let with = arms.iter().filter(|arm| arm.features.is_some()).count();
                if with != 0 && with != arms.len() {
                    let i = arms.iter().position(|arm| arm.features.is_none());
                    let field = format!("arms[{}].features", i.unwrap_or(0));
                    let allowed = "other arms have features: give all or none";
                    return Err(Refusal::invalid(field, "absent", allowed));
                }
                Problem {
                    arms: arms.iter().map(|arm| arm.name.clone()).collect(),
                    safe,
                    features: arms.iter().filter_map(|arm| arm.features.clone()).collect(),
                    guardrails: self.guardrails.clone(),
                    segments: self.known_segments()?,
                    ..Problem::default()
                }
            }
        };
        problem.reward = self.reward.clone();
        problem.signals = self.signals.clone();
        // In a context, the agent knows whether arms share a scale.
        if matches!(kind, Kind::Candidates(_)) {
            problem.one_range_each()?;
        }
        Ok(problem)
    }
}

/// Features of the core's problem are those of the declared arms.
pub(super) fn problem_field(path: FieldPath) -> FieldPath {
    match path.steps() {
        [Step::Key(key), Step::Index(arm), ..] if key == "features" => {
            let arm = *arm;
            let own = FieldPath::from(("arms", arm)).key("features");
            path.moved(("features", arm), own)
        }
        _ => path.moved("features", "arms"),
    }
}
