//! Results of simulations as tables that pandas, polars and Arrow read, without copies where they
//! can.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, Float64Array, RecordBatch, RecordBatchIterator, StringArray, UInt64Array,
};
use arrow_schema::ArrowError;
use banister_report::tables::{self, DataTable, Values};
use numpy::PyArray1;
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList};

use crate::json::to_python;
use crate::pickle::{self, Reduced};

/// Results of a simulation.
#[pyclass(frozen, module = "banister._native")]
pub(crate) struct Results {
    pub(crate) results: Arc<banister_sim::Results>,
    tables: LazyTables,
}

/// Tables by name that are built when somebody asks for them, and then kept.
#[derive(Default)]
pub(crate) struct LazyTables(Mutex<HashMap<String, Arc<TableAndBatch>>>);

impl LazyTables {
    pub(crate) fn get(
        &self,
        name: &str,
        build: impl FnOnce() -> Option<DataTable>,
    ) -> PyResult<ResultTable> {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = tables.get(name) {
            return Ok(ResultTable(Arc::clone(table)));
        }
        let data = build().ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        let table = TableAndBatch::new(data);
        tables.insert(name.into(), Arc::clone(&table));
        Ok(ResultTable(table))
    }
}

/// A table, and its columns as all readers of Arrow share them.
pub(crate) struct TableAndBatch {
    pub data: DataTable,
    batch: Result<RecordBatch, ArrowError>,
}

impl TableAndBatch {
    fn new(data: DataTable) -> Arc<Self> {
        let columns = data.columns.iter().map(|column| {
            let values: ArrayRef = match &column.values {
                Values::Text(list) => Arc::new(StringArray::from_iter_values(list)),
                Values::Count(list) => Arc::new(UInt64Array::from(list.clone())),
                Values::Number(list) => Arc::new(Float64Array::from(list.clone())),
            };
            (column.name.as_str(), values, true)
        });
        let batch = RecordBatch::try_from_iter_with_nullable(columns);
        Arc::new(Self { data, batch })
    }
}

impl Results {
    pub(crate) fn new(results: impl Into<Arc<banister_sim::Results>>) -> Self {
        Self {
            results: results.into(),
            tables: LazyTables::default(),
        }
    }
}

#[pymethods]
impl Results {
    #[new]
    fn from_pickle(pickled: &[u8]) -> PyResult<Self> {
        Ok(Self::new(pickle::restore::<banister_sim::Results>(
            pickled,
        )?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        pickle::reduce(slf, &*slf.get().results)
    }

    /// A table by name: `curves` (statistics over runs at the checkpoints), `runs` or `alarms` (one row per run).
    fn table(&self, name: &str) -> PyResult<ResultTable> {
        self.tables.get(name, || {
            Some(match name {
                "curves" => tables::curves(&self.results),
                "runs" => tables::runs(&self.results),
                "alarms" => tables::alarms(&self.results),
                _ => return None,
            })
        })
    }

    /// The instances: each with its name, arms, guardrails, optimum and agents.
    #[getter]
    fn instances<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let instances = self.results.instances.iter().map(|instance| {
            let value = serde_json::json!({
                "name": instance.name,
                "horizon": instance.horizon,
                "arms": instance.arms,
                "guardrails": instance.guardrails,
                "optimum": instance.optimum,
                "changes": instance.changes,
                "agents": instance.agents.iter().map(|a| &a.name).collect::<Vec<_>>(),
                "knows_means": instance.knows_means(),
            });
            to_python(py, &value)
        });
        PyList::new(py, instances.collect::<PyResult<Vec<_>>>()?)
    }
}

/// A table of results. Anything that speaks the Arrow C data interface takes it as it is:
/// `pyarrow.table(t)`, `polars.DataFrame(t)`.
#[pyclass(frozen, module = "banister._native")]
pub(crate) struct ResultTable(pub(crate) Arc<TableAndBatch>);

#[pymethods]
impl ResultTable {
    #[new]
    fn from_pickle(pickled: &[u8]) -> PyResult<Self> {
        Ok(Self(TableAndBatch::new(pickle::restore(pickled)?)))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        pickle::reduce(slf, &slf.get().0.data)
    }

    /// Names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        let columns = self.0.data.columns.iter();
        columns.map(|column| column.name.clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.0.data.rows()
    }

    /// The columns as NumPy arrays (names as lists); what is unknown is NaN.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let table = PyDict::new(py);
        for column in &self.0.data.columns {
            let values = match &column.values {
                Values::Text(list) => PyList::new(py, list)?.into_any(),
                Values::Count(list) if list.iter().all(Option::is_some) => {
                    PyArray1::from_iter(py, list.iter().flatten().copied()).into_any()
                }
                Values::Count(list) => {
                    let each = list.iter().map(|x| x.map_or(f64::NAN, |x| x as f64));
                    PyArray1::from_iter(py, each).into_any()
                }
                Values::Number(list) => {
                    PyArray1::from_iter(py, list.iter().map(|x| x.unwrap_or(f64::NAN))).into_any()
                }
            };
            table.set_item(&column.name, values)?;
        }
        Ok(table)
    }

    /// The table as the command line writes it.
    fn to_csv<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let csv = self.0.data.to_csv().map_err(failed)?;
        Ok(PyBytes::new(py, &csv))
    }

    /// The table as a Parquet file, as the command line writes it.
    fn to_parquet<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let parquet = self.0.data.to_parquet().map_err(failed)?;
        Ok(PyBytes::new(py, &parquet))
    }

    /// The Arrow C data interface: the consumer shares our memory.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A wish that need not be granted.
        let _ = requested_schema;
        let batch = self.0.batch.as_ref().map_err(failed)?.clone();
        let schema = batch.schema();
        let reader = RecordBatchIterator::new([Ok(batch)], schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

fn failed(error: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
