//! Statistics over runs. Runs are added up in their order, so results do not depend on threads.

use super::trace::Trace;
use crate::results::{Curve, GuardrailInfo};

/// Summarises the runs' traces as curves over runs.
pub(crate) fn summarise(rounds: &[u64], traces: &[Trace], guardrails: &[GuardrailInfo]) -> Curve {
    let points = rounds.len();
    let mut curve = Curve {
        round: rounds.to_vec(),
        ..Curve::default()
    };
    let mut values: Vec<f64> = Vec::with_capacity(traces.len());
    for k in 0..points {
        values.clear();
        values.extend(traces.iter().map(|trace| trace.regret[k]));
        let mean = mean(values.iter().copied());
        let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
        let freedom = values.len().saturating_sub(1).max(1) as f64;
        values.sort_unstable_by(f64::total_cmp);
        curve.regret_mean.push(mean);
        curve.regret_std.push((squares / freedom).sqrt());
        curve.regret_q05.push(quantile(&values, 0.05));
        curve.regret_q95.push(quantile(&values, 0.95));
        curve
            .reward_mean
            .push(self::mean(traces.iter().map(|trace| trace.reward[k])));
    }
    for (i, guardrail) in guardrails.iter().enumerate() {
        let average = |row: fn(&Trace) -> &Vec<Vec<f64>>| -> Vec<f64> {
            (0..points)
                .map(|k| mean(traces.iter().map(|trace| row(trace)[i][k])))
                .collect()
        };
        curve.cost_mean.push(average(|trace| &trace.cost));
        curve.price_mean.push(average(|trace| &trace.price));
        curve.violation_mean.push(average(|trace| &trace.violation));
        curve.net_mean.push(average(|trace| &trace.net));
        let worst = (0..points).map(|k| {
            let mut signals = traces.iter().map(|trace| trace.worst[i][k]);
            let first = signals.next().unwrap_or(f64::NAN);
            signals.fold(first, |a, b| guardrail.direction.worse(a, b))
        });
        curve.cost_worst.push(worst.collect());
    }
    curve
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for x in values {
        sum += x;
        count += 1.0;
    }
    sum / count
}

/// Interpolates linearly between order statistics of sorted values.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let place = q * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}
