//! Policies by segment, which are judged as a whole, before it is known which segment comes.

use banister::{Agent, Error, Round, Scope};

use crate::environment::Segments;
use crate::experiment::Experiment;

/// Policies by segment; empty for an agent without segments.
#[derive(Default)]
pub(crate) struct PolicyTable {
    policies: Vec<Vec<(usize, f64)>>,
    /// Expected signals of the table.
    judged: Vec<f64>,
    asked: bool,
}

impl PolicyTable {
    /// Asks the agent for its policies, if they are not those it gave last; returns true where they are new.
    pub(crate) fn ask(&mut self, names: &[String], agent: &mut dyn Agent) -> Result<bool, Error> {
        if self.asked && !agent.view().is_stale {
            return Ok(false);
        }
        self.asked = true;
        for (s, name) in names.iter().enumerate() {
            let decision = agent.decide(&Round::in_segment(name))?;
            if decision.segment.is_none() {
                // One policy for all.
                break;
            }
            if self.policies.len() == s {
                self.policies.push(Vec::new());
            }
            self.policies[s].clear();
            self.policies[s].extend_from_slice(&decision.policy);
        }
        Ok(true)
    }

    /// Judges the table by what is true of the segments.
    pub(crate) fn judge(&mut self, experiment: &Experiment, segments: &Segments) {
        if !self.policies.is_empty() {
            self.judged.resize(segments.means[0].len(), 0.0);
            for signal in 0..self.judged.len() {
                let policy = |s: usize| &self.policies[s][..];
                self.judged[signal] = expected(experiment, segments, policy, signal);
            }
        }
    }

    /// Expected signal of the table or, without one, of a policy for all segments.
    pub(crate) fn expected(
        &self,
        experiment: &Experiment,
        segments: &Segments,
        policy: &[(usize, f64)],
        signal: usize,
    ) -> f64 {
        if self.policies.is_empty() {
            expected(experiment, segments, |_| policy, signal)
        } else {
            self.judged[signal]
        }
    }
}

/// Expected signal of policies by segment: over all segments, or where its guardrail holds in each, as far beyond the
/// threshold as in the worst of them.
fn expected<'p>(
    experiment: &Experiment,
    segments: &Segments,
    policy: impl Fn(usize) -> &'p [(usize, f64)],
    signal: usize,
) -> f64 {
    let mean = |s: usize| -> f64 {
        let means = &segments.means[s][signal];
        policy(s).iter().map(|&(arm, p)| p * means[arm]).sum()
    };
    let problem = &experiment.problem.declared;
    if let Some(i) = signal.checked_sub(1)
        && problem.guardrails[i].scope == Scope::Each
    {
        let info = &experiment.guardrails[i];
        let sign = info.direction.sign();
        let excess = |s: usize| sign * mean(s) - segments.limit(problem, info, i, s);
        let met = (0..segments.names.len()).filter(|&s| segments.frequencies[s] > 0.0);
        let worst = met.map(excess).fold(f64::NEG_INFINITY, f64::max);
        return info.threshold + sign * worst;
    }
    let each = segments.frequencies.iter().enumerate();
    each.map(|(s, p)| p * mean(s)).sum()
}
