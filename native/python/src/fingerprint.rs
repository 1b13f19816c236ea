//! The identity of a file.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::to_exception;

/// Identity of a file by its plain content.
#[pyclass(frozen, module = "sojourn_ingest._native")]
pub(crate) struct Fingerprint(sojourn_decode::Fingerprint);

#[pymethods]
impl Fingerprint {
    #[getter]
    fn sha256(&self) -> &str {
        self.0.sha256.as_deref().unwrap_or_default()
    }

    #[getter]
    fn plain_bytes(&self) -> u64 {
        self.0.plain_bytes
    }

    #[getter]
    fn compression(&self) -> &str {
        self.0.compression
    }

    #[getter]
    fn head<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.head)
    }

    #[getter]
    fn fault(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.0
            .fault
            .as_ref()
            .map(|fault| to_exception(fault).into_value(py).into_any())
    }
}

/// Hash the plain content of a file, decompressing as needed.
#[pyfunction]
#[pyo3(signature = (path, head_bytes = 65536, head_only = vec![]))]
pub(crate) fn fingerprint(
    py: Python<'_>,
    path: PathBuf,
    head_bytes: usize,
    head_only: Vec<Vec<u8>>,
) -> PyResult<Fingerprint> {
    py.detach(|| sojourn_decode::fingerprint(&path, head_bytes, &head_only))
        .map(Fingerprint)
        .map_err(|fault| to_exception(&fault))
}
