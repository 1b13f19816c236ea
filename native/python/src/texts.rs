//! Columns of text that come from Python as Arrow keeps them: offsets and bytes.

use std::sync::Arc;

use arrow_array::builder::Int64Builder;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::batch::one_to_pyarrow;

/// A column of text without nulls. The buffers belong to Python; a copy is safe to read while other threads run.
pub(crate) struct Texts {
    offsets: Vec<i32>,
    data: Vec<u8>,
}

impl Texts {
    pub(crate) fn new(py: Python<'_>, offsets: &PyBuffer<u8>, data: &PyBuffer<u8>) -> PyResult<Self> {
        let offsets = offsets
            .to_vec(py)?
            .chunks_exact(4)
            .filter_map(|bytes| Some(i32::from_ne_bytes(bytes.try_into().ok()?)))
            .collect();
        Ok(Self {
            offsets,
            data: data.to_vec(py)?,
        })
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.offsets.windows(2).map(|bounds| self.between(bounds))
    }

    fn between(&self, bounds: &[i32]) -> &str {
        let bound = |place: usize| bounds.get(place).and_then(|bound| usize::try_from(*bound).ok());
        bound(0)
            .zip(bound(1))
            .and_then(|(from, until)| self.data.get(from..until))
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
            .unwrap_or_default()
    }
}

/// Times of RFC 3339 as one column `ns`, nanoseconds since the UTC epoch; null for what is not a time.
#[pyfunction]
pub(crate) fn rfc3339_ns(
    py: Python<'_>,
    offsets: PyBuffer<u8>,
    data: PyBuffer<u8>,
) -> PyResult<Bound<'_, PyAny>> {
    let texts = Texts::new(py, &offsets, &data)?;
    let array: ArrayRef = py.detach(|| {
        let mut times = Int64Builder::with_capacity(texts.offsets.len());
        for text in texts.iter() {
            times.append_option(sojourn_decode::parse_rfc3339_ns(text));
        }
        Arc::new(times.finish()) as ArrayRef
    });
    let schema = Arc::new(Schema::new(vec![Field::new("ns", DataType::Int64, true)]));
    let batch = RecordBatch::try_new(schema, vec![array])
        .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    one_to_pyarrow(py, batch)
}
