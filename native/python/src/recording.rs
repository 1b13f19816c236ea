//! Captures by the paths of their files, and when one began and ended.

use std::path::PathBuf;

use pyo3::prelude::*;
use sojourn_decode::CaptureInput;

use crate::errors::to_exception;

/// The files of one recording, in the order of time.
pub(crate) fn inputs(first: PathBuf, continued: Vec<PathBuf>) -> Vec<CaptureInput> {
    std::iter::once(first)
        .chain(continued)
        .map(CaptureInput::File)
        .collect()
}

/// When a capture began and ended, and on which links.
#[pyclass(frozen, module = "sojourn_ingest._native")]
pub(crate) struct CaptureSpan(sojourn_decode::CaptureSpan);

#[pymethods]
impl CaptureSpan {
    #[getter]
    fn first_ns(&self) -> Option<i64> {
        self.0.first_ns
    }

    #[getter]
    fn last_ns(&self) -> Option<i64> {
        self.0.last_ns
    }

    #[getter]
    fn link_types(&self) -> Vec<u32> {
        self.0.link_types.clone()
    }
}

/// Read the times and link types of a capture.
#[pyfunction]
pub(crate) fn capture_span(py: Python<'_>, path: PathBuf) -> PyResult<CaptureSpan> {
    py.detach(|| sojourn_decode::capture_span(&CaptureInput::File(path)))
        .map(CaptureSpan)
        .map_err(|fault| to_exception(&fault))
}

/// Whether a file is an archive that has a capture among its files.
#[pyfunction]
pub(crate) fn holds_capture(py: Python<'_>, path: PathBuf) -> PyResult<bool> {
    py.detach(|| sojourn_decode::holds_capture(&CaptureInput::File(path)))
        .map_err(|fault| to_exception(&fault))
}
