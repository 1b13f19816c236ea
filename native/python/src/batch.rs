//! Arrow batches over the `PyCapsule` interface.

use std::sync::Mutex;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::{Array, RecordBatch, StructArray};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyCapsule;
use sojourn_decode::Fault;

use crate::errors::to_exception;

type Exported = (FFI_ArrowSchema, FFI_ArrowArray);

/// Carries one batch to pyarrow, once.
#[pyclass(frozen, module = "sojourn_ingest._native")]
struct ExportedBatch(Mutex<Option<Exported>>);

#[pymethods]
impl ExportedBatch {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // The interface leaves it to the producer whether it can cast; pyarrow asks for nothing here.
        drop(requested_schema);
        let exported = self.0.lock().ok().and_then(|mut batch| batch.take());
        let (schema, array) =
            exported.ok_or_else(|| PyRuntimeError::new_err("the batch was handed over already"))?;
        Ok((
            PyCapsule::new_with_value(py, schema, c"arrow_schema")?,
            PyCapsule::new_with_value(py, array, c"arrow_array")?,
        ))
    }
}

fn export(batch: RecordBatch) -> Result<Exported, arrow_schema::ArrowError> {
    let schema = FFI_ArrowSchema::try_from(batch.schema().as_ref())?;
    let array = FFI_ArrowArray::new(&StructArray::from(batch).to_data());
    Ok((schema, array))
}

/// Hand a decoder's next batch to pyarrow.
pub(crate) fn to_pyarrow<'py>(
    py: Python<'py>,
    next: Result<Option<(&'static str, RecordBatch)>, Fault>,
) -> PyResult<Option<(&'static str, Bound<'py, PyAny>)>> {
    let Some((table, batch)) = next.map_err(|fault| to_exception(&fault))? else {
        return Ok(None);
    };
    Ok(Some((table, one_to_pyarrow(py, batch)?)))
}

/// Hand one batch to pyarrow.
pub(crate) fn one_to_pyarrow(py: Python<'_>, batch: RecordBatch) -> PyResult<Bound<'_, PyAny>> {
    static RECORD_BATCH: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let exported = export(batch).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let carrier = Bound::new(py, ExportedBatch(Mutex::new(Some(exported))))?;
    RECORD_BATCH
        .import(py, "pyarrow", "record_batch")?
        .call1((carrier,))
}
