//! The holder of a lease, for a client that carries its requests.

use banister::lease::{LeaseClient, LeasedArm, SignedLease, from_hex};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::error::{invalid, raise};

/// The newest lease of an experiment, and the exposures that wait. See `banister.client.Lease`.
#[pyclass(module = "banister._native", frozen)]
pub(crate) struct LeaseHolder(std::sync::Mutex<LeaseClient>);

/// Arms, and the ids of decisions.
type Leased<'py> = (Bound<'py, PyList>, Bound<'py, PyList>);

impl LeaseHolder {
    /// A call that failed half-way by a mistake of ours leaves counts that are still true.
    fn client(&self) -> std::sync::MutexGuard<'_, LeaseClient> {
        self.0.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

fn id(decided: &LeasedArm<'_>, unit: &str) -> Option<String> {
    decided.prefix.map(|prefix| [prefix, unit].concat())
}

#[pymethods]
impl LeaseHolder {
    #[new]
    fn new(experiment: &str, safe: &str, public_key: Option<&str>, limit: usize) -> PyResult<Self> {
        let bytes = |text| {
            from_hex(text).ok_or_else(|| invalid("public_key", text, "must be 64 hex digits"))
        };
        let key = public_key.map(bytes).transpose()?;
        Ok(Self(LeaseClient::new(experiment, safe, key, limit).into()))
    }

    fn accept(&self, answer: &[u8], sent: i64) -> PyResult<()> {
        let answer: SignedLease = serde_json::from_slice(answer)
            .map_err(|error| invalid("answer", "not a lease", &error.to_string()))?;
        self.client().accept(&answer, sent).map_err(raise)
    }

    fn decide(&self, unit: &str, segment: &str, clock: i64) -> (String, Option<String>) {
        let mut client = self.client();
        let decided = client.decide(segment, unit, clock);
        (decided.arm.into(), id(&decided, unit))
    }

    fn decide_many<'py>(
        &self,
        py: Python<'py>,
        units: &Bound<'py, PyList>,
        segment: &str,
        clock: i64,
    ) -> PyResult<Leased<'py>> {
        let (arms, ids) = (PyList::empty(py), PyList::empty(py));
        let mut client = self.client();
        // One object of Python for an arm's name, however often it is drawn.
        let mut last = PyString::new(py, "");
        for unit in units {
            let text = unit.cast::<PyString>()?.to_cow()?;
            let decided = client.decide(segment, &text, clock);
            if last.to_cow()? != decided.arm {
                last = PyString::intern(py, decided.arm);
            }
            arms.append(&last)?;
            ids.append(id(&decided, &text))?;
        }
        Ok((arms, ids))
    }

    fn left(&self, clock: i64) -> i64 {
        self.client().left(clock)
    }

    fn waiting(&self) -> usize {
        self.client().waiting()
    }

    fn take_exposures(&self) -> PyResult<String> {
        let taken = self.client().take_exposures();
        serde_json::to_string(&taken)
            .map_err(|error| invalid("exposures", "these", &error.to_string()))
    }
}
