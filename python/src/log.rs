//! The columns of a `banister.offline.Log` as the core sees them.

use banister::{Guardrail, SignalConfig};
use banister_offline::{Features, Log};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::{guarded, mistyped, raise};
use crate::input::Numbers;

/// The columns of a `banister.offline.Log`: its own memory, borrowed.
pub(crate) struct Columns<'py> {
    pub arms: usize,
    arm_names: Vec<String>,
    adaptive: bool,
    actions: PyReadonlyArray1<'py, usize>,
    rewards: Numbers<'py>,
    costs: Numbers<'py>,
    pub guardrails: Vec<String>,
    pscores: Option<Numbers<'py>>,
    context: Option<Numbers<'py>>,
    offered: Option<Numbers<'py>>,
    segments: Vec<String>,
    requests: Vec<String>,
}

impl<'py> Columns<'py> {
    pub(crate) fn new(log: &Bound<'py, PyAny>) -> PyResult<Self> {
        let indices = log.getattr("indices")?;
        let refused = |_| mistyped("indices", &indices, "must be an array of uintp");
        let actions: PyReadonlyArray1<'py, usize> = indices.extract().map_err(refused)?;
        let arms = log.getattr("arms")?;
        let arm_names = arms.try_iter()?.map(|arm| Ok(arm?.str()?.to_string()));
        let arm_names = arm_names.collect::<PyResult<Vec<String>>>()?;
        let guardrails: Vec<String> = log.getattr("guardrails")?.extract()?;
        let (n, k, m) = (
            Some(actions.as_array().len()),
            Some(arm_names.len()),
            Some(guardrails.len()),
        );
        let needed = |name, shape: &[Option<usize>], meaning: &str| {
            Numbers::shaped(&log.getattr(name)?, name, shape, meaning)
        };
        let column = |name, shape: &[Option<usize>], meaning: &str| {
            let is_given = !log.getattr(name)?.is_none();
            is_given.then(|| needed(name, shape, meaning)).transpose()
        };
        let names = |name| -> PyResult<Vec<String>> {
            let given: Option<Vec<String>> = log.getattr(name)?.extract()?;
            Ok(given.unwrap_or_default())
        };
        let by_guardrail = "one row per action, one column per guardrail";
        let by_feature = "one row per action, one column per feature";
        Ok(Self {
            arms: arm_names.len(),
            adaptive: log.getattr("adaptive")?.is_truthy()?,
            rewards: needed("rewards", &[n], "one per action")?,
            costs: needed("costs", &[n, m], by_guardrail)?,
            pscores: column("pscores", &[n], "one per action")?,
            context: column("context", &[n, None], by_feature)?,
            offered: column("offered", &[n, k, None], "(rounds, arms, features)")?,
            segments: names("segments")?,
            requests: names("requests")?,
            arm_names,
            actions,
            guardrails,
        })
    }

    /// n, the number of rounds.
    pub(crate) fn rounds(&self) -> usize {
        self.actions.as_array().len()
    }

    /// The log as the core sees it, without ranges.
    pub(crate) fn log(&self) -> PyResult<Log<'_>> {
        let unusable = |_| PyValueError::new_err("`indices` is not contiguous: copy the array");
        let features = match (&self.context, &self.offered) {
            (_, Some(offered)) => Features::Offered {
                dimension: offered.shape()[2],
                sets: offered.slice()?,
            },
            (Some(context), None) => Features::Context {
                dimension: context.shape()[1],
                rows: context.slice()?,
            },
            (None, None) => Features::None,
        };
        Ok(Log {
            arms: self.arms,
            actions: self.actions.as_slice().map_err(unusable)?,
            rewards: self.rewards.slice()?,
            costs: self.costs.slice()?,
            guardrails: self.guardrails.clone(),
            pscores: self.pscores.as_ref().map(Numbers::slice).transpose()?,
            features,
            segments: self.segments.iter().map(String::as_str).collect(),
            requests: self.requests.iter().map(String::as_str).collect(),
            reward_expression: None,
            reward_range: None,
            cost_ranges: Vec::new(),
            caps: Vec::new(),
            arm_names: self.arm_names.clone(),
            adaptive: self.adaptive,
        })
    }
}

/// The range that agents, too, take a signal to have if nothing is declared.
const UNIT: [f64; 2] = [0.0, 1.0];

/// A log with the ranges that are declared: of the reward if anything is said of it, and of the
/// signals that have a guardrail. `needed` ranges that are not declared are [0, 1].
pub(crate) fn with_ranges<'a>(
    log: Log<'a>,
    reward: Option<&SignalConfig>,
    declared: &[Guardrail],
    needed: bool,
) -> PyResult<Log<'a>> {
    let ranges = log
        .clone()
        .declare(reward.unwrap_or(&SignalConfig::default()), declared);
    let (mut cost_ranges, mut caps) = (Vec::new(), vec![ranges.caps[0]]);
    for (g, name) in log.guardrails.iter().enumerate() {
        let at = declared.iter().position(|d| d.name == *name);
        caps.push(at.and_then(|at| ranges.caps[at + 1]));
        cost_ranges.push(match at {
            Some(at) => ranges.cost_ranges[at],
            None if needed => {
                let costs = log.costs.iter().skip(g).step_by(log.guardrails.len());
                let how = format!("a guardrail for `{name}` with a `range`");
                Some(unit_range(costs, &format!("costs[{name:?}]"), &how)?)
            }
            None => None,
        });
    }
    let reward_range = match reward {
        Some(_) => ranges.reward_range,
        None if needed => {
            let how = "`reward=banister.Reward(range=(lowest, highest))`";
            Some(unit_range(log.rewards.iter(), "reward", how)?)
        }
        None => None,
    };
    Ok(Log {
        reward_range,
        cost_ranges,
        caps,
        ..log
    })
}

fn unit_range<'a>(
    values: impl Iterator<Item = &'a f64>,
    field: &str,
    how: &str,
) -> PyResult<[f64; 2]> {
    match values.enumerate().find(|(_, x)| !(0.0..=1.0).contains(*x)) {
        None => Ok(UNIT),
        Some((row, x)) => Err(PyValueError::new_err(format!(
            "`{field}` is {x} in row {row}: without a declared range a `mixture` interval takes [0, 1]; \
             give {how}, or ask for another `interval`"
        ))),
    }
}

/// Refuses a log with anything in it that no question could use.
#[pyfunction]
pub(crate) fn check_log(py: Python<'_>, log: &Bound<'_, PyAny>) -> PyResult<()> {
    let columns = Columns::new(log)?;
    let log = columns.log()?;
    py.detach(|| guarded(|| log.check().map(|_| ())))?
        .map_err(raise)
}
