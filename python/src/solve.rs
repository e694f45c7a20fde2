//! `solve_lp` and `solve_oplb`: rounds given by their numbers, one or thousands in a call.

use banister::oplb::{Ellipsoid, Round, RoundAnswer};
use banister::solve::{Status, solve_once};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList};
use rayon::prelude::*;

use crate::error::{guarded, mistyped};
use crate::input::Numbers;

/// A status as formats spell it.
pub(crate) fn status_name(status: Status) -> &'static str {
    match status {
        Status::Optimal => "optimal",
        Status::Budget => "budget",
        Status::Infeasible => "infeasible",
    }
}

/// The policy of a round, with its proof.
#[pyclass(frozen, module = "banister")]
#[derive(Debug)]
pub(crate) struct Solution {
    answer: RoundAnswer,
    actions: usize,
}

fn known(answer: &RoundAnswer, value: f64) -> f64 {
    match answer.status {
        Status::Infeasible => f64::NAN,
        _ => value,
    }
}

fn gap(value: f64, upper_bound: f64) -> f64 {
    (upper_bound - value).max(0.0)
}

fn dense(policy: &[(usize, f64)], out: &mut [f64]) {
    for &(action, p) in policy {
        out[action] = p;
    }
}

#[pymethods]
impl Solution {
    /// "optimal", "budget" (work ran out: a feasible policy with an honest gap) or "infeasible".
    #[getter]
    fn status(&self) -> &'static str {
        status_name(self.answer.status)
    }

    /// The policy as a dictionary from action to probability, without zeros.
    #[getter]
    fn policy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let policy = PyDict::new(py);
        for &(action, p) in &self.answer.policy {
            policy.set_item(action, p)?;
        }
        Ok(policy)
    }

    /// The policy as a vector, one probability per action.
    #[getter]
    fn probabilities<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let mut policy = vec![0.0; self.actions];
        dense(&self.answer.policy, &mut policy);
        PyArray1::from_vec(py, policy)
    }

    /// The objective at the policy; NaN if infeasible.
    #[getter]
    fn value(&self) -> f64 {
        known(&self.answer, self.answer.value)
    }

    /// Proven upper bound on the objective of every feasible policy.
    #[getter]
    fn upper_bound(&self) -> f64 {
        known(&self.answer, self.answer.upper_bound)
    }

    /// `upper_bound - value`.
    #[getter]
    fn gap(&self) -> f64 {
        let answer = &self.answer;
        known(answer, gap(answer.value, answer.upper_bound))
    }

    /// The policy's cost per guardrail.
    #[getter]
    fn costs<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(
            py,
            self.answer.costs.iter().map(|&c| known(&self.answer, c)),
        )
    }

    /// Shadow price per guardrail: what one more unit of its threshold would earn.
    #[getter]
    fn prices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(
            py,
            self.answer.prices.iter().map(|&p| known(&self.answer, p)),
        )
    }

    /// Steps it took.
    #[getter]
    fn nodes(&self) -> u64 {
        self.answer.nodes
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!(
            "Solution(status={:?}, value={:.6}, gap={:.3e}, policy={})",
            self.status(),
            self.value(),
            self.gap(),
            self.policy(py)?.repr()?
        ))
    }
}

/// The answers of many rounds in columns: small vectors kept by the thousand would cost more than
/// most rounds.
#[derive(Debug, Default)]
struct Answers {
    status: Vec<Status>,
    value: Vec<f64>,
    upper_bound: Vec<f64>,
    nodes: Vec<u64>,
    /// One entry per guardrail, round by round.
    costs: Vec<f64>,
    prices: Vec<f64>,
    /// The policies one after another, and where each ends.
    policies: Vec<(usize, f64)>,
    ends: Vec<usize>,
}

impl Answers {
    fn len(&self) -> usize {
        self.status.len()
    }

    fn push(&mut self, answer: &RoundAnswer) {
        self.status.push(answer.status);
        self.value.push(answer.value);
        self.upper_bound.push(answer.upper_bound);
        self.nodes.push(answer.nodes);
        self.costs.extend_from_slice(&answer.costs);
        self.prices.extend_from_slice(&answer.prices);
        self.policies.extend_from_slice(&answer.policy);
        self.ends.push(self.policies.len());
    }

