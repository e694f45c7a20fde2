//! Lifts of the arms of a log: the difference of each mean from the safe arm's, with an interval.
//!
//! [`LiftForm::Constant`] takes the arms' means to stay, and is that of agents ([`banister::lift`]) over the rows in
//! their order. [`LiftForm::Concurrent`] assumes nothing of the means: over all rounds, of whatever arm, the terms
//!
//! ```text
//!   Y_t = (y_t − m_t)·(1{a_t = a} − 1{a_t = 0})/p_t,   m_t the mean of earlier outcomes of both arms,
//! ```
//!
//! have the difference of the two means in round t for conditional mean, where both arms can be drawn: the centre is
//! known before and cancels. If no probability of the two is below f they lie within ±(hi − lo)/f, and the wealth of
//! [`Mixture`] bounds the average of their conditional means, whatever these do. Leaving out the rounds of other arms
//! would give the same width; those in which one arm was certain say nothing of a difference, and are left out, estimate
//! and all. Where f is not known, the bets for differences of policies do with less (the crate's first page): they need no
//! f, and are wider. Which of the two then serves is seen in the log, so each has half of α.

use banister::Error;
use banister::interval::Mixture;
use banister::lift::{ArmLift, Evidence, LiftForm, LiftInterval};
use libm::log as ln;

use crate::combination::Combination;
use crate::log::{CheckedLog, Features, Log};
use crate::options::{Estimator, IntervalKind, Options};
use crate::target::Target;
use crate::weights::Part;

/// The lift of every arm over the safe one, for the reward and every cost whose range is declared. Of the options
/// `confidence` counts, and `min_pscore` for [`LiftForm::Concurrent`], which needs the log's propensities.
///
/// ```
/// use banister::lift::LiftForm;
/// use banister_offline::{Log, Options, lift};
///
/// let actions: Vec<usize> = (0..2000).map(|t| t % 2).collect();
/// let rewards: Vec<f64> = (0..2000).map(|t| f64::from(u8::from(t % 4 == 1 || t % 20 == 0))).collect();
/// let pscores = [0.5; 2000];
/// let (reward_range, pscores) = (Some([0.0, 1.0]), Some(&pscores[..]));
/// let log = Log { arms: 2, actions: &actions, rewards: &rewards, pscores, reward_range, ..Log::default() }.check()?;
/// for form in [LiftForm::Constant, LiftForm::Concurrent] {
///     let found = lift(&log, 0, form, &Options::default())?;
///     assert!(found[0].difference.lower > 0.3 && found[0].difference.upper < 0.5);
/// }
/// # Ok::<(), banister::Error>(())
/// ```
pub fn lift(
    log: &CheckedLog,
    safe: usize,
    form: LiftForm,
    options: &Options,
) -> Result<Vec<ArmLift>, Error> {
    let arms = log.declared().arms;
    if safe >= arms {
        let allowed = format!("arms are numbered 0 to {}", arms - 1);
        return Err(Error::invalid("safe", safe, allowed));
    }
    if !log.declared().requests.is_empty() {
        let allowed = "outcomes of one request depend on each other: keep one row of each";
        return Err(Error::invalid("requests", "given", allowed));
    }
    // Weights as they are.
    let options = &Options {
        estimator: Estimator::Ips,
        interval: IntervalKind::Mixture,
        clip: None,
        ..options.clone()
    };
    options.check(log)?;
    let (level, confidence) = (-ln(1.0 - options.confidence), options.confidence);
    let is_concurrent = form == LiftForm::Concurrent;
    // Rounds in which more than one arm could be drawn.
    let (all, mut rounds) = (log.declared(), Vec::new());
    if is_concurrent {
        let pscores = log.pscores("a `concurrent` lift")?;
        rounds.extend((0..log.rounds()).filter(|&t| pscores[t] < 1.0));
    }
    let of = |column: &[f64]| -> Vec<f64> { rounds.iter().map(|&t| column[t]).collect() };
    let actions: Vec<usize> = rounds.iter().map(|&t| all.actions[t]).collect();
    let (rewards, pscores) = (of(all.rewards), of(all.pscores.unwrap_or_default()));
    let costs: Vec<f64> = (rounds.iter().flat_map(|&t| log.costs(t)).copied()).collect();
    let drawn = Log {
        actions: &actions,
        rewards: &rewards,
        costs: &costs,
        pscores: Some(&pscores),
        features: Features::None,
        segments: Vec::new(),
        ..all.clone()
    };
    let drawn = (!rounds.is_empty()).then(|| drawn.check()).transpose()?;
    let share = [0.5, 1.0][usize::from(options.min_pscore.is_some())];
    let halved = Options {
        confidence: 1.0 - share * (1.0 - confidence),
        ..options.clone()
    };
    let mut found = Vec::new();
    for arm in (0..arms).filter(|&arm| arm != safe) {
        let name = log.declared().arm_names.get(arm).cloned();
        let name = name.unwrap_or_else(|| arm.to_string());
        let ranged = (0..log.signals()).filter_map(|signal| Some((signal, log.range(signal)?)));
        for (signal, range) in ranged {
            let [own, reference] = [arm, safe].map(|arm| evidence(log, arm, signal, range));
            let names = (&name[..], log.signal_name(signal));
            let mut lift = ArmLift::constant(names, [&own, &reference], level, confidence);
            if is_concurrent {
                lift.difference = match &drawn {
                    Some(log) => concurrent(log, [arm, safe], (signal, range), &halved)?,
                    None => LiftInterval {
                        estimate: None,
                        lower: range[0] - range[1],
                        upper: range[1] - range[0],
                    },
                };
                (lift.percent, lift.form) = (None, form);
            }
            found.push(lift);
        }
    }
    Ok(found)
}

