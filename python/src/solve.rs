//! `solve_lp` and `solve_oplb`: rounds given by their numbers, one or thousands in a call.

use std::cell::RefCell;
use std::sync::Arc;

use banister::oplb::{Ellipsoid, RoundAnswer, RoundInstance};
use banister::solve::OnceSolver;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;
use smallvec::SmallVec;

use crate::error::guarded;
use crate::input::{Numbers, fits};
use crate::solution::{Answers, Solution, SolutionBatch};

/// An argument that is the same for all rounds, or has a leading axis of rounds.
struct Batched<'py> {
    numbers: Numbers<'py>,
    /// Numbers of one round.
    each: usize,
    has_rounds: bool,
}

impl<'py> Batched<'py> {
    /// Reads an argument; `sizes` are the axes of one round, `None` for any length.
    fn new(
        value: &Bound<'py, PyAny>,
        name: &'static str,
        sizes: &[Option<usize>],
        meaning: &str,
    ) -> PyResult<Self> {
        let numbers = Numbers::new(value, name)?;
        let shape = numbers.shape();
        let has_rounds = shape.len() == sizes.len() + 1;
        // Those of many rounds are looked at round by round, when they are at hand anyway.
        if !has_rounds {
            numbers.finite()?;
        }
        let own = &shape[usize::from(has_rounds).min(shape.len())..];
        if !fits(own, sizes) {
            return Err(numbers.misshapen(sizes, meaning));
        }
        Ok(Self {
            each: own.iter().product(),
            numbers,
            has_rounds,
        })
    }

    /// Length of the last axis.
    fn width(&self) -> usize {
        self.numbers.shape().last().copied().unwrap_or(1)
    }

    /// Returns the numbers by round, for threads without the interpreter.
    fn by_round<'a>(&'a self) -> PyResult<impl Fn(usize) -> &'a [f64] + Sync + use<'a, 'py>> {
        let (numbers, each) = (self.numbers.slice()?, self.each);
        let step = if self.has_rounds { each } else { 0 };
        Ok(move |round: usize| &numbers[round * step..round * step + each])
    }
}

/// Number of rounds of the arguments; `None` for a single one, without an axis for it.
fn rounds(arguments: &[&Batched<'_>]) -> PyResult<Option<usize>> {
    let mut found: Option<(usize, &str)> = None;
    for argument in arguments.iter().filter(|argument| argument.has_rounds) {
        let n = argument.numbers.shape()[0];
        match found {
            Some((m, name)) if m != n => {
                return Err(PyValueError::new_err(format!(
                    "`{}` has {n} rounds where `{name}` has {m}: the leading axes must agree",
                    argument.numbers.name
                )));
            }
            _ => found = Some((n, argument.numbers.name)),
        }
    }
    Ok(found.map(|(n, _)| n))
}

/// Most rounds that a thread takes at once.
const SHARE: usize = 64;

/// Solves one round, or all rounds on all cores; each is solved alone, so the answers are the same.
fn answer<'py>(
    py: Python<'py>,
    arguments: &[&Batched<'py>],
    (actions, guardrails): (usize, usize),
    solve: impl Fn(usize) -> Result<RoundAnswer, String> + Sync,
) -> PyResult<Bound<'py, PyAny>> {
    let empty = || Answers::new(actions, guardrails);
    let Some(count) = rounds(arguments)? else {
        let answer = guarded(|| solve(0))?.map_err(PyValueError::new_err)?;
        let mut answers = empty();
        answers.push(&answer);
        let (answers, round) = (Arc::new(answers), 0);
        return Ok(Bound::new(py, Solution { answers, round })?.into_any());
    };
    // Several shares per thread: rounds of exact OPLB differ in how long they take.
    let share = (count / (8 * rayon::current_num_threads())).clamp(1, SHARE);
    let solved = py.detach(|| {
        guarded(|| {
            let shares = (0..count.div_ceil(share)).into_par_iter().map(|part| {
                let mut answers = empty();
                for i in part * share..count.min((part + 1) * share) {
                    answers.push(&solve(i).map_err(|error| (i, error))?);
                }
                Ok::<_, (usize, String)>(answers)
            });
            let shares = shares.collect::<Result<Vec<Answers>, (usize, String)>>()?;
            let mut answers = empty();
            shares.into_iter().for_each(|later| answers.append(later));
            Ok(answers)
        })
    })?;
    let answers = match solved {
        Ok(answers) => answers,
        Err((i, error)) => {
            // A number that is not finite is named by its place in what was given.
            arguments
                .iter()
                .try_for_each(|argument| argument.numbers.finite())?;
            return Err(PyValueError::new_err(format!("round {i}: {error}")));
        }
    };
    Ok(Bound::new(py, SolutionBatch(Arc::new(answers)))?.into_any())
}

thread_local! {
    /// Its memory is used again from call to call.
    static SOLVER: RefCell<OnceSolver> = RefCell::default();
}