    fn append(&mut self, mut later: Self) {
        let before = self.policies.len();
        self.status.append(&mut later.status);
        self.value.append(&mut later.value);
        self.upper_bound.append(&mut later.upper_bound);
        self.nodes.append(&mut later.nodes);
        self.costs.append(&mut later.costs);
        self.prices.append(&mut later.prices);
        self.policies.append(&mut later.policies);
        self.ends.extend(later.ends.iter().map(|end| before + end));
    }

    fn policy(&self, round: usize) -> &[(usize, f64)] {
        let start = round.checked_sub(1).map_or(0, |last| self.ends[last]);
        &self.policies[start..self.ends[round]]
    }

    /// A number of a round; NaN if it was infeasible.
    fn known(&self, round: usize, value: f64) -> f64 {
        match self.status[round] {
            Status::Infeasible => f64::NAN,
            _ => value,
        }
    }

    fn of(&self, round: usize, guardrails: usize) -> RoundAnswer {
        let own = round * guardrails..(round + 1) * guardrails;
        RoundAnswer {
            status: self.status[round],
            policy: self.policy(round).to_vec(),
            value: self.value[round],
            upper_bound: self.upper_bound[round],
            costs: self.costs[own.clone()].to_vec(),
            prices: self.prices[own].to_vec(),
            nodes: self.nodes[round],
        }
    }
}

/// The policies of many rounds: arrays with one entry, or row, per round.
#[pyclass(frozen, module = "banister")]
#[derive(Debug)]
pub(crate) struct SolutionBatch {
    answers: Answers,
    actions: usize,
    guardrails: usize,
}

impl SolutionBatch {
    fn column<'py>(&self, py: Python<'py>, of: impl Fn(usize) -> f64) -> Bound<'py, PyArray1<f64>> {
        let each = (0..self.answers.len()).map(|i| self.answers.known(i, of(i)));
        PyArray1::from_iter(py, each)
    }

    /// A table with one column per guardrail.
    fn by_guardrail<'py>(
        &self,
        py: Python<'py>,
        numbers: &[f64],
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let width = self.guardrails;
        let each = numbers.iter().enumerate();
        let table = each.map(|(i, &x)| self.answers.known(i / width, x));
        PyArray1::from_vec(py, table.collect()).reshape([self.answers.len(), width])
    }
}

#[pymethods]
impl SolutionBatch {
    fn __len__(&self) -> usize {
        self.answers.len()
    }

    /// The solution of one round.
    fn __getitem__(&self, index: isize) -> PyResult<Solution> {
        let length = self.answers.len() as isize;
        let at = if index < 0 { index + length } else { index };
        match usize::try_from(at).ok().filter(|_| at < length) {
            Some(at) => Ok(Solution {
                answer: self.answers.of(at, self.guardrails),
                actions: self.actions,
            }),
            None => Err(pyo3::exceptions::PyIndexError::new_err(format!(
                "there is no round {index}: there are {length}"
            ))),
        }
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let each = (0..self.answers.len() as isize).map(|i| self.__getitem__(i));
        let each = each.collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, each)?.try_iter()
    }

    /// How each round ended.
    #[getter]
    fn status(&self) -> Vec<&'static str> {
        self.answers
            .status
            .iter()
            .copied()
            .map(status_name)
            .collect()
    }

    /// The policies as rows, one probability per action.
    #[getter]
    fn probabilities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let mut table = vec![0.0; self.actions * self.answers.len()];
        for (i, row) in table.chunks_mut(self.actions.max(1)).enumerate() {
            dense(self.answers.policy(i), row);
        }
        PyArray1::from_vec(py, table).reshape([self.answers.len(), self.actions])
    }

    /// The objectives at the policies; NaN where infeasible.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |i| self.answers.value[i])
    }

    /// Proven upper bounds on the objectives.
    #[getter]
    fn upper_bound<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |i| self.answers.upper_bound[i])
    }

    /// `upper_bound - value`.
    #[getter]
    fn gap<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |i| {
            gap(self.answers.value[i], self.answers.upper_bound[i])
        })
    }

    /// The policies' costs, one column per guardrail.
    #[getter]
    fn costs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.by_guardrail(py, &self.answers.costs)
    }

    /// Shadow prices, one column per guardrail.
    #[getter]
    fn prices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.by_guardrail(py, &self.answers.prices)
    }

    fn __repr__(&self) -> String {
        format!("SolutionBatch({} rounds)", self.answers.len())
    }
}

