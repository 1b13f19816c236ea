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
mod connections;
mod errors;
mod ndt;
mod ss_socket;
mod texts;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sojourn_decode::CaptureInput;

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

/// When a capture began and ended, and on which links.
#[pyclass(frozen, module = "sojourn_ingest._native")]
struct CaptureSpan(sojourn_decode::CaptureSpan);

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
fn capture_span(py: Python<'_>, path: PathBuf) -> PyResult<CaptureSpan> {
    py.detach(|| sojourn_decode::capture_span(&CaptureInput::File(path)))
        .map(CaptureSpan)
        .map_err(|fault| to_exception(&fault))
}

fn inputs(first: PathBuf, continued: Vec<PathBuf>) -> Vec<CaptureInput> {
    std::iter::once(first)
        .chain(continued)
        .map(CaptureInput::File)
        .collect()
}

/// Source address and port, destination address and port, whether it is RTP, SSRC and payload type where known.
type RtpHint = (String, u16, String, u16, bool, Option<u32>, Option<u8>);

fn rtp_hint(hint: RtpHint) -> PyResult<sojourn_decode::RtpHint> {
    let (source, source_port, destination, destination_port, is_rtp, ssrc, payload_type) = hint;
    let end = |address: &str, port| {
        address
            .parse()
            .map(|address| SocketAddr::new(address, port))
            .map_err(|error| PyValueError::new_err(format!("rtp_hints: {address}: {error}")))
    };
    Ok(sojourn_decode::RtpHint {
        source: end(&source, source_port)?,
        destination: end(&destination, destination_port)?,
        is_rtp,
        ssrc,
        payload_type,
    })
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
    #[pyo3(signature = (path, *, continued = vec![], rtp_hints = vec![], interval_ms = 100, batch_rows = 65536, packets = false, idle_ms = 600_000, open_flows = 65_536))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword of its own in Python")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        continued: Vec<PathBuf>,
        rtp_hints: Vec<RtpHint>,
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
        let hints = rtp_hints
            .into_iter()
            .map(rtp_hint)
            .collect::<PyResult<Vec<_>>>()?;
        py.detach(|| sojourn_decode::CaptureDecoder::open(&inputs(path, continued), options))
            .map(|decoder| Self(Mutex::new(decoder.with_rtp_hints(&hints))))
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
        Summary(py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).summary()))
    }

    fn file_summaries(&self, py: Python<'_>) -> Vec<Summary> {
        py.detach(|| {
            self.0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .file_summaries()
                .iter()
                .cloned()
                .map(Summary)
                .collect()
        })
    }
}

/// Iterator over `(table, batch)` of two captures of one run.
#[pyclass(frozen, module = "sojourn_ingest._native")]
struct PairDecoder(Mutex<sojourn_decode::PairDecoder>);

#[pymethods]
impl PairDecoder {
    #[new]
    #[pyo3(signature = (before, after, *, rate_bps, before_continued = vec![], after_continued = vec![], batch_rows = 65536))]
    fn new(
        py: Python<'_>,
        before: PathBuf,
        after: PathBuf,
        rate_bps: i64,
        before_continued: Vec<PathBuf>,
        after_continued: Vec<PathBuf>,
        batch_rows: usize,
    ) -> PyResult<Self> {
        errors::require_positive("rate_bps", rate_bps)?;
        errors::require_positive("batch_rows", i64::try_from(batch_rows).unwrap_or(i64::MAX))?;
        let options = sojourn_decode::PairOptions {
            batch_rows,
            ..sojourn_decode::PairOptions::of_rate(rate_bps)
        };
        let (before, after) = (inputs(before, before_continued), inputs(after, after_continued));
        py.detach(|| sojourn_decode::PairDecoder::open(before, after, options))
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

/// Iterator over `(table, batch)` of one queue log.
#[pyclass(frozen, module = "sojourn_ingest._native")]
struct QueueLogDecoder(Mutex<sojourn_decode::QueueLogDecoder>);

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
        errors::require_positive("batch_rows", i64::try_from(batch_rows).unwrap_or(i64::MAX))?;
        errors::require_positive("interval_ms", i64::from(interval_ms))?;
        let form = match (form, declaration) {
            ("bpftrace", None) => sojourn_decode::QueueLogForm::Bpftrace,
            ("qmon", None) => sojourn_decode::QueueLogForm::Qmon,
            ("perf", None) => sojourn_decode::QueueLogForm::Perf,
            ("table", Some(declaration)) => sojourn_decode::QueueLogForm::Table(declaration),
            _ => {
                return Err(PyValueError::new_err(
                    "form is bpftrace, qmon or perf, or table with a declaration",
                ));
            }
        };
        let options = sojourn_decode::QueueLogOptions {
            batch_rows,
            interval_ms,
            ..sojourn_decode::QueueLogOptions::default()
        };
        py.detach(|| sojourn_decode::QueueLogDecoder::open(&path, &form, options))
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

/// The form of a queue log by its first bytes, of those that need no declaration.
#[pyfunction]
fn queue_log_form(head: &[u8]) -> Option<&'static str> {
    sojourn_decode::QueueLogForm::of(head).map(|form| match form {
        sojourn_decode::QueueLogForm::Bpftrace => "bpftrace",
        sojourn_decode::QueueLogForm::Qmon => "qmon",
        sojourn_decode::QueueLogForm::Perf => "perf",
        sojourn_decode::QueueLogForm::Table(_) => "table",
    })
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
    module.add_class::<CaptureSpan>()?;
    module.add_class::<Summary>()?;
    module.add_class::<CaptureDecoder>()?;
    module.add_class::<PairDecoder>()?;
    module.add_class::<QueueLogDecoder>()?;
    module.add_class::<addresses::PrefixTable>()?;
    module.add_class::<addresses::AddressResolver>()?;
    module.add_class::<connections::TcpInfoDecoder>()?;
    module.add_function(wrap_pyfunction!(fingerprint, module)?)?;
    module.add_function(wrap_pyfunction!(queue_log_form, module)?)?;
    module.add_function(wrap_pyfunction!(capture_span, module)?)?;
    module.add_function(wrap_pyfunction!(texts::rfc3339_ns, module)?)?;
    module.add_function(wrap_pyfunction!(ndt::ndt_connections, module)?)?;
    module.add_function(wrap_pyfunction!(ss_socket::ss_socket, module)?)?;
    module.add_function(wrap_pyfunction!(core_version, module)?)?;
    Ok(())
}