fn evidence(log: &CheckedLog, arm: usize, signal: usize, range: [f64; 2]) -> Evidence {
    let ([lo, hi], mut statistics) = (range, Mixture::default());
    let rows = std::iter::zip(log.declared().actions, log.observed(signal));
    rows.filter(|(action, _)| **action == arm)
        .for_each(|(_, y)| statistics.push((y - lo) / (hi - lo)));
    Evidence { statistics, range }
}

fn concurrent(
    log: &CheckedLog,
    [arm, safe]: [usize; 2],
    (signal, [lo, hi]): (usize, [f64; 2]),
    options: &Options,
) -> Result<LiftInterval, Error> {
    let pscores = log.pscores("a `concurrent` lift")?;
    let part = |arm, factor| Part::new(log, factor, Target::Arm(arm), options);
    let (own, reference) = (&part(arm, 1.0)?, &part(safe, -1.0)?);
    let sign = |action: usize| f64::from(i8::from(action == arm) - i8::from(action == safe));
    let drawn = || std::iter::zip(log.declared().actions, pscores);
    // One fixed policy, or a declared least probability.
    let covered = own.covered.and(reference.covered);
    let shown = drawn().filter(|(action, _)| sign(**action) != 0.0);
    let shown = shown.map(|(_, p)| *p).fold(1.0, f64::min);
    let floor = covered.map(|_| options.min_pscore.unwrap_or(shown));
    // m_t = (½ + Σ y)/(1 + n).
    let (mut terms, mut sum, mut n, mut total) = (Mixture::default(), 0.5, 1.0, 0.0);
    for ((&action, p), y) in drawn().zip(log.observed(signal)) {
        let (sign, y) = (sign(action), (y - lo) / (hi - lo));
        let term = sign * (y - sum / n) / p;
        total += term;
        terms.push((0.5 + 0.5 * term * floor.unwrap_or(0.0)).clamp(0.0, 1.0));
        (sum, n) = (sum + sign.abs() * y, n + sign.abs());
    }
    let estimate = Some((hi - lo) * total / log.rounds() as f64);
    let (lower, upper, _) = if let Some(floor) = floor {
        let level = ln(2.0 / (1.0 - options.confidence));
        let shown = |x: f64| (hi - lo) * ((2.0 * x - 1.0) / floor).clamp(-1.0, 1.0);
        let ends = (terms.lower(level, 0.0), terms.upper(level, 1.0));
        (shown(ends.0), shown(ends.1), false)
    } else {
        let combination = Combination {
            log,
            policy: own,
            reference: Some(reference),
            predictor: None,
            options,
        };
        combination.mixture(signal)?.now()
    };
    Ok(LiftInterval {
        estimate,
        lower,
        upper,
    })
}