/// An argument that is the same for all rounds, or has a leading axis of rounds.
struct Per<'py> {
    numbers: Numbers<'py>,
    /// Numbers of one round.
    each: usize,
    has_rounds: bool,
}

impl<'py> Per<'py> {
    /// `sizes` are the axes of one round, `None` for any length.
    fn new(numbers: Numbers<'py>, sizes: &[Option<usize>], meaning: &str) -> PyResult<Self> {
        let shape = numbers.shape();
        let has_rounds = shape.len() == sizes.len() + 1;
        // Those of many rounds are looked at round by round, when they are at hand anyway.
        if !has_rounds {
            numbers.finite()?;
        }
        let own = &shape[usize::from(has_rounds).min(shape.len())..];
        let fits = own.len() == sizes.len()
            && std::iter::zip(own, sizes).all(|(n, e)| e.is_none_or(|e| e == *n));
        if !fits {
            return Err(numbers.misshapen(sizes, meaning));
        }
        Ok(Self {
            each: own.iter().product(),
            numbers,
            has_rounds,
        })
    }

    fn rounds(&self) -> Option<usize> {
        self.has_rounds.then(|| self.numbers.shape()[0])
    }

    /// The last axis's length.
    fn width(&self) -> usize {
        self.numbers.shape().last().copied().unwrap_or(1)
    }

    fn flat(&self) -> PyResult<Flat<'_>> {
        Ok(Flat {
            numbers: self.numbers.slice()?,
            each: self.each,
            has_rounds: self.has_rounds,
        })
    }
}

/// The numbers behind a [`Per`], for threads without the interpreter.
#[derive(Clone, Copy)]
struct Flat<'a> {
    numbers: &'a [f64],
    each: usize,
    has_rounds: bool,
}

impl<'a> Flat<'a> {
    fn round(&self, i: usize) -> &'a [f64] {
        match self.has_rounds {
            true => &self.numbers[i * self.each..(i + 1) * self.each],
            false => self.numbers,
        }
    }
}