/// Solves the policy LP: the distribution over actions with the largest reward whose costs keep their
/// thresholds.
///
/// reward: one entry per action. costs: one row per guardrail, one column per action. thresholds: one
/// per guardrail. For one guardrail a plain row and a number will do. With a leading axis of rounds on
/// any of them, thousands of rounds are solved in one call on all cores, to the same bits.
///
/// >>> import banister
/// >>> solution = banister.solve_lp([0.1, 0.9], [[0.0, 1.0]], [0.25])
/// >>> solution.policy
/// {0: 0.75, 1: 0.25}
/// >>> round(solution.prices[0].item(), 12)
/// 0.8
/// >>> banister.solve_lp([[0.1, 0.9], [0.5, 0.2]], [[0.0, 1.0]], [0.25]).value.round(12).tolist()
/// [0.3, 0.5]
#[pyfunction]
pub(crate) fn solve_lp<'py>(
    py: Python<'py>,
    reward: &Bound<'py, PyAny>,
    costs: &Bound<'py, PyAny>,
    thresholds: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let reward = Batched::new(reward, "reward", &[None], "one entry per action")?;
    let k = reward.width();
    if k == 0 {
        return Err(PyValueError::new_err(
            "`reward` is empty: a policy needs at least one action",
        ));
    }
    let is_one = Numbers::new(thresholds, "thresholds")?.shape().is_empty();
    // One guardrail: its row and its threshold may be given as they are.
    let (costs, thresholds) = if is_one {
        let meaning = "one entry per action, as in `reward`";
        let costs = Batched::new(costs, "costs", &[Some(k)], meaning)?;
        (
            costs,
            Batched::new(thresholds, "thresholds", &[], "one number")?,
        )
    } else {
        let meaning = "one row per guardrail, one column per action, as in `reward`";
        let costs = Batched::new(costs, "costs", &[None, Some(k)], meaning)?;
        let sizes = [Some(costs.each / k)];
        (
            costs,
            Batched::new(thresholds, "thresholds", &sizes, "one per row of `costs`")?,
        )
    };
    let sizes = (k, thresholds.each);
    let arguments = [&reward, &costs, &thresholds];
    let (reward, costs, thresholds) = (
        reward.by_round()?,
        costs.by_round()?,
        thresholds.by_round()?,
    );
    answer(py, &arguments, sizes, |i| {
        let rows: SmallVec<[&[f64]; 8]> = costs(i).chunks_exact(k).collect();
        SOLVER.with_borrow_mut(|solver| {
            let solution = solver.solve(reward(i), &rows, thresholds(i));
            solution
                .map(|solution| RoundAnswer::from(solution.clone()))
                .map_err(|error| error.to_string())
        })
    })
}

/// An estimate and a radius, or several of each.
type Sets<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Solves rounds of OPLB: see `banister.solvers.solve_oplb`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "keys of the problem in JSON")]
pub(crate) fn solve_oplb<'py>(
    py: Python<'py>,
    actions: &Bound<'py, PyAny>,
    safe: &Bound<'py, PyAny>,
    safe_costs: &Bound<'py, PyAny>,
    thresholds: &Bound<'py, PyAny>,
    gram: &Bound<'py, PyAny>,
    reward: Sets<'py>,
    costs: Sets<'py>,
    solver: &str,
    relative_gap: Option<f64>,
    max_work: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let rows = "one row per action, one column per feature";
    let actions = Batched::new(actions, "actions", &[None, None], rows)?;
    let d = actions.width();
    let k = actions.each / d.max(1);
    let safe = crate::input::count(safe, "safe")? as usize;
    let gram = Batched::new(gram, "gram", &[Some(d), Some(d)], "features by features")?;
    let entries = "one entry per feature";
    let theta = Batched::new(&reward.0, "reward.estimate", &[Some(d)], entries)?;
    let radius = Batched::new(&reward.1, "reward.radius", &[], "one number")?;
    let thresholds = Batched::new(thresholds, "thresholds", &[None], "one per guardrail")?;
    let m = thresholds.each;
    let safe_costs = Batched::new(safe_costs, "safe_costs", &[Some(m)], "one per threshold")?;
    let rows = "one row per guardrail, one column per feature";
    let mus = Batched::new(&costs.0, "costs.estimate", &[Some(m), Some(d)], rows)?;
    let radii = Batched::new(&costs.1, "costs.radius", &[Some(m)], "one per guardrail")?;
    let solver: banister::oplb::Solver = serde_json::from_value(serde_json::Value::from(solver))
        .map_err(|_| {
            PyValueError::new_err(format!(
                "`solver` is {solver:?}: must be \"linearised\" or \"exact\""
            ))
        })?;
    let arguments = [
        &actions,
        &gram,
        &theta,
        &radius,
        &thresholds,
        &safe_costs,
        &mus,
        &radii,
    ];
    let defaults = banister::OplbConfig::default();
    let (actions, gram) = (actions.by_round()?, gram.by_round()?);
    let (theta, radius) = (theta.by_round()?, radius.by_round()?);
    let (thresholds, safe_costs) = (thresholds.by_round()?, safe_costs.by_round()?);
    let (mus, radii) = (mus.by_round()?, radii.by_round()?);
    let table = |numbers: &[f64]| -> Vec<Vec<f64>> {
        let rows = numbers.chunks_exact(d.max(1));
        rows.map(<[f64]>::to_vec).collect()
    };
    let set = |estimate: &[f64], radius: f64| Ellipsoid {
        estimate: estimate.to_vec(),
        radius,
    };
    answer(py, &arguments, (k, m), |i| {
        let costs = mus(i).chunks_exact(d.max(1)).zip(radii(i));
        let round = RoundInstance {
            actions: table(actions(i)),
            safe,
            safe_costs: safe_costs(i).to_vec(),
            thresholds: thresholds(i).to_vec(),
            gram: table(gram(i)),
            reward: set(theta(i), radius(i)[0]),
            costs: costs.map(|(mu, &radius)| set(mu, radius)).collect(),
            solver,
            relative_gap: relative_gap.unwrap_or(defaults.relative_gap),
            max_work: max_work.unwrap_or(defaults.max_work),
        };
        round.solve(None).map_err(|error| error.to_string())
    })
}
