//! The truth about segments: frequencies and means, and the best table of policies.

use banister::solve::{BlockLp, Status};
use banister::theory::CostLaw;
use banister::toolkit::CheckedProblem;
use banister::{Problem, Scope};

use crate::results::GuardrailInfo;

/// Segments with all that is true of them.
#[derive(Debug, Clone)]
pub(crate) struct Segments {
    /// Names of the segments.
    pub names: Vec<String>,
    /// Their true frequencies.
    pub frequencies: Vec<f64>,
    /// True means by segment, signal (0 the reward, 1 + i guardrail i) and arm.
    pub means: Vec<Vec<Vec<f64>>>,
    /// Laws of outcomes, laid out as the means.
    pub laws: Vec<Vec<Vec<CostLaw>>>,
}

impl Segments {
    /// Mean of a signal of an arm over all segments.
    pub(crate) fn overall(&self, signal: usize, arm: usize) -> f64 {
        let each = std::iter::zip(&self.frequencies, &self.means);
        each.map(|(p, means)| p * means[signal][arm]).sum()
    }

    /// Threshold of a guardrail in one segment, signed so that costs must stay below it: where it is relative, a
    /// multiple of the segment's own safe mean.
    pub(crate) fn limit(&self, problem: &Problem, info: &GuardrailInfo, i: usize, s: usize) -> f64 {
        let guardrail = &problem.guardrails[i];
        let threshold = match guardrail.bound() {
            Some((_, factor)) if guardrail.relative => factor * self.means[s][i + 1][problem.safe],
            _ => info.threshold,
        };
        info.direction.sign() * threshold
    }

    /// Poses the program of the best table: true means, widened costs by `wide(segment, arm, signal)`.
    pub(crate) fn best(
        &self,
        problem: &Problem,
        guardrails: &[GuardrailInfo],
        wide: impl Fn(usize, usize, usize) -> f64,
    ) -> Option<(f64, Vec<f64>)> {
        let safe = problem.safe;
        let of = |scope: Scope| {
            let list = guardrails.iter().enumerate();
            list.filter(move |(i, _)| problem.guardrails[*i].scope == scope)
        };
        let (overall, each): (Vec<_>, Vec<_>) =
            (of(Scope::Overall).collect(), of(Scope::Each).collect());
        let mut lp = BlockLp::new(overall.len(), each.len());
        let local: Vec<f64> = vec![0.0; each.len()];
        for (s, (p, means)) in std::iter::zip(&self.frequencies, &self.means).enumerate() {
            let reward: Vec<f64> = means[0].iter().map(|r| p * r).collect();
            let signed = |i: usize, g: &GuardrailInfo, a: usize| {
                g.direction.sign() * means[i + 1][a] + wide(s, a, i + 1)
            };
            let rows: Vec<Vec<f64>> = overall
                .iter()
                .map(|&(i, g)| (0..reward.len()).map(|a| p * signed(i, g, a)).collect())
                .collect();
            // Excesses over the segment's own threshold, which differ where it is relative; the safe arm's own
            // promise vouches for it.
            let excess: Vec<Vec<f64>> = each
                .iter()
                .map(|&(i, g)| {
                    let limit = self.limit(problem, g, i, s);
                    let own = |a: usize| {
                        let excess = signed(i, g, a) - limit;
                        if a == safe { excess.min(0.0) } else { excess }
                    };
                    (0..reward.len()).map(own).collect()
                })
                .collect();
            lp.set(s, safe, &reward, &rows, &excess);
        }
        let thresholds: Vec<f64> = overall
            .iter()
            .map(|(_, g)| g.direction.sign() * g.threshold)
            .collect();
        let solution = lp.solve(&thresholds, &local);
        if solution.status == Status::Infeasible {
            return None;
        }
        let value = solution.value;
        let mean = |i: usize| {
            let each = std::iter::zip(&self.frequencies, &self.means).enumerate();
            each.map(|(s, (p, means))| {
                p * lp
                    .policy(s)
                    .iter()
                    .map(|&(a, q)| q * means[i + 1][a])
                    .sum::<f64>()
            })
            .sum()
        };
        Some((value, (0..guardrails.len()).map(mean).collect()))
    }
}

/// Means of a table's rows by segment, and its segments.
pub(super) fn of_rows(
    problem: &CheckedProblem,
    segments: &[usize],
    names: Vec<String>,
    outcome: impl Fn(usize, usize) -> Vec<f64>,
) -> Segments {
    let (k, signals) = (problem.declared.arms.len(), problem.guardrails.len() + 1);
    let mut means = vec![vec![vec![0.0; k]; signals]; names.len()];
    let mut squares = means.clone();
    let mut laws = vec![vec![vec![CostLaw::Known; k]; signals]; names.len()];
    let mut counts = vec![0.0_f64; names.len()];
    for (row, &s) in segments.iter().enumerate() {
        counts[s] += 1.0;
        for a in 0..k {
            for (j, x) in outcome(row, a).into_iter().enumerate() {
                means[s][j][a] += x;
                squares[s][j][a] += x * x;
            }
        }
    }
    for s in 0..names.len() {
        for j in 0..signals {
            for a in 0..k {
                let mean = means[s][j][a] / counts[s];
                means[s][j][a] = mean;
                let sd = (squares[s][j][a] / counts[s] - mean * mean).max(0.0).sqrt();
                laws[s][j][a] = CostLaw::Normal { sd };
            }
        }
    }
    let rows = segments.len() as f64;
    Segments {
        names,
        frequencies: counts.iter().map(|n| n / rows).collect(),
        means,
        laws,
    }
}