/// How many rounds the arguments are for; `None` if there is one, without an axis for it.
fn rounds(arguments: &[&Per<'_>]) -> PyResult<Option<usize>> {
    let mut found: Option<(usize, &str)> = None;
    for argument in arguments {
        let Some(n) = argument.rounds() else { continue };
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

/// Most rounds that a thread takes at once; they share their scratch memory.
const SHARE: usize = 64;

/// Solves one round, or all rounds on all cores; each is solved alone, so the answers are the same.
/// `solve` gets scratch memory, in whatever state another round left it.
fn answer<'py, S: Default>(
    py: Python<'py>,
    arguments: &[&Per<'py>],
    (actions, guardrails): (usize, usize),
    solve: impl Fn(usize, &mut S) -> Result<RoundAnswer, String> + Sync,
) -> PyResult<Bound<'py, PyAny>> {
    let Some(count) = rounds(arguments)? else {
        let answer = guarded(|| solve(0, &mut S::default()))?.map_err(PyValueError::new_err)?;
        return Ok(Bound::new(py, Solution { answer, actions })?.into_any());
    };
    // Several shares per thread: rounds of exact OPLB differ in how long they take.
    let share = (count / (8 * rayon::current_num_threads())).clamp(1, SHARE);
    let solved = py.detach(|| {
        guarded(|| {
            let shares = (0..count.div_ceil(share)).into_par_iter().map(|part| {
                let (mut answers, mut scratch) = (Answers::default(), S::default());
                for i in part * share..count.min((part + 1) * share) {
                    answers.push(&solve(i, &mut scratch).map_err(|error| (i, error))?);
                }
                Ok::<_, (usize, String)>(answers)
            });
            let shares = shares.collect::<Result<Vec<Answers>, (usize, String)>>()?;
            let mut answers = Answers::default();
            shares.into_iter().for_each(|later| answers.append(later));
            Ok(answers)
        })
    })?;
    let answers = match solved {
        Ok(answers) => answers,
        Err((i, error)) => {
            // A number that is not finite is named by its place in what was given.
            arguments.iter().try_for_each(|per| per.numbers.finite())?;
            return Err(PyValueError::new_err(format!("round {i}: {error}")));
        }
    };
    let batch = SolutionBatch {
        answers,
        actions,
        guardrails,
    };
    Ok(Bound::new(py, batch)?.into_any())
}

/// Solves the policy LP: the distribution over actions with the largest reward whose costs keep their
/// thresholds.
#[pyfunction]
pub(crate) fn solve_lp<'py>(
    py: Python<'py>,
    reward: &Bound<'py, PyAny>,
    costs: &Bound<'py, PyAny>,
    thresholds: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let reward = Numbers::new(reward, "reward")?;
    let reward = Per::new(reward, &[None], "one entry per action")?;
    let k = reward.width();
    if k == 0 {
        return Err(PyValueError::new_err(
            "`reward` is empty: a policy needs at least one action",
        ));
    }
    let costs = Numbers::new(costs, "costs")?;
    let thresholds = Numbers::new(thresholds, "thresholds")?;
    // One guardrail: its row and its threshold may be given as they are.
    let (costs, thresholds) = if thresholds.shape().is_empty() {
        let costs = Per::new(costs, &[Some(k)], "one entry per action, as in `reward`")?;
        (costs, Per::new(thresholds, &[], "one number")?)
    } else {
        let meaning = "one row per guardrail, one column per action, as in `reward`";
        let costs = Per::new(costs, &[None, Some(k)], meaning)?;
        let m = costs.each / k;
        let meaning = "one per row of `costs`";
        (costs, Per::new(thresholds, &[Some(m)], meaning)?)
    };
    let sizes = (k, thresholds.each);
    let arguments = [&reward, &costs, &thresholds];
    let (reward, costs, thresholds) = (reward.flat()?, costs.flat()?, thresholds.flat()?);
    answer(py, &arguments, sizes, |i, rows: &mut Vec<Vec<f64>>| {
        rows.resize_with(sizes.1, Vec::new);
        for (row, given) in rows.iter_mut().zip(costs.round(i).chunks_exact(k)) {
            row.clear();
            row.extend_from_slice(given);
        }
        solve_once(reward.round(i), rows, thresholds.round(i))
            .map(RoundAnswer::from)
            .map_err(|error| error.to_string())
    })
}

/// An estimate and a radius, as a pair or a dictionary.
fn ellipsoid<'py>(
    value: &Bound<'py, PyAny>,
    name: &str,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let allowed = "must be {\"estimate\": ..., \"radius\": ...} or (estimate, radius)";
    if let Ok(dict) = value.cast::<PyDict>() {
        return match (dict.get_item("estimate")?, dict.get_item("radius")?) {
            (Some(estimate), Some(radius)) if dict.len() == 2 => Ok((estimate, radius)),
            _ => Err(mistyped(name, value, allowed)),
        };
    }
    value.extract().map_err(|_| mistyped(name, value, allowed))
}

