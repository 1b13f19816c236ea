//! Python module `sojourn_ingest._native`: the decoder core as iterators of Arrow batches.
//!
//! Decoding runs without the interpreter lock. Batches cross over the Arrow `PyCapsule` interface, which hands
//! over the C structures without a copy and needs no unsafe code on this side.

#![deny(unsafe_code)]
#![allow(
    clippy::needless_pass_by_value,
    reason = "arguments are extracted from Python objects into values"
)]

mod addresses;
mod batch;
mod errors;
mod snapshots;
mod texts;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::to_exception;

/// Identity of a file by its plain content.
#[pyclass(frozen, module = "sojourn_ingest._native")]
struct Fingerprint(sojourn_decode::Fingerprint);

#[pymethods]
impl Fingerprint {
    #[getter]
    fn sha256(&self) -> &str {
        &self.0.sha256
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
#[pyo3(signature = (path, head_bytes = 65536))]
fn fingerprint(py: Python<'_>, path: PathBuf, head_bytes: usize) -> PyResult<Fingerprint> {
    py.detach(|| sojourn_decode::fingerprint(&path, head_bytes))
        .map(Fingerprint)
        .map_err(|fault| to_exception(&fault))
}

/// What a finished decoder saw.
#[pyclass(frozen, module = "sojourn_ingest._native")]
struct Summary(sojourn_decode::Summary);

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

/// Iterator over `(table, batch)` of one capture.
#[pyclass(frozen, module = "sojourn_ingest._native")]
struct CaptureDecoder(Mutex<sojourn_decode::CaptureDecoder>);

#[pymethods]
impl CaptureDecoder {
    #[new]
    #[pyo3(signature = (path, *, continued = vec![], interval_ms = 100, batch_rows = 65536, packets = false, idle_ms = 600_000, open_flows = 65_536))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword of its own in Python")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        continued: Vec<PathBuf>,
        interval_ms: i32,
        batch_rows: usize,
        packets: bool,
        idle_ms: i64,
        open_flows: usize,
    ) -> PyResult<Self> {
        errors::require_positive("interval_ms", i64::from(interval_ms))?;
        errors::require_positive("batch_rows", i64::try_from(batch_rows).unwrap_or(i64::MAX))?;
        errors::require_positive("idle_ms", idle_ms)?;
        errors::require_positive("open_flows", i64::try_from(open_flows).unwrap_or(i64::MAX))?;
        let options = sojourn_decode::CaptureOptions {
            interval_ms,
            batch_rows,
            packets,
            idle_ms,
            open_flows,
        };
        let mut paths = vec![path];
        paths.extend(continued);
        py.detach(|| sojourn_decode::CaptureDecoder::open(&paths, options))
            .map(|decoder| Self(Mutex::new(decoder)))
            .map_err(|fault| to_exception(&fault))
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<(&'static str, Bound<'py, PyAny>)>> {
        let next = py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).next_batch());
        batch::to_pyarrow(py, next)
    }

    fn summary(&self, py: Python<'_>) -> Summary {
        Summary(py.detach(|| {
            self.0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .summary()
                .clone()
        }))
    }
}

/// Iterator over `(table, batch)` of two captures of one run.
#[pyclass(frozen, module = "sojourn_ingest._native")]
struct PairDecoder(Mutex<sojourn_decode::PairDecoder>);

#[pymethods]
impl PairDecoder {
    #[new]
    #[pyo3(signature = (before, after, *, rate_bps, batch_rows = 65536))]
    fn new(
        py: Python<'_>,
        before: PathBuf,
        after: PathBuf,
        rate_bps: i64,
        batch_rows: usize,
    ) -> PyResult<Self> {
        errors::require_positive("rate_bps", rate_bps)?;
        errors::require_positive("batch_rows", i64::try_from(batch_rows).unwrap_or(i64::MAX))?;
        let options = sojourn_decode::PairOptions { rate_bps, batch_rows };
        py.detach(|| sojourn_decode::PairDecoder::open(&before, &after, options))
            .map(|decoder| Self(Mutex::new(decoder)))
            .map_err(|fault| to_exception(&fault))
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<(&'static str, Bound<'py, PyAny>)>> {
        let next = py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).next_batch());
        batch::to_pyarrow(py, next)
    }

    fn summary(&self, py: Python<'_>) -> Summary {
        Summary(py.detach(|| {
            self.0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .summary()
                .clone()
        }))
    }
}

/// Iterator over `(table, batch)` of one bpftrace text queue log.
#[pyclass(frozen, module = "sojourn_ingest._native")]
struct QueueLogDecoder(Mutex<sojourn_decode::QueueLogDecoder>);

#[pymethods]
impl QueueLogDecoder {
    #[new]
    #[pyo3(signature = (path, *, batch_rows = 65536))]
    fn new(py: Python<'_>, path: PathBuf, batch_rows: usize) -> PyResult<Self> {
        errors::require_positive("batch_rows", i64::try_from(batch_rows).unwrap_or(i64::MAX))?;
        py.detach(|| sojourn_decode::QueueLogDecoder::open(&path, batch_rows))
            .map(|decoder| Self(Mutex::new(decoder)))
            .map_err(|fault| to_exception(&fault))
    }

    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<(&'static str, Bound<'py, PyAny>)>> {
        let next = py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).next_batch());
        batch::to_pyarrow(py, next)
    }

    fn summary(&self, py: Python<'_>) -> Summary {
        Summary(py.detach(|| {
            self.0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .summary()
                .clone()
        }))
    }
}

/// Version of the decoder core, which changes whenever decoded facts may change.
#[pyfunction]
fn core_version() -> &'static str {
    sojourn_decode::VERSION
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    errors::add_to(module)?;
    module.add_class::<Fingerprint>()?;
    module.add_class::<Summary>()?;
    module.add_class::<CaptureDecoder>()?;
    module.add_class::<PairDecoder>()?;
    module.add_class::<QueueLogDecoder>()?;
    module.add_class::<addresses::PrefixTable>()?;
    module.add_class::<addresses::AddressResolver>()?;
    module.add_class::<snapshots::TcpInfoDecoder>()?;
    module.add_function(wrap_pyfunction!(fingerprint, module)?)?;
    module.add_function(wrap_pyfunction!(texts::rfc3339_ns, module)?)?;
    module.add_function(wrap_pyfunction!(core_version, module)?)?;
    Ok(())
}
