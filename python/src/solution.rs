//! Solutions of rounds as Python sees them, one or many.

use banister::oplb::RoundAnswer;
use banister::solve::Status;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList};

use crate::input::place;

/// A status as formats spell it.
pub(crate) fn status_name(status: Status) -> &'static str {
    match status {
        Status::Optimal => "optimal",
        Status::Budget => "budget",
        Status::Infeasible => "infeasible",
    }
}

/// The policy of a round, with its proof.
#[pyclass(frozen, module = "banister.solvers")]
#[derive(Debug)]
pub(crate) struct Solution {
    pub answer: RoundAnswer,
    pub actions: usize,
}

/// A number of a round; NaN if it was infeasible.
fn known(status: Status, value: f64) -> f64 {
    match status {
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
    /// "optimal", "budget" (work ran out: a feasible policy with its proven gap) or "infeasible".
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
        known(self.answer.status, self.answer.value)
    }

    /// Proven upper bound on the objective of every feasible policy.
    #[getter]
    fn upper_bound(&self) -> f64 {
        known(self.answer.status, self.answer.upper_bound)
    }

    /// `upper_bound - value`.
    #[getter]
    fn gap(&self) -> f64 {
        let answer = &self.answer;
        known(answer.status, gap(answer.value, answer.upper_bound))
    }

    /// The policy's cost per guardrail.
    #[getter]
    fn costs<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let costs = self.answer.costs.iter();
        PyArray1::from_iter(py, costs.map(|&cost| known(self.answer.status, cost)))
    }

    /// Shadow price per guardrail: what one more unit of its threshold would earn.
    #[getter]
    fn prices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let prices = self.answer.prices.iter();
        PyArray1::from_iter(py, prices.map(|&price| known(self.answer.status, price)))
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
pub(crate) struct Answers {
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

    pub(crate) fn push(&mut self, answer: &RoundAnswer) {
        self.status.push(answer.status);
        self.value.push(answer.value);
        self.upper_bound.push(answer.upper_bound);
        self.nodes.push(answer.nodes);
        self.costs.extend_from_slice(&answer.costs);
        self.prices.extend_from_slice(&answer.prices);
        self.policies.extend_from_slice(&answer.policy);
        self.ends.push(self.policies.len());
    }

    pub(crate) fn append(&mut self, mut later: Self) {
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
#[pyclass(frozen, module = "banister.solvers")]
#[derive(Debug)]
pub(crate) struct SolutionBatch {
    pub answers: Answers,
    pub actions: usize,
    pub guardrails: usize,
}

impl SolutionBatch {
    fn column<'py>(&self, py: Python<'py>, of: impl Fn(usize) -> f64) -> Bound<'py, PyArray1<f64>> {
        let each = (0..self.answers.len()).map(|i| known(self.answers.status[i], of(i)));
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
        let table = each.map(|(i, &x)| known(self.answers.status[i / width], x));
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
        let at = place(index, self.answers.len(), "round")?;
        Ok(Solution {
            answer: self.answers.of(at, self.guardrails),
            actions: self.actions,
        })
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let each = (0..self.answers.len() as isize).map(|i| self.__getitem__(i));
        let each = each.collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, each)?.try_iter()
    }

    /// Status of each round.
    #[getter]
    fn status(&self) -> Vec<&'static str> {
        let each = self.answers.status.iter();
        each.map(|&status| status_name(status)).collect()
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