/// Solves a round of OPLB given by its confidence sets.
#[pyfunction]
#[pyo3(signature = (actions, *, safe, safe_costs, thresholds, gram, reward, costs, solver="linearised", relative_gap=None, max_work=None))]
#[expect(
    clippy::too_many_arguments,
    reason = "the keys of the same problem in JSON"
)]
pub(crate) fn solve_oplb<'py>(
    py: Python<'py>,
    actions: &Bound<'py, PyAny>,
    safe: &Bound<'py, PyAny>,
    safe_costs: &Bound<'py, PyAny>,
    thresholds: &Bound<'py, PyAny>,
    gram: &Bound<'py, PyAny>,
    reward: &Bound<'py, PyAny>,
    costs: &Bound<'py, PyAny>,
    solver: &str,
    relative_gap: Option<f64>,
    max_work: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let actions = Numbers::new(actions, "actions")?;
    let actions = Per::new(
        actions,
        &[None, None],
        "one row per action, one column per feature",
    )?;
    let d = actions.width();
    let k = actions.each / d.max(1);
    let safe = crate::input::count(safe, "safe")? as usize;
    let gram = Per::new(
        Numbers::new(gram, "gram")?,
        &[Some(d), Some(d)],
        "features by features",
    )?;
    let (estimate, radius) = ellipsoid(reward, "reward")?;
    let meaning = "one entry per feature";
    let estimate = Per::new(
        Numbers::new(&estimate, "reward.estimate")?,
        &[Some(d)],
        meaning,
    )?;
    let radius = Per::new(Numbers::new(&radius, "reward.radius")?, &[], "one number")?;
    let thresholds = Per::new(
        Numbers::new(thresholds, "thresholds")?,
        &[None],
        "one per guardrail",
    )?;
    let m = thresholds.each;
    let meaning = "one per threshold";
    let safe_costs = Per::new(Numbers::new(safe_costs, "safe_costs")?, &[Some(m)], meaning)?;
    let (estimates, radii) = cost_sets(costs, m)?;
    let meaning = "one row per guardrail, one column per feature";
    let estimates = Per::new(
        Numbers::new(&estimates, "costs.estimate")?,
        &[Some(m), Some(d)],
        meaning,
    )?;
    let radii = Per::new(
        Numbers::new(&radii, "costs.radius")?,
        &[Some(m)],
        "one per guardrail",
    )?;
    let solver: banister::oplb::Solver = serde_json::from_value(serde_json::Value::from(solver))
        .map_err(|_| {
            PyValueError::new_err(format!(
                "`solver` is {solver:?}: must be \"linearised\" or \"exact\""
            ))
        })?;
    let arguments = [
        &actions,
        &gram,
        &estimate,
        &radius,
        &thresholds,
        &safe_costs,
        &estimates,
        &radii,
    ];
    let defaults = banister::OplbConfig::default();
    let (relative_gap, max_work) = (
        relative_gap.unwrap_or(defaults.relative_gap),
        max_work.unwrap_or(defaults.max_work),
    );
    let actions = actions.flat()?;
    let (gram, estimate, radius) = (gram.flat()?, estimate.flat()?, radius.flat()?);
    let (thresholds, safe_costs) = (thresholds.flat()?, safe_costs.flat()?);
    let (estimates, radii) = (estimates.flat()?, radii.flat()?);
    let table = |numbers: &[f64]| -> Vec<Vec<f64>> {
        numbers
            .chunks_exact(d.max(1))
            .map(<[f64]>::to_vec)
            .collect()
    };
    answer(py, &arguments, (k, m), |i, (): &mut ()| {
        let cost = |(x, &radius): (&[f64], &f64)| Ellipsoid {
            estimate: x.to_vec(),
            radius,
        };
        let rows = estimates.round(i).chunks_exact(d.max(1));
        let round = Round {
            actions: table(actions.round(i)),
            safe,
            safe_costs: safe_costs.round(i).to_vec(),
            thresholds: thresholds.round(i).to_vec(),
            gram: table(gram.round(i)),
            reward: Ellipsoid {
                estimate: estimate.round(i).to_vec(),
                radius: radius.round(i)[0],
            },
            costs: rows.zip(radii.round(i)).map(cost).collect(),
            solver,
            relative_gap,
            max_work,
        };
        round.solve(None).map_err(|error| error.to_string())
    })
}

/// The confidence sets of the costs: one dictionary or pair of arrays for all, or a list of them.
fn cost_sets<'py>(
    costs: &Bound<'py, PyAny>,
    guardrails: usize,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let py = costs.py();
    if costs.cast::<PyDict>().is_ok() {
        return ellipsoid(costs, "costs");
    }
    let allowed = "must be a list of {\"estimate\": ..., \"radius\": ...}, one per guardrail";
    let list: Vec<Bound<'py, PyAny>> = costs
        .extract()
        .map_err(|_| mistyped("costs", costs, allowed))?;
    if list.len() != guardrails {
        return Err(PyValueError::new_err(format!(
            "`costs` has {} entries, expected {guardrails}: one per threshold",
            list.len()
        )));
    }
    let (mut estimates, mut radii) = (Vec::new(), Vec::new());
    for (i, one) in list.iter().enumerate() {
        let (estimate, radius) = ellipsoid(one, &format!("costs[{i}]"))?;
        estimates.push(estimate);
        radii.push(radius);
    }
    let numpy = py.import("numpy")?;
    let stack = |parts: Vec<Bound<'py, PyAny>>, name: &str, axis: i32| {
        let parts = PyList::new(py, parts)?;
        let refused =
            |_| PyValueError::new_err(format!("`{name}` differ in shape between guardrails"));
        numpy.call_method1("stack", (parts, axis)).map_err(refused)
    };
    if list.is_empty() {
        return Err(PyValueError::new_err(
            "`costs` is empty: give at least one guardrail",
        ));
    }
    Ok((
        stack(estimates, "costs.estimate", -2)?,
        stack(radii, "costs.radius", -1)?,
    ))
}
