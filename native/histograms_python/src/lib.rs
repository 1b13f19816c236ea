//! Python module `sojourn_statistics._histograms`: histograms in memory, added up over groups, as `NumPy` arrays.
//!
//! Adding up runs without the interpreter lock; results become arrays without a copy.

#![deny(unsafe_code)]
#![allow(
    clippy::needless_pass_by_value,
    reason = "arguments are extracted from Python objects into values"
)]

use numpy::{Element, IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sojourn_histograms::{Groups, HistogramFault, Quantile};

type Integers<'py> = Bound<'py, PyArray1<i64>>;

fn refused(fault: HistogramFault) -> PyErr {
    PyValueError::new_err(fault.to_string())
}

fn values<T: Element + Copy>(array: &PyReadonlyArray1<'_, T>) -> PyResult<Vec<T>> {
    Ok(array.as_slice()?.to_vec())
}

/// Histograms one after another.
#[pyclass(frozen, module = "sojourn_statistics._histograms")]
struct HistogramSet(sojourn_histograms::HistogramSet);

#[pymethods]
impl HistogramSet {
    #[new]
    fn new(
        py: Python<'_>,
        offsets: PyReadonlyArray1<'_, u64>,
        bins: PyReadonlyArray1<'_, u16>,
        counts: PyReadonlyArray1<'_, u64>,
    ) -> PyResult<Self> {
        let (offsets, bins, counts) = (values(&offsets)?, values(&bins)?, values(&counts)?);
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
        members: PyReadonlyArray1<'py, u32>,
        offsets: PyReadonlyArray1<'py, u64>,
        quantiles: Vec<(u64, u64)>,
        threads: usize,
    ) -> PyResult<(Integers<'py>, Integers<'py>)> {
        let (members, offsets) = (values(&members)?, values(&offsets)?);
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
        Ok((bins.into_pyarray(py), totals.into_pyarray(py)))
    }

    fn counts_below<'py>(
        &self,
        py: Python<'py>,
        members: PyReadonlyArray1<'py, u32>,
        offsets: PyReadonlyArray1<'py, u64>,
        bins: Vec<u32>,
        threads: usize,
    ) -> PyResult<(Integers<'py>, Integers<'py>)> {
        let (members, offsets) = (values(&members)?, values(&offsets)?);
        let (below, totals) = py
            .detach(|| {
                self.0
                    .counts_below(&Groups::new(members, &offsets)?, &bins, threads)
            })
            .map_err(refused)?;
        Ok((below.into_pyarray(py), totals.into_pyarray(py)))
    }

    fn merged<'py>(
        &self,
        py: Python<'py>,
        members: PyReadonlyArray1<'py, u32>,
        offsets: PyReadonlyArray1<'py, u64>,
        threads: usize,
    ) -> PyResult<(Integers<'py>, Bound<'py, PyArray1<u16>>, Integers<'py>)> {
        let (members, offsets) = (values(&members)?, values(&offsets)?);
        let merged = py
            .detach(|| self.0.merged(&Groups::new(members, &offsets)?, threads))
            .map_err(refused)?;
        Ok((
            merged.lengths.into_pyarray(py),
            merged.bins.into_pyarray(py),
            merged.counts.into_pyarray(py),
        ))
    }
}

#[pymodule]
fn _histograms(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<HistogramSet>()?;
    Ok(())
}
