//! Ratios of two signals, mean by mean.
//!
//! The ratio of a policy is Σ_a π_a E[N_a] / Σ_a π_a E[D_a], hence "at most τ" says Σ_a π_a E[N_a − τD_a] ≤ 0. A ratio
//! relative to the safe action's bounds N and D by themselves: its place stands for N, and `per` names D.

use super::{Made, Place, Problem, Source, difference, finite};
use crate::error::Error;
use crate::path::Within;
use crate::problem::Guardrail;

pub(super) fn place(
    names: &[String; 2],
    problem: &Problem,
    guardrail: &Guardrail,
) -> Result<Place, Error> {
    let both = problem.two_bounded(names).within("expression")?;
    for (name, (_, signal)) in names.iter().zip(&both) {
        let [lo, hi] = signal.hull();
        if lo < 0.0 || (guardrail.relative && lo != 0.0) {
            let value = format!("{name} in [{lo}, {hi}]");
            let allowed = "a signal of a ratio begins at 0";
            return Err(Error::invalid("expression", value, allowed));
        }
    }
    let [(over, above), (under, below)] = &both;
    if guardrail.relative {
        let mut place = Place::new(above.clone(), Source::Made(Made::Signal(*over)));
        place.per = Some(*under);
        return Ok(place);
    }
    let tau = guardrail.bound().map_or(0.0, |(_, tau)| tau);
    let tau = finite("", tau)?;
    let most = below.hull()[1];
    let mut place = difference(both, tau, guardrail.signal.drift);
    place.threshold = Some(0.0);
    place.most_under = Some(most);
    Ok(place)
}

pub(super) fn in_words(
    [over, under]: &[String; 2],
    relative: bool,
    (words, bound): (&str, f64),
) -> String {
    let rest = if relative {
        " times the safe action's".to_string()
    } else {
        format!(
            "; an arm is shown by what it adds: {bound}, and its mean of {over} − {bound}·{under} per most {under}"
        )
    };
    format!("{over} per {under} {words} {bound}{rest}")
}
