//! Decoders behind a lock, used without the interpreter's: those that yield batches and then a summary are one trait.

use std::sync::{Mutex, PoisonError};

use arrow_array::RecordBatch;
use pyo3::prelude::*;
use sojourn_decode::{CaptureDecoder, Fault, PairDecoder, QueueLogDecoder};

use crate::batch::to_pyarrow;
use crate::summary::Summary;

/// A decoder that yields batches, each with the name of its table, and then a summary.
pub(crate) trait BatchSource: Send {
    /// The next batch, `None` after the last.
    fn next_batch(&mut self) -> Result<Option<(&'static str, RecordBatch)>, Fault>;

    /// What was seen so far of the whole input.
    fn seen(&self) -> sojourn_decode::Summary;
}

impl BatchSource for CaptureDecoder {
    fn next_batch(&mut self) -> Result<Option<(&'static str, RecordBatch)>, Fault> {
        Self::next_batch(self)
    }

    fn seen(&self) -> sojourn_decode::Summary {
        self.summary()
    }
}

impl BatchSource for PairDecoder {
    fn next_batch(&mut self) -> Result<Option<(&'static str, RecordBatch)>, Fault> {
        Self::next_batch(self)
    }

    fn seen(&self) -> sojourn_decode::Summary {
        self.summary().clone()
    }
}

impl BatchSource for QueueLogDecoder {
    fn next_batch(&mut self) -> Result<Option<(&'static str, RecordBatch)>, Fault> {
        Self::next_batch(self)
    }

    fn seen(&self) -> sojourn_decode::Summary {
        self.summary().clone()
    }
}

/// A decoder that several threads of Python may hold, one of which works with it at a time.
pub(crate) struct Locked<D>(Mutex<D>);

impl<D: Send> Locked<D> {
    pub(crate) fn new(decoder: D) -> Self {
        Self(Mutex::new(decoder))
    }

    /// Work with the decoder without the interpreter's lock.
    pub(crate) fn with<T: Send>(&self, py: Python<'_>, run: impl FnOnce(&mut D) -> T + Send) -> T {
        py.detach(|| run(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl<D: BatchSource> Locked<D> {
    /// The next batch and its table for pyarrow, `None` after the last.
    pub(crate) fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<(&'static str, Bound<'py, PyAny>)>> {
        let next = self.with(py, D::next_batch);
        to_pyarrow(py, next)
    }

    pub(crate) fn summary(&self, py: Python<'_>) -> Summary {
        Summary(self.with(py, |decoder| decoder.seen()))
    }
}
