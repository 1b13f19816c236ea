//! Histograms in memory, added up over groups.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, UInt16Array};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use sojourn_histograms::{Groups, HistogramFault, Quantile};

use crate::batch::one_to_pyarrow;

fn refused(fault: HistogramFault) -> PyErr {
    PyValueError::new_err(fault.to_string())
}

fn batch<'py>(py: Python<'py>, columns: Vec<(&str, ArrayRef)>) -> PyResult<Bound<'py, PyAny>> {
    let batch =
        RecordBatch::try_from_iter(columns).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    one_to_pyarrow(py, batch)
}

fn integers(values: Vec<i64>) -> ArrayRef {
    Arc::new(Int64Array::from(values))
}

/// Histograms one after another.
#[pyclass(frozen, module = "sojourn_ingest._native")]
pub(crate) struct HistogramSet(sojourn_histograms::HistogramSet);

#[pymethods]
impl HistogramSet {
    #[new]
    fn new(
        py: Python<'_>,
        offsets: PyBuffer<u64>,
        bins: PyBuffer<u16>,
        counts: PyBuffer<u64>,
    ) -> PyResult<Self> {
        let (offsets, bins, counts) = (offsets.to_vec(py)?, bins.to_vec(py)?, counts.to_vec(py)?);
        py.detach(|| sojourn_histograms::HistogramSet::new(&offsets, bins, counts))
            .map(Self)
            .map_err(refused)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Quantiles are ratios: numerators and denominators.
    fn quantile_bins<'py>(
        &self,
        py: Python<'py>,
        members: PyBuffer<u32>,
        offsets: PyBuffer<u64>,
        quantiles: Vec<(u64, u64)>,
        threads: usize,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (members, offsets) = (members.to_vec(py)?, offsets.to_vec(py)?);
        let (bins, totals) = py
            .detach(|| {
                let quantiles: Result<Vec<_>, _> = quantiles
                    .into_iter()
                    .map(|(numerator, denominator)| Quantile::new(numerator, denominator))
                    .collect();
                self.0
                    .quantile_bins(&Groups::new(members, &offsets)?, &quantiles?, threads)
            })
            .map_err(refused)?;
        Ok((
            batch(py, vec![("bin_index", integers(bins))])?,
            batch(py, vec![("total", integers(totals))])?,
        ))
    }

    fn counts_below<'py>(
        &self,
        py: Python<'py>,
        members: PyBuffer<u32>,
        offsets: PyBuffer<u64>,
        bins: Vec<u32>,
        threads: usize,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (members, offsets) = (members.to_vec(py)?, offsets.to_vec(py)?);
        let (below, totals) = py
            .detach(|| {
                self.0
                    .counts_below(&Groups::new(members, &offsets)?, &bins, threads)
            })
            .map_err(refused)?;
        Ok((
            batch(py, vec![("below", integers(below))])?,
            batch(py, vec![("total", integers(totals))])?,
        ))
    }

    fn merged<'py>(
        &self,
        py: Python<'py>,
        members: PyBuffer<u32>,
        offsets: PyBuffer<u64>,
        threads: usize,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (members, offsets) = (members.to_vec(py)?, offsets.to_vec(py)?);
        let merged = py
            .detach(|| self.0.merged(&Groups::new(members, &offsets)?, threads))
            .map_err(refused)?;
        let bins: ArrayRef = Arc::new(UInt16Array::from(merged.bins));
        Ok((
            batch(py, vec![("length", integers(merged.lengths))])?,
            batch(py, vec![("bin_index", bins), ("count", integers(merged.counts))])?,
        ))
    }
}
