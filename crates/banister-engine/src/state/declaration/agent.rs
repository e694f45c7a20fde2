//! The agent that a declaration asks for, with the defaults and limits of a service.

use banister::oplb::LongFeatures;
use banister::{AgentConfig, OpbConfig, OplbConfig, SegmentedConfig};
use serde::{Deserializer, de::Error as _};

use super::checks::check_guarantee;
use super::cost::{MOST_WORK, bound_segments};
use super::{Declaration, DeclaredContext, Kind, NamedArm};
use crate::object;
use crate::refusal::Refusal;

/// Reads the agent of a declaration; a kind that only comparisons have is refused with the reason.
pub(super) fn declared<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<AgentConfig>, D::Error> {
    object::option(from).map_err(|error: D::Error| {
        let message = error.to_string();
        match message.strip_prefix("unknown variant ") {
            Some(rest) => D::Error::custom(format!(
                "unknown kind {rest}: a service decides by banister's own agents; those of other papers are compared \
                 with them in the program `banister`"
            )),
            None => error,
        }
    })
}

impl Declaration {
    pub(super) fn config(
        &self,
        kind: Kind,
        arms: &[NamedArm],
        is_new: bool,
    ) -> Result<AgentConfig, Refusal> {
        let linear = kind != Kind::Arms || arms.iter().any(|arm| arm.features.is_some());
        let mut config = match (&self.agent, linear) {
            (Some(given), _) => given.clone(),
            (None, false) if self.segments.is_some() => {
                AgentConfig::Segmented(SegmentedConfig::default())
            }
            (None, false) => AgentConfig::Opb(OpbConfig::default()),
            (None, true) => AgentConfig::Oplb(OplbConfig::default()),
        };
        if linear && !config.takes_features() {
            let allowed = "this agent knows no features: use `oplb`";
            return Err(Refusal::invalid("agent.kind", config.label(), allowed));
        }
        self.check_segments(&config)?;
        check_guarantee(&config)?;
        let mut each = self.guardrails.iter().enumerate();
        if let Some((i, over)) = each.find_map(|(i, own)| Some((i, own.over?))) {
            let allowed = "the service draws many decisions from one policy, which sums cannot be kept by: give \
                           `budgets`, over time";
            return Err(Refusal::invalid(
                format!("guardrails[{i}].over"),
                over,
                allowed,
            ));
        }
        if let AgentConfig::Segmented(own) = &mut config
            && is_new
        {
            let declared = self.known_segments()?.len();
            bound_segments(own, arms.len(), self.guardrails.len(), declared);
        }
        if let AgentConfig::Oplb(oplb) = &mut config {
            // One writer serves all experiments: a decision may not hold it up for long.
            oplb.max_work = oplb.max_work.min(MOST_WORK);
            // Features come from callers, and a long vector weighs as much as many outcomes. Logs of early
            // versions have declarations without a bound.
            if is_new {
                let longest = self.longest(arms);
                let norm = *oplb.norm.get_or_insert(longest);
                let is_fixed = matches!(self.context, Some(DeclaredContext::Fields(_)));
                if is_fixed && norm < longest && oplb.long_features == LongFeatures::Error {
                    let allowed = format!("the fields make vectors of up to {longest}: omit it");
                    return Err(Refusal::invalid("agent.norm", norm, allowed));
                }
            }
        }
        if let Some(confidence) = self.confidence {
            if !(confidence > 0.0 && confidence < 1.0) {
                let allowed = "must be above 0 and below 1";
                return Err(Refusal::invalid("confidence", confidence, allowed));
            }
            let given = round(1.0 - confidence);
            let default = OpbConfig::default().delta;
            if let Some(own) = config.delta_mut() {
                if *own != default && *own != given {
                    let allowed =
                        format!("`agent.delta` is {own}: give one of them, or 1 − the other");
                    return Err(Refusal::invalid("confidence", confidence, allowed));
                }
                *own = given;
            }
        }
        Ok(config)
    }
}

impl Declaration {
    /// Longest features that the declaration is meant for: those in it, and vectors of length 1, contexts of
    /// numbers up to 1, or all that the fields make.
    fn longest(&self, arms: &[NamedArm]) -> f64 {
        let declared = arms.iter().filter_map(|arm| arm.features.as_ref());
        let declared = declared.chain(&self.safe_action);
        let lengths = declared.map(|x| x.iter().map(|x| x * x).sum::<f64>().sqrt());
        let usual = self.context.as_ref().map_or(1.0, DeclaredContext::norm);
        lengths.fold(usual, f64::max)
    }
}

/// Rounds to twelve digits: 1 − 0.99 is meant as 0.01.
pub(crate) fn round(x: f64) -> f64 {
    let digits = 1e12;
    (x * digits).round() / digits
}
