//! Solutions of rounds as Python sees them, one or many.

use banister::oplb::RoundAnswer;
use banister::solve::Status;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList};

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
    pub answer: RoundAnswer,
    pub actions: usize,
}

fn known(answer: &RoundAnswer, value: f64) -> f64 {
    match answer.status {
        Status::Infeasible => f64::NAN,
        _ => value,
    }
}

fn gap(answer: &RoundAnswer) -> f64 {
    known(answer, (answer.upper_bound - answer.value).max(0.0))
}

fn dense(answer: &RoundAnswer, out: &mut [f64]) {
    for &(action, p) in &answer.policy {
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
        dense(&self.answer, &mut policy);
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
        gap(&self.answer)
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

/// The policies of many rounds: arrays with one entry, or row, per round.
#[pyclass(frozen, module = "banister")]
#[derive(Debug)]
pub(crate) struct SolutionBatch {
    pub answers: Vec<RoundAnswer>,
    pub actions: usize,
    pub guardrails: usize,
}

impl SolutionBatch {
    fn column<'py>(
        &self,
        py: Python<'py>,
        of: impl Fn(&RoundAnswer) -> f64,
    ) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.answers.iter().map(of))
    }

    fn rows<'py>(
        &self,
        py: Python<'py>,
        width: usize,
        write: impl Fn(&RoundAnswer, &mut [f64]),
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let mut table = vec![0.0; width * self.answers.len()];
        for (answer, row) in self.answers.iter().zip(table.chunks_mut(width.max(1))) {
            write(answer, row);
        }
        PyArray1::from_vec(py, table).reshape([self.answers.len(), width])
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
        match usize::try_from(at).ok().and_then(|at| self.answers.get(at)) {
            Some(answer) => Ok(Solution {
                answer: answer.clone(),
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
        self.answers.iter().map(|a| status_name(a.status)).collect()
    }

    /// The policies as rows, one probability per action.
    #[getter]
    fn probabilities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.rows(py, self.actions, dense)
    }

    /// The objectives at the policies; NaN where infeasible.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |a| known(a, a.value))
    }

    /// Proven upper bounds on the objectives.
    #[getter]
    fn upper_bound<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |a| known(a, a.upper_bound))
    }

    /// `upper_bound - value`.
    #[getter]
    fn gap<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, gap)
    }

    /// The policies' costs, one column per guardrail.
    #[getter]
    fn costs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.rows(py, self.guardrails, |a, row| {
            row.iter_mut()
                .zip(&a.costs)
                .for_each(|(out, &c)| *out = known(a, c));
        })
    }

    /// Shadow prices, one column per guardrail.
    #[getter]
    fn prices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.rows(py, self.guardrails, |a, row| {
            row.iter_mut()
                .zip(&a.prices)
                .for_each(|(out, &p)| *out = known(a, p));
        })
    }

    fn __repr__(&self) -> String {
        format!("SolutionBatch({} rounds)", self.answers.len())
    }
}
