//! Solutions of rounds as Python sees them, one or many.

use std::sync::Arc;

use banister::oplb::RoundAnswer;
use banister::solve::Status;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList};

use crate::input::place;

/// A status as formats spell it.
fn status_name(status: Status) -> &'static str {
    match status {
        Status::Optimal => "optimal",
        Status::Budget => "budget",
        Status::Infeasible => "infeasible",
    }
}

fn gap(value: f64, upper_bound: f64) -> f64 {
    let gap = upper_bound - value;
    // Not `max`, which would make 0 of NaN.
    if gap < 0.0 { 0.0 } else { gap }
}

fn dense(policy: &[(usize, f64)], out: &mut [f64]) {
    for &(action, p) in policy {
        out[action] = p;
    }
}

/// The policy of a round, with its proof.
#[pyclass(frozen, module = "banister.solvers")]
#[derive(Debug)]
pub(crate) struct Solution {
    pub answers: Arc<Answers>,
    pub round: usize,
}

impl Solution {
    fn row(&self) -> &[f64] {
        self.answers.rows(self.round..self.round + 1)
    }

    /// Numbers by guardrail, from a place in the row.
    fn by_guardrail<'py>(&self, py: Python<'py>, from: usize) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.row()[from..from + self.answers.guardrails])
    }
}

#[pymethods]
impl Solution {
    /// "optimal", "budget" (work ran out: a feasible policy with its proven gap) or "infeasible".
    #[getter]
    fn status(&self) -> &'static str {
        status_name(self.answers.status[self.round])
    }

    /// The policy as a dictionary from action to probability, without zeros.
    #[getter]
    fn policy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let policy = PyDict::new(py);
        for &(action, p) in self.answers.policy(self.round) {
            policy.set_item(action, p)?;
        }
        Ok(policy)
    }

    /// The policy as a vector, one probability per action.
    #[getter]
    fn probabilities<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let mut policy = vec![0.0; self.answers.actions];
        dense(self.answers.policy(self.round), &mut policy);
        PyArray1::from_vec(py, policy)
    }

    /// The objective at the policy; NaN if infeasible.
    #[getter]
    fn value(&self) -> f64 {
        self.row()[0]
    }

    /// Proven upper bound on the objective of every feasible policy.
    #[getter]
    fn upper_bound(&self) -> f64 {
        self.row()[1]
    }

    /// `upper_bound - value`.
    #[getter]
    fn gap(&self) -> f64 {
        gap(self.value(), self.upper_bound())
    }

    /// The policy's cost per guardrail.
    #[getter]
    fn costs<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.by_guardrail(py, 2)
    }

    /// Shadow price per guardrail: what one more unit of its threshold would earn.
    #[getter]
    fn prices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.by_guardrail(py, 2 + self.answers.guardrails)
    }

    /// Steps it took.
    #[getter]
    fn nodes(&self) -> u64 {
        self.answers.nodes[self.round]
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

/// The answers of rounds: small vectors kept by the thousand would cost more than most rounds.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    actions: usize,
    guardrails: usize,
    status: Vec<Status>,
    nodes: Vec<u64>,
    /// Rows of value, upper bound, costs and prices.
    numbers: Vec<f64>,
    /// The policies one after another, and where each ends.
    policies: Vec<(usize, f64)>,
    ends: Vec<usize>,
}

impl Answers {
    pub(crate) fn new(actions: usize, guardrails: usize) -> Self {
        Self {
            actions,
            guardrails,
            ..Self::default()
        }
    }

    /// Adds an answer; the numbers of one that is infeasible are NaN.
    pub(crate) fn push(&mut self, answer: &RoundAnswer) {
        let start = self.numbers.len();
        self.status.push(answer.status);
        self.nodes.push(answer.nodes);
        self.numbers.extend([answer.value, answer.upper_bound]);
        self.numbers.extend_from_slice(&answer.costs);
        self.numbers.extend_from_slice(&answer.prices);
        if answer.status == Status::Infeasible {
            self.numbers[start..].fill(f64::NAN);
        }
        self.policies.extend_from_slice(&answer.policy);
        self.ends.push(self.policies.len());
    }

    pub(crate) fn append(&mut self, mut later: Self) {
        let before = self.policies.len();
        self.status.append(&mut later.status);
        self.nodes.append(&mut later.nodes);
        self.numbers.append(&mut later.numbers);
        self.policies.append(&mut later.policies);
        self.ends.extend(later.ends.iter().map(|end| before + end));
    }

    fn policy(&self, round: usize) -> &[(usize, f64)] {
        let start = round.checked_sub(1).map_or(0, |last| self.ends[last]);
        &self.policies[start..self.ends[round]]
    }

    /// The numbers of some rounds.
    fn rows(&self, rounds: std::ops::Range<usize>) -> &[f64] {
        let width = 2 + 2 * self.guardrails;
        &self.numbers[width * rounds.start..width * rounds.end]
    }
}

/// The policies of many rounds: arrays with one entry, or row, per round.
#[pyclass(frozen, module = "banister.solvers")]
#[derive(Debug)]
pub(crate) struct SolutionBatch(pub Arc<Answers>);

impl SolutionBatch {
    fn rows(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.0.numbers.chunks_exact(2 + 2 * self.0.guardrails)
    }

    /// A table with one column per guardrail, of the numbers from a place in each row.
    fn by_guardrail<'py>(
        &self,
        py: Python<'py>,
        from: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let to = from + self.0.guardrails;
        let table = self.rows().flat_map(|row| &row[from..to]).copied();
        PyArray1::from_vec(py, table.collect()).reshape([self.__len__(), self.0.guardrails])
    }
}

#[pymethods]
impl SolutionBatch {
    fn __len__(&self) -> usize {
        self.0.status.len()
    }

    /// The solution of one round.
    fn __getitem__(&self, index: isize) -> PyResult<Solution> {
        Ok(Solution {
            answers: Arc::clone(&self.0),
            round: place(index, self.__len__(), "round")?,
        })
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let each = (0..self.__len__() as isize).map(|i| self.__getitem__(i));
        let each = each.collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, each)?.try_iter()
    }

    /// Status of each round.
    #[getter]
    fn status(&self) -> Vec<&'static str> {
        let each = self.0.status.iter();
        each.map(|&status| status_name(status)).collect()
    }

    /// The policies as rows, one probability per action.
    #[getter]
    fn probabilities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let mut table = vec![0.0; self.0.actions * self.__len__()];
        for (i, row) in table.chunks_mut(self.0.actions.max(1)).enumerate() {
            dense(self.0.policy(i), row);
        }
        PyArray1::from_vec(py, table).reshape([self.__len__(), self.0.actions])
    }

    /// The objectives at the policies; NaN where infeasible.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.rows().map(|row| row[0]))
    }

    /// Proven upper bounds on the objectives.
    #[getter]
    fn upper_bound<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.rows().map(|row| row[1]))
    }

    /// `upper_bound - value`.
    #[getter]
    fn gap<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.rows().map(|row| gap(row[0], row[1])))
    }

    /// The policies' costs, one column per guardrail.
    #[getter]
    fn costs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.by_guardrail(py, 2)
    }

    /// Shadow prices, one column per guardrail.
    #[getter]
    fn prices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.by_guardrail(py, 2 + self.0.guardrails)
    }

    fn __repr__(&self) -> String {
        format!("SolutionBatch({} rounds)", self.__len__())
    }
}
