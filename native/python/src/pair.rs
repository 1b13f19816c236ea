//! The decoder of pairs of captures.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::batches::Locked;
use crate::errors::{require_positive, to_exception};
use crate::recording::inputs;
use crate::summary::Summary;

/// Iterator over `(table, batch)` of two captures of one run.
#[pyclass(frozen, module = "sojourn_ingest._native")]
pub(crate) struct PairDecoder(Locked<sojourn_decode::PairDecoder>);

#[pymethods]
impl PairDecoder {
    #[new]
    #[pyo3(signature = (before, after, *, rate_bps, burst_bytes = None, before_continued = vec![], after_continued = vec![], batch_rows = 65536))]
    #[expect(clippy::too_many_arguments, reason = "each is a separate keyword in Python")]
    fn new(
        py: Python<'_>,
        before: PathBuf,
        after: PathBuf,
        rate_bps: i64,
        burst_bytes: Option<u32>,
        before_continued: Vec<PathBuf>,
        after_continued: Vec<PathBuf>,
        batch_rows: usize,
    ) -> PyResult<Self> {
        require_positive("rate_bps", rate_bps)?;
        require_positive("batch_rows", i64::try_from(batch_rows).unwrap_or(i64::MAX))?;
        let options = sojourn_decode::PairOptions {
            batch_rows,
            burst_bytes,
            ..sojourn_decode::PairOptions::of_rate(rate_bps)
        };
        let (before, after) = (inputs(before, before_continued), inputs(after, after_continued));
        py.detach(|| sojourn_decode::PairDecoder::open(before, after, options))
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
