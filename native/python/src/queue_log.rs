//! The decoder of queue logs.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sojourn_decode::QueueLogForm;

use crate::batches::Locked;
use crate::errors::{require_positive, to_exception};
use crate::summary::Summary;

/// Iterator over `(table, batch)` of one queue log.
#[pyclass(frozen, module = "sojourn_ingest._native")]
pub(crate) struct QueueLogDecoder(Locked<sojourn_decode::QueueLogDecoder>);

#[pymethods]
impl QueueLogDecoder {
    #[new]
    #[pyo3(signature = (path, *, form, declaration = None, batch_rows = 65536, interval_ms = 100))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        form: &str,
        declaration: Option<String>,
        batch_rows: usize,
        interval_ms: i32,
    ) -> PyResult<Self> {
        require_positive("batch_rows", i64::try_from(batch_rows).unwrap_or(i64::MAX))?;
        require_positive("interval_ms", i64::from(interval_ms))?;
        let form = QueueLogForm::of_name(form, declaration).ok_or_else(|| {
            let names = |declared| {
                let of_kind = QueueLogForm::KNOWN
                    .iter()
                    .filter(|entry| entry.declared == declared);
                of_kind.map(|entry| entry.name).collect::<Vec<_>>().join(", ")
            };
            PyValueError::new_err(format!(
                "form must be one of {}, or {} with a declaration",
                names(false),
                names(true)
            ))
        })?;
        let options = sojourn_decode::QueueLogOptions {
            batch_rows,
            interval_ms,
            ..sojourn_decode::QueueLogOptions::default()
        };
        py.detach(|| sojourn_decode::QueueLogDecoder::open(&path, &form, options))
            .map(|decoder| Self(Locked::new(decoder)))
            .map_err(|fault| to_exception(&fault))
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<(&'static str, Bound<'py, PyAny>)>> {
        self.0.next(py)
    }

    fn summary(&self, py: Python<'_>) -> Summary {
        self.0.summary(py)
    }
}

/// The form of a queue log by its first bytes, of those that need no declaration.
#[pyfunction]
pub(crate) fn queue_log_form(head: &[u8]) -> Option<&'static str> {
    QueueLogForm::of(head).map(|form| form.properties().name)
}
