//! The decoder of captures.

use std::net::SocketAddr;
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::batches::Locked;
use crate::errors::{require_positive, to_exception};
use crate::recording::inputs;
use crate::summary::Summary;

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

fn kept_names(name: &str) -> PyResult<sojourn_decode::ServerNames> {
    match name {
        "registrable" => Ok(sojourn_decode::ServerNames::Registrable),
        "full" => Ok(sojourn_decode::ServerNames::Full),
        "none" => Ok(sojourn_decode::ServerNames::None),
        other => Err(PyValueError::new_err(format!(
            "server_names {other:?} is not registrable, full or none"
        ))),
    }
}

/// Iterator over `(table, batch)` of one capture.
#[pyclass(frozen, module = "sojourn_ingest._native")]
pub(crate) struct CaptureDecoder(Locked<sojourn_decode::CaptureDecoder>);

#[pymethods]
impl CaptureDecoder {
    #[new]
    #[pyo3(signature = (path, *, continued = vec![], rtp_hints = vec![], interval_ms = 100, batch_rows = 65536, packets = false, idle_ms = 600_000, open_flows = 65_536, server_names = "registrable", hashed = false))]
    #[expect(clippy::too_many_arguments, reason = "each is a separate keyword in Python")]
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
        server_names: &str,
        hashed: bool,
    ) -> PyResult<Self> {
        require_positive("interval_ms", i64::from(interval_ms))?;
        require_positive("batch_rows", i64::try_from(batch_rows).unwrap_or(i64::MAX))?;
        require_positive("idle_ms", idle_ms)?;
        require_positive("open_flows", i64::try_from(open_flows).unwrap_or(i64::MAX))?;
        let options = sojourn_decode::CaptureOptions {
            interval_ms,
            batch_rows,
            packets,
            idle_ms,
            open_flows,
            server_names: kept_names(server_names)?,
        };
        let hints = rtp_hints
            .into_iter()
            .map(rtp_hint)
            .collect::<PyResult<Vec<_>>>()?;
        let files = if hashed && continued.is_empty() {
            vec![sojourn_decode::CaptureInput::HashedFile(path)]
        } else {
            inputs(path, continued)
        };
        py.detach(|| sojourn_decode::CaptureDecoder::open(&files, options))
            .map(|decoder| Self(Locked::new(decoder.with_rtp_hints(&hints))))
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

    fn content_hash(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.0
            .with(py, |decoder| decoder.content_hash())
            .map_err(|fault| to_exception(&fault))
    }

    fn file_summaries(&self, py: Python<'_>) -> Vec<Summary> {
        self.0.with(py, |decoder| {
            decoder.file_summaries().iter().cloned().map(Summary).collect()
        })
    }
}
