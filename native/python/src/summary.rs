//! What a decoder saw of its input.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::to_exception;

/// What a finished decoder saw.
#[pyclass(frozen, module = "sojourn_ingest._native")]
pub(crate) struct Summary(pub(crate) sojourn_decode::Summary);

#[pymethods]
impl Summary {
    #[getter]
    fn records_read(&self) -> u64 {
        self.0.records_read
    }

    #[getter]
    fn refused<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let refused = PyDict::new(py);
        for (reason, count) in &self.0.refused {
            refused.set_item(reason.as_ref(), count)?;
        }
        Ok(refused)
    }

    #[getter]
    fn fault(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.0
            .fault
            .as_ref()
            .map(|fault| to_exception(fault).into_value(py).into_any())
    }
}
